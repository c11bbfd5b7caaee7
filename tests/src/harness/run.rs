//! Runs cases and compares their blocks with what came out; with `UPDATE=1` the blocks are rewritten instead.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    ops::Range,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
};

use trellis_core::{
    Code, Diagnostic,
    compile::UncheckedRead,
    draw::{Format, draw},
};
use trellis_project::sheet::{BlockKind, Case, Expected, Sheet};

use super::{
    case::read_sheet,
    diagnostics,
    diff::diff,
    edges,
    graph::Loaded,
    journal,
    transcript::{self, Played},
    witness,
};

/// The mode in which a sheet is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The suite: what a case does not hold is empty.
    Suite,
    /// The page of a diagnostic: `Wrong` must show its code, `Right` must be clean.
    Page(Code),
}

/// The results of running sheets.
#[derive(Debug, Default)]
pub struct Findings {
    /// The number of cases that ran.
    pub cases: usize,
    /// Failures, ready to be printed.
    pub failures: Vec<String>,
    /// Codes that some case shows.
    pub failing: BTreeMap<Code, usize>,
    /// Findings whose witness was walked.
    pub witnesses: usize,
    /// Codes that some clean case is about: named in its heading, or of the page it stands on.
    pub passing: BTreeMap<Code, usize>,
}

impl Findings {
    /// Panics with every failure, readable.
    ///
    /// # Panics
    /// There is one.
    pub fn assert_none(&self) {
        assert!(self.cases > 0, "no case was found");
        assert!(
            self.failures.is_empty(),
            "\n{}\n{} of {} cases fail; UPDATE=1 rewrites their blocks\n",
            self.failures.join("\n"),
            self.failures.len(),
            self.cases
        );
    }
}

/// Runs all Markdown files below a folder, in order.
pub fn run_tree(folder: &Path, mode: impl Fn(&Path) -> Mode) -> Findings {
    let mut findings = Findings::default();
    for path in markdown_files(folder) {
        run_file(&path, mode(&path), &mut findings);
    }
    findings
}

/// All `.md` files below a folder, sorted; what begins with `_` is no sheet: it waits, or is a graph that sheets name.
pub fn markdown_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        for path in entries.filter(|entry| !entry.file_name().as_encoded_bytes().starts_with(b"_")).map(|entry| entry.path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

/// Runs one sheet; `UPDATE=1` rewrites it, `CASE=words` runs only cases whose title holds them.
pub fn run_file(path: &Path, mode: Mode, findings: &mut Findings) {
    run_cases(path, mode, updates(), &std::env::var("CASE").unwrap_or_default(), findings);
}

/// Returns whether blocks are rewritten: `UPDATE=1`.
pub(crate) fn updates() -> bool {
    std::env::var_os("UPDATE").is_some_and(|value| !value.is_empty() && value != "0")
}

/// Runs the cases whose title holds `only`.
fn run_cases(path: &Path, mode: Mode, update: bool, only: &str, findings: &mut Findings) {
    let sheet = match read_sheet(path) {
        Ok(sheet) => sheet,
        Err(error) => return findings.failures.push(error),
    };
    let mut edits = Vec::new();
    // What holds for a graph is checked once, in the first of the cases that share it.
    for cases in sheet.cases.chunk_by(|one, next| one.files == next.files) {
        let mut loaded = None;
        for case in cases.iter().filter(|case| case.title.contains(only)) {
            findings.cases += 1;
            match guarded(|| run_case(case, &mut loaded, mode, findings)) {
                Ok(outcome) => report(&sheet, case, outcome, update, &mut edits, findings),
                Err(panic) => findings.failures.push(format!("{}:{}: {}\n    panicked: {panic}", path.display(), case.line, case.title)),
            }
        }
    }
    if !edits.is_empty() {
        let text = rewrite(&sheet.text, edits);
        if let Err(error) = std::fs::write(path, text) {
            findings.failures.push(format!("{}: {error}", path.display()));
        }
    }
}

/// The result of one case.
#[derive(Default)]
struct Outcome {
    /// Blocks that differ: where, their line, what they hold, what they should hold.
    blocks: Vec<(Range<usize>, usize, String, String)>,
    /// Diagnostics without a block.
    unexpected: String,
    /// Problems that no block can make right.
    problems: Vec<String>,
}

/// Adds the outcome of a case to the findings, or to the edits.
fn report(sheet: &Sheet, case: &Case, outcome: Outcome, update: bool, edits: &mut Vec<(Range<usize>, String)>, findings: &mut Findings) {
    let place = |line: usize| format!("{}:{line}: {}", sheet.path.display(), case.title);
    for problem in outcome.problems {
        findings.failures.push(format!("{}\n    {}", place(case.line), problem.replace('\n', "\n    ")));
    }
    for (range, line, expected, actual) in outcome.blocks {
        if update {
            edits.push((range, actual));
        } else {
            findings.failures.push(format!("{}\n{}", place(line), diff(&expected, &actual)));
        }
    }
    if !outcome.unexpected.is_empty() {
        if update {
            edits.push((case.end..case.end, format!("\n```diagnostics\n{}```\n", outcome.unexpected)));
        } else {
            findings.failures.push(format!("{}\n{}", place(case.line), diff("", &outcome.unexpected)));
        }
    }
}

/// Runs one case, whose graph is loaded unless the case before it has the same.
fn run_case(case: &Case, loaded: &mut Option<Loaded>, mode: Mode, findings: &mut Findings) -> Outcome {
    let (is_first, mut outcome) = (loaded.is_none(), Outcome::default());
    let loaded = &*loaded.get_or_insert_with(|| Loaded::new(&case.files));
    if is_first {
        outcome.problems = loaded.flaws(&case.files);
        let (witnesses, flaws) = witness::flaws(&loaded.compiled, &loaded.texts);
        findings.witnesses += witnesses;
        outcome.problems.extend(flaws);
    }
    let found = loaded.diagnostics();
    count(case, loaded, mode, findings);
    let named = Code::ALL.iter().filter(|code| case.title.contains(&format!("`{code}`")));
    let missing = named.filter(|code| !loaded.compiled.diagnostics.iter().any(|diagnostic| diagnostic.code == **code));
    if mode == Mode::Suite && !found.is_empty() {
        outcome.problems.extend(missing.map(|code| format!("the heading names `{code}`, which is not among the findings:\n{found}")));
    }
    let mut blocks = case.of(BlockKind::Diagnostics).peekable();
    if let (Mode::Page(code), None) = (mode, blocks.peek())
        && case.title.ends_with("Wrong")
    {
        if !loaded.compiled.diagnostics.iter().any(|diagnostic| diagnostic.code == code) {
            outcome.problems.push(format!("the page's wrong graph does not show `{code}`, but:\n{found}"));
        }
    } else if blocks.peek().is_none() && case.of(BlockKind::Finds).next().is_none() && !shown_at_a_terminal(case, loaded) {
        outcome.unexpected.clone_from(&found);
    }
    for block in blocks {
        compare(&mut outcome, block, found.clone());
    }
    for block in case.of(BlockKind::Finds) {
        compare(&mut outcome, block, diagnostics::places(&loaded.compiled.diagnostics, &loaded.texts));
    }
    for block in case.of(BlockKind::Unchecked) {
        let unchecked: Vec<Diagnostic> = loaded.compiled.unchecked.iter().map(UncheckedRead::finding).collect();
        compare(&mut outcome, block, diagnostics::print(&unchecked, &loaded.texts));
    }
    let mut journal = String::new();
    for block in &case.expected {
        if matches!(block.kind, BlockKind::Diagnostics | BlockKind::Finds | BlockKind::Unchecked | BlockKind::Terminal | BlockKind::Tools) {
            continue;
        }
        let program = match loaded.program() {
            Ok(program) => program,
            Err(error) => {
                outcome.problems.push(error);
                break;
            }
        };
        match block.kind {
            BlockKind::Edges => compare(&mut outcome, block, edges::print(program, &loaded.texts, &block.words)),
            BlockKind::Transcript => {
                let played: Played = transcript::play(program, &block.text);
                journal = journal::print(&played);
                outcome.problems.extend(transcript::drive(program, &played, &block.text));
                outcome.problems.extend(played.problems.into_iter().chain(played.slips));
                compare(&mut outcome, block, played.text);
            }
            BlockKind::Graph => match drawing(&block.words) {
                Some(format) => compare(&mut outcome, block, draw(program, format)),
                None => outcome.problems.push(format!("`{}` is no drawing: mermaid, dot, json", block.words.join(" "))),
            },
            BlockKind::Journal => compare(&mut outcome, block, journal.clone()),
            BlockKind::Diagnostics | BlockKind::Finds | BlockKind::Unchecked | BlockKind::Terminal | BlockKind::Tools => {}
        }
    }
    outcome
}

/// Returns whether a terminal of the case shows every finding by its code.
fn shown_at_a_terminal(case: &Case, loaded: &Loaded) -> bool {
    let shown = |code: Code| case.of(BlockKind::Terminal).any(|block| block.text.contains(&format!("[{code}]")));
    loaded.compiled.diagnostics.iter().all(|diagnostic| shown(diagnostic.code))
}

/// The spelling that the words of a `graph` block name; Mermaid without any.
fn drawing(words: &[String]) -> Option<Format> {
    match words.first().map(String::as_str) {
        None | Some("mermaid") => Some(Format::Mermaid),
        Some("dot") => Some(Format::Dot),
        Some("json") => Some(Format::Json),
        Some(_) => None,
    }
}

/// Counts what a case says about codes.
fn count(case: &Case, loaded: &Loaded, mode: Mode, findings: &mut Findings) {
    let found = &loaded.compiled.diagnostics;
    for diagnostic in found {
        *findings.failing.entry(diagnostic.code).or_default() += 1;
    }
    let about = |code: Code| mode == Mode::Page(code) || case.title.contains(&format!("`{code}`"));
    for code in Code::ALL.iter().copied().filter(|code| found.is_empty() && about(*code)) {
        *findings.passing.entry(code).or_default() += 1;
    }
}

/// Notes a block that does not hold what came out.
fn compare(outcome: &mut Outcome, block: &Expected, actual: String) {
    if block.text != actual {
        outcome.blocks.push((block.range.clone(), block.line, block.text.clone(), actual));
    }
}

/// The text with edits made, which do not overlap.
pub(crate) fn rewrite(text: &str, mut edits: Vec<(Range<usize>, String)>) -> String {
    edits.sort_by_key(|(range, _)| std::cmp::Reverse(range.start));
    let mut text = text.to_owned();
    for (range, replacement) in edits {
        text.replace_range(range, &replacement);
    }
    text
}

thread_local! {
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Runs `body`; a panic becomes its message and place.
///
/// # Errors
/// It panicked.
pub fn guarded<T>(body: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: std::sync::Once = std::sync::Once::new();
    HOOK.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let guarded = GUARDED.with(std::cell::Cell::get);
            if guarded { PANIC.with(|last| *last.borrow_mut() = info.to_string()) } else { usual(info) }
        }));
    });
    let before = GUARDED.replace(true);
    let result = catch_unwind(AssertUnwindSafe(body));
    GUARDED.set(before);
    result.map_err(|_| PANIC.take())
}

thread_local! {
    static GUARDED: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One case too few, one line too much, a wrong line, a finding without a block, a code that is not shown.
    const WRONG: &str = "# Wrong transcript\n\n```markdown start.md\n---\nwait: true\n---\nHello.\n```\n\n```transcript\n| Goodbye.\n? any\n> x\n```\n\n\
        # Unexpected finding\n\n```markdown start.md\n---\nto: nowhere\n---\n```\n\n\
        # `wrong-case`: another code\n\n```markdown start.md\n---\nto: nowhere\n---\n```\n\n```diagnostics\n```\n";

    #[test]
    fn what_is_wrong_fails_and_an_update_keeps_what_authors_said() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sheet.md");
        std::fs::write(&path, WRONG).unwrap();
        let mut findings = Findings::default();
        run_cases(&path, Mode::Suite, false, "", &mut findings);
        assert_eq!((findings.cases, findings.failures.len()), (3, 4), "{:#?}", findings.failures);
        assert!(findings.failures[0].contains("- | Goodbye.\n    + | Hello."), "{}", findings.failures[0]);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), WRONG, "nothing is written without UPDATE");

        run_cases(&path, Mode::Suite, true, "", &mut Findings::default());
        let updated = std::fs::read_to_string(&path).unwrap();
        assert!(updated.contains("```transcript\n| Hello.\n? any\n> x\n* end finished\n```"), "{updated}");
        let mut findings = Findings::default();
        run_cases(&path, Mode::Suite, false, "", &mut findings);
        assert_eq!(findings.failures.len(), 1, "an update cannot make a heading true: {:#?}", findings.failures);
        assert!(findings.failures[0].contains("the heading names `wrong-case`"));
    }
}

//! Opens, runs and updates test suites.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use anyhow::Context as _;
use trellis_project::{
    default_path,
    sheet::{Case as SheetCase, Sheet},
};
use trellis_trial::{
    Counts, Options, Suite, Update, Verdict, coverage, junit, lcov, rewritten,
    wire::{Case, Coverage, Difference, Line, Outcome, Summary},
};

use super::{
    CoverageReport, PlayedCase, ResultFormat, Test, is_ci, review, show,
    suites::{Tested, expect_cases, shown, suites, unused_id},
};
use crate::{
    Exit,
    atomic_write::replace,
    report::{Checked, counted, human_up_to},
    terminal::{self, Width},
    watch::on_interrupt,
};

/// The outcome of playing.
struct Played {
    cases: Vec<Case>,
    summary: Summary,
    /// True if a graph has errors.
    has_errors: bool,
    /// True if a sheet could not be read or written.
    is_broken: bool,
    /// True if a sheet was not written because it changed meanwhile.
    is_unwritten: bool,
    /// True if the reviewer quit.
    has_quit: bool,
    /// Texts of the graphs, for the margins of `lines`.
    coverage: Coverage,
    /// Set when somebody interrupts the run.
    interrupt: Arc<AtomicBool>,
}

/// The result of a run: its exit code, and its cases.
pub(super) struct Ran {
    pub(super) exit: Exit,
    pub(super) cases: Vec<Case>,
}

/// Runs the requested cases and reports the results.
pub(super) fn run(test: &Test) -> anyhow::Result<Exit> {
    let suites = suites(test.path.as_deref())?;
    expect_cases(test, &suites)?;
    let interrupt = Arc::new(AtomicBool::new(false));
    if test.review {
        review::end_on_interrupt()?;
    } else {
        let interrupt = Arc::clone(&interrupt);
        on_interrupt(move || interrupt.store(true, Ordering::Relaxed))?;
    }
    Ok(play_all(test, &suites, test.update.map(Into::into), interrupt)?.exit)
}

/// Plays suites, rewrites these blocks, and reports.
pub(super) fn play_all(test: &Test, suites: &[Tested], update: Option<Update>, interrupt: Arc<AtomicBool>) -> anyhow::Result<Ran> {
    let mut played = Played {
        cases: Vec::new(),
        summary: Summary::default(),
        has_errors: false,
        is_broken: false,
        is_unwritten: false,
        has_quit: false,
        coverage: Coverage::default(),
        interrupt,
    };
    for tested in suites {
        let has_failed = test.fail_fast && played.summary.failed + played.summary.errors > 0;
        let stops = has_failed || played.interrupt.load(Ordering::Relaxed);
        // The errors of a graph inside another one are among those of the outer one.
        played.has_errors |= tested.root.is_empty() && print_errors(tested, &below(test, suites));
        play(test, tested, update, stops, &mut played)?;
    }
    finish(test, suites, played)
}

fn play(test: &Test, tested: &Tested, update: Option<Update>, stops: bool, played: &mut Played) -> anyhow::Result<()> {
    let Tested { prefix, suite, .. } = tested;
    for error in &suite.errors {
        let path = shown(prefix, suite, &error.path);
        let mut case = Case::new(path.clone(), path, error.line, Outcome::Error);
        let mut difference = Difference::default();
        (difference.line, difference.message) = (error.line, Some(error.message.clone()));
        case.difference = Some(difference);
        played.is_broken = true;
        report(test, case, played)?;
    }
    let chosen = tested.chosen(&test.filters, test.exact);
    if test.list || stops {
        let outcome = if test.list { Outcome::Listed } else { Outcome::Skipped };
        return chosen.into_iter().try_for_each(|(sheet, case)| report(test, case_of(prefix, suite, sheet, case, outcome), played));
    }
    let mut options = Options::default();
    options.only = Some(chosen.iter().map(|(sheet, case)| suite.id(sheet, case)).collect());
    options.jobs = test.jobs.map_or_else(|| thread::available_parallelism().map_or(1, usize::from), usize::from);
    options.timeout = test.timeout;
    options.update = if test.review { Some(Update::All) } else { update };
    options.is_ci = is_ci();
    options.fail_fast = test.fail_fast;
    options.interrupt = Arc::clone(&played.interrupt);
    let mut verdicts = suite.play(&options);
    verdicts.iter_mut().filter(|(.., verdict, _)| verdict.outcome != Outcome::Updated).for_each(|(.., verdict, _)| verdict.edits.clear());
    if test.review {
        played.has_quit = review::decide(&mut verdicts, |sheet| shown(prefix, suite, &sheet.path), played.has_quit)?;
    }
    let unwritten = write(suite, prefix, &verdicts, played)?;
    let mut counts = Counts::default();
    let reached: BTreeSet<(&Path, usize)> = verdicts.iter().map(|(sheet, case, ..)| (&*sheet.path, case.line)).collect();
    for (sheet, case, verdict, took) in &verdicts {
        counts.add(&verdict.counts);
        let is_unwritten = !verdict.edits.is_empty() && unwritten.contains(&sheet.path);
        let outcome = if is_unwritten { Outcome::Failed } else { verdict.outcome };
        let mut line = case_of(prefix, suite, sheet, case, outcome);
        line.ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        line.difference.clone_from(&verdict.difference);
        report(test, line, played)?;
    }
    for (sheet, case) in chosen.iter().filter(|(sheet, case)| !reached.contains(&(&*sheet.path, case.line))) {
        report(test, case_of(prefix, suite, sheet, case, Outcome::Skipped), played)?;
    }
    for sheet in &suite.sheets {
        unused(test, prefix, suite, sheet, &verdicts, played)?;
    }
    cover(tested, &counts, played);
    Ok(())
}

/// Prints the errors of a graph, as a check does, on standard error; returns whether there are any.
fn print_errors(tested: &Tested, below: &str) -> bool {
    let Tested { prefix, suite, .. } = tested;
    let errors: Vec<_> = suite.compiled.diagnostics.iter().filter(|found| found.is_error()).cloned().collect();
    if errors.is_empty() {
        return false;
    }
    let said = format!("the graph `{}` has {}\n", suite.root().display(), counted(errors.len(), "error"));
    let checked = Checked {
        shown_below: format!("{below}{prefix}"),
        below: prefix.clone(),
        documents: suite.documents.clone(),
        diagnostics: errors,
        nodes: suite.compiled.nodes,
        unchecked: Vec::new(),
    };
    terminal::print_error(&format!("{}{said}", human_up_to(&[checked], Width::of(&std::io::stderr()), usize::MAX)));
    true
}

/// Returns the inherited doubles that no case of a sheet used, after all of its cases ran.
fn unused(test: &Test, prefix: &str, suite: &Suite, sheet: &Sheet, verdicts: &[PlayedCase<'_>], played: &mut Played) -> anyhow::Result<()> {
    let of_sheet: Vec<&Verdict> = verdicts.iter().filter(|(of, ..)| of.path == sheet.path).map(|(_, _, verdict, _)| verdict).collect();
    if of_sheet.len() < sheet.cases.len() {
        return Ok(());
    }
    for (line, name) in suite.unused(sheet, &of_sheet) {
        let path = shown(prefix, suite, &sheet.path);
        let mut case = Case::new(unused_id(&path), path, line, Outcome::Failed);
        let mut difference = Difference::default();
        (difference.line, difference.message) = (line, Some(format!("unused double: `{name}`")));
        case.difference = Some(difference);
        report(test, case, played)?;
    }
    Ok(())
}

/// Adds the items of a graph. Those of a called graph are counted with its caller, and with its own sheets.
fn cover(tested: &Tested, counts: &Counts, played: &mut Played) {
    let Some(program) = &tested.suite.compiled.program else { return };
    let mut found = coverage(program, counts, &tested.root);
    let outer = match &*tested.root {
        "" => &tested.prefix,
        root => tested.prefix.strip_suffix('/').and_then(|prefix| prefix.strip_suffix(root)).unwrap_or_default(),
    };
    found.items.iter_mut().for_each(|item| item.path = format!("{outer}{}", item.path));
    if tested.root.is_empty() {
        played.coverage.items.extend(found.items);
    } else {
        played.coverage.merge(found);
    }
}

/// Writes the sheets of updated cases; the sheets that changed meanwhile are returned.
fn write(suite: &Suite, prefix: &str, verdicts: &[PlayedCase<'_>], played: &mut Played) -> anyhow::Result<BTreeSet<PathBuf>> {
    let mut unwritten = BTreeSet::new();
    for sheet in &suite.sheets {
        let updated = verdicts.iter().filter(|(of, ..)| of.path == sheet.path);
        let edits: Vec<_> = updated.flat_map(|(_, _, verdict, _)| verdict.edits.iter().cloned()).collect();
        if edits.is_empty() {
            continue;
        }
        let text = rewritten(sheet, edits);
        if let Err(error) = replace(&sheet.path, sheet.text.as_bytes(), text.as_bytes()) {
            terminal::print_error(&format!("`{}` is not written: {error}\n", shown(prefix, suite, &sheet.path)));
            unwritten.insert(sheet.path.clone());
            played.is_unwritten = true;
        }
    }
    Ok(unwritten)
}

fn report(test: &Test, case: Case, played: &mut Played) -> anyhow::Result<()> {
    played.summary.count(case.outcome);
    match test.format {
        ResultFormat::Json => terminal::print(&format!("{}\n", serde_json::to_string(&Line::Case(case.clone()))?))?,
        ResultFormat::Human => terminal::print(&show::case(&case))?,
    }
    played.cases.push(case);
    Ok(())
}

fn case_of(prefix: &str, suite: &Suite, sheet: &Sheet, case: &SheetCase, outcome: Outcome) -> Case {
    let id = format!("{prefix}{}", suite.id(sheet, case));
    Case::new(id, shown(prefix, suite, &sheet.path), case.line, outcome)
}

/// Reports what all of it came to.
fn finish(test: &Test, suites: &[Tested], mut played: Played) -> anyhow::Result<Ran> {
    played.coverage.summarise();
    if let Some(path) = &test.junit {
        fs::write(path, junit(&played.cases)).with_context(|| format!("cannot write `{}`", path.display()))?;
    }
    let mut lacks = Vec::new();
    for floor in &test.fail_under {
        let [hit, all] = played.coverage.summary.get(&floor.kind).copied().unwrap_or_default();
        if hit * 100 < floor.percent * all {
            lacks.push(format!("{} of {all} items of kind `{}` are passed: less than {} %", hit, floor.kind, floor.percent));
        }
    }
    if test.format == ResultFormat::Human && !test.list {
        terminal::print(&show::summary(&played.summary))?;
    }
    for how in test.coverage.iter().filter(|_| !test.list) {
        match how {
            CoverageReport::Summary if test.format == ResultFormat::Human => terminal::print(&show::coverage(&played.coverage))?,
            CoverageReport::Lines if test.format == ResultFormat::Human => terminal::print(&lines(suites, &played.coverage))?,
            CoverageReport::Summary | CoverageReport::Lines => {}
            CoverageReport::Lcov(path) => {
                fs::write(path, lcov(&played.coverage, &below(test, suites)))
                    .with_context(|| format!("cannot write `{}`", path.display()))?;
            }
            CoverageReport::Json(path) => {
                let text = format!("{:#}\n", serde_json::to_value(&played.coverage)?);
                fs::write(path, text).with_context(|| format!("cannot write `{}`", path.display()))?;
            }
        }
    }
    lacks.iter().for_each(|lack| terminal::print_error(&format!("{lack}\n")));
    let summary = &mut played.summary;
    summary.coverage = (!test.coverage.is_empty()).then_some(played.coverage);
    if test.format == ResultFormat::Json {
        terminal::print(&format!("{}\n", serde_json::to_string(&Line::Summary(summary.clone()))?))?;
    }
    let exit = if played.interrupt.load(Ordering::Relaxed) {
        Exit::Interrupted
    } else if played.is_broken {
        Exit::Usage
    } else if summary.failed > 0 || played.has_errors || played.is_unwritten || !lacks.is_empty() {
        Exit::Failed
    } else {
        Exit::Fine
    };
    Ok(Ran { exit, cases: played.cases })
}

/// Returns the prefix of the paths of items, relative to the current folder.
fn below(test: &Test, suites: &[Tested]) -> String {
    let folder = match &test.path {
        None => default_path(),
        Some(path) if path.is_dir() => path.clone(),
        // A sheet, or a graph of one file: the folder of its graph.
        Some(_) => suites.first().map(|tested| tested.suite.root().to_owned()).unwrap_or_default(),
    };
    let shown = folder.display().to_string().replace('\\', "/");
    let shown = shown.trim_end_matches('/');
    match shown.strip_prefix("./").unwrap_or(shown) {
        "." => String::new(),
        "" if folder.is_absolute() => "/".to_owned(),
        "" => String::new(),
        shown => format!("{shown}/"),
    }
}

/// The files with the counts of their lines in the margin.
fn lines(suites: &[Tested], coverage: &Coverage) -> String {
    let mut out = String::new();
    let mut seen = BTreeSet::new();
    for Tested { prefix, suite, .. } in suites {
        for document in suite.compiled.program.iter().flat_map(|program| program.documents().iter()) {
            let path = format!("{prefix}{}", document.path);
            let items: Vec<_> = coverage.items.iter().filter(|item| item.path == path).collect();
            if !items.is_empty() && seen.insert(path.clone()) {
                out.push_str(&show::lines(&path, &document.text, &items));
            }
        }
    }
    out
}

//! Sheets of terminal sessions: the files of a case in a folder of its own, its `terminal` blocks played there one after the other.

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use trellis_core::syntax::document::Bytes;
use trellis_project::sheet::{BlockKind, Case};

use super::{
    play::{Stage, play},
    script::size,
};
use crate::harness::{
    Findings,
    case::read_sheet,
    diff::diff,
    run::{markdown_files, rewrite, updates},
};

/// Sessions at a time: they mostly wait.
const SIDE_BY_SIDE: usize = 4;

/// Plays the sheets below these paths; `UPDATE=1` rewrites them, `CASE=words` plays only cases whose title holds the words.
pub fn run_sheets(stage: &Stage, paths: &[PathBuf]) -> Findings {
    let mut findings = Findings::default();
    let files = paths.iter().flat_map(|path| if path.is_dir() { markdown_files(path) } else { vec![path.clone()] });
    let mut sheets = Vec::new();
    for path in files {
        match read_sheet(&path) {
            Ok(sheet) => sheets.push(sheet),
            Err(error) => findings.failures.push(error),
        }
    }
    let only = std::env::var("CASE").unwrap_or_default();
    let cases: Vec<(usize, &Case)> = sheets
        .iter()
        .enumerate()
        .flat_map(|(at, sheet)| sheet.cases.iter().map(move |case| (at, case)))
        .filter(|(_, case)| case.of(BlockKind::Terminal).next().is_some() && case.title.contains(&only))
        .collect();
    findings.cases = cases.len();
    let (next, played) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..SIDE_BY_SIDE.min(cases.len()) {
            scope.spawn(|| {
                while let Some(&(sheet, case)) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let outcome = run_case(stage, case, updates());
                    played.lock().unwrap_or_else(PoisonError::into_inner).push((sheet, case, outcome));
                }
            });
        }
    });
    let mut edits: Vec<Vec<_>> = vec![Vec::new(); sheets.len()];
    let mut played = played.into_inner().unwrap_or_else(PoisonError::into_inner);
    played.sort_by_key(|(sheet, case, _)| (*sheet, case.line));
    for (sheet, case, outcome) in played {
        let place = |line: usize| format!("{}:{line}: {}", sheets[sheet].path.display(), case.title);
        match outcome {
            Err(error) => findings.failures.push(format!("{}\n    {error}", place(case.line))),
            Ok(blocks) => {
                for block in blocks {
                    findings.failures.extend(
                        block.problems.iter().map(|problem| format!("{}\n    {}", place(block.line), problem.replace('\n', "\n    "))),
                    );
                    if block.expected != block.actual && updates() {
                        edits[sheet].push((block.range, block.actual));
                    } else if block.expected != block.actual {
                        findings.failures.push(format!("{}\n{}", place(block.line), diff(&block.expected, &block.actual)));
                    }
                }
            }
        }
    }
    for (sheet, edits) in sheets.iter().zip(edits).filter(|(_, edits)| !edits.is_empty()) {
        let written = fs::write(&sheet.path, rewrite(&sheet.text, edits));
        findings.failures.extend(written.err().map(|error| format!("{}: {error}", sheet.path.display())));
    }
    findings
}

/// A block after its session.
struct Block {
    range: std::ops::Range<usize>,
    line: usize,
    expected: String,
    actual: String,
    problems: Vec<String>,
}

fn run_case(stage: &Stage, case: &Case, update: bool) -> Result<Vec<Block>, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let path = folder.path().canonicalize().map_err(|error| error.to_string())?;
    for file in &case.files {
        if let Bytes::Read(bytes) = &file.bytes {
            write(&path.join(&*file.path), bytes).map_err(|error| format!("{}: {error}", file.path))?;
        }
    }
    let mut blocks = Vec::new();
    for block in case.of(BlockKind::Terminal) {
        let size = size(block.words.first().map_or("80x24", |word| word))?;
        let played = play(stage, &path, size, &block.text, update);
        let failed = !played.problems.is_empty() || played.text != block.text;
        blocks.push(Block {
            range: block.range.clone(),
            line: block.line,
            expected: block.text.clone(),
            actual: played.text,
            problems: played.problems,
        });
        // The next block stands on the files that this one left.
        if failed && !update {
            break;
        }
    }
    Ok(blocks)
}

/// Writes a file; a script, which begins with `#!`, may be run.
///
/// A script is written by another process: a fork of this one, which tests make all the time, would hold the file open, and a file that is open for
/// writing cannot be run.
fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    fs::create_dir_all(path.parent().unwrap_or(path))?;
    if !bytes.starts_with(b"#!") {
        return fs::write(path, bytes);
    }
    let mut shell = Command::new("sh");
    shell.args(["-c", "cat > \"$0\" && chmod +x \"$0\""]).arg(path).stdin(Stdio::piped());
    let mut writer = shell.spawn()?;
    if let Some(mut input) = writer.stdin.take() {
        input.write_all(bytes)?;
    }
    if writer.wait()?.success() { Ok(()) } else { Err(io::Error::other("the script cannot be written")) }
}

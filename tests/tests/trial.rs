//! The cases of the suite, played by `trellis test`: what its player says is what the suite's own walk says (`docs/testing.md`).

use std::{
    fs,
    path::Path,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use trellis_core::{Source, syntax::document::Bytes};
use trellis_project::sheet::{BlockKind, Case};
use trellis_tests::harness::{Findings, Loaded, case::read_sheet, run::markdown_files, transcript};
use trellis_trial::{Options, Suite, Verdict, wire::Outcome};

use crate::repository;

/// Writes a graph with a sheet of transcripts, as they are walked here; nothing for a graph that cannot be written to a disk.
fn written(folder: &Path, graph: &[Source], transcripts: &[String]) -> Option<()> {
    // Sheets that a graph has of its own are played with it.
    for file in graph.iter().filter(|file| !file.path.split('/').any(|part| part == "_tests")) {
        let Bytes::Read(bytes) = &file.bytes else { return None };
        let path = folder.join(&*file.path);
        fs::create_dir_all(path.parent()?).ok()?;
        fs::write(path, bytes).ok()?;
    }
    // Longer fences than any transcript has.
    let fence = "`".repeat(12);
    let cases: String =
        transcripts.iter().enumerate().map(|(at, text)| format!("## {at}\n\n{fence}transcript\n$ by hand\n{text}{fence}\n\n")).collect();
    fs::create_dir_all(folder.join("_tests")).ok()?;
    fs::write(folder.join("_tests/suite.md"), format!("# T\n\n{cases}")).ok()
}

/// Returns whether a transcript means the same in a folder and in memory: without a session the keys of calls are of the graph as its host names it.
fn is_comparable(transcript: &str) -> bool {
    let begins = !transcript.lines().any(|line| line == "$ session -");
    // A sheet says nothing after a session that did not start.
    let mut after_refusal = transcript.lines().skip_while(|line| !line.starts_with("- not started")).skip(1);
    begins && !after_refusal.any(|line| line.starts_with('>'))
}

/// Plays the transcripts of cases of one graph by both; how many were compared, and what differs.
fn compared(cases: &[Case]) -> (usize, Vec<String>) {
    let graph = &cases[0].files;
    // A graph of one file is named by its path, and no folder of sheets stands beside it.
    let is_one_file = graph.len() == 1 && !graph[0].path.contains("start");
    let blocks = cases.iter().flat_map(|case| case.of(BlockKind::Transcript));
    let blocks: Vec<_> = blocks.filter(|block| !is_one_file && is_comparable(&block.text)).collect();
    if blocks.is_empty() {
        return (0, Vec::new());
    }
    let Some(program) = Loaded::new(graph).compiled.program else { return (0, Vec::new()) };
    let walked: Vec<String> = blocks.iter().map(|block| transcript::play(&program, &block.text).text).collect();
    let folder = tempfile::tempdir().expect("a folder");
    if written(folder.path(), graph, &walked).is_none() {
        return (0, Vec::new());
    }
    let suite = Suite::open(folder.path()).expect("it is a graph");
    assert!(suite.errors.is_empty(), "{}: {:?}", cases[0].title, suite.errors);
    let differs = |verdict: &Verdict| (verdict.outcome != Outcome::Passed).then(|| format!("{:#?}", verdict.difference));
    let verdicts = suite.play(&Options::default());
    let different = verdicts.iter().filter_map(|(.., verdict, _)| differs(verdict)).collect();
    (verdicts.len(), different)
}

#[test]
fn every_case_of_the_suite_plays_the_same_through_the_player_of_tests() {
    let sheets: Vec<_> = markdown_files(&repository().join("tests/suite"))
        .iter()
        .map(|path| read_sheet(path).unwrap_or_else(|error| panic!("{error}")))
        .collect();
    let shared =
        sheets.iter().flat_map(|sheet| sheet.cases.chunk_by(|one, next| one.files == next.files).map(|cases| (&*sheet.path, cases)));
    let shared: Vec<(&Path, &[Case])> = shared.collect();
    let (next, played) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let work = || {
        let mut failures = Vec::new();
        while let Some((path, cases)) = shared.get(next.fetch_add(1, Ordering::Relaxed)) {
            let (count, different) = compared(cases);
            played.fetch_add(count, Ordering::Relaxed);
            let (line, title) = (cases[0].line, &cases[0].title);
            failures.extend(different.iter().map(|found| format!("{}:{line}: {title}, or one behind it\n{found}", path.display())));
        }
        failures
    };
    let failures = thread::scope(|scope| {
        let other = scope.spawn(work);
        let mut failures = work();
        failures.extend(other.join().expect("it does not panic"));
        failures
    });
    let played = played.into_inner();
    assert!(played > 500, "{played} transcripts were compared");
    Findings { cases: played, failures, ..Findings::default() }.assert_none();
}

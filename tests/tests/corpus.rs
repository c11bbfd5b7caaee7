//! The two corpora of the suite: correct graphs, which are clean and walked, and single mistakes, each found at its place and alone.

use std::{collections::BTreeMap, path::Path};

use trellis_core::{Code, diagnostic::Severity};
use trellis_project::Project;
use trellis_project::sheet::{BlockKind, Case};
use trellis_tests::harness::{case::read_sheet, run::markdown_files};

use crate::{HOST_ONLY, repository};

fn cases(folder: &str) -> Vec<Case> {
    let read = |path: &Path| read_sheet(path).unwrap_or_else(|error| panic!("{error}"));
    markdown_files(&repository().join("tests/suite").join(folder)).iter().flat_map(|path| read(path).cases).collect()
}

/// The sheets of a folder that wait, as one text.
fn waiting(folder: &str) -> String {
    let entries = std::fs::read_dir(repository().join("tests/suite").join(folder)).expect("it is there").flatten();
    let sheets = entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    let waits = |path: &Path| path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"_"));
    sheets.filter(|path| waits(path)).map(|path| std::fs::read_to_string(path).expect("it is text")).collect()
}

#[test]
fn correct_graphs_are_many_clean_and_walked() {
    let cases = cases("correct");
    for case in &cases {
        assert!(case.clean(), "{} is not clean", case.title);
        assert!(case.of(BlockKind::Transcript).next().is_some(), "nobody walks {}", case.title);
    }
    let mut graphs: Vec<String> = cases.iter().map(|case| format!("{:?}", case.files)).collect();
    graphs.sort();
    graphs.dedup();
    assert!(graphs.len() >= 60, "{} correct graphs", graphs.len());
}

/// `--nocapture` shows how the mistakes spread over the codes.
#[test]
#[expect(clippy::print_stdout, reason = "the histogram, for whoever asks")]
fn single_mistakes_are_many_alone_and_of_every_code() {
    let mut histogram: BTreeMap<Code, usize> = BTreeMap::new();
    for case in cases("mistakes") {
        let finds: Vec<&str> = case.of(BlockKind::Finds).flat_map(|block| block.text.lines()).collect();
        let [find] = finds[..] else { panic!("{} is {} findings, not one", case.title, finds.len()) };
        let code = find.rsplit(' ').next().and_then(Code::named).unwrap_or_else(|| panic!("{find} names no code"));
        assert!(case.title.contains(&format!("`{code}`")), "{} is found as `{code}`", case.title);
        *histogram.entry(code).or_default() += 1;
    }
    let mistakes: usize = histogram.values().sum();
    let lines: Vec<String> = histogram.iter().map(|(code, count)| format!("{count:4} {code}")).collect();
    println!("{}\n{mistakes:4} mistakes", lines.join("\n"));
    assert!(mistakes >= 150, "{mistakes} mistakes");
    let waiting = waiting("mistakes");
    let due = |code: &&Code| code.severity() == Severity::Error && !HOST_ONLY.contains(code) && !waiting.contains(&format!("`{code}`"));
    let missing: Vec<String> = Code::ALL.iter().filter(due).filter(|code| !histogram.contains_key(code)).map(Code::to_string).collect();
    assert!(missing.is_empty(), "no single mistake is about {}", missing.join(", "));
}

#[test]
fn several_mistakes_are_found_together() {
    let cases = cases("several");
    for case in &cases {
        let finds: Vec<&str> = case.of(BlockKind::Finds).flat_map(|block| block.text.lines()).collect();
        assert!(finds.len() > 1, "{} is {} findings", case.title, finds.len());
    }
    assert!(cases.len() >= 10, "{} cases", cases.len());
}

#[test]
fn the_graphs_that_mistakes_are_seeded_into_are_clean() {
    for name in ["_shop", "_clinic", "_deploy"] {
        let path = repository().join("tests/suite/mistakes").join(name);
        let project = Project::open(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        let compiled = project.compile();
        assert!(compiled.nodes > 5, "{name} is empty");
        assert!(compiled.diagnostics.is_empty(), "{name}: {:#?}", compiled.diagnostics);
    }
}

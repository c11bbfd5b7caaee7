//! Formatting changes no meaning, loses nothing, and does its work at once: over the suite, the graphs of the repository, random graphs and damaged ones.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::Value as Json;
use trellis_core::{
    Source,
    syntax::{
        document::Bytes,
        format::{Formatted, format},
    },
};
use trellis_project::{Directory, GraphLoader};
use trellis_tests::harness::{Loaded, diagnostics::Texts, edges, run::guarded};

use super::{
    bytes::{corpus, damaged, shown},
    random,
    rng::Rng,
    share::Share,
    written,
};
use crate::repository;

/// Random graphs in all.
const GRAPHS: u64 = 600;
/// Damaged graphs in all.
const MUTANTS: u64 = 5_000;

/// The graph with every file formatted, and how many changed.
fn formatted(files: &[Source]) -> (Vec<Source>, usize) {
    let mut changed = 0;
    let files = files.iter().map(|file| match format(file) {
        Formatted::Changed { to, .. } => {
            changed += 1;
            Source::text(Arc::clone(&file.path), &to)
        }
        Formatted::Same | Formatted::Broken { .. } => file.clone(),
    });
    (files.collect(), changed)
}

/// Returns the meaning of a program, whatever the lines that wrote it.
fn meaning(loaded: &Loaded) -> Option<Vec<String>> {
    let program = loaded.compiled.program.as_ref()?;
    let mut lines: Vec<String> = edges::print(program, &Texts::new(), &[]).lines().map(ToOwned::to_owned).collect();
    lines.sort_unstable();
    Some(lines)
}

fn text(file: &Source) -> String {
    match &file.bytes {
        Bytes::Read(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Bytes::TooLarge { .. } => String::new(),
    }
}

/// Returns the lines of a text, whatever their order.
fn lines(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> =
        text.lines().map(|line| line.trim().trim_start_matches('-').trim()).filter(|line| !line.is_empty()).collect();
    lines.sort_unstable();
    lines
}

/// Checks everything that must hold of formatting these files; returns how many changed.
fn check(files: &[Source]) -> usize {
    let (after, changed) = formatted(files);
    if changed == 0 {
        return 0;
    }
    let (_, again) = formatted(&after);
    assert_eq!(again, 0, "formatting again changes something");
    let (before, now) = (Loaded::new(files), Loaded::new(&after));
    if before.compiled.program.is_some() {
        assert_eq!(meaning(&before), meaning(&now));
        assert_eq!(before.compiled.diagnostics.len(), now.compiled.diagnostics.len());
    } else {
        // The data flow is checked where nothing else is wrong: mending a slip may show more of that.
        let own =
            |loaded: &Loaded| loaded.compiled.diagnostics.iter().filter(|found| ["files", "names"].contains(&found.code.family())).count();
        let (before, now) = (own(&before), own(&now));
        assert!(now <= before, "{now} findings instead of {before}");
    }
    changed
}

fn checked(files: &[Source]) -> usize {
    guarded(|| check(files)).unwrap_or_else(|panic| panic!("{panic}\n{}\n=> {}", shown(files), shown(&formatted(files).0)))
}

#[test]
fn graphs_of_the_suite_mean_the_same_formatted() {
    let changed: usize = corpus().iter().map(|files| checked(files)).sum();
    assert!(changed > 50, "only {changed} files changed: is there still something to format?");
}

#[test]
fn graphs_of_the_repository_are_formatted() {
    for folder in ["graphs", "examples"] {
        let loader = Directory::new(repository().join(folder)).expect("the folder");
        for path in loader.list_files().expect("the files") {
            let source = loader.read_file(&path).expect("a file");
            assert!(matches!(format(&source), Formatted::Same), "{folder}/{path} is not formatted: `trellis fmt {folder}` does it");
        }
    }
}

#[test]
fn random_graphs_mean_the_same_formatted_however_they_are_written() {
    let (mut changed, mut sound) = (0, 0);
    let share = Share::of_today();
    for seed in share.of(GRAPHS) {
        let mut rng = Rng::new(seed + 100);
        let files: Vec<Source> = random::graph(&mut rng).iter().map(|file| rewritten(file, &mut rng)).collect();
        changed += checked(&files);
        sound += usize::from(Loaded::new(&files).compiled.program.is_some());
        for (before, after) in files.iter().zip(&formatted(&files).0) {
            let (before, after) = (text(before), text(after));
            assert_eq!(places(&before), places(&after), "a comment left its key:\n{before}\n=>\n{after}");
            if !before.contains('{') {
                assert_eq!(lines(&before), lines(&after), "a line was lost:\n{before}\n=>\n{after}");
            }
            assert_eq!(before.contains("\r\n"), after.contains("\r\n"));
        }
    }
    assert!(changed > share.least(1_500) && sound > share.least(200), "only {changed} files changed, only {sound} graphs compile");
}

#[test]
fn damaged_graphs_are_formatted_or_left_alone() {
    let corpus = corpus();
    let share = Share::of_today();
    let changed: usize = share
        .of(MUTANTS)
        .map(|turn| {
            let mut rng = Rng::new((23 << 32) + turn);
            let at = rng.below(corpus.len());
            checked(&damaged(&corpus[at], &mut rng))
        })
        .sum();
    assert!(changed > share.least(300), "only {changed} files changed");
}

/// The same file in another hand: block YAML where it was JSON, with comments, sometimes with other line breaks.
fn rewritten(file: &Source, rng: &mut Rng) -> Source {
    let text = text(file);
    let (matter, body) = match text.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n")) {
        Some((matter, body)) => (matter, Some(body)),
        None => (text.as_str(), None),
    };
    let Ok(Json::Object(mapping)) = serde_json::from_str(matter) else { return file.clone() };
    let yaml = written::yaml(&mapping, rng);
    let text = body.map_or(yaml.clone(), |body| format!("---\n{yaml}---\n{body}"));
    let text = if rng.chance(20) { text.replace('\n', "\r\n") } else { text };
    Source::text(Arc::clone(&file.path), &text)
}

/// The key below each comment that stands at one.
fn places(text: &str) -> BTreeMap<&str, &str> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let comments = lines.iter().enumerate().filter(|(_, line)| line.starts_with("# ") && line.contains(": at "));
    let key = |line: &&&str| !line.is_empty() && !line.starts_with('#');
    comments
        .map(|(at, comment)| {
            let below = lines[at..].iter().find(key).map_or("", |line| line.trim_start_matches("-").trim());
            (*comment, below.split(':').next().unwrap_or_default())
        })
        .collect()
}

//! Migrating leaves sound graphs alone, comes to an end at once, and survives anything: over the suite and over damaged graphs.

use trellis_core::{Dialect, Source, syntax::document::Bytes};
use trellis_project::{Memory, migrate::migrate};
use trellis_tests::harness::{Loaded, run::guarded};

use super::{
    bytes::{corpus, damaged, shown},
    rng::Rng,
    share::Share,
};

/// Damaged graphs in all.
const MUTANTS: u64 = 3_000;

fn memory(files: &[Source]) -> Memory {
    let read = |file: &Source| match &file.bytes {
        Bytes::Read(bytes) => Some((file.path.clone(), bytes.to_vec())),
        Bytes::TooLarge { .. } => None,
    };
    files.iter().filter_map(read).collect()
}

/// Migrates twice; returns whether the first time changed anything.
fn twice(files: &[Source], to: Option<Dialect>) -> bool {
    let mut graph = memory(files);
    let first = migrate(graph.clone(), None, to).expect("a graph in memory can be listed");
    for file in &first.files {
        graph.insert(file.path.clone(), file.after.as_bytes().to_vec());
    }
    let second = migrate(graph, None, to).expect("a graph in memory can be listed");
    assert_eq!(second.files, [], "a second run changes something");
    assert_eq!(second.compiled.diagnostics, first.compiled.diagnostics, "a second run finds something else");
    !first.files.is_empty()
}

fn checked(files: &[Source], to: Option<Dialect>) -> bool {
    guarded(|| twice(files, to)).unwrap_or_else(|panic| panic!("{panic}\n{}", shown(files)))
}

#[test]
fn a_sound_graph_is_migrated_to_itself() {
    let mut sound = 0;
    for files in corpus() {
        if Loaded::new(&files).compiled.diagnostics.is_empty() {
            assert!(!checked(&files, None), "a sound graph was changed:\n{}", shown(&files));
            sound += 1;
        }
    }
    assert!(sound > 200, "only {sound} graphs are sound");
}

#[test]
fn a_graph_of_the_suite_is_migrated_once() {
    let changed = corpus().iter().filter(|files| checked(files, None)).count();
    assert!(changed > 20, "only {changed} graphs changed");
}

#[test]
fn go_templates_of_the_suite_become_jinja_without_another_finding() {
    let mut changed = 0;
    for files in corpus() {
        let before = Loaded::new(&files).compiled;
        let after = migrate(memory(&files), None, Some(Dialect::Jinja)).expect("a graph in memory can be listed");
        if !before.diagnostics.is_empty() || after.files.is_empty() {
            continue;
        }
        changed += 1;
        assert_eq!(after.compiled.diagnostics, [], "{}\n=> {:?}", shown(&files), after.files);
        checked(&files, Some(Dialect::Jinja));
    }
    assert!(changed > 5, "only {changed} graphs changed");
}

#[test]
fn damaged_graphs_are_migrated_once_or_left_alone() {
    let corpus = corpus();
    for turn in Share::of_today().of(MUTANTS) {
        let mut rng = Rng::new((29 << 32) + turn);
        let to = *rng.pick(&[None, Some(Dialect::Jinja), Some(Dialect::Go)]);
        let at = rng.below(corpus.len());
        checked(&damaged(&corpus[at], &mut rng), to);
    }
}

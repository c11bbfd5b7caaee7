//! Edits of small graphs: what is looked at again, and that nothing else changes.

use std::collections::BTreeMap;

use super::*;
use crate::context_types::ContextTypes;
use trellis_base::{diagnostic::Code, template::Dialect};
use trellis_syntax::document::Source;

/// A graph that is edited again and again.
#[derive(Default)]
struct Edited {
    compiler: Compiler,
    documents: BTreeMap<&'static str, Arc<Document>>,
    found: Vec<Diagnostic>,
}

impl Edited {
    fn new(files: &[(&'static str, &str)]) -> Self {
        let mut edited = Self::default();
        for (path, text) in files {
            edited.put(path, text);
        }
        edited.compile();
        edited
    }

    fn put(&mut self, path: &'static str, text: &str) {
        let document = Document::parse(&Source::text(path, text), Dialect::default());
        self.documents.insert(path, Arc::new(document));
    }

    /// Compiles, and compares the result with a full compilation. Returns the number of points that were executed, and the findings.
    fn compile(&mut self) -> (usize, Vec<String>) {
        let documents: Vec<_> = self.documents.values().cloned().collect();
        let (warm, cold) = (self.compiler.compile(&documents), crate::compile(&documents));
        assert_eq!(warm.diagnostics, cold.diagnostics);
        assert_eq!(warm.unchecked, cold.unchecked);
        let looked = self.compiler.last.as_ref().map_or(0, |last| last.own.looked());
        self.found = warm.diagnostics;
        (looked, self.found.iter().map(|found| format!("{} {}", found.code, found.message)).collect())
    }

    fn edit(&mut self, path: &'static str, text: &str) -> (usize, Vec<String>) {
        self.put(path, text);
        self.compile()
    }
}

/// A loop of three nodes with a condition at its end, one node before it and one after it.
fn looped() -> Edited {
    Edited::new(&[
        ("start.md", "---\ninput_type: text\nsave_to: name\nto: a\n---\nName?\n"),
        ("a.md", "---\noptions: [red, blue]\nsave_to: colour\nto: b\n---\nHello {{ name }}\n"),
        ("b.md", "---\noptions: [more, enough]\nsave_to: choice\nto: c\n---\nYou took {{ colour }}\n"),
        ("c.md", "---\ntransitions:\n  - { condition: choice == \"more\", to: a }\n  - to: last\n---\n"),
        ("last.md", "---\nto: bye\n---\n{{ name }} likes {{ colour }}\n"),
        ("bye.md", "---\n---\nGoodbye, {{ name }}\n"),
    ])
}

/// language 1.2, 8: a file that is not understood keeps its node, and the others are taken over.
#[test]
fn half_typed_text_concerns_its_own_node() {
    let mut graph = looped();
    let nodes = |graph: &Edited| graph.compiler.last.as_ref().expect("the graph has an entry").program.nodes.clone();
    let before = nodes(&graph);
    for half in [
        "---\nsave_to: choice\nto: c\noptions: [more, enou\n---\n{{ colour }}\n",
        "---\nto: c\nsave_to: choice\ntimeout: \"1\n",
        "---\nto: c\nsave_to: choice\n---\n{{ col",
    ] {
        let (looked, found) = graph.edit("b.md", half);
        assert!(!found.is_empty() && looked <= 5, "{looked} {found:?}");
        let found = &graph.found;
        assert!(found.iter().all(|found| found.place.as_ref().is_some_and(|place| *place.path == *"b.md")), "{found:?}");
        let shared = before.iter().zip(&nodes(&graph)).filter(|(one, other)| Arc::ptr_eq(one, other)).count();
        assert_eq!(shared, before.len() - 1, "{half:?}");
    }
    let (_, found) = graph.edit("b.md", "---\noptions: [more, enough]\nsave_to: choice\nto: c\n---\nYou took {{ colour }}\n");
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn a_broken_file_changes_no_finding_that_does_not_hang_on_it() {
    let mut graph = looped();
    let others = |graph: &Edited| -> Vec<Diagnostic> {
        graph.found.iter().filter(|found| found.place.as_ref().is_none_or(|place| *place.path != *"last.md")).cloned().collect()
    };
    graph.edit("a.md", "---\noptions: [red, blue]\nsave_to: colour\nto: bb\n---\nHello {{ nam }}\n");
    graph.edit("c.md", "---\ntransitions:\n  - { condition: choice == \"less\", to: a }\n  - to: last\n---\n");
    let before = others(&graph);
    assert_eq!(before.iter().map(|found| found.code).collect::<Vec<_>>(), [Code::UnknownTarget, Code::UndefinedVariable]);
    graph.edit("last.md", "---\nto: [bye\n---\n{{ name }} likes {{ colour }}\n");
    assert_eq!(others(&graph), before);
}

#[test]
fn the_types_of_the_last_compilation_are_kept() {
    let mut graph = looped();
    let documents: Vec<_> = graph.documents.values().cloned().collect();
    let program = crate::compile(&documents).program.expect("the graph has no mistakes");
    let fresh = ContextTypes::of(&program);
    let types = graph.compiler.context_types().expect("its data were analysed");
    for node in program.nodes() {
        assert_eq!(types.at(&node.id), fresh.at(&node.id), "{}", node.id);
    }
    assert!(!types.at(&"c".into()).is_empty());
    // They outlive a mistake, and the next compilation goes on from them.
    let (looked, _) = graph.edit("bye.md", "---\nto: [\n---\nGoodbye, {{ name }}\n");
    assert!(looked <= 2, "{looked}");
    assert_eq!(graph.compiler.context_types().expect("its data were analysed").at(&"c".into()), fresh.at(&"c".into()));
}

#[test]
fn a_broken_file_keeps_the_id_that_its_text_names() {
    let mut graph = Edited::new(&[
        ("start.md", "---\nto: shop/list\n---\n"),
        ("elsewhere.md", "---\nid: shop/list\nto: bye\n---\n"),
        ("bye.md", "---\n---\nBye.\n"),
    ]);
    let (_, found) = graph.edit("elsewhere.md", "---\nid: shop/list # the list\nto: [bye\n---\n");
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("yaml-syntax"), "{found:?}");
    // Without that line it has the id of its path.
    let (_, found) = graph.edit("elsewhere.md", "---\nid:\nto: [bye\n---\n");
    assert!(found.iter().any(|found| found.contains("`shop/list`")), "{found:?}");
}

#[test]
fn words_in_a_loop_concern_one_point() {
    let mut graph = looped();
    let (looked, found) = graph.edit("b.md", "---\noptions: [more, enough]\nsave_to: choice\nto: c\n---\nSo you took {{ colour }}\n");
    assert_eq!((looked, &found[..]), (1, &[][..]));
    // Reading a key that is always present refines nothing.
    let more = "---\noptions: [more, enough]\nsave_to: choice\nto: c\n---\n{{ name }} took {{ colour }}\n";
    assert_eq!(graph.edit("b.md", more).0, 1);
    // Reading one that may be absent does: after the read it is present.
    let (looked, found) = graph.edit("b.md", "---\noptions: [more, enough]\nsave_to: choice\nto: c\n---\n{{ colour }} {{ choice }}\n");
    assert!(looked >= 3, "{looked}");
    assert_eq!(found, ["maybe-undefined `choice` is not set on every path to `b`"]);
}

#[test]
fn data_concern_a_part_and_what_comes_behind_it() {
    let mut graph = looped();
    let (looked, _) = graph.edit("start.md", "---\ninput_type: text\nsave_to: name\nto: a\n---\nYour name?\n");
    assert_eq!(looked, 1);
    // Another value flows to `choice`, in the loop and after it.
    let (looked, found) = graph.edit("b.md", "---\noptions: [more, enough, none]\nsave_to: choice\nto: c\n---\nYou took {{ colour }}\n");
    assert_eq!((looked, &found[..]), (5, &[][..]));
    let (_, found) = graph.edit("b.md", "---\noptions: [less, enough]\nsave_to: choice\nto: c\n---\nYou took {{ colour }}\n");
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("never-true"), "{found:?}");
}

#[test]
fn a_key_that_is_read_for_the_first_time_was_written_before() {
    let mut graph = looped();
    let (_, found) = graph.edit("bye.md", "---\n---\nGoodbye, {{ name }}, {{ choice }} {{ town }}\n");
    assert_eq!(found, ["undefined-variable `town` is not set on any path to `bye`"]);
    let (_, found) = graph.edit("start.md", "---\ninput_type: text\nsave_to: town\nset: { name: you }\nto: a\n---\nTown?\n");
    assert!(found.is_empty(), "{found:?}");
    graph.edit("bye.md", "---\n---\nGoodbye, {{ name }}\n");
    graph.edit("start.md", "---\ninput_type: text\nsave_to: name\nto: a\n---\nName?\n");
    let (_, found) = graph.edit("bye.md", "---\n---\nGoodbye from {{ town }}\n");
    assert_eq!(found, ["undefined-variable `town` is not set on any path to `bye`"]);
}

#[test]
fn a_part_that_nobody_comes_to_any_more_says_nothing() {
    let mut graph = looped();
    let (_, found) = graph.edit("c.md", "---\nto: a\n---\n");
    assert!(found.iter().any(|found| found.starts_with("no-way-out")), "{found:?}");
    let (_, found) = graph.edit("c.md", "---\ntransitions:\n  - { condition: choice == \"more\", to: a }\n  - to: last\n---\n");
    assert!(found.is_empty(), "{found:?}");
    let (_, found) = graph.edit("a.md", "---\nto: last\n---\n");
    assert!(found.iter().any(|found| found.contains("`colour`")), "{found:?}");
    graph.edit("a.md", "---\n{\n---\n");
    let (_, found) = graph.edit("a.md", "---\noptions: [red, blue]\nsave_to: colour\nto: b\n---\nHello {{ name }}\n");
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn what_a_child_returns_reaches_who_calls_it() {
    let mut graph = Edited::new(&[
        ("start.md", "---\ndo: { graph: ask }\nsave_to: answer\nto: then\n---\n"),
        ("then.md", "---\ntransitions:\n  - { condition: answer == \"yes\", to: yes }\n  - to: bye\n---\n"),
        ("yes.md", "---\n---\nYes.\n"),
        ("bye.md", "---\n---\nBye.\n"),
        ("ask/start.md", "---\noptions: [\"yes\", \"no\"]\nsave_to: said\nto: end\n---\nWell?\n"),
        ("ask/end.md", "---\noutput: \"{{ said }}\"\n---\n"),
    ]);
    let (_, found) = graph.edit("ask/start.md", "---\noptions: [\"never\", \"no\"]\nsave_to: said\nto: end\n---\nWell?\n");
    assert!(found.iter().any(|found| found.starts_with("never-true")), "{found:?}");
    let (_, found) = graph.edit("ask/start.md", "---\noptions: [\"yes\", \"no\"]\nsave_to: said\nto: end\n---\nWell?\n");
    assert!(found.is_empty(), "{found:?}");
}

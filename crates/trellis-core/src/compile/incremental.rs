//! Incremental compilation: nodes whose files and surroundings did not change are not lowered again.
//!
//! An edit is *private* if the edited files hold one node each, under the same id, with the same declared keys, and without tools, defaults
//! or old ids. Then the other nodes resolve names as before, so their points, replies, edges and diagnostics are copied from the previous
//! program.
//!
//! **Invariant:** the result is that of [`super::compile`]. Names, defaults, tools and pages are computed each time; a lowered node is
//! reused only if all of them are equal, and otherwise everything is lowered.
//!
//! **Example.** Rewording the content of `b.md` lowers `b` again and copies all nodes before and after it.

use std::{ops::Range, sync::Arc};

use super::{
    Compiled, Join,
    document_index::DocumentIndex,
    graphs::{GraphSyntax, known_keys},
    layout::{FileLayout, NodeLayout, PageNames},
    lower::Lowering,
    names::PATIENCE,
    room::Room,
    schemas::Schemas,
    verify,
};
use crate::{
    diagnostic::Diagnostic,
    path::KeyPath,
    program::Program,
    syntax::{
        document::{Content, Document},
        node::NodeSyntax,
    },
    value::{Key, Value},
};

/// Number of replies and edges that an edit may add before their lists are reallocated.
const EDITED: usize = 64;

/// Compiler of one graph whose files are edited.
#[derive(Debug, Default)]
pub struct Compiler {
    last: Option<Previous>,
}

impl Compiler {
    /// Compiles the documents of the graph, with the result of [`super::compile`]. Reuses the previous compilation for files that did not
    /// change.
    pub fn compile(&mut self, documents: &[Arc<Document>]) -> Compiled {
        self.link(documents, None)
    }

    /// Compiles with threads, with the result of [`super::compile_with`]. Reuses the previous compilation as [`Compiler::compile`] does.
    pub fn compile_with(&mut self, documents: &[Arc<Document>], both: Join) -> Compiled {
        self.link(documents, Some(both))
    }

    fn link(&mut self, documents: &[Arc<Document>], both: Option<Join>) -> Compiled {
        let (compiled, linked) = super::link(documents, self.last.take(), both);
        self.last = linked;
        compiled
    }
}

/// State that one compilation leaves to the next.
#[derive(Debug)]
pub(super) struct Previous {
    /// Program, also if it had errors.
    pub(super) program: Arc<Program>,
    pub(super) frame: Arc<FileLayout>,
    pub(super) glance: DocumentIndex,
    pub(super) page_names: PageNames,
    pub(super) layouts: Arc<NodeLayout>,
    pub(super) schemas: Schemas,
    pub(super) lowered: LoweredNodes,
    pub(super) own: verify::CheckCache,
}

/// Diagnostics of lowering, by node.
#[derive(Debug, Default)]
pub(super) struct LoweredNodes {
    found: Vec<(u32, Diagnostic)>,
    unresolved: Vec<u32>,
    /// True if some condition looked up every key of its graph.
    asked: bool,
    /// Number of names that were compared with unknown ones.
    compared: usize,
    /// True if something could not be read, so that less was reported.
    unread: bool,
}

impl LoweredNodes {
    /// Returns true if the same mistakes would be reported now.
    pub(super) fn fits(&self, unread: bool) -> bool {
        self.unread == unread
    }

    /// Returns true if the bound on comparisons was reached: a full compilation could suggest other names.
    pub(super) fn is_out_of_patience(&self) -> bool {
        self.compared >= PATIENCE
    }
}

impl Previous {
    /// Returns the capacity to reserve: that of the last program and a little more.
    pub(super) fn room(&self) -> Room {
        Room { replies: self.program.replies.len() + EDITED, edges: self.program.edges.len() + EDITED }
    }

    /// Returns the indices of the edited documents; `None` if files were added, removed or reordered.
    pub(super) fn edited(&self, documents: &[Arc<Document>]) -> Option<Vec<u32>> {
        let before = &self.program.documents;
        if before.len() != documents.len() {
            return None;
        }
        let pairs = (0..).zip(before.iter().zip(documents));
        let edited = pairs.filter(|(_, (old, new))| !Arc::ptr_eq(old, new)).map(|(at, (old, new))| (old.path == new.path).then_some(at));
        edited.collect()
    }

    /// Returns true if every edited file held and holds one node, with the same id and declarations.
    pub(super) fn is_same_around(&self, documents: &[Arc<Document>], edited: &[u32]) -> bool {
        self.frame.found.is_empty()
            && edited.iter().all(|&at| {
                let (old, new) = (&self.program.documents[at as usize].content, &documents[at as usize].content);
                let (Content::Node(one), Content::Node(other)) = (old, new) else { return false };
                let id = |node: &NodeSyntax| node.id.as_ref().map(|id| id.value.clone());
                let keys = |node| known_keys(&GraphSyntax::default(), std::iter::once(node));
                id(one) == id(other)
                    && one.has_matter == other.has_matter
                    && is_private(one)
                    && is_private(other)
                    && declared(one) == declared(other)
                    && (!self.lowered.asked || keys(one) == keys(other))
            })
    }
}

/// Previous program and the diagnostics of its lowering, with the documents that were edited since.
pub(super) struct Reused<'t> {
    pub(super) program: &'t Arc<Program>,
    pub(super) lowered: &'t LoweredNodes,
    pub(super) edited: &'t [u32],
}

/// Lowers all nodes, or only the edited ones if `taken` is given. Returns the nodes that were lowered.
pub(super) fn lower<'d>(lowering: &mut Lowering<'d>, taken: Option<&Reused<'_>>) -> (LoweredNodes, Vec<u32>) {
    let names = lowering.names;
    let mut lowered = LoweredNodes { unread: lowering.unread, ..LoweredNodes::default() };
    let mut fresh = Vec::new();
    let asked: Vec<Range<u32>> = match taken {
        Some(taken) => taken.edited.iter().map(|document| names.of_document(*document)).collect(),
        None => std::iter::once(0..u32::try_from(names.len()).unwrap_or(u32::MAX)).collect(),
    };
    let mut next = 0;
    for at in asked.into_iter().flatten() {
        let candidate = names.candidate(at);
        let (Some(index), Some(syntax)) = (lowering.layouts.nodes_of[at as usize], candidate.syntax) else { continue };
        if let Some(taken) = taken {
            lowering.take_over(taken, next..index.0, &mut lowered);
        }
        next = index.0 + 1;
        fresh.push(index.0);
        let before = lowering.found.len();
        let unresolved = std::mem::replace(&mut lowering.unresolved, false);
        lowering.node(candidate, syntax, index);
        lowered.found.extend(lowering.found[before..].iter().map(|found| (index.0, found.clone())));
        if std::mem::replace(&mut lowering.unresolved, unresolved) {
            lowered.unresolved.push(index.0);
            lowering.unresolved = true;
        }
    }
    if let Some(taken) = taken {
        let last = u32::try_from(taken.program.nodes.len()).unwrap_or(u32::MAX);
        lowering.take_over(taken, next..last, &mut lowered);
    }
    lowered.compared = taken.map_or(0, |taken| taken.lowered.compared) + names.compared();
    lowered.asked = taken.is_some_and(|taken| taken.lowered.asked) || lowering.graphs.iter().any(|graph| graph.keys.get().is_some());
    (lowered, fresh)
}

/// Returns the declarations that a call of a node as a child is checked against.
fn declared(node: &NodeSyntax) -> (Vec<&KeyPath>, Vec<(&Key, &Value)>, Vec<&KeyPath>) {
    let required = node.required_context.iter().map(|path| &path.value).collect();
    let types = node.context_schema.iter().map(|(key, schema)| (&key.value, &schema.value)).collect();
    (required, types, node.default_context.iter().map(|assign| &assign.key.value).collect())
}

/// Returns true if a node declares nothing that concerns other nodes.
fn is_private(node: &NodeSyntax) -> bool {
    node.tools.is_empty() && node.defaults.is_none() && node.was.is_empty()
}

impl Lowering<'_> {
    /// Copies consecutive nodes of the previous program, with their points, replies and edges.
    fn take_over(&mut self, taken: &Reused<'_>, nodes: Range<u32>, lowered: &mut LoweredNodes) {
        if nodes.is_empty() {
            return;
        }
        let (program, old) = (taken.program, taken.lowered);
        let from = old.found.partition_point(|(node, _)| *node < nodes.start);
        let found = old.found[from..].iter().take_while(|(node, _)| *node < nodes.end);
        self.found.extend(found.clone().map(|(_, found)| found.clone()));
        lowered.found.extend(found.cloned());
        let unresolved = old.unresolved.iter().filter(|node| nodes.contains(node));
        let before = lowered.unresolved.len();
        lowered.unresolved.extend(unresolved);
        self.unresolved |= lowered.unresolved.len() > before;
        let (first, last) = (&program.nodes[nodes.start as usize], &program.nodes[nodes.end as usize - 1]);
        let points = first.gate.unwrap_or(first.body).0 as usize..=last.body.0 as usize;
        let points = &program.points[points];
        let replies = points[0].replies.start..points[points.len() - 1].replies.end;
        let moved = u32::try_from(self.replies.len()).unwrap_or(u32::MAX);
        self.points.extend(points.iter().map(|point| {
            let replies = point.replies.start - replies.start + moved..point.replies.end - replies.start + moved;
            crate::program::Point { node: point.node, part: point.part, replies }
        }));
        let replies = program.replies(&replies);
        // Replies can share edges.
        let start = replies.first().map_or(0, |reply| reply.edges.start);
        let end = replies.iter().map(|reply| reply.edges.end).max().unwrap_or(start);
        let moved = u32::try_from(self.edges.len()).unwrap_or(u32::MAX);
        self.replies.extend(replies.iter().map(|reply| {
            let edges = reply.edges.start - start + moved..reply.edges.end - start + moved;
            crate::program::Reply { on: reply.on.clone(), update: reply.update.clone(), edges }
        }));
        self.edges.extend_from_slice(program.edges(&(start..end)));
        self.nodes.extend_from_slice(&program.nodes[nodes.start as usize..nodes.end as usize]);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::{Dialect, Source};

    /// A graph that is edited again and again.
    #[derive(Default)]
    struct Edited {
        compiler: Compiler,
        documents: BTreeMap<&'static str, Arc<Document>>,
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
            let (warm, cold) = (self.compiler.compile(&documents), crate::compile::compile(&documents));
            assert_eq!(warm.diagnostics, cold.diagnostics);
            assert_eq!(warm.unchecked, cold.unchecked);
            let looked = self.compiler.last.as_ref().map_or(0, |last| last.own.looked());
            (looked, warm.diagnostics.iter().map(|found| format!("{} {}", found.code, found.message)).collect())
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
        assert_eq!(found, ["maybe-undefined `choice` is not set on every way to `b`"]);
    }

    #[test]
    fn data_concern_a_part_and_what_comes_behind_it() {
        let mut graph = looped();
        let (looked, _) = graph.edit("start.md", "---\ninput_type: text\nsave_to: name\nto: a\n---\nYour name?\n");
        assert_eq!(looked, 1);
        // Another value flows to `choice`, in the loop and after it.
        let (looked, found) =
            graph.edit("b.md", "---\noptions: [more, enough, none]\nsave_to: choice\nto: c\n---\nYou took {{ colour }}\n");
        assert_eq!((looked, &found[..]), (5, &[][..]));
        let (_, found) = graph.edit("b.md", "---\noptions: [less, enough]\nsave_to: choice\nto: c\n---\nYou took {{ colour }}\n");
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("never-true"), "{found:?}");
    }

    #[test]
    fn a_key_that_is_read_for_the_first_time_was_written_before() {
        let mut graph = looped();
        let (_, found) = graph.edit("bye.md", "---\n---\nGoodbye, {{ name }}, {{ choice }} {{ town }}\n");
        assert_eq!(found, ["undefined-variable `town` is not set on any way to `bye`"]);
        let (_, found) = graph.edit("start.md", "---\ninput_type: text\nsave_to: town\nset: { name: you }\nto: a\n---\nTown?\n");
        assert!(found.is_empty(), "{found:?}");
        graph.edit("bye.md", "---\n---\nGoodbye, {{ name }}\n");
        graph.edit("start.md", "---\ninput_type: text\nsave_to: name\nto: a\n---\nName?\n");
        let (_, found) = graph.edit("bye.md", "---\n---\nGoodbye from {{ town }}\n");
        assert_eq!(found, ["undefined-variable `town` is not set on any way to `bye`"]);
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
}

//! Incremental compilation: nodes whose files and surroundings did not change are not lowered again.
//!
//! An edit is *private* if the edited files hold one node each, under the same id, without tools, defaults or old ids, and with the same
//! declarations where a call names the node. Then the other nodes resolve names as before, so their points, replies, edges and diagnostics
//! are copied from the previous program. An unreadable file, as most are while their author types, holds a node without any key.
//!
//! **Invariant:** the result is that of [`super::compile`]. Names, defaults, tools and pages are computed each time; a lowered node is
//! reused only if all of them are equal, and otherwise everything is lowered.
//!
//! **Example.** Rewording the content of `b.md` lowers `b` again and copies all nodes before and after it. So does `to: [` in `b.md`: the
//! node stays, and nothing is claimed about it or the nodes that depend on it.

#[cfg(test)]
mod tests;

use std::{ops::Range, sync::Arc};

use super::{
    Compiled, Join, PointTypes,
    document_index::DocumentIndex,
    layout::{FileLayout, NodeLayout, PageNames},
    lower::{BareName, GuardedName, Lowering},
    names::{MAX_NAME_COMPARISONS, is_project},
    room::Room,
    schemas::Schemas,
    verify,
};
use trellis_base::{
    diagnostic::Diagnostic,
    id::NodeId,
    index::to_u32,
    path::KeyPath,
    value::{Key, Value},
};
use trellis_engine::program::{NodeIndex, Program, Role};
use trellis_syntax::{
    document::{Content, Document},
    node::NodeSyntax,
};

/// Number of replies and edges that an edit may add before their lists are reallocated.
const EDITED: usize = 64;

/// Compiler of one graph whose files are edited.
///
/// ```
/// use std::sync::Arc;
///
/// use trellis_base::Dialect;
/// use trellis_compiler::Compiler;
/// use trellis_syntax::{Document, Source};
///
/// let parse = |path: &str, text: &str| Arc::new(Document::parse(&Source::text(path, text), Dialect::default()));
/// let mut documents = [parse("end.md", "---\n---\nThe end.\n"), parse("start.md", "---\nto: nd\n---\n")];
/// let mut compiler = Compiler::default();
/// assert!(compiler.compile(&documents).program.is_none());
///
/// // What was not edited is the same `Arc`, and is not compiled again.
/// documents[1] = parse("start.md", "---\nto: end\n---\n");
/// assert!(compiler.compile(&documents).program.is_some());
/// ```
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

    /// Returns the program of the last compilation, also one with mistakes, and the types of the keys at its points.
    pub(crate) fn point_types(&mut self) -> Option<(Arc<Program>, PointTypes)> {
        let last = self.last.as_mut()?;
        let types = last.own.point_types(&last.program)?;
        Some((Arc::clone(&last.program), types))
    }
}

/// State that one compilation leaves to the next.
#[derive(Debug)]
pub(super) struct Previous {
    /// Program, also if it had errors.
    pub(super) program: Arc<Program>,
    pub(super) frame: Arc<FileLayout>,
    pub(super) index: DocumentIndex,
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
    bare: Vec<(u32, BareName)>,
    guarded: Vec<(u32, GuardedName)>,
    /// Number of names that were compared with unknown ones.
    compared: usize,
}

impl LoweredNodes {
    /// Returns the bare names in conditions, in the order of nodes.
    pub(super) fn bare_names(&self) -> impl Iterator<Item = &BareName> {
        self.bare.iter().map(|(_, bare)| bare)
    }

    /// Returns the keys that are tested or guarded, in the order of nodes.
    pub(super) fn guarded_names(&self) -> impl Iterator<Item = &GuardedName> {
        self.guarded.iter().map(|(_, name)| name)
    }

    /// Returns true if the bound on comparisons was reached: a full compilation could suggest other names.
    pub(super) fn is_out_of_patience(&self) -> bool {
        self.compared >= MAX_NAME_COMPARISONS
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

    /// Returns true if every edited file held and holds one node, with the same id, and the same declarations if a call may be checked
    /// against them. A file that is not understood holds a node without declarations.
    pub(super) fn is_same_around(&self, documents: &[Arc<Document>], edited: &[u32]) -> bool {
        self.frame.found.is_empty()
            && edited.iter().all(|&at| {
                let (old, new) = (&self.program.documents[at as usize], &documents[at as usize]);
                let (Some(one), Some(other)) = (NodePlace::of(old), NodePlace::of(new)) else { return false };
                one.id == other.id
                    && one.is_page_like == other.is_page_like
                    && is_private(one.node)
                    && is_private(other.node)
                    && (declared(one.node) == declared(other.node) || !self.is_called(at))
            })
    }

    /// Returns true if some call begins a child at a node of this document.
    fn is_called(&self, document: u32) -> bool {
        let is_here = |node: NodeIndex| self.program.node(node).document == document;
        let calls = self.program.nodes.iter().filter_map(|node| match &node.role {
            Role::Act(call) => Some(&**call),
            Role::Pass | Role::Listen(_) => None,
        });
        let gates = self.program.graphs.iter().filter_map(|graph| graph.before_each.as_deref());
        calls.chain(gates).any(|call| call.starts().any(is_here))
    }
}

/// The node of a file that holds one, and the data that decide its name.
struct NodePlace<'d> {
    id: Option<&'d NodeId>,
    /// A page unless some target names it (language 1.2).
    is_page_like: bool,
    node: &'d NodeSyntax,
}

impl<'d> NodePlace<'d> {
    fn of(document: &'d Document) -> Option<Self> {
        let id = match &document.content {
            Content::Node(node) => node.id.as_ref().map(|id| &id.value),
            Content::Broken if !is_project(&document.path) => document.named.as_ref(),
            _ => return None,
        };
        let node = document.node(0)?;
        let is_page_like = matches!(document.content, Content::Node(_)) && !node.has_matter;
        Some(Self { id, is_page_like, node })
    }
}

/// Returns true if two states of a file both hold one node, under the same id.
pub fn is_same_node_place(old: &Document, new: &Document) -> bool {
    let (Some(one), Some(other)) = (NodePlace::of(old), NodePlace::of(new)) else { return false };
    one.id == other.id && one.is_page_like == other.is_page_like
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
    let mut lowered = LoweredNodes::default();
    let mut fresh = Vec::new();
    let asked: Vec<Range<u32>> = match taken {
        Some(taken) => taken.edited.iter().map(|document| names.of_document(*document)).collect(),
        None => std::iter::once(0..to_u32(names.len())).collect(),
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
        lowered.bare.extend(lowering.bare_names.drain(..).map(|bare| (index.0, bare)));
        lowered.guarded.extend(lowering.guarded_names.drain(..).map(|name| (index.0, name)));
        if std::mem::replace(&mut lowering.unresolved, unresolved) {
            lowered.unresolved.push(index.0);
            lowering.unresolved = true;
        }
    }
    if let Some(taken) = taken {
        let last = to_u32(taken.program.nodes.len());
        lowering.take_over(taken, next..last, &mut lowered);
    }
    lowered.compared = taken.map_or(0, |taken| taken.lowered.compared) + names.compared();
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
        let from = old.bare.partition_point(|(node, _)| *node < nodes.start);
        lowered.bare.extend(old.bare[from..].iter().take_while(|(node, _)| *node < nodes.end).cloned());
        let from = old.guarded.partition_point(|(node, _)| *node < nodes.start);
        lowered.guarded.extend(old.guarded[from..].iter().take_while(|(node, _)| *node < nodes.end).cloned());
        let unresolved = old.unresolved.iter().filter(|node| nodes.contains(node));
        let before = lowered.unresolved.len();
        lowered.unresolved.extend(unresolved);
        self.unresolved |= lowered.unresolved.len() > before;
        let (first, last) = (&program.nodes[nodes.start as usize], &program.nodes[nodes.end as usize - 1]);
        let points = first.gate.unwrap_or(first.body).0 as usize..=last.body.0 as usize;
        let points = &program.points[points];
        let replies = points[0].replies.start..points[points.len() - 1].replies.end;
        let moved = to_u32(self.replies.len());
        self.points.extend(points.iter().map(|point| {
            let replies = point.replies.start - replies.start + moved..point.replies.end - replies.start + moved;
            trellis_engine::program::Point { node: point.node, part: point.part, replies }
        }));
        let replies = program.replies(&replies);
        // Replies can share edges.
        let start = replies.first().map_or(0, |reply| reply.edges.start);
        let end = replies.iter().map(|reply| reply.edges.end).max().unwrap_or(start);
        let moved = to_u32(self.edges.len());
        self.replies.extend(replies.iter().map(|reply| {
            let edges = reply.edges.start - start + moved..reply.edges.end - start + moved;
            trellis_engine::program::Reply { on: reply.on.clone(), update: reply.update.clone(), edges }
        }));
        self.edges.extend_from_slice(program.edges(&(start..end)));
        self.nodes.extend_from_slice(&program.nodes[nodes.start as usize..nodes.end as usize]);
    }
}

//! Compiling a graph again after edits: nodes whose files and surroundings stayed the same are not lowered anew.
//!
//! **Invariant:** what comes out is what [`super::compile`] gives. Names, defaults, tools and pages are worked out each time; a lowered node is taken
//! over only where all of that stands as it stood, and where it does not, everything is lowered.

use std::{ops::Range, sync::Arc};

use super::{
    Compiled,
    graphs::{GraphSyntax, known_keys},
    lower::Lowering,
    names::{Candidate, PATIENCE},
};
use crate::{
    diagnostic::Diagnostic,
    path::KeyPath,
    program::{NodeIndex, Program},
    syntax::{
        document::{Content, Document},
        node::NodeSyntax,
    },
    value::{Key, Value},
};

/// Edges that one edit may add before the list is moved.
const EDITED: usize = 64;

/// Compiles one graph again and again, as its files are edited.
#[derive(Debug, Default)]
pub struct Compiler {
    last: Option<Linked>,
}

impl Compiler {
    /// As [`super::compile`]; what did not change since the last time is taken from there.
    pub fn compile(&mut self, documents: &[Arc<Document>]) -> Compiled {
        let (compiled, linked) = super::link(documents, self.last.take());
        self.last = linked;
        compiled
    }
}

/// What one time leaves to the next.
#[derive(Debug)]
pub(super) struct Linked {
    /// The program, sound or not.
    program: Arc<Program>,
    seats: Vec<Seat>,
    lowered: Lowered,
}

/// What lowering the nodes found, by node.
#[derive(Debug, Default)]
pub(super) struct Lowered {
    found: Vec<(u32, Diagnostic)>,
    unresolved: Vec<u32>,
    /// Whether some condition asked for every key of its graph.
    asked: bool,
    /// How many names were compared with ones that were not found.
    compared: usize,
    /// Whether something could not be read, so that less was reported.
    unread: bool,
}

/// Where a candidate stands, and what it came to.
#[derive(Debug, PartialEq, Eq)]
struct Seat {
    document: u32,
    ordinal: u32,
    graph: u32,
    node: Option<NodeIndex>,
    point: u32,
}

/// Lowers all nodes, and takes over what it can.
pub(super) fn lower<'d>(
    lowering: &mut Lowering<'d>,
    documents: &'d [Arc<Document>],
    last: Option<Linked>,
) -> (Seats, Option<Arc<Program>>) {
    let names = lowering.names;
    let seats = seats(lowering);
    let last = last.filter(|last| last.seats == seats && last.lowered.unread == lowering.unread && is_same_around(last, documents));
    let mut lowered = Lowered { unread: lowering.unread, ..Lowered::default() };
    let taken = last.map(|last| (last.program, last.lowered));
    let (mut old_found, mut old_unresolved) = (0, 0);
    let mut run = 0..0;
    for (at, candidate) in names.candidates.iter().enumerate() {
        let (Some(index), Some(syntax)) = (lowering.nodes_of[at], candidate.syntax) else { continue };
        if let Some((program, old)) = &taken
            && Arc::ptr_eq(&program.documents[candidate.document as usize], &documents[candidate.document as usize])
        {
            run.end = index.0 + 1;
            while let Some((_, found)) = old.found.get(old_found).filter(|(node, _)| *node <= index.0) {
                if old.found[old_found].0 == index.0 {
                    lowered.found.push((index.0, found.clone()));
                    lowering.found.push(found.clone());
                }
                old_found += 1;
            }
            while let Some(node) = old.unresolved.get(old_unresolved).filter(|node| **node <= index.0) {
                if *node == index.0 {
                    lowered.unresolved.push(index.0);
                    lowering.unresolved = true;
                }
                old_unresolved += 1;
            }
            continue;
        }
        if let Some((program, _)) = &taken {
            lowering.take_over(program, run);
        }
        run = index.0 + 1..index.0 + 1;
        let before = lowering.found.len();
        let unresolved = std::mem::replace(&mut lowering.unresolved, false);
        lowering.node(candidate, syntax, index);
        lowered.found.extend(lowering.found[before..].iter().map(|found| (index.0, found.clone())));
        if std::mem::replace(&mut lowering.unresolved, unresolved) {
            lowered.unresolved.push(index.0);
            lowering.unresolved = true;
        }
    }
    if let Some((program, _)) = &taken {
        lowering.take_over(program, run);
    }
    lowered.compared = taken.as_ref().map_or(0, |(_, old)| old.compared) + names.compared();
    lowered.asked = taken.as_ref().is_some_and(|(_, old)| old.asked) || lowering.graphs.iter().any(|graph| graph.keys.get().is_some());
    (Seats { seats, lowered }, taken.map(|(program, _)| program))
}

/// What is kept once the program is there.
pub(super) struct Seats {
    seats: Vec<Seat>,
    lowered: Lowered,
}

impl Linked {
    /// How many edges there were.
    pub(super) fn edges(&self) -> usize {
        self.program.edges.len() + EDITED
    }
}

impl Seats {
    /// Whether all at once would have come to other suggestions: there are only so many.
    pub(super) fn is_out_of_patience(&self) -> bool {
        self.lowered.compared >= PATIENCE
    }

    pub(super) fn with(self, program: &Arc<Program>) -> Linked {
        Linked { program: Arc::clone(program), seats: self.seats, lowered: self.lowered }
    }
}

fn seats(lowering: &Lowering<'_>) -> Vec<Seat> {
    let mut point = 0;
    let seat = |(candidate, node): (&Candidate<'_>, &Option<NodeIndex>)| {
        point = node.map_or(point, |node| lowering.points_of[node.0 as usize]);
        Seat { document: candidate.document, ordinal: candidate.ordinal, graph: candidate.graph, node: *node, point }
    };
    lowering.names.candidates.iter().zip(&lowering.nodes_of).map(seat).collect()
}

/// Whether every file that was edited holds one node, before and now, that the others know by the same name and for the same keys.
fn is_same_around(last: &Linked, documents: &[Arc<Document>]) -> bool {
    let before = &last.program.documents;
    before.len() == documents.len()
        && before.iter().zip(documents).filter(|(old, new)| !Arc::ptr_eq(old, new)).all(|(old, new)| {
            let (Content::Node(one), Content::Node(other)) = (&old.content, &new.content) else { return false };
            let id = |node: &NodeSyntax| node.id.as_ref().map(|id| id.value.clone());
            let keys = |node| known_keys(&GraphSyntax::default(), std::iter::once(node));
            old.path == new.path
                && id(one) == id(other)
                && is_private(one)
                && is_private(other)
                && declared(one) == declared(other)
                && (!last.lowered.asked || keys(one) == keys(other))
        })
}

/// What a call of a node as a child is held to.
fn declared(node: &NodeSyntax) -> (Vec<&KeyPath>, Vec<(&Key, &Value)>, Vec<&KeyPath>) {
    let required = node.required_context.iter().map(|path| &path.value).collect();
    let types = node.context_schema.iter().map(|(key, schema)| (&key.value, &schema.value)).collect();
    (required, types, node.default_context.iter().map(|assign| &assign.key.value).collect())
}

/// Whether what a node says is about itself.
fn is_private(node: &NodeSyntax) -> bool {
    node.tools.is_empty() && node.defaults.is_none() && node.was.is_empty()
}

impl Lowering<'_> {
    /// Takes over nodes that follow each other, with their points, replies and edges.
    fn take_over(&mut self, program: &Program, nodes: Range<u32>) {
        if nodes.is_empty() {
            return;
        }
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
        // A reply may share the edges of one before it.
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

//! The control-flow graph of a program: its points, the edges between them, and reachability.
//!
//! **Invariant:** the graph is only an index of sources and targets. Checks read guards and writes from the program's own edges, which the
//! engine takes, so an edge cannot exist for one of them and not for the other.
//!
//! **Example.** A node that calls the graph `c`, with `to: next` and `on_error: help`, has the successors `next`, `help` and the entry of
//! `c`.

pub(super) mod digraph;

use std::sync::Arc;

use self::digraph::Digraph;
use trellis_base::index::to_u32;
use trellis_engine::program::{Failure, NodeIndex, Outcome, PointIndex, Program, Provenance, Reason, Role, Target};

/// Points and edges of a program, with the neighbours of each point in both directions.
pub(super) struct Cfg<'p> {
    pub(super) program: &'p Program,
    pub(super) digraph: Arc<Digraph>,
    /// True if some edge rolls back.
    pub(super) rolls_back: bool,
}

impl<'p> Cfg<'p> {
    pub(super) fn new(program: &'p Program) -> Self {
        Self::of(program, |from, see| neighbours(program, from, see))
    }

    /// The graph without calls of children, and without the edges of some replies, each given by its point and its outcome.
    pub(super) fn without(program: &'p Program, leaves_out: impl Fn(PointIndex, &Outcome) -> bool) -> Self {
        Self::of(program, |from, see| {
            let stays = |edge: &CfgEdge| !leaves_out(from, &program.replies[edge.on as usize].on);
            Self::successors(program, from).filter(stays).for_each(|edge| see(edge.to));
        })
    }

    /// The graph with these neighbours.
    fn of(program: &'p Program, neighbours: impl Fn(PointIndex, &mut dyn FnMut(PointIndex))) -> Self {
        let mut pairs = Vec::with_capacity(program.edges.len());
        for index in 0..program.points.len() {
            let from = PointIndex(to_u32(index));
            neighbours(from, &mut |to| pairs.push((from.0, to.0)));
        }
        let rolls_back = program.edges.iter().any(|edge| edge.to == Target::Rollback);
        Self { program, digraph: Arc::new(Digraph::new(program.points.len(), &pairs)), rolls_back }
    }

    /// Returns the point where a node is entered: its gate, or else its body.
    pub(super) fn entry(&self, node: NodeIndex) -> u32 {
        let node = self.program.node(node);
        node.gate.unwrap_or(node.body).0
    }

    /// Returns the points from which a point can be reached, itself included.
    pub(super) fn reaching(&self, point: u32) -> Vec<bool> {
        let mut seen = vec![false; self.program.points.len()];
        let mut open = vec![point];
        seen[point as usize] = true;
        while let Some(point) = open.pop() {
            for before in self.digraph.backward.of(point) {
                if !std::mem::replace(&mut seen[before as usize], true) {
                    open.push(before);
                }
            }
        }
        seen
    }

    /// Returns the points that can be reached from one of these, themselves included.
    pub(super) fn reachable_from(&self, these: &[bool]) -> Vec<bool> {
        let mut seen = these.to_vec();
        let mut open: Vec<u32> = (0..).zip(these).filter(|(_, is)| **is).map(|(at, _)| at).collect();
        while let Some(point) = open.pop() {
            for after in self.digraph.forward.of(point) {
                if !std::mem::replace(&mut seen[after as usize], true) {
                    open.push(after);
                }
            }
        }
        seen
    }

    /// Returns true if a session can end at a point, by an outcome that counts, because its author wrote so: by a terminal, `fail`, `rollback` or
    /// `max_visits`.
    pub(super) fn ends(&self, point: PointIndex, counts: impl Fn(&Outcome) -> bool) -> bool {
        self.program.out_edges(point).filter(|out| counts(&out.reply.on)).any(|out| match &out.edge.to {
            Target::End(Reason::Failed(Failure::MaxVisits)) => true,
            Target::End(_) => out.edge.why != Provenance::Rule,
            Target::Rollback => self.program.after_rollback(self.program.node(self.program.point(point).node).graph).is_none(),
            _ => false,
        })
    }

    /// The edges from a point to points, in the order in which the engine tries them. A rollback leads to the point after it, an edge to an end
    /// nowhere, and one that repeats a point to itself.
    pub(super) fn successors(program: &'p Program, from: PointIndex) -> impl Iterator<Item = CfgEdge> {
        program.point(from).replies.clone().flat_map(move |on| Self::successors_on(program, from, on))
    }

    /// The edges of one reply of a point to points.
    pub(super) fn successors_on(program: &'p Program, from: PointIndex, on: u32) -> impl Iterator<Item = CfgEdge> {
        program.replies[on as usize].edges.clone().filter_map(move |edge| {
            let to = match program.edges[edge as usize].to {
                Target::Point(to) | Target::Proceed(to) => Some(to),
                Target::Again => Some(from),
                Target::Rollback => program.after_rollback(program.node(program.point(from).node).graph),
                Target::End(_) => None,
            };
            Some(CfgEdge { on, edge, to: to? })
        })
    }
}

/// An edge from a point to a point, by the indices of its reply and itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct CfgEdge {
    pub(super) on: u32,
    pub(super) edge: u32,
    pub(super) to: PointIndex,
}

/// Every point that a point leads to: its successors, and the first points of the child graphs that it calls.
pub(super) fn neighbours(program: &Program, from: PointIndex, see: &mut dyn FnMut(PointIndex)) {
    Cfg::successors(program, from).for_each(|edge| see(edge.to));
    children(program, from).for_each(see);
}

/// The first points of the children that the call of a point begins.
pub(super) fn children(program: &Program, point: PointIndex) -> impl Iterator<Item = PointIndex> {
    let node = program.node(program.point(point).node);
    let call = if let Role::Act(call) = &node.role { Some(call) } else { None };
    call.into_iter().flat_map(|call| call.starts()).map(|child| program.node(child)).map(|child| child.gate.unwrap_or(child.body))
}

/// Returns true if a session can stop at a point, because it waits there for an answer, a call or a signal.
pub(super) fn stops(program: &Program, point: PointIndex) -> bool {
    program.out_edges(point).any(|out| !matches!(out.reply.on, Outcome::Pass | Outcome::Exhausted))
}

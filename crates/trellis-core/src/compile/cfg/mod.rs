//! The points of a program and the ways between them, for the checks.
//!
//! **Invariant:** nothing is copied but an index of who leads where, so that the checks and the engine read the same ways.

pub(super) mod digraph;

use std::sync::Arc;

use self::digraph::Digraph;
use crate::program::{Call, Callee, Failure, NodeIndex, Outcome, PointIndex, Program, Provenance, Reason, Role, Target, Way};

/// The program's points and ways with their neighbours in both directions.
pub(super) struct Cfg<'p> {
    pub(super) program: &'p Program,
    pub(super) digraph: Arc<Digraph>,
    /// Whether some way rolls back.
    pub(super) rolls_back: bool,
}

impl<'p> Cfg<'p> {
    pub(super) fn new(program: &'p Program) -> Self {
        let mut pairs = Vec::with_capacity(program.edges.len());
        for index in 0..program.points.len() {
            let from = u32::try_from(index).unwrap_or(u32::MAX);
            successors(program, PointIndex(from), &mut |to| pairs.push((from, to.0)));
        }
        let rolls_back = program.edges.iter().any(|edge| edge.to == Target::Rollback);
        Self { program, digraph: Arc::new(Digraph::new(program.points.len(), &pairs)), rolls_back }
    }

    /// The point where a node is entered.
    pub(super) fn entry(&self, node: NodeIndex) -> u32 {
        let node = self.program.node(node);
        node.gate.unwrap_or(node.body).0
    }

    /// The points from which a point can be reached, itself among them.
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

    /// The points that can be reached from one of these, themselves among them.
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

    /// Whether a session can end at a point by what its author wrote: a terminal, `fail`, `rollback`, `max_visits`.
    pub(super) fn ends(&self, point: PointIndex) -> bool {
        self.program.ways(point).any(|way| match &way.edge.to {
            Target::End(Reason::Failed(Failure::MaxVisits)) => true,
            Target::End(_) => way.edge.why != Provenance::Rule,
            Target::Rollback => self.after_rollback(point).is_none(),
            _ => false,
        })
    }

    /// Where a rollback from a point leads, if not to the end.
    fn after_rollback(&self, point: PointIndex) -> Option<PointIndex> {
        unwound(self.program, point)
    }
}

fn unwound(program: &Program, point: PointIndex) -> Option<PointIndex> {
    let node = program.node(program.point(point).node);
    program.unwound_ways(node.graph).find_map(|way| match way.edge.to {
        Target::Point(point) => Some(point),
        _ => None,
    })
}

/// Every point that a point leads to: by its ways, by a rollback, and by calling a child graph.
pub(super) fn successors(program: &Program, from: PointIndex, see: &mut impl FnMut(PointIndex)) {
    for Way { edge, .. } in program.ways(from) {
        match &edge.to {
            Target::Point(point) | Target::Proceed(point) => see(*point),
            Target::Again => see(from),
            Target::Rollback => unwound(program, from).into_iter().for_each(&mut *see),
            Target::End(_) => {}
        }
    }
    let node = program.node(program.point(from).node);
    if let Role::Act(call) = &node.role {
        children(call, &mut |child| {
            let child = program.node(child);
            see(child.gate.unwrap_or(child.body));
        });
    }
}

/// The nodes that a call begins children at.
fn children(call: &Call, see: &mut impl FnMut(NodeIndex)) {
    match &call.callee {
        Callee::Graph(node) => see(*node),
        Callee::Parallel(branches, _) => branches.iter().for_each(|(_, branch)| {
            if let Callee::Graph(node) = branch.callee {
                see(node);
            }
        }),
        Callee::Tool(_) | Callee::Each(..) => {}
    }
}

/// Whether a session can stop at a point: it waits there, or has to be entered through a call.
pub(super) fn stops(program: &Program, point: PointIndex) -> bool {
    program.ways(point).any(|way| !matches!(way.reply.on, Outcome::Pass | Outcome::Exhausted))
}

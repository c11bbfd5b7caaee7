//! The shortest path to each point, breadth first over the edges.

use std::collections::VecDeque;

use super::{entry::EntryState, path::Hop};
use crate::program::{Outcome, PointIndex, Program, Target};

/// The shortest way to each point from where contexts begin.
pub(crate) struct ShortestPaths {
    /// The origin, or the hop that led there.
    from: Vec<Option<Result<Hop, usize>>>,
}

impl ShortestPaths {
    /// Grows over the points that `may` be stood at.
    pub(crate) fn new(program: &Program, entry_states: &[EntryState], may: impl Fn(PointIndex) -> bool) -> Self {
        let mut tree = Self { from: vec![None; program.points.len()] };
        let mut queue = VecDeque::new();
        for (at, entry_state) in entry_states.iter().enumerate() {
            if may(entry_state.point) && tree.from[entry_state.point.index()].is_none() {
                tree.from[entry_state.point.index()] = Some(Err(at));
                queue.push_back(entry_state.point);
            }
        }
        while let Some(point) = queue.pop_front() {
            let mut see = |to: PointIndex, hop: Hop| {
                if may(to) && tree.from[to.index()].is_none() {
                    tree.from[to.index()] = Some(Ok(hop));
                    queue.push_back(to);
                }
            };
            for on in program.point(point).replies.clone() {
                let reply = &program.replies[on as usize];
                for edge in reply.edges.clone().filter(|_| reply.on != Outcome::Exhausted) {
                    let hop = Hop { point, on, edge };
                    match program.edges[edge as usize].to {
                        Target::Point(to) | Target::Proceed(to) => see(to, hop),
                        Target::Rollback => {
                            let graph = program.node(program.point(point).node).graph;
                            for way in program.unwound_ways(graph) {
                                if let Target::Point(to) = way.edge.to {
                                    see(to, hop);
                                }
                            }
                        }
                        Target::Again | Target::End(_) => {}
                    }
                }
            }
        }
        tree
    }

    /// The way to a point: its origin, and the hops.
    pub(super) fn path_to(&self, to: PointIndex) -> Option<(usize, Vec<Hop>)> {
        let mut hops = Vec::new();
        let mut at = to;
        loop {
            match self.from[at.index()]? {
                Ok(hop) => {
                    hops.push(hop);
                    at = hop.point;
                }
                Err(entry_state) => {
                    hops.reverse();
                    return Some((entry_state, hops));
                }
            }
        }
    }
}

//! Shortest paths: a breadth-first tree over the edges of the program, from all entry states at once.
//!
//! Each point is queued once, so it terminates after one visit of every edge. Conditions are ignored, so a path of the tree may be infeasible.
//!
//! **Example:** with edges `a → b`, `b → c` and `a → c`, the path to `c` is the one edge `a → c`.

use std::collections::VecDeque;

use super::{entry::EntryState, path::Hop};
use crate::{
    cfg::Cfg,
    dataflow::index::{EdgeIndex, ReplyIndex},
};
use trellis_engine::program::{Outcome, PointIndex, Program};

/// The shortest path to each point from any entry state.
pub(crate) struct ShortestPaths {
    /// By point: the hop that led there, or the index of the entry state.
    from: Vec<Option<Result<Hop, usize>>>,
}

impl ShortestPaths {
    /// Builds the tree over the points for which `may` holds.
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
            for next in Cfg::successors(program, point) {
                let is_new = may(next.to) && tree.from[next.to.index()].is_none();
                if is_new && program.replies[next.on as usize].on != Outcome::Exhausted {
                    let hop = Hop { point, reply: ReplyIndex(next.on), edge: EdgeIndex(next.edge) };
                    tree.from[next.to.index()] = Some(Ok(hop));
                    queue.push_back(next.to);
                }
            }
        }
        tree
    }

    /// Returns the index of the entry state and the hops to a point, or `None` if it is not reachable.
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

//! Routes: the shortest path to an end on which nothing goes wrong.
//!
//! In: a point that waits. Out: the hops of one path, found by a breadth-first search over the edge list.
//!
//! **Invariant:** a certain need of a point is among the reads along any one of its routes, since every path reads it. So a session that has all of
//! those lacks nothing, and the paths of a whole graph are searched only for a session that lacks something.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use crate::program::{Edge, Failure, Outcome, PointIndex, Program, Reason, Reply, Target};

/// A point that is passed, the outcome there, and the place of the edge that is taken among those of the outcome.
#[derive(Clone, Copy, Debug)]
pub(super) struct RouteStep<'p> {
    pub(super) point: PointIndex,
    pub(super) reply: &'p Reply,
    pub(super) edge: usize,
}

/// Returns a shortest path from a point to an end; `None` if no such path leads to one.
pub(super) fn nearest_end(program: &Program, first: PointIndex) -> Option<Vec<RouteStep<'_>>> {
    let mut reached_by: FxHashMap<PointIndex, Option<RouteStep<'_>>> = FxHashMap::from_iter([(first, None)]);
    let mut open = VecDeque::from([first]);
    while let Some(point) = open.pop_front() {
        for reply in program.replies(&program.point(point).replies).iter().filter(|reply| is_normal(reply)) {
            for (at, edge) in program.edges_of(reply).iter().enumerate() {
                let hop = RouteStep { point, reply, edge: at };
                let to = onto(program, point, edge, |to| {
                    reached_by.entry(to).or_insert_with(|| {
                        open.push_back(to);
                        Some(hop)
                    });
                    Onto::Nowhere
                });
                if to == Onto::End {
                    return Some(back_to_first(hop, &reached_by));
                }
            }
        }
    }
    None
}

/// The hops that led to the last one, in order.
fn back_to_first<'p>(last: RouteStep<'p>, reached_by: &FxHashMap<PointIndex, Option<RouteStep<'p>>>) -> Vec<RouteStep<'p>> {
    let mut route = vec![last];
    let mut point = last.point;
    while let Some(Some(hop)) = reached_by.get(&point) {
        route.push(*hop);
        point = hop.point;
    }
    route.reverse();
    route
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Onto {
    Spot(u32),
    /// The same point once more, or a failure because no edge held: nothing is read after it, and it leads to no good end.
    Nowhere,
    End,
}

/// Returns the place to which an edge leads.
pub(super) fn onto(program: &Program, from: PointIndex, edge: &Edge, see: impl FnOnce(PointIndex) -> Onto) -> Onto {
    match &edge.to {
        Target::Point(point) | Target::Proceed(point) => see(*point),
        Target::Again | Target::End(Reason::Failed(Failure::NoMatch)) => Onto::Nowhere,
        Target::Rollback => program.after_rollback(program.node(program.point(from).node).graph).map_or(Onto::End, see),
        Target::End(_) => Onto::End,
    }
}

/// Returns whether this outcome is no failure.
pub(super) fn is_normal(reply: &Reply) -> bool {
    matches!(reply.on, Outcome::Pass | Outcome::Answer | Outcome::Chosen(_) | Outcome::Success)
}

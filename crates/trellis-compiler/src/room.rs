//! Estimated lengths of the lists of a program: growing lists are moved repeatedly and half empty at the end, and a large graph's are
//! megabytes.
//!
//! **Invariant:** the estimate affects memory, never findings.

use super::{graphs::GraphInfo, names::NameTable};
use trellis_syntax::node::NodeSyntax;

/// Replies to a call that did not succeed.
const OF_CALL: usize = 3;

/// Estimated number of replies and edges.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Room {
    pub(super) replies: usize,
    pub(super) edges: usize,
}

impl Room {
    /// The room that all nodes of these graphs take.
    pub(super) fn of(names: &NameTable<'_>, graphs: &[GraphInfo<'_>]) -> Self {
        // Each graph has a reply to being unwound, and the guess may be a little too small: a list that is moved at its end is twice as long.
        let begin = graphs.len() + names.len() / 64;
        names.candidates().fold(Self { replies: begin, edges: begin }, |room, candidate| {
            let Some(node) = candidate.syntax else { return room };
            let graph = &graphs[candidate.graph as usize];
            let signals = graph.defaults.signals.len();
            let of_gate = if graph.defaults.before_each.is_some() { 1 + OF_CALL + signals } else { 0 };
            let waits = node.call.is_some() || node.options.is_some() || node.input_type.is_some() || node.wait.is_some();
            let around = of_gate + if waits { signals } else { 0 };
            let own = of_node(node);
            Self { replies: room.replies + own.replies + around, edges: room.edges + own.edges + around }
        })
    }
}

/// Estimates the replies and edges of one node.
fn of_node(node: &NodeSyntax) -> Room {
    let targets = node.options().filter(|option| option.target.is_some()).count();
    let is_open = node.transitions.last().is_none_or(|last| last.condition.is_some());
    let of_call = if node.call.is_some() { OF_CALL } else { 0 };
    let others = node.on_signal.len() + of_call + usize::from(node.max_visits.is_some()) + usize::from(node.on_invalid.is_some());
    Room {
        replies: 1 + node.option_writes().count() + usize::from(node.timeout.is_some()) + others,
        edges: targets + node.transitions.len() + usize::from(is_open) + others,
    }
}

//! The path that a session took, for drawings.

use trellis_core::{Event, Input, NodeId, Program, draw::PathStep};

use super::History;
use crate::journal::{Entry, Record};

/// The name in a drawing of the place where undos are called.
const ROLLBACK: &str = "rollback";

/// The hops of a history, in order. A node that has another name in `program` has it here too.
pub fn hops(program: &Program, history: &History) -> Vec<PathStep> {
    let spot = |node: &NodeId| match program.find(node) {
        None => program.find_renamed(node).map_or_else(|| node.to_string(), |now| program.node(now).id.to_string()),
        Some(_) => node.to_string(),
    };
    let reached = |event: &Event| match event {
        Event::Entered(node) => Some(spot(node)),
        Event::RollingBack(_) => Some(ROLLBACK.to_owned()),
        Event::Ended(reason) => Some(format!("end:{}", reason.as_str())),
        _ => None,
    };
    let mut hops = Vec::new();
    let mut is_rolling_back = false;
    // Each child has a path of its own.
    for record in history.records.iter().filter(|record| record.child.is_none()) {
        let on = on(record);
        let is_put = on.is_none();
        let mut here = if is_rolling_back { Some(ROLLBACK.to_owned()) } else { record.from.as_ref().map(spot) };
        let reached = record.events.iter().filter_map(&reached).collect::<Vec<_>>();
        let reached = match &record.entry {
            Entry::Start { .. } => vec![spot(&record.to)],
            Entry::Move { .. } | Entry::Reload { .. } if record.from.as_ref().map(spot) != Some(spot(&record.to)) => {
                vec![spot(&record.to)]
            }
            _ => reached,
        };
        for (at, to) in reached.into_iter().enumerate() {
            is_rolling_back = to == ROLLBACK;
            // A further hop in the same step is a terminal's own edge to the end.
            let on = if at == 0 { on } else { Some("pass") };
            hops.push(PathStep { from: here.replace(to.clone()), to, on: on.filter(|_| !is_put), seq: record.seq });
        }
    }
    hops
}

/// Returns the outcome on which an edge was taken, as a drawing names it.
fn on(record: &Record) -> Option<&'static str> {
    let returned = |events: &[Event]| {
        events.iter().find_map(|event| match event {
            Event::Returned { outcome, .. } => Some(match &**outcome {
                "success" => "success",
                "denied" => "denied",
                "timeout" => "timeout",
                _ => "error",
            }),
            _ => None,
        })
    };
    match &record.entry {
        Entry::Start { .. } | Entry::Move { .. } | Entry::Reload { .. } => None,
        // The time of a call is up by a signal too.
        Entry::Signal { .. } => returned(&record.events).or(Some("signal")),
        Entry::Result { .. } | Entry::Settle { .. } => returned(&record.events).or(Some("success")),
        _ if record.events.iter().any(|event| matches!(event, Event::Invalid(_))) => Some("invalid"),
        Entry::Input { input: Input::Pass } => Some("pass"),
        _ => Some("answer"),
    }
}

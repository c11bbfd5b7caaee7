//! Where records lead: by what they changed, or by asking an engine again.

use trellis_core::{
    Engine, NodeId, State,
    engine::{Divergence, Step},
    state::Changes,
};

use super::{Entry, Record};

/// Why records lead to no state.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FoldError {
    /// No record opens an epoch.
    #[error("the journal holds no start")]
    NoStart,
    /// A record is missing, or stands in another's place.
    #[error("record {expected} is missing: record {found} stands in its place")]
    Gap {
        /// The `seq` that comes next.
        expected: u64,
        /// The `seq` that was found.
        found: u64,
    },
}

/// The state that records lead to: that of the latest epoch, with every change since. It needs no program: what was recorded is what holds.
///
/// # Errors
/// The records open no epoch, or one of them is missing.
pub fn fold(records: &[Record]) -> Result<State, FoldError> {
    let epoch = records.iter().rposition(|record| record.entry.epoch().is_some()).ok_or(FoldError::NoStart)?;
    let mut state = records[epoch].entry.epoch().cloned().ok_or(FoldError::NoStart)?;
    for (record, expected) in records[epoch + 1..].iter().zip(records[epoch].seq + 1..) {
        if record.seq != expected {
            return Err(FoldError::Gap { expected, found: record.seq });
        }
        record.apply(&mut state);
    }
    Ok(state)
}

/// Takes every recorded step again, with the recorded answers, and holds it against what was recorded. Where an epoch begins other than by a start,
/// its state is taken from the record.
///
/// # Errors
/// The first record that this program does not lead to; its moment is the number of the record.
pub fn replay(engine: &Engine, records: &[Record]) -> Result<State, Divergence> {
    let mut state: Option<State> = None;
    for record in records {
        let diverged = |node: &NodeId, message: String| engine.diverged(usize::try_from(record.seq).ok(), node.clone(), message);
        let engine = || engine.answering(record.answers());
        state = Some(match (&record.entry, state) {
            (Entry::Start { start, state: began, origin: None }, _) => {
                let engine = engine().of_graph(began.graph.clone());
                let begun = engine.start((**start).clone()).map_err(|error| diverged(&began.current_node_id, error.to_string()))?.state;
                let recorded = State { program: begun.program.clone(), ..(**began).clone() };
                if begun != recorded {
                    return Err(diverged(&begun.current_node_id, differs(&recorded, &begun)));
                }
                begun
            }
            (Entry::Start { state, .. } | Entry::Reload { state } | Entry::Move { state, .. }, _) => (**state).clone(),
            (_, None) => return Err(diverged(&record.to, "the journal holds no start".into())),
            (Entry::Context { .. }, Some(mut state)) => {
                record.apply(&mut state);
                state
            }
            (_, Some(state)) => match record.moment() {
                None => state,
                // Before late results were remembered, several of one call could be recorded.
                Some(_) if matches!(record.entry, Entry::Late { .. }) && record.changes.abandoned.is_none() => {
                    let mut state = state;
                    record.apply(&mut state);
                    state
                }
                Some(moment) => {
                    let taken = engine().navigate(&state, moment.input);
                    let Step { state: after, wrote, events } =
                        taken.map_err(|refusal| diverged(&state.current_node_id, refusal.to_string()))?;
                    let is_same = events == record.events && Changes::between(&state, &after, &wrote) == *record.changes;
                    if !is_same {
                        let mut recorded = state.clone();
                        recorded.apply(&record.changes);
                        return Err(diverged(&state.current_node_id, differs(&recorded, &after)));
                    }
                    after
                }
            },
        });
    }
    state.ok_or_else(|| engine.diverged(None, engine.inspect().entry().id.clone(), "the journal holds no start".into()))
}

/// The most telling difference between what was recorded and what happens now.
fn differs(recorded: &State, now: &State) -> String {
    if recorded.current_node_id != now.current_node_id {
        return format!("leads to `{}`, not to `{}`", now.current_node_id, recorded.current_node_id);
    }
    let key = now.context.iter().find(|(key, value)| recorded.context.get(key) != Some(value)).map(|(key, _)| key);
    let key = key.or_else(|| recorded.context.iter().map(|(key, _)| key).find(|key| !now.context.contains(key)));
    if let Some(key) = key {
        let say = |state: &State| state.context.get(key).map_or_else(|| "nothing".to_owned(), trellis_core::Value::to_json);
        return format!("`{key}` becomes {}, not {}", say(now), say(recorded));
    }
    match (&now.pending_tool_call, &recorded.pending_tool_call) {
        (Some(now), Some(recorded)) if now != recorded => format!("calls `{}` otherwise than `{}` was called", now.name, recorded.name),
        (Some(now), None) => format!("calls `{}`, which was not called", now.name),
        (None, Some(recorded)) => format!("does not call `{}`", recorded.name),
        _ => "goes on otherwise than it was recorded".to_owned(),
    }
}

//! A session after one of its records: its state, the text of its node, and the changes that the record made.

use serde::Serialize;
use serde_json::{Value as Json, json};
use trellis_core::{Engine, Mapping, SessionId, State, Value};
use trellis_host::{
    SendError,
    history::{History, RecordWalk, WalkedRecord, state_at as state_of},
    journal::Record,
};

use crate::{
    redaction,
    served::ServedGraph,
    trouble::{Code, Trouble},
};

/// A session after a record.
#[derive(Clone, Debug, Serialize)]
struct StateAt {
    /// The record.
    seq: u64,
    /// The time of the record, in milliseconds since 1970.
    at: u64,
    /// The kind of the input.
    kind: String,
    /// The child whose record it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    child: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    to: String,
    /// The whole state behind it.
    state: State,
    /// The text of the entered node, as the graph has it now.
    #[serde(skip_serializing_if = "Option::is_none")]
    said: Option<String>,
    /// The changes of the context.
    changed: Vec<ContextChange>,
    /// The call that was pending before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<trellis_host::wire::Call>,
    /// True if the graph is still the one that rendered it.
    is_same_graph: bool,
}

/// A value of the context that a record changed.
#[derive(Clone, Debug, Serialize)]
struct ContextChange {
    /// The path, with dots.
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<Value>,
}

/// A session of the tree around a record.
struct StatesAround {
    before: Option<State>,
    after: State,
    /// The effect of the record on it; empty if it is a record of another session of the tree.
    walked: WalkedRecord,
}

/// Returns a session, or one of its children, after record `seq`, without secrets.
///
/// # Errors
/// There is no such session, child or record, or records before it are missing.
pub(crate) async fn state_at(graph: &ServedGraph, id: &SessionId, seq: u64, child: Option<&SessionId>) -> Result<Json, Trouble> {
    let store = graph.store();
    let stored = store.load(std::slice::from_ref(id)).await?.pop().flatten();
    let stored = stored.ok_or_else(|| SendError::Unknown(id.clone()))?;
    let root = state_of(store, &stored, seq).await?;
    let mut history = History::since(store, id, if child.is_some() { 0 } else { seq }).await?;
    history.records.retain(|record| record.seq <= seq);
    let record = history.records.last().filter(|record| record.seq == seq).cloned();
    let record = record.ok_or_else(|| Trouble::new(Code::Lost, format!("record {seq} cannot be read")))?;
    let engine = graph.engine().ok();
    let around = match child {
        Some(child) => of_child(engine.as_ref(), &history, child)?,
        None => {
            let before = match seq.checked_sub(1) {
                Some(before) => state_of(store, &stored, before).await.ok(),
                None => None,
            };
            of_root(engine.as_ref(), &record, before, root)
        }
    };
    let empty = Mapping::new();
    let old = around.before.as_ref().map(|state| state.context.to_mapping());
    let mut changed = Vec::new();
    compare("", old.as_ref().unwrap_or(&empty), &around.after.context.to_mapping(), &mut changed);
    // Its secrets are learned from all records.
    let redactor = graph.redactions.learned(store, id).await?;
    let state = match &redactor {
        Some(redactor) => redactor
            .state_after(seq, &around.after)
            .ok_or_else(|| Trouble::new(Code::Lost, "the state cannot be shown without its secrets"))?,
        None => around.after,
    };
    let mut json = json!(StateAt {
        seq,
        at: record.at,
        kind: kind(&record),
        child: record.child.as_ref().map(ToString::to_string),
        from: record.from.as_ref().map(ToString::to_string),
        to: record.to.to_string(),
        state,
        said: around.walked.said.map(|said| said.to_string()),
        changed,
        call: around.walked.call.map(|call| trellis_host::wire::Call::from(&*call)),
        is_same_graph: engine.is_some_and(|engine| record.program == *engine.inspect().fingerprint()),
    });
    if let Some(redactor) = &redactor {
        let parts = ["said", "changed", "call"];
        let parts = json.as_object_mut().into_iter().flatten().filter(|(key, _)| parts.contains(&&***key));
        parts.for_each(|(_, part)| redaction::hide(&redactor.at(seq), part));
    }
    Ok(json)
}

/// The session itself: a record of one of its children leaves it as it is.
fn of_root(engine: Option<&Engine>, record: &Record, before: Option<State>, after: State) -> StatesAround {
    if record.child.is_some() {
        return StatesAround { before: Some(after.clone()), after, walked: WalkedRecord::default() };
    }
    let mut walk = RecordWalk::new(engine, before.clone().map(|state| (record.seq, state)));
    let walked = walk.take(record);
    StatesAround { before, after: walked.state.clone().unwrap_or(after), walked }
}

/// A child, whose state is in its records alone.
///
/// # Errors
/// The last record of the history is behind its end, or before its beginning.
fn of_child(engine: Option<&Engine>, history: &History, child: &SessionId) -> Result<StatesAround, Trouble> {
    let mut walk = RecordWalk::new(engine, None);
    let (mut before, mut last) = (None, None);
    for record in &history.records {
        let walked = walk.take(record);
        if record.child.as_ref() == Some(child) {
            before = last.replace((record.seq, walked)).and_then(|(_, walked)| walked.state);
        }
    }
    let seq = history.records.last().map_or(0, |record| record.seq);
    let unknown = || SendError::UnknownChild(child.clone());
    let (at, mut walked) = last.ok_or_else(unknown)?;
    let after = walked.state.clone().ok_or_else(unknown)?;
    if at != seq {
        (before, walked) = (Some(after.clone()), WalkedRecord::default());
    }
    Ok(StatesAround { before, after, walked })
}

fn kind(record: &Record) -> String {
    let entry = serde_json::to_value(&record.entry).unwrap_or_default();
    entry["kind"].as_str().unwrap_or_default().to_owned()
}

/// Adds the differences between two mappings, path by path; a list differs as a whole.
fn compare(below: &str, old: &Mapping, new: &Mapping, changed: &mut Vec<ContextChange>) {
    let path = |key: &str| if below.is_empty() { key.to_owned() } else { format!("{below}.{key}") };
    for (key, after) in new.iter() {
        match (old.get(key), after) {
            (Some(before), after) if before == after => {}
            (Some(Value::Map(before)), Value::Map(after)) => compare(&path(key), before, after, changed),
            (before, after) => changed.push(ContextChange { path: path(key), before: before.cloned(), after: Some(after.clone()) }),
        }
    }
    for (key, before) in old.iter().filter(|(key, _)| new.get(key).is_none()) {
        changed.push(ContextChange { path: path(key), before: Some(before.clone()), after: None });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_named_by_its_path() {
        let old = Mapping::from_iter([("a", Value::Int(1)), ("b", Value::map([("c", Value::Int(2)), ("d", Value::Int(3))]))]);
        let new = Mapping::from_iter([("b", Value::map([("c", Value::Int(2)), ("d", Value::Int(4))])), ("e", Value::Null)]);
        let mut changed = Vec::new();
        compare("", &old, &new, &mut changed);
        let announce: Vec<_> = changed.iter().map(|change| (&*change.path, change.before.is_some(), change.after.is_some())).collect();
        assert_eq!(announce, [("b.d", true, true), ("e", false, true), ("a", true, false)]);
    }
}

//! A session after one of its records: its state, the text of its node, and the changes that the record made.

use serde::Serialize;
use serde_json::{Value as Json, json};
use trellis_core::{Mapping, SessionId, State, Value};
use trellis_host::{
    history::{History, RecordWalk, state_at as state_of},
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

/// Returns the session after record `seq`, without secrets.
///
/// # Errors
/// There is no such session or record, or records before it are missing.
pub(crate) async fn state_at(graph: &ServedGraph, id: &SessionId, seq: u64) -> Result<Json, Trouble> {
    let store = graph.store();
    let stored = store.load(std::slice::from_ref(id)).await?.pop().flatten();
    let stored = stored.ok_or_else(|| trellis_host::SendError::Unknown(id.clone()))?;
    let before = match seq.checked_sub(1) {
        Some(before) => state_of(store, &stored, before).await.ok(),
        None => None,
    };
    state_of(store, &stored, seq).await?;
    let mut history = History::since(store, id, seq).await?;
    history.records.retain(|record| record.seq == seq);
    let record = history.records.first().cloned().ok_or_else(|| Trouble::new(Code::Lost, format!("record {seq} cannot be read")))?;
    let engine = graph.engine().ok();
    let mut walk = RecordWalk::new(engine.as_ref(), before.clone().map(|state| (seq, state)));
    let walked = walk.take(&record);
    let state = walked.state.ok_or_else(|| Trouble::new(Code::Lost, format!("the state after record {seq} is not known")))?;
    let empty = Mapping::new();
    let old = before.as_ref().map(|state| state.context.to_mapping());
    let mut changed = Vec::new();
    compare("", old.as_ref().unwrap_or(&empty), &state.context.to_mapping(), &mut changed);
    // Its secrets are learned from all records.
    let redactor = graph.redactions.learned(store, id).await?;
    let state = match &redactor {
        Some(redactor) => {
            redactor.state_after(seq, &state).ok_or_else(|| Trouble::new(Code::Lost, "the state cannot be shown without its secrets"))?
        }
        None => state,
    };
    let mut json = json!(StateAt {
        seq,
        at: record.at,
        kind: kind(&record),
        from: record.from.as_ref().map(ToString::to_string),
        to: record.to.to_string(),
        state,
        said: walked.said.map(|said| said.to_string()),
        changed,
        call: walked.call.map(|call| trellis_host::wire::Call::from(&*call)),
        is_same_graph: walked.is_same_graph,
    });
    if let Some(redactor) = &redactor {
        let parts = ["said", "changed", "call"];
        let parts = json.as_object_mut().into_iter().flatten().filter(|(key, _)| parts.contains(&&***key));
        parts.for_each(|(_, part)| redaction::hide(&redactor.at(seq), part));
    }
    Ok(json)
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
        let told: Vec<_> = changed.iter().map(|change| (&*change.path, change.before.is_some(), change.after.is_some())).collect();
        assert_eq!(told, [("b.d", true, true), ("e", false, true), ("a", true, false)]);
    }
}

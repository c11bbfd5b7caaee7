//! The changes of a state by one step, as data: a journal is folded by them without the program that took the steps.
//!
//! ```text
//! before ──navigate──▶ after     Changes::between(before, after, wrote)
//! before ──apply(changes)──▶ after
//! ```
//!
//! **Invariant:** `before.apply(&Changes::between(&before, &after, …))` is `after`, for the two ends of one step of the engine. Its session,
//! program, locale and version stay: only an epoch of the journal can change those.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde::{Deserialize, Deserializer, Serialize};

use super::{Abandoned, Effect, Ended, PartState, PartStates, PendingCall, State, Status, System};
use trellis_base::{
    id::{CallId, NodeId},
    path::KeyPath,
    value::{Key, List, Mapping, Value},
};

/// The changes of a step; an absent field is unchanged.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Changes {
    /// The current node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<NodeId>,
    /// The wait of the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
    /// The call that is pending now; null: none is any more.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "nullable")]
    pub call: Option<Option<Arc<PendingCall>>>,
    /// The changed parts of that call, by their places; beside a new call, those that differ from their first state.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub parts: BTreeMap<u32, PartState>,
    /// Keys of the context, with their values now.
    #[serde(skip_serializing_if = "Mapping::is_empty")]
    pub context: Mapping,
    /// The items appended to lists of the context under other keys, by the path of the list.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub appended: BTreeMap<KeyPath, ListAppend>,
    /// The part of `sys` that the engine stores, whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system: Option<Box<System>>,
    /// The number of the step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<u64>,
    /// The step that entered the current point.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entered: Option<u64>,
    /// True if the error or the denial of a call is why the current node ends as failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after_error: Option<bool>,
    /// The attempt at this point.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// Entries of nodes that are counted.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub visits: BTreeMap<NodeId, u32>,
    /// The effects that a rollback would undo.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effects: Option<EffectChanges>,
    /// Calls that were left, whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub abandoned: Option<Arc<Vec<Abandoned>>>,
    /// The last call whose result was accepted.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "nullable")]
    pub settled: Option<Option<CallId>>,
    /// True if the session was rolled back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rolled_back: Option<bool>,
    /// The end of the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<Arc<Ended>>,
}

/// A write to the context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContextWrite {
    /// Something under this key was set.
    Set(Key),
    /// Items were appended to the list at this path.
    Append(KeyPath),
}

/// Items that were appended to a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ListAppend {
    /// The number of items that the list had before.
    pub at: usize,
    /// The new items; `None` if they were redacted.
    #[serde(default, deserialize_with = "list_or_nothing", skip_serializing_if = "Option::is_none")]
    pub items: Option<List>,
}

/// A change of the effects.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EffectChanges {
    /// The number of the oldest undoable ones that are left.
    pub kept: usize,
    /// The effects that joined them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub joined: Vec<Arc<Effect>>,
}

impl Changes {
    /// Compares the states before and after a step that made these writes; the cost is that of the changes, independent of the width of the context
    /// and of its lists.
    pub fn between(before: &State, after: &State, wrote: &[ContextWrite]) -> Self {
        let changed = |is_changed: bool| is_changed.then_some(());
        let set: BTreeSet<&Key> = wrote.iter().filter_map(ContextWrite::set).collect();
        let appended = wrote.iter().filter_map(|write| match write {
            ContextWrite::Append(path) if !set.contains(path.root()) => Some((path.clone(), ListAppend::between(before, after, path)?)),
            _ => None,
        });
        let calls = (&before.pending_tool_call, &after.pending_tool_call);
        let is_same_call = same(calls.0.as_ref(), calls.1.as_ref());
        Self {
            node: changed(before.current_node_id != after.current_node_id).map(|()| after.current_node_id.clone()),
            status: changed(before.status != after.status).map(|()| after.status),
            call: changed(!is_same_call).map(|()| calls.1.clone()),
            parts: if is_same_call { after.parts.changed(&before.parts) } else { after.parts.tried() }.into_iter().collect(),
            context: set.iter().filter_map(|key| Some((Key::clone(key), after.context.get(key)?.clone()))).collect(),
            appended: appended.collect(),
            system: changed(!before.system_context.is_same(&after.system_context)).map(|()| Box::new(after.system_context.clone())),
            step: changed(before.step != after.step).map(|()| after.step),
            entered: changed(before.entered != after.entered).map(|()| after.entered),
            after_error: changed(before.after_error != after.after_error).map(|()| after.after_error),
            attempt: changed(before.attempt != after.attempt).map(|()| after.attempt),
            visits: counted(before, after),
            effects: EffectChanges::between(before, after),
            abandoned: changed(!Arc::ptr_eq(&before.abandoned, &after.abandoned) && before.abandoned != after.abandoned)
                .map(|()| Arc::clone(&after.abandoned)),
            settled: changed(before.settled != after.settled).map(|()| after.settled.clone()),
            rolled_back: changed(before.rolled_back != after.rolled_back).map(|()| after.rolled_back),
            ended: changed(before.ended != after.ended).and_then(|()| after.ended.clone()),
        }
    }
}

impl ContextWrite {
    fn set(&self) -> Option<&Key> {
        match self {
            Self::Set(key) => Some(key),
            Self::Append(_) => None,
        }
    }
}

impl ListAppend {
    /// Returns the items after the end of the earlier list, if only appends changed it.
    fn between(before: &State, after: &State, path: &KeyPath) -> Option<Self> {
        let at = before.context.lookup(path).and_then(Value::as_list).map_or(0, List::len);
        let items = after.context.lookup(path)?.as_list()?.iter_from(at).cloned().collect();
        Some(Self { at, items: Some(items) })
    }
}

fn same(one: Option<&Arc<PendingCall>>, other: Option<&Arc<PendingCall>>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => Arc::ptr_eq(one, other) || one == other,
        (one, other) => one.is_none() && other.is_none(),
    }
}

/// Returns the counts that changed.
fn counted(before: &State, after: &State) -> BTreeMap<NodeId, u32> {
    let changed = after.visits.iter().filter(|&(node, count)| before.visits.get(node) != Some(count));
    changed.map(|(node, count)| (node.clone(), *count)).collect()
}

impl EffectChanges {
    fn between(before: &State, after: &State) -> Option<Self> {
        let kept = before.effects.shared(&after.effects);
        let irreversible = after.effects.irreversible().filter(|effect| !before.effects.lists(effect));
        let joined: Vec<_> = irreversible.chain(after.effects.undoable().skip(kept)).cloned().collect();
        let is_same = joined.is_empty() && kept == before.effects.undoable().len();
        (!is_same).then_some(Self { kept, joined })
    }
}

impl State {
    /// Repeats a step by its changes.
    pub fn apply(&mut self, changes: &Changes) {
        fn take<T: Clone>(place: &mut T, changed: Option<&T>) {
            if let Some(changed) = changed {
                place.clone_from(changed);
            }
        }
        take(&mut self.current_node_id, changes.node.as_ref());
        take(&mut self.status, changes.status.as_ref());
        if let Some(call) = &changes.call {
            self.pending_tool_call.clone_from(call);
            let count = call.as_ref().and_then(|call| call.kind.parts());
            self.parts = PartStates::fresh(count.unwrap_or(0));
        }
        for (at, part) in &changes.parts {
            self.parts.set(*at, part.clone());
        }
        take(&mut self.system_context, changes.system.as_deref());
        take(&mut self.step, changes.step.as_ref());
        take(&mut self.entered, changes.entered.as_ref());
        take(&mut self.after_error, changes.after_error.as_ref());
        take(&mut self.attempt, changes.attempt.as_ref());
        take(&mut self.abandoned, changes.abandoned.as_ref());
        take(&mut self.settled, changes.settled.as_ref());
        take(&mut self.rolled_back, changes.rolled_back.as_ref());
        if changes.ended.is_some() {
            self.ended.clone_from(&changes.ended);
        }
        self.context.extend(&changes.context);
        for (path, appended) in &changes.appended {
            appended.items.iter().for_each(|items| self.context.append(path, items));
        }
        for (node, count) in &changes.visits {
            self.visits.insert_mut(node.clone(), *count);
        }
        if let Some(effects) = &changes.effects {
            self.effects.truncate(effects.kept);
            for effect in &effects.joined {
                self.effects.push(Effect::clone(effect));
            }
        }
    }
}

/// Reads a list; any other value represents an absent one.
fn list_or_nothing<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<List>, D::Error> {
    Value::deserialize(deserializer).map(|value| value.as_list().cloned())
}

/// Null means: there is nothing any more; absent means: as before.
fn nullable<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<T>>, D::Error> {
    Option::<T>::deserialize(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_holds_what_was_appended_and_one_of_whole_lists_is_still_read() {
        let json = r#"{"context":{"log":[1,2]},"appended":{"chat.log":{"at":1,"items":["b"]},"gone":{"at":0,"items":"‹redacted:gone›"}}}"#;
        let changes: Changes = serde_json::from_str(json).unwrap();
        let context: Mapping = [("chat", Value::map([("log", Value::list(["a".into()]))]))].into_iter().collect();
        let mut context = trellis_base::context::Context::new(context);
        context.extend(&changes.context);
        changes.appended.iter().for_each(|(path, appended)| appended.items.iter().for_each(|items| context.append(path, items)));
        assert_eq!(context.to_mapping().get("chat").unwrap().to_json(), r#"{"log":["a","b"]}"#);
        assert_eq!(context.get("log").unwrap().to_json(), "[1,2]");
        assert!(!context.contains("gone"));
        let written = serde_json::to_string(&changes).unwrap();
        assert!(written.contains(r#""chat.log":{"at":1,"items":["b"]}"#), "{written}");
    }
}

//! A history step by step, for output: the state after each record, and the content of its node.

use std::{collections::BTreeMap, sync::Arc};

use trellis_core::{
    Engine, Event, Input, NodeId, SessionId, State,
    engine::{pending_call, pending_calls},
    program::Role,
    state::PendingCall,
    syntax::node::InputType,
};

use crate::journal::{Entry, Record};

/// Walks along records.
#[derive(Debug)]
pub struct RecordWalk<'e> {
    engine: Option<&'e Engine>,
    state: Option<State>,
    children: BTreeMap<SessionId, State>,
    next: u64,
}

/// The result of one record.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct WalkedRecord {
    /// The state of the session after it; `None` if it is unknown.
    pub state: Option<State>,
    /// The call that was pending before it.
    pub call: Option<Arc<PendingCall>>,
    /// The part of that call whose result, approval or policy it is; `None` if it is about the call itself, or about none.
    pub part: Option<Arc<PendingCall>>,
    /// The content of the entered node, as the current graph has it.
    pub said: Option<Arc<str>>,
    /// True if the graph is still the one that rendered it.
    pub is_same_graph: bool,
    /// True if the input is a secret.
    pub is_secret: bool,
}

impl<'e> RecordWalk<'e> {
    /// Creates a walk that begins with a state, if one is known. Without an engine the content of nodes is unknown.
    pub fn new(engine: Option<&'e Engine>, before: Option<(u64, State)>) -> Self {
        let (next, state) = before.map_or((0, None), |(next, state)| (next, Some(state)));
        Self { engine, state, children: BTreeMap::new(), next }
    }

    /// Takes the next record.
    pub fn take(&mut self, record: &Record) -> WalkedRecord {
        let typed = matches!(&record.entry, Entry::Input { input: Input::Text(_) | Input::Value(_) });
        let is_secret = typed && self.engine.zip(record.from.as_ref()).is_some_and(|(engine, node)| is_secret(engine, node));
        if self.next != record.seq {
            self.state = None;
            self.children.clear();
        }
        let before = match &record.child {
            None => self.state.take(),
            Some(child) => self.children.remove(child),
        };
        let call = before.as_ref().and_then(|state| state.pending_tool_call.clone());
        let part = before.as_ref().and_then(|state| part_of(state, &record.entry));
        let begins = match &record.entry {
            Entry::Start { state, .. } => Some(&**state),
            entry => entry.epoch(),
        };
        let state = match (begins, before) {
            (Some(begins), _) => Some(begins.clone()),
            (None, Some(mut state)) => {
                record.apply(&mut state);
                Some(state)
            }
            (None, None) => None,
        };
        if let Entry::Reload { children, .. } = &record.entry {
            self.children = children.iter().map(|(child, at)| (child.clone(), at.state.clone())).collect();
        }
        self.next = record.seq + 1;
        match (&record.child, &state) {
            (None, state) => self.state.clone_from(state),
            (Some(child), Some(state)) => drop(self.children.insert(child.clone(), state.clone())),
            (Some(_), None) => {}
        }
        let is_entered = record.events.iter().any(|event| matches!(event, Event::Entered(_)));
        let engine = self.engine.filter(|_| is_entered);
        let said = engine.zip(state.as_ref()).and_then(|(engine, state)| engine.render(state).ok()?.content);
        let is_same_graph = self.engine.is_some_and(|engine| record.program == *engine.inspect().fingerprint());
        WalkedRecord { state, call, part, said, is_same_graph, is_secret }
    }
}

/// The part of the pending call that an entry is about.
fn part_of(state: &State, entry: &Entry) -> Option<Arc<PendingCall>> {
    let call = match entry {
        Entry::Result { result } | Entry::Settle { result, .. } => pending_call(state, &result.id),
        Entry::Approve { key } | Entry::Policy { key, .. } => pending_calls(state).find(|call| call.idempotency_key == *key),
        _ => None,
    };
    call.filter(|call| call.part.is_some())
}

/// Returns whether a node asks for a secret.
pub(super) fn is_secret(engine: &Engine, node: &NodeId) -> bool {
    let program = engine.inspect();
    let found = program.find(node).or_else(|| program.find_renamed(node)).map(|index| &program.node(index).role);
    matches!(found, Some(Role::Listen(listen)) if listen.kind == Some(InputType::Secret))
}

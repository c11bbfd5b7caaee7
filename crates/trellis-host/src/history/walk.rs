//! A history step by step, for whoever tells it: the state after each record, and what its node said.

use std::sync::Arc;

use trellis_core::{Engine, Event, Input, NodeId, State, program::Role, state::PendingCall, syntax::node::InputType};

use crate::journal::{Entry, Record};

/// Walks along records.
#[derive(Debug)]
pub struct RecordWalk<'e> {
    engine: Option<&'e Engine>,
    state: Option<State>,
    next: u64,
}

/// What one record came to.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct WalkedRecord {
    /// Where the session was after it; nothing where that is not known.
    pub state: Option<State>,
    /// The call that was pending before it.
    pub call: Option<Arc<PendingCall>>,
    /// What the node said that was entered, as the graph has it now.
    pub said: Option<Arc<str>>,
    /// Whether the graph is still the one that said it.
    pub is_same_graph: bool,
    /// Whether what was typed is a secret.
    pub is_secret: bool,
}

impl<'e> RecordWalk<'e> {
    /// A walk that begins with a state, if one is known. Without an engine nobody knows what was said.
    pub fn new(engine: Option<&'e Engine>, before: Option<(u64, State)>) -> Self {
        let (next, state) = before.map_or((0, None), |(next, state)| (next, Some(state)));
        Self { engine, state, next }
    }

    /// Takes the next record.
    pub fn take(&mut self, record: &Record) -> WalkedRecord {
        let typed = matches!(&record.entry, Entry::Input { input: Input::Text(_) | Input::Value(_) });
        let is_secret = typed && self.engine.zip(record.from.as_ref()).is_some_and(|(engine, node)| is_secret(engine, node));
        let call = self.state.as_ref().and_then(|state| state.pending_tool_call.clone());
        let state = match (record.entry.epoch(), self.state.take().filter(|_| self.next == record.seq)) {
            (Some(epoch), _) => Some(epoch.clone()),
            (None, Some(mut state)) => {
                record.apply(&mut state);
                Some(state)
            }
            (None, None) => None,
        };
        self.next = record.seq + 1;
        self.state.clone_from(&state);
        let is_entered = record.events.iter().any(|event| matches!(event, Event::Entered(_)));
        let engine = self.engine.filter(|_| is_entered);
        let said = engine.zip(state.as_ref()).and_then(|(engine, state)| engine.render(state).ok()?.content);
        let is_same_graph = self.engine.is_some_and(|engine| record.program == *engine.inspect().fingerprint());
        WalkedRecord { state, call, said, is_same_graph, is_secret }
    }
}

/// Whether a node asks for a secret.
pub(super) fn is_secret(engine: &Engine, node: &NodeId) -> bool {
    let program = engine.inspect();
    let found = program.find(node).or_else(|| program.find_renamed(node)).map(|index| &program.node(index).role);
    matches!(found, Some(Role::Listen(listen)) if listen.kind == Some(InputType::Secret))
}

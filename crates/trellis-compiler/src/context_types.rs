//! The possible contents of a session's context at each node, for editors and for tests (language 8.2).

use std::collections::BTreeMap;

use crate::{Compiler, PointTypes};
use trellis_base::{
    id::NodeId,
    value::{Key, Value},
};
use trellis_engine::{
    program::Program,
    state::{State, Status},
};

/// The possible contents of the context of sessions at each node.
#[derive(Debug)]
pub struct ContextTypes {
    known: PointTypes,
    points: BTreeMap<NodeId, (Option<u32>, u32)>,
}

impl Compiler {
    /// Returns the possible types of the keys at each node, as the last compilation found them, also where the graph has mistakes; `None`
    /// if it did not reach the data analysis.
    pub fn context_types(&mut self) -> Option<ContextTypes> {
        let (program, types) = self.point_types()?;
        Some(ContextTypes::with(&program, types))
    }
}

/// One key, as far as it is known.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeyType {
    /// Its name; `sys.ans` and `sys.error` are among them.
    pub key: Key,
    /// True if it is set on every path.
    pub certain: bool,
    /// The description of its possible values: "one of `a`, `b`", "a text", "something unknown".
    pub kind: String,
}

impl ContextTypes {
    /// Analyses a program. Only keys that some point reads are tracked.
    pub fn of(program: &Program) -> Self {
        Self::with(program, PointTypes::of(program))
    }

    /// Creates the types from the result of an analysis.
    fn with(program: &Program, known: PointTypes) -> Self {
        let nodes = program.nodes().iter();
        let points = nodes.map(|node| (node.id.clone(), (node.gate.map(|gate| gate.0), node.body.0))).collect();
        Self { known, points }
    }

    /// Returns the keys that can be set while a session is at a node, sorted; empty if no session reaches it.
    pub fn at(&self, node: &NodeId) -> Vec<KeyType> {
        let Some((_, body)) = self.points.get(node) else { return Vec::new() };
        let keys = self.known.at(*body).filter(|(_, _, kind)| !kind.is_empty());
        keys.map(|(key, certain, kind)| KeyType { key: key.into(), certain, kind }).collect()
    }

    /// Returns the keys that are set elsewhere, and on no path to a node. Keys that nothing reads are not known.
    pub fn absent_at(&self, node: &NodeId) -> impl Iterator<Item = &str> {
        let body = self.points.get(node).map(|(_, body)| *body);
        body.into_iter().flat_map(|body| self.known.absent_at(body))
    }

    /// Returns the known parts of a value while a session is at a node: of a key, below these names.
    pub fn parts(&self, node: &NodeId, key: &str, below: &[&str]) -> Vec<KeyType> {
        let Some((_, body)) = self.points.get(node) else { return Vec::new() };
        let parts = self.known.parts(*body, key, below).into_iter();
        parts.map(|(key, certain, kind)| KeyType { key, certain, kind }).collect()
    }

    /// Checks that a session's context is possible at its node: this holds for every session that began with declared inputs only.
    ///
    /// # Errors
    /// A description of the value that the types do not allow.
    pub fn admit(&self, state: &State) -> Result<(), String> {
        if matches!(state.status, Status::RollingBack | Status::Terminated) {
            return Ok(());
        }
        let Some((gate, body)) = self.points.get(&state.current_node_id) else { return Ok(()) };
        let at_gate = state.pending_tool_call.as_ref().is_some_and(|call| call.role == trellis_engine::state::CallRole::BeforeEach);
        let point = gate.filter(|_| at_gate).unwrap_or(*body);
        let value = |key: &str| -> Option<Value> {
            match key {
                "sys.ans" => state.system_context.ans.clone(),
                "sys.error" => state.system_context.error.clone(),
                "sys.visits" => state.visits.get(&state.current_node_id).map(|visits| Value::from(*visits)),
                "sys.rollback" => state.system_context.rollback.clone(),
                key => state.context.get(key).cloned(),
            }
        };
        self.known.admit(point, value).map_err(|problem| format!("at `{}`: {problem}", state.current_node_id))
    }
}

//! What can be in a session's context at each node, for editors and for tests (language 8.2).

use std::collections::BTreeMap;

use crate::{
    compile::{Compiler, PointTypes},
    id::NodeId,
    program::Program,
    state::{State, Status},
    value::{Key, Value},
};

/// What can be in the context of sessions that stand at a node.
#[derive(Debug)]
pub struct ContextTypes {
    known: PointTypes,
    points: BTreeMap<NodeId, (Option<u32>, u32)>,
}

impl Compiler {
    /// Returns the possible types of the keys at each node, as the last compilation found them, also where the graph has mistakes; `None`
    /// if it did not come to an analysis of data.
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
    /// Whether it is set on every way.
    pub certain: bool,
    /// What is known of its value: "one of `a`, `b`", "a text", "something unknown".
    pub kind: String,
}

impl ContextTypes {
    /// Works out what is known of a program. Only keys that something reads are followed.
    pub fn of(program: &Program) -> Self {
        Self::with(program, PointTypes::of(program))
    }

    /// What an analysis of a program found.
    fn with(program: &Program, known: PointTypes) -> Self {
        let nodes = program.nodes().iter();
        let points = nodes.map(|node| (node.id.clone(), (node.gate.map(|gate| gate.0), node.body.0))).collect();
        Self { known, points }
    }

    /// The keys that can be set while a session stands at a node, sorted; none where no session comes.
    pub fn at(&self, node: &NodeId) -> Vec<KeyType> {
        let Some((_, body)) = self.points.get(node) else { return Vec::new() };
        let keys = self.known.at(*body).filter(|(_, _, kind)| !kind.is_empty());
        keys.map(|(key, certain, kind)| KeyType { key: key.into(), certain, kind }).collect()
    }

    /// Whether a session's context is among what is possible where it stands: it is, of every session that began with declared inputs only.
    ///
    /// # Errors
    /// What is not as it was thought to be.
    pub fn admit(&self, state: &State) -> Result<(), String> {
        if matches!(state.status, Status::RollingBack | Status::Terminated) {
            return Ok(());
        }
        let Some((gate, body)) = self.points.get(&state.current_node_id) else { return Ok(()) };
        let at_gate = state.pending_tool_call.as_ref().is_some_and(|call| call.role == crate::state::CallRole::BeforeEach);
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

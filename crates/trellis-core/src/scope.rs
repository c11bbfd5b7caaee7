//! What templates and guards can read: the context, `sys`, and while a node resolves its `input` and `tool_result` (language 4.1–4.3).

use crate::{
    context::Context,
    path::{KeyPath, walk},
    value::Value,
};

/// Names that no author may write (language 4.1).
pub const RESERVED: [&str; 3] = ["input", "tool_result", "sys"];

/// A cheap, owned view of all that can be read at one moment.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// The session's context.
    pub context: Context,
    /// `sys`, already as a mapping.
    pub sys: Value,
    /// `input`: the accepted input or the bare result.
    pub input: Option<Value>,
    /// `tool_result`: the bare result, on acting nodes.
    pub tool_result: Option<Value>,
}

impl Scope {
    /// The value of a top-level name.
    pub fn get(&self, name: &str) -> Option<&Value> {
        match name {
            "input" => self.input.as_ref(),
            "tool_result" => self.tool_result.as_ref(),
            "sys" => Some(&self.sys),
            key => self.context.get(key),
        }
    }

    /// The value at a path.
    pub fn lookup(&self, path: &KeyPath) -> Option<&Value> {
        walk(self.get(path.root())?, path.rest())
    }
}

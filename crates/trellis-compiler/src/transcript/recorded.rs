//! The lines of a recording: one result of a tool each, as JSON.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize};

use trellis_base::{
    input::ToolOutcome,
    value::{Mapping, Value},
};

/// One result of a tool: `{"tool": …, "args": {…}, "outcome": {"success": …}}`. Arguments hold the places of secrets, never their values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedResult {
    /// The name of the tool.
    pub tool: Arc<str>,
    /// The arguments of the call.
    pub args: Mapping,
    /// Its outcome.
    pub outcome: ToolOutcome,
    /// Further data of the tool.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Value>,
}

impl RecordedResult {
    /// Reads a line.
    ///
    /// # Errors
    /// It is no result of a tool: the reason.
    pub fn read(line: &str) -> Result<Self, String> {
        serde_json::from_str(line).map_err(|error| {
            let why = error.to_string();
            why.split_once(" at line").map_or(&*why, |(why, _)| why).to_owned()
        })
    }
}

/// Reads a value that is present under its key, null included.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

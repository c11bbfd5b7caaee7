//! Constraints that schemas of single wire types have beside their derived shape.

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

/// Codes of failures that end a session.
pub(super) const END_CODES: [&str; 14] = [
    "fail",
    "end-failed",
    "no-match",
    "tool-error",
    "timeout",
    "max-visits",
    "invalid-input",
    "missing-context",
    "context-schema",
    "failed-assert",
    "template",
    "condition",
    "write",
    "limit",
];

pub(super) fn one_outcome() -> Value {
    json!([{ "required": ["result"] }, { "required": ["error"] }, { "required": ["denied"] }])
}

pub(super) fn reason_of_denial() -> Value {
    json!({ "reason": ["denied"] })
}

/// Findings are defined elsewhere: in `trellis_project::wire`.
pub(super) fn diagnostics(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "array", "items": { "$ref": "#/$defs/diagnostic" } })
}

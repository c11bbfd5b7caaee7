//! `json.parse` and `json.merge`.

use super::{failure, wanted};
use crate::{
    input::ToolError,
    value::{Mapping, Value},
};

const MALFORMED: &str = "malformed_json";

/// Returns a text without the fence of Markdown around all of it, as models write one around JSON.
pub fn unfenced(text: &str) -> &str {
    let text = text.trim();
    let fenced = text.strip_prefix("```").and_then(|text| text.strip_suffix("```")).and_then(|text| text.split_once('\n'));
    fenced.filter(|(info, _)| !info.contains('`')).map_or(text, |(_, inner)| inner)
}

/// `json.parse {text}`: the value that a JSON text holds, also in a fence of Markdown.
///
/// # Errors
/// `malformed_json`: it is no JSON, has a key twice, an integer beyond 64 bits, or more levels than a value may have.
pub fn parse(arguments: &Mapping) -> Result<Value, ToolError> {
    match arguments.get("text") {
        Some(Value::Text(text)) => Value::from_json(unfenced(text)).map_err(|error| failure(MALFORMED, error.to_string())),
        other => Err(wanted(MALFORMED, "text", "text", other)),
    }
}

/// `json.merge {parts}`: one mapping of all entries of a list of mappings. Each key has the last value that is not empty (null, `""`, `[]`, `{}`), or
/// the first of them, if all are empty. A part that is null or empty adds nothing. Nested mappings are not merged.
///
/// # Errors
/// `malformed_json`: `parts` is no list, or a part is no mapping.
pub fn merge(arguments: &Mapping) -> Result<Value, ToolError> {
    let Some(Value::List(parts)) = arguments.get("parts") else {
        return Err(wanted(MALFORMED, "parts", "list", arguments.get("parts")));
    };
    let mut merged = Mapping::new();
    for (at, part) in parts.iter().enumerate().filter(|(_, part)| !part.is_empty()) {
        let Value::Map(entries) = part else {
            return Err(failure(MALFORMED, format!("part {} is of kind {}, not a mapping", at + 1, part.kind())));
        };
        for (key, value) in entries.iter() {
            if !value.is_empty() || !merged.contains(key) {
                merged.insert(key.clone(), value.clone());
            }
        }
    }
    Ok(merged.into())
}

//! `json.parse` and `json.merge`.

use super::{failure, wanted};
use trellis_base::{
    input::ToolError,
    value::{JsonError, Mapping, Value},
};

const MALFORMED: &str = "malformed_json";

/// The marks around a fenced block of Markdown; more of them make one, too.
const FENCES: [&str; 2] = ["```", "~~~"];

/// Reads the value in a text as models write it: JSON, or prose with JSON in its only fenced block.
///
/// # Errors
/// It is neither.
pub fn read_json(text: &str) -> Result<Value, JsonError> {
    Value::from_json(text).or_else(|error| match FENCES.map(|fence| inside_fence(text, fence).map(Value::from_json)) {
        // Of two blocks nobody knows which one is meant.
        [None, None] | [Some(Ok(_)), Some(Ok(_))] => Err(error),
        [Some(Ok(value)), _] | [_, Some(Ok(value))] => Ok(value),
        [Some(Err(inside)), _] | [_, Some(Err(inside))] => Err(inside),
    })
}

/// Returns what stands between the first and the last of these fences in a text, without the name of its language.
fn inside_fence<'t>(text: &'t str, least: &str) -> Option<&'t str> {
    let opening = &text[text.find(least)?..];
    let below = opening.trim_start_matches(&least[..1]);
    let (block, _) = below.rsplit_once(&opening[..opening.len() - below.len()])?;
    let below = block.split_once('\n').filter(|(info, _)| !info.contains(['{', '[', '"']));
    Some(below.map_or_else(|| block.trim_start_matches(char::is_alphanumeric), |(_, below)| below))
}

/// `json.parse {text}`: the value that a JSON text holds, also in a fence of Markdown with prose around it.
///
/// # Errors
/// `malformed_json`: it is no JSON, has a key twice, an integer beyond 64 bits, or more levels than a value may have.
pub fn parse(arguments: &Mapping) -> Result<Value, ToolError> {
    match arguments.get("text") {
        Some(Value::Text(text)) => read_json(text).map_err(|error| failure(MALFORMED, error.to_string())),
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

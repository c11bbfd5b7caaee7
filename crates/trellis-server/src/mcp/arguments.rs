//! Arguments of tools: values of the core, with keys that are known.

use rmcp::model::JsonObject;
use serde_json::Value as Json;
use trellis_core::{Mapping, Value};

use crate::{
    http::Fields,
    trouble::{Code, Trouble},
};

/// JSON as a value of the core.
///
/// # Errors
/// It has a number that no value holds.
pub(super) fn value(json: &Json) -> Result<Value, Trouble> {
    Value::from_json(&json.to_string()).map_err(|error| Trouble::new(Code::BadJson, format!("an argument is no JSON: {error}")))
}

/// Arguments as a mapping.
///
/// # Errors
/// As [`value`].
pub(super) fn mapping(arguments: Option<JsonObject>) -> Result<Mapping, Trouble> {
    match value(&Json::Object(arguments.unwrap_or_default()))? {
        Value::Map(entries) => Ok(entries),
        _ => Ok(Mapping::new()),
    }
}

/// Arguments that have no other keys than these.
///
/// # Errors
/// They have others.
pub(super) fn fields(arguments: Option<JsonObject>, known: &[&str]) -> Result<Fields, Trouble> {
    Fields::of(Value::Map(mapping(arguments)?), known)
}

/// A value of the core as JSON.
pub(super) fn json(value: &Value) -> Json {
    serde_json::from_str(&value.to_json()).unwrap_or_default()
}

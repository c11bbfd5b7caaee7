//! The JSON Schema of findings, made from their types.

use schemars::JsonSchema;
use serde_json::{Map, Value, json};

use super::{Diagnostic, Report, VERSION, Witness};

/// The JSON Schema of a [`Report`]; `#/$defs/diagnostic` is a finding, `#/$defs/witness` a witness.
pub fn schema() -> Value {
    let mut defs = defined::<Report>();
    defs.extend(defined::<Witness>());
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": format!("urn:trellis:findings:{VERSION}"),
        "title": "What `trellis check --format json` prints",
        "$ref": "#/$defs/report",
        "$defs": defs,
    })
}

/// The definition of a finding, `diagnostic`, and those it refers to, for schemas that use it.
pub fn definitions() -> Map<String, Value> {
    defined::<Diagnostic>()
}

fn defined<T: JsonSchema>() -> Map<String, Value> {
    trellis_core::json_schema::definitions(|types| drop(types.subschema_for::<T>()))
}

//! The JSON Schema of results, generated from their types.

use serde_json::{Value, json};

use super::{Case, Coverage, Summary, VERSION};

/// The JSON Schema of a [`Line`](super::Line); `#/$defs/coverage` is what `trellis test --coverage=json:FILE` writes.
pub fn schema() -> Value {
    let mut defs = trellis_core::json_schema::definitions(|types| {
        let _ = types.subschema_for::<Case>();
        let _ = types.subschema_for::<Summary>();
        let _ = types.subschema_for::<Coverage>();
    });
    // Mappings are closed, so the key that tells the lines apart stands in each.
    let lines = ["case", "summary"];
    for line in lines {
        let Some(schema) = defs.get_mut(line) else { continue };
        schema["properties"]["type"] = json!({ "const": line });
        if let Some(required) = schema["required"].as_array_mut() {
            required.push("type".into());
        }
    }
    defs.insert("line".into(), json!({ "oneOf": lines.map(|line| json!({ "$ref": format!("#/$defs/{line}") })) }));
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": format!("urn:trellis:test:{VERSION}"),
        "title": "A line that `trellis test --format json` prints",
        "$ref": "#/$defs/line",
        "$defs": defs,
    })
}

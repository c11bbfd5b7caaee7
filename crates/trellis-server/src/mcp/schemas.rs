//! Schemas of tools: their arguments and their results.

use std::sync::Arc;

use rmcp::model::JsonObject;
use serde_json::{Value as Json, json};
use trellis_core::{
    Program,
    language::EndSyntax,
    program::{Node, WriteTarget},
    template::Shape,
};

use super::arguments;

/// An object of a literal.
pub(super) fn object(json: Json) -> Arc<JsonObject> {
    match json {
        Json::Object(object) => Arc::new(object),
        _ => Arc::default(),
    }
}

/// Returns the schema of arguments: a session, and further properties.
pub(super) fn takes(properties: Json, required: &[&str]) -> Arc<JsonObject> {
    object(json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false }))
}

/// Returns the arguments of a flow: `inputs` of its graph, with the further needs of its entry.
pub(super) fn inputs(program: &Program) -> Arc<JsonObject> {
    let source = program.root().inputs.as_ref().map(|inputs| arguments::json(inputs.source()));
    let mut schema = match source {
        Some(Json::Object(schema)) => schema,
        _ => JsonObject::new(),
    };
    schema.insert("type".into(), "object".into());
    let entry = &program.entry().entry;
    let brought = |key: &str| entry.defaults.iter().any(|write| matches!(&write.to, WriteTarget::Absent(absent) if **absent == *key));
    let needed = entry.required.iter().map(|path| path.root()).filter(|key| !brought(key) && &***key != "sys");
    let needed: Vec<Json> = needed.map(|key| Json::from(&**key)).collect();
    if !needed.is_empty() {
        let required = schema.entry("required").or_insert_with(|| json!([]));
        if let Some(required) = required.as_array_mut() {
            for key in needed {
                if !required.contains(&key) {
                    required.push(key);
                }
            }
        }
    }
    schema.entry("properties").or_insert_with(|| json!({}));
    Arc::new(schema)
}

/// Returns the schema of a turn as a result; `output` is the schema of the output at an end. A refusal is a problem.
pub(super) fn turns(output: &Json) -> Arc<JsonObject> {
    let text = json!({ "type": "string" });
    let said = json!({ "type": "object", "properties": { "node": text, "text": text, "child": text }, "required": ["node", "text"] });
    let stop = json!({ "type": "object", "properties": { "type": text, "payload": { "type": "object" } }, "required": ["type"] });
    object(json!({
        "type": "object",
        "properties": {
            "session": { "type": "string", "description": "The session, for `navigate` and `render_state`." },
            "seq": { "type": "integer", "description": "The number that says which question an answer is meant for." },
            "said": { "type": "array", "items": said, "description": "What the nodes said since the stop before." },
            "stop": { "description": "What the session needs, as JSON Lines have it, or END.", "anyOf": [stop] },
            "reason": { "type": "string", "description": "Why it ended: `finished` is the only success." },
            "output": output,
            "code": { "type": "string", "description": "Of a refusal: its stable code." },
            "detail": { "type": "string" },
        },
        "anyOf": [{ "required": ["session", "seq", "said", "stop"] }, { "required": ["code", "detail"] }],
    }))
}

/// A list, or a problem.
pub(super) fn lists() -> Arc<JsonObject> {
    object(json!({
        "type": "object",
        "properties": {
            "items": { "type": "array", "items": { "type": "object" } },
            "next": { "type": ["string", "null"], "description": "`after` of the next page." },
            "code": { "type": "string" },
            "detail": { "type": "string" },
        },
        "anyOf": [{ "required": ["items"] }, { "required": ["code", "detail"] }],
    }))
}

/// Returns the schema of the output of a flow that succeeds: the union over its ends.
pub(super) fn outputs(program: &Program) -> Json {
    let is_success = |node: &&Arc<Node>| {
        let is_end = node.terminal && !matches!(node.end, Some(EndSyntax::Failed)) && node.reason.is_none();
        is_end && node.graph == 0
    };
    let mut outputs = Vec::new();
    for node in program.nodes().iter().filter(is_success) {
        let output = node.output.as_ref().map_or_else(|| json!({ "type": "null" }), |shape| schema_of(shape));
        // Anything is among them.
        if output == json!({}) {
            return output;
        }
        if !outputs.contains(&output) {
            outputs.push(output);
        }
    }
    match outputs.len() {
        0 => json!({}),
        1 => outputs.remove(0),
        _ => json!({ "anyOf": outputs }),
    }
}

/// Returns the schema of the possible values of a shape.
fn schema_of(shape: &Shape) -> Json {
    match shape {
        Shape::Literal(value) => json!({ "const": arguments::json(value) }),
        Shape::Text(_) => json!({ "type": "string" }),
        Shape::Expression(_) => json!({}),
        Shape::List(_) => json!({ "type": "array" }),
        Shape::Map(entries) => {
            let properties = entries.iter().map(|(key, value)| (key.value.to_string(), schema_of(&value.value)));
            json!({ "type": "object", "properties": properties.collect::<JsonObject>() })
        }
    }
}

//! The JSON Schema of the wire types, made from them.
//!
//! Each type has a definition of its name, each line one of its `type`, each reply one of its key; `out` and `in` are the lines of JSON Lines.

use serde_json::{Map, Value, json};
use trellis_core::json_schema::definitions;

use super::{Reply, SessionEvent, Stop, Turn, VERSION};

/// The stops that are no lines of JSON Lines, where one waits.
const WAITING: [&str; 2] = ["RUNNING", "SLEEPING"];

/// The JSON Schema of everything that goes over the wire: `#/$defs/out` and `#/$defs/in` are the lines of JSON Lines, `#/$defs/turn` is the answer of
/// other doors. `findings` are the definitions of findings, among them `diagnostic`: those of `trellis_project::wire::schema`.
pub fn schema(findings: &Map<String, Value>) -> Value {
    let mut defs = definitions(|types| {
        types.subschema_for::<SessionEvent>();
        types.subschema_for::<Stop>();
        types.subschema_for::<Reply>();
        types.subschema_for::<Turn>();
        #[cfg(feature = "history")]
        types.subschema_for::<super::DeadLetter>();
    });
    let events = split(&mut defs, "event", |line| line["properties"]["type"]["const"].as_str());
    let stops = split(&mut defs, "stop", |line| line["properties"]["type"]["const"].as_str());
    split(&mut defs, "in", |reply| reply["required"][0].as_str());
    let mut out = events;
    out.extend(stops.iter().filter(|stop| !WAITING.contains(&&***stop)).cloned());
    out.sort();
    out.dedup();
    defs.insert("out".into(), json!({ "description": "A line that the program prints.", "oneOf": references(&out) }));
    let waiting = WAITING.map(str::to_owned);
    defs.insert("waiting".into(), json!({ "description": "A stop at which nobody is needed.", "oneOf": references(&waiting) }));
    defs.extend(findings.clone());
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": format!("urn:trellis:json-lines:{VERSION}"),
        "title": "A line of `trellis run --json`",
        "description": "One object on a line. The program prints lines of `#/$defs/out` and takes lines of `#/$defs/in`.",
        "oneOf": references(&["out", "in"].map(str::to_owned)),
        "$defs": defs,
    })
}

fn references(names: &[String]) -> Value {
    names.iter().map(|name| json!({ "$ref": format!("#/$defs/{name}") })).collect()
}

/// Gives each branch of a definition one of its own, and returns their names.
fn split(defs: &mut Map<String, Value>, of: &str, name: impl Fn(&Value) -> Option<&str>) -> Vec<String> {
    let whole = &mut defs[of];
    let branches = whole.as_object_mut().and_then(|whole| whole.remove("anyOf").or_else(|| whole.remove("oneOf")));
    let mut branches: Vec<(String, Value)> = match branches {
        Some(Value::Array(branches)) => branches.into_iter().filter_map(|branch| Some((name(&branch)?.to_owned(), branch))).collect(),
        _ => Vec::new(),
    };
    for (_, line) in branches.iter_mut().filter(|(_, branch)| branch["properties"]["type"].is_object()) {
        line["properties"]["child"] = json!({ "description": "The child session that the line is about.", "type": "string" });
    }
    let names: Vec<String> = branches.iter().map(|(name, _)| name.clone()).collect();
    whole["oneOf"] = references(&names);
    defs.extend(branches);
    names
}

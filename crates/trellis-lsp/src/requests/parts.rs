//! The parts of a value that are known at a place: by the types of the last link, and by declared schemas.

use std::collections::BTreeMap;

use trellis_core::{
    diagnostic::FilePath,
    value::{Key, Value},
};

use crate::graph::Graph;

/// Returns the names of the parts of a path's value, each with its type in words; with none where that is not known.
pub(super) fn parts_of(graph: &mut Graph, file: &FilePath, offset: u32, path: &str) -> BTreeMap<String, String> {
    let mut below: Vec<&str> = path.split('.').collect();
    let root = Key::from(below.remove(0));
    let number = graph.index().graph_of(file);
    let mut parts = BTreeMap::new();
    for (at, schema) in graph.index().schemas(number, &root) {
        let rest = at.iter().zip(&below).all(|(one, other)| one == other).then(|| below.get(at.len()..)).flatten();
        let schema = rest.and_then(|rest| rest.iter().try_fold(schema, |schema, name| schema.get("properties")?.get(name)));
        let properties = schema.and_then(|schema| schema.get("properties")?.as_map());
        let properties = properties.into_iter().flat_map(|all| all.iter());
        parts.extend(properties.map(|(name, schema)| (name.to_string(), kind(schema).to_owned())));
    }
    let here = graph.index().node_around(file, offset);
    let known = graph.types().zip(here).map(|(types, node)| types.parts(&node.id, &root, &below)).unwrap_or_default();
    for part in known {
        let kind = if part.certain { part.kind } else { format!("{}, perhaps not set", part.kind) };
        parts.insert(part.key.to_string(), kind);
    }
    parts
}

/// Returns the type of a schema in words.
fn kind(schema: &Value) -> &'static str {
    match schema.as_str().or_else(|| schema.get("type")?.as_str()) {
        Some("string") => "a text",
        Some("integer") => "an integer",
        Some("number") => "a number",
        Some("boolean") => "a boolean",
        Some("object") => "a mapping",
        Some("array") => "a list",
        _ => "",
    }
}

//! The values that a key can have, where they are few and known.

use trellis_core::{
    Document, Source,
    diagnostic::FilePath,
    query::option_values,
    syntax::document::Content,
    value::{Key, Value},
};

use crate::graph::Graph;

/// Returns the values that a path can have at a place, where they are few and known: those of options and of closed types.
pub(super) fn values_of(graph: &mut Graph, file: &FilePath, offset: u32, path: &str) -> Vec<Value> {
    let number = graph.index().graph_of(file);
    let key = Key::from(path);
    let mut values = graph.index().option_values(number, &key);
    let unread = readable(graph, file, offset).map(|document| option_values(&document, &key)).unwrap_or_default();
    for value in unread.into_iter().chain(closed(graph, file, offset, path)) {
        if !values.contains(&value) {
            values.push(value);
        }
    }
    values
}

/// Returns what can be read of a file that cannot be understood: without the line of the cursor, or what stands above it.
fn readable(graph: &Graph, file: &FilePath, offset: u32) -> Option<Document> {
    let broken = graph.document(file).filter(|document| matches!(document.content, Content::Broken))?;
    let text = &*broken.text;
    let above = &text[..text.get(..offset as usize)?.rfind('\n')? + 1];
    let below = text[offset as usize..].split_once('\n').map_or("", |(_, below)| below);
    let dialect = broken.dialect().map(|named| named.value).unwrap_or_default();
    let fence = if above.trim_start().starts_with("---") { "---\n" } else { "" };
    let texts = [format!("{above}{below}"), format!("{above}{fence}")];
    let mut read = texts.iter().map(|text| Document::parse(&Source::text(FilePath::clone(file), text), dialect));
    read.find(|document| !matches!(document.content, Content::Broken))
}

/// Returns the values of a key whose type is closed, as far as the last link and the declared schemas know.
fn closed(graph: &mut Graph, file: &FilePath, offset: u32, path: &str) -> Vec<Value> {
    let declared = graph.documents().iter().filter_map(|document| match &document.content {
        Content::Project(project) | Content::Nodes(_, project) => Some(&project.context),
        _ => None,
    });
    let schemas: Vec<&Value> = declared.flatten().filter(|(key, _)| *key.value == *path).map(|(_, schema)| &schema.value).collect();
    let mut values: Vec<Value> = schemas.iter().filter_map(|schema| schema.get("enum")?.as_list()).flatten().cloned().collect();
    if schemas.iter().any(|schema| schema.get("type").and_then(Value::as_str) == Some("boolean")) {
        values.extend([Value::Bool(true), Value::Bool(false)]);
    }
    let here = graph.index().node_around(file, offset);
    let types = graph.types().zip(here).map(|(types, node)| types.at(&node.id)).unwrap_or_default();
    if let Some(known) = types.iter().find(|known| *known.key == *path) {
        // `one of "a", "b"`, `true or false`
        values.extend(known.kind.split('`').skip(1).step_by(2).map(|text| Value::from_json(text).unwrap_or_else(|_| text.into())));
    }
    values
}

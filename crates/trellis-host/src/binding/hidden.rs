//! Hidden values of a context, which the output of a tool may not show: those that `redact` names, and answers to `input_type: secret`.

use std::collections::BTreeSet;

use trellis_core::{
    Program, Value,
    path::KeyPath,
    syntax::{document::Content, node::InputType},
};

/// Returns the context paths of hidden values: those that `redact` names, and those that answers to `input_type: secret` are saved to.
pub(super) fn hidden_by(program: &Program) -> Vec<KeyPath> {
    let typed = program.documents().iter().flat_map(|document| {
        let nodes = match &document.content {
            Content::Node(node) => std::slice::from_ref(&**node),
            Content::Nodes(nodes, _) => nodes,
            Content::Project(_) | Content::Library(_) | Content::Broken => &[],
        };
        let secret = nodes.iter().filter(|node| node.input_type.as_ref().is_some_and(|kind| kind.value == InputType::Secret));
        secret.filter_map(|node| node.save_to.as_ref().map(|path| path.value.clone()))
    });
    program.redacted().cloned().chain(typed).collect::<BTreeSet<_>>().into_iter().collect()
}

/// Every text and number in a value.
pub(super) fn texts_of(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Null | Value::Bool(_) => {}
        Value::Map(entries) => entries.iter().for_each(|(_, value)| texts_of(value, found)),
        Value::List(items) => items.iter().for_each(|item| texts_of(item, found)),
        Value::Text(text) => found.push(text.to_string()),
        number => found.push(number.to_json()),
    }
}

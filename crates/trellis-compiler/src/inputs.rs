//! `inputs` of a graph as the schema of its initial context: closed, and with the keys that the entry declares itself (language 7.1).
//!
//! A graph that says which keys it begins with takes no others: a caller could set a key that the graph is to set itself. `additionalProperties`
//! or `unevaluatedProperties` of `inputs` say otherwise.

use trellis_base::value::{Key, Mapping, Value};
use trellis_syntax::node::NodeSyntax;

/// Keywords by which an author decides about further keys.
const DECIDED_BY: [&str; 2] = ["additionalProperties", "unevaluatedProperties"];

/// Keywords that apply further schemas to the same value, which may name further keys.
const APPLICATORS: [&str; 10] = ["$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas"];

/// Returns `inputs` without further keys, but with those of the `required_context` and the `context_schema` of the entry.
pub(super) fn closed(inputs: &Value, entry: &NodeSyntax) -> Value {
    let Value::Map(written) = inputs else { return inputs.clone() };
    if DECIDED_BY.iter().any(|word| written.contains(word)) {
        return inputs.clone();
    }
    let mut schema = written.clone();
    let mut properties = written.get("properties").and_then(Value::as_map).cloned().unwrap_or_default();
    let required = written.get("required").and_then(Value::as_list).map(|keys| keys.iter().filter_map(Value::as_str).map(Key::from));
    let of_entry = entry.required_context.iter().map(|path| path.value.root().clone());
    let typed = entry.context_schema.iter().map(|(key, _)| key.value.clone());
    for key in required.into_iter().flatten().chain(of_entry).chain(typed) {
        if !properties.contains(&key) {
            properties.insert(key, Value::Map(Mapping::default()));
        }
    }
    schema.insert("properties".into(), Value::Map(properties));
    let word = if APPLICATORS.iter().any(|word| written.contains(word)) { DECIDED_BY[1] } else { DECIDED_BY[0] };
    schema.insert(word.into(), Value::Bool(false));
    Value::Map(schema)
}

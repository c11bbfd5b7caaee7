//! Schemas that no value fits together, as far as their types and keys say.

use std::collections::BTreeSet;

use crate::value::{Mapping, Value};

/// Returns why no value fits both schemas, as a sentence about the first: a type, or a key that one of them requires. `None` if some value may.
pub fn disjoint(first: &Value, second: &Value) -> Option<String> {
    below("", first, second)
}

fn below(at: &str, first: &Value, second: &Value) -> Option<String> {
    let (first, second) = (first.as_map()?, second.as_map()?);
    if let (Some(one), Some(other)) = (types(first), types(second)) {
        let has_number = |kinds: &[&str], kind: &str| {
            matches!(kind, "integer" | "number") && (kinds.contains(&"number") || kind == "number" && kinds.contains(&"integer"))
        };
        let shared: Vec<&str> = one.iter().copied().filter(|kind| other.contains(kind) || has_number(&other, kind)).collect();
        if shared.is_empty() {
            let subject = if at.is_empty() { "it".to_owned() } else { format!("`{at}`") };
            return Some(format!("{subject} is {}, not {}", listed(&one), listed(&other)));
        }
        // A value of another type that both allow has no keys.
        if shared != ["object"] {
            return None;
        }
    }
    let keys: BTreeSet<&str> = required_keys(first).into_iter().chain(required_keys(second)).collect();
    keys.into_iter().find_map(|key| {
        let path = if at.is_empty() { key.to_owned() } else { format!("{at}.{key}") };
        if forbids(first, key) {
            return Some(format!("it has no `{path}`"));
        }
        if forbids(second, key) {
            return Some(format!("it has `{path}`"));
        }
        below(&path, property(first, key)?, property(second, key)?)
    })
}

/// Returns whether a value with this key does not fit.
fn forbids(schema: &Mapping, key: &str) -> bool {
    let is_closed = schema.get("additionalProperties").and_then(Value::as_bool) == Some(false) && !schema.contains("patternProperties");
    is_closed && property(schema, key).is_none()
}

fn listed(kinds: &[&str]) -> String {
    kinds.iter().map(|kind| kind_name(kind)).collect::<Vec<_>>().join(" or ")
}

/// Returns the name of a type in sentences.
pub fn kind_name(kind: &str) -> &'static str {
    match kind {
        "string" => "a text",
        "integer" => "an integer",
        "number" => "a number",
        "boolean" => "true or false",
        "array" => "a list",
        "object" => "a mapping",
        _ => "null",
    }
}

/// Returns the types that a schema declares; `None` if it declares none.
pub fn types(schema: &Mapping) -> Option<Vec<&str>> {
    match schema.get("type")? {
        Value::List(kinds) => kinds.iter().map(Value::as_str).collect(),
        kind => Some(vec![kind.as_str()?]),
    }
}

/// Returns the keys that a schema requires.
pub fn required_keys(schema: &Mapping) -> Vec<&str> {
    schema.get("required").and_then(Value::as_list).into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Returns the schema of a key.
pub fn property<'s>(schema: &'s Mapping, key: &str) -> Option<&'s Value> {
    schema.get("properties")?.as_map()?.get(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(first: &str, second: &str) -> Option<String> {
        disjoint(&Value::from_json(first).unwrap(), &Value::from_json(second).unwrap())
    }

    #[test]
    fn types_and_required_keys_decide() {
        let open = r#"{"type":"object","required":["a"],"properties":{"a":{"type":"integer"},"b":{"type":"string"}}}"#;
        let closed = r#"{"type":"object","required":["a"],"additionalProperties":false,"properties":{"a":{"type":"integer"}}}"#;
        for (first, second, expected) in [
            (r#"{"type":"integer"}"#, r#"{"type":"string"}"#, Some("it is an integer, not a text")),
            (r#"{"type":"number"}"#, r#"{"type":"integer"}"#, None),
            (r#"{"type":"integer"}"#, r#"{"type":["number","null"]}"#, None),
            (r#"{"type":"array"}"#, open, Some("it is a list, not a mapping")),
            ("{}", open, None),
            (open, closed, None),
            (open, r#"{"type":"object","properties":{"b":{"type":"integer"}}}"#, None),
            (open, r#"{"type":"object","required":["b"],"properties":{"b":{"type":"integer"}}}"#, Some("`b` is a text, not an integer")),
            (open, r#"{"type":"object","additionalProperties":false}"#, Some("it has `a`")),
            (closed, r#"{"type":"object","required":["z"]}"#, Some("it has no `z`")),
            (r#"{"type":["object","null"],"required":["a"]}"#, r#"{"type":["object","null"],"additionalProperties":false}"#, None),
        ] {
            assert_eq!(said(first, second).as_deref(), expected, "{first} {second}");
        }
    }
}

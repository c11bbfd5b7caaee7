//! The subset of JSON Schema that endpoints enforce on a model (language 9.20).

use trellis_core::Value;

/// Keywords that the subset lacks.
const FOREIGN: [&str; 4] = ["allOf", "if", "not", "patternProperties"];

/// Keywords whose value is a schema, a list of schemas, or a mapping of schemas.
const ONE: [&str; 2] = ["items", "additionalProperties"];
const LISTS: [&str; 3] = ["anyOf", "oneOf", "prefixItems"];
const MAPPINGS: [&str; 3] = ["properties", "$defs", "definitions"];

/// Returns whether a schema is in the common strict subset: an object at its root, each object closed with every property required, and no keyword
/// that endpoints refuse.
pub(super) fn is_strict(schema: &Value) -> bool {
    schema.get("type").and_then(Value::as_str) == Some("object") && fits(schema)
}

fn fits(schema: &Value) -> bool {
    let Value::Map(words) = schema else { return false };
    let says_something = ["type", "enum", "const", "anyOf", "$ref"].iter().any(|word| words.contains(word));
    if !says_something || FOREIGN.iter().any(|word| words.contains(word)) || (is_object(schema) && !is_closed(schema)) {
        return false;
    }
    words.iter().all(|(word, value)| match (&**word, value) {
        // `false` closes an object; `true` does not restrict it.
        ("additionalProperties", Value::Bool(false)) => true,
        (word, value) if ONE.contains(&word) => fits(value),
        (word, Value::List(schemas)) if LISTS.contains(&word) => schemas.iter().all(fits),
        (word, Value::Map(schemas)) if MAPPINGS.contains(&word) => schemas.values().all(fits),
        _ => true,
    })
}

fn is_object(schema: &Value) -> bool {
    let named = match schema.get("type") {
        Some(Value::List(kinds)) => kinds.iter().any(|kind| kind.as_str() == Some("object")),
        Some(kind) => kind.as_str() == Some("object"),
        None => false,
    };
    named || schema.get("properties").is_some()
}

fn is_closed(schema: &Value) -> bool {
    let required = |name: &str| {
        let names = schema.get("required").and_then(Value::as_list);
        names.is_some_and(|names| names.iter().any(|required| required.as_str() == Some(name)))
    };
    let all_required = match schema.get("properties") {
        Some(Value::Map(properties)) => properties.keys().all(|name| required(name)),
        Some(_) => false,
        None => true,
    };
    all_required && schema.get("additionalProperties").and_then(Value::as_bool) == Some(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strict_is_what_endpoints_hold_a_model_to() {
        // language 9.20
        let strict = |schema: &str| is_strict(&Value::from_json(schema).unwrap());
        let closed = r#""additionalProperties":false"#;
        assert!(strict(&format!(r#"{{"type":"object",{closed}}}"#)));
        assert!(strict(&format!(r#"{{"type":"object",{closed},"required":["a"],"properties":{{"a":{{"type":["string","null"]}}}}}}"#)));
        let nested = |inner: &str| {
            format!(r#"{{"type":"object",{closed},"required":["a"],"properties":{{"a":{{"type":"array","items":{inner}}}}}}}"#)
        };
        assert!(strict(&nested(r#"{"enum":[1,2]}"#)));
        for loose in [
            "true".to_owned(),
            "{}".to_owned(),
            r#"{"type":"array","items":{"type":"string"}}"#.to_owned(),
            r#"{"type":"object"}"#.to_owned(),
            r#"{"type":"object","additionalProperties":true}"#.to_owned(),
            format!(r#"{{"type":"object",{closed},"properties":{{"a":{{"type":"string"}}}}}}"#),
            format!(r#"{{"type":"object",{closed},"allOf":[]}}"#),
            format!(r#"{{"type":"object",{closed},"if":{{}}}}"#),
            format!(r#"{{"type":"object",{closed},"not":{{}}}}"#),
            format!(r#"{{"type":"object",{closed},"patternProperties":{{}}}}"#),
            nested(r#"{"type":"object"}"#),
            nested("{}"),
            nested("true"),
            nested(r#"{"anyOf":[{"type":"string"},{"type":"object"}]}"#),
        ] {
            assert!(!strict(&loose), "{loose}");
        }
    }
}

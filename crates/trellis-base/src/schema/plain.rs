//! Fast check that a value certainly fits a schema of common keywords: without the validator, and without another form of the value.
//!
//! **Invariant:** a yes agrees with the validator; an uncertain result is a no, and the validator decides.

use super::{Hole, below};
use crate::value::{Mapping, Value};

/// Levels that are checked.
const MAX_CHECKED_DEPTH: usize = 16;

/// Returns whether `value` certainly fits, for every filling of its holes.
pub(super) fn fits(schema: &Value, value: &Value, holes: &[Hole]) -> bool {
    at(schema, value, holes, "", MAX_CHECKED_DEPTH)
}

fn at(schema: &Value, value: &Value, holes: &[Hole], pointer: &str, left: usize) -> bool {
    let Some(left) = left.checked_sub(1) else { return false };
    let entries = match schema {
        Value::Bool(true) => return true,
        Value::Map(entries) => entries,
        _ => return false,
    };
    // Only texts of known holes can be too much; of the others nothing is known that could be wrong.
    let is_open = match holes.iter().find(|hole| hole.pointer == pointer) {
        Some(hole) if hole.text => None,
        Some(_) => return true,
        None => Some(value),
    };
    entries.iter().all(|(key, schema_part)| match (&**key, is_open) {
        ("title" | "description" | "default" | "examples", _) => true,
        ("type", value) => match schema_part {
            Value::List(kinds) => kinds.iter().any(|kind| is_of(kind, value)),
            kind => is_of(kind, value),
        },
        ("enum", value) => schema_part.as_list().is_some_and(|values| values.iter().any(|one| is_same(one, value))),
        ("const", value) => is_same(schema_part, value),
        // A text has neither properties nor items.
        ("properties" | "required" | "additionalProperties" | "items", None) => true,
        ("properties", Some(Value::Map(values))) => schema_part.as_map().is_some_and(|properties| {
            properties.iter().all(|(key, schema)| values.get(key).is_none_or(|value| at(schema, value, holes, &below(pointer, key), left)))
        }),
        ("required", Some(Value::Map(values))) => schema_part.as_list().is_some_and(|keys| {
            let given = |key: &str| values.contains(key) && !holes.iter().any(|hole| hole.optional && hole.pointer == below(pointer, key));
            keys.iter().all(|key| key.as_str().is_some_and(given))
        }),
        ("additionalProperties", Some(Value::Map(values))) => {
            let properties = entries.get("properties").and_then(Value::as_map);
            let is_named = |key: &str| properties.is_some_and(|properties: &Mapping| properties.contains(key));
            let mut others = values.iter().filter(|(key, _)| !is_named(key));
            others.all(|(key, value)| at(schema_part, value, holes, &below(pointer, key), left))
        }
        ("items", Some(Value::List(values))) => {
            values.iter().enumerate().all(|(index, value)| at(schema_part, value, holes, &format!("{pointer}/{index}"), left))
        }
        ("properties" | "required" | "additionalProperties" | "items", Some(_)) => true,
        (key, _) => key.starts_with("x-"),
    })
}

/// Returns whether a value, or every text, is of a type.
fn is_of(kind: &Value, value: Option<&Value>) -> bool {
    let kinds: &[&str] = match value {
        None | Some(Value::Text(_)) => &["string"],
        Some(Value::Null) => &["null"],
        Some(Value::Bool(_)) => &["boolean"],
        Some(Value::Int(_) | Value::UInt(_)) => &["integer", "number"],
        Some(Value::Float(_)) => &["number"],
        Some(Value::List(_)) => &["array"],
        Some(Value::Map(_)) => &["object"],
    };
    kind.as_str().is_some_and(|kind| kinds.contains(&kind))
}

/// Returns whether a value is this text or truth; an unknown text may be any.
fn is_same(one: &Value, value: Option<&Value>) -> bool {
    match (one, value) {
        (Value::Text(_), None) => true,
        (Value::Text(one), Some(Value::Text(value))) => one == value,
        (Value::Bool(one), Some(Value::Bool(value))) => one == value,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{super::Schema, *};

    #[test]
    fn what_certainly_fits_has_no_flaws() {
        let schemas = [
            r#"{}"#,
            r#"{"type": "object", "properties": {"a": {"type": "integer"}, "b": {"enum": ["x", 1, true]}}, "required": ["a"]}"#,
            r#"{"type": "object", "properties": {"a": {"type": ["string", "null"]}}, "additionalProperties": false}"#,
            r#"{"properties": {"a": {"type": "array", "items": {"type": "string"}}}, "additionalProperties": {"type": "number"}}"#,
            r#"{"properties": {"a": {"properties": {"b": {"const": "y"}}, "required": ["b"]}}, "x-note": 1}"#,
            r#"{"properties": {"a": {"minimum": 3}}}"#,
            r#"{"properties": {"a": {"enum": [null, [1]]}}}"#,
        ];
        let values = [
            r#"{}"#,
            r#"{"a": 1}"#,
            r#"{"a": 1.0, "b": "x"}"#,
            r#"{"a": "t", "b": true}"#,
            r#"{"a": null, "b": 1}"#,
            r#"{"a": ["s", "t"], "b": 2.5}"#,
            r#"{"a": ["s", 1], "c": "u"}"#,
            r#"{"a": {"b": "y"}}"#,
            r#"{"a": {"b": "z", "c": 1}}"#,
            r#"[1]"#,
        ];
        let hole = |pointer: &str, text, optional| Hole { pointer: pointer.into(), text, optional };
        let holes = [
            vec![],
            vec![hole("/a", false, false)],
            vec![hole("/a", false, true)],
            vec![hole("/a", true, false)],
            vec![hole("/a/b", true, false), hole("/b", false, true)],
            vec![hole("/a/0", true, false), hole("/a/1", false, false)],
        ];
        let (mut certain, mut sound) = (0, 0);
        for schema in schemas.map(|text| Schema::new(&Value::from_json(text).unwrap()).unwrap()) {
            for value in values.map(|text| Value::from_json(text).unwrap()) {
                for holes in &holes {
                    // A text is the placeholder of a text, a scalar that of any value.
                    let is_hole = |hole: &Hole| {
                        let steps: Vec<_> = hole.pointer.split('/').skip(1).collect();
                        let stands_in = steps.iter().try_fold(&value, |value, step| match value {
                            Value::List(items) => items.get(step.parse::<usize>().ok()?),
                            value => value.as_map()?.get(step),
                        });
                        stands_in.is_some_and(|value| {
                            value.as_str().is_some() || (!hole.text && !matches!(value, Value::List(_) | Value::Map(_)))
                        })
                    };
                    let holes: Vec<_> = holes.iter().filter(|hole| is_hole(hole)).cloned().collect();
                    let flaws = schema.every_flaw(&value, &holes);
                    let fits = fits(schema.source(), &value, &holes);
                    assert!(!fits || flaws.is_empty(), "{} {} {holes:?}: {flaws:?}", schema.source().to_json(), value.to_json());
                    certain += usize::from(fits);
                    sound += usize::from(flaws.is_empty());
                }
            }
        }
        assert!(certain * 3 > sound * 2 && certain > 100, "{certain} of {sound} are seen at once");
    }
}

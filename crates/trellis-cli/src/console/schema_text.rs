//! A JSON Schema in words: `an integer from 1 to 5`, `a mapping with id (a text)`.
//!
//! In: the schema as a value. Out: one line, or `None` if no line describes it.
//!
//! **Invariant:** the description never claims more than the schema; the rejection of a value names what it omits.

use trellis_core::{Mapping, Value};

/// Values and keys that are named; the rest is counted.
const MAX_NAMED: usize = 6;
/// Greatest depth of a description.
const DEEPEST: usize = 3;

/// Describes the values that a schema accepts.
pub(super) fn words(schema: &Value) -> Option<String> {
    described(schema, DEEPEST).filter(|words| !words.is_empty())
}

fn described(schema: &Value, depth: usize) -> Option<String> {
    let schema = schema.as_map()?;
    let mut parts = Vec::new();
    match (schema.get("const"), schema.get("enum").and_then(Value::as_list)) {
        (Some(value), _) => parts.push(format!("`{value}`")),
        (None, Some(values)) => parts.push(format!("one of {}", listed(values.iter().map(|value| format!("`{value}`")), "more"))),
        (None, None) => parts.extend(kind(schema)),
    }
    let apart = parts.is_empty();
    parts.extend(span(schema, ["minimum", "maximum"], ""));
    parts.extend(text(schema, "exclusiveMinimum").map(|limit| format!("more than {limit}")));
    let joint = if schema.contains("exclusiveMinimum") || schema.contains("minimum") { "and " } else { "" };
    parts.extend(text(schema, "exclusiveMaximum").map(|limit| format!("{joint}less than {limit}")));
    parts.extend(text(schema, "multipleOf").map(|step| format!("in steps of {step}")));
    parts.extend(span(schema, ["minLength", "maxLength"], "character").map(|span| if apart { span } else { format!("of {span}") }));
    parts.extend(span(schema, ["minItems", "maxItems"], "item").map(|span| format!("of {span}")));
    parts.extend(schema.get("pattern").map(|pattern| format!("like `{pattern}`")));
    parts.extend(format(schema).filter(|_| apart));
    if let Some(deeper) = depth.checked_sub(1) {
        parts.extend(
            schema
                .get("items")
                .and_then(|items| described(items, deeper))
                .filter(|items| !items.is_empty())
                .map(|items| format!(", each {items}")),
        );
        parts.extend(properties(schema, deeper));
        for (key, joined) in [("anyOf", " or "), ("oneOf", " or "), ("allOf", " and ")] {
            let all =
                schema.get(key).and_then(Value::as_list).map(|all| all.iter().filter_map(|one| described(one, deeper)).collect::<Vec<_>>());
            parts.extend(all.filter(|all| !all.is_empty()).map(|all| all.join(joined)));
        }
        parts.extend(schema.get("not").and_then(|not| described(not, deeper)).map(|not| format!("not {not}")));
    }
    if schema.get("uniqueItems").and_then(Value::as_bool) == Some(true) {
        parts.push(", none twice".to_owned());
    }
    let words = parts.iter().enumerate().fold(String::new(), |words, (at, part)| {
        let apart = if at == 0 || part.starts_with(',') { "" } else { " " };
        words + apart + part
    });
    let described = schema.get("description").or_else(|| schema.get("title")).and_then(Value::as_str).filter(|_| depth == DEEPEST);
    Some(match described {
        Some(described) if words.is_empty() => described.to_owned(),
        Some(described) => format!("{}: {words}", described.trim_end_matches('.')),
        None => words,
    })
}

fn kind(schema: &Mapping) -> Option<String> {
    let types = match schema.get("type")? {
        Value::List(types) => types.iter().filter_map(Value::as_str).collect(),
        name => vec![name.as_str()?],
    };
    let named = types.into_iter().map(|name| match name {
        "string" => format(schema).unwrap_or_else(|| "a text".to_owned()),
        "integer" => "an integer".to_owned(),
        "number" => "a number".to_owned(),
        "boolean" => "true or false".to_owned(),
        "array" => "a list".to_owned(),
        "object" => "a mapping".to_owned(),
        other => other.to_owned(),
    });
    Some(named.collect::<Vec<_>>().join(" or "))
}

fn format(schema: &Mapping) -> Option<String> {
    Some(match schema.get("format")?.as_str()? {
        "date" => "a date such as `2026-01-31`".to_owned(),
        "time" => "a time such as `09:30:00Z`".to_owned(),
        "date-time" => "a date and time such as `2026-01-31T09:30:00Z`".to_owned(),
        "duration" => "a duration such as `PT30M`".to_owned(),
        "email" => "an email address".to_owned(),
        "uri" => "an address such as `https://example.com`".to_owned(),
        "uuid" => "a UUID".to_owned(),
        "ipv4" | "ipv6" => "an IP address".to_owned(),
        other => format!("a text in the format `{other}`"),
    })
}

/// `from 1 to 5`, `at least 1`, `3 to 5 characters`.
fn span(schema: &Mapping, [low, high]: [&str; 2], what: &str) -> Option<String> {
    let (low, high) = (text(schema, low), text(schema, high));
    let counted = |count: &str| match what {
        "" => count.to_owned(),
        what => format!("{count} {what}{}", if count == "1" { "" } else { "s" }),
    };
    Some(match (low, high) {
        (Some(low), Some(high)) if low == high => {
            if what.is_empty() {
                format!("exactly {low}")
            } else {
                counted(&low)
            }
        }
        (Some(low), Some(high)) if what.is_empty() => format!("from {low} to {high}"),
        (Some(low), Some(high)) => format!("{low} to {}", counted(&high)),
        (Some(low), None) => format!("at least {}", counted(&low)),
        (None, Some(high)) => format!("at most {}", counted(&high)),
        (None, None) => return None,
    })
}

fn properties(schema: &Mapping, depth: usize) -> Option<String> {
    let properties = schema.get("properties").and_then(Value::as_map);
    let required = schema.get("required").and_then(Value::as_list).cloned().unwrap_or_default();
    let required = required.iter().filter_map(Value::as_str).collect::<Vec<_>>();
    let described = |name: &str| match properties.and_then(|known| known.get(name)).and_then(|known| described(known, depth)) {
        Some(words) if !words.is_empty() => format!("`{name}` ({words})"),
        _ => format!("`{name}`"),
    };
    let optional = properties.into_iter().flat_map(Mapping::keys).filter(|name| !required.contains(&&***name));
    let optional = listed(optional.map(|name| described(name)), "more");
    let needed = listed(required.iter().map(|name| described(name)), "more");
    match (needed.is_empty(), optional.is_empty()) {
        (true, true) => None,
        (false, true) => Some(format!("with {needed}")),
        (true, false) => Some(format!("that may have {optional}")),
        (false, false) => Some(format!("with {needed}; it may have {optional}")),
    }
}

fn listed(items: impl Iterator<Item = String>, rest: &str) -> String {
    let items = items.collect::<Vec<_>>();
    let shown = items.iter().take(MAX_NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    if items.len() > MAX_NAMED { format!("{shown} and {} {rest}", items.len() - MAX_NAMED) } else { shown }
}

fn text(schema: &Mapping, key: &str) -> Option<String> {
    schema.get(key).filter(|value| matches!(value, Value::Int(_) | Value::UInt(_) | Value::Float(_))).map(ToString::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemas_are_said_in_words() {
        let cases = [
            (r#"{"type": "integer", "minimum": 1, "maximum": 5}"#, "an integer from 1 to 5"),
            (r#"{"type": "number", "exclusiveMinimum": 0}"#, "a number more than 0"),
            (r#"{"type": "string", "minLength": 3}"#, "a text of at least 3 characters"),
            (r#"{"minLength": 2, "maxLength": 2}"#, "2 characters"),
            (r#"{"type": "string", "format": "email"}"#, "an email address"),
            (r#"{"format": "date"}"#, "a date such as `2026-01-31`"),
            (r#"{"type": "string", "pattern": "^[A-Z]+$"}"#, "a text like `^[A-Z]+$`"),
            (r#"{"enum": ["s", "m", 3]}"#, "one of `s`, `m`, `3`"),
            (r#"{"enum": [1, 2, 3, 4, 5, 6, 7, 8]}"#, "one of `1`, `2`, `3`, `4`, `5`, `6` and 2 more"),
            (
                r#"{"type": "array", "items": {"type": "integer"}, "minItems": 1, "uniqueItems": true}"#,
                "a list of at least 1 item, each an integer, none twice",
            ),
            (
                r#"{"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}, "count": {"minimum": 1}}}"#,
                "a mapping with `id` (a text); it may have `count` (at least 1)",
            ),
            (r#"{"anyOf": [{"type": "string"}, {"type": "null"}]}"#, "a text or null"),
            (r#"{"type": ["integer", "null"]}"#, "an integer or null"),
            (r#"{"type": "string", "description": "Your name."}"#, "Your name: a text"),
            (r#"{"not": {"const": 0}}"#, "not `0`"),
        ];
        for (schema, expected) in cases {
            assert_eq!(words(&Value::from_json(schema).unwrap()).as_deref(), Some(expected), "{schema}");
        }
    }

    #[test]
    fn what_says_nothing_is_not_said_and_depth_is_bounded() {
        assert_eq!((words(&Value::Bool(true)), words(&Value::map::<&str, Value>([]))), (None, None));
        let mut deep = Value::map([("type", Value::text("array"))]);
        for _ in 0..1000 {
            deep = Value::map([("type", Value::text("array")), ("items", deep)]);
        }
        assert_eq!(words(&deep).unwrap(), "a list, each a list, each a list, each a list");
    }
}

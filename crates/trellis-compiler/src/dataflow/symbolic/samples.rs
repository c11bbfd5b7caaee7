//! Sample values of input types and JSON Schemas, for concretization.
//!
//! Candidates, not proofs: each caller validates them. Samples lie on both sides of every bound, so that they can fit or violate it.
//! Recursion is at most [`DEPTH`] levels deep.
//!
//! **Example.** `{type: integer, minimum: 18}` gives 18 to 27, and 17.

use trellis_base::{
    schema::Schema,
    value::{Mapping, Value},
};
use trellis_syntax::node::InputType;

/// Returns answers of an input type, the plainest first.
pub(crate) fn inputs(kind: InputType) -> Vec<Value> {
    let texts = || ["a", "b", "some text", "a@b.c", "2026-01-01"].map(Value::text).to_vec();
    match kind {
        InputType::Text | InputType::Secret | InputType::Choice => texts(),
        InputType::Confirm => ["yes", "no"].map(Value::text).to_vec(),
        InputType::Int => (1..100).map(Value::Int).collect(),
        InputType::Float => [1.5, 2.5, 0.5].map(Value::Float).to_vec(),
        InputType::Json => any(false),
    }
}

/// Returns true if `value` is an answer of an input type.
pub(crate) fn of_input(kind: InputType, value: &Value) -> bool {
    match kind {
        InputType::Text | InputType::Secret => value.as_str().is_some_and(|text| !text.trim().is_empty()),
        InputType::Choice => true,
        InputType::Confirm => matches!(value.as_str(), Some("yes" | "no")),
        InputType::Int => matches!(value, Value::Int(_) | Value::UInt(_)),
        InputType::Float => matches!(value, Value::Int(_) | Value::UInt(_) | Value::Float(_)),
        InputType::Json => true,
    }
}

/// Returns values of every kind; the empty mapping alone if `mapping`.
pub(crate) fn any(mapping: bool) -> Vec<Value> {
    let entries = || Value::from(Mapping::new());
    if mapping {
        return vec![entries()];
    }
    vec![
        Value::text("a"),
        Value::Int(1),
        Value::Bool(true),
        Value::Bool(false),
        Value::text("b"),
        Value::from(vec![Value::text("a")]),
        entries(),
        Value::Null,
    ]
}

/// Greatest depth of subschemas that are followed.
const MAX_SAMPLE_DEPTH: usize = 6;

/// Returns values that may fit a schema; the caller validates them.
pub(crate) fn of_schema(schema: &Value) -> Vec<Value> {
    instances(schema, MAX_SAMPLE_DEPTH)
}

fn instances(schema: &Value, depth: usize) -> Vec<Value> {
    let Some(map) = schema.as_map().filter(|_| depth > 0) else { return any(false) };
    if let Some(value) = map.get("const") {
        return vec![value.clone()];
    }
    if let Some(Value::List(values)) = map.get("enum") {
        return values.iter().cloned().collect();
    }
    let samples = ["default", "examples"].into_iter().filter_map(|key| map.get(key)).flat_map(|value| match value {
        Value::List(values) => values.iter().cloned().collect(),
        value => vec![value.clone()],
    });
    let mut samples: Vec<Value> = samples.collect();
    samples.extend(described(map, depth));
    samples
}

fn described(map: &Mapping, depth: usize) -> Vec<Value> {
    // The keywords of a schema are merged into each of its alternatives.
    let without = |names: &[&str]| -> Mapping {
        map.iter().filter(|(key, _)| !names.contains(&&***key)).map(|(key, value)| (key.clone(), value.clone())).collect()
    };
    for key in ["anyOf", "oneOf"] {
        if let Some(Value::List(schemas)) = map.get(key) {
            let own = without(&[key]);
            return schemas.iter().flat_map(|schema| instances(&together(&own, schema).into(), depth - 1)).collect();
        }
    }
    if let Some(Value::List(schemas)) = map.get("allOf") {
        let all = schemas.iter().fold(without(&["allOf"]), |known, schema| together(&known, schema));
        return instances(&all.into(), depth - 1);
    }
    if map.contains("if") {
        let own = without(&["if", "then", "else"]);
        let asked = [("if", "then"), ("else", "else")].map(|(first, second)| {
            let parts = [first, second].into_iter().filter_map(|key| map.get(key));
            instances(&parts.fold(own.clone(), |known, schema| together(&known, schema)).into(), depth - 1)
        });
        return asked.into_iter().flatten().chain(instances(&own.into(), depth - 1)).collect();
    }
    let kinds: Vec<&str> = match map.get("type") {
        Some(Value::Text(kind)) => vec![kind],
        Some(Value::List(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        _ if map.contains("properties") || map.contains("required") => vec!["object"],
        _ if NUMBERS.iter().any(|key| map.contains(key)) => vec!["number"],
        _ if TEXTS.iter().any(|key| map.contains(key)) => vec!["string"],
        _ => return any(false),
    };
    kinds.into_iter().flat_map(|kind| of_kind(kind, map, depth)).collect()
}

/// Keywords that constrain numbers, and texts.
const NUMBERS: [&str; 5] = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"];
const TEXTS: [&str; 4] = ["pattern", "format", "minLength", "maxLength"];

/// Returns values that may fit the schema of an input, which need not repeat the input's type.
pub(crate) fn of_input_schema(kind: InputType, schema: &Value) -> Vec<Value> {
    let kind = match kind {
        InputType::Int => "integer",
        InputType::Float => "number",
        InputType::Text | InputType::Secret | InputType::Choice | InputType::Confirm => "string",
        InputType::Json => return of_schema(schema),
    };
    let own = schema.as_map().map(|schema| of_kind(kind, schema, MAX_SAMPLE_DEPTH)).unwrap_or_default();
    own.into_iter().chain(of_schema(schema)).collect()
}

fn of_kind(kind: &str, schema: &Mapping, depth: usize) -> Vec<Value> {
    let number = |key: &str| match schema.get(key) {
        Some(Value::Int(number)) => Some(*number),
        Some(Value::UInt(number)) => i64::try_from(*number).ok(),
        #[expect(clippy::cast_possible_truncation, reason = "a bound that is cut is still near, and what comes of it is checked")]
        Some(Value::Float(number)) => Some(number.floor() as i64),
        _ => None,
    };
    match kind {
        "null" => vec![Value::Null],
        "boolean" => vec![Value::Bool(true), Value::Bool(false)],
        "integer" | "number" => numbers(kind, number),
        "string" => {
            let least = usize::try_from(number("minLength").unwrap_or(1)).unwrap_or(1).clamp(1, 1000);
            let most = number("maxLength").and_then(|most| usize::try_from(most).ok());
            let fitted = |text: &str| {
                let text = if text.len() < least { text.repeat(least) } else { text.to_owned() };
                Value::text(text.chars().take(most.unwrap_or(usize::MAX)).collect::<String>())
            };
            // A text that is too long and one that is too short, to violate a bound.
            let beyond = [most.map(|most| "a".repeat(most.min(4000) + 1)), Some("a".repeat(least - 1))].into_iter().flatten();
            let pattern = schema.get("pattern").and_then(Value::as_str).and_then(super::regex_sample::matching);
            pattern.map(Value::text).into_iter().chain(TRIED.iter().map(|text| fitted(text))).chain(beyond.map(Value::text)).collect()
        }
        "array" => arrays(schema, usize::try_from(number("minItems").unwrap_or(0)).unwrap_or(0).min(100), depth),
        "object" => {
            let mut entries = Mapping::new();
            let properties = schema.get("properties").and_then(Value::as_map);
            if let Some(Value::List(names)) = schema.get("required") {
                for name in names.iter().filter_map(Value::as_str) {
                    let property = properties.and_then(|properties| properties.get(name));
                    entries.insert(name.into(), property.map_or_else(|| Value::text("a"), |property| fitting(property, depth - 1)));
                }
            }
            let least = usize::try_from(number("minProperties").unwrap_or(0)).unwrap_or(0).min(100);
            let declared = properties.into_iter().flat_map(Mapping::iter).map(|(key, schema)| (key.clone(), fitting(schema, depth - 1)));
            let more = (1..=least).map(|at| (format!("a{at}").into(), Value::text("a")));
            let mut filled = entries.clone();
            for (key, value) in declared.chain(more) {
                if filled.iter().len() < least && !filled.contains(&key) {
                    filled.insert(key, value);
                }
            }
            vec![Value::Map(filled), Value::Map(entries)]
        }
        _ => any(false),
    }
}

/// Returns lists that may fit a schema.
fn arrays(schema: &Mapping, count: usize, depth: usize) -> Vec<Value> {
    let list = |key: &str| schema.get(key).and_then(Value::as_list).into_iter().flatten();
    let mut first: Vec<Value> = list("prefixItems").map(|item| fitting(item, depth - 1)).collect();
    first.extend(schema.get("contains").map(|item| fitting(item, depth - 1)));
    let (one, others) = match schema.get("items") {
        Some(items) => (fitting(items, depth - 1), instances(items, depth - 1)),
        None => (Value::text("a"), any(false)),
    };
    let filled = |count: usize| {
        let more = std::iter::repeat_n(one.clone(), count.saturating_sub(first.len()));
        Value::from(first.iter().cloned().chain(more).collect::<Vec<_>>())
    };
    let mut distinct: Vec<Value> = Vec::new();
    for value in first.iter().chain(&others) {
        if distinct.len() < count.max(1) && !distinct.contains(value) {
            distinct.push(value.clone());
        }
    }
    vec![filled(count), filled(count.max(1)), Value::from(distinct)]
}

/// Returns a value that fits a schema, or the first sample if none does.
fn fitting(schema: &Value, depth: usize) -> Value {
    let tried = instances(schema, depth);
    let checked = Schema::new(schema).ok();
    let fits = |value: &&Value| checked.as_ref().is_none_or(|schema| schema.fits(value));
    tried.iter().find(fits).or_else(|| tried.first()).cloned().unwrap_or(Value::Null)
}

/// Merges two schemas, shallowly.
fn together(own: &Mapping, other: &Value) -> Mapping {
    let mut all = own.clone();
    for (key, value) in other.as_map().into_iter().flat_map(Mapping::iter) {
        let both = match (&**key, all.get(key), value) {
            ("properties", Some(Value::Map(own)), Value::Map(more)) => {
                let mut both = own.clone();
                more.iter().for_each(|(key, value)| drop(both.insert(key.clone(), value.clone())));
                both.into()
            }
            ("required", Some(Value::List(own)), Value::List(more)) => Value::list(own.iter().chain(more.iter()).cloned()),
            _ => value.clone(),
        };
        all.insert(key.clone(), both);
    }
    all
}

/// Sample texts.
const TRIED: [&str; 9] =
    ["a", "b", "2026-01-01", "2026-01-01T00:00:00Z", "a@b.cd", "https://a.bc/", "00000000-0000-0000-0000-000000000000", "1", "A"];

/// Returns numbers on both sides of the bounds.
fn numbers(kind: &str, bound: impl Fn(&str) -> Option<i64>) -> Vec<Value> {
    let least = bound("minimum").or(bound("exclusiveMinimum").map(|least| least.saturating_add(1)));
    let most = bound("maximum").or(bound("exclusiveMaximum").map(|most| most.saturating_sub(1)));
    let from = least.or(most.map(|most| most.saturating_sub(9))).unwrap_or(1);
    let mut numbers: Vec<Value> = (0..10).map(|more| Value::Int(from.saturating_add(more))).collect();
    if let Some(step) = bound("multipleOf").filter(|step| *step > 0) {
        numbers.extend((0..10).map(|more| Value::Int((from / step + more) * step)));
    }
    numbers.extend(most.into_iter().flat_map(|most| [most, most.saturating_add(1)]).map(Value::Int));
    numbers.extend(least.map(|least| Value::Int(least.saturating_sub(1))));
    if kind == "number" {
        numbers.extend([0.5, 1.5].map(Value::Float));
    }
    numbers
}

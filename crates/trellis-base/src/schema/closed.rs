//! The possible values at a place, where a schema leaves few (language 8.2).
//!
//! **Invariant:** the answer never leaves out a value that fits; where it is not certain there is none.

use std::ops::RangeInclusive;

use super::tuple;
use crate::{
    path::{Segment, walk},
    value::{Mapping, Value},
};

/// Values, and whether the place may also be absent.
type Closed = (Vec<Value>, bool);

/// More values than these are as good as open.
const MAX_CLOSED_VALUES: usize = 64;

/// Returns the possible values at `path`.
pub(super) fn closed(root: &Value, path: &[Segment]) -> Option<Closed> {
    let mut steps = Steps { root, left: 256 };
    let (mut values, absent) = steps.at(root, path)?;
    let mut distinct: Vec<Value> = Vec::new();
    values.retain(|value| {
        let new = !distinct.contains(value);
        if new {
            distinct.push(value.clone());
        }
        new
    });
    (values.len() <= MAX_CLOSED_VALUES).then_some((values, absent))
}

/// The search, which a schema that refers to itself must not make endless.
struct Steps<'s> {
    root: &'s Value,
    left: usize,
}

impl<'s> Steps<'s> {
    fn at(&mut self, schema: &'s Value, path: &[Segment]) -> Option<Closed> {
        self.left = self.left.checked_sub(1)?;
        let schema = schema.as_map()?;
        listed(schema, path)
            .or_else(|| self.described(schema, path))
            .or_else(|| self.referred(schema, path))
            .or_else(|| self.alternatives(schema, path))
            .or_else(|| self.any_of_all(schema, path))
    }

    /// Returns the possible values by `properties`, `items` and `type`.
    fn described(&mut self, schema: &'s Mapping, path: &[Segment]) -> Option<Closed> {
        let Some((step, rest)) = path.split_first() else { return typed(schema) };
        let of_type = |name: &str| schema.get("type").and_then(Value::as_str) == Some(name);
        match step {
            Segment::Key(key) => {
                let property = schema.get("properties")?.as_map()?.get(key)?;
                let required = schema
                    .get("required")
                    .and_then(Value::as_list)
                    .is_some_and(|names| names.iter().any(|name| name.as_str() == Some(key)));
                let (values, absent) = self.at(property, rest)?;
                Some((values, absent || !required || !of_type("object")))
            }
            Segment::Index(index) => {
                let (first, others) = tuple(schema);
                let (values, absent) = self.at(first.get(*index).copied().or(others)?, rest)?;
                let least = match schema.get("minItems") {
                    Some(Value::Int(least)) => usize::try_from(*least).unwrap_or(0),
                    _ => 0,
                };
                Some((values, absent || least <= *index || !of_type("array")))
            }
        }
    }

    /// Returns the possible values by a `$ref` into the same schema.
    fn referred(&mut self, schema: &Mapping, path: &[Segment]) -> Option<Closed> {
        let pointer = schema.get("$ref")?.as_str()?.strip_prefix('#')?;
        let mut target = self.root;
        for step in pointer.split('/').skip(1) {
            let step = step.replace("~1", "/").replace("~0", "~");
            target = match target {
                Value::Map(entries) => entries.get(&step)?,
                Value::List(items) => items.get(step.parse::<usize>().ok()?)?,
                _ => return None,
            };
        }
        (pointer.is_empty() || pointer.starts_with('/')).then_some(())?;
        self.at(target, path)
    }

    /// All alternatives together, if each is closed.
    fn alternatives(&mut self, schema: &'s Mapping, path: &[Segment]) -> Option<Closed> {
        let alternatives = schema.get("anyOf").or_else(|| schema.get("oneOf"))?.as_list()?;
        let mut all: Closed = (Vec::new(), false);
        for alternative in alternatives {
            let (values, absent) = self.at(alternative, path)?;
            all.0.extend(values);
            all.1 |= absent;
        }
        Some(all)
    }

    /// The first of several demands that is closed: the others only take away.
    fn any_of_all(&mut self, schema: &'s Mapping, path: &[Segment]) -> Option<Closed> {
        schema.get("allOf")?.as_list()?.iter().find_map(|demand| self.at(demand, path))
    }
}

/// Returns the possible values by `const` and `enum`, also inside of their values.
fn listed(schema: &Mapping, path: &[Segment]) -> Option<Closed> {
    let values: Vec<&Value> = match (schema.get("const"), schema.get("enum")) {
        (Some(value), _) => vec![value],
        (None, Some(values)) => values.as_list()?.iter().collect(),
        (None, None) => return None,
    };
    let found: Vec<_> = values.into_iter().map(|value| walk(value, path)).collect();
    Some((found.iter().flatten().copied().cloned().collect(), found.iter().any(Option::is_none)))
}

/// Returns the integers between the bounds of a schema, if they are few and it has no other demand.
pub fn few_integers(schema: &Mapping) -> Option<RangeInclusive<i64>> {
    const BOUNDS: [&str; 5] = ["type", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"];
    const NOTES: [&str; 5] = ["title", "description", "default", "examples", "deprecated"];
    if !schema.keys().all(|key| BOUNDS.contains(&&**key) || NOTES.contains(&&**key) || key.starts_with("x-")) {
        return None;
    }
    let bound = |key: &str, more: i64| if let Some(Value::Int(bound)) = schema.get(key) { bound.checked_add(more) } else { None };
    let least = [bound("minimum", 0), bound("exclusiveMinimum", 1)].into_iter().flatten().max()?;
    let most = [bound("maximum", 0), bound("exclusiveMaximum", -1)].into_iter().flatten().min()?;
    let is_few = most >= least
        && most.checked_sub(least).and_then(|count| usize::try_from(count).ok()).is_some_and(|count| count < MAX_CLOSED_VALUES);
    is_few.then_some(least..=most)
}

/// The values of the types that have few.
fn typed(schema: &Mapping) -> Option<Closed> {
    let of = |name: &Value| match name.as_str()? {
        "boolean" => Some(vec![Value::Bool(true), Value::Bool(false)]),
        "null" => Some(vec![Value::Null]),
        "integer" => Some(few_integers(schema)?.map(Value::Int).collect()),
        _ => None,
    };
    let values = match schema.get("type")? {
        Value::List(names) => names.iter().map(of).collect::<Option<Vec<_>>>()?.concat(),
        name => of(name)?,
    };
    Some((values, false))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::KeyPath;

    fn at(schema: &str, path: &str) -> Option<(String, bool)> {
        let path = KeyPath::parse(path).map(|path| path.segments().to_vec()).unwrap_or_default();
        closed(&Value::from_json(schema).unwrap(), &path).map(|(values, absent)| (Value::from(values).to_json(), absent))
    }

    #[test]
    fn closed_values_are_found_and_open_ones_are_not() {
        let known = |json: &str, absent| Some((json.to_owned(), absent));
        let order = r##"{"type": "object", "required": ["kind"], "$defs": {"size": {"enum": ["s", "m"]}}, "properties": {
            "kind": {"const": "a"}, "size": {"$ref": "#/$defs/size"}, "paid": {"type": ["boolean", "null"]}, "note": {"type": "string"},
            "list": {"type": "array", "minItems": 1, "items": {"type": "boolean"}}}}"##;
        assert_eq!(at(order, "kind"), known(r#"["a"]"#, false));
        assert_eq!(at(order, "size"), known(r#"["s","m"]"#, true));
        assert_eq!(at(order, "paid"), known("[true,false,null]", true));
        assert_eq!(at(order, "note"), None);
        assert_eq!(at(order, "other"), None);
        assert_eq!(at(r#"{"type": "integer", "minimum": 1, "exclusiveMaximum": 4}"#, ""), known("[1,2,3]", false));
        assert_eq!(at(r#"{"type": "integer", "minimum": 1, "maximum": 1000}"#, ""), None);
        assert_eq!(at(r#"{"type": "integer", "minimum": 1, "maximum": 9, "multipleOf": 4}"#, ""), None);
        assert_eq!(at(r#"{"type": "integer", "minimum": 1, "exclusiveMinimum": 1, "maximum": 3}"#, ""), known("[2,3]", false));
        assert_eq!(at(r#"{"type": "integer", "minimum": -9223372036854775808, "maximum": 9223372036854775807}"#, ""), None);
        assert_eq!(at(order, "list.0"), known("[true,false]", true));
        assert_eq!(at(r#"{"anyOf": [{"const": 1}, {"enum": [2, 1.0]}]}"#, ""), known("[1,2]", false));
        assert_eq!(at(r#"{"anyOf": [{"const": 1}, {"type": "string"}]}"#, ""), None);
        assert_eq!(at(r#"{"allOf": [{"type": "string"}, {"enum": ["x"]}]}"#, ""), known(r#"["x"]"#, false));
        assert_eq!(at(r#"{"enum": [{"a": 1}, {"b": 2}]}"#, "a"), known("[1]", true));
        // Without `type: object` a fitting value need not be a mapping.
        assert_eq!(at(r#"{"required": ["a"], "properties": {"a": {"const": 1}}}"#, "a"), known("[1]", true));
    }

    #[test]
    fn a_circle_of_references_is_open() {
        assert_eq!(at(r##"{"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}"##, ""), None);
    }
}

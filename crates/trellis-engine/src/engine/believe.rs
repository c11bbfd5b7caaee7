//! Values that were removed from records, and the marks in their place: nothing is refused because of a mark.

use super::Engine;
use trellis_base::{schema::Schema, value::Value};

impl Engine {
    /// Returns whether the remaining parts of a value fit a schema.
    pub(super) fn fits(&self, schema: &Schema, value: &Value) -> bool {
        let Some(stands_in) = self.stands_in else { return schema.fits(value) };
        let is_missing = |pointer: &str| at(value, pointer).is_some_and(|value| holds(value, stands_in));
        schema.fits(value) || schema.breaches(value).iter().all(|breach| is_missing(&breach.pointer))
    }

    /// Returns whether a value, or a part of it, was removed.
    pub(super) fn is_gone(&self, value: &Value) -> bool {
        self.stands_in.is_some_and(|stands_in| holds(value, stands_in))
    }
}

/// Returns the part of a value at a JSON pointer.
fn at<'v>(value: &'v Value, pointer: &str) -> Option<&'v Value> {
    pointer.split('/').skip(1).try_fold(value, |value, step| match value {
        Value::Map(entries) => entries.get(&step.replace("~1", "/").replace("~0", "~")),
        Value::List(items) => items.get(step.parse::<usize>().ok()?),
        _ => None,
    })
}

/// Returns whether some text of a value is a mark. It goes as deep as values may nest (language A.1).
fn holds(value: &Value, stands_in: fn(&str) -> bool) -> bool {
    match value {
        Value::Text(text) => stands_in(text),
        Value::List(items) => items.iter().any(|item| holds(item, stands_in)),
        Value::Map(entries) => entries.iter().any(|(_, value)| holds(value, stands_in)),
        _ => false,
    }
}

//! Values that are not there any more, and what stands for them: nothing is refused on their account.

use super::Engine;
use crate::{schema::Schema, value::Value};

impl Engine {
    /// Whether a value fits a schema, as far as it is there.
    pub(super) fn fits(&self, schema: &Schema, value: &Value) -> bool {
        let Some(stands_in) = self.stands_in else { return schema.fits(value) };
        let is_missing = |pointer: &str| at(value, pointer).is_some_and(|value| holds(value, stands_in));
        schema.fits(value) || schema.breaches(value).iter().all(|breach| is_missing(&breach.pointer))
    }

    /// Whether a value is not there.
    pub(super) fn is_gone(&self, value: &Value) -> bool {
        self.stands_in.is_some_and(|stands_in| holds(value, stands_in))
    }
}

/// What a JSON pointer leads to.
fn at<'v>(value: &'v Value, pointer: &str) -> Option<&'v Value> {
    pointer.split('/').skip(1).try_fold(value, |value, step| match value {
        Value::Map(entries) => entries.get(&step.replace("~1", "/").replace("~0", "~")),
        Value::List(items) => items.get(step.parse::<usize>().ok()?),
        _ => None,
    })
}

/// Whether some text of a value stands for another. It goes as deep as values may nest (language A.1).
fn holds(value: &Value, stands_in: fn(&str) -> bool) -> bool {
    match value {
        Value::Text(text) => stands_in(text),
        Value::List(items) => items.iter().any(|item| holds(item, stands_in)),
        Value::Map(entries) => entries.iter().any(|(_, value)| holds(value, stands_in)),
        _ => false,
    }
}

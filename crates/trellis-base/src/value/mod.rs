//! Values: JSON with exact integers (language 3.1).
//!
//! The core has its own type so that a feature which some embedder switches on in `serde_json` cannot change it.
//!
//! **Invariant:** cloning is cheap, mappings are sorted by key, a float is finite, and an integer that fits `i64` is an `Int`. Cloning, dropping,
//! comparing, measuring and printing do not recurse on the depth of a value.

mod access;
mod compare;
mod convert;
mod deserialize;
mod entries;
mod error;
mod json;
mod key;
mod list;
mod mapping;
mod measure;
mod serialize;

use std::{fmt, sync::Arc};

pub use deserialize::from_value;
pub use error::ConvertError;
pub use json::{DEPTH, JsonError};
pub use json::{nesting, present};
pub use list::{Iter, List};
pub use mapping::Mapping;
pub(crate) use measure::PartSizes;
pub use serialize::to_value;

/// Levels that are written out where a value is shown to programmers.
const MAX_DEBUG_DEPTH: u32 = 128;

/// The key of a mapping.
pub type Key = Arc<str>;

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Segment {
    /// A name.
    Key(Key),
    /// A list index; never written to, and always an unchecked read (language 3.2).
    Index(usize),
}

/// A JSON value.
///
/// ```
/// use trellis_base::Value;
///
/// let order = Value::map([("id", Value::from(7)), ("items", Value::from(["tea", "milk"]))]);
/// assert_eq!(order.at("items.1").and_then(Value::as_str), Some("milk"));
/// assert_eq!(order.get("id").and_then(Value::as_i64), Some(7));
/// assert_eq!(order.to_json(), r#"{"id":7,"items":["tea","milk"]}"#);
/// ```
///
/// [`to_value`] and [`from_value`] convert any type of yours.
#[derive(Clone, Debug, Default)]
pub enum Value {
    /// Null; it counts as present (language 4.1).
    #[default]
    Null,
    /// True or false.
    Bool(bool),
    /// An integer that fits 64 bits with sign.
    Int(i64),
    /// An integer above `i64::MAX`.
    UInt(u64),
    /// A finite double.
    Float(f64),
    /// Text.
    Text(Arc<str>),
    /// A list.
    List(List),
    /// A mapping.
    Map(Mapping),
}

impl Value {
    /// A text value.
    pub fn text(text: impl Into<Arc<str>>) -> Self {
        Self::Text(text.into())
    }

    /// A list value.
    pub fn list(items: impl IntoIterator<Item = Value>) -> Self {
        Self::List(items.into_iter().collect())
    }

    /// A mapping value.
    pub fn map<K: Into<Key>, V: Into<Value>>(entries: impl IntoIterator<Item = (K, V)>) -> Self {
        Self::Map(entries.into_iter().collect())
    }

    /// The double as a value; `None` if it is infinite or not a number.
    pub fn float(number: f64) -> Option<Self> {
        number.is_finite().then_some(Self::Float(number))
    }

    /// The text, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The truth value, if it is one.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(truth) => Some(*truth),
            _ => None,
        }
    }

    /// The items, if it is a list.
    pub fn as_list(&self) -> Option<&List> {
        match self {
            Self::List(items) => Some(items),
            _ => None,
        }
    }

    /// The entries, if it is a mapping.
    pub fn as_map(&self) -> Option<&Mapping> {
        match self {
            Self::Map(entries) => Some(entries),
            _ => None,
        }
    }

    /// Returns the kind of the value for messages: `null`, `boolean`, `integer`, `decimal`, `text`, `list`, `mapping`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "boolean",
            Self::Int(_) | Self::UInt(_) => "integer",
            Self::Float(_) => "decimal",
            Self::Text(_) => "text",
            Self::List(_) => "list",
            Self::Map(_) => "mapping",
        }
    }

    /// Returns whether it is null, `""`, `[]` or `{}` (language 6.1, `is empty`).
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Null => true,
            Self::Text(text) => text.is_empty(),
            Self::List(items) => items.is_empty(),
            Self::Map(entries) => entries.is_empty(),
            _ => false,
        }
    }
}

impl Value {
    /// Returns whether it is the same value to the last bit, so that it prints and serialises alike: `1` is not `1.0`, and `0` not `-0.0`.
    pub fn is_same(&self, other: &Self) -> bool {
        compare::alike(self, other, |one, other| match (one, other) {
            (Self::Float(a), Self::Float(b)) => a.to_bits() == b.to_bits(),
            (Self::Float(_), _) | (_, Self::Float(_)) => false,
            (one, other) => is_equal(one, other),
        })
    }

    /// Returns whether it contains other values.
    fn is_nested(&self) -> bool {
        matches!(self, Self::List(_) | Self::Map(_))
    }
}

/// Drops lists and mappings, and those in them one after the other.
fn release(mut nested: Vec<Value>) {
    while let Some(value) = nested.pop() {
        match value {
            Value::List(items) => items.unpack(&mut nested),
            Value::Map(entries) => entries.unpack(&mut nested),
            _ => {}
        }
    }
}

impl PartialEq for Value {
    /// Exact and by kind, but `1 == 1.0` (language 3.1).
    fn eq(&self, other: &Self) -> bool {
        compare::alike(self, other, is_equal)
    }
}

/// Returns whether two values without parts are equal.
fn is_equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Null, Value::Null) => true,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::Int(a), Value::Int(b)) => a == b,
        (Value::UInt(a), Value::UInt(b)) => a == b,
        (Value::Float(a), Value::Float(b)) => a == b,
        (Value::Int(a), Value::Float(b)) | (Value::Float(b), Value::Int(a)) => float_is(*b, i128::from(*a)),
        (Value::UInt(a), Value::Float(b)) | (Value::Float(b), Value::UInt(a)) => float_is(*b, i128::from(*a)),
        (Value::Text(a), Value::Text(b)) => Arc::ptr_eq(a, b) || a == b,
        _ => false,
    }
}

/// Returns whether `float` is exactly `integer`: comparing as doubles would take neighbours above 2^53 for equal.
#[expect(clippy::cast_possible_truncation, reason = "the cast is guarded by the range and fract tests")]
fn float_is(float: f64, integer: i128) -> bool {
    float.fract() == 0.0 && float.abs() < 1e30 && float as i128 == integer
}

impl fmt::Display for Value {
    /// As templates print it: text bare, null as nothing, everything else as compact JSON (language 3.2).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => Ok(()),
            Self::Text(text) => f.write_str(text),
            other => f.write_str(&other.to_json()),
        }
    }
}

impl From<bool> for Value {
    fn from(truth: bool) -> Self {
        Self::Bool(truth)
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

impl From<u32> for Value {
    fn from(number: u32) -> Self {
        Self::Int(i64::from(number))
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        i64::try_from(number).map_or(Self::UInt(number), Self::Int)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl From<Mapping> for Value {
    fn from(entries: Mapping) -> Self {
        Self::Map(entries)
    }
}

impl From<List> for Value {
    fn from(items: List) -> Self {
        Self::List(items)
    }
}

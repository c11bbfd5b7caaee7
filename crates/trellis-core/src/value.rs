//! Values: JSON with exact integers (language 3.1).
//!
//! The core has its own type so that a feature which some embedder switches on in `serde_json` cannot change it.
//!
//! **Invariant:** cloning is cheap, mappings are sorted by key, a float is finite, and an integer that fits `i64` is an `Int`.

use std::{collections::BTreeMap, fmt, sync::Arc};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{Error as _, MapAccess, SeqAccess, Visitor},
    ser::{SerializeMap, SerializeSeq},
};

/// The key of a mapping.
pub type Key = Arc<str>;

/// A JSON value.
#[derive(Clone, Debug, Default)]
pub enum Value {
    /// Nothing; it counts as present (language 4.1).
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
    List(Arc<Vec<Value>>),
    /// A mapping.
    Map(Mapping),
}

/// A mapping from text to values, sorted by key.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mapping(Arc<BTreeMap<Key, Value>>);

impl Mapping {
    /// An empty mapping.
    pub fn new() -> Self {
        Self::default()
    }

    /// The value under `key`.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(key)
    }

    /// Whether `key` is there.
    pub fn contains(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    /// Sets `key`; a shared mapping is copied once (the price is its width).
    pub fn insert(&mut self, key: Key, value: Value) -> Option<Value> {
        Arc::make_mut(&mut self.0).insert(key, value)
    }

    /// The value under `key`, to be changed in place.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Value> {
        Arc::make_mut(&mut self.0).get_mut(key)
    }

    /// Entries in key order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&Key, &Value)> + ExactSizeIterator {
        self.0.iter()
    }

    /// Keys in order.
    pub fn keys(&self) -> impl Iterator<Item = &Key> {
        self.0.keys()
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<K: Into<Key>, V: Into<Value>> FromIterator<(K, V)> for Mapping {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        Self(Arc::new(entries.into_iter().map(|(key, value)| (key.into(), value.into())).collect()))
    }
}

impl Value {
    /// A text value.
    pub fn text(text: impl Into<Arc<str>>) -> Self {
        Self::Text(text.into())
    }

    /// A list value.
    pub fn list(items: impl IntoIterator<Item = Value>) -> Self {
        Self::List(Arc::new(items.into_iter().collect()))
    }

    /// A mapping value.
    pub fn map<K: Into<Key>, V: Into<Value>>(entries: impl IntoIterator<Item = (K, V)>) -> Self {
        Self::Map(entries.into_iter().collect())
    }

    /// The double as a value, or nothing when it is infinite or not a number.
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
    pub fn as_list(&self) -> Option<&[Value]> {
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

    /// What the value is called in messages: `null`, `boolean`, `integer`, `decimal`, `text`, `list`, `mapping`.
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

    /// Whether it is null, `""`, `[]` or `{}` (language 6.1, `is empty`).
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Null => true,
            Self::Text(text) => text.is_empty(),
            Self::List(items) => items.is_empty(),
            Self::Map(entries) => entries.is_empty(),
            _ => false,
        }
    }

    /// Reads one JSON value.
    ///
    /// # Errors
    /// Not JSON, deeper than 128 levels, or a number beyond 64 bits: `serde_json` would round such an integer silently.
    pub fn from_json(text: &str) -> Result<Self, JsonError> {
        if let Some(number) = oversized_integer(text) {
            return Err(JsonError(format!("the number {number} does not fit 64 bits")));
        }
        serde_json::from_str(text).map_err(|error| JsonError(error.to_string()))
    }

    /// The value as compact JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_else(|_| unreachable!("a value is always JSON"))
    }
}

/// Reads an optional value that is there, null included: `Option` alone would take a stored null for an absent value.
pub(crate) fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// Why a text is no JSON value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct JsonError(String);

/// The first integer outside strings that neither `i64` nor `u64` can hold.
fn oversized_integer(json: &str) -> Option<&str> {
    let bytes = json.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => {
                at += 1;
                while at < bytes.len() && bytes[at] != b'"' {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
                at += 1;
            }
            b'-' | b'0'..=b'9' => {
                let start = at;
                while at < bytes.len() && matches!(bytes[at], b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9') {
                    at += 1;
                }
                let number = &json[start..at];
                let integer = !number.contains(['.', 'e', 'E']);
                if integer && number.len() > 18 && number.parse::<i64>().is_err() && number.parse::<u64>().is_err() {
                    return Some(number);
                }
            }
            _ => at += 1,
        }
    }
    None
}

impl PartialEq for Value {
    /// Exact and by kind, but `1 == 1.0` (language 3.1).
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Int(a), Self::Int(b)) => a == b,
            (Self::UInt(a), Self::UInt(b)) => a == b,
            (Self::Float(a), Self::Float(b)) => a == b,
            (Self::Int(a), Self::Float(b)) | (Self::Float(b), Self::Int(a)) => float_is(*b, i128::from(*a)),
            (Self::UInt(a), Self::Float(b)) | (Self::Float(b), Self::UInt(a)) => float_is(*b, i128::from(*a)),
            (Self::Text(a), Self::Text(b)) => a == b,
            (Self::List(a), Self::List(b)) => a == b,
            (Self::Map(a), Self::Map(b)) => a == b,
            _ => false,
        }
    }
}

/// Whether `float` is exactly `integer`: comparing as doubles would take neighbours above 2^53 for equal.
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

impl From<Vec<Value>> for Value {
    fn from(items: Vec<Value>) -> Self {
        Self::List(Arc::new(items))
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(truth) => serializer.serialize_bool(*truth),
            Self::Int(number) => serializer.serialize_i64(*number),
            Self::UInt(number) => serializer.serialize_u64(*number),
            Self::Float(number) => serializer.serialize_f64(*number),
            Self::Text(text) => serializer.serialize_str(text),
            Self::List(items) => {
                let mut list = serializer.serialize_seq(Some(items.len()))?;
                for item in items.iter() {
                    list.serialize_element(item)?;
                }
                list.end()
            }
            Self::Map(entries) => entries.serialize(serializer),
        }
    }
}

impl Serialize for Mapping {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.len()))?;
        for (key, value) in self.iter() {
            map.serialize_entry(&**key, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

impl<'de> Deserialize<'de> for Mapping {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Map(entries) => Ok(entries),
            other => Err(D::Error::custom(format!("a mapping is needed, not {}", other.kind()))),
        }
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_bool<E>(self, truth: bool) -> Result<Value, E> {
        Ok(Value::Bool(truth))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Int(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<Value, E> {
        Value::float(number).ok_or_else(|| E::custom("a number must be finite"))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(list.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = BTreeMap::<Key, Value>::new();
        while let Some((key, value)) = entries.next_entry::<String, Value>()? {
            if map.insert(key.as_str().into(), value).is_some() {
                return Err(A::Error::custom(format!("the key `{key}` stands twice")));
            }
        }
        Ok(Value::Map(Mapping(Arc::new(map))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_exact_and_larger_ones_are_refused() {
        for text in ["9007199254740993", "18446744073709551615", "-9223372036854775808"] {
            assert_eq!(Value::from_json(text).unwrap().to_json(), text);
        }
        assert!(Value::from_json("[18446744073709551616]").unwrap_err().to_string().contains("64 bits"));
        assert_eq!(Value::from_json(r#""18446744073709551616""#).unwrap().as_str(), Some("18446744073709551616"));
    }

    #[test]
    fn a_decimal_equals_the_integer_of_the_same_worth_only() {
        assert_eq!(Value::Int(1), Value::Float(1.0));
        assert_ne!(Value::Int(9_007_199_254_740_993), Value::Float(9_007_199_254_740_992.0));
        assert_ne!(Value::Int(1), Value::Bool(true));
        assert_ne!(Value::text("1"), Value::Int(1));
    }
}

//! Values to JSON and back, exactly.
//!
//! **Invariant:** an integer that 64 bits cannot hold is refused, never rounded; a key that stands twice is an error.

use std::{collections::BTreeMap, fmt, sync::Arc};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{Error as _, MapAccess, SeqAccess, Visitor},
    ser::{SerializeMap, SerializeSeq},
};

use super::{Key, Mapping, Value};

impl Value {
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

    /// Adds the value as compact JSON.
    pub(crate) fn write_json(&self, into: &mut Vec<u8>) {
        serde_json::to_writer(into, self).unwrap_or_else(|_| unreachable!("a value is always JSON"));
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
        let mut list: Vec<Value> = Vec::new();
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

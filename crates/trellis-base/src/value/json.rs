//! Values to JSON and back, exactly.
//!
//! **Invariant:** an integer that 64 bits cannot hold is refused, never rounded; a repeated key is an error.

use std::{collections::BTreeMap, fmt};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{Error as _, MapAccess, SeqAccess, Visitor},
    ser::{SerializeMap, SerializeSeq},
};

use super::{Key, List, Mapping, Value, list};

impl Value {
    /// Reads one JSON value.
    ///
    /// # Errors
    /// Not JSON, deeper than [`DEPTH`] levels, or a number beyond 64 bits: `serde_json` would round such an integer silently.
    pub fn from_json(text: &str) -> Result<Self, JsonError> {
        if let Some(number) = oversized_integer(text) {
            return Err(JsonError(format!("the number {number} does not fit 64 bits")));
        }
        serde_json::from_str(text).map_err(|error| match nesting(text) {
            depth if depth > DEPTH => JsonError(format!("nested {depth} levels deep, at most {DEPTH} can be read")),
            _ => JsonError(error.to_string()),
        })
    }

    /// The value as compact JSON, however deep it is.
    pub fn to_json(&self) -> String {
        let mut json = Vec::new();
        self.write_json(&mut json);
        String::from_utf8(json).unwrap_or_else(|_| unreachable!("JSON of texts is text"))
    }

    /// Adds the value as compact JSON, without recursing on its depth.
    pub fn write_json(&self, into: &mut Vec<u8>) {
        let mut open = Vec::new();
        let mut next = Some(self);
        loop {
            match next {
                Some(Self::List(items)) => {
                    into.push(b'[');
                    open.push(OpenContainer::List(items.iter()));
                }
                Some(Self::Map(entries)) => {
                    into.push(b'{');
                    open.push(OpenContainer::Map(Box::new(entries.iter())));
                }
                Some(scalar) => write_scalar(scalar, into),
                None => {}
            }
            let Some(innermost) = open.last_mut() else { return };
            next = innermost.next(into);
            if next.is_none() {
                open.pop();
            }
        }
    }
}

/// Levels of lists and mappings that JSON may have where it is read; a reader that recursed further could run out of stack.
pub const DEPTH: u32 = 127;

/// A list or mapping that is being written.
enum OpenContainer<'v> {
    List(list::Iter<'v>),
    Map(Box<dyn Iterator<Item = (&'v Key, &'v Value)> + 'v>),
}

impl<'v> OpenContainer<'v> {
    /// Returns the next part, after writing the text before it; after the last one, writes the bracket.
    fn next(&mut self, into: &mut Vec<u8>) -> Option<&'v Value> {
        let is_first = matches!(into.last(), Some(b'[' | b'{'));
        let (part, bracket) = match self {
            Self::List(items) => (items.next().map(|item| (None, item)), b']'),
            Self::Map(entries) => (entries.next().map(|(key, value)| (Some(key), value)), b'}'),
        };
        let Some((key, value)) = part else {
            into.push(bracket);
            return None;
        };
        if !is_first {
            into.push(b',');
        }
        if let Some(key) = key {
            write_scalar(&**key, into);
            into.push(b':');
        }
        Some(value)
    }
}

fn write_scalar<T: Serialize + ?Sized>(value: &T, into: &mut Vec<u8>) {
    serde_json::to_writer(into, value).unwrap_or_else(|_| unreachable!("a value is always JSON"));
}

/// Lists and mappings that no reader would take are not written for one either.
fn readable<E: serde::ser::Error>(value: &Value) -> Result<(), E> {
    match value.depth() {
        depth if depth > DEPTH => Err(E::custom(format!("a value of {depth} levels cannot be read again, at most {DEPTH} can"))),
        _ => Ok(()),
    }
}

/// Reads an optional value that is present, null included: `Option` alone would take a stored null for an absent value.
pub fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// The reason why a text is no JSON value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct JsonError(String);

/// The deepest brackets of a JSON text, those in its strings left out.
pub fn nesting(json: &str) -> u32 {
    let (mut depth, mut deepest) = (0_u32, 0);
    let mut bytes = json.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => while bytes.next().is_some_and(|byte| byte != b'"' && (byte != b'\\' || bytes.next().is_some())) {},
            b'[' | b'{' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

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
            Self::List(items) => items.serialize(serializer),
            Self::Map(entries) => entries.serialize(serializer),
        }
    }
}

impl Serialize for List {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        readable(&Value::List(self.clone()))?;
        let mut list = serializer.serialize_seq(Some(self.len()))?;
        for item in self {
            list.serialize_element(item)?;
        }
        list.end()
    }
}

impl Serialize for Mapping {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        readable(&Value::Map(self.clone()))?;
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

impl<'de> Deserialize<'de> for List {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::List(items) => Ok(items),
            other => Err(D::Error::custom(format!("a list is needed, not {}", other.kind()))),
        }
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
        Ok(Value::Map(map.into()))
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

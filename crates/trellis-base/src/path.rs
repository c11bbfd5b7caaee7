//! Dotted paths into the context (language 4.1, 6.1).

use std::{fmt, sync::Arc};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

pub use crate::value::Segment;
use crate::value::{Key, Value};

/// A path such as `order.items.0.id`. Never empty.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyPath(Arc<[Segment]>);

impl KeyPath {
    /// The path of these segments; `None` without any, or when the first one is an index.
    pub fn new(segments: Vec<Segment>) -> Option<Self> {
        matches!(segments.first(), Some(Segment::Key(_))).then(|| Self(segments.into()))
    }

    /// Reads `a.b.0`: names of letters, digits, `_` and `-` that do not begin with a digit or `-`, and list indexes after the first.
    pub fn parse(text: &str) -> Option<Self> {
        // Most paths are one name.
        if is_name(text) {
            return Some(Self(Arc::new([Segment::Key(text.into())])));
        }
        let segments = text.split('.').map(|part| {
            if !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()) {
                return part.parse().ok().map(Segment::Index);
            }
            is_name(part).then(|| Segment::Key(part.into()))
        });
        Self::new(segments.collect::<Option<Vec<_>>>()?)
    }

    /// The first name.
    pub fn root(&self) -> &Key {
        match &self.0[0] {
            Segment::Key(key) => key,
            Segment::Index(_) => unreachable!("a path begins with a name"),
        }
    }

    /// Returns the steps after the first name.
    pub fn rest(&self) -> &[Segment] {
        &self.0[1..]
    }

    /// All segments.
    pub fn segments(&self) -> &[Segment] {
        &self.0
    }

    /// Returns whether it is one name only.
    pub fn is_key(&self) -> bool {
        self.0.len() == 1
    }
}

/// Returns whether `text` may name a key: a letter or `_`, then letters, digits, `_` and `-`.
pub fn is_name(text: &str) -> bool {
    if let [first, rest @ ..] = text.as_bytes()
        && text.is_ascii()
    {
        let is_inside = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        return (first.is_ascii_alphabetic() || *first == b'_') && rest.iter().all(is_inside);
    }
    let mut chars = text.chars();
    chars.next().is_some_and(|first| first.is_alphabetic() || first == '_')
        && chars.all(|char| char.is_alphanumeric() || char == '_' || char == '-')
}

/// Follows `segments` below `value`.
pub fn walk<'v>(mut value: &'v Value, segments: &[Segment]) -> Option<&'v Value> {
    for segment in segments {
        value = match (segment, value) {
            (Segment::Key(key), Value::Map(entries)) => entries.get(key)?,
            (Segment::Index(index), Value::List(items)) => items.get(*index)?,
            _ => return None,
        };
    }
    Some(value)
}

impl Serialize for KeyPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for KeyPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| D::Error::custom(format!("`{text}` is no path")))
    }
}

impl fmt::Display for KeyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, segment) in self.0.iter().enumerate() {
            if at > 0 {
                f.write_str(".")?;
            }
            segment.fmt(f)?;
        }
        Ok(())
    }
}

impl fmt::Display for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(key) => f.write_str(key),
            Self::Index(index) => write!(f, "{index}"),
        }
    }
}

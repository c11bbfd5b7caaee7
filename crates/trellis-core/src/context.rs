//! The context of a session: one mapping, cheap to clone and to write at any size (`docs/performance.md`).
//!
//! What a start or a snapshot brought is frozen in `given`; what steps wrote lies over it in `written`, a persistent tree.
//!
//! **Invariant:** the cost of a read or write does not grow with the context; a dotted write pays the width of the mappings it crosses.

use std::sync::Arc;

use rpds::RedBlackTreeMapSync;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer, ser::SerializeMap};

use crate::{
    path::{KeyPath, Segment},
    value::{Key, Mapping, Value},
};

/// One mapping per session (language 4.1).
#[derive(Clone, Debug, Default)]
pub struct Context {
    given: Arc<Given>,
    written: RedBlackTreeMapSync<Key, Value>,
}

/// What a context began with: it never changes, so an index pays for itself.
#[derive(Debug, Default)]
struct Given {
    entries: Mapping,
    /// The same entries by hash; empty where a search of `entries` is as quick. Never iterated.
    index: FxHashMap<Key, Value>,
}

impl Given {
    /// Entries from which on they are indexed.
    const INDEXED: usize = 16;

    fn new(entries: Mapping) -> Self {
        let indexed = entries.iter().filter(|_| entries.len() >= Self::INDEXED);
        let index = indexed.map(|(key, value)| (key.clone(), value.clone())).collect();
        Self { entries, index }
    }

    fn get(&self, key: &str) -> Option<&Value> {
        if self.index.is_empty() { self.entries.get(key) } else { self.index.get(key) }
    }
}

/// A dotted write met something that is no mapping.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{path}` cannot be written: `{at}` is {kind}, not a mapping")]
pub struct NotAMapping {
    /// The path written to.
    pub path: String,
    /// The part of it that holds something else.
    pub at: String,
    /// What it holds.
    pub kind: &'static str,
}

impl Context {
    /// A context that begins with `given`.
    pub fn new(given: Mapping) -> Self {
        Self { given: Arc::new(Given::new(given)), written: RedBlackTreeMapSync::new_sync() }
    }

    /// The value under a key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.written.get(key).or_else(|| self.given.get(key))
    }

    /// Whether the key is there; null counts (language 4.1).
    pub fn contains(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Sets a key.
    pub fn insert(&mut self, key: Key, value: Value) {
        self.written.insert_mut(key, value);
    }

    /// Sets keys.
    pub fn extend(&mut self, entries: &Mapping) {
        for (key, value) in entries.iter() {
            self.insert(key.clone(), value.clone());
        }
    }

    /// Writes at a path and creates missing mappings.
    ///
    /// # Errors
    /// Something on the way is no mapping; nothing was written.
    pub fn write(&mut self, path: &KeyPath, value: Value) -> Result<(), NotAMapping> {
        let Some((last, crossed)) = path.rest().split_last() else {
            self.insert(path.root().clone(), value);
            return Ok(());
        };
        let mut root = self.get(path.root()).cloned().unwrap_or_else(|| Mapping::new().into());
        let mut here = &mut root;
        for segment in crossed {
            here = child(here, segment).ok_or_else(|| self.obstacle(path))?;
        }
        match (here, last) {
            (Value::Map(entries), Segment::Key(key)) => entries.insert(key.clone(), value),
            _ => return Err(self.obstacle(path)),
        };
        self.insert(path.root().clone(), root);
        Ok(())
    }

    /// Which part of `path` is in the way of a write.
    fn obstacle(&self, path: &KeyPath) -> NotAMapping {
        let mut here = self.get(path.root());
        let mut at = path.root().to_string();
        for segment in path.rest() {
            match (here, segment) {
                (Some(Value::Map(entries)), Segment::Key(key)) => {
                    here = entries.get(key);
                    at = format!("{at}.{key}");
                }
                _ => break,
            }
        }
        NotAMapping { path: path.to_string(), at, kind: here.map_or("absent", Value::kind) }
    }

    /// Entries in key order.
    pub fn iter(&self) -> impl Iterator<Item = (&Key, &Value)> {
        let mut given = self.given.entries.iter().filter(|(key, _)| !self.written.contains_key(*key)).peekable();
        let mut written = self.written.iter().peekable();
        std::iter::from_fn(move || match (given.peek(), written.peek()) {
            (Some((a, _)), Some((b, _))) if a < b => given.next(),
            (_, Some(_)) => written.next(),
            (_, None) => given.next(),
        })
    }

    /// The whole context as one mapping; costs its width.
    pub fn to_mapping(&self) -> Mapping {
        if self.written.is_empty() { self.given.entries.clone() } else { self.iter().map(|(k, v)| (k.clone(), v.clone())).collect() }
    }
}

/// The entry of a mapping, made if it is missing; nothing where there is no mapping.
fn child<'v>(value: &'v mut Value, segment: &Segment) -> Option<&'v mut Value> {
    match (value, segment) {
        (Value::Map(entries), Segment::Key(key)) => {
            if !entries.contains(key) {
                entries.insert(key.clone(), Mapping::new().into());
            }
            entries.get_mut(key)
        }
        _ => None,
    }
}

impl PartialEq for Context {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Serialize for Context {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (key, value) in self.iter() {
            map.serialize_entry(&**key, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Context {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Mapping::deserialize(deserializer).map(Self::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> KeyPath {
        KeyPath::parse(text).unwrap()
    }

    #[test]
    fn a_dotted_write_creates_mappings_and_stops_at_anything_else() {
        let mut context = Context::new(Mapping::from_iter([("user", Value::text("ann"))]));
        context.write(&path("order.items.first"), Value::Int(1)).unwrap();
        assert_eq!(context.to_mapping().get("order").unwrap().to_json(), r#"{"items":{"first":1}}"#);
        let refused = context.write(&path("user.name"), Value::Null).unwrap_err();
        assert_eq!(refused.to_string(), "`user.name` cannot be written: `user` is text, not a mapping");
    }

    #[test]
    fn entries_come_sorted_whatever_layer_holds_them() {
        let mut context = Context::new(Mapping::from_iter([("b", Value::Int(1)), ("d", Value::Int(2))]));
        for key in ["c", "a", "b"] {
            context.insert(key.into(), Value::Null);
        }
        let keys: Vec<_> = context.iter().map(|(key, _)| &**key).collect();
        assert_eq!(keys, ["a", "b", "c", "d"]);
    }
}

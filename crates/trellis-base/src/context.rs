//! The context of a session: one mapping, cheap to clone and to write at any size (`docs/performance.md`).
//!
//! ```text
//! recent     the keys that steps wrote last: a small persistent tree, which a write copies a path of
//! settled    the keys that steps wrote before: a persistent hash trie, which takes over `recent` when that holds more than RECENT keys
//! given      the values of a start or a snapshot: never changed, and indexed
//! ```
//!
//! A loop writes the same few keys again and again, so that most writes stay in the small tree, for contexts of any width.
//!
//! **Invariant:** the cost of a read or write does not grow with the context; a dotted write pays the width of the mappings it crosses.

use std::{hash::BuildHasherDefault, sync::Arc};

use rpds::{HashTrieMap, HashTrieMapSync, RedBlackTreeMapSync};
use rustc_hash::{FxHashMap, FxHasher};
use serde::{Deserialize, Deserializer, Serialize, Serializer, ser::SerializeMap};

use crate::{
    path::{KeyPath, Segment, walk},
    value::{Key, List, Mapping, PartSizes, Value},
};

/// One mapping per session (language 4.1).
#[derive(Clone, Debug)]
pub struct Context {
    given: Arc<InitialContext>,
    settled: HashTrieMapSync<Key, Value, BuildHasherDefault<FxHasher>>,
    recent: RedBlackTreeMapSync<Key, Value>,
    parts: PartSizes,
}

/// Keys from which on `recent` is taken over by `settled`.
const RECENT: usize = 32;

/// Children of a node of `settled`: a write copies one node of each level.
const DEGREE: u8 = 16;

/// The initial content of a context: it never changes, so an index pays for itself.
#[derive(Debug, Default)]
struct InitialContext {
    entries: Mapping,
    /// The entries by hash; empty where a search of `entries` is as quick. Never iterated.
    index: FxHashMap<Key, Value>,
}

impl InitialContext {
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

/// The context would be larger than it may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLarge {
    /// Bytes as compact JSON that it would have.
    pub met: u64,
}

/// A dotted write met something that is no mapping.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{path}` cannot be written: `{at}` is {kind}, not a mapping")]
pub struct NotAMapping {
    /// The path written to.
    pub path: String,
    /// The part of it that holds something else.
    pub at: String,
    /// The kind of the value there.
    pub kind: &'static str,
}

impl Context {
    /// A context that begins with `given`.
    pub fn new(given: Mapping) -> Self {
        let mut parts = PartSizes::default();
        given.iter().for_each(|(key, value)| parts.add_entry(key, value.measure()));
        let settled = HashTrieMap::new_with_hasher_and_degree_and_ptr_kind(BuildHasherDefault::default(), DEGREE);
        Self { given: Arc::new(InitialContext::new(given)), settled, recent: RedBlackTreeMapSync::new_sync(), parts }
    }

    /// Bytes of the context as compact JSON; a character that JSON escapes in a text counts as itself.
    pub fn size(&self) -> u64 {
        self.parts.whole().size
    }

    /// The value under a key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.recent.get(key).or_else(|| self.settled(key)).or_else(|| self.given.get(key))
    }

    /// The value at a path.
    pub fn lookup(&self, path: &KeyPath) -> Option<&Value> {
        walk(self.get(path.root())?, path.rest())
    }

    /// Returns whether the key is present; null counts (language 4.1).
    pub fn contains(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    fn settled(&self, key: &str) -> Option<&Value> {
        if self.settled.is_empty() { None } else { self.settled.get(key) }
    }

    /// Sets a key.
    pub fn insert(&mut self, key: Key, value: Value) {
        self.parts = self.parts_with(&key, &value);
        self.put(key, value);
    }

    /// Sets a key, unless the context would be larger than `limit` bytes.
    pub fn insert_within(&mut self, limit: u64, key: Key, value: Value) -> Result<(), TooLarge> {
        let parts = self.parts_with(&key, &value);
        let met = parts.whole().size;
        if met > limit {
            return Err(TooLarge { met });
        }
        self.parts = parts;
        self.put(key, value);
        Ok(())
    }

    /// Returns the sizes of the parts after `value` is written under `key`.
    fn parts_with(&self, key: &str, value: &Value) -> PartSizes {
        self.parts.with_entry(key, self.get(key).map(Value::measure), value.measure())
    }

    fn put(&mut self, key: Key, value: Value) {
        self.recent.insert_mut(key, value);
        if self.recent.size() > RECENT {
            let recent = std::mem::replace(&mut self.recent, RedBlackTreeMapSync::new_sync());
            recent.iter().for_each(|(key, value)| self.settled.insert_mut(key.clone(), value.clone()));
        }
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
    /// A value on the path is no mapping; nothing was written.
    pub fn write(&mut self, path: &KeyPath, value: Value) -> Result<(), NotAMapping> {
        let root = self.root_with(path, value)?;
        self.insert(path.root().clone(), root);
        Ok(())
    }

    /// Returns the value under the first name of `path` after `value` is written at `path`.
    pub fn root_with(&self, path: &KeyPath, value: Value) -> Result<Value, NotAMapping> {
        let Some((last, crossed)) = path.rest().split_last() else { return Ok(value) };
        let mut root = self.get(path.root()).cloned().unwrap_or_else(|| Mapping::new().into());
        let mut here = &mut root;
        for segment in crossed {
            here = child(here, segment).ok_or_else(|| self.obstacle(path))?;
        }
        match (here, last) {
            (Value::Map(entries), Segment::Key(key)) => entries.insert(key.clone(), value),
            _ => return Err(self.obstacle(path)),
        };
        Ok(root)
    }

    /// Appends items to the list at a path, which is created if absent. Another value at the path, or one that blocks it, stays as it is.
    pub fn append(&mut self, path: &KeyPath, items: &List) {
        if let Ok(list) = self.list_with(path, Value::List(items.clone())) {
            // The same append was possible when it was recorded.
            let _ = self.write(path, list.into());
        }
    }

    /// Returns the list at a path with one more item, or with all of another list; any other value there is the error.
    pub fn list_with(&self, path: &KeyPath, value: Value) -> Result<List, &Value> {
        let mut list = match self.lookup(path) {
            None => List::new(),
            Some(Value::List(items)) => items.clone(),
            Some(other) => return Err(other),
        };
        match value {
            Value::List(items) if list.is_empty() => list = items,
            Value::List(items) => list.extend(items.iter().cloned()),
            item => list.push(item),
        }
        Ok(list)
    }

    /// Returns the part of `path` that blocks a write.
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
        let settled = self.settled.iter().filter(|(key, _)| !self.recent.contains_key(*key));
        let mut written: Vec<_> = settled.chain(self.recent.iter()).collect();
        written.sort_unstable_by_key(|(key, _)| *key);
        let is_written = |key: &Key| self.recent.contains_key(key) || self.settled(key).is_some();
        let mut given = self.given.entries.iter().filter(move |(key, _)| !is_written(key)).peekable();
        let mut written = written.into_iter().peekable();
        std::iter::from_fn(move || match (given.peek(), written.peek()) {
            (Some((a, _)), Some((b, _))) if a < b => given.next(),
            (_, Some(_)) => written.next(),
            (_, None) => given.next(),
        })
    }

    /// The whole context as one mapping; costs its width.
    pub fn to_mapping(&self) -> Mapping {
        if self.recent.is_empty() && self.settled.is_empty() {
            self.given.entries.clone()
        } else {
            self.iter().map(|(k, v)| (k.clone(), v.clone())).collect()
        }
    }
}

/// Returns the entry of a mapping, created if it is missing; `None` for a value that is no mapping.
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

impl Default for Context {
    fn default() -> Self {
        Self::new(Mapping::new())
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

    #[test]
    fn a_context_is_what_was_written_last_in_whatever_layer_it_lies() {
        let mut context = Context::new((0..50).map(|key| (format!("k{key}"), Value::text("given"))).collect());
        let mut plain = context.to_mapping();
        for step in 0..1_000_i64 {
            let key: Key = format!("k{}", step * 7 % 180).into();
            let value = if step % 3 == 0 { Value::list([Value::Int(step)]) } else { Value::Int(step) };
            context.insert(key.clone(), value.clone());
            plain.insert(key, value);
            if step % 37 == 0 {
                assert_eq!(context.to_mapping(), plain);
                assert_eq!(context.size(), Value::Map(plain.clone()).size());
                assert!(plain.iter().all(|(key, value)| context.get(key) == Some(value)));
            }
        }
    }

    #[test]
    fn what_would_be_too_large_is_not_written() {
        let mut context = Context::new(Mapping::from_iter([("a", Value::text("12345"))]));
        assert_eq!(context.size(), 13);
        assert_eq!(context.insert_within(20, "b".into(), Value::text("1234")), Err(TooLarge { met: 24 }));
        assert_eq!(context.insert_within(24, "b".into(), Value::text("1234")), Ok(()));
        assert_eq!(context.insert_within(20, "a".into(), Value::Int(1)), Ok(()));
        assert_eq!(context.size(), Value::Map(context.to_mapping()).size());
    }
}

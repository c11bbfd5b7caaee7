//! Mappings: what a value holds under names.
//!
//! **Invariant:** entries are sorted by key, and cloning is cheap.

use std::{
    collections::{BTreeMap, btree_map},
    fmt,
    sync::Arc,
};

use super::Value;

/// The key of a mapping.
pub type Key = Arc<str>;

/// A mapping from text to values, sorted by key.
///
/// ```
/// use trellis_core::{Mapping, Value};
///
/// let mut order: Mapping = [("item", "tea")].into_iter().collect();
/// order.insert("cups".into(), 2.into());
/// assert_eq!(order.get("cups"), Some(&Value::Int(2)));
/// assert_eq!(order.keys().map(|key| &**key).collect::<Vec<_>>(), ["cups", "item"]);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mapping(pub(super) Arc<BTreeMap<Key, Value>>);

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

    /// Sets `key` and returns what was there; a shared mapping is copied once (the price is its width).
    pub fn insert(&mut self, key: Key, value: Value) -> Option<Value> {
        Arc::make_mut(&mut self.0).insert(key, value)
    }

    /// Takes `key` out and returns what was there; a shared mapping that has it is copied once (the price is its width).
    pub fn remove(&mut self, key: &str) -> Option<Value> {
        if self.contains(key) { Arc::make_mut(&mut self.0).remove(key) } else { None }
    }

    /// The value under `key`, to be changed in place.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Value> {
        Arc::make_mut(&mut self.0).get_mut(key)
    }

    /// Entries in key order.
    pub fn iter(&self) -> Iter<'_> {
        Iter(self.0.iter())
    }

    /// Keys in order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &Key> + ExactSizeIterator {
        self.0.keys()
    }

    /// Values in the order of their keys.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &Value> + ExactSizeIterator {
        self.0.values()
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether every key is there and every value [the same](Value::is_same).
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let (a, b) = (&self.0, &other.0);
        Arc::ptr_eq(a, b) || a.len() == b.len() && a.iter().zip(&**b).all(|((key, a), (other, b))| key == other && a.is_same(b))
    }
}

impl fmt::Display for Mapping {
    /// As compact JSON, as templates print it (language 3.2).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Value::Map(self.clone()).fmt(f)
    }
}

impl<K: Into<Key>, V: Into<Value>> FromIterator<(K, V)> for Mapping {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        Self(Arc::new(entries.into_iter().map(|(key, value)| (key.into(), value.into())).collect()))
    }
}

impl<K: Into<Key>, V: Into<Value>> Extend<(K, V)> for Mapping {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, entries: I) {
        Arc::make_mut(&mut self.0).extend(entries.into_iter().map(|(key, value)| (key.into(), value.into())));
    }
}

/// Entries of a [`Mapping`], in key order.
#[derive(Clone, Debug)]
pub struct Iter<'m>(btree_map::Iter<'m, Key, Value>);

/// Entries taken out of a [`Mapping`], in key order.
#[derive(Debug)]
pub struct IntoIter(btree_map::IntoIter<Key, Value>);

impl<'m> Iterator for Iter<'m> {
    type Item = (&'m Key, &'m Value);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<'m> DoubleEndedIterator for Iter<'m> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.0.next_back()
    }
}

impl<'m> ExactSizeIterator for Iter<'m> {}

impl Iterator for IntoIter {
    type Item = (Key, Value);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl DoubleEndedIterator for IntoIter {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.0.next_back()
    }
}

impl ExactSizeIterator for IntoIter {}

impl<'m> IntoIterator for &'m Mapping {
    type Item = (&'m Key, &'m Value);
    type IntoIter = Iter<'m>;

    fn into_iter(self) -> Iter<'m> {
        self.iter()
    }
}

impl IntoIterator for Mapping {
    type Item = (Key, Value);
    type IntoIter = IntoIter;

    /// A shared mapping is copied once.
    fn into_iter(self) -> IntoIter {
        IntoIter(Arc::unwrap_or_clone(self.0).into_iter())
    }
}

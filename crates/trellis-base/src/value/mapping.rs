//! Mappings from text to values.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, OnceLock},
};

use super::{
    Key, MAX_DEBUG_DEPTH, Value,
    measure::{Measure, PartSizes},
};

/// A mapping from text to values, sorted by key; cheap to clone.
#[derive(Clone, Default)]
pub struct Mapping(Arc<Entries>);

#[derive(Clone, Default)]
struct Entries {
    entries: BTreeMap<Key, Value>,
    parts: OnceLock<PartSizes>,
}

impl Mapping {
    /// An empty mapping.
    pub fn new() -> Self {
        Self::default()
    }

    /// The value under `key`.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.entries.get(key)
    }

    /// Returns whether `key` is present.
    pub fn contains(&self, key: &str) -> bool {
        self.0.entries.contains_key(key)
    }

    /// Sets `key`; a shared mapping is copied once (the price is its width).
    pub fn insert(&mut self, key: Key, value: Value) -> Option<Value> {
        let Entries { entries, parts } = Arc::make_mut(&mut self.0);
        let Some(known) = parts.take() else { return entries.insert(key, value) };
        let after = value.measure();
        let before = entries.insert(Arc::clone(&key), value);
        let replaced = before.as_ref().map(Value::measure);
        if !replaced.is_some_and(|before| known.may_fall(before, after)) {
            *parts = known.with_entry(&key, replaced, after).into();
        }
        before
    }

    /// The value under `key`, to be changed in place.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Value> {
        let Entries { entries, parts } = Arc::make_mut(&mut self.0);
        parts.take();
        entries.get_mut(key)
    }

    /// Entries in key order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&Key, &Value)> + ExactSizeIterator {
        self.0.entries.iter()
    }

    /// Keys in order.
    pub fn keys(&self) -> impl Iterator<Item = &Key> {
        self.0.entries.keys()
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.0.entries.len()
    }

    /// Returns whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.0.entries.is_empty()
    }

    /// Returns whether both are the same mapping in memory.
    pub(super) fn is_shared(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    pub(super) fn measured(&self) -> Option<Measure> {
        self.0.parts.get().map(|parts| parts.whole())
    }

    pub(super) fn sum_up(&self) {
        self.0.parts.get_or_init(|| {
            let mut parts = PartSizes::default();
            self.iter().for_each(|(key, value)| parts.add_entry(key, value.measure()));
            parts
        });
    }

    /// Takes out the lists and mappings that are not shared.
    pub(super) fn unpack(self, into: &mut Vec<Value>) {
        if let Some(mut entries) = Arc::into_inner(self.0) {
            entries.unpack(into);
        }
    }
}

impl Entries {
    fn unpack(&mut self, into: &mut Vec<Value>) {
        into.extend(self.entries.values_mut().filter(|value| value.is_nested()).map(std::mem::take));
    }
}

impl Drop for Entries {
    fn drop(&mut self) {
        let mut nested = Vec::new();
        self.unpack(&mut nested);
        super::release(nested);
    }
}

impl From<BTreeMap<Key, Value>> for Mapping {
    fn from(entries: BTreeMap<Key, Value>) -> Self {
        Self(Arc::new(Entries { entries, parts: OnceLock::new() }))
    }
}

impl<K: Into<Key>, V: Into<Value>> FromIterator<(K, V)> for Mapping {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        entries.into_iter().map(|(key, value)| (key.into(), value.into())).collect::<BTreeMap<_, _>>().into()
    }
}

impl PartialEq for Mapping {
    fn eq(&self, other: &Self) -> bool {
        Value::Map(self.clone()) == Value::Map(other.clone())
    }
}

impl fmt::Debug for Mapping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Value::Map(self.clone()).depth() {
            depth if depth > MAX_DEBUG_DEPTH => write!(f, "{{… {depth} levels}}"),
            _ => f.debug_map().entries(self.iter()).finish(),
        }
    }
}

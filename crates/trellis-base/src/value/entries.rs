//! Mappings as collections.

use super::{Key, Mapping, Value};

impl Mapping {
    /// Removes `key` and returns its value, in time linear in the mapping's width.
    ///
    /// ```
    /// use trellis_base::{Mapping, Value};
    ///
    /// let mut order: Mapping = [("item", "tea"), ("note", "no sugar")].into_iter().collect();
    /// assert_eq!(order.remove("note"), Some(Value::from("no sugar")));
    /// assert_eq!(order.values().collect::<Vec<_>>(), [&Value::from("tea")]);
    /// ```
    pub fn remove(&mut self, key: &str) -> Option<Value> {
        let taken = self.get(key)?.clone();
        *self = self.iter().filter(|(other, _)| ***other != *key).map(|(key, value)| (key.clone(), value.clone())).collect();
        Some(taken)
    }

    /// Values in the order of their keys.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &Value> + ExactSizeIterator {
        self.iter().map(|(_, value)| value)
    }
}

impl<K: Into<Key>, V: Into<Value>> Extend<(K, V)> for Mapping {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, entries: I) {
        for (key, value) in entries {
            self.insert(key.into(), value.into());
        }
    }
}

//! Lists that most nodes do not have.

use std::ops::Deref;

/// A list that is nearly always empty: one word if so, since a graph stores a dozen of them for each node.
#[derive(Clone, Debug)]
pub struct RareList<T>(Option<Box<RareItems<T>>>);

/// The items of such a list.
#[derive(Clone, Debug)]
struct RareItems<T>(Vec<T>);

impl<T> RareList<T> {
    /// Adds an item at the end.
    pub fn push(&mut self, item: T) {
        self.0.get_or_insert_with(|| Box::new(RareItems(Vec::with_capacity(1)))).0.push(item);
    }
}

impl<T> Default for RareList<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> Deref for RareList<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.0.as_deref().map_or(&[], |items| &items.0)
    }
}

impl<T> From<Vec<T>> for RareList<T> {
    fn from(items: Vec<T>) -> Self {
        Self((!items.is_empty()).then(|| Box::new(RareItems(items))))
    }
}

impl<T> FromIterator<T> for RareList<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Vec::from_iter(items).into()
    }
}

impl<'l, T> IntoIterator for &'l RareList<T> {
    type Item = &'l T;
    type IntoIter = std::slice::Iter<'l, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

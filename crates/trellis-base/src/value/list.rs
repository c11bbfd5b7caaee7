//! Lists that are cheap to clone and cheap to append to, also where several states hold them.
//!
//! ```text
//! front                          the items it was created with; never changed while it is shared
//! back ── blocks ── tail         appended items: full blocks in a persistent vector, then fewer items than a block
//! ```
//!
//! An append to a shared list copies the tail, at most [`BLOCK`] items, and once per block the path to it.
//!
//! **Invariant:** a block is full, and only the last items are in the tail.

use std::{
    fmt,
    ops::Index,
    slice,
    sync::{Arc, OnceLock},
};

use rpds::VectorSync;

use super::{
    MAX_DEBUG_DEPTH, Value,
    measure::{Measure, PartSizes},
};

/// Items of a block.
const BLOCK: usize = 32;

/// A list of values: cheap to clone, and cheap to append to.
#[derive(Clone, Default)]
pub struct List {
    front: Arc<Run>,
    back: Option<Arc<Back>>,
}

/// Values in one array.
#[derive(Clone, Default)]
struct Run {
    items: Vec<Value>,
    parts: OnceLock<PartSizes>,
}

/// The items that were appended to a list.
#[derive(Clone, Default)]
struct Back {
    /// Reference-counted, so that a release can tell whether others share them.
    blocks: Option<Arc<VectorSync<Arc<Run>>>>,
    tail: Vec<Value>,
    parts: PartSizes,
}

impl List {
    /// An empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the number of items.
    pub fn len(&self) -> usize {
        self.front.items.len() + self.back.as_ref().map_or(0, |back| back.blocks() * BLOCK + back.tail.len())
    }

    /// Returns whether there is no item.
    pub fn is_empty(&self) -> bool {
        self.front.items.is_empty() && self.back.is_none()
    }

    /// The item at a place, from 0.
    pub fn get(&self, index: usize) -> Option<&Value> {
        match index.checked_sub(self.front.items.len()) {
            None => self.front.items.get(index),
            Some(in_back) => self.back.as_ref()?.get(in_back),
        }
    }

    /// The first item.
    pub fn first(&self) -> Option<&Value> {
        self.get(0)
    }

    /// The last item.
    pub fn last(&self) -> Option<&Value> {
        self.get(self.len().checked_sub(1)?)
    }

    /// The items in order.
    pub fn iter(&self) -> Iter<'_> {
        Iter { run: self.front.items.iter(), back: self.back.as_deref(), block: 0, left: self.len() }
    }

    /// The items from a place on.
    pub fn iter_from(&self, index: usize) -> impl Iterator<Item = &Value> {
        (index..self.len()).filter_map(|at| self.get(at))
    }

    /// Appends an item; the price does not grow with the list.
    pub fn push(&mut self, item: Value) {
        if self.back.is_none()
            && let Some(front) = Arc::get_mut(&mut self.front)
        {
            front.parts.take();
            front.items.push(item);
            return;
        }
        Arc::make_mut(self.back.get_or_insert_default()).push(item);
    }

    /// The item at a place, to be changed; the whole list is copied where it is shared.
    pub fn get_mut(&mut self, index: usize) -> Option<&mut Value> {
        self.items_mut().get_mut(index)
    }

    /// The items, to be changed; the whole list is copied where it is shared.
    pub fn iter_mut(&mut self) -> slice::IterMut<'_, Value> {
        self.items_mut().iter_mut()
    }

    fn items_mut(&mut self) -> &mut Vec<Value> {
        if self.back.is_some() {
            *self = self.iter().cloned().collect();
        }
        let front = Arc::make_mut(&mut self.front);
        front.parts.take();
        &mut front.items
    }

    /// Returns whether both are the same list in memory.
    pub(super) fn is_shared(&self, other: &Self) -> bool {
        let is_same_back = match (&self.back, &other.back) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (one, other) => one.is_none() && other.is_none(),
        };
        is_same_back && Arc::ptr_eq(&self.front, &other.front)
    }

    pub(super) fn measured(&self) -> Option<Measure> {
        let back = self.back.as_ref().map_or_else(PartSizes::default, |back| back.parts);
        Some(self.front.parts.get()?.and(back).whole())
    }

    pub(super) fn sum_up(&self) {
        self.front.parts.get_or_init(|| {
            let mut parts = PartSizes::default();
            self.front.items.iter().for_each(|item| parts.add(item.measure()));
            parts
        });
    }

    /// Takes out the lists and mappings that are not shared.
    pub(super) fn unpack(self, into: &mut Vec<Value>) {
        if let Some(mut front) = Arc::into_inner(self.front) {
            unpack(&mut front.items, into);
        }
        if let Some(mut back) = self.back.and_then(Arc::into_inner) {
            back.unpack(into);
        }
    }
}

impl Back {
    fn blocks(&self) -> usize {
        self.blocks.as_ref().map_or(0, |blocks| blocks.len())
    }

    fn get(&self, index: usize) -> Option<&Value> {
        if index / BLOCK > self.blocks() {
            return None;
        }
        self.run(index / BLOCK).get(index % BLOCK)
    }

    /// The items of a block; behind the last one, the tail.
    fn run(&self, block: usize) -> &[Value] {
        self.blocks.as_ref().and_then(|blocks| blocks.get(block)).map_or(&self.tail, |block| &block.items)
    }

    fn push(&mut self, item: Value) {
        self.parts.add(item.measure());
        self.tail.push(item);
        if self.tail.len() == BLOCK {
            let items = std::mem::take(&mut self.tail);
            let blocks = self.blocks.get_or_insert_with(|| Arc::new(VectorSync::new_sync()));
            Arc::make_mut(blocks).push_back_mut(Arc::new(Run { items, parts: OnceLock::new() }));
        }
    }

    fn unpack(&mut self, into: &mut Vec<Value>) {
        unpack(&mut self.tail, into);
        let Some(blocks) = self.blocks.take().and_then(Arc::into_inner) else { return };
        let held: Vec<_> = blocks.iter().cloned().collect();
        drop(blocks);
        for mut block in held.into_iter().filter_map(Arc::into_inner) {
            unpack(&mut block.items, into);
        }
    }
}

fn unpack(items: &mut [Value], into: &mut Vec<Value>) {
    into.extend(items.iter_mut().filter(|item| item.is_nested()).map(std::mem::take));
}

impl Drop for Run {
    fn drop(&mut self) {
        let mut nested = Vec::new();
        unpack(&mut self.items, &mut nested);
        super::release(nested);
    }
}

impl Drop for Back {
    fn drop(&mut self) {
        let mut nested = Vec::new();
        self.unpack(&mut nested);
        super::release(nested);
    }
}

/// The items of a list in order.
#[derive(Clone)]
pub struct Iter<'l> {
    run: slice::Iter<'l, Value>,
    back: Option<&'l Back>,
    /// The block that comes next.
    block: usize,
    left: usize,
}

impl<'l> Iterator for Iter<'l> {
    type Item = &'l Value;

    fn next(&mut self) -> Option<&'l Value> {
        self.left = self.left.checked_sub(1)?;
        let next = self.run.next();
        if next.is_some() {
            return next;
        }
        self.run = self.back?.run(self.block).iter();
        self.block += 1;
        self.run.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Iter<'_> {}

impl fmt::Debug for Iter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}

impl<'l> IntoIterator for &'l List {
    type IntoIter = Iter<'l>;
    type Item = &'l Value;

    fn into_iter(self) -> Iter<'l> {
        self.iter()
    }
}

impl Index<usize> for List {
    type Output = Value;

    fn index(&self, index: usize) -> &Value {
        self.get(index).unwrap_or_else(|| panic!("the list has {} items, there is none at {index}", self.len()))
    }
}

impl Extend<Value> for List {
    fn extend<I: IntoIterator<Item = Value>>(&mut self, items: I) {
        items.into_iter().for_each(|item| self.push(item));
    }
}

impl FromIterator<Value> for List {
    fn from_iter<I: IntoIterator<Item = Value>>(items: I) -> Self {
        Self::from(items.into_iter().collect::<Vec<_>>())
    }
}

impl From<Vec<Value>> for List {
    fn from(items: Vec<Value>) -> Self {
        Self { front: Arc::new(Run { items, parts: OnceLock::new() }), back: None }
    }
}

impl PartialEq for List {
    fn eq(&self, other: &Self) -> bool {
        Value::List(self.clone()) == Value::List(other.clone())
    }
}

impl fmt::Debug for List {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Value::List(self.clone()).depth() {
            depth if depth > MAX_DEBUG_DEPTH => write!(f, "[… {depth} levels]"),
            _ => f.debug_list().entries(self).finish(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(list: &List) -> Vec<String> {
        list.iter().map(Value::to_json).collect()
    }

    #[test]
    fn a_list_that_was_appended_to_is_the_list_made_at_once() {
        for front in [0, 1, 3, 40] {
            let mut list: List = (0..front).map(Value::Int).collect();
            let mut held = vec![list.clone()];
            for item in front..front + 2_100 {
                list.push(Value::Int(item));
                held.push(list.clone());
            }
            for (at, list) in held.iter().enumerate().step_by(31) {
                let length = i64::try_from(at).unwrap() + front;
                let whole: List = (0..length).map(Value::Int).collect();
                assert_eq!((list.len(), list.iter().len()), (whole.len(), whole.len()));
                assert_eq!(numbers(list), numbers(&whole));
                assert!(*list == whole && (0..list.len()).all(|at| list.get(at) == whole.get(at)) && list.get(list.len()).is_none());
                let size = |list: &List| Value::List(list.clone()).measure();
                assert_eq!(size(list), size(&whole));
            }
        }
    }

    #[test]
    fn those_who_share_a_list_append_to_their_own() {
        let mut one: List = (0..100).map(Value::Int).collect();
        let first = one.clone();
        one.push(Value::Int(100));
        let mut other = one.clone();
        one.push(Value::text("one"));
        other.push(Value::text("other"));
        assert_eq!((first.len(), one.len(), other.len()), (100, 102, 102));
        assert_eq!((one.last(), other.last()), (Some(&Value::text("one")), Some(&Value::text("other"))));
        *other.get_mut(0).unwrap() = Value::Null;
        assert_eq!((one.first(), other.first()), (Some(&Value::Int(0)), Some(&Value::Null)));
    }
}

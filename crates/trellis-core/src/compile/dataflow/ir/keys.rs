//! The keys that a graph names, and which of them are followed: those that something reads.
//!
//! **Invariant:** a key that nothing reads is as if nobody wrote it: it is absent wherever that is known of anything.

use rustc_hash::FxHashMap;

use crate::{
    compile::dataflow::{
        env::{self, INPUT, OWN, RESULT, Slot},
        index::to_u32,
    },
    value::Key,
};

/// A key that something reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct KeyId(u32);

/// All keys, over the edits of a graph.
#[derive(Debug)]
pub(crate) struct KeyTable {
    by_key: FxHashMap<Key, KeyId>,
    names: Vec<KeyEntry>,
    taken: u32,
    /// How many slots there is room for.
    room: usize,
}

#[derive(Debug)]
struct KeyEntry {
    key: Key,
    /// How many places read it.
    readers: u32,
    /// How many nodes have a default for it.
    defaults: u32,
    slot: Option<Slot>,
}

impl KeyTable {
    pub(crate) fn new() -> Self {
        let mut keys = Self { by_key: FxHashMap::default(), names: Vec::new(), taken: 0, room: OWN };
        for (key, slot) in [("input", INPUT), ("tool_result", RESULT)] {
            let KeyId(at) = keys.name(key);
            keys.names[at as usize] = KeyEntry { key: key.into(), readers: 1, defaults: 0, slot: Some(slot) };
        }
        keys.taken = to_u32(OWN);
        keys
    }

    /// The name of a key.
    pub(crate) fn name(&mut self, key: &str) -> KeyId {
        if let Some(known) = self.by_key.get(key) {
            return *known;
        }
        let name = KeyId(to_u32(self.names.len()));
        let key = Key::from(key);
        self.by_key.insert(key.clone(), name);
        self.names.push(KeyEntry { key, readers: 0, defaults: 0, slot: None });
        name
    }

    /// Something reads a key; says whether nothing did before.
    pub(crate) fn retain(&mut self, KeyId(at): KeyId) -> bool {
        let of = &mut self.names[at as usize];
        of.readers += 1;
        if of.slot.is_none() {
            of.slot = Some(Slot(self.taken));
            self.taken += 1;
        }
        of.readers == 1
    }

    /// Something reads a key no more; says whether nothing does now.
    pub(crate) fn release(&mut self, KeyId(at): KeyId) -> bool {
        let of = &mut self.names[at as usize];
        of.readers -= 1;
        of.readers == 0
    }

    /// Something has a default for a key, or has it no more.
    pub(crate) fn defaults(&mut self, KeyId(at): KeyId, more: bool) {
        let of = &mut self.names[at as usize];
        of.defaults = if more { of.defaults + 1 } else { of.defaults - 1 };
    }

    /// Where a key is followed; nothing where nobody reads it.
    pub(crate) fn slot(&self, KeyId(at): KeyId) -> Option<Slot> {
        let of = &self.names[at as usize];
        of.slot.filter(|_| of.readers > 0)
    }

    /// The same by the key itself.
    pub(crate) fn slot_of(&self, key: &str) -> Option<Slot> {
        self.by_key.get(key).and_then(|name| self.slot(*name))
    }

    /// The keys that some node has a default for.
    pub(crate) fn with_defaults(&self) -> impl Iterator<Item = Slot> {
        self.names.iter().filter(|of| of.defaults > 0 && of.readers > 0).filter_map(|of| of.slot)
    }

    /// The keys that are followed, sorted.
    pub(crate) fn followed(&self) -> Vec<(String, Slot)> {
        let own = |of: &&KeyEntry| of.readers > 0 && of.slot.is_some_and(|slot| slot.0 as usize >= OWN);
        let mut keys: Vec<_> = self.names.iter().filter(own).filter_map(|of| Some((of.key.to_string(), of.slot?))).collect();
        keys.sort_unstable();
        keys
    }

    /// Room for all slots, and for some that edits may add.
    pub(crate) fn make_room(&mut self) {
        self.room = env::room(self.taken as usize);
    }

    /// How many slots facts have.
    pub(crate) fn room(&self) -> usize {
        self.room
    }

    /// Whether there is no room for all slots.
    pub(crate) fn is_full(&self) -> bool {
        self.taken as usize > self.room
    }
}

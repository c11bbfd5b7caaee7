//! Keys of a graph, and the slots of those that are followed: keys that some point reads. Readers are counted, so that edits retain and
//! release keys.
//!
//! **Invariant:** a key that no point reads has no slot, and a write to it has no effect on any environment. That is sound: no alarm can
//! depend on it.
//!
//! **Example.** `save_to: town` alone follows nothing. The first `{{ town }}` gives `town` a slot, and an edit that adds it makes the
//! analysis repeat the points that write `town`.

use rustc_hash::FxHashMap;

use crate::dataflow::{
    domain::SubPathId,
    index::to_u32,
    slot::{self, INPUT, OWN, RESULT, Slot},
};
use trellis_base::value::Key;

/// Interned key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct KeyId(u32);

/// A path as it is tracked: the key and the steps below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct InternedPath {
    pub(crate) name: KeyId,
    pub(crate) rest: SubPathId,
}

/// All keys, over the edits of a graph.
#[derive(Debug)]
pub(crate) struct KeyTable {
    by_key: FxHashMap<Key, KeyId>,
    names: Vec<KeyEntry>,
    taken: u32,
    /// Number of slots that environments are allocated with.
    room: usize,
}

#[derive(Debug)]
struct KeyEntry {
    key: Key,
    /// Number of places that read it.
    readers: u32,
    /// Number of nodes that have a default for it.
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

    /// Interns a key.
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

    /// Counts one more reader. Returns true if the key had none.
    pub(crate) fn retain(&mut self, KeyId(at): KeyId) -> bool {
        let of = &mut self.names[at as usize];
        of.readers += 1;
        if of.slot.is_none() {
            of.slot = Some(Slot(self.taken));
            self.taken += 1;
        }
        of.readers == 1
    }

    /// Counts one reader less. Returns true if none is left.
    pub(crate) fn release(&mut self, KeyId(at): KeyId) -> bool {
        let of = &mut self.names[at as usize];
        of.readers -= 1;
        of.readers == 0
    }

    /// Counts one default more or less.
    pub(crate) fn defaults(&mut self, KeyId(at): KeyId, more: bool) {
        let of = &mut self.names[at as usize];
        of.defaults = if more { of.defaults + 1 } else { of.defaults - 1 };
    }

    /// Returns the slot of a key; `None` if no point reads it.
    pub(crate) fn slot(&self, KeyId(at): KeyId) -> Option<Slot> {
        let of = &self.names[at as usize];
        of.slot.filter(|_| of.readers > 0)
    }

    /// Returns the slot of a key by its name; `None` if no point reads it.
    pub(crate) fn slot_of(&self, key: &str) -> Option<Slot> {
        self.by_key.get(key).and_then(|name| self.slot(*name))
    }

    /// Returns the slots of followed keys that some node has a default for.
    pub(crate) fn with_defaults(&self) -> impl Iterator<Item = Slot> {
        self.names.iter().filter(|of| of.defaults > 0 && of.readers > 0).filter_map(|of| of.slot)
    }

    /// Returns the followed keys by name, sorted; `input` and `tool_result` excluded.
    pub(crate) fn followed(&self) -> Vec<(String, Slot)> {
        let own = |of: &&KeyEntry| of.readers > 0 && of.slot.is_some_and(|slot| slot.0 as usize >= OWN);
        let mut keys: Vec<_> = self.names.iter().filter(own).filter_map(|of| Some((of.key.to_string(), of.slot?))).collect();
        keys.sort_unstable();
        keys
    }

    /// Fixes the size of environments: all slots that are taken, and some for keys that edits add.
    pub(crate) fn make_room(&mut self) {
        self.room = slot::room(self.taken as usize);
    }

    /// Returns the number of slots that environments are allocated with.
    pub(crate) fn room(&self) -> usize {
        self.room
    }

    /// Returns true if more slots are taken than environments have.
    pub(crate) fn is_full(&self) -> bool {
        self.taken as usize > self.room
    }
}

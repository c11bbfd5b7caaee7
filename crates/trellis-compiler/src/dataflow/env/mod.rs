//! The abstract environment: a type for each key at one program point.
//!
//! **Lattice.** [`Env`] lifts the types of [`domain`](super::domain) pointwise to all followed keys: two environments are joined key by
//! key. There is no bottom environment; the solver writes `None` for a point that it has not reached. The number of keys is fixed while an
//! analysis runs, so ascending chains are as finite as those of the types.
//!
//! **Representation.** Types are packed into one word each and stored on copy-on-write pages. A copy shares all pages. The few keys in
//! which it differs are an overlay, sorted by slot, which is flushed to the pages once it has more than [`MAX_OVERLAY_CHANGES`] entries.
//! Only the `join` module writes to many pages at once.
//!
//! **Soundness.** The representation loses nothing: equality and join of packed environments agree with equality and join of their types,
//! whether a type is on a page or in the overlay.
//!
//! **Example.** At `ask`, `name` is a text and `age` is absent. The edge that saves an answer sets `age` to an integer: its environment has
//! the same pages and one overlay entry for `age`.

mod join;

use std::{borrow::Cow, sync::Arc};

pub(crate) use self::join::UpperBound;
use super::{
    domain::{PackedType, Type, TypeId, TypeTable},
    slot::{MIN_PAGE_SLOTS, OWN, Slot, width},
};
use crate::dataflow::index::to_u32;

/// Greatest length of the overlay; a longer one is flushed to the pages.
const MAX_OVERLAY_CHANGES: usize = 64;

/// Capacity beyond its own overlay that a copy reserves.
const SPARE_OVERLAY_CHANGES: usize = 2;

/// Packed types of adjacent slots.
type Page = Arc<[PackedType]>;

/// Abstract environment: a type for each followed key.
#[derive(Debug)]
pub(crate) struct Env {
    own: [TypeId; OWN],
    /// Binary logarithm of the width of a page.
    shift: u32,
    pages: Arc<[Page]>,
    /// Overlay: the keys whose types differ from the pages, sorted by slot.
    changes: Vec<(Slot, PackedType)>,
}

impl Clone for Env {
    fn clone(&self) -> Self {
        // Most copies are changed in a few keys right away.
        let mut changes = Vec::with_capacity(if self.changes.is_empty() { 0 } else { self.changes.len() + SPARE_OVERLAY_CHANGES });
        changes.extend_from_slice(&self.changes);
        Self { own: self.own, shift: self.shift, pages: Arc::clone(&self.pages), changes }
    }
}

impl PartialEq for Env {
    fn eq(&self, other: &Self) -> bool {
        let is_same = |slot| self.packed(slot) == other.packed(slot);
        let is_same_page = |(at, (one, other)): (usize, (&Page, &Page))| {
            Arc::ptr_eq(one, other) || (0..one.len()).all(|offset| one[offset] == other[offset] || is_same(self.slot(at, offset)))
        };
        self.own == other.own
            && self.changes.iter().chain(&other.changes).all(|(slot, _)| is_same(*slot))
            && (Arc::ptr_eq(&self.pages, &other.pages) || self.pages.iter().zip(&*other.pages).enumerate().all(is_same_page))
    }
}

impl Env {
    /// Creates an environment of `room` slots in which every key is absent.
    pub(crate) fn absent(room: usize) -> Self {
        Self::all(TypeId::ABSENT, PackedType::ABSENT, room)
    }

    /// Creates an environment of `room` slots in which every key is dynamic: nothing is claimed of any of them.
    pub(crate) fn open(room: usize) -> Self {
        Self::all(TypeId::DYNAMIC, PackedType::DYNAMIC, room)
    }

    fn all(own: TypeId, packed: PackedType, room: usize) -> Self {
        let (slots, width) = (room.saturating_sub(OWN), width(room.saturating_sub(OWN)));
        let page: Page = vec![packed; width].into();
        Self { own: [own; OWN], shift: width.trailing_zeros(), pages: vec![page; slots.div_ceil(width)].into(), changes: Vec::new() }
    }

    /// Returns the page of a slot, and its offset there.
    fn place(&self, Slot(at): Slot) -> (usize, usize) {
        let at = at as usize - OWN;
        (at >> self.shift, at & ((1 << self.shift) - 1))
    }

    /// Returns the slot at an offset of a page.
    fn slot(&self, page: usize, offset: usize) -> Slot {
        Slot(to_u32((page << self.shift) + offset + OWN))
    }

    fn packed(&self, slot: Slot) -> PackedType {
        match self.changes.binary_search_by_key(&slot, |(slot, _)| *slot) {
            Ok(at) => self.changes[at].1,
            Err(_) => self.on_page(slot),
        }
    }

    fn on_page(&self, slot: Slot) -> PackedType {
        let (page, offset) = self.place(slot);
        self.pages[page][offset]
    }

    /// Returns the type of a key.
    pub(crate) fn get(&self, slot: Slot, types: &mut TypeTable) -> TypeId {
        match self.own.get(slot.0 as usize) {
            Some(own) => *own,
            None => types.unpack(slot, self.packed(slot)),
        }
    }

    /// Returns the type of a key without interning it; see [`Env::get`] for its id.
    pub(crate) fn look<'t>(&self, slot: Slot, types: &'t TypeTable) -> Cow<'t, Type> {
        match self.own.get(slot.0 as usize) {
            Some(own) => Cow::Borrowed(types.get(*own)),
            None => types.spelled(slot, self.packed(slot)),
        }
    }

    /// Returns true if the key can be present.
    pub(crate) fn may_hold(&self, slot: Slot, types: &TypeTable) -> bool {
        match self.own.get(slot.0 as usize) {
            Some(own) => types.may_be_there(*own),
            None => self.packed(slot).may_be_there(),
        }
    }

    /// Returns true if the key can be absent, or is dynamic.
    pub(crate) fn may_lack(&self, slot: Slot, types: &TypeTable) -> bool {
        match self.own.get(slot.0 as usize) {
            Some(own) => types.may_lack(*own),
            None => types.may_lack_packed(self.packed(slot)),
        }
    }

    /// Replaces the type of a key: a strong update.
    pub(crate) fn set(&mut self, slot: Slot, of: TypeId, types: &mut TypeTable) {
        match self.own.get_mut(slot.0 as usize) {
            Some(own) => *own = of,
            None => self.put(slot, types.pack(slot, of)),
        }
    }

    fn put(&mut self, slot: Slot, packed: PackedType) {
        let is_change = self.on_page(slot) != packed;
        match self.changes.binary_search_by_key(&slot, |(slot, _)| *slot) {
            Ok(at) if is_change => self.changes[at].1 = packed,
            Ok(at) => drop(self.changes.remove(at)),
            Err(at) if is_change => self.changes.insert(at, (slot, packed)),
            Err(_) => {}
        }
        if self.changes.len() > MAX_OVERLAY_CHANGES {
            self.flush();
        }
    }

    /// Returns true if both environments agree on these keys, on `input` and on `tool_result`. False if either has an overlay, although
    /// they may agree.
    pub(crate) fn is_same_at(&self, other: &Self, mut slots: impl Iterator<Item = Slot>) -> bool {
        self.own == other.own
            && self.changes.is_empty()
            && other.changes.is_empty()
            && slots.all(|slot| (slot.0 as usize) < OWN || self.on_page(slot) == other.on_page(slot))
    }

    /// Returns true if both environments share all their pages.
    pub(crate) fn is_on(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.pages, &other.pages)
    }

    /// Replaces the pages by those of `other`; the overlay remains.
    pub(crate) fn lay_on(&mut self, other: &Self) {
        self.pages = Arc::clone(&other.pages);
    }

    /// Writes the overlay to the pages, and empties it.
    fn flush(&mut self) {
        std::mem::take(&mut self.changes).into_iter().for_each(|(slot, packed)| self.change(slot, packed));
    }

    /// Writes one packed type to its page, which is copied if it is shared.
    fn change(&mut self, slot: Slot, packed: PackedType) {
        let (page, at) = self.place(slot);
        Arc::make_mut(&mut Arc::make_mut(&mut self.pages)[page])[at] = packed;
    }
}

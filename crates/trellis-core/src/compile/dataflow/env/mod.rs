//! What is known of every key at one moment: a type for each.
//!
//! Facts are shared: what a point does not touch is the same page as at the point before it, and the little that it does touch stands beside the pages.

mod join;

use std::{borrow::Cow, sync::Arc};

pub(crate) use self::join::UpperBound;
use super::domain::{PackedType, Type, TypeId, TypeTable};
use crate::compile::dataflow::index::to_u32;

/// A key that is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Slot(pub(crate) u32);

/// `input` and `tool_result`, which are there only while their node resolves (language 4.3).
pub(crate) const INPUT: Slot = Slot(0);
pub(crate) const RESULT: Slot = Slot(1);

/// How many slots those are; they stand beside the others, since they change all the time.
pub(crate) const OWN: usize = 2;

/// No page is narrower.
const MIN_PAGE_SLOTS: usize = 16;

/// A graph has about so many pages: copying a page costs less than counting who shares the others.
const TARGET_PAGES: usize = 4;

/// No page is wider: where keys are very many, a point changes few of them.
const MAX_PAGE_SLOTS: usize = 256;

/// More changes than these go to the pages.
const MAX_OVERLAY_CHANGES: usize = 64;

/// Room for changes that a copy is given.
const SPARE_OVERLAY_CHANGES: usize = 2;

/// Types of neighbouring slots.
type Page = Arc<[PackedType]>;

/// A type for each key.
#[derive(Debug)]
pub(crate) struct Env {
    own: [TypeId; OWN],
    /// The binary logarithm of a page's width.
    shift: u32,
    pages: Arc<[Page]>,
    /// What is not as on the pages, by slot: the ways out of a point differ in few keys.
    changes: Vec<(Slot, PackedType)>,
}

impl Clone for Env {
    fn clone(&self) -> Self {
        // A copy is made to be changed a little more.
        let mut changes = Vec::with_capacity(if self.changes.is_empty() { 0 } else { self.changes.len() + SPARE_OVERLAY_CHANGES });
        changes.extend_from_slice(&self.changes);
        Self { own: self.own, shift: self.shift, pages: Arc::clone(&self.pages), changes }
    }
}

impl PartialEq for Env {
    fn eq(&self, other: &Self) -> bool {
        let is_same = |slot| self.lane(slot) == other.lane(slot);
        let is_same_page = |(at, (one, other)): (usize, (&Page, &Page))| {
            Arc::ptr_eq(one, other) || (0..one.len()).all(|lane| one[lane] == other[lane] || is_same(self.slot(at, lane)))
        };
        self.own == other.own
            && self.changes.iter().chain(&other.changes).all(|(slot, _)| is_same(*slot))
            && (Arc::ptr_eq(&self.pages, &other.pages) || self.pages.iter().zip(&*other.pages).enumerate().all(is_same_page))
    }
}

/// Slots that edits may take before everything is worked out anew.
const SPARE_SLOTS: usize = 8;

/// How many slots there is room for, where so many are needed.
pub(crate) fn room(needed: usize) -> usize {
    let needed = needed.saturating_sub(OWN) + SPARE_SLOTS;
    needed.next_multiple_of(width(needed)) + OWN
}

fn width(needed: usize) -> usize {
    needed.div_ceil(TARGET_PAGES).next_power_of_two().clamp(MIN_PAGE_SLOTS, MAX_PAGE_SLOTS)
}

impl Env {
    /// No key is there; for as many slots as there is room for.
    pub(crate) fn absent(room: usize) -> Self {
        Self::all(TypeId::ABSENT, PackedType::ABSENT, room)
    }

    /// Nothing is known of any key; for as many slots as there is room for.
    pub(crate) fn open(room: usize) -> Self {
        Self::all(TypeId::DYNAMIC, PackedType::OPEN, room)
    }

    fn all(own: TypeId, lane: PackedType, room: usize) -> Self {
        let (slots, width) = (room.saturating_sub(OWN), width(room.saturating_sub(OWN)));
        let page: Page = vec![lane; width].into();
        Self { own: [own; OWN], shift: width.trailing_zeros(), pages: vec![page; slots.div_ceil(width)].into(), changes: Vec::new() }
    }

    /// On which page a slot stands, and where there.
    fn place(&self, Slot(at): Slot) -> (usize, usize) {
        let at = at as usize - OWN;
        (at >> self.shift, at & ((1 << self.shift) - 1))
    }

    /// The slot at a place.
    fn slot(&self, page: usize, lane: usize) -> Slot {
        Slot(to_u32((page << self.shift) + lane + OWN))
    }

    fn lane(&self, slot: Slot) -> PackedType {
        match self.changes.binary_search_by_key(&slot, |(slot, _)| *slot) {
            Ok(at) => self.changes[at].1,
            Err(_) => self.on_page(slot),
        }
    }

    fn on_page(&self, slot: Slot) -> PackedType {
        let (page, lane) = self.place(slot);
        self.pages[page][lane]
    }

    pub(crate) fn get(&self, slot: Slot, types: &mut TypeTable) -> TypeId {
        match self.own.get(slot.0 as usize) {
            Some(own) => *own,
            None => types.of_lane(slot, self.lane(slot)),
        }
    }

    /// What is known of a slot, where nothing is to be remembered.
    pub(crate) fn look<'t>(&self, slot: Slot, types: &'t TypeTable) -> Cow<'t, Type> {
        match self.own.get(slot.0 as usize) {
            Some(own) => Cow::Borrowed(types.get(*own)),
            None => types.spelled(slot, self.lane(slot)),
        }
    }

    /// Whether something can be there.
    pub(crate) fn may_hold(&self, slot: Slot, types: &TypeTable) -> bool {
        match self.own.get(slot.0 as usize) {
            Some(own) => types.may_be_there(*own),
            None => self.lane(slot).may_be_there(),
        }
    }

    /// Whether nothing can be there.
    pub(crate) fn may_lack(&self, slot: Slot, types: &TypeTable) -> bool {
        match self.own.get(slot.0 as usize) {
            Some(own) => types.may_lack(*own),
            None => types.may_lack_lane(self.lane(slot)),
        }
    }

    pub(crate) fn set(&mut self, slot: Slot, of: TypeId, types: &mut TypeTable) {
        match self.own.get_mut(slot.0 as usize) {
            Some(own) => *own = of,
            None => self.put(slot, types.lane(slot, of)),
        }
    }

    fn put(&mut self, slot: Slot, lane: PackedType) {
        let is_change = self.on_page(slot) != lane;
        match self.changes.binary_search_by_key(&slot, |(slot, _)| *slot) {
            Ok(at) if is_change => self.changes[at].1 = lane,
            Ok(at) => drop(self.changes.remove(at)),
            Err(at) if is_change => self.changes.insert(at, (slot, lane)),
            Err(_) => {}
        }
        if self.changes.len() > MAX_OVERLAY_CHANGES {
            self.flush();
        }
    }

    /// Whether these keys are as in others; not asked of facts with changes beside their pages.
    pub(crate) fn is_same_at(&self, other: &Self, mut slots: impl Iterator<Item = Slot>) -> bool {
        self.own == other.own
            && self.changes.is_empty()
            && other.changes.is_empty()
            && slots.all(|slot| (slot.0 as usize) < OWN || self.on_page(slot) == other.on_page(slot))
    }

    /// Whether they stand on the pages of others.
    pub(crate) fn is_on(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.pages, &other.pages)
    }

    /// Lays what is changed on the pages of others.
    pub(crate) fn lay_on(&mut self, other: &Self) {
        self.pages = Arc::clone(&other.pages);
    }

    /// Brings the changes to the pages.
    fn flush(&mut self) {
        std::mem::take(&mut self.changes).into_iter().for_each(|(slot, lane)| self.change(slot, lane));
    }

    /// Changes a page.
    fn change(&mut self, slot: Slot, lane: PackedType) {
        let (page, at) = self.place(slot);
        Arc::make_mut(&mut Arc::make_mut(&mut self.pages)[page])[at] = lane;
    }
}

//! What is known of every key at one moment: a type for each.
//!
//! Facts are shared: what a point does not touch is the same page as at the point before it.

use std::sync::Arc;

use super::types::{TypeId, Types};

/// A key that is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Slot(pub(super) u32);

/// `input` and `tool_result`, which are there only while their node resolves (language 4.3).
pub(super) const INPUT: Slot = Slot(0);
pub(super) const RESULT: Slot = Slot(1);

/// How many slots those are; they stand beside the others, since they change all the time.
pub(super) const OWN: usize = 2;

/// Slots that are compared at once.
const BLOCK: usize = 16;

/// A graph has about so many pages: copying a page costs less than counting who shares the others.
const PAGES: usize = 4;

/// No page is wider: where keys are very many, a point changes few of them.
const WIDEST: usize = 256;

/// Types of neighbouring slots.
type Page = Arc<[TypeId]>;

/// A type for each key.
#[derive(Clone, Debug)]
pub(super) struct Facts {
    own: [TypeId; OWN],
    /// The binary logarithm of a page's width.
    shift: u32,
    pages: Arc<[Page]>,
}

impl PartialEq for Facts {
    fn eq(&self, other: &Self) -> bool {
        let is_same = |(one, other): (&Page, &Page)| Arc::ptr_eq(one, other) || first_difference(one, other).is_none();
        self.own == other.own && (Arc::ptr_eq(&self.pages, &other.pages) || self.pages.iter().zip(&*other.pages).all(is_same))
    }
}

/// Slots that edits may take before everything is worked out anew.
const SPARE: usize = 8;

/// How many slots there is room for, where so many are needed.
pub(super) fn room(needed: usize) -> usize {
    let needed = needed.saturating_sub(OWN) + SPARE;
    needed.next_multiple_of(width(needed)) + OWN
}

fn width(needed: usize) -> usize {
    needed.div_ceil(PAGES).next_power_of_two().clamp(BLOCK, WIDEST)
}

impl Facts {
    /// Everything is `of`; for as many slots as there is room for.
    pub(super) fn all(of: TypeId, room: usize) -> Self {
        let (slots, width) = (room.saturating_sub(OWN), width(room.saturating_sub(OWN)));
        let page: Page = vec![of; width].into();
        Self { own: [of; OWN], shift: width.trailing_zeros(), pages: vec![page; slots.div_ceil(width)].into() }
    }

    fn place(&self, at: usize) -> (usize, usize) {
        (at >> self.shift, at & ((1 << self.shift) - 1))
    }

    pub(super) fn get(&self, slot: Slot) -> TypeId {
        match (slot.0 as usize).checked_sub(OWN) {
            Some(at) => {
                let (page, at) = self.place(at);
                self.pages[page][at]
            }
            None => self.own[slot.0 as usize],
        }
    }

    pub(super) fn set(&mut self, slot: Slot, of: TypeId) {
        match (slot.0 as usize).checked_sub(OWN) {
            Some(at) => {
                let (page, at) = self.place(at);
                if self.pages[page][at] != of {
                    Arc::make_mut(&mut Arc::make_mut(&mut self.pages)[page])[at] = of;
                }
            }
            None => self.own[slot.0 as usize] = of,
        }
    }

    /// Takes in what is possible elsewhere; says whether that is more.
    pub(super) fn join(&mut self, other: &Self, types: &mut Types) -> bool {
        let mut more = false;
        for (known, other) in self.own.iter_mut().zip(other.own) {
            let joined = types.join(*known, other);
            more |= joined != *known;
            *known = joined;
        }
        if Arc::ptr_eq(&self.pages, &other.pages) {
            return more;
        }
        for (at, others) in other.pages.iter().enumerate() {
            let own = &self.pages[at];
            if Arc::ptr_eq(own, others) {
                continue;
            }
            let (joined, is_other) = joined(own, others, types);
            more |= joined.is_some();
            match joined {
                Some(_) if is_other => Arc::make_mut(&mut self.pages)[at] = Arc::clone(others),
                Some(joined) => Arc::make_mut(&mut self.pages)[at] = joined,
                // Pages of one content become one page, which need not be compared again.
                None if is_other => {
                    if let Some(pages) = Arc::get_mut(&mut self.pages) {
                        pages[at] = Arc::clone(others);
                    }
                }
                None => {}
            }
        }
        more
    }
}

/// Two pages together, if that is more than the first, and whether it is the second.
fn joined(own: &Page, others: &Page, types: &mut Types) -> (Option<Page>, bool) {
    let mut joined: Option<Page> = None;
    let mut is_other = true;
    let mut at = 0;
    while let Some(block) = first_difference(&own[at..], &others[at..]) {
        for slot in at + block..at + block + BLOCK {
            let (known, other) = (own[slot], others[slot]);
            if known != other {
                let either = types.join(known, other);
                is_other &= either == other;
                if either != known {
                    Arc::make_mut(joined.get_or_insert_with(|| Arc::clone(own)))[slot] = either;
                }
            }
        }
        at += block + BLOCK;
    }
    (joined, is_other)
}

/// Where the first block begins in which two pages differ.
fn first_difference(one: &[TypeId], other: &[TypeId]) -> Option<usize> {
    let (ones, _) = one.as_chunks::<BLOCK>();
    let (others, _) = other.as_chunks::<BLOCK>();
    ones.iter().zip(others).position(|(one, other)| differ(one, other)).map(|block| block * BLOCK)
}

/// Whether two blocks differ. Bits, by their places and without a way out, become vector instructions; of iterators over both they do not.
#[inline]
fn differ(one: &[TypeId; BLOCK], other: &[TypeId; BLOCK]) -> bool {
    let mut differences = 0;
    for at in 0..BLOCK {
        differences |= one[at].differences(other[at]);
    }
    differences != 0
}

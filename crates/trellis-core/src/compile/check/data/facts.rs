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

/// Keys that are shared together.
pub(super) const PAGE: usize = 32;

type Page = Arc<[TypeId; PAGE]>;

/// A type for each key.
#[derive(Clone, Debug)]
pub(super) struct Facts {
    own: [TypeId; OWN],
    pages: Arc<[Page]>,
}

impl PartialEq for Facts {
    fn eq(&self, other: &Self) -> bool {
        let is_same = |(one, other): (&Page, &Page)| Arc::ptr_eq(one, other) || one == other;
        self.own == other.own && (Arc::ptr_eq(&self.pages, &other.pages) || self.pages.iter().zip(&*other.pages).all(is_same))
    }
}

impl Facts {
    /// Everything is `of`; for so many slots.
    pub(super) fn all(of: TypeId, slots: usize) -> Self {
        let page = Arc::new([of; PAGE]);
        Self { own: [of; OWN], pages: vec![page; slots.saturating_sub(OWN).div_ceil(PAGE)].into() }
    }

    pub(super) fn get(&self, slot: Slot) -> TypeId {
        match (slot.0 as usize).checked_sub(OWN) {
            Some(at) => self.pages[at / PAGE][at % PAGE],
            None => self.own[slot.0 as usize],
        }
    }

    pub(super) fn set(&mut self, slot: Slot, of: TypeId) {
        match (slot.0 as usize).checked_sub(OWN) {
            Some(at) => {
                if self.pages[at / PAGE][at % PAGE] != of {
                    let pages = Arc::make_mut(&mut self.pages);
                    Arc::make_mut(&mut pages[at / PAGE])[at % PAGE] = of;
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
        for at in 0..self.pages.len() {
            let (own, others) = (&self.pages[at], &other.pages[at]);
            if Arc::ptr_eq(own, others) {
                continue;
            }
            let (mut is_own, mut is_other) = (true, true);
            let mut joined = **own;
            for (known, other) in joined.iter_mut().zip(others.iter()) {
                if *known != *other {
                    let either = types.join(*known, *other);
                    is_own &= either == *known;
                    is_other &= either == *other;
                    *known = either;
                }
            }
            // Pages of one content become one page, which need not be compared again.
            if is_other && (!is_own || Arc::get_mut(&mut self.pages).is_some()) {
                let page = Arc::clone(&other.pages[at]);
                Arc::make_mut(&mut self.pages)[at] = page;
            } else if !is_own {
                Arc::make_mut(&mut self.pages)[at] = Arc::new(joined);
            }
            more |= !is_own;
        }
        more
    }
}

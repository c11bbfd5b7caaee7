//! What is known of every key at one moment: a type for each.
//!
//! Facts are shared: what a point does not touch is the same page as at the point before it.

use std::rc::Rc;

use super::types::{TypeId, Types};

/// A key that is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Slot(pub(super) u32);

/// `input` and `tool_result`, which are there only while their node resolves (language 4.3).
pub(super) const INPUT: Slot = Slot(0);
pub(super) const RESULT: Slot = Slot(1);

const PAGE: usize = 32;

/// A type for each key.
#[derive(Clone, Debug)]
pub(super) struct Facts {
    pages: Rc<Vec<Rc<[TypeId; PAGE]>>>,
}

impl Facts {
    /// Everything is `of`.
    pub(super) fn all(of: TypeId, slots: usize) -> Self {
        let page = Rc::new([of; PAGE]);
        Self { pages: Rc::new(vec![page; slots.div_ceil(PAGE)]) }
    }

    pub(super) fn get(&self, slot: Slot) -> TypeId {
        let at = slot.0 as usize;
        self.pages[at / PAGE][at % PAGE]
    }

    pub(super) fn set(&mut self, slot: Slot, of: TypeId) {
        if self.get(slot) != of {
            let at = slot.0 as usize;
            let pages = Rc::make_mut(&mut self.pages);
            Rc::make_mut(&mut pages[at / PAGE])[at % PAGE] = of;
        }
    }

    /// Takes in what is possible elsewhere; says whether that is more.
    pub(super) fn join(&mut self, other: &Self, types: &mut Types) -> bool {
        if Rc::ptr_eq(&self.pages, &other.pages) {
            return false;
        }
        let mut more = false;
        for at in 0..self.pages.len() {
            let (own, others) = (&self.pages[at], &other.pages[at]);
            if Rc::ptr_eq(own, others) || own == others {
                continue;
            }
            let mut joined = **own;
            for (known, other) in joined.iter_mut().zip(others.iter()) {
                *known = types.join(*known, *other);
            }
            if joined != **own {
                more = true;
                Rc::make_mut(&mut self.pages)[at] = Rc::new(joined);
            }
        }
        more
    }
}

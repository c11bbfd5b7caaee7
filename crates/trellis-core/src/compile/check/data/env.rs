//! What is possible of 64 paths at one point: that each is absent, present, or that nothing is known of it.

use super::paths::{PathId, Paths};

/// What is possible of 64 paths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Env {
    pub(super) absent: u64,
    pub(super) present: u64,
    pub(super) unknown: u64,
}

impl Env {
    pub(super) fn join(&mut self, other: Self) -> bool {
        let before = *self;
        self.absent |= other.absent;
        self.present |= other.present;
        self.unknown |= other.unknown;
        *self != before
    }

    pub(super) fn forget(&mut self, bits: u64) {
        self.absent &= !bits;
        self.present &= !bits;
        self.unknown &= !bits;
    }

    /// A path is there, and so is what it stands in.
    pub(super) fn set(&mut self, paths: &Paths, id: PathId) {
        let bits = id.mask() | paths.above(id);
        self.forget(bits);
        self.present |= bits;
    }

    pub(super) fn unset(&mut self, paths: &Paths, id: PathId) {
        let bits = id.mask() | paths.below(id);
        self.forget(bits);
        self.absent |= bits;
    }
}

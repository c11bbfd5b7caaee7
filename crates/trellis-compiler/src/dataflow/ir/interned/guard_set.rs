//! Sets of guards under which a read happens, interned.

use rustc_hash::FxHashMap;

use crate::dataflow::{domain::GuardId, index::to_u32, ir::keys::InternedPath};

/// Interned conjunction of guards over paths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct GuardSetId(u32);

impl GuardSetId {
    /// Empty conjunction: no guard that is followed.
    pub(crate) const NONE: Self = Self(0);
}

/// Guard over a path, and the truth that it must have.
pub(crate) type PathGuard = (InternedPath, GuardId, bool);

/// Interned conjunctions: equal ones have one id.
#[derive(Debug)]
pub(crate) struct GuardSetTable {
    all: Vec<Box<[PathGuard]>>,
    known: FxHashMap<Box<[PathGuard]>, GuardSetId>,
}

impl Default for GuardSetTable {
    fn default() -> Self {
        Self { all: vec![Box::default()], known: [(Box::default(), GuardSetId::NONE)].into_iter().collect() }
    }
}

impl GuardSetTable {
    pub(crate) fn put(&mut self, tests: Box<[PathGuard]>) -> GuardSetId {
        if let Some(known) = self.known.get(&tests) {
            return *known;
        }
        let number = GuardSetId(to_u32(self.all.len()));
        self.all.push(tests.clone());
        self.known.insert(tests, number);
        number
    }

    pub(crate) fn get(&self, GuardSetId(at): GuardSetId) -> &[PathGuard] {
        &self.all[at as usize]
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }
}

//! Memo table of joins: few pairs occur again and again.
//!
//! A direct-mapped cache of [`PLACES`] entries is in front of a hash map, because the solver repeats recent pairs.

use rustc_hash::FxHashMap;

use super::TypeId;

/// Number of entries of the direct-mapped cache, a power of two.
const CACHED_PAIRS: usize = 1024;

/// Joins by pair: all of them, and a direct-mapped cache of recent ones.
#[derive(Clone, Debug)]
pub(crate) struct JoinCache {
    all: FxHashMap<(TypeId, TypeId), TypeId>,
    last: Box<[((TypeId, TypeId), TypeId); CACHED_PAIRS]>,
}

impl Default for JoinCache {
    fn default() -> Self {
        // A pair has two different types, so this one never matches.
        let nothing = ((TypeId::NEVER, TypeId::NEVER), TypeId::NEVER);
        Self { all: FxHashMap::default(), last: Box::new([nothing; CACHED_PAIRS]) }
    }
}

impl JoinCache {
    /// Returns the join of a recent pair; `None` if its entry holds another pair.
    #[inline]
    pub(crate) fn last(&self, pair: (TypeId, TypeId)) -> Option<TypeId> {
        let (known, of) = self.last[place(pair)];
        (known == pair).then_some(of)
    }

    pub(crate) fn get(&mut self, pair: (TypeId, TypeId)) -> Option<TypeId> {
        let known = *self.all.get(&pair)?;
        self.last[place(pair)] = (pair, known);
        Some(known)
    }

    pub(crate) fn insert(&mut self, pair: (TypeId, TypeId), of: TypeId) {
        self.all.insert(pair, of);
    }
}

#[inline]
fn place((TypeId(a), TypeId(b)): (TypeId, TypeId)) -> usize {
    (a.wrapping_mul(0x9e37_79b1) ^ b.wrapping_mul(0x85eb_ca77)) as usize >> (32 - CACHED_PAIRS.trailing_zeros())
}

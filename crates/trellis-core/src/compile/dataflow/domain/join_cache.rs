//! What two types come to together, remembered: few pairs are asked for again and again.

use rustc_hash::FxHashMap;

use super::TypeId;

/// Places for pairs that were asked for last: a power of two.
const CACHED_PAIRS: usize = 1024;

/// All pairs, and those that were asked for last where they are found at once.
#[derive(Debug)]
pub(crate) struct JoinCache {
    all: FxHashMap<(TypeId, TypeId), TypeId>,
    last: Box<[((TypeId, TypeId), TypeId); CACHED_PAIRS]>,
}

impl Default for JoinCache {
    fn default() -> Self {
        // No pair is of two that are one.
        let nothing = ((TypeId::NEVER, TypeId::NEVER), TypeId::NEVER);
        Self { all: FxHashMap::default(), last: Box::new([nothing; CACHED_PAIRS]) }
    }
}

impl JoinCache {
    /// What a pair comes to that was asked for just now.
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

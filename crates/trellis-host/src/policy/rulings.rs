//! Decisions that sessions store, so that no provider is asked twice about one call.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use trellis_core::id::IdempotencyKey;

use super::Decided;

/// The decisions about the pending call, or about its parts: a fold of `policy` records. It is forgotten with that call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Rulings {
    /// The pending call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    of: Option<IdempotencyKey>,
    #[serde(default)]
    by_key: BTreeMap<IdempotencyKey, Decided>,
}

impl Rulings {
    /// The decision about a call, all its attempts.
    pub fn get(&self, key: &IdempotencyKey) -> Option<&Decided> {
        self.by_key.get(key)
    }

    /// Returns whether nothing is remembered.
    pub fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }

    /// The times at which interceptors held calls.
    pub(crate) fn times(&mut self) -> impl Iterator<Item = &mut u64> {
        self.by_key.values_mut().filter_map(|decided| decided.hold.as_mut()).map(|hold| &mut hold.since)
    }

    /// Takes a record: the call that is pending behind it, and the decision that it holds, if it holds one.
    pub(crate) fn fold(&mut self, pending: Option<&IdempotencyKey>, decided: Option<(&IdempotencyKey, &Decided)>) {
        if self.of.as_ref() != pending {
            (self.of, self.by_key) = (None, BTreeMap::new());
        }
        if let Some((key, decided)) = decided {
            self.of = pending.cloned();
            self.by_key.insert(key.clone(), decided.clone());
        }
    }
}

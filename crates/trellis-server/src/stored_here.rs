//! What this process stored, so that it is told apart from what others did.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use trellis_core::SessionId;
use trellis_host::SessionEvent;

/// The numbers of the next records of sessions that this process stored something of, since the last reading.
#[derive(Debug, Default)]
pub(crate) struct StoredHere(Mutex<BTreeMap<SessionId, u64>>);

impl StoredHere {
    /// Remembers what was stored.
    pub(crate) fn note(&self, id: &SessionId, event: &SessionEvent) {
        let SessionEvent::Recorded(records) = event else { return };
        if let Some(last) = records.last() {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(id.clone(), last.seq + 1);
        }
    }

    /// Returns what was noted, and forgets it.
    pub(crate) fn take(&self) -> BTreeMap<SessionId, u64> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

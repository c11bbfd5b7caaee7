//! The records behind the newest snapshot of a session, and when it is time for another.

use std::sync::Arc;

use crate::store::{Snapshot, Stored};

/// Records after which a snapshot saves time when the session is loaded, if they are also longer than the snapshot.
const RECORDS_PER_SNAPSHOT: u64 = 64;
/// Records after which there is a snapshot in any case.
const SNAPSHOT_AT_LAST: u64 = 4096;

/// The records in a store after its newest snapshot of a session.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StoreTail {
    records: u64,
    bytes: usize,
    /// The size of that snapshot.
    snapshot: usize,
}

impl StoreTail {
    pub(super) fn of(stored: &Stored) -> Self {
        let bytes = stored.records.iter().filter_map(|row| row.text.as_ref().ok()).map(|text| text.len()).sum();
        Self { records: stored.records.len() as u64, bytes, snapshot: stored.snapshot.as_ref().map_or(0, |(_, text)| text.len()) }
    }

    /// The tail with more records, and a snapshot where it is time for one.
    pub(super) fn grown(self, records: &[Arc<str>], here: &Snapshot) -> (Self, Option<Arc<str>>) {
        let bytes = self.bytes + records.iter().map(|text| text.len()).sum::<usize>();
        let grown = Self { records: self.records + records.len() as u64, bytes, ..self };
        let is_time = grown.records >= RECORDS_PER_SNAPSHOT && (bytes > 2 * self.snapshot || grown.records >= SNAPSHOT_AT_LAST);
        match is_time.then(|| here.to_json()) {
            Some(text) => (Self { snapshot: text.len(), ..Self::default() }, Some(text)),
            None => (grown, None),
        }
    }
}

/// A record as it is stored; everything in it is JSON.
pub(super) fn json(value: &impl serde::Serialize) -> Arc<str> {
    serde_json::to_string(value).unwrap_or_else(|error| unreachable!("a record is JSON: {error}")).into()
}

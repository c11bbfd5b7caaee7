//! Typed secrets, as a snapshot has them.

use std::sync::Arc;

use trellis_core::Program;

use super::{Snapshot, StoreError, Stored, read};
use crate::journal::{Entry, LeftOut, Record, TypedSecrets, asks_for_secrets};

impl Snapshot {
    /// As [`Snapshot::of`], with the secrets that were typed since the newest snapshot at nodes of `program` that ask for one: a caller that
    /// stores a snapshot needs them.
    ///
    /// # Errors
    /// As [`Snapshot::of`].
    pub fn asked_by(program: &Program, stored: &Stored) -> Result<Self, StoreError> {
        let mut here = Self::of(stored)?;
        if asks_for_secrets(program) {
            let session = stored.head.session.as_str();
            let records = stored.records.iter().filter_map(|row| read(session, row).ok());
            records.for_each(|record| here.typed.learn(program, &record));
        }
        Ok(here)
    }

    /// Returns the snapshot as it is stored. Of typed secrets it has those that occur elsewhere in it.
    pub(crate) fn to_json(&self) -> Arc<str> {
        if self.typed.is_empty() {
            return json(self);
        }
        let mut bare = Self { typed: TypedSecrets::default(), ..self.clone() };
        bare.typed = self.typed.held_in(&json(&bare));
        json(&bare)
    }
}

fn json(snapshot: &Snapshot) -> Arc<str> {
    serde_json::to_string(snapshot).unwrap_or_else(|error| unreachable!("a snapshot is JSON: {error}")).into()
}

/// Returns the secrets typed before a record that opens an epoch, where `before` is as far as that is known.
pub(super) fn typed_before(record: &Record, before: Option<&Snapshot>) -> TypedSecrets {
    match (&record.entry, before) {
        (_, Some(before)) => before.typed.clone().without(LeftOut::Unknown),
        (Entry::Start { origin: Some(origin), .. }, None) => origin.typed.clone(),
        (Entry::Start { .. }, None) => TypedSecrets::default(),
        (_, None) => TypedSecrets::unknown(),
    }
}

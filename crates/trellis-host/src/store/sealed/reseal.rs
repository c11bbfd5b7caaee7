//! A new key for stored texts, a page of sessions at a time.
//!
//! A store only appends. So each session that an older key seals gets a record that supplies no keys, and with it a snapshot under the newest key:
//! from then on the older key is needed for the history before that record alone, until that is pruned.
//!
//! **Invariant:** a session that advances meanwhile loses nothing: resealed texts are appended at the number that was read, or not at all.

use std::{collections::BTreeSet, sync::Arc};

use trellis_core::{Mapping, SessionId};

use super::{
    Sealed,
    envelope::{is_outdated, key_of},
};
use crate::{
    journal::{Entry, Record},
    store::{Append, Head, Query, RECORDS_PER_PAGE, SessionStore, Snapshot, StoreError, Which},
};

/// The number of attempts at a session that advances meanwhile.
const TRIES: usize = 5;

/// The result for a page of sessions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Resealed {
    /// The number of those that are under the newest key now.
    pub sealed: usize,
    /// The number of those that were before.
    pub already_sealed: usize,
    /// Those that could not be resealed, and the reasons.
    pub failed: Vec<(SessionId, StoreError)>,
    /// The beginning of the next page; `None` if this was the last one.
    pub next: Option<(u64, SessionId)>,
}

impl<S: SessionStore> Sealed<S> {
    /// Sees to it that the newest key opens where sessions are: those of the page of `limit` that begins behind `after`.
    ///
    /// # Errors
    /// The store cannot be reached or written; sessions resealed so far stay so.
    pub async fn reseal(&self, after: Option<(u64, SessionId)>, limit: usize) -> Result<Resealed, StoreError> {
        let heads = self.store.list(Query { graph: None, which: Which::Newest, after, limit }).await?;
        let next = heads.last().filter(|_| heads.len() == limit).map(|head| (head.at, head.session.clone()));
        let mut page = Resealed { next, ..Resealed::default() };
        for head in heads {
            match self.anew(&head.session).await {
                Ok(true) => page.sealed += 1,
                Ok(false) => page.already_sealed += 1,
                Err(error @ (StoreError::Unavailable { .. } | StoreError::Unwritable { .. })) => return Err(error),
                Err(error) => page.failed.push((head.session, error)),
            }
        }
        Ok(page)
    }

    /// Returns the names of the keys that open the stored texts of a session, its whole history included; `None` represents texts that were
    /// never sealed.
    ///
    /// # Errors
    /// The store fails.
    pub async fn keys_of(&self, session: &SessionId) -> Result<BTreeSet<Option<Arc<str>>>, StoreError> {
        let mut keys = BTreeSet::new();
        let stored = self.store.load(std::slice::from_ref(session)).await?.pop().flatten();
        keys.extend(stored.and_then(|stored| stored.snapshot).map(|(_, text)| key_of(&text)));
        let mut next = 0;
        loop {
            let rows = self.store.records(session, next, RECORDS_PER_PAGE).await?;
            keys.extend(rows.iter().filter_map(|row| row.text.as_ref().ok()).map(|text| key_of(text)));
            match rows.last() {
                Some(last) if rows.len() == RECORDS_PER_PAGE => next = last.seq + 1,
                _ => return Ok(keys),
            }
        }
    }

    /// Reseals a session; returns whether it had to be.
    async fn anew(&self, session: &SessionId) -> Result<bool, StoreError> {
        let mut tries = 0;
        loop {
            let Some(stored) = self.store.load(std::slice::from_ref(session)).await?.pop().flatten() else { return Ok(false) };
            let records = stored.records.iter().filter_map(|row| row.text.as_ref().ok());
            let mut texts = stored.snapshot.iter().map(|(_, text)| text).chain(records);
            if !texts.any(|text| is_outdated(text, &self.keys())) {
                return Ok(false);
            }
            let stored = self.opened(stored)?;
            let mut snapshot = Snapshot::of(&stored)?;
            let head = stored.head;
            let record = nothing_new(&head);
            snapshot.take(&record);
            let corrupt =
                |error: serde_json::Error| StoreError::Corrupt { place: format!("session `{session}`"), message: error.to_string() };
            let records = vec![serde_json::to_string(&record).map_err(corrupt)?.into()];
            let snapshot = Some(serde_json::to_string(&snapshot).map_err(corrupt)?.into());
            let expected = head.next;
            // It did not move: it stays where it was in the list.
            let head = Head { next: expected + 1, ..head };
            match self.append(Append { session: session.clone(), expected, records, head, snapshot }).await {
                Ok(()) => return Ok(true),
                Err(StoreError::Conflict { .. }) if tries < TRIES => tries += 1,
                Err(error) => return Err(error),
            }
        }
    }
}

/// A record that changes nothing.
fn nothing_new(head: &Head) -> Record {
    Record {
        seq: head.next,
        at: head.at,
        child: None,
        entry: Entry::Context { keys: Mapping::new() },
        from: Some(head.node.clone()),
        to: head.node.clone(),
        events: Vec::new(),
        changes: Box::default(),
        program: head.program.clone(),
        still_asked: true,
        question: None,
        request: None,
        unasked: Vec::new(),
    }
}

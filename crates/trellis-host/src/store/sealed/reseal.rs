//! A new key for what is stored already, a page of sessions at a time.
//!
//! A store only appends. So each session that an older key seals gets a record that supplies no keys, and with it a snapshot under the newest key:
//! from then on the older key is needed for the history before that record alone, until that is pruned.
//!
//! **Invariant:** a session that goes on meanwhile loses nothing: what was sealed anew is appended where it was read, or not at all.

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

/// How often a session that goes on meanwhile is tried again.
const TRIES: usize = 5;

/// What became of a page of sessions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Resealed {
    /// How many go on under the newest key from now on.
    pub sealed: usize,
    /// How many did so before.
    pub kept: usize,
    /// Those that could not be sealed anew, and why.
    pub failed: Vec<(SessionId, StoreError)>,
    /// Where the next page begins; nothing: this was the last one.
    pub next: Option<(u64, SessionId)>,
}

impl<S: SessionStore> Sealed<S> {
    /// Sees to it that the newest key opens where sessions are: those of the page of `limit` that begins behind `after`.
    ///
    /// # Errors
    /// The store cannot be reached or written; what was sealed anew so far is.
    pub async fn reseal(&self, after: Option<(u64, SessionId)>, limit: usize) -> Result<Resealed, StoreError> {
        let heads = self.store.list(Query { graph: None, which: Which::Newest, after, limit }).await?;
        let next = heads.last().filter(|_| heads.len() == limit).map(|head| (head.at, head.session.clone()));
        let mut page = Resealed { next, ..Resealed::default() };
        for head in heads {
            match self.anew(&head.session).await {
                Ok(true) => page.sealed += 1,
                Ok(false) => page.kept += 1,
                Err(error @ (StoreError::Unavailable { .. } | StoreError::Unwritable { .. })) => return Err(error),
                Err(error) => page.failed.push((head.session, error)),
            }
        }
        Ok(page)
    }

    /// The names of the keys that open what is kept of a session, its whole history included; nothing stands for what never was sealed.
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

    /// Whether the session had to be sealed anew.
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
    }
}

//! A store in memory: for tests, and for hosts whose sessions may end with them.

use std::{
    collections::{BTreeMap, VecDeque},
    future,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use trellis_core::SessionId;

use super::{Append, Head, Pending, Query, Removal, Row, SessionStore, StoreError, Stored};

/// Stores sessions as long as the process lives.
///
/// ```
/// use std::sync::Arc;
///
/// use trellis_host::store::{MemoryStore, SessionStore};
///
/// let store: Arc<dyn SessionStore> = Arc::new(MemoryStore::new());
/// # drop(store);
/// ```
#[derive(Debug, Default)]
pub struct MemoryStore {
    sessions: Mutex<BTreeMap<SessionId, StoredSession>>,
}

#[derive(Debug)]
struct StoredSession {
    head: Head,
    snapshot: Option<(u64, Arc<str>)>,
    /// The number of the oldest stored record.
    first: u64,
    records: VecDeque<Arc<str>>,
}

impl MemoryStore {
    /// A store without sessions.
    pub fn new() -> Self {
        Self::default()
    }

    fn sessions(&self) -> MutexGuard<'_, BTreeMap<SessionId, StoredSession>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, append: Append) -> Result<(), StoreError> {
        let Append { session, expected, records, head, snapshot } = append;
        let mut sessions = self.sessions();
        let found = sessions.get(&session).map_or(0, |stored| stored.head.next);
        if found != expected {
            return Err(StoreError::Conflict { session, expected, found });
        }
        let snapshot = snapshot.map(|text| (head.next, text));
        match sessions.get_mut(&session) {
            Some(stored) => {
                stored.head = head;
                stored.snapshot = snapshot.or_else(|| stored.snapshot.take());
                stored.records.extend(records);
            }
            None => {
                sessions.insert(session, StoredSession { head, snapshot, first: 0, records: records.into() });
            }
        }
        Ok(())
    }

    fn take_out(&self, session: &SessionId, removal: Removal) -> Result<(), StoreError> {
        let mut sessions = self.sessions();
        let Some(stored) = sessions.get_mut(session) else { return Ok(()) };
        match removal {
            Removal::Session { expected } if stored.head.next != expected => {
                return Err(StoreError::Conflict { session: session.clone(), expected, found: stored.head.next });
            }
            Removal::Session { .. } => drop(sessions.remove(session)),
            Removal::Before(seq) => {
                let held = stored.snapshot.as_ref().map_or(0, |(held, _)| *held);
                while stored.first < seq.min(held) && stored.records.pop_front().is_some() {
                    stored.first += 1;
                }
            }
        }
        Ok(())
    }
}

impl StoredSession {
    fn from(&self, seq: u64) -> impl Iterator<Item = Row> {
        let skipped = usize::try_from(seq.saturating_sub(self.first)).unwrap_or(usize::MAX);
        let rows = self.records.iter().zip(self.first..).skip(skipped);
        rows.map(|(text, seq)| Row { seq, text: Ok(Arc::clone(text)) })
    }

    fn stored(&self) -> Stored {
        let since = self.snapshot.as_ref().map_or(0, |(next, _)| *next);
        Stored { head: self.head.clone(), snapshot: self.snapshot.clone(), records: self.from(since).collect() }
    }
}

impl SessionStore for MemoryStore {
    fn append(&self, append: Append) -> Pending<'_, ()> {
        Box::pin(future::ready(self.put(append)))
    }

    fn load<'a>(&'a self, sessions: &'a [SessionId]) -> Pending<'a, Vec<Option<Stored>>> {
        let stored = self.sessions();
        Box::pin(future::ready(Ok(sessions.iter().map(|session| stored.get(session).map(StoredSession::stored)).collect())))
    }

    fn records<'a>(&'a self, session: &'a SessionId, from: u64, limit: usize) -> Pending<'a, Vec<Row>> {
        let rows = self.sessions().get(session).map_or_else(Vec::new, |stored| stored.from(from).take(limit).collect());
        Box::pin(future::ready(Ok(rows)))
    }

    fn list(&self, query: Query) -> Pending<'_, Vec<Head>> {
        let heads = self.sessions().values().map(|stored| stored.head.clone()).collect();
        Box::pin(future::ready(Ok(query.of(heads))))
    }

    fn remove<'a>(&'a self, session: &'a SessionId, removal: Removal) -> Pending<'a, ()> {
        Box::pin(future::ready(self.take_out(session, removal)))
    }
}

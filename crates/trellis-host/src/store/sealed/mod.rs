//! A store whose texts are sealed: records and snapshots are encrypted before they reach the inner store.
//!
//! Heads stay in the clear, since lists are made of them: names of sessions, graphs and nodes, times, waits. Texts from before there was a key are
//! read unchanged, and all texts written from now on are sealed; so a text that somebody without a key puts into the store is read too. Access
//! control of the store itself keeps strangers from writing.
//!
//! **Invariant:** nothing of a record or a snapshot reaches the inner store in the clear.

mod envelope;
mod keys;
mod reseal;

use std::{
    fmt,
    sync::{Arc, PoisonError, RwLock},
};

use trellis_core::SessionId;

use self::envelope::{Closed, SealedPlace, Sealer, open};
pub use self::{keys::Keys, reseal::Resealed};
use super::{Append, Head, Pending, Query, Removal, Row, SessionStore, StoreError, Stored};

/// Seals the texts of another store. A key that is added to the key file meanwhile is found when a text needs it, and seals from then on if it is the
/// first.
///
/// ```
/// use std::sync::Arc;
///
/// use trellis_host::store::{Keys, MemoryStore, Sealed, SessionStore};
///
/// # let folder = tempfile::tempdir()?;
/// let file = folder.path().join("key");
/// Keys::generate(&file)?;
/// let store: Arc<dyn SessionStore> = Arc::new(Sealed::new(MemoryStore::new(), Keys::read(&file)?));
/// # drop(store);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Sealed<S> {
    store: S,
    keys: RwLock<Arc<Keys>>,
}

impl<S: SessionStore> Sealed<S> {
    /// Seals the texts of `store`: the first of `keys` seals, all of them open.
    pub fn new(store: S, keys: Keys) -> Self {
        Self { store, keys: RwLock::new(Arc::new(keys)) }
    }

    fn keys(&self) -> Arc<Keys> {
        Arc::clone(&self.keys.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Opens a text; where no key does, also with those that the key file holds by now.
    fn open(&self, text: &Arc<str>, place: SealedPlace<'_>) -> Result<Arc<str>, Closed> {
        let keys = self.keys();
        match open(text, place, &keys) {
            Err(Closed::Key(message)) => {
                let newer = Arc::new(keys.renewed().ok_or(Closed::Key(message))?);
                *self.keys.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&newer);
                open(text, place, &newer)
            }
            opened => opened,
        }
    }

    fn seal(&self, mut append: Append) -> Result<Append, StoreError> {
        let no_randomness = || StoreError::Key("the system has no random bytes; nothing was sealed".into());
        let sealer = Sealer::new(&self.keys()).ok_or_else(no_randomness)?;
        let session = append.session.as_str();
        for (text, seq) in append.records.iter_mut().zip(append.expected..) {
            *text = sealer.seal(text, SealedPlace::Record(session, seq)).ok_or_else(no_randomness)?;
        }
        if let Some(text) = &mut append.snapshot {
            *text = sealer.seal(text, SealedPlace::Snapshot(session, append.head.next)).ok_or_else(no_randomness)?;
        }
        Ok(append)
    }

    /// Opens everything that is needed to continue; a record that was changed is one that cannot be read.
    fn opened(&self, mut stored: Stored) -> Result<Stored, StoreError> {
        let session = &stored.head.session;
        if let Some((next, text)) = &mut stored.snapshot {
            let place = SealedPlace::Snapshot(session.as_str(), *next);
            *text = self.open(text, place).map_err(|closed| match closed {
                Closed::Changed(message) => StoreError::Corrupt { place: place.said(), message },
                closed => hopeless(closed, place),
            })?;
        }
        for row in &mut stored.records {
            let place = SealedPlace::Record(session.as_str(), row.seq);
            if let Ok(text) = &row.text {
                row.text = match self.open(text, place) {
                    Ok(text) => Ok(text),
                    Err(Closed::Changed(message)) => Err(message.into()),
                    Err(closed) => return Err(hopeless(closed, place)),
                };
            }
        }
        Ok(stored)
    }

    /// Opens a part of the history; an unreadable one has the reason, and the rest can be read.
    fn shown(&self, session: &SessionId, mut row: Row) -> Row {
        let place = SealedPlace::Record(session.as_str(), row.seq);
        row.text = row.text.and_then(|text| {
            self.open(&text, place).map_err(|closed| match closed {
                Closed::Changed(message) => message.into(),
                closed => hopeless(closed, place).to_string().into(),
            })
        });
        row
    }
}

/// Returns the error for a text that only another key, or another version, can open.
fn hopeless(closed: Closed, place: SealedPlace<'_>) -> StoreError {
    match closed {
        Closed::Key(message) | Closed::Changed(message) => StoreError::Key(message),
        Closed::Newer(found) => StoreError::Newer { store: place.said().into(), found, known: 1 },
    }
}

impl<S: SessionStore> SessionStore for Sealed<S> {
    fn append(&self, append: Append) -> Pending<'_, ()> {
        Box::pin(async move { self.store.append(self.seal(append)?).await })
    }

    fn load<'a>(&'a self, sessions: &'a [SessionId]) -> Pending<'a, Vec<Option<Stored>>> {
        Box::pin(async move {
            let stored = self.store.load(sessions).await?;
            stored.into_iter().map(|stored| stored.map(|stored| self.opened(stored)).transpose()).collect()
        })
    }

    fn records<'a>(&'a self, session: &'a SessionId, from: u64, limit: usize) -> Pending<'a, Vec<Row>> {
        Box::pin(async move {
            let rows = self.store.records(session, from, limit).await?;
            Ok(rows.into_iter().map(|row| self.shown(session, row)).collect())
        })
    }

    fn list(&self, query: Query) -> Pending<'_, Vec<Head>> {
        self.store.list(query)
    }

    fn remove<'a>(&'a self, session: &'a SessionId, removal: Removal) -> Pending<'a, ()> {
        self.store.remove(session, removal)
    }
}

impl<S: fmt::Debug> fmt::Debug for Sealed<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sealed").field("store", &self.store).field("keys", &self.keys).finish()
    }
}

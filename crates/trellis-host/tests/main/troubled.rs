//! A store with trouble, which remembers what it was asked.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use trellis_core::SessionId;
use trellis_host::store::{Append, Head, MemoryStore, Pending, Query, Removal, Row, SessionStore, StoreError, Stored};

/// A store in memory that has trouble.
#[derive(Default)]
pub(crate) struct Troubled {
    /// True if nothing can be reached.
    pub(crate) is_away: AtomicBool,
    /// The session that cannot be loaded, nor anything together with it.
    pub(crate) damaged: Mutex<Option<SessionId>>,
    /// True if nothing can be written.
    pub(crate) is_full: AtomicBool,
    /// True if loading shows the state before the first write, as a copy that lags does.
    pub(crate) is_old: AtomicBool,
    /// The number of times that a caller must look again.
    pub(crate) delay: AtomicUsize,
    pub(crate) store: MemoryStore,
    pub(crate) troubles: Mutex<Vec<Trouble>>,
    asked: Mutex<Vec<&'static str>>,
}

/// The fate of one append.
#[derive(Clone, Copy)]
pub(crate) enum Trouble {
    /// It is not reached.
    Lost,
    /// It is reached, and its answer is not.
    Unanswered,
    /// It is full.
    Full,
    /// It writes, or does not, and never answers.
    Silent { writes: bool },
}

impl Troubled {
    /// Sets the fates of the next appends, one after the other.
    pub(crate) fn with(troubles: &[Trouble]) -> Arc<Self> {
        Arc::new(Self { troubles: Mutex::new(troubles.iter().rev().copied().collect()), ..Self::default() })
    }

    /// Returns the requests since the last time.
    pub(crate) fn taken(&self) -> Vec<&'static str> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }

    /// Returns the number of requests of this kind.
    pub(crate) fn count(&self, what: &str) -> usize {
        self.asked.lock().unwrap().iter().filter(|asked| **asked == what).count()
    }

    fn asked(&self, what: &'static str) {
        self.asked.lock().unwrap().push(what);
    }

    async fn delayed(&self) {
        for _ in 0..self.delay.load(Ordering::Relaxed) {
            tokio::task::yield_now().await;
        }
    }

    /// An error while it is away.
    fn reached(&self) -> Result<(), StoreError> {
        match self.is_away.load(Ordering::Relaxed) {
            true => Err(StoreError::Unavailable { store: "the store".into(), message: "gone".into() }),
            false => Ok(()),
        }
    }
}

impl SessionStore for Troubled {
    fn append(&self, append: Append) -> Pending<'_, ()> {
        self.asked("append");
        let trouble = self.troubles.lock().unwrap().pop().or_else(|| self.is_full.load(Ordering::Relaxed).then_some(Trouble::Full));
        let away = || StoreError::Unavailable { store: "the store".into(), message: "gone".into() };
        Box::pin(async move {
            self.delayed().await;
            self.reached()?;
            match trouble {
                None => self.store.append(append).await,
                Some(Trouble::Lost) => Err(away()),
                Some(Trouble::Unanswered) => {
                    self.store.append(append).await?;
                    Err(away())
                }
                Some(Trouble::Silent { writes }) => {
                    if writes {
                        self.store.append(append).await?;
                    }
                    std::future::pending().await
                }
                Some(Trouble::Full) => Err(StoreError::Unwritable { store: "the store".into(), message: "no space left".into() }),
            }
        })
    }

    fn load<'a>(&'a self, sessions: &'a [SessionId]) -> Pending<'a, Vec<Option<Stored>>> {
        self.asked("load");
        Box::pin(async {
            self.delayed().await;
            self.reached()?;
            if let Some(damaged) = self.damaged.lock().unwrap().as_ref().filter(|damaged| sessions.contains(damaged)) {
                return Err(StoreError::Corrupt { place: format!("session `{damaged}`"), message: "its head is none".into() });
            }
            if self.is_old.load(Ordering::Relaxed) {
                return Ok(vec![None; sessions.len()]);
            }
            self.store.load(sessions).await
        })
    }

    fn records<'a>(&'a self, session: &'a SessionId, from: u64, limit: usize) -> Pending<'a, Vec<Row>> {
        self.asked("records");
        self.store.records(session, from, limit)
    }

    fn list(&self, query: Query) -> Pending<'_, Vec<Head>> {
        self.asked("list");
        Box::pin(async {
            self.reached()?;
            self.store.list(query).await
        })
    }

    fn remove<'a>(&'a self, session: &'a SessionId, removal: Removal) -> Pending<'a, ()> {
        self.store.remove(session, removal)
    }
}

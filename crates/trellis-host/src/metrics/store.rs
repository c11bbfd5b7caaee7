//! A store whose appends are timed and whose errors are counted.

use std::{sync::Arc, time::Instant};

use trellis_core::SessionId;

use super::CountedSession;
use crate::store::{Append, Head, Pending, Query, Removal, Row, SessionStore, StoreError, Stored};

pub(super) struct Timed {
    pub(super) store: Arc<dyn SessionStore>,
    pub(super) counted: Arc<CountedSession>,
}

impl Timed {
    fn counted<'a, T: 'a>(&'a self, operation: &'static str, pending: Pending<'a, T>) -> Pending<'a, T> {
        Box::pin(async move { pending.await.inspect_err(|error| self.counted.series.store_failed(operation, kind(error))) })
    }
}

impl SessionStore for Timed {
    fn append(&self, append: Append) -> Pending<'_, ()> {
        let appending = self.counted("append", self.store.append(append));
        Box::pin(async move {
            let since = Instant::now();
            appending.await.inspect(|()| self.counted.series.appended(since.elapsed()))
        })
    }

    fn load<'a>(&'a self, sessions: &'a [SessionId]) -> Pending<'a, Vec<Option<Stored>>> {
        self.counted("load", self.store.load(sessions))
    }

    fn records<'a>(&'a self, session: &'a SessionId, from: u64, limit: usize) -> Pending<'a, Vec<Row>> {
        self.counted("records", self.store.records(session, from, limit))
    }

    fn list(&self, query: Query) -> Pending<'_, Vec<Head>> {
        self.counted("list", self.store.list(query))
    }

    fn remove<'a>(&'a self, session: &'a SessionId, removal: Removal) -> Pending<'a, ()> {
        self.counted("remove", self.store.remove(session, removal))
    }
}

fn kind(error: &StoreError) -> &'static str {
    match error {
        StoreError::Conflict { .. } => "conflict",
        StoreError::Unavailable { .. } => "unavailable",
        StoreError::Unwritable { .. } => "unwritable",
        StoreError::Newer { .. } => "newer",
        StoreError::Corrupt { .. } => "corrupt",
        StoreError::Key(_) => "key",
        StoreError::Spec(_) => "spec",
    }
}

//! Which sessions are kept, and how much of their history: the same over every store.
//!
//! **Invariant:** a session that moves meanwhile stays; what no snapshot holds stays; stopping halfway leaves nothing half done.

use super::{Head, Query, Removal, SessionStore, StoreError, Which};

/// How many sessions are looked at at once.
const PAGE: usize = 256;

/// What is kept. A session goes only where everything that is set here lets it go; where nothing is set, all stay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    /// Only those of this graph.
    pub graph: Option<std::sync::Arc<str>>,
    /// Those that moved at this moment or later stay, in milliseconds since 1970.
    pub older_than: Option<u64>,
    /// So many stay, those that moved last.
    pub keep_newest: Option<usize>,
    /// Those that did not end stay.
    pub only_ended: bool,
    /// Those that stay lose the part of their history that their snapshot holds.
    pub compact: bool,
    /// Nothing is taken out: it is only counted.
    pub only_count: bool,
}

/// What became of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Sessions that were taken out.
    pub removed: u64,
    /// Sessions that stay.
    pub kept: u64,
    /// Of these, the ones that should have gone, but moved meanwhile.
    pub moved: u64,
}

impl Retention {
    /// Whether a session goes; `place` says how many of those that count moved later.
    fn lets_go(&self, head: &Head, place: usize) -> bool {
        let asked = self.older_than.is_some() || self.keep_newest.is_some() || self.only_ended;
        let is_old = self.older_than.is_none_or(|moment| head.at < moment);
        let is_beyond = self.keep_newest.is_none_or(|count| place >= count);
        asked && is_old && is_beyond && (!self.only_ended || head.standing.has_ended())
    }
}

/// Takes out what is not kept, a page at a time. It may be stopped at any moment and begun again: what went is gone, the rest is as it was.
///
/// # Errors
/// What the store says; what went until then is gone.
pub async fn prune(store: &dyn SessionStore, retention: &Retention) -> Result<Pruned, StoreError> {
    let (mut pruned, mut place, mut after) = (Pruned::default(), 0, None);
    loop {
        let page = store.list(Query { graph: retention.graph.clone(), which: Which::Newest, after, limit: PAGE }).await?;
        let is_last = page.len() < PAGE;
        after = page.last().map(|head| (head.at, head.session.clone()));
        for head in page {
            let goes = retention.lets_go(&head, place);
            place += 1;
            match one(store, retention, &head, goes).await {
                Ok(()) if goes => pruned.removed += 1,
                Ok(()) => pruned.kept += 1,
                Err(StoreError::Conflict { .. }) => (pruned.kept, pruned.moved) = (pruned.kept + 1, pruned.moved + 1),
                Err(error) => return Err(error),
            }
        }
        if is_last {
            return Ok(pruned);
        }
    }
}

async fn one(store: &dyn SessionStore, retention: &Retention, head: &Head, goes: bool) -> Result<(), StoreError> {
    let removal = match goes {
        true => Removal::Session { expected: head.next },
        false if retention.compact => Removal::Before(head.next),
        false => return Ok(()),
    };
    if retention.only_count { Ok(()) } else { store.remove(&head.session, removal).await }
}

//! Which sessions are kept, and how much of their history: the same over every store.
//!
//! **Invariant:** a session that has not ended stays unless somebody says otherwise; one that goes on meanwhile stays; records that no snapshot holds stay; stopping
//! halfway leaves nothing half done.

use std::sync::Arc;

use super::{HEADS_PER_PAGE, Head, Query, Removal, SessionStatus, SessionStore, StoreError, Which};

/// What is kept. A session goes only where everything that is set here lets it go; where neither `before` nor `keep` is set, all stay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    /// Only sessions of this graph go.
    pub graph: Option<Arc<str>>,
    /// Those that moved at this moment or later stay, in milliseconds since 1970.
    pub before: Option<u64>,
    /// So many stay of those that may go, the ones that moved last.
    pub keep: Option<usize>,
    /// Whether those that have not ended go too.
    pub open_too: bool,
    /// Those that stay keep so many records, the newest, and those that no snapshot holds.
    pub records: Option<u64>,
}

/// What becomes of one session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pruned {
    /// It is taken out.
    Session,
    /// Its records before this number are, as far as a snapshot holds them.
    Records(u64),
}

impl Retention {
    /// Takes out what is not kept, a page at a time, and tells each of it; only tells it where `is_dry`. It may be stopped at any moment and begun again.
    ///
    /// # Errors
    /// The store fails; what was told before is done.
    pub async fn apply(&self, store: &dyn SessionStore, is_dry: bool, mut told: impl FnMut(&Head, Pruned)) -> Result<(), StoreError> {
        let (mut after, mut seen) = (None, 0);
        loop {
            let query = Query { graph: self.graph.clone(), which: Which::Newest, after: after.take(), limit: HEADS_PER_PAGE };
            let page = store.list(query).await?;
            after = page.last().map(|head| (head.at, head.session.clone()));
            let is_last = page.len() < HEADS_PER_PAGE;
            // What nobody can read, nobody can judge.
            for head in page.into_iter().filter(|head| head.standing != SessionStatus::Unreadable) {
                seen += usize::from(self.may_take(&head));
                let (pruned, removal) = match self.records {
                    _ if self.takes(&head, seen) => (Pruned::Session, Removal::Session { expected: head.next }),
                    Some(kept) if head.next > kept => (Pruned::Records(head.next - kept), Removal::Before(head.next - kept)),
                    _ => continue,
                };
                if !is_dry {
                    match store.remove(&head.session, removal).await {
                        // It went on meanwhile.
                        Err(StoreError::Conflict { .. }) => continue,
                        removed => removed?,
                    }
                }
                told(&head, pruned);
            }
            if is_last {
                return Ok(());
            }
        }
    }

    /// Whether a session is one of those that go when their time has come.
    fn may_take(&self, head: &Head) -> bool {
        self.open_too || head.standing.has_ended()
    }

    /// Whether a session goes; it is the `seen`th newest of those that may.
    fn takes(&self, head: &Head, seen: usize) -> bool {
        let is_asked = self.before.is_some() || self.keep.is_some();
        let is_old = self.before.is_none_or(|before| head.at < before);
        let is_beyond = self.keep.is_none_or(|keep| seen > keep);
        is_asked && self.may_take(head) && is_old && is_beyond
    }
}

//! Retention: the sessions that stay, and the length of their history, for every store.
//!
//! **Invariant:** an open session stays by default; one that advances meanwhile stays; records that no snapshot covers stay; stopping halfway leaves
//! nothing half done.

use std::sync::Arc;

use super::{HEADS_PER_PAGE, Head, Query, Removal, SessionStatus, SessionStore, StoreError, Which};

/// The rules of retention. A session is removed only if every rule that is set allows it; if neither `before` nor `keep` is set, all stay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    /// Only sessions of this graph go.
    pub graph: Option<Arc<str>>,
    /// Those that moved at this moment or later stay, in milliseconds since 1970.
    pub before: Option<u64>,
    /// The number of removable sessions that stay, those that moved last.
    pub keep: Option<usize>,
    /// True to remove open sessions too.
    pub open_too: bool,
    /// The number of newest records that remaining sessions keep, besides those that no snapshot covers.
    pub records: Option<u64>,
}

/// The change of one session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pruned {
    /// It is removed.
    Session,
    /// Its records before this number are, as far as a snapshot holds them.
    Records(u64),
}

impl Retention {
    /// Removes sessions and records by the rules, a page at a time, and reports each; if `is_dry`, only reports them. It may be stopped at any moment
    /// and begun again.
    ///
    /// # Errors
    /// The store fails; reported removals are done.
    pub async fn apply(&self, store: &dyn SessionStore, is_dry: bool, mut report: impl FnMut(&Head, Pruned)) -> Result<(), StoreError> {
        let (mut after, mut seen) = (None, 0);
        loop {
            let query = Query { graph: self.graph.clone(), which: Which::Newest, after: after.take(), limit: HEADS_PER_PAGE };
            let page = store.list(query).await?;
            after = page.last().map(|head| (head.at, head.session.clone()));
            let is_last = page.len() < HEADS_PER_PAGE;
            // Unreadable sessions cannot be judged.
            for head in page.into_iter().filter(|head| head.standing != SessionStatus::Unreadable) {
                seen += usize::from(self.may_take(&head));
                let (pruned, removal) = match self.records {
                    _ if self.takes(&head, seen) => (Pruned::Session, Removal::Session { expected: head.next }),
                    Some(newest) if head.next > newest => (Pruned::Records(head.next - newest), Removal::Before(head.next - newest)),
                    _ => continue,
                };
                if !is_dry {
                    match store.remove(&head.session, removal).await {
                        // It advanced meanwhile.
                        Err(StoreError::Conflict { .. }) => continue,
                        removed => removed?,
                    }
                }
                report(&head, pruned);
            }
            if is_last {
                return Ok(());
            }
        }
    }

    /// Returns whether a session may be removed in time.
    fn may_take(&self, head: &Head) -> bool {
        self.open_too || head.standing.has_ended()
    }

    /// Returns whether a session is removed; it is the `seen`th newest of those that may be.
    fn takes(&self, head: &Head, seen: usize) -> bool {
        let is_asked = self.before.is_some() || self.keep.is_some();
        let is_old = self.before.is_none_or(|before| head.at < before);
        let is_beyond = self.keep.is_none_or(|keep| seen > keep);
        is_asked && self.may_take(head) && is_old && is_beyond
    }
}

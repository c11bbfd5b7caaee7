//! Retention: sessions that ended long ago are taken out, and the oldest records of long histories.
//!
//! **Invariant:** a session that has not ended stays unless somebody says otherwise; one that goes on meanwhile stays; records that no snapshot holds stay.

use std::sync::Arc;

use crate::store::{Head, Query, Removal, SessionStore, StoreError, Which};

/// Heads that are asked for at once.
const PAGE: usize = 1000;

/// What is taken out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prune {
    /// Only sessions of this graph.
    pub graph: Option<Arc<str>>,
    /// Sessions that moved last before this moment, in milliseconds since 1970; without it, whenever that was.
    pub before: Option<u64>,
    /// So many of the newest sessions stay in any case; nothing for none.
    pub keep: usize,
    /// Whether sessions that have not ended go too.
    pub open_too: bool,
    /// Whether sessions are taken out at all.
    pub sessions: bool,
    /// Of sessions that stay, the newest so many records stay.
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

impl Prune {
    /// Takes out what is to be taken out, and tells each of it; only tells it where `is_dry`.
    ///
    /// # Errors
    /// The store fails; what was told before is done.
    pub async fn run(&self, store: &dyn SessionStore, is_dry: bool, mut told: impl FnMut(&Head, Pruned)) -> Result<(), StoreError> {
        let (mut after, mut seen) = (None, 0);
        loop {
            let query = Query { graph: self.graph.clone(), which: Which::Newest, after: after.take(), limit: PAGE };
            let page = store.list(query).await?;
            after = page.last().map(|head| (head.at, head.session.clone()));
            let is_last = page.len() < PAGE;
            for head in page {
                let may_go = self.open_too || head.standing.has_ended();
                seen += usize::from(may_go);
                let goes = self.sessions && may_go && seen > self.keep && self.before.is_none_or(|before| head.at < before);
                let (pruned, removal) = match self.records {
                    _ if goes => (Pruned::Session, Removal::Session { expected: head.next }),
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
}

//! Dead letters of stored sessions: listed, and settled by one more record (language 11.7).

use std::sync::Arc;

use trellis_core::{SessionId, ToolOutcome, id::IdempotencyKey};

use super::{
    HistoryError, Operator, Redactor,
    operator::{Put, Target, due, record},
};
use crate::{
    journal::{DeadLetter, Entry, Settlement},
    secrets::shown,
    store::{HEADS_PER_PAGE, Query, Snapshot, StoreError, Which},
};

/// A dead letter, with the session that it belongs to.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct UnsettledLetter {
    /// The session.
    pub session: SessionId,
    /// The graph that it walks.
    pub graph: Arc<str>,
    /// The letter.
    pub letter: DeadLetter,
}

impl UnsettledLetter {
    /// Removes the secrets of its session, which the redactor has learned.
    #[must_use]
    pub fn redacted(mut self, redactor: &Redactor) -> Self {
        if let Some(call) = &mut self.letter.call {
            let call = Arc::make_mut(call);
            call.args = redactor.args(shown(call));
            // The arguments have the places of secrets now.
            call.secrets.clear();
        }
        match &mut self.letter.outcome {
            ToolOutcome::Success(value) => redactor.value(value),
            ToolOutcome::Error(error) => {
                error.message = redactor.text(&error.message);
                error.code.iter_mut().chain(&mut error.data).for_each(|value| redactor.value(value));
            }
            ToolOutcome::Denied(why) => {
                if let Some(why) = why {
                    *why = redactor.text(why);
                }
            }
        }
        self
    }
}

impl Operator<'_> {
    /// Shows every dead letter of one graph or of all, those of sessions that moved last first. Unreadable ones are left out.
    ///
    /// # Errors
    /// The store fails.
    pub async fn dead_letters(&self, graph: Option<Arc<str>>, mut show: impl FnMut(UnsettledLetter)) -> Result<(), StoreError> {
        let mut after = None;
        loop {
            let page = self.store.list(Query { graph: graph.clone(), which: Which::Newest, after, limit: HEADS_PER_PAGE }).await?;
            let is_last = page.len() < HEADS_PER_PAGE;
            after = page.last().map(|head| (head.at, head.session.clone()));
            let ids: Vec<_> = page.into_iter().map(|head| head.session).collect();
            for stored in self.store.load(&ids).await?.into_iter().flatten() {
                let letters = Snapshot::of(&stored).map(|here| here.dead).unwrap_or_default();
                let (session, graph) = (&stored.head.session, &stored.head.graph);
                letters.into_iter().for_each(|letter| show(UnsettledLetter { session: session.clone(), graph: Arc::clone(graph), letter }));
            }
            if is_last {
                return Ok(());
            }
        }
    }

    /// The dead letter of a session that this key names.
    ///
    /// # Errors
    /// There is no such session or letter.
    pub async fn dead_letter(&self, id: &SessionId, key: &str) -> Result<UnsettledLetter, HistoryError> {
        let stored = self.stored(id).await?;
        let here = Snapshot::of(&stored)?;
        let letter = here.dead.into_iter().find(|letter| *letter.key.as_str() == *key);
        let letter = letter.ok_or_else(|| HistoryError::NoLetter { session: id.clone(), key: key.to_owned() })?;
        Ok(UnsettledLetter { session: id.clone(), graph: stored.head.graph, letter })
    }

    /// Settles a dead letter, as a record. It moves nothing.
    ///
    /// # Errors
    /// As for [`Operator::dead_letter`]; or the session advanced meanwhile.
    pub async fn settle_letter(&self, id: &SessionId, key: &IdempotencyKey, how: Settlement) -> Result<Put, HistoryError> {
        let stored = self.stored(id).await?;
        let mut now = Snapshot::of(&stored)?;
        if !now.dead.iter().any(|letter| letter.key == *key) {
            return Err(HistoryError::NoLetter { session: id.clone(), key: key.to_string() });
        }
        now.at = now.at.max(self.clock.now());
        let from = Some(now.state.current_node_id.clone());
        let settled = record(stored.head.next, &now, Entry::Settled { key: key.clone(), how }, from.clone(), Vec::new());
        let due = stored.head.due.or_else(|| due(self.engine, &now));
        let target = Target { session: id.clone(), graph: stored.head.graph, next: stored.head.next };
        self.write(target, now, vec![settled], due, false, from).await
    }
}

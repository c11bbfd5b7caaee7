//! What goes on after a restart, and what cannot go on (orchestrator 9).
//!
//! **Invariant:** a session that nobody can go on with stops no chat: its chat is told why, once, and goes on without it.

use std::collections::BTreeMap;

use trellis_core::SessionId;
use trellis_host::{
    SendError,
    sessions::{Stop, Turn},
    store::StoreError,
};

use super::Dispatcher;
use crate::{
    inbound::{Group, Kind},
    queue::{InboundRow, QueueError},
};

impl Dispatcher {
    /// Takes up after a restart: sessions that ended are marked, those that had not begun begin, what is held is asked for.
    ///
    /// # Errors
    /// The queue fails.
    pub async fn recover(&self) -> Result<(), QueueError> {
        let mut runs: BTreeMap<String, Vec<InboundRow>> = BTreeMap::new();
        for row in self.hands.queue.taken().await? {
            runs.entry(row.run.clone().unwrap_or_default()).or_default().push(row);
        }
        for (run, rows) in runs {
            let id = SessionId::new(run);
            match self.sessions.view(&id).await {
                Ok(turn) => match unanswered(&turn, rows) {
                    Some(group) => self.hand_over(&group, &turn).await?,
                    None => self.turned(&turn).await?,
                },
                Err(SendError::Unknown(_)) => self.begin(Group { kind: rows[0].kind(), rows }).await?,
                Err(error) => drop(self.failed(&id, &error).await?),
            }
        }
        Ok(())
    }

    /// Where a session stands, as far as that can be known now.
    pub(super) async fn seen(&self, id: &SessionId) -> Result<Option<Turn>, QueueError> {
        match self.sessions.view(id).await {
            Ok(turn) => Ok(Some(turn)),
            Err(error) => self.failed(id, &error).await.map(|_| None),
        }
    }

    /// Tells a chat why a session of it cannot go on, and marks the session; whether that was necessary. What may pass is waited for.
    ///
    /// # Errors
    /// The queue fails.
    pub async fn failed(&self, id: &SessionId, error: &SendError) -> Result<bool, QueueError> {
        if may_pass(error) {
            return Ok(false);
        }
        let queue = &self.hands.queue;
        let Some(row) = queue.of_run(id.as_str()).await?.filter(InboundRow::is_taken) else { return Ok(false) };
        let text = self.hands.settings.language.fill("run_lost", &[("why", &error.to_string())]);
        self.post(&row.message.place, format!("lost:{id}"), text).await?;
        queue.end_run(id.as_str()).await?;
        self.wake.notify_one();
        Ok(true)
    }
}

/// What a session was about to be answered when the process died: it waits still for that.
fn unanswered(turn: &Turn, rows: Vec<InboundRow>) -> Option<Group> {
    let is_answer = |row: &InboundRow| matches!(turn.stop, Stop::Ask { .. }) && row.asked == Some(turn.asked);
    let rows: Vec<InboundRow> = rows.into_iter().filter(is_answer).collect();
    (!rows.is_empty()).then_some(Group { kind: Kind::Talk, rows })
}

/// Whether a session may go on another time that cannot go on now.
fn may_pass(error: &SendError) -> bool {
    let is_away = matches!(error, SendError::Store(StoreError::Unavailable { .. } | StoreError::Conflict { .. }));
    is_away || matches!(error, SendError::Unknown(_) | SendError::Stopping | SendError::Stopped)
}

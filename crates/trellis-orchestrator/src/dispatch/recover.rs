//! Recovery after a restart: resumes sessions, and gives up those that cannot be resumed (orchestrator 9).
//!
//! **Invariant:** a session that cannot be resumed blocks no chat: its chat gets the reason once, and continues without it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError},
};

use trellis_core::{SessionId, Value, state::EndReason};
use trellis_host::{
    SendError,
    sessions::{Stop, Turn},
    store::StoreError,
};

use super::Dispatcher;
use crate::{
    inbound::{Group, Kind},
    message::{Incoming, Work},
    queue::{InboundRow, QueueError},
    schedule::SENDER,
    seal::sha256,
};

/// The sessions that a message could not be handed to, since their store was away. Clones share them.
#[derive(Clone, Default)]
pub(super) struct Unhanded(Arc<Mutex<BTreeSet<SessionId>>>);

impl Unhanded {
    /// Adds a session.
    pub(super) fn add(&self, id: &SessionId) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(id.clone());
    }

    /// Takes all of them.
    fn all(&self) -> BTreeSet<SessionId> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }
}

impl Dispatcher {
    /// Notes the result of a schedule whose session has ended.
    pub(super) async fn note_end_of_job(&self, message: &Incoming, reason: EndReason) {
        if message.sender != SENDER {
            return;
        }
        let (jobs, id) = (self.hands.jobs.clone(), message.id.clone());
        let status = if reason == EndReason::Finished { "completed" } else { "failed" };
        // Errors are dropped here: the next access to the file reports them.
        drop(tokio::task::spawn_blocking(move || jobs.ended(&id, status)).await);
    }

    /// Recovers after a restart: marks ended sessions, begins those that had not begun, and asks about waiting calls.
    ///
    /// # Errors
    /// The queue fails.
    pub async fn recover(&self) -> Result<(), QueueError> {
        // Who acted on decisions and reactions before ended with the service; the rows of both are open still.
        self.underway.clear();
        self.reacting.clear();
        let mut runs: BTreeMap<String, Vec<InboundRow>> = BTreeMap::new();
        for row in self.hands.queue.taken().await? {
            runs.entry(row.run.clone().unwrap_or_default()).or_default().push(row);
        }
        for (run, rows) in runs {
            self.resume(SessionId::new(run), rows).await?;
        }
        Ok(())
    }

    /// Continues a session with the messages that are its own: begins it, hands it the answer that it still waits for, or tells its chat what it needs.
    async fn resume(&self, id: SessionId, rows: Vec<InboundRow>) -> Result<(), QueueError> {
        match self.sessions.view(&id).await {
            Ok(turn) => match unanswered(&turn, rows) {
                Some(group) => self.hand_over(&group, &turn).await,
                None => self.turned(&turn).await,
            },
            Err(SendError::Unknown(_)) => self.begin(Group { kind: rows[0].kind(), rows }).await,
            Err(error) => {
                if may_pass(&error) {
                    self.unhanded.add(&id);
                }
                self.failed(&id, &error).await.map(drop)
            }
        }
    }

    /// Continues the sessions that could not be reached.
    pub(super) async fn hand_again(&self) -> Result<(), QueueError> {
        for id in self.unhanded.all() {
            let rows = self.hands.queue.taken().await?;
            let rows: Vec<InboundRow> = rows.into_iter().filter(|row| row.run.as_deref() == Some(id.as_str())).collect();
            if !rows.is_empty() {
                self.resume(id, rows).await?;
            }
        }
        Ok(())
    }

    /// Returns the state of a session, as far as it is known.
    pub(super) async fn seen(&self, id: &SessionId) -> Result<Option<Turn>, QueueError> {
        match self.sessions.view(id).await {
            Ok(turn) => Ok(Some(turn)),
            Err(error) => self.failed(id, &error).await.map(|_| None),
        }
    }

    /// Tells a chat why its session cannot be resumed, and marks the session; returns whether that was necessary. Temporary errors are waited out.
    ///
    /// # Errors
    /// The queue fails.
    pub async fn failed(&self, id: &SessionId, error: &SendError) -> Result<bool, QueueError> {
        if let Some(shared) = &self.shared {
            shared.turned(id, Err(error.clone()));
        }
        if may_pass(error) {
            return Ok(false);
        }
        let queue = &self.hands.queue;
        let Some(row) = queue.of_run(id.as_str()).await?.filter(InboundRow::is_taken) else { return Ok(false) };
        let text = self.hands.settings.language.fill("run_lost", &[("why", &error.to_string())]);
        self.post(&row.message.place, format!("lost:{id}"), text).await?;
        queue.hold(id.as_str(), &row.message.place, Vec::new()).await?;
        queue.end_run(id.as_str()).await?;
        self.wake.notify_one();
        Ok(true)
    }
}

/// The key under which a chat is told that a session could not begin: none for nightly work, which a custom graph may lack, and one for each reason
/// of a failed heartbeat.
pub(super) fn start_failure_key(group: &Group, session: &str, why: &str) -> Option<String> {
    match &group.kind {
        Kind::Work(Work::Consolidate) => {
            let is_awaited = group.rows[0].message.context().get("tell").and_then(Value::as_bool);
            is_awaited.unwrap_or_default().then(|| format!("start:{session}"))
        }
        Kind::Work(Work::Heartbeat) => Some(format!("start:heartbeat:{}", &sha256(why)[..16])),
        _ => Some(format!("start:{session}")),
    }
}

/// Returns the messages that the process was handing to a session when it died: the session still waits for them.
fn unanswered(turn: &Turn, rows: Vec<InboundRow>) -> Option<Group> {
    let is_answer = |row: &InboundRow| matches!(turn.stop, Stop::Ask { .. }) && row.asked == Some(turn.asked);
    let rows: Vec<InboundRow> = rows.into_iter().filter(is_answer).collect();
    (!rows.is_empty()).then_some(Group { kind: Kind::Talk, rows })
}

/// Returns whether a session that cannot be resumed now may be resumed later.
pub(super) fn may_pass(error: &SendError) -> bool {
    let is_away = matches!(error, SendError::Store(StoreError::Unavailable { .. } | StoreError::Conflict { .. }));
    is_away || matches!(error, SendError::Unknown(_) | SendError::Stopping | SendError::Stopped)
}

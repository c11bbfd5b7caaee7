//! Recovery after a restart: resumes sessions, and gives up those that cannot be resumed (orchestrator 9).
//!
//! **Invariant:** a session that cannot be resumed blocks no chat: its chat gets the reason once, and continues without it.

use std::collections::BTreeMap;

use trellis_core::{SessionId, Value, state::EndReason};
use trellis_host::{SendError, sessions::Turn, store::StoreError};

use super::{Dispatcher, Telling};
use crate::{
    inbound::{Group, Kind},
    message::{Incoming, Work},
    queue::{InboundRow, QueueError},
    schedule::SENDER,
    seal::sha256,
};

impl Dispatcher {
    /// Notes the result of a schedule whose session has ended.
    pub(super) async fn note_end_of_job(&self, message: &Incoming, reason: EndReason) {
        if message.sender != SENDER {
            return;
        }
        let (jobs, id) = (self.hands.jobs.clone(), message.id.clone());
        let status = if reason == EndReason::Finished { "completed" } else { "failed" };
        // Errors are dropped here: the next access to the file reports them.
        drop(tokio::task::spawn_blocking(move || jobs.note_end(&id, status)).await);
    }

    /// Recovers after a restart: marks ended sessions, begins those that had not begun, and asks about waiting calls.
    ///
    /// # Errors
    /// The queue fails.
    pub async fn recover(&self) -> Result<(), QueueError> {
        // Who acted on decisions and reactions before ended with the service; the rows of both are open still.
        self.underway.clear();
        self.reacting.clear();
        for (run, rows) in self.runs().await? {
            self.resume(SessionId::new(run), rows, Telling::New).await?;
        }
        Ok(())
    }

    /// The messages of the sessions that have not ended, by session.
    pub(super) async fn runs(&self) -> Result<BTreeMap<String, Vec<InboundRow>>, QueueError> {
        let mut runs: BTreeMap<String, Vec<InboundRow>> = BTreeMap::new();
        for row in self.hands.queue.taken_rows().await? {
            runs.entry(row.run.clone().unwrap_or_default()).or_default().push(row);
        }
        Ok(runs)
    }

    /// Continues a session with the messages that are its own: begins it, hands it its newest answer, or tells its chat what it needs.
    pub(super) async fn resume(&self, id: SessionId, rows: Vec<InboundRow>, telling: Telling) -> Result<(), QueueError> {
        match self.sessions.view(&id).await {
            Ok(turn) => match newest_answer(&rows) {
                Some((group, asked)) => self.hand_over(&group, asked, &turn, telling).await,
                None => self.tell_turn(&turn).await,
            },
            Err(SendError::Unknown(_)) => self.begin(Group { kind: rows[0].kind(), rows }, telling).await,
            Err(error) => {
                if may_pass(&error) {
                    self.unhanded.add(&id);
                }
                self.tell_failure(&id, &error).await.map(drop)
            }
        }
    }

    /// Returns the state of a session, as far as it is known.
    pub(super) async fn look_at(&self, id: &SessionId) -> Result<Option<Turn>, QueueError> {
        match self.sessions.view(id).await {
            Ok(turn) => Ok(Some(turn)),
            Err(error) => self.tell_failure(id, &error).await.map(|_| None),
        }
    }

    /// Tells a chat why its session cannot be resumed, and marks the session; returns whether that was necessary. Temporary errors are waited out.
    ///
    /// # Errors
    /// The queue fails.
    pub async fn tell_failure(&self, id: &SessionId, error: &SendError) -> Result<bool, QueueError> {
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

/// Returns the newest answer among the messages of a session, with the number of its question: the process may have died before it was handed over.
fn newest_answer(rows: &[InboundRow]) -> Option<(Group, u64)> {
    let asked = rows.iter().filter_map(|row| row.asked).max()?;
    let rows = rows.iter().filter(|row| row.asked == Some(asked)).cloned().collect();
    Some((Group { kind: Kind::Talk, rows }, asked))
}

/// Returns whether a session that cannot be resumed now may be resumed later.
pub(super) fn may_pass(error: &SendError) -> bool {
    let is_away = matches!(error, SendError::Store(StoreError::Unavailable { .. } | StoreError::Conflict { .. }));
    is_away || matches!(error, SendError::Unknown(_) | SendError::Stopping | SendError::Stopped)
}

//! Stops of sessions: what they tell chats, and whether all of them wait for a person (orchestrator 2.2, 3.5).

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, atomic::Ordering},
};

use tokio::sync::Mutex as AsyncMutex;
use trellis_core::{SessionId, engine::Call, id::CallId, state::EndReason};
use trellis_host::{
    SendError,
    sessions::{Stop, Turn},
};

use super::Dispatcher;
use crate::{
    approvals::{held_calls, question, short_id},
    message::ChatPlace,
    queue::{InboundRow, QueueError},
    tools::away_key,
};

/// The turns that were noted last: the number of the next record, by session. Clones share them.
#[derive(Clone, Default)]
pub(super) struct Noted(Arc<AsyncMutex<BTreeMap<SessionId, u64>>>);

impl Dispatcher {
    /// Sends the stop of a session to its chat, and marks the session when it has ended.
    ///
    /// # Errors
    /// The queue fails.
    pub async fn tell_turn(&self, turn: &Turn) -> Result<(), QueueError> {
        if let Some(shared) = &self.shared {
            shared.turned(&turn.session, Ok(turn.clone()));
        }
        let (queue, language, run) = (&self.hands.queue, self.hands.settings.language, turn.session.as_str());
        let Some(row) = queue.of_run(run).await? else { return Ok(()) };
        let place = row.message.place.clone();
        self.rest(run, !turn.stop.needs_nobody() && !matches!(turn.stop, Stop::Ended(_)));
        let calls = self.note_turn(turn, &place).await?;
        for call in calls {
            let mask = self.hands.mask.clone();
            let asking = tokio::task::spawn_blocking(move || question(language, &call, |args| mask.masked(args)));
            for (key, text) in asking.await.map_err(|error| QueueError::Gone(error.to_string()))? {
                self.post(&place, key, text).await?;
            }
        }
        match &turn.stop {
            Stop::Ask { .. } => {
                let texts: Vec<&str> = turn.said.iter().map(|said| said.text.trim()).filter(|text| !text.is_empty()).collect();
                self.post(&place, format!("said:{run}:{}", turn.asked), texts.join("\n\n")).await?;
            }
            Stop::Ended(end) => {
                let is_announced = end.output.as_ref().is_some_and(|output| output.get("status").is_some());
                if end.reason != EndReason::Finished && !is_announced {
                    let code = end.code.as_deref().unwrap_or("failed");
                    self.post(&place, format!("end:{run}"), language.of_code(code)).await?;
                }
                self.note_end_of_job(&row.message, end.reason).await;
                queue.end_run(run).await?;
                self.wake.notify_one();
            }
            _ => {}
        }
        Ok(())
    }

    /// Notes the calls that wait in a turn, unless a later turn is noted: two tasks may tell of one session, in any order. Returns those to ask about.
    async fn note_turn(&self, turn: &Turn, place: &ChatPlace) -> Result<Vec<Call>, QueueError> {
        let calls = held_calls(turn);
        let mut noted = self.noted.0.lock().await;
        // A call is held at the record at which it was about to run.
        let is_late = noted.get(&turn.session).is_some_and(|seq| if calls.is_empty() { turn.seq <= *seq } else { turn.seq < *seq });
        if is_late {
            return Ok(Vec::new());
        }
        let waiting: Vec<String> = calls.iter().map(|call| call.id.to_string()).collect();
        // Whoever was asked beside the chat need not decide any more.
        for (number, (call, elsewhere)) in (1..).zip(self.hands.queue.asked_elsewhere(turn.session.as_str(), waiting.clone()).await?) {
            let said = self.hands.settings.language.fill("approval_over", &[("id", &short_id(&CallId::new(&*call)))]);
            self.post(&elsewhere, format!("over:{call}:{number}"), said).await?;
        }
        self.hands.queue.hold(turn.session.as_str(), place, waiting).await?;
        match turn.stop {
            Stop::Ended(_) => noted.remove(&turn.session),
            _ => noted.insert(turn.session.clone(), turn.seq),
        };
        Ok(calls)
    }

    /// Returns whether a session said that its model is away.
    async fn has_no_model(&self, run: &SessionId) -> Result<bool, QueueError> {
        self.hands.queue.row_by_key(&away_key(run.as_str())).await.map(|said| said.is_some())
    }

    /// Returns whether all remaining work waits for a person, or for a model that is away.
    ///
    /// # Errors
    /// The queue fails.
    pub async fn is_idle(&self) -> Result<bool, QueueError> {
        // In the order in which messages move, so that none is missed between two looks.
        let waiting = self.hands.queue.waiting().await?;
        if !self.underway.is_empty() || !self.hands.queue.open_reactions().await?.is_empty() {
            return Ok(false);
        }
        let mut runs = BTreeSet::new();
        for row in self.hands.queue.taken_rows().await? {
            runs.extend(row.run.map(|run| (SessionId::new(run), row.message.place)));
        }
        let mut places = BTreeSet::new();
        for (run, place) in runs {
            match self.sessions.view(&run).await {
                // A session that waits for a file waits for a person.
                Ok(turn) if turn.stop.needs_nobody() && self.hands.files.has_session(run.as_str()) => drop(places.insert(place)),
                // One whose model is away said so, and asks it again after the next start, too.
                Ok(turn) if matches!(turn.stop, Stop::Sleeping { .. }) && self.has_no_model(&run).await? => drop(places.insert(place)),
                Ok(turn) if turn.stop.needs_nobody() || matches!(turn.stop, Stop::Ended(_)) => return Ok(false),
                Ok(_) => drop(places.insert(place)),
                // It was taken, and is just beginning.
                Err(SendError::Unknown(_)) => return Ok(false),
                // Messages behind it are handled once its chat was told.
                Err(error) if self.tell_failure(&run, &error).await? => return Ok(false),
                Err(_) => {}
            }
        }
        // A message behind a question that does not answer it waits for a person too.
        let looked = self.looked.load(Ordering::Relaxed);
        let waits = |row: &InboundRow| row.n <= looked && places.contains(&row.message.place);
        Ok(waiting.iter().all(waits) && self.hands.queue.is_flushed().await?)
    }
}

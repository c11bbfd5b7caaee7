//! Answers to the questions of sessions (orchestrator 2.2).
//!
//! **Invariant:** a session takes an answer once, to the question that it was given to; one that it does not take any more is a run of its own.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
};

use trellis_core::{Input, NavigateError, SessionId};
use trellis_host::{
    SendError, Sent,
    journal::RequestKey,
    sessions::{Stop, Turn},
};

use super::{Dispatcher, Telling, recover::may_pass};
use crate::{inbound::Group, queue::QueueError};

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
    /// Hands a group to a session that waits for an input; returns whether it did.
    pub(super) async fn answer(&self, run: &str, group: &Group) -> Result<bool, QueueError> {
        let id = SessionId::new(run);
        let Some(turn) = self.look_at(&id).await? else { return Ok(false) };
        if !matches!(turn.stop, Stop::Ask { .. }) || self.lacks(group).await? {
            return Ok(false);
        }
        self.hands.queue.take(group.numbers(), run, Some(turn.asked)).await?;
        self.hand_over(group, turn.asked, &turn, Telling::New).await.map(|()| true)
    }

    /// Hands a group to the session as the answer to its question of a number; repeating this has no effect.
    pub(super) async fn hand_over(&self, group: &Group, asked: u64, turn: &Turn, telling: Telling) -> Result<(), QueueError> {
        if telling == Telling::New {
            self.note(group, turn.session.as_str()).await;
        }
        let sent = Sent { expected: Some(asked), ..turn.answer(Input::Text(group.text_with_files())) };
        self.rest(turn.session.as_str(), false);
        // By its name the session knows it, if it was taken before a crash.
        let request = RequestKey::by("chat").with_key(group.rows[0].message.key(), None);
        match self.sessions.send_by(&turn.session, sent, request).await {
            Ok(turn) => self.tell_turn(&turn).await,
            Err(SendError::Repeated(turn)) => self.tell_turn(&turn).await,
            // It is handed over after the next start.
            Err(SendError::Stopping) => Ok(()),
            Err(error) if may_pass(&error) => {
                self.unhanded.add(&turn.session);
                Ok(())
            }
            // The session asks something else by now, or nothing.
            Err(
                SendError::Stale(_)
                | SendError::TooLate(_)
                | SendError::NotAwaited { .. }
                | SendError::Refused(NavigateError::Ended { .. }),
            ) => {
                self.hands.queue.release(group.numbers()).await?;
                self.wake.notify_one();
                self.tell_turn(turn).await
            }
            Err(refusal) => {
                // The reason says which input the session takes.
                let why = refusal.to_string().replace('`', "'");
                let text = self.hands.settings.language.fill("answer_refused", &[("why", &why)]);
                self.post(group.place(), format!("refused:{}", group.session()), text).await?;
                self.hands.queue.settle(group.numbers()).await
            }
        }
    }

    /// Continues the sessions that could not be reached.
    pub(super) async fn hand_again(&self) -> Result<(), QueueError> {
        let ids = self.unhanded.all();
        if ids.is_empty() {
            return Ok(());
        }
        let mut runs = self.runs().await?;
        for id in ids {
            if let Some(rows) = runs.remove(id.as_str()) {
                self.resume(id, rows, Telling::Known).await?;
            }
        }
        Ok(())
    }
}

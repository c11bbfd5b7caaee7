//! Approves and denies the calls that wait for a decision (orchestrator 3.6).
//!
//! **Invariant:** a reply without an id decides about a call only if its chat was asked about the call before the reply came. Every other reply stays
//! conversation, whatever is asked later. One decision about a call is carried out at a time, and nothing else waits for it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError},
};

use trellis_core::{SessionId, SignalName, engine::Call, id::CallId};
use trellis_host::{Reply, SendError, Turn};

use super::Dispatcher;
use crate::{
    approvals::{ask_key, held_calls, is_meant, short_id},
    inbound::{Answer, Decision, Group},
    message::{ChatPlace, now},
    queue::{ASK_AGAIN_MS, QuestionState, QueueError, is_later},
};

/// The role of a text that may decide about a call.
pub(super) enum Ruling {
    /// Conversation.
    Talk,
    /// Not known yet: the question is still being sent.
    Later,
    /// A decision to be carried out.
    Carry(Box<Carrying>),
    /// A decision that was settled, or is being carried out.
    Done,
}

/// A decision that is being carried out.
pub(super) struct Carrying {
    session: SessionId,
    call: Call,
    decision: Decision,
}

/// The calls of a chat that wait for a decision.
pub(super) struct HeldCalls {
    pub(super) calls: Vec<(SessionId, Call)>,
    /// False if a session could not be read, and can be later.
    pub(super) is_whole: bool,
}

impl HeldCalls {
    /// The call with this id.
    pub(super) fn find(self, id: &str) -> Option<(SessionId, Call)> {
        self.calls.into_iter().find(|(_, call)| call.id.as_str() == id)
    }
}

/// The decisions that are being carried out: their calls, and the numbers of the messages. Clones share them.
#[derive(Clone, Default)]
pub(super) struct Underway(Arc<Mutex<BTreeMap<CallId, i64>>>);

impl Underway {
    pub(super) fn begin(&self, call: &CallId, row: i64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(call.clone(), row);
    }

    pub(super) fn end(&self, call: &CallId) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(call);
    }

    /// Returns whether a decision about a call is being carried out.
    pub(super) fn has(&self, call: &CallId) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains_key(call)
    }

    /// Returns whether the decision of a message is being carried out.
    pub(super) fn has_row(&self, row: i64) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).values().any(|known| *known == row)
    }

    /// Forgets all of them: nobody carries them out any more.
    pub(super) fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Returns whether none is being carried out.
    pub(super) fn is_empty(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }
}

impl Dispatcher {
    /// Takes a text as a decision about a waiting call of its chat, if it is one.
    pub(super) async fn decide(&self, group: &Group, answer: &Answer) -> Result<Ruling, QueueError> {
        let (place, language, row) = (group.place(), self.hands.settings.language, group.rows[0].n);
        // A decision may have been settled since the messages were read.
        if self.underway.has_row(row) || !self.hands.queue.is_waiting(row).await? {
            return Ok(Ruling::Done);
        }
        let mut meant = Vec::new();
        // Whoever may decide may do so from everywhere, by the id.
        let is_elsewhere = answer.id.is_some() && self.hands.may_approve(&group.rows[0].message);
        let held = self.held_in(|other| is_elsewhere || other == place).await?;
        for (session, call) in held.calls {
            match &answer.id {
                // When the earlier decision ends, all messages are looked at again.
                Some(typed) if is_meant(&call.id, typed) && self.underway.has(&call.id) => return Ok(Ruling::Done),
                Some(typed) if is_meant(&call.id, typed) => meant.push((session, call)),
                Some(_) => {}
                None if self.underway.has(&call.id) => {}
                None => match self.hands.queue.question(&ask_key(&call.id)).await? {
                    QuestionState::Underway { heard } if heard < row => return Ok(Ruling::Later),
                    // The provider knows better than this program in which order two messages were sent.
                    QuestionState::Seen { heard, receipt } if heard < row && is_later(&group.rows[0].message.id, &receipt) => {
                        meant.push((session, call));
                    }
                    _ => {}
                },
            }
        }
        let said = match (&meant[..], &answer.id) {
            ([], _) if !held.is_whole => return Ok(Ruling::Later),
            // An id says that it is a decision, also when somebody else was quicker.
            ([], Some(typed)) if self.hands.queue.was_asked(typed).await? => language.text("approval_gone").to_owned(),
            ([], _) => return Ok(Ruling::Talk),
            ([(session, _), ..], _) if !self.may_decide(group, session, answer.decision).await? => {
                language.text("approval_refused").to_owned()
            }
            ([(session, call)], _) => {
                self.underway.begin(&call.id, row);
                let (session, call) = (session.clone(), call.clone());
                return Ok(Ruling::Carry(Box::new(Carrying { session, call, decision: answer.decision })));
            }
            (several, _) => {
                let calls: Vec<String> = several.iter().map(|(_, call)| format!("`{}` {}", call.name, short_id(&call.id))).collect();
                language.fill("approval_which", &[("calls", &calls.join(", ")), ("id", &short_id(&several[0].1.id))])
            }
        };
        self.post(place, format!("decided:{}", group.session()), said).await?;
        self.hands.queue.settle(group.numbers()).await?;
        Ok(Ruling::Done)
    }

    /// Returns whether the person of a group may decide so about a call of a session: to cancel is also for whoever asked for it.
    async fn may_decide(&self, group: &Group, session: &SessionId, decision: Decision) -> Result<bool, QueueError> {
        let message = &group.rows[0].message;
        if self.hands.may_approve(message) {
            return Ok(true);
        }
        let first = if decision == Decision::Cancel { self.hands.queue.of_run(session.as_str()).await? } else { None };
        Ok(first.is_some_and(|first| first.message.sender == message.sender && first.message.place.provider == message.place.provider))
    }

    /// The calls that are held in chats and threads, with their sessions.
    pub(super) async fn held_in(&self, is_there: impl Fn(&ChatPlace) -> bool) -> Result<HeldCalls, QueueError> {
        let rows = self.hands.queue.taken_rows().await?.into_iter().filter(|row| is_there(&row.message.place));
        let runs: BTreeSet<String> = rows.filter_map(|row| row.run).collect();
        let mut held = HeldCalls { calls: Vec::new(), is_whole: true };
        for run in runs {
            let id = SessionId::new(run);
            match self.sessions.view(&id).await {
                Ok(turn) => held.calls.extend(held_calls(&turn).into_iter().map(|call| (id.clone(), call))),
                // It is just beginning, and holds none.
                Err(SendError::Unknown(_)) => {}
                Err(error) => held.is_whole &= self.tell_failure(&id, &error).await?,
            }
        }
        Ok(held)
    }

    /// Carries the decision of a message out and reports it once the session takes it, perhaps only after a running call.
    pub(super) async fn carry_out(self, carrying: Box<Carrying>, group: Group) -> Result<(), QueueError> {
        let Carrying { session, call, decision } = *carrying;
        // If the program stops first, the decision is carried out after the next start.
        let (said, turn) = match self.carry(&session, &call, decision).await? {
            Carried::Stopping => return Ok(()),
            Carried::Undecided(why) => (why, None),
            Carried::Decided(name, turn) => (self.text_about(name, &call), turn),
            Carried::Gone => (self.text_about("approval_gone", &call), None),
        };
        self.post(group.place(), format!("decided:{}", group.session()), said).await?;
        // The answer that follows from the decision comes after it.
        if let Some(turn) = turn {
            self.tell_turn(&turn).await?;
        }
        self.hands.queue.settle(group.numbers()).await?;
        self.underway.end(&call.id);
        self.wake.notify_one();
        Ok(())
    }

    /// A fixed text about a call.
    pub(super) fn text_about(&self, text: &'static str, call: &Call) -> String {
        self.hands.settings.language.fill(text, &[("tool", &call.name), ("id", &short_id(&call.id))])
    }

    /// Carries a decision out.
    pub(super) async fn carry(&self, session: &SessionId, call: &Call, decision: Decision) -> Result<Carried, QueueError> {
        let reply = |yes| Reply::Approve { call: Some(call.id.clone()), yes };
        let (name, taken) = match decision {
            Decision::Approve => ("approval_done", {
                self.rest(session.as_str(), false);
                self.sessions.send(session, reply(true)).await.map(Some)
            }),
            Decision::Deny => ("approval_denied", self.sessions.send(session, reply(false)).await.map(Some)),
            Decision::Defer => {
                self.hands.queue.ask_again(call.id.as_str(), now() + ASK_AGAIN_MS).await?;
                self.wake.notify_one();
                ("approval_deferred", Ok(None))
            }
            Decision::Cancel => {
                // A signal that the session takes abandons the call: nobody has to deny it.
                let interrupt = SignalName::new(SignalName::INTERRUPT);
                ("approval_cancelled", self.sessions.signal(session, &interrupt).await.map(|()| None))
            }
        };
        Ok(match taken {
            Ok(turn) => Carried::Decided(name, turn.map(Box::new)),
            Err(SendError::Stopping) => Carried::Stopping,
            Err(error @ SendError::Store(_)) => Carried::Undecided(error.to_string()),
            Err(_) => Carried::Gone,
        })
    }
}

/// The outcome of a decision.
pub(super) enum Carried {
    /// It was carried out; with the name of the text that says so, and the turn that follows from it.
    Decided(&'static str, Option<Box<Turn>>),
    /// The call was decided already, or does not wait any more.
    Gone,
    /// It was not carried out, and can be repeated; with the reason.
    Undecided(String),
    /// The program is stopping.
    Stopping,
}

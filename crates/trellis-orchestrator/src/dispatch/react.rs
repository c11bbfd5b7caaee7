//! Reactions to messages: decisions about calls, and stops (orchestrator 3.5).
//!
//! **Invariant:** a reaction is acted on once. One that decides about a call counts only on the message that asked about it, and only by somebody who may
//! decide; one that stops or cancels, by everybody who is heard.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::task::JoinSet;
use trellis_core::{SessionId, SignalName, engine::Call};

use super::{Dispatcher, decide::Carried, later};
use crate::{
    approvals::question,
    config::Sign,
    inbound::Decision,
    message::{ChatPlace, now},
    queue::{QueueError, ReactionRow},
};

/// The reactions that are being acted on, by their numbers. Clones share them.
#[derive(Clone, Default)]
pub(super) struct Reacting(Arc<Mutex<BTreeSet<i64>>>);

impl Reacting {
    /// Returns whether a reaction is being acted on.
    fn has(&self, row: i64) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(&row)
    }

    fn begin(&self, row: i64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(row);
    }

    fn end(&self, row: i64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&row);
    }

    /// Forgets all of them: nobody acts on them any more.
    pub(super) fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

impl Dispatcher {
    /// Acts on the reactions that came, the strongest first; returns when those that could not be judged yet are due, in milliseconds since 1970. Work
    /// that lasts as long as a call is `carried` out beside it.
    pub(super) async fn act_on_reactions(&self, carried: &mut JoinSet<Result<(), QueueError>>) -> Result<Option<u64>, QueueError> {
        let mut is_late = false;
        for reaction in self.hands.queue.open_reactions().await? {
            // It may have been settled since the reactions were read: whoever did that ended before.
            let is_underway = self.underway.has_row(row_of(&reaction)) || self.reacting.has(reaction.n);
            if is_underway || !self.hands.queue.is_open_reaction(reaction.n).await? {
                continue;
            }
            let decision = match reaction.sign {
                Sign::Stop => {
                    self.reacting.begin(reaction.n);
                    carried.spawn(self.clone().stop_chat(reaction));
                    continue;
                }
                Sign::Approve => Decision::Approve,
                Sign::Deny => Decision::Deny,
                Sign::Defer => Decision::Defer,
                Sign::Cancel => Decision::Cancel,
            };
            is_late |= !self.react(reaction, decision, carried).await?;
        }
        Ok(is_late.then(|| later(None)))
    }

    /// Takes a reaction as a decision about the call that its message asked about; returns false if that cannot be judged yet.
    async fn react(
        &self,
        reaction: ReactionRow,
        decision: Decision,
        carried: &mut JoinSet<Result<(), QueueError>>,
    ) -> Result<bool, QueueError> {
        let queue = &self.hands.queue;
        // Asked first: a message that has its name now may have had none a moment ago.
        let is_asking = queue.is_asking(&reaction.provider, &reaction.chat).await?;
        let asked = queue.asked_by(&reaction.provider, &reaction.chat, &reaction.message).await?;
        let Some(asked) = asked else { return if is_asking { Ok(false) } else { self.settle(&reaction).await } };
        let held = self.held_in(|place| *place == asked.place).await?;
        let is_whole = held.is_whole;
        let Some((session, call)) = held.find(&asked.call) else { return if is_whole { self.settle(&reaction).await } else { Ok(false) } };
        // When the earlier decision ends, all reactions are looked at again.
        if self.underway.has(&call.id) {
            return Ok(true);
        }
        let may_decide = decision == Decision::Cancel || self.hands.settings.is_approver(&reaction.provider, &reaction.sender);
        if !may_decide {
            let text = self.hands.settings.language.text("approval_refused").to_owned();
            self.post(&asked.place, format!("refused:reaction:{}", reaction.n), text).await?;
            return self.settle(&reaction).await;
        }
        self.underway.begin(&call.id, row_of(&reaction));
        carried.spawn(self.clone().carry_reaction(session, call, decision, reaction, asked.place));
        Ok(true)
    }

    /// Notes that a reaction was judged.
    async fn settle(&self, reaction: &ReactionRow) -> Result<bool, QueueError> {
        self.hands.queue.settle_reaction(reaction.n).await.map(|()| true)
    }

    async fn carry_reaction(
        self,
        session: SessionId,
        call: Call,
        decision: Decision,
        reaction: ReactionRow,
        place: ChatPlace,
    ) -> Result<(), QueueError> {
        match self.carry(&session, &call, decision).await? {
            // It is carried out after the next start.
            Carried::Stopping => return Ok(()),
            Carried::Decided(_, turn) => {
                self.answer_reaction(&reaction, &place);
                if let Some(turn) = turn {
                    self.tell_turn(&turn).await?;
                }
            }
            Carried::Gone => {}
            Carried::Undecided(why) => self.post(&place, format!("undecided:reaction:{}", reaction.n), why).await?,
        }
        self.hands.queue.settle_reaction(reaction.n).await?;
        self.underway.end(&call.id);
        self.wake.notify_one();
        Ok(())
    }

    /// Interrupts all sessions in the chat of a reaction, in every thread.
    async fn stop_chat(self, reaction: ReactionRow) -> Result<(), QueueError> {
        let of_chat = |place: &ChatPlace| place.provider == reaction.provider && place.chat == reaction.chat;
        let taken = self.hands.queue.taken_rows().await?.into_iter().filter(|row| of_chat(&row.message.place));
        let runs: BTreeSet<String> = taken.filter_map(|row| row.run).collect();
        let interrupt = SignalName::new(SignalName::INTERRUPT);
        for run in runs {
            // A session that has ended meanwhile needs no stop.
            drop(self.sessions.signal(&SessionId::new(run), &interrupt).await);
        }
        self.answer_reaction(&reaction, &ChatPlace::new(&reaction.provider, &reaction.chat));
        self.hands.queue.settle_reaction(reaction.n).await?;
        self.reacting.end(reaction.n);
        self.wake.notify_one();
        Ok(())
    }

    /// Shows the person who reacted that it was seen. Nothing waits for that, and a failure is ignored.
    fn answer_reaction(&self, reaction: &ReactionRow, place: &ChatPlace) {
        let Some(channel) = self.channels.get(&reaction.provider).map(Arc::clone) else { return };
        let (place, message) = (place.clone(), reaction.message.clone());
        tokio::spawn(async move { drop(channel.react(&place, &message).await) });
    }

    /// Asks chats again about calls that were deferred; returns when the next of these is due, in milliseconds since 1970.
    pub(super) async fn ask_again(&self) -> Result<Option<u64>, QueueError> {
        let (due, mut next) = self.hands.queue.due_questions(now()).await?;
        for asked in due {
            let held = self.held_in(|place| *place == asked.place).await?;
            let is_whole = held.is_whole;
            if let Some((_, call)) = held.find(&asked.call) {
                let (mask, language, again) = (self.hands.mask.clone(), self.hands.settings.language, asked.again);
                let asking = tokio::task::spawn_blocking(move || question(language, &call, |args| mask.masked(args)));
                for (key, text) in asking.await.map_err(|error| QueueError::Gone(error.to_string()))? {
                    self.post(&asked.place, format!("{key}:again-{again}"), text).await?;
                }
            } else if !is_whole {
                next = Some(later(next));
                continue;
            }
            self.hands.queue.note_asking_again(&asked.call).await?;
        }
        Ok(next)
    }
}

/// The number of a reaction among the decisions that are being carried out: no message has it.
fn row_of(reaction: &ReactionRow) -> i64 {
    -reaction.n
}

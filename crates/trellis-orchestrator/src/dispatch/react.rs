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

use super::{Dispatcher, decide::Carried};
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
    /// Begins to act on a reaction; returns true if nobody does yet.
    fn begin(&self, row: i64) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(row)
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
    /// Acts on the reactions that came, the strongest first. Work that lasts as long as a call is `carried` out beside it.
    pub(super) async fn act_on_reactions(&self, carried: &mut JoinSet<Result<(), QueueError>>) -> Result<(), QueueError> {
        for reaction in self.hands.queue.open_reactions().await? {
            match reaction.sign {
                Sign::Stop => {
                    if self.reacting.begin(reaction.n) {
                        carried.spawn(self.clone().stop_chat(reaction));
                    }
                }
                Sign::Approve => self.react(reaction, Decision::Approve, carried).await?,
                Sign::Deny => self.react(reaction, Decision::Deny, carried).await?,
                Sign::Defer => self.react(reaction, Decision::Defer, carried).await?,
                Sign::Cancel => self.react(reaction, Decision::Cancel, carried).await?,
            }
        }
        Ok(())
    }

    /// Takes a reaction as a decision about the call that its message asked about.
    async fn react(
        &self,
        reaction: ReactionRow,
        decision: Decision,
        carried: &mut JoinSet<Result<(), QueueError>>,
    ) -> Result<(), QueueError> {
        let queue = &self.hands.queue;
        let asked = queue.asked_by(&reaction.provider, &reaction.chat, &reaction.message).await?;
        let Some(asked) = asked else { return queue.settle_reaction(reaction.n).await };
        let held = self.held_in(&asked.place).await?.into_iter().find(|(_, call)| call.id.as_str() == asked.call);
        let Some((session, call)) = held else { return queue.settle_reaction(reaction.n).await };
        // When the earlier decision ends, all reactions are looked at again.
        if self.underway.has(&call.id) {
            return Ok(());
        }
        let may_decide = decision == Decision::Cancel || self.hands.settings.is_approver(&reaction.provider, &reaction.sender);
        if !may_decide {
            let text = self.hands.settings.language.text("approval_refused").to_owned();
            self.post(&asked.place, format!("refused:reaction:{}", reaction.n), text).await?;
            return queue.settle_reaction(reaction.n).await;
        }
        // No message has this number.
        self.underway.begin(&call.id, -reaction.n);
        carried.spawn(self.clone().carry_reaction(session, call, decision, reaction, asked.place));
        Ok(())
    }

    async fn carry_reaction(
        self,
        session: SessionId,
        call: Call,
        decision: Decision,
        reaction: ReactionRow,
        place: ChatPlace,
    ) -> Result<(), QueueError> {
        match self.carried(&session, &call, decision).await? {
            // It is carried out after the next start.
            Carried::Stopping => return Ok(()),
            Carried::Decided(_, turn) => {
                self.answer_reaction(&reaction, &place);
                if let Some(turn) = turn {
                    self.turned(&turn).await?;
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
        let taken = self.hands.queue.taken().await?.into_iter().filter(|row| of_chat(&row.message.place));
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
        let (due, next) = self.hands.queue.due_questions(now()).await?;
        for asked in due {
            let held = self.held_in(&asked.place).await?.into_iter().find(|(_, call)| call.id.as_str() == asked.call);
            if let Some((_, call)) = held {
                let (mask, language, again) = (self.hands.mask.clone(), self.hands.settings.language, asked.again);
                let asking = tokio::task::spawn_blocking(move || question(language, &call, |args| mask.masked(args)));
                for (key, text) in asking.await.map_err(|error| QueueError::Gone(error.to_string()))? {
                    self.post(&asked.place, format!("{key}:again-{again}"), text).await?;
                }
            }
            self.hands.queue.asked_again(&asked.call).await?;
        }
        Ok(next)
    }
}

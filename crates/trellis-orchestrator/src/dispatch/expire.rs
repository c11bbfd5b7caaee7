//! Calls that nobody decides about: those who may decide are told after half of the time, and at its end the call does not run (orchestrator 6.2).

use tokio::task::JoinSet;
use trellis_core::{SessionId, engine::Call};

use super::{Dispatcher, RETRY, decide::Carried, later, soon};
use crate::{
    approvals::question,
    config::Provider,
    inbound::Decision,
    message::{ChatPlace, now},
    queue::{AskedCall, QueueError},
    tools::Hands,
};

/// The longest time between two looks whether a question has arrived, in milliseconds.
const MAX_LOOK_MS: u64 = 10_000;
/// The number under which an expiry is carried out: no message has it.
const EXPIRY: i64 = 0;

impl Dispatcher {
    /// Tells those who may decide of calls that wait for long, and denies those that waited for too long; returns when the next of these is due, in
    /// milliseconds since 1970.
    pub(super) async fn expire(&self, carried: &mut JoinSet<Result<(), QueueError>>) -> Result<Option<u64>, QueueError> {
        let patience = self.hands.settings.patience();
        let mut next: Option<u64> = None;
        for waiting in self.hands.queue.waiting_calls().await? {
            let now = now();
            // A chat that is away could decide nothing: its time begins with the question. Others are asked all the same.
            let (escalated_at, end) = (waiting.since.min(now).saturating_add(patience / 2), waiting.end(patience, now));
            let is_over = end.is_some_and(|end| now >= end);
            if !is_over && (waiting.is_escalated || now < escalated_at) {
                let look = end.unwrap_or_else(|| now + (patience / 8).clamp(RETRY, MAX_LOOK_MS));
                let due = if waiting.is_escalated { look } else { look.min(escalated_at) };
                next = Some(next.map_or(due, |next| next.min(due)));
                continue;
            }
            let held = self.held_in(|place| *place == waiting.asked.place).await?;
            let is_whole = held.is_whole;
            let Some((session, call)) = held.find(&waiting.asked.call) else {
                // It was decided a moment ago, or its session cannot be read now.
                next = (!is_whole).then(|| later(next)).or(next);
                continue;
            };
            if !is_over {
                self.tell_approvers(&waiting.asked, call).await?;
                next = Some(soon(next));
            } else if !self.underway.has(&call.id) {
                self.underway.begin(&call.id, EXPIRY);
                carried.spawn(self.clone().deny_late(session, call, waiting.asked.place));
            }
        }
        Ok(next)
    }

    /// Asks those who may decide about a call, each in their own chat.
    async fn tell_approvers(&self, asked: &AskedCall, call: Call) -> Result<(), QueueError> {
        let (mask, language) = (self.hands.mask.clone(), self.hands.settings.language);
        let asking = tokio::task::spawn_blocking(move || question(language, &call, |args| mask.masked(args)));
        let asking = asking.await.map_err(|error| QueueError::Gone(error.to_string()))?;
        let chat = format!("{}:{}", asked.place.provider, asked.place.chat);
        let said = language.fill("approval_escalated", &[("chat", &chat)]);
        let elsewhere = approver_chats(&self.hands).into_iter().filter(|place| self.channels.contains_key(&place.provider));
        for (number, place) in (1..).zip(elsewhere.filter(|place| *place != asked.place)) {
            let key = format!("up:{}:{number}", asked.call);
            self.post(&place, format!("{key}:where"), said.clone()).await?;
            for (at, (_, text)) in (1..).zip(&asking) {
                self.post(&place, format!("{key}:{at}"), text.clone()).await?;
            }
        }
        self.hands.queue.note_telling(&asked.call).await
    }

    async fn deny_late(self, session: SessionId, call: Call, place: ChatPlace) -> Result<(), QueueError> {
        match self.carry(&session, &call, Decision::Deny).await? {
            Carried::Decided(_, turn) => {
                self.post(&place, format!("expired:{}", call.id), self.text_about("approval_expired", &call)).await?;
                if let Some(turn) = turn {
                    self.tell_turn(&turn).await?;
                }
            }
            Carried::Stopping | Carried::Undecided(_) | Carried::Gone => {}
        }
        self.underway.end(&call.id);
        self.wake.notify_one();
        Ok(())
    }
}

/// The chats of those who may decide: the terminal, in the browser whoever has the right, and direct chats where the name of a person is that of a
/// chat. Discord has no such names.
pub(crate) fn approver_chats(hands: &Hands) -> Vec<ChatPlace> {
    let mut chats = vec![ChatPlace::new("terminal", "terminal")];
    let labels = hands.web_tokens.get().map(|tokens| tokens.labels_with(trellis_server::Right::Approve)).unwrap_or_default();
    chats.extend(labels.iter().map(|label| crate::channel::Web::place(label, None)));
    let direct = |who: &String| {
        let (provider, person) = who.split_once(':')?;
        Provider::named(provider).filter(|provider| *provider != Provider::Discord).map(|_| ChatPlace::new(provider, person))
    };
    chats.extend(hands.settings.approvers.iter().filter_map(direct));
    chats
}

//! Answers: each is taken by the question that it was given to, even if another caller advances the session.
//!
//! A question has the number of the record from which on it is asked ([`Turn::asked`]). An answer that names a number between that and the next
//! record was given to this question. The store is not read before each step: an append that comes second is a conflict, and then the session is
//! loaded again and the question compared again.
//!
//! **Invariant:** no answer is taken to another question than the one that it was given to; no turn is discarded.

use std::{
    ops::RangeInclusive,
    sync::{Arc, Weak},
};

use trellis_core::{Input, Next, SessionId, state::Status};

use super::{
    MAX_TURN_CONFLICTS, Reply, Said, SendError, Sent, Sessions, Turn, Waiting,
    rest::millis,
    signal::raise,
    slot::{PanicSafeLock, RunningSession, Slot, SlotState},
};
use crate::{
    journal::RequestKey,
    store::{Approved, SessionStore, Snapshot, StoreError},
};

/// The question of a session when an answer came for it.
#[derive(Clone, Default)]
struct AskedAtSend {
    /// The number from which on it is asked; `None` if nothing is asked.
    asked: Option<u64>,
    /// The number of the record that came next; `None` if nothing is asked. An answer without a number was given to what was asked then.
    seen: Option<u64>,
    /// True if the time for an answer is up.
    is_over: bool,
    /// The numbers by which a look at a session that was not in memory names what an edit asks of it: of the session, and of each child.
    looked: Vec<(Option<SessionId>, RangeInclusive<u64>)>,
}

impl AskedAtSend {
    fn of(running: &RunningSession, now: u64) -> Self {
        let here = running.session.here();
        let waits = |here: &Snapshot| here.blocked.is_some() || here.state.status == Status::WaitingForInput;
        let child = here.children.values().map(|child| &child.here).find(|child| waits(child));
        let asks = Some(here).filter(|here| waits(here)).or(child);
        let seen = asks.map(|_| running.session.journal().next_seq());
        Self { asked: asks.map(|here| here.asked), seen, is_over: running.time_is_up(now), looked: Vec::new() }
    }

    /// Adds what a look at a session shows before it is loaded: the needs of an edit are asked without a record.
    fn looked(self, running: &RunningSession) -> Self {
        let (here, next) = (running.session.here(), running.session.journal().next_seq());
        let children = here.children.iter().map(|(child, known)| (Some(child.clone()), &known.here));
        let unblocked = std::iter::once((None, here)).chain(children).filter(|(_, here)| here.blocked.is_none());
        Self { looked: unblocked.map(|(child, here)| (child, here.asked..=next)).collect(), ..self }
    }
}

/// The place of a session when it took an answer that is not stored yet.
struct Saw {
    /// The number of the first record that was not stored then.
    next: u64,
    version: u64,
    asked: u64,
    approved: Vec<Approved>,
    stop: Option<Waiting>,
    others: Arc<Vec<Waiting>>,
}

impl Saw {
    fn of(running: &RunningSession) -> Self {
        let here = running.session.here();
        let (asked, approved) = (here.asked, here.approved.clone());
        let (stop, others) = (running.stop.clone(), Arc::clone(&running.others));
        Self { next: running.stored_to(), version: running.version, asked, approved, stop, others }
    }
}

impl RunningSession {
    /// Returns whether the time of its wait is up.
    pub(super) fn time_is_up(&self, now: u64) -> bool {
        let due = match &self.stop {
            Some(_) => self.due(),
            None => match self.session.engine().render(self.session.state()).map(|view| view.next) {
                Ok(Next::Ask(request)) => request.timeout.map(|timeout| self.session.entered_at().saturating_add(millis(timeout))),
                Ok(Next::Call(call)) => self.session.held_call(None, &call).and_then(|held| held.due),
                _ => None,
            },
        };
        due.is_some_and(|due| due <= now)
    }
}

impl Sessions {
    /// Takes an input of a client, and continues to the next stop.
    pub(super) async fn sent(&self, slot: &Slot, sent: Sent, request: Option<RequestKey>) -> Result<Turn, SendError> {
        let Sent { expected, to, reply } = sent;
        match reply {
            Reply::Input(Input::Signal(signal)) => {
                let unbegun = SendError::NotBegun(signal.clone());
                self.arrived(slot).await?;
                self.overtake(slot, request, unbegun, |running| raise(running, &slot.id, to.as_ref(), &signal)).await
            }
            Reply::Input(Input::Result(result)) => self.take_result(slot, result, request).await,
            reply => {
                let expected = expected.filter(|_| reply.is_for_a_question());
                self.answered(slot, expected, (to.as_ref(), reply), request).await
            }
        }
    }

    /// Hands the session something that it takes at once, also while another caller advances it, and continues to the next stop.
    pub(super) async fn overtake(
        &self,
        slot: &Slot,
        request: Option<RequestKey>,
        unbegun: SendError,
        act: impl FnOnce(&mut RunningSession) -> Result<(), SendError>,
    ) -> Result<Turn, SendError> {
        self.admit_once(slot, request.as_ref()).await?;
        let mut promise = self.hand_in(slot, request, unbegun, act)?;
        let turn = {
            let _driving = tokio::select! {
                biased;
                driving = slot.driving.lock() => driving,
                // Whoever advances the session runs the next call: where sessions are driven by others, nobody waits for that.
                () = promise.runs_on(), if self.policy.is_detached => return self.view(&slot.id).await,
            };
            // Whoever advanced it meanwhile got the turn.
            let with_missed = promise.overheard();
            self.admit()?;
            self.awake(slot).await?;
            with_missed(self.onward(slot).await?)
        };
        // Another caller may have advanced it, and failed to store that.
        promise.checked().map(|()| turn)
    }

    async fn answered(
        &self,
        slot: &Slot,
        expected: Option<u64>,
        (to, reply): (Option<&SessionId>, Reply),
        request: Option<RequestKey>,
    ) -> Result<Turn, SendError> {
        let judge =
            |running: &RunningSession| running.judge_request(request.as_ref()).or_else(|| running.judge_answer(expected, to, &reply));
        let _driving = self.wait_to_drive(slot, judge).await?;
        self.admit()?;
        if let Some(expected) = expected {
            // The client may have seen more of it than is here.
            slot.outdated(expected);
        }
        let question = self.arrive(slot).await?;
        self.admit_once(slot, request.as_ref()).await?;
        let expected = expected.or(question.seen);
        if reply.is_for_a_question() {
            self.hold_against(slot, to, (&reply, expected), &question).await?;
        } else if question.is_over && !self.awaits(slot, &reply) {
            return Err(SendError::TooLate(Box::new(self.present(slot).await?)));
        }
        let mut saw = slot.place.locked().running().map(Saw::of);
        self.take_by(slot, to, reply.clone(), request.clone())?;
        for _ in 0..MAX_TURN_CONFLICTS {
            let turn = self.onward(slot).await;
            let (Err(SendError::Store(StoreError::Conflict { expected: at, .. })), Some(before)) = (&turn, &mut saw) else { return turn };
            self.awake(slot).await?;
            // The reply is stored, the steps after it are not: it continues from wherever others put it.
            if *at > before.next {
                continue;
            }
            self.admit_once(slot, request.as_ref()).await?;
            if !self.shows_again(slot, before) {
                if !reply.is_for_a_question() {
                    // Another part of the same call may have moved on: a decision names its own.
                    let current = self.onward(slot).await?;
                    self.unsay(slot, current);
                    saw = slot.place.locked().running().map(Saw::of);
                    if self.take_by(slot, to, reply.clone(), request.clone()).is_err() {
                        return turn;
                    }
                    continue;
                }
                let question = self.arrive(slot).await?;
                self.hold_against(slot, to, (&reply, expected), &question).await?;
            }
            self.take_by(slot, to, reply.clone(), request.clone())?;
        }
        self.onward(slot).await
    }

    /// Restores the wait of a session that was loaded again, if it asks the same question.
    fn shows_again(&self, slot: &Slot, saw: &mut Saw) -> bool {
        let mut place = slot.place.locked();
        let Some(running) = place.running_mut() else { return false };
        let now = Saw::of(running);
        saw.next = now.next;
        let is_same = (saw.version, saw.asked, &saw.approved) == (now.version, now.asked, &now.approved);
        if is_same {
            running.session.was_heard();
            running.stop.clone_from(&saw.stop);
            running.others = Arc::clone(&saw.others);
        }
        is_same
    }

    /// Goes to the question that an answer is for: loads the session where it is not in memory, and lets time pass that has passed.
    async fn arrive(&self, slot: &Slot) -> Result<AskedAtSend, SendError> {
        let is_loaded = self.awake(slot).await?;
        let (now, mut is_fresh) = (self.now(), is_loaded);
        let question = slot.place.locked().running_mut().map_or_else(AskedAtSend::default, |running| {
            // It may have been loaded for a result that was refused, and has not come to rest since.
            is_fresh |= running.stop.is_none();
            let question = AskedAtSend::of(running, now);
            if is_loaded && question.asked.is_some() {
                // Whoever answers a question has seen it.
                running.session.was_heard();
            }
            if is_fresh { question.looked(running) } else { question }
        });
        if is_fresh || question.is_over {
            let turn = self.onward(slot).await?;
            self.unsay(slot, turn);
        }
        Ok(question)
    }

    /// Refuses an answer to a question that is not asked any more.
    async fn hold_against(
        &self,
        slot: &Slot,
        to: Option<&SessionId>,
        (reply, expected): (&Reply, Option<u64>),
        question: &AskedAtSend,
    ) -> Result<(), SendError> {
        let is_asked = match (slot.place.locked().running(), expected) {
            (Some(running), Some(expected)) => {
                let asks = to.filter(|to| **to != slot.id).or_else(|| running.stop.as_ref()?.child.as_ref().filter(|_| to.is_none()));
                let asked = running.session.here_in(asks).map_or(0, |here| here.asked);
                // Without a name it is for whoever asked first.
                let first = running.asks_first.as_ref().filter(|(child, _)| to.is_none() && child.as_ref() == asks);
                let asked = first.map_or(asked, |(_, since)| asked.max(*since));
                let is_looked =
                    |(child, numbers): &(Option<SessionId>, RangeInclusive<u64>)| child.as_ref() == asks && numbers.contains(&expected);
                let answers_an_edit = matches!(reply, Reply::Context(_) | Reply::Keep(_));
                (asked..=running.session.journal().next_seq()).contains(&expected)
                    || answers_an_edit && question.looked.iter().any(is_looked)
            }
            _ => true,
        };
        if is_asked {
            return Ok(());
        }
        let turn = Box::new(self.present(slot).await?);
        Err(if question.is_over && expected >= question.asked { SendError::TooLate(turn) } else { SendError::Stale(turn) })
    }

    /// Returns whether an approval, or the answer to a predicate, is still awaited.
    fn awaits(&self, slot: &Slot, reply: &Reply) -> bool {
        let place = slot.place.locked();
        let Some(running) = place.running() else { return false };
        match reply {
            Reply::Approve { call, .. } => running.held(call.as_ref()).is_some(),
            Reply::Predicate { id, .. } => running.asks_whether(id).is_some(),
            Reply::Input(_) | Reply::Context(_) | Reply::Keep(_) => false,
        }
    }

    /// Returns the current turn of a session.
    pub(super) async fn present(&self, slot: &Slot) -> Result<Turn, SendError> {
        let waits: Vec<Waiting> = slot.place.locked().running().into_iter().flat_map(RunningSession::waits).cloned().collect();
        let turn = if waits.is_empty() { self.onward(slot).await? } else { self.stopped(slot, waits) };
        Ok(self.said_again(slot, turn))
    }

    /// Continues until a client is needed, from the stored place of the session.
    async fn again(&self, slot: &Slot) -> Result<Turn, SendError> {
        for _ in 1..MAX_TURN_CONFLICTS {
            self.awake(slot).await?;
            match self.onward(slot).await {
                Err(SendError::Store(StoreError::Conflict { .. })) => {}
                turn => return turn,
            }
        }
        self.awake(slot).await?;
        self.onward(slot).await
    }

    /// Continues until a client is needed; from the stored session, if that is newer.
    pub(super) async fn renewed(&self, slot: &Slot) -> Result<Turn, SendError> {
        let _driving = tokio::select! {
            biased;
            driving = slot.driving.lock() => driving,
            // It works by itself, which is left to whoever drives it.
            () = slot.until_working(), if self.policy.is_detached => return self.view(&slot.id).await,
        };
        self.catch_up(slot).await;
        let turn = self.again(slot).await?;
        Ok(self.said_again(slot, turn))
    }

    /// Forgets a session that the store has more of.
    pub(super) async fn catch_up(&self, slot: &Slot) {
        if let Some(next) = self.news_of(slot).await {
            slot.outdated(next + 1);
            // They were of before it was moved.
            slot.take_happened();
        }
    }

    /// Returns whether the store has more of a session than this process: another writer decided about a call, or advanced it.
    pub async fn has_news(&self, id: &SessionId) -> bool {
        match self.found(id) {
            Some(slot) => self.news_of(&slot).await.is_some(),
            None => false,
        }
    }

    /// The number of the first record that only the store has.
    async fn news_of(&self, slot: &Slot) -> Option<u64> {
        let next = slot.place.locked().running().filter(|running| running.is_stored).map(RunningSession::stored_to)?;
        // A store that does not respond fails at the next append.
        let rows = self.persistence.as_ref()?.store.records(&slot.id, next, 1).await;
        rows.is_ok_and(|rows| !rows.is_empty()).then_some(next)
    }

    /// Keeps the events and content of a turn for the next one.
    pub(super) fn unsay(&self, slot: &Slot, turn: Turn) {
        if let Some(running) = slot.place.locked().running() {
            running.overhearing.iter().filter_map(Weak::upgrade).for_each(|waiting| waiting.unhear(&turn));
        }
        slot.happened(turn.happened);
        if let SlotState::Running(running) = &mut *slot.place.locked() {
            running.said.splice(0..0, turn.said);
        }
    }

    /// Returns a turn, with the content of the present node if it has none.
    fn said_again(&self, slot: &Slot, mut turn: Turn) -> Turn {
        if turn.said.is_empty() {
            let place = slot.place.locked();
            let last = place.running().and_then(|running| running.session.last_said(turn.child.as_ref()));
            turn.said.extend(last.map(|(node, text)| Said { child: turn.child.clone(), node, text }));
        }
        turn
    }
}

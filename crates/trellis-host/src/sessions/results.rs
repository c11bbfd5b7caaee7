//! Results of calls: a client's is taken for a call that is its own to make, and whoever operates the host settles any call by hand (language C.8).
//!
//! ```text
//! result ──▶ open? ─ no ─▶ left, settled, unknown ─▶ late, or refused
//!              └─ yes ─▶ held, delayed, carried out here ─▶ refused
//!                         └─ none of these ─▶ policy and interceptors decide ─▶ the client was asked ─▶ taken
//! ```
//!
//! **Invariant:** no result of a client is taken before policy, interceptors and approval have ruled, or for a call that is carried out here, whole
//! or in part; a refused one moves nothing, and none waits until it may be taken.

use std::sync::Arc;

use trellis_core::{
    Input, SessionId, ToolResult,
    engine::{Call, pending_calls},
    id::CallId,
    state::{CallKind, PendingCall},
};

use super::{
    MAX_TURN_CONFLICTS, NotYours, Policy, Reply, SendError, SessionEvent, Sessions, Stop, Turn, Waiting,
    rest::{RestPoint, SleepPolicy},
    slot::{PanicSafeLock, RunningSession, Slot, SlotState},
    taking::expected,
};
use crate::{
    journal::RequestKey,
    store::{Snapshot, StoreError},
};

/// The owner of the result of a call.
enum ResultOwner {
    /// A client: it was asked for it.
    Client,
    /// The engine: the call is not open, and it knows whether the call was left, was settled, or never was.
    Engine,
    /// Not known before policy and interceptors have decided.
    Undecided(Option<CallId>),
    /// Nobody who sends one. With the part by which it is so.
    Nobody(NotYours, Option<CallId>),
}

/// The rules of the host for the results of clients.
#[derive(Clone, Copy)]
struct ResultRules {
    policy: Policy,
    now: u64,
    has_interceptors: bool,
}

impl RunningSession {
    /// Returns the owner of the result of a call, as the session is now.
    fn owner_of_result(&self, id: &CallId, rules: ResultRules) -> ResultOwner {
        let Some((child, call)) = self.pending(id) else { return self.owner_of_late(id) };
        let Some(here) = self.session.here_in(child.as_ref()) else { return ResultOwner::Engine };
        // A result before the answer to that is refused when it is handed in.
        if self.question_before(child.as_ref()).is_some() {
            return ResultOwner::Engine;
        }
        let whole = here.state.pending_tool_call.as_ref();
        if let Some(why) = whole.into_iter().chain([&call]).find_map(|call| self.before_its_turn(here, call, rules)) {
            return ResultOwner::Nobody(why, None);
        }
        match call.kind {
            CallKind::Parallel { .. } | CallKind::Each { .. } => self.owner_of_whole(here, rules),
            CallKind::Tool | CallKind::Graph(_) if self.is_asked(id) => ResultOwner::Client,
            CallKind::Tool | CallKind::Graph(_) => match self.is_carried_out(&call, rules) {
                true if rules.has_interceptors && self.stop.is_none() => ResultOwner::Undecided(None),
                true => ResultOwner::Nobody(NotYours::CarriedOutHere, None),
                false => ResultOwner::Undecided(None),
            },
        }
    }

    /// The owner of the result of a whole: a client, if each part without an outcome is a client's and none is carried out here.
    fn owner_of_whole(&self, here: &Snapshot, rules: ResultRules) -> ResultOwner {
        let all = pending_calls(&here.state).skip(1).zip(here.state.parts.iter());
        let (mut open, mut unasked) = (0, None);
        for (part, state) in all {
            let is_asked = self.is_asked(&part.id);
            if !is_asked && self.is_carried_out(&part, rules) {
                return ResultOwner::Nobody(NotYours::CarriedOutHere, Some(part.id.clone()));
            }
            if state.outcome.is_some() {
                continue;
            }
            if let Some(why) = self.before_its_turn(here, &part, rules) {
                return ResultOwner::Nobody(why, Some(part.id.clone()));
            }
            open += 1;
            if !is_asked {
                unasked.get_or_insert_with(|| part.id.clone());
            }
        }
        match unasked {
            None if open > 0 => ResultOwner::Client,
            part => ResultOwner::Undecided(part),
        }
    }

    /// The owner of the result of a call that is not open: none of a client's, where the call was left before a client was asked for it.
    fn owner_of_late(&self, id: &CallId) -> ResultOwner {
        let here = self.session.here();
        let states = std::iter::once(&here.state).chain(here.children.values().map(|child| &child.here.state));
        let left = states.flat_map(|state| state.abandoned.iter()).find(|left| left.id == *id && !left.is_settled);
        let Some(left) = left else { return ResultOwner::Engine };
        if self.bindings.binds_at(self.session.engine().inspect(), &left.node, &left.tool) {
            return ResultOwner::Nobody(NotYours::CarriedOutHere, None);
        }
        match here.unasked.contains(id) {
            true => ResultOwner::Nobody(NotYours::NotAsked, None),
            false => ResultOwner::Engine,
        }
    }

    /// Returns whether a client is asked for the result of this call: policy, interceptors and approval have ruled.
    fn is_asked(&self, id: &CallId) -> bool {
        self.waits().any(|waiting| matches!(&waiting.stop, Stop::Call { call, .. } if call.id == *id))
    }

    /// Returns whether a binding carries a call out here, or a child session does.
    fn is_carried_out(&self, call: &PendingCall, rules: ResultRules) -> bool {
        let is_child = matches!(call.kind, CallKind::Graph(_)) && !rules.policy.answers_graphs;
        is_child || self.bindings.carries_out(self.session.engine().inspect(), call)
    }

    /// Returns why a call cannot be made yet: it waits for an approval, or before another attempt.
    fn before_its_turn(&self, here: &Snapshot, call: &PendingCall, rules: ResultRules) -> Option<NotYours> {
        let is_shown = |stop: &Stop| stop.held().is_some_and(|held| held.id == call.id && !here.is_approved(call));
        let is_held = here.is_held_for_approval(call) || self.waits().any(|waiting| is_shown(&waiting.stop));
        if is_held && !rules.policy.approve_all {
            return Some(NotYours::Held);
        }
        (call.delay > 0 && here.asked_at(call) > rules.now).then_some(NotYours::Delayed)
    }

    /// Returns whether an open call was approved.
    fn has_approval(&self, id: &CallId) -> bool {
        self.pending(id).is_some_and(|(child, call)| self.session.is_approved(child.as_ref(), &call))
    }

    /// The question that comes before a result for a session of the tree: what an edit asks, a predicate.
    pub(super) fn question_before(&self, child: Option<&SessionId>) -> Option<&Waiting> {
        self.waits().find(|waiting| match &waiting.stop {
            Stop::Keys { .. } | Stop::Changed { .. } => true,
            Stop::Predicate { .. } => waiting.child.as_ref() == child,
            _ => false,
        })
    }

    /// The pending call, or the open part, that has this id, and the child that makes it.
    pub(super) fn pending(&self, id: &CallId) -> Option<(Option<SessionId>, Call)> {
        let child = self.session.owner_of(id);
        let whole = self.session.here_in(child.as_ref())?.state.pending_tool_call.clone();
        let call = whole.filter(|call| call.id == *id);
        let call = call.or_else(|| self.session.open_calls(child.as_ref()).into_iter().find(|call| call.id == *id))?;
        Some((child, call))
    }
}

impl Sessions {
    fn result_rules(&self) -> ResultRules {
        ResultRules { policy: self.policy, now: self.now(), has_interceptors: !self.interceptors.is_empty() }
    }

    /// Takes the result that a client gives for a call, and continues to the next stop. One that comes while a call runs is judged at once, so that
    /// nothing that happens meanwhile makes it acceptable.
    pub(super) async fn take_result(&self, slot: &Slot, result: ToolResult, request: Option<RequestKey>) -> Result<Turn, SendError> {
        let (_driving, was_approved) = match slot.driving.try_lock() {
            Ok(driving) => (driving, None),
            Err(_) => {
                let was_approved = self.judge_early(slot, &result.id, request.as_ref())?;
                (slot.driving.lock().await, was_approved)
            }
        };
        self.admit()?;
        // The number of the first record that was not stored when it was taken.
        let (mut taken_at, mut conflict) = (None, None);
        for _ in 0..MAX_TURN_CONFLICTS {
            self.awake(slot).await?;
            if taken_at.is_none() {
                self.admit_once(slot, request.as_ref()).await?;
                let judged = self.judge(slot, &result.id, was_approved).await;
                if let Err(SendError::Store(StoreError::Conflict { .. })) = judged {
                    conflict = judged.err();
                    continue;
                }
                judged?;
                let next = slot.place.locked().running().map(RunningSession::stored_to);
                self.take_by(slot, None, Reply::Input(Input::Result(result.clone())), request.clone())?;
                taken_at = Some(next.unwrap_or_default());
            }
            let turn = self.onward(slot).await;
            let Err(SendError::Store(StoreError::Conflict { expected, .. })) = &turn else { return turn };
            // Where it is stored, the steps after it are not.
            taken_at = taken_at.filter(|next| expected > next);
            conflict = turn.err();
        }
        if let (None, Some(conflict)) = (taken_at, conflict) {
            return Err(conflict);
        }
        self.awake(slot).await?;
        self.onward(slot).await
    }

    /// Refuses the result of a call that is nobody's to give while somebody else advances the session; else returns whether the call is approved.
    fn judge_early(&self, slot: &Slot, id: &CallId, request: Option<&RequestKey>) -> Result<Option<bool>, SendError> {
        let place = slot.place.locked();
        let Some(running) = place.running() else { return Ok(None) };
        // A request that was taken before is no result of now.
        if request.is_some_and(|request| running.taken(request).is_some()) {
            return Ok(None);
        }
        match running.owner_of_result(id, self.result_rules()) {
            ResultOwner::Nobody(why, part) => Err(refusal(id, why, part)),
            ResultOwner::Client | ResultOwner::Engine | ResultOwner::Undecided(_) => Ok(Some(running.has_approval(id))),
        }
    }

    /// Refuses the result of a call that is not its client's to give. Where nobody knows yet, policy and interceptors decide first, and nothing runs
    /// for that.
    async fn judge(&self, slot: &Slot, id: &CallId, was_approved: Option<bool>) -> Result<(), SendError> {
        let look = || {
            let place = slot.place.locked();
            let running = place.running()?;
            let rests = running.stop.is_some() && !running.time_is_up(self.now());
            Some((running.owner_of_result(id, self.result_rules()), rests, running.has_approval(id)))
        };
        let Some((mut owner, mut rests, _)) = look() else { return Ok(()) };
        if matches!(owner, ResultOwner::Nobody(..)) {
            // Another process may have approved it, or moved the session.
            self.catch_up(slot).await;
            if self.awake(slot).await? {
                (owner, rests) = (look().map_or(ResultOwner::Engine, |(owner, ..)| owner), false);
            }
        }
        if let ResultOwner::Nobody(why, part) = owner {
            return Err(refusal(id, why, part));
        }
        if !rests || matches!(owner, ResultOwner::Undecided(_)) {
            if let RestPoint::Stopped(turn) = self.rest(slot, SleepPolicy::Brief, None).await? {
                self.unsay(slot, turn);
            }
            owner = look().map_or(ResultOwner::Engine, |(owner, ..)| owner);
        }
        let is_approved = look().is_some_and(|(.., is_approved)| is_approved);
        match owner {
            // It came before somebody said yes.
            ResultOwner::Client if is_approved && was_approved == Some(false) => Err(refusal(id, NotYours::Held, None)),
            ResultOwner::Client | ResultOwner::Engine => Ok(()),
            ResultOwner::Undecided(part) => Err(refusal(id, NotYours::NotAsked, part)),
            ResultOwner::Nobody(why, part) => Err(refusal(id, why, part)),
        }
    }

    /// Settles a call by hand, at once and in whatever state it is: the result is accepted in place of whoever would have carried the call out, what
    /// runs of it is stopped, and no policy and no approval is asked. A record of its own kind says who did that and why, and which approvals were
    /// missing. Doors give this to those who operate a host, never to those who walk a session.
    ///
    /// # Errors
    /// The session knows no such call that is open or left; nothing happened.
    pub async fn settle_call(
        &self,
        id: &SessionId,
        result: ToolResult,
        because: Option<Arc<str>>,
        request: RequestKey,
    ) -> Result<Turn, SendError> {
        self.admit()?;
        let slot = self.slot(id)?;
        let turn = self.settled_by_hand(&slot, result, because, request).await;
        self.leave(slot);
        turn
    }

    async fn settled_by_hand(
        &self,
        slot: &Slot,
        result: ToolResult,
        because: Option<Arc<str>>,
        request: RequestKey,
    ) -> Result<Turn, SendError> {
        if matches!(*slot.place.locked(), SlotState::Away) {
            let _driving = slot.driving.lock().await;
            // It takes the program of now up before anything is settled.
            if self.awake(slot).await?
                && let RestPoint::Stopped(turn) = self.rest(slot, SleepPolicy::Brief, None).await?
            {
                self.unsay(slot, turn);
            }
        }
        let (got, by) = (format!("the result of call `{}`", result.id), request.by.clone());
        let unbegun = SendError::NotAwaited { expected: "the start".to_owned(), got: got.clone() };
        self.overtake(slot, Some(request), unbegun, |running| {
            let call = running.pending(&result.id);
            let child = call.as_ref().and_then(|(child, _)| child.as_ref());
            if let Some(waiting) = running.question_before(child).filter(|_| call.is_some()) {
                let expected = expected(&waiting.stop);
                return Err(SendError::NotAwaited { expected, got });
            }
            running.session.settle(result.clone(), by, because)?;
            if let Some((child, call)) = call {
                running.tell(child.as_ref(), SessionEvent::Given(call, result.clone()));
            }
            Ok(())
        })
        .await
    }
}

/// The refusal of the result of a call.
fn refusal(call: &CallId, why: NotYours, part: Option<CallId>) -> SendError {
    SendError::NotYours { call: call.clone(), part, why }
}

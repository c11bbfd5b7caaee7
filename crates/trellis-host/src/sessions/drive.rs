//! Going on: from an answer to the next stop.

use std::{sync::Arc, time::Duration};

use trellis_core::{
    Input, SignalName, ToolOutcome, ToolResult,
    engine::{Call, RequestType, StartError},
    id::CallId,
    state::PendingCall,
};

use super::{
    Reply, Said, SendError, SessionEvent, Sessions, Stop, Turn,
    predicate::PredicateQuestion,
    scheduler::Seat,
    slot::{PanicSafeLock, RunningSession, Slot, SlotState},
};
use crate::session::{Halt, Session};

/// What must be done before the session can go on.
pub(super) enum Act {
    /// Nothing: go on.
    Go,
    /// Nothing here: somebody else goes on.
    Leave,
    Stop(Stop),
    Call(Call),
    /// Carry out the open parts of a call.
    Parts {
        whole: Call,
        open: Vec<Call>,
    },
    /// Sleep at this step, from then until then.
    Sleep {
        step: u64,
        since: u64,
        due: u64,
    },
    Predicate(PredicateQuestion),
}

impl Act {
    /// When its sleep is over, or the delay of its call.
    fn sleeps_until(&self, slot: &Slot) -> Option<u64> {
        match self {
            Self::Sleep { due, .. } => Some(*due),
            Self::Call(call) if call.delay > 0 => {
                let since = slot.place.locked().running().map(|running| running.session.stepped_at())?;
                Some(since.saturating_add(call.delay))
            }
            Self::Parts { whole, open } => {
                let place = slot.place.locked();
                let running = place.running()?;
                let delayed = |call: &Call| (call.delay > 0).then(|| running.session.asked_at(call));
                // Unless all of them are delayed, one of them can begin.
                let parts = open.iter().map(delayed).collect::<Option<Vec<_>>>().and_then(|dues| dues.into_iter().min());
                delayed(whole).max(parts)
            }
            _ => None,
        }
    }
}

/// Whether somebody waits while a session sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SleepPolicy {
    /// It is slept until it is over, and calls are carried out.
    Whole,
    /// What sleeps, and what is carried out, is left to whoever wakes sessions.
    Brief,
    /// What sleeps is left alone.
    None,
}

/// Where a session came to rest.
#[expect(clippy::large_enum_variant, reason = "it is handed on at once")]
pub(super) enum RestPoint {
    Stopped(Turn),
    /// It goes on by itself then.
    Asleep(u64),
}

impl Sessions {
    /// Goes on until somebody else is needed.
    pub(super) async fn driven(&self, slot: &Slot) -> Result<Turn, SendError> {
        let _driving = slot.driving.lock().await;
        self.admit()?;
        self.awake(slot).await?;
        self.onward(slot).await
    }

    /// The same, for one who holds `driving`.
    pub(super) async fn onward(&self, slot: &Slot) -> Result<Turn, SendError> {
        let patience = if self.policy.is_detached && self.keeping.is_some() { SleepPolicy::Brief } else { SleepPolicy::Whole };
        loop {
            match self.rest(slot, patience, None).await? {
                RestPoint::Stopped(turn) => return Ok(turn),
                RestPoint::Asleep(until) if patience == SleepPolicy::Brief => {
                    let node = self.running(slot, |running| Ok(running.session.state().current_node_id.clone()))?;
                    return Ok(self.stopped(slot, Stop::Sleeping { node, until }));
                }
                RestPoint::Asleep(_) => {}
            }
        }
    }

    /// Goes on until somebody else is needed, or time must pass that nobody waits for. Who was woken has a seat.
    pub(super) async fn rest(&self, slot: &Slot, patience: SleepPolicy, mut seat: Option<&mut Seat>) -> Result<RestPoint, SendError> {
        slot.take_pause();
        if seat.is_some() && self.is_paused(&slot.id) {
            return Err(SendError::Stopped);
        }
        loop {
            let (act, step) = self.next(slot)?;
            self.keep(slot, &act).await?;
            // A signal may have moved it while that was stored.
            if matches!(act, Act::Stop(_)) && slot.step() != step {
                continue;
            }
            if let Some(due) = act.sleeps_until(slot).filter(|due| patience != SleepPolicy::Whole && *due > self.now()) {
                return Ok(RestPoint::Asleep(due));
            }
            if let (Some(seat), Act::Call(_) | Act::Parts { .. } | Act::Predicate(_)) = (&mut seat, &act) {
                seat.take_for_a_call().await;
            }
            let stop = match act {
                Act::Go | Act::Leave => None,
                Act::Stop(stop) => Some(stop),
                Act::Call(call) => self.call(slot, call, patience).await?,
                Act::Parts { whole, .. } => self.parts(slot, whole, patience).await?,
                Act::Predicate(question) => self.predicate(slot, question).await?,
                Act::Sleep { step, since, due } => {
                    if self.sleep(slot, step, since, due).await {
                        self.running(slot, |running| Ok(running.session.send(Input::Pass)?))?;
                    }
                    None
                }
            };
            if let Some(seat) = &mut seat {
                seat.take_for_a_move().await;
            }
            if let Some(stop) = stop {
                return Ok(RestPoint::Stopped(self.stopped(slot, stop)));
            }
            if slot.take_pause() {
                return Err(SendError::Stopped);
            }
        }
    }

    /// The turn of a session that stops.
    pub(super) fn stopped(&self, slot: &Slot, stop: Stop) -> Turn {
        let mut place = slot.place.locked();
        let mut turn = match &mut *place {
            SlotState::Running(running) => {
                running.stop = Some(stop.clone());
                let (said, others) = (std::mem::take(&mut running.said), Arc::clone(&running.others));
                Turn { said, others, ..Turn::of(&running.session, stop) }
            }
            SlotState::Beginning(beginning) => self.before(&slot.id, beginning, stop),
            SlotState::Away | SlotState::Gone => {
                let program = Arc::clone(self.current().engine.inspect().fingerprint());
                Turn::before(slot.id.clone(), self.current().engine.inspect().entry().id.clone(), program, stop)
            }
        };
        (turn.happened, turn.has_more) = slot.take_happened();
        turn
    }

    /// One stretch without awaiting: begins, takes up another program, and advances to what must be done, at which step.
    fn next(&self, slot: &Slot) -> Result<(Act, Option<u64>), SendError> {
        let mut place = slot.place.locked();
        let act = self.act(slot, &mut place)?;
        let step = place.running().map(|running| running.session.state().step);
        Ok((act, step))
    }

    fn act(&self, slot: &Slot, place: &mut SlotState) -> Result<Act, SendError> {
        if let SlotState::Beginning(beginning) = place {
            let current = self.current();
            let begun = Session::start(current.engine.clone(), beginning.start.clone(), beginning.answers.clone(), self.clock.clone());
            match begun {
                Ok(session) => {
                    let requests = beginning.request.take().map(|request| (0, request)).into_iter().collect();
                    let running = RunningSession::new(session, current.bindings, current.version);
                    *place = SlotState::Running(Box::new(RunningSession { requests, ..running }));
                }
                Err(StartError::Unanswered(asked)) => {
                    beginning.asks = Some(asked.clone());
                    return Ok(Act::Predicate(PredicateQuestion::at_start(*asked, current.engine.inspect(), &beginning.start)));
                }
                Err(refused) => return Err(refused.into()),
            }
        }
        let running = place.running_mut().ok_or_else(|| SendError::Unknown(slot.id.clone()))?;
        running.stop = None;
        running.others = Arc::default();
        if let Some(stop) = self.take_up(slot, running)? {
            return Ok(Act::Stop(stop));
        }
        running.tell_rollback();
        let now = self.clock.now();
        let due =
            |running: &RunningSession, timeout: Option<Duration>| timeout.map(|timeout| running.session.entered_at() + millis(timeout));
        Ok(match running.session.advance()? {
            Halt::Said { node, content } => {
                running.telling.push(SessionEvent::Said(Arc::clone(&content)));
                running.said.push(Said { node, text: content });
                Act::Go
            }
            Halt::Invalid(message) => {
                running.telling.push(SessionEvent::Invalid(message));
                Act::Go
            }
            Halt::Ask(request) if matches!(request.input_type, RequestType::None(_)) => {
                let (step, since) = (running.session.state().step, running.session.entered_at());
                Act::Sleep { step, since, due: due(running, request.timeout).unwrap_or(now) }
            }
            Halt::Ask(request) => match due(running, request.timeout) {
                Some(due) if due <= now => {
                    running.session.signal(&SignalName::TIMEOUT.into())?;
                    Act::Go
                }
                due => Act::Stop(Stop::Ask { request, due }),
            },
            Halt::Call(call) => Act::Call(call),
            Halt::Parts { whole, open } => Act::Parts { whole, open },
            Halt::Predicate(asked) => Act::Predicate(PredicateQuestion::in_step(*asked, &running.session)),
            Halt::Ended(ended) => Act::Stop(Stop::Ended(ended)),
        })
    }

    /// Takes what a client sent.
    pub(super) fn take(&self, slot: &Slot, reply: Reply) -> Result<(), SendError> {
        let mut place = slot.place.locked();
        let running = match &mut *place {
            SlotState::Running(running) => running,
            SlotState::Away | SlotState::Gone => return Err(SendError::Unknown(slot.id.clone())),
            SlotState::Beginning(beginning) => {
                return match (beginning.asks.take(), reply) {
                    (Some(asked), Reply::Predicate { id, holds }) if id == super::predicate::id(&asked.name, None) => {
                        beginning.answers.insert(asked.name, holds);
                        Ok(())
                    }
                    (asks, reply) => {
                        let expected = asks.as_ref().map_or_else(|| "the start".to_owned(), |asked| predicate(&asked.name));
                        beginning.asks = asks;
                        Err(SendError::NotAwaited { expected, got: kind(&reply) })
                    }
                };
            }
        };
        match (&running.stop, reply) {
            (Some(Stop::Keys { .. }), Reply::Context(keys)) => {
                let reserved = keys.iter().map(|(key, _)| key).find(|key| matches!(&***key, "sys" | "input" | "tool_result"));
                if let Some(key) = reserved {
                    return Err(SendError::Reserved(Arc::from(&**key)));
                }
                running.session.supply(keys)?;
            }
            (Some(Stop::Changed { .. }), Reply::Keep(kept)) => running.decide(kept),
            (_, Reply::Approve { call: id, yes }) if running.held(id.as_ref()).is_some() => {
                let Some(call) = running.held(id.as_ref()) else { return Ok(()) };
                if yes {
                    running.session.approve(call.idempotency_key.clone());
                } else {
                    let result = ToolResult::new(call.id.clone(), ToolOutcome::Denied(None));
                    self.tell(slot, &SessionEvent::Returned(Arc::clone(&call), result.clone()));
                    running.session.send(Input::Result(result))?;
                }
            }
            (Some(Stop::Predicate { id, name, .. }), Reply::Predicate { id: answered, holds }) if *id == answered => {
                running.session.answer(&Arc::clone(name), holds)?;
            }
            // It came before, and was recorded (language 7.6).
            (_, Reply::Input(Input::Result(result))) if running.session.state().has_settled_late(&result.id) => {}
            // The result of a call that was left long ago may come at any time; that of the pending one when it is due.
            (stop, Reply::Input(Input::Result(result))) if !running.holds_back(stop.as_ref(), &result) => {
                let call = running.pending(&result.id);
                running.session.send(Input::Result(result.clone()))?;
                if let Some(call) = call {
                    self.tell(slot, &SessionEvent::Given(call, result));
                }
            }
            (None | Some(Stop::Ask { .. } | Stop::Call { .. } | Stop::Ended(_)), Reply::Input(input)) => running.session.send(input)?,
            (stop, reply) => {
                let expected = stop.as_ref().map_or_else(|| "nothing".to_owned(), expected);
                return Err(SendError::NotAwaited { expected, got: kind(&reply) });
            }
        }
        Ok(())
    }

    /// Does something with a session that has begun.
    pub(super) fn running<T>(&self, slot: &Slot, act: impl FnOnce(&mut RunningSession) -> Result<T, SendError>) -> Result<T, SendError> {
        let mut place = slot.place.locked();
        act(place.running_mut().ok_or_else(|| SendError::Unknown(slot.id.clone()))?)
    }

    /// Lets time pass at a step; false where the session was disturbed before.
    pub(super) async fn sleep(&self, slot: &Slot, step: u64, since: u64, due: u64) -> bool {
        // A clock that went back makes nobody wait longer than the whole time.
        let left = self.until(due).min(Duration::from_millis(due.saturating_sub(since)));
        if left.is_zero() {
            return true;
        }
        self.tell(slot, &SessionEvent::Sleeping(left));
        tokio::select! {
            () = slot.until_disturbed(step) => false,
            () = tokio::time::sleep(left) => true,
        }
    }

    pub(super) fn now(&self) -> u64 {
        self.clock.now()
    }
}

impl RunningSession {
    /// Whether this result is that of a call whose turn has not come: it waits for an approval, or for a decision.
    fn holds_back(&self, stop: Option<&Stop>, result: &ToolResult) -> bool {
        let is_held = |stop: &Stop| match stop {
            Stop::Approve { call, .. } => call.id == result.id || self.part(&result.id).is_some_and(|part| is_part_of(&part, call)),
            Stop::Keys { .. } | Stop::Changed { .. } | Stop::Predicate { .. } => true,
            _ => false,
        };
        let is_pending = self.pending(&result.id).is_some();
        is_pending && stop.into_iter().chain(self.others.iter()).any(is_held)
    }

    /// The pending call, or the open part, that has this id.
    fn pending(&self, id: &CallId) -> Option<Call> {
        self.session.state().pending_tool_call.clone().filter(|call| call.id == *id).or_else(|| self.part(id))
    }

    fn part(&self, id: &CallId) -> Option<Call> {
        self.session.open_parts().and_then(|(_, open)| open.into_iter().find(|part| part.id == *id))
    }

    /// The call that waits for an approval: the one of this id, or the only one.
    fn held(&self, id: Option<&CallId>) -> Option<Call> {
        let mut held = self.stop.iter().chain(self.others.iter()).filter_map(|stop| match stop {
            Stop::Approve { call, .. } if id.is_none_or(|id| *id == call.id) => Some(call),
            _ => None,
        });
        let first = held.next()?;
        held.next().is_none().then(|| Arc::clone(first))
    }
}

fn is_part_of(part: &PendingCall, whole: &PendingCall) -> bool {
    part.part.as_ref().is_some_and(|of| of.of == whole.id)
}

impl RunningSession {
    /// When the first of what it waits for is over.
    pub(super) fn due(&self) -> Option<u64> {
        self.stop.iter().chain(self.others.iter()).filter_map(Stop::due).min()
    }
}

/// What a stop waits for.
fn expected(stop: &Stop) -> String {
    match stop {
        Stop::Ask { .. } => "an input".to_owned(),
        Stop::Call { call, .. } => format!("the result of call `{}`", call.id),
        Stop::Approve { call, .. } => format!("the approval of call `{}`", call.id),
        Stop::Predicate { name, .. } => predicate(name),
        Stop::Keys { missing, .. } => format!("the context with {}", quoted(missing)),
        Stop::Changed { call, .. } => format!("whether to keep call `{}`", call.id),
        Stop::Running { .. } | Stop::Sleeping { .. } => "nothing for now".to_owned(),
        Stop::Ended(_) => "nothing".to_owned(),
    }
}

fn predicate(name: &str) -> String {
    format!("the answer to the predicate `{name}`")
}

/// What came instead.
fn kind(reply: &Reply) -> String {
    match reply {
        Reply::Input(Input::Result(result)) => format!("the result of call `{}`", result.id),
        Reply::Input(_) => "an input".to_owned(),
        Reply::Approve { call: Some(call), .. } => format!("the approval of call `{call}`"),
        Reply::Approve { call: None, .. } => "an approval".to_owned(),
        Reply::Predicate { .. } => "the answer to a predicate".to_owned(),
        Reply::Context(_) => "a context".to_owned(),
        Reply::Keep(_) => "a decision about a call".to_owned(),
    }
}

/// Names for people: `` `a`, `b` ``.
pub(crate) fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

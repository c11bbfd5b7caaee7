//! Advancing the sessions of a tree until each of them waits for something (language 10.10).
//!
//! ```text
//! root ──advance──▶ waits for `parallel` ─┬─ a tool: a call to carry out
//!                                         ├─ a child ──advance──▶ waits for an answer
//!                                         └─ a child ──advance──▶ has ended: its result goes to the root, which is advanced again
//! ```
//!
//! **Invariant:** nothing here awaits; needs are listed depth first, parts in their order.

use std::{sync::Arc, time::Duration};

use trellis_core::{
    Input, NodeId, SessionId, SignalName, ToolOutcome, ToolResult,
    engine::{Call, Request, RequestType, StartError},
    id::CallId,
    state::CallKind,
};

use super::{
    Said, SendError, SessionEvent, Sessions, Stop,
    predicate::PredicateQuestion,
    rest::millis,
    slot::{PanicSafeLock, RunningSession, Slot, SlotState},
};
use crate::{
    binding::timed_out,
    guard::{Panicked, guarded},
    session::{Halt, Session},
};

/// Records that may wait for those behind them, while a session passes through.
pub(super) const MAX_WAITING_RECORDS: u64 = 64;

/// Everything that the sessions of a tree wait for.
#[derive(Default)]
pub(super) struct Front {
    /// In the order in which they are asked.
    pub(super) needs: Vec<Need>,
    /// True if there is more to do, once the events are stored.
    pub(super) is_going: bool,
    /// The first time at which a whole call took too long.
    pub(super) times_out: Option<u64>,
    /// The disturbances of the session until then.
    pub(super) disturbances: u64,
}

/// The need of one session of a tree.
pub(super) struct Need {
    /// The child; `None` for the root.
    pub(super) child: Option<SessionId>,
    pub(super) node: NodeId,
    pub(super) what: NeedKind,
    /// The time at which the first of the calls that it is part of takes too long.
    pub(super) until: Option<u64>,
}

pub(super) enum NeedKind {
    /// A call is to be carried out, not before a delay is over.
    Call { call: Call, whole: Option<Call>, begins: u64 },
    /// Time must pass.
    Sleep { since: u64, due: u64 },
    /// An answer.
    Ask { request: Request, due: Option<u64> },
    /// The value of a predicate.
    Predicate(PredicateQuestion),
    /// A stop that nothing here can answer; the tree exists.
    Stop(Stop),
}

impl Front {
    fn of(node: NodeId, what: NeedKind) -> Self {
        Self { needs: vec![Need { child: None, node, what, until: None }], ..Self::default() }
    }

    /// Returns the first time at which the tree continues by itself: a sleep, a delay, a timeout.
    pub(super) fn due(&self) -> Option<u64> {
        let dues = self.needs.iter().filter_map(|need| match &need.what {
            NeedKind::Call { begins, .. } => (*begins > 0).then_some(*begins),
            NeedKind::Sleep { due, .. } => Some(*due),
            NeedKind::Ask { due, .. } => *due,
            NeedKind::Predicate(_) => None,
            NeedKind::Stop(stop) => stop.due(),
        });
        dues.chain(self.times_out).min()
    }

    fn times_out(&mut self, due: Option<u64>) {
        self.times_out = self.times_out.into_iter().chain(due).min();
    }
}

/// Advances the sessions of one tree.
struct Advance<'s> {
    sessions: &'s Sessions,
    running: &'s mut RunningSession,
    front: Front,
    now: u64,
    /// True if a session moved by the outcome of another one.
    has_moved: bool,
    /// The time at which the first of the calls around the present session takes too long.
    until: Option<u64>,
}

impl Sessions {
    /// One stretch without awaiting: begins, takes up another program where nothing runs, and advances every session of the tree as far as possible.
    /// Times up to `now` have elapsed.
    /// A predicate that panics leaves every session where it was: a step is taken whole or not at all.
    pub(super) fn front(&self, slot: &Slot, now: u64, is_idle: bool) -> Result<Front, SendError> {
        guarded(|| self.advanced(slot, now, is_idle)).unwrap_or_else(|Panicked(why)| Err(SendError::Panicked(why)))
    }

    fn advanced(&self, slot: &Slot, now: u64, is_idle: bool) -> Result<Front, SendError> {
        let disturbances = slot.disturbances();
        let mut place = slot.place.locked();
        if let SlotState::Beginning(beginning) = &mut *place {
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
                    let question = PredicateQuestion::at_start(*asked, current.engine.inspect(), &beginning.start);
                    let front = Front::of(question.node().clone(), NeedKind::Predicate(question));
                    return Ok(Front { disturbances, ..front });
                }
                Err(refused) => return Err(refused.into()),
            }
        }
        let running = place.running_mut().ok_or_else(|| SendError::Unknown(slot.id.clone()))?;
        (running.stop, running.others) = (None, Arc::default());
        if is_idle && let Some((child, stop)) = self.take_up(slot, running)? {
            let node = running.session.here_in(child.as_ref()).map_or_else(|| running.session.state(), |here| &here.state);
            let need = Need { child, node: node.current_node_id.clone(), what: NeedKind::Stop(stop), until: None };
            return Ok(Front { needs: vec![need], disturbances, ..Front::default() });
        }
        let mut advance = Advance { sessions: self, running, front: Front::default(), now, has_moved: true, until: None };
        while std::mem::take(&mut advance.has_moved) && !advance.front.is_going {
            advance.front = Front::default();
            advance.advance(None)?;
        }
        Ok(Front { disturbances, ..advance.front })
    }
}

impl Advance<'_> {
    /// Advances a session of the tree, and those below it.
    fn advance(&mut self, child: Option<&SessionId>) -> Result<(), SendError> {
        self.running.tell_rollback(child);
        let halt = loop {
            match self.running.session.advance_in(child)? {
                Halt::Said { node, content } => {
                    self.running.tell(child, SessionEvent::Said(Arc::clone(&content)));
                    self.running.said.push(Said { child: child.cloned(), node, text: content });
                }
                Halt::Invalid(message) => self.running.tell(child, SessionEvent::Invalid(message)),
                halt => break halt,
            }
            if self.running.session.journal().records().len() as u64 >= MAX_WAITING_RECORDS {
                self.front.is_going = true;
                return Ok(());
            }
        };
        self.running.tell_rollback(child);
        let Some(here) = self.running.session.here_in(child) else { return Ok(()) };
        let (node, entered_at) = (here.state.current_node_id.clone(), here.entered_at);
        let due = |timeout: Option<Duration>| timeout.map(|timeout| entered_at.saturating_add(millis(timeout)));
        match halt {
            Halt::Said { .. } | Halt::Invalid(_) => {}
            Halt::Ask(request) if matches!(request.input_type, RequestType::None(_)) => {
                let due = due(request.timeout).unwrap_or(self.now);
                if due <= self.now {
                    return self.move_by(child, Input::Pass);
                }
                self.need(child, &node, NeedKind::Sleep { since: entered_at, due });
            }
            Halt::Ask(request) => {
                let due = due(request.timeout);
                if due.is_some_and(|due| due <= self.now) {
                    return self.move_by(child, Input::Signal(SignalName::TIMEOUT.into()));
                }
                self.need(child, &node, NeedKind::Ask { request, due });
            }
            Halt::Call(call) => return self.call(child, call, None),
            Halt::Parts { whole, open } => return self.parts(child, &whole, open),
            Halt::Predicate(asked) => {
                let question = PredicateQuestion::in_step(*asked, child.cloned(), &here.state);
                self.need(child, &node, NeedKind::Predicate(question));
            }
            Halt::Ended(ended) => match child {
                None => self.need(None, &node, NeedKind::Stop(Stop::Ended(ended))),
                Some(child) => return self.ended(child),
            },
        }
        Ok(())
    }

    fn need(&mut self, child: Option<&SessionId>, node: &NodeId, what: NeedKind) {
        self.front.needs.push(Need { child: child.cloned(), node: node.clone(), what, until: self.until });
    }

    /// Advances what is below a call, which takes too long from `due` on.
    fn below(&mut self, due: Option<u64>, advance: impl FnOnce(&mut Self) -> Result<(), SendError>) -> Result<(), SendError> {
        let around = self.until;
        self.until = around.into_iter().chain(due).min();
        let advanced = advance(self);
        self.until = around;
        advanced
    }

    fn move_by(&mut self, child: Option<&SessionId>, input: Input) -> Result<(), SendError> {
        self.has_moved = true;
        Ok(self.running.session.send_in(child, input)?)
    }

    /// Hands the outcome of a child to its caller, once that can take it.
    fn ended(&mut self, child: &SessionId) -> Result<(), SendError> {
        let caller = self.running.session.caller_of(child);
        if self.running.session.is_held(caller.as_ref()) {
            return Ok(());
        }
        let call = self.running.session.open_calls(caller.as_ref()).into_iter().find(|call| call.id.as_str() == child.as_str());
        self.has_moved = true;
        if let (Some(result), Some(call)) = (self.running.session.return_child(child)?, call) {
            self.running.tell(caller.as_ref(), SessionEvent::Returned(Arc::clone(&call), result));
            self.running.tell_breach(caller.as_ref(), &call);
        }
        Ok(())
    }

    /// A pending call, or an open part of one.
    fn call(&mut self, child: Option<&SessionId>, call: Call, whole: Option<Call>) -> Result<(), SendError> {
        let session = &self.running.session;
        let asked = session.asked_at(child, &call);
        let below = SessionId::new(call.id.shared());
        if matches!(call.kind, CallKind::Graph(_)) && session.here().children.contains_key(&below) {
            if self.is_over(child, &call, asked)? {
                return Ok(());
            }
            let due = call.timeout.map(|timeout| asked.saturating_add(timeout));
            return self.below(due, |advance| advance.advance(Some(&below)));
        }
        if let Some(asks) = session.child_asks(&call.id) {
            let question = PredicateQuestion::of_child(asks.clone(), child.cloned(), &call, session.here().state.seed.clone());
            self.need(child, &call.node, NeedKind::Predicate(question));
            return Ok(());
        }
        let begins = if call.delay > 0 { asked } else { 0 };
        let node = call.node.clone();
        self.need(child, &node, NeedKind::Call { call, whole, begins });
        Ok(())
    }

    /// The open parts of a call: its own delay, approval and timeout come first.
    fn parts(&mut self, child: Option<&SessionId>, whole: &Call, open: Vec<Call>) -> Result<(), SendError> {
        let session = &self.running.session;
        let asked = session.asked_at(child, whole);
        let is_held = session.held_call(child, whole).is_some() && !self.sessions.policy.approve_all;
        if is_held || whole.delay > 0 && asked > self.now {
            let begins = if whole.delay > 0 { asked } else { 0 };
            self.need(child, &whole.node, NeedKind::Call { call: Arc::clone(whole), whole: None, begins });
            return Ok(());
        }
        if self.is_over(child, whole, asked)? {
            return Ok(());
        }
        let due = whole.timeout.map(|timeout| asked.saturating_add(timeout));
        self.below(due, |advance| {
            for part in open {
                advance.call(child, part, Some(Arc::clone(whole)))?;
                if advance.has_moved || advance.front.is_going {
                    return Ok(());
                }
            }
            Ok(())
        })
    }

    /// Returns whether the time of a call is up that this host does not carry out in one piece; then it was settled.
    fn is_over(&mut self, child: Option<&SessionId>, call: &Call, asked: u64) -> Result<bool, SendError> {
        let Some(timeout) = call.timeout else { return Ok(false) };
        let due = asked.saturating_add(timeout);
        if due > self.now {
            self.front.times_out(Some(due));
            return Ok(false);
        }
        let error = timed_out(&call.name, Duration::from_millis(timeout));
        let result = ToolResult::new(call.id.clone(), ToolOutcome::Error(error));
        self.running.tell(child, SessionEvent::Returned(Arc::clone(call), result.clone()));
        self.move_by(child, Input::Result(result))?;
        Ok(true)
    }
}

impl Need {
    /// The name of the call, or of the question about a predicate.
    pub(super) fn id(&self) -> Option<&str> {
        match &self.what {
            NeedKind::Call { call, .. } => Some(call.id.as_str()),
            NeedKind::Predicate(question) => Some(question.id()),
            NeedKind::Sleep { .. } | NeedKind::Ask { .. } | NeedKind::Stop(_) => None,
        }
    }

    /// Returns whether its delay, if it has one, is over.
    pub(super) fn begins_by(&self, now: u64) -> bool {
        !matches!(&self.what, NeedKind::Call { begins, .. } if *begins > now)
    }
}

impl Front {
    /// The calls that are to be carried out, by whomever.
    pub(super) fn calls(&self) -> impl Iterator<Item = &CallId> {
        self.needs.iter().filter_map(|need| if let NeedKind::Call { call, .. } = &need.what { Some(&call.id) } else { None })
    }

    /// Returns whether this stop of a client is still needed.
    pub(super) fn needs_stop(&self, id: &str) -> bool {
        self.needs.iter().any(|need| need.id() == Some(id))
    }

    /// The sleep or delay that is over first: since when, and until when. Only where nothing else is waited for.
    pub(super) fn sleeps(&self, now: u64) -> (u64, u64) {
        let sleeps = self.needs.iter().filter_map(|need| match &need.what {
            NeedKind::Sleep { since, due } => Some((*due, *since)),
            NeedKind::Call { call, begins, .. } if *begins > now => Some((*begins, begins.saturating_sub(call.delay))),
            _ => None,
        });
        let first = sleeps.chain(self.times_out.map(|due| (due, now))).min();
        first.map_or((now, now), |(due, since)| (since, due))
    }
}

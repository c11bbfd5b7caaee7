//! Looking at a session without advancing it.

use std::sync::Arc;

use trellis_core::{
    Next, SessionId, State,
    engine::{Blocker, Call, ChangedCall, RequestType, Unanswered, View},
    state::{CallKind, Status},
};

use super::{
    Current, Said, SendError, Sessions, Stop, Turn, Unbound, Waiting,
    persistence::is_fit_as_stored,
    rest::millis,
    slot::{NewSession, PanicSafeLock, SlotState},
    upgrade::blocked,
};
use crate::{
    journal::Needs,
    session::{HeldCall, Session, fit},
    store::{Snapshot, lacking},
};

impl Sessions {
    /// Returns the current turn of a session: the content of its present node, and its need. Nothing is advanced, and nothing is stored: elapsed
    /// times, and edits that were not taken up yet, are left to [`Sessions::resume`] and [`Sessions::drive`]. A session that works by itself shows
    /// [`Stop::Running`] or [`Stop::Sleeping`].
    ///
    /// # Errors
    /// There is no such session, or it cannot be read.
    pub async fn view(&self, id: &SessionId) -> Result<Turn, SendError> {
        if let Some(turn) = self.in_sight(id).await? {
            return Ok(turn);
        }
        let persistence = self.persistence.as_ref().ok_or_else(|| SendError::Unknown(id.clone()))?;
        crate::store::check_name(id.as_str())?;
        let stored = self.loaded_once(persistence, id).await?;
        let (here, next) = (Snapshot::of(&stored)?, stored.head.next);
        let current = self.current();
        let is_fitted = is_fit_as_stored(current.engine.inspect(), &here.state);
        let session = Session::resume(current.engine.clone(), here, next, self.clock.clone());
        let waiting = self.pending_waits(&session, &current, is_fitted)?;
        Ok(turn(&session, &current, waiting))
    }

    /// Returns whether a session rests as far as this process knows: it is in memory, nobody advances it, and it needs its client or has ended. The store
    /// is not asked.
    pub fn is_at_rest(&self, id: &SessionId) -> bool {
        let Some(slot) = self.found(id) else { return false };
        let Ok(_driving) = slot.driving.try_lock() else { return false };
        let place = slot.place.locked();
        place.running().is_some_and(|running| running.waits().next().is_some_and(|first| !first.stop.needs_nobody()))
    }

    /// The turn of a session in memory, if the store has no more of it.
    async fn in_sight(&self, id: &SessionId) -> Result<Option<Turn>, SendError> {
        let Some(slot) = self.found(id) else { return Ok(None) };
        // Held while the store is read, so that no other caller begins to advance a session that may be dropped then.
        let is_driven = match slot.driving.try_lock() {
            Ok(_driving) => {
                self.catch_up(&slot).await;
                false
            }
            Err(_) => true,
        };
        let place = slot.place.locked();
        let running = match &*place {
            SlotState::Running(running) => running,
            SlotState::Beginning(beginning) => {
                let stop = |asked: Unanswered| Stop::predicate(super::predicate::id(&asked.name, None), asked);
                return Ok(beginning.asks.clone().map(|asked| self.before(id, beginning, stop(*asked))));
            }
            SlotState::Away | SlotState::Gone => return Ok(None),
        };
        let current =
            Current { engine: running.session.engine().clone(), bindings: Arc::clone(&running.bindings), version: running.version };
        let waiting: Vec<Waiting> = running.waits().cloned().collect();
        let is_fitted = running.version != 0;
        let waiting = if waiting.is_empty() { self.pending_waits(&running.session, &current, is_fitted)? } else { waiting };
        let waiting = if is_driven { undecided_as_running(&running.session, waiting) } else { waiting };
        Ok(Some(turn(&running.session, &current, waiting)))
    }

    /// The turn of a session that has not begun.
    pub(super) fn before(&self, id: &SessionId, beginning: &NewSession, stop: Stop) -> Turn {
        let engine = self.current().engine;
        let node = beginning.start.at.clone().unwrap_or_else(|| engine.inspect().entry().id.clone());
        Turn::before(id.clone(), Arc::clone(engine.inspect().fingerprint()), Waiting { child: None, node, asked: 0, stop })
    }

    /// Returns the needs of the sessions of a tree in their current states; those that work by themselves come first, since no question is
    /// asked before. One that is not `is_fitted` is shown as it will be when it is loaded: fitted to the current program.
    fn pending_waits(&self, session: &Session, current: &Current, is_fitted: bool) -> Result<Vec<Waiting>, SendError> {
        let mut waiting = Vec::new();
        let mut tree = std::iter::once(session.here()).chain(session.here().children.values().map(|child| &child.here));
        // Values that were not stored are asked for before it is fitted.
        let is_left = is_fitted || tree.any(|here| !lacking(&here.state).is_empty());
        let fitted = (!is_left).then(|| fit(&current.engine, session.here(), ChangedCall::Blocks));
        let state = match fitted {
            Some(Ok(fitted)) => fitted.state,
            Some(Err((child, blockers))) if !is_asked(session, child.as_ref()) => {
                return needed(session, child, blockers).map(|waiting| waiting.into_iter().collect());
            }
            _ => session.state().clone(),
        };
        self.standing_in(session, current, None, state, &mut waiting)?;
        Ok(in_order(waiting))
    }

    fn standing_in(
        &self,
        session: &Session,
        current: &Current,
        child: Option<&SessionId>,
        state: State,
        waiting: &mut Vec<Waiting>,
    ) -> Result<(), SendError> {
        let (Some(here), engine) = (session.here_in(child), &current.engine) else { return Ok(()) };
        let node = state.current_node_id.clone();
        let mut wait = |stop| waiting.push(Waiting { child: child.cloned(), node: node.clone(), asked: here.asked, stop });
        if let Some(Needs::Keys { node, missing }) = &here.blocked {
            wait(Stop::Keys { node: node.clone(), missing: missing.clone() });
            return Ok(());
        }
        if let (Some(Needs::Decision { now, .. }), Some(call)) = (&here.blocked, &state.pending_tool_call) {
            wait(Stop::Changed { call: Arc::clone(call), now: Arc::clone(now) });
            return Ok(());
        }
        let missing = lacking(&state);
        if !missing.is_empty() {
            wait(Stop::Keys { node: node.clone(), missing });
            return Ok(());
        }
        // What it said last may need a value that no store has.
        if let Some(ended) = &state.ended {
            wait(Stop::Ended(Arc::clone(ended)));
            return Ok(());
        }
        let View { next, .. } = engine.render(&state).map_err(crate::session::SessionError::from)?;
        let due = |timeout| here.entered_at.saturating_add(millis(timeout));
        let calls = match next {
            Next::Ask(request) if matches!(request.input_type, RequestType::None(_)) => {
                wait(Stop::Sleeping { node: node.clone(), until: request.timeout.map_or(here.at, due) });
                return Ok(());
            }
            Next::Ask(request) => {
                wait(Stop::Ask { due: request.timeout.map(due), request });
                return Ok(());
            }
            Next::Pass => {
                wait(Stop::Running { node: node.clone(), call: None, since: here.at });
                return Ok(());
            }
            Next::End(ended) => {
                wait(Stop::Ended(ended));
                return Ok(());
            }
            Next::Call(call) => vec![call],
            Next::Parts { whole, .. } if session.held_call(child, &whole).is_some() && !self.policy.approve_all => vec![whole],
            Next::Parts { open, .. } => open,
        };
        for call in calls {
            let below = SessionId::new(call.id.shared());
            match session.here().children.get(&below) {
                Some(known) => self.standing_in(session, current, Some(&below), known.here.state.clone(), waiting)?,
                None => {
                    let stop = self.called(session, child, current, call);
                    waiting.push(Waiting { child: child.cloned(), node: node.clone(), asked: here.asked, stop });
                }
            }
        }
        Ok(())
    }

    /// Returns the stop of a session with a pending call, as far as it shows before an interceptor is asked.
    fn called(&self, session: &Session, child: Option<&SessionId>, current: &Current, call: Call) -> Stop {
        let (here, node) = (session.here(), call.node.clone());
        let asked = session.asked_at(child, &call);
        if call.delay > 0 && asked > self.now() && here.state.status != Status::Terminated {
            return Stop::Sleeping { node, until: asked };
        }
        if let Some(HeldCall { call, due }) = session.held_call(child, &call).filter(|_| !self.policy.approve_all) {
            return Stop::Approve { call, due };
        }
        let is_child = matches!(call.kind, CallKind::Graph(_)) && !self.policy.answers_graphs;
        if is_child || current.bindings.carries_out(current.engine.inspect(), &call) || self.policy.unbound == Unbound::Fail {
            return Stop::Running { node, since: asked, call: Some(call) };
        }
        let timeout = call.timeout.filter(|_| self.policy.unbound == Unbound::Elsewhere);
        Stop::Call { due: timeout.map(|timeout| asked.saturating_add(timeout)), call }
    }
}

impl Stop {
    /// Returns whether it needs no client: the session works by itself, or sleeps.
    pub fn needs_nobody(&self) -> bool {
        matches!(self, Self::Running { .. } | Self::Sleeping { .. })
    }

    /// Returns whether it works by itself.
    pub fn is_running(&self) -> bool {
        matches!(self, Self::Running { .. })
    }

    /// Returns the call that is held for an approval.
    pub fn held(&self) -> Option<&Call> {
        if let Self::Approve { call, .. } = self { Some(call) } else { None }
    }

    /// Returns whether it is a call that the client carries out.
    pub fn is_call(&self) -> bool {
        matches!(self, Self::Call { .. })
    }
}

/// Puts those that work by themselves first, then the sleeps.
fn in_order(mut waiting: Vec<Waiting>) -> Vec<Waiting> {
    waiting.sort_by_key(|waiting| match waiting.stop {
        Stop::Running { .. } => 0,
        Stop::Sleeping { .. } => 1,
        _ => 2,
    });
    waiting
}

/// Shows the calls that are not a client's to make yet as running: whoever advances the session asks policy and interceptors about them.
fn undecided_as_running(session: &Session, waiting: Vec<Waiting>) -> Vec<Waiting> {
    let shown = |mut waiting: Waiting| {
        if let Stop::Call { call, .. } = &waiting.stop
            && session.is_busy(&call.id)
        {
            let since = session.asked_at(waiting.child.as_ref(), call);
            waiting.stop = Stop::Running { node: call.node.clone(), since, call: Some(Arc::clone(call)) };
        }
        waiting
    };
    in_order(waiting.into_iter().map(shown).collect())
}

/// Returns the current turn of a session, with the content of its node, and of the nodes of children that wait.
fn turn(session: &Session, current: &Current, mut waiting: Vec<Waiting>) -> Turn {
    let others = waiting.split_off(1);
    let first = waiting.pop().unwrap_or_else(|| unreachable!("a session waits for something, or has ended"));
    let last = |child: Option<&SessionId>| {
        let (node, text) = session.last_said(child).or_else(|| {
            let here = session.here_in(child)?;
            Some((here.state.current_node_id.clone(), session.engine().render(&here.state).ok()?.content?))
        })?;
        Some(Said { child: child.cloned(), node, text })
    };
    let mut children: Vec<Option<&SessionId>> = Vec::new();
    for waiting in std::iter::once(&first).chain(&others) {
        if !children.contains(&waiting.child.as_ref()) {
            children.push(waiting.child.as_ref());
        }
    }
    let said = children.into_iter().filter_map(last).collect();
    Turn { said, others: Arc::new(others), budget: current.bindings.budget(), ..Turn::of(session, first) }
}

/// Returns whether the need of a session of the tree is known: it was asked for before it was stored.
fn is_asked(session: &Session, child: Option<&SessionId>) -> bool {
    session.here_in(child).is_some_and(|here| here.blocked.is_some())
}

/// Returns the need of a session for a program that it does not fit as it is.
///
/// # Errors
/// Nothing that could be given would make it fit.
fn needed(session: &Session, child: Option<SessionId>, blockers: Vec<Blocker>) -> Result<Option<Waiting>, SendError> {
    let (stop, unfit) = blocked(session, child.as_ref(), blockers);
    if let Some(why) = unfit {
        return Err(SendError::Unfit { session: session.state().session_id.clone(), why });
    }
    let here = session.here_in(child.as_ref()).unwrap_or_else(|| session.here());
    let (node, asked) = (here.state.current_node_id.clone(), here.asked);
    Ok(stop.map(|stop| Waiting { child, node, asked, stop }))
}

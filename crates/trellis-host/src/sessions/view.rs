//! Looking at a session without going on with it.

use std::sync::Arc;

use trellis_core::{
    Next, SessionId,
    engine::{Adopted, Call, RequestType, View},
    state::Status,
};

use super::{
    Current, Said, SendError, Sessions, Stop, Turn, Unbound,
    drive::millis,
    slot::{NewSession, PanicSafeLock, SlotState},
};
use crate::{
    binding::Bindings,
    journal::Needs,
    session::Session,
    store::{Snapshot, lacking},
};

impl Sessions {
    /// The turn where a session stands: what its present node said, and what it needs. Nothing goes on, and nothing is stored: time that is up, and an
    /// edit that was not taken up yet, are the matter of [`Sessions::resume`] and [`Sessions::drive`]. A session that works by itself shows
    /// [`Stop::Running`] or [`Stop::Sleeping`].
    ///
    /// # Errors
    /// There is no such session, or it cannot be read.
    pub async fn view(&self, id: &SessionId) -> Result<Turn, SendError> {
        if let Some(turn) = self.in_sight(id).await? {
            return Ok(turn);
        }
        let keeping = self.keeping.as_ref().ok_or_else(|| SendError::Unknown(id.clone()))?;
        crate::store::check_name(id.as_str())?;
        let stored = self.loaded_once(keeping, id).await?;
        let (here, next) = (Snapshot::of(&stored)?, stored.head.next);
        let current = self.current();
        let session = Session::resume(current.engine.clone(), here, next, self.clock.clone());
        let stop = self.standing(&session, &current)?;
        Ok(turn(&session, stop))
    }

    /// The turn of a session in memory, if the store has no more of it.
    async fn in_sight(&self, id: &SessionId) -> Result<Option<Turn>, SendError> {
        let Some(slot) = self.found(id) else { return Ok(None) };
        // Held while the store is asked, so that nobody begins to go on with what may be forgotten then.
        if let Ok(_driving) = slot.driving.try_lock() {
            self.catch_up(&slot).await;
        }
        let place = slot.place.locked();
        let running = match &*place {
            SlotState::Running(running) => running,
            SlotState::Beginning(beginning) => {
                let asks = beginning.asks.clone();
                return Ok(asks.map(|asked| self.before(id, beginning, Stop::predicate(super::predicate::id(&asked.name, None), *asked))));
            }
            SlotState::Away | SlotState::Gone => return Ok(None),
        };
        let current =
            Current { engine: running.session.engine().clone(), bindings: Arc::clone(&running.bindings), version: running.version };
        let stop = running.stop.clone().map_or_else(|| self.standing(&running.session, &current), Ok)?;
        Ok(Some(Turn { others: Arc::clone(&running.others), ..turn(&running.session, stop) }))
    }

    /// The turn of a session that has not begun.
    pub(super) fn before(&self, id: &SessionId, beginning: &NewSession, stop: Stop) -> Turn {
        let engine = self.current().engine;
        let node = beginning.start.at.clone().unwrap_or_else(|| engine.inspect().entry().id.clone());
        Turn::before(id.clone(), node, Arc::clone(engine.inspect().fingerprint()), stop)
    }

    /// What a session needs where it stands.
    fn standing(&self, session: &Session, current: &Current) -> Result<Stop, SendError> {
        let (here, engine) = (session.here(), &current.engine);
        let mut state = here.state.clone();
        let node = state.current_node_id.clone();
        if let Some(Needs::Keys { node, missing }) = &here.blocked {
            return Ok(Stop::Keys { node: node.clone(), missing: missing.clone() });
        }
        if let (Some(Needs::Decision { now, .. }), Some(call)) = (&here.blocked, &state.pending_tool_call) {
            return Ok(Stop::Changed { call: Arc::clone(call), now: Arc::clone(now) });
        }
        let missing = lacking(&state);
        if !missing.is_empty() {
            return Ok(Stop::Keys { node, missing });
        }
        if state.program != *engine.inspect().fingerprint()
            && let Adopted::Kept(adopted) | Adopted::Moved { state: adopted, .. } = engine.adopt(state.clone())
        {
            state = adopted;
        }
        let View { next, .. } = engine.render(&state).map_err(crate::session::SessionError::from)?;
        let due = |timeout| here.entered_at.saturating_add(millis(timeout));
        let node = state.current_node_id.clone();
        Ok(match next {
            Next::Ask(request) if matches!(request.input_type, RequestType::None(_)) => {
                Stop::Sleeping { node, until: request.timeout.map_or(here.at, due) }
            }
            Next::Ask(request) => Stop::Ask { due: request.timeout.map(due), request },
            Next::Call(call) => self.called(session, &current.bindings, engine.inspect(), call),
            Next::Parts { whole, open } => {
                if whole.approve.is_some() && !session.is_approved(&whole) && !self.policy.approve_all {
                    return Ok(self.called(session, &current.bindings, engine.inspect(), whole));
                }
                let stops = open.into_iter().map(|part| self.called(session, &current.bindings, engine.inspect(), part));
                // What goes on by itself comes first: nobody is asked before.
                let (mut working, mut waiting) = (None, None);
                for stop in stops {
                    let is_working = matches!(stop, Stop::Running { .. } | Stop::Sleeping { .. });
                    (if is_working { &mut working } else { &mut waiting }).get_or_insert(stop);
                }
                working.or(waiting).unwrap_or(Stop::Running { node, call: Some(whole), since: here.at })
            }
            Next::Pass => Stop::Running { node, call: None, since: here.at },
            Next::End(ended) => Stop::Ended(ended),
        })
    }

    /// Where a session stands that has a call pending, as far as that shows before an interceptor is asked.
    fn called(&self, session: &Session, bindings: &Bindings, program: &trellis_core::Program, call: Call) -> Stop {
        let (here, node) = (session.here(), call.node.clone());
        let asked = session.asked_at(&call);
        if call.delay > 0 && asked > self.now() && here.state.status != Status::Terminated {
            return Stop::Sleeping { node, until: asked };
        }
        if session.is_held_for_approval(&call) && !self.policy.approve_all {
            let expires = call.approve.as_ref().and_then(|approval| approval.expires);
            return Stop::Approve { due: expires.map(|expires| asked.saturating_add(expires)), call };
        }
        if bindings.carries_out(program, &call) || self.policy.unbound == Unbound::Fail {
            return Stop::Running { node, since: asked, call: Some(call) };
        }
        let timeout = call.timeout.filter(|_| self.policy.unbound == Unbound::Elsewhere);
        Stop::Call { due: timeout.map(|timeout| asked.saturating_add(timeout)), call }
    }
}

impl Stop {
    /// Whether nobody is needed: the session works by itself, or sleeps.
    pub fn goes_on(&self) -> bool {
        matches!(self, Self::Running { .. } | Self::Sleeping { .. })
    }

    /// Whether it works by itself.
    pub fn is_running(&self) -> bool {
        matches!(self, Self::Running { .. })
    }

    /// The call that is held for an approval.
    pub fn held(&self) -> Option<&Call> {
        if let Self::Approve { call, .. } = self { Some(call) } else { None }
    }

    /// Whether it is a call that the client carries out.
    pub fn is_call(&self) -> bool {
        matches!(self, Self::Call { .. })
    }
}

/// The turn where a session stands, with what its node says.
fn turn(session: &Session, stop: Stop) -> Turn {
    let content = session.words().cloned().or_else(|| session.engine().render(session.state()).ok()?.content);
    let turn = Turn::of(session, stop);
    let said = content.into_iter().map(|text| Said { node: turn.node.clone(), text }).collect();
    Turn { said, ..turn }
}

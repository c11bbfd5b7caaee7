//! Taking up another program: between an answer and the next view (language C.2).

use std::sync::Arc;

use trellis_core::{
    SessionId,
    engine::{Blocker, ChangedCall, Moved},
};

use super::{
    SendError, SessionEvent, Sessions, Stop,
    slot::{PanicSafeLock, RunningSession, Slot},
};
use crate::{
    journal::Needs,
    session::{Adoption, Session},
    store::lacking,
};

impl Sessions {
    /// Returns the sessions in memory that wait for their clients on an older program: [`Sessions::resume`] makes each take the newest one up. Those
    /// that work by themselves do so before their next view, and a paused one when it is resumed.
    pub fn outdated(&self) -> Vec<SessionId> {
        let slots: Vec<_> = self.slots.locked().values().map(Arc::clone).collect();
        let version = self.current().version;
        let is_outdated = |slot: &Slot| {
            if slot.works() {
                return false;
            }
            // On its way to a rest it may have looked for another program before there was this one.
            let is_driven = slot.driving.try_lock().is_err();
            let place = slot.place.locked();
            place.running().is_some_and(|running| {
                let waits = running.waits().next().map_or(is_driven, |first| !first.stop.needs_nobody());
                running.version != version && waits && running.session.state().ended.is_none()
            })
        };
        slots.iter().filter(|slot| is_outdated(slot) && !self.is_paused(&slot.id)).map(|slot| slot.id.clone()).collect()
    }

    /// Fits a session to the newest program; returns the decision or keys that it needs for that, if it does not fit.
    ///
    /// # Errors
    /// It comes from a store and does not fit: there is no older program for it to continue with.
    pub(super) fn take_up(&self, slot: &Slot, running: &mut RunningSession) -> Result<Option<(Option<SessionId>, Stop)>, SendError> {
        let current = self.current();
        // An answer that waits for a predicate is still to be taken, on the program that asked for it.
        if running.version == current.version || running.session.holds_input() {
            return Ok(None);
        }
        let before = running.session.state().current_node_id.clone();
        // A redacted value cannot be sent, nor compared with the arguments that the program would send.
        let missing = lacking(running.session.state());
        if !missing.is_empty() {
            return Ok(Some(ask(running, None, Stop::Keys { node: before, missing })));
        }
        for (child, known) in running.session.here().children.clone() {
            let missing = lacking(&known.here.state);
            if !missing.is_empty() {
                let node = known.here.state.current_node_id;
                return Ok(Some(ask(running, Some(child), Stop::Keys { node, missing })));
            }
        }
        let moved = match running.session.adopt(current.engine, running.changed) {
            // It was loaded, and its program is the one that it was stored with.
            Adoption::Same if running.version == 0 => {
                (running.version, running.changed) = (current.version, ChangedCall::Blocks);
                return Ok(None);
            }
            Adoption::Same | Adoption::Kept => None,
            Adoption::Moved { from, why } => {
                let to = &running.session.state().current_node_id;
                Some(match why {
                    Moved::Renamed => format!("`{from}` is `{to}` now"),
                    Moved::Vanished => format!("`{from}` is gone; continuing at `{to}`"),
                    Moved::Again => format!("`{to}` was entered again"),
                })
            }
            Adoption::Blocked { child, blockers } => {
                let (stop, unfit) = blocked(&running.session, child.as_ref(), blockers);
                if let Some(why) = unfit {
                    if running.version == 0 {
                        return Err(SendError::Unfit { session: slot.id.clone(), why });
                    }
                    let why = format!("the session continues with the version that it has: {why}");
                    running.telling.push(SessionEvent::Trouble("not-adopted", why.into()));
                    running.version = current.version;
                }
                return Ok(stop.map(|stop| ask(running, child, stop)));
            }
        };
        (running.version, running.bindings, running.changed) = (current.version, current.bindings, ChangedCall::Blocks);
        running.telling.push(SessionEvent::Adopted(moved.map(Arc::from)));
        Ok(None)
    }
}

/// Asks for the missing keys or the decision, as a question of its own.
fn ask(running: &mut RunningSession, child: Option<SessionId>, stop: Stop) -> (Option<SessionId>, Stop) {
    let of = child.as_ref();
    match &stop {
        Stop::Keys { node, missing } => running.session.block(of, Needs::Keys { node: node.clone(), missing: missing.clone() }),
        Stop::Changed { call, now } => running.session.block(of, Needs::Decision { call: call.id.clone(), now: Arc::clone(now) }),
        _ => {}
    }
    (child, stop)
}

/// Returns the remedy of a client for the first blocker, or the reason why there is none.
pub(super) fn blocked(session: &Session, child: Option<&SessionId>, blockers: Vec<Blocker>) -> (Option<Stop>, Option<String>) {
    let state = session.here_in(child).map_or_else(|| session.state(), |here| &here.state);
    let node = &state.current_node_id;
    let of_child = child.map(|child| format!(" (of the child `{child}`)")).unwrap_or_default();
    match (blockers.into_iter().next(), &state.pending_tool_call) {
        (Some(Blocker::MissingKeys(missing)), _) => (Some(Stop::Keys { node: node.clone(), missing }), None),
        (Some(Blocker::CallChanged { now, .. }), Some(call)) => (Some(Stop::Changed { call: Arc::clone(call), now }), None),
        (Some(Blocker::NotEntered { node, message }), _) => (None, Some(format!("`{node}`{of_child} cannot be entered: {message}"))),
        (Some(Blocker::Version(version)), _) => (None, Some(format!("its state is of version {version}"))),
        (Some(Blocker::CallChanged { now, .. }), None) => (None, Some(format!("it{of_child} would call `{now}`"))),
        (None, _) => (None, Some(format!("`{node}`{of_child} does not fit"))),
    }
}

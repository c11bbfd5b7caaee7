//! Taking inputs of a client: each reply goes to the session of the tree that waits for it (language 10.10).

use std::sync::Arc;

use trellis_core::{Input, SessionId, ToolOutcome, ToolResult, engine::Call, id::CallId};

use super::{
    Reply, SendError, SessionEvent, Sessions, Stop, Waiting,
    slot::{PanicSafeLock, RunningSession, Slot, SlotState},
};
use crate::{
    guard::{Panicked, guarded},
    store::quoted,
};

impl Sessions {
    /// Takes an input of a client. An input, keys and a decision go to the stop, or to the named session. A predicate that panics leaves the session
    /// where it was.
    pub(super) fn take(&self, slot: &Slot, to: Option<&SessionId>, reply: Reply) -> Result<(), SendError> {
        guarded(|| self.take_whole(slot, to, reply)).unwrap_or_else(|Panicked(why)| Err(SendError::Panicked(why)))
    }

    fn take_whole(&self, slot: &Slot, to: Option<&SessionId>, reply: Reply) -> Result<(), SendError> {
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
        let asks = running.addressed(to)?;
        let (child, stop) = (asks.as_ref().and_then(|asks| asks.child.clone()), asks.map(|asks| asks.stop));
        let child = if to.is_some() { to.filter(|to| **to != slot.id).cloned() } else { child };
        match (stop.as_ref(), reply) {
            (Some(asked @ Stop::Keys { missing, .. }), Reply::Context(keys)) => {
                let reserved = keys.iter().map(|(key, _)| key).find(|key| matches!(&***key, "sys" | "input" | "tool_result"));
                if let Some(key) = reserved {
                    return Err(SendError::Reserved(Arc::from(&**key)));
                }
                // Whoever walks a session fills what it lacks; any other key is for those who operate the host.
                if let Some((key, _)) = keys.iter().find(|(key, _)| !missing.contains(&key.to_string())) {
                    return Err(SendError::NotAwaited { expected: expected(asked), got: format!("the key `{key}`") });
                }
                running.session.supply_in(child.as_ref(), keys)?;
            }
            (Some(Stop::Changed { .. }), Reply::Keep(keeps_call)) => running.decide(keeps_call),
            (_, Reply::Approve { call: id, yes }) if running.held(id.as_ref()).is_some() => {
                let Some((child, call)) = running.held(id.as_ref()) else { return Ok(()) };
                if yes {
                    running.session.approve(child.as_ref(), call.idempotency_key.clone());
                } else {
                    let result = ToolResult::new(call.id.clone(), ToolOutcome::Denied(None));
                    self.tell_in(slot, child.as_ref(), SessionEvent::Returned(Arc::clone(&call), result.clone()));
                    running.session.send_result(result)?;
                }
            }
            (_, Reply::Predicate { id, holds }) if running.asks_whether(&id).is_some() => {
                let Some((child, name, call)) = running.asks_whether(&id) else { return Ok(()) };
                match call {
                    Some(call) => running.session.answer_child(&call, &name, holds),
                    None => running.session.answer_in(child.as_ref(), &name, holds)?,
                }
            }
            // It came before, and was recorded (language 7.6).
            (_, Reply::Input(Input::Result(result))) if running.session.has_settled_late(&result.id) => {}
            // That it is its client's to give was judged before.
            (_, Reply::Input(Input::Result(result)))
                if running.pending(&result.id).is_none_or(|(child, _)| running.question_before(child.as_ref()).is_none()) =>
            {
                let call = running.pending(&result.id);
                running.session.send_result(result.clone())?;
                if let Some((child, call)) = call {
                    self.tell_in(slot, child.as_ref(), SessionEvent::Given(call, result));
                }
            }
            (None | Some(Stop::Ask { .. } | Stop::Call { .. } | Stop::Ended(_)), Reply::Input(input))
                if !matches!(input, Input::Result(_)) =>
            {
                running.session.send_in(child.as_ref(), input)?;
            }
            (stop, reply) => {
                let expected = stop.map_or_else(|| "nothing".to_owned(), expected);
                return Err(SendError::NotAwaited { expected, got: kind(&reply) });
            }
        }
        Ok(())
    }
}

impl RunningSession {
    /// Returns the waits of the tree, the stop first.
    pub(super) fn waits(&self) -> impl Iterator<Item = &Waiting> {
        self.stop.iter().chain(self.others.iter())
    }

    /// Returns the wait of a session of the tree, or of the tree if none is named.
    fn addressed(&self, to: Option<&SessionId>) -> Result<Option<Waiting>, SendError> {
        let Some(to) = to else { return Ok(self.stop.clone()) };
        let is_root = *to == self.session.state().session_id;
        if !is_root && !self.session.here().children.contains_key(to) {
            return Err(SendError::UnknownChild(to.clone()));
        }
        let child = if is_root { None } else { Some(to) };
        Ok(self.waits().find(|waiting| waiting.child.as_ref() == child).cloned())
    }

    /// The call that waits for an approval: the one of this id, or the only one.
    pub(super) fn held(&self, id: Option<&CallId>) -> Option<(Option<SessionId>, Call)> {
        let mut held = self.waits().filter_map(|waiting| match &waiting.stop {
            Stop::Approve { call, .. } if id.is_none_or(|id| *id == call.id) => Some((waiting.child.clone(), Arc::clone(call))),
            _ => None,
        });
        let first = held.next()?;
        held.next().is_none().then_some(first)
    }

    /// The predicate that is asked about under this name: by which child, or to begin which.
    pub(super) fn asks_whether(&self, asked: &str) -> Option<(Option<SessionId>, Arc<str>, Option<CallId>)> {
        self.waits().find_map(|waiting| match &waiting.stop {
            Stop::Predicate { id, name, .. } if **id == *asked => {
                let begins = self.session.open_calls(waiting.child.as_ref()).into_iter().map(|call| call.id.clone());
                let call = begins.into_iter().find(|call| self.session.child_asks(call).is_some_and(|asks| asks.name == *name));
                Some((waiting.child.clone(), Arc::clone(name), call))
            }
            _ => None,
        })
    }

    /// Returns the first time at which one of its waits ends.
    pub(super) fn due(&self) -> Option<u64> {
        self.waits().filter_map(|waiting| waiting.stop.due()).min()
    }
}

/// Returns the input that a stop waits for.
pub(super) fn expected(stop: &Stop) -> String {
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

/// Returns the description of the other input.
pub(super) fn kind(reply: &Reply) -> String {
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

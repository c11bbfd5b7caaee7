//! Results of calls: success, error, timeout, denial (language 7.4).

use std::sync::Arc;

use super::{
    Engine, Event, ToolError, ToolErrorKind, ToolOutcome,
    call::call_of,
    fail::{DENIED, Stop},
    input::breaches,
    retry::Trying,
    step::{Move, is_gate},
};
use crate::{
    program::{Call, Callee, Excess, Failure, Limits, Node, Outcome, PointIndex, Reply, Target},
    state::{CallRole, Effect, PendingCall},
};
use trellis_base::{
    id::IdempotencyKey,
    schema::Schema,
    value::{Mapping, Value},
};

/// A result as the rules see it, after `returns` was checked.
pub(super) enum Settled {
    Success(Value),
    Failed(ToolError),
    Denied(Option<String>),
}

impl Settled {
    /// Checks a result against the bounds, and a success against `returns` (language 5.3).
    pub(super) fn new(engine: &Engine, outcome: ToolOutcome, returns: &[Schema]) -> Self {
        let limits = engine.program.limits();
        match outcome {
            ToolOutcome::Success(value) => match limits.admit(&value) {
                Ok(()) => Self::fitting(engine, value, returns),
                Err(excess) => Self::broken(format!("the result {excess}")),
            },
            ToolOutcome::Error(error) => match admitted(&error, limits) {
                Ok(()) => Self::Failed(error),
                Err(excess) => {
                    let message = format!("its error {excess}");
                    Self::Failed(ToolError { message, code: None, data: None, ..error })
                }
            },
            ToolOutcome::Denied(reason) => Self::Denied(reason.filter(|reason| limits.admit(&Value::text(reason.as_str())).is_ok())),
        }
    }

    /// A success, unless it breaks `returns`.
    pub(super) fn fitting(engine: &Engine, value: Value, returns: &[Schema]) -> Self {
        let Some(schema) = returns.iter().find(|schema| !engine.fits(schema, &value)) else { return Self::Success(value) };
        Self::broken(format!("the result breaks `returns`: {}", breaches(schema, &value, "")))
    }

    /// Returns the outcome for a result that does not fit.
    pub(super) fn broken(message: String) -> Self {
        Self::Failed(ToolError { kind: ToolErrorKind::Schema, ..ToolError::new(message) })
    }

    pub(super) fn as_str(&self) -> &'static str {
        match self {
            Self::Success(_) => "success",
            Self::Denied(_) => "denied",
            Self::Failed(error) => error.kind.as_str(),
        }
    }
}

/// Checks that the message of an error may enter.
fn admitted(error: &ToolError, limits: &Limits) -> Result<(), Excess> {
    limits.admit(&error.message.as_str().into())?;
    error.code.iter().chain(&error.data).try_for_each(|value| limits.admit(value))
}

impl<'e> Move<'e> {
    /// Takes the result of the pending call of a node or its gate.
    pub(super) fn result(&mut self, point: PointIndex, pending: &PendingCall, outcome: ToolOutcome) -> Result<(), Stop> {
        let node = self.node_of(point);
        let gate = is_gate(self.program, point);
        let call = if gate { self.program.graph_of(node).before_each.as_deref() } else { call_of(node) };
        let settled = Settled::new(self.engine, outcome, call.map_or(&[][..], |call| &call.returns));
        self.returned_event(pending, &settled);
        self.state.settled = Some(pending.id.clone());
        match settled {
            Settled::Success(value) => {
                self.input = Some(value.clone());
                self.tool_result = Some(value);
                self.succeed(point, node, call, pending)
            }
            Settled::Failed(error) => {
                let timeout = error.kind == ToolErrorKind::Timeout;
                self.trying = Trying::of(&error);
                self.error = Some(error_value(pending, error));
                self.unsettle(point, if timeout { &Outcome::Timeout } else { &Outcome::Error })
            }
            Settled::Denied(reason) => {
                self.error = Some(denial_value(pending, reason));
                self.unsettle(point, &Outcome::Denied)
            }
        }
    }

    /// Reports the outcome of a call.
    pub(super) fn returned_event(&mut self, pending: &PendingCall, settled: &Settled) {
        self.events.push(Event::Returned { id: pending.id.clone(), outcome: settled.as_str().into() });
    }

    /// Continues from a success of the pending call of `point`.
    pub(super) fn succeed_with(&mut self, point: PointIndex, pending: &PendingCall, value: Value) -> Result<(), Stop> {
        let node = self.node_of(point);
        let call = if is_gate(self.program, point) { self.program.graph_of(node).before_each.as_deref() } else { call_of(node) };
        self.input = Some(value.clone());
        self.tool_result = Some(value);
        self.succeed(point, node, call, pending)
    }

    /// Writes, then the effect with its undo as it is now, then the choice (language 7.7).
    fn succeed(&mut self, point: PointIndex, node: &Node, call: Option<&Call>, pending: &PendingCall) -> Result<(), Stop> {
        let reply = self.reply(point, &Outcome::Success)?;
        self.update(point, reply)?;
        if let Some(call) = call {
            self.record(node, call, pending)?;
        }
        self.state.take_call();
        self.go_on(point, reply)
    }

    /// The pending call of `point` took too long, or went wrong, or was denied.
    pub(super) fn unsettle(&mut self, point: PointIndex, outcome: &Outcome) -> Result<(), Stop> {
        let reply = self.reply(point, outcome)?;
        self.update(point, reply)?;
        let target = self.choose(point, reply)?;
        if *outcome == Outcome::Timeout && target != Target::Again {
            self.abandon();
        }
        self.follow(point, target)
    }

    /// The reply of a point; every point has one for each outcome that can reach it.
    pub(super) fn reply(&self, point: PointIndex, outcome: &Outcome) -> Result<&'e Reply, Stop> {
        let node = &self.node_of(point).id;
        self.program
            .reply(point, outcome)
            .ok_or_else(|| Stop::failed(Failure::NoMatch, node, format!("`{node}`: nothing follows {outcome:?}")))
    }

    /// Returns the effect of a success; its undo is interpolated over the scope as it is now.
    pub(super) fn effect(&self, node: &Node, call: &Call, tool: &Arc<str>, key: &IdempotencyKey) -> Result<Option<Effect>, Stop> {
        let undo = match &call.undo {
            Some(undo) => Some(Arc::new(self.interpolate_undo(node, undo, key, self.next_number())?)),
            // Of parts, each that is irreversible is listed, not the whole (language 10.6).
            None if matches!(call.callee, Callee::Parallel(..) | Callee::Each(..)) => return Ok(None),
            None if call.effect == trellis_base::language::Effect::Irreversible => None,
            None => return Ok(None),
        };
        Ok(Some(Effect { node: node.id.clone(), tool: tool.clone(), key: key.clone(), undo }))
    }

    /// Returns the effect of a branch with the result `value`: its undo sees its own `save_to` on a copy of the context, and no other branch's
    /// (language 10.6).
    pub(super) fn effect_of_branch(&self, node: &Node, branch: &Call, call: &PendingCall, value: &Value) -> Result<Option<Effect>, Stop> {
        let mut copy = Move::new(self.engine, self.state.clone());
        copy.input = Some(value.clone());
        copy.tool_result = Some(value.clone());
        for write in &branch.writes {
            copy.write(&node.id, write)?;
        }
        copy.effect(node, branch, &call.name, &call.idempotency_key)
    }

    pub(super) fn irreversible(&self, node: &Node, call: &PendingCall) -> Effect {
        Effect { node: node.id.clone(), tool: call.name.clone(), key: call.idempotency_key.clone(), undo: None }
    }

    /// The number of the next effect: one above the newest, also above the one that is being undone.
    fn next_number(&self) -> u32 {
        let newest = self.state.effects.undoable().next_back().and_then(|effect| effect.undo.as_ref());
        let numbers = [newest, self.state.pending_tool_call.as_ref()].into_iter().flatten().map(|call| match call.role {
            CallRole::Undo(number) => number,
            CallRole::Do | CallRole::BeforeEach => 0,
        });
        numbers.max().unwrap_or(0).saturating_add(1)
    }

    /// Remembers a success that matters to a rollback.
    fn record(&mut self, node: &Node, call: &Call, pending: &PendingCall) -> Result<(), Stop> {
        // Only an earlier attempt that was left can have joined under the same key.
        if pending.attempt > 1 && self.state.effects.holds(&pending.idempotency_key) {
            return Ok(());
        }
        let effect = self.effect(node, call, &pending.name, &pending.idempotency_key)?;
        effect.map_or(Ok(()), |effect| self.keep_effect(node, effect))
    }

    /// Adds an effect, within its bound.
    pub(super) fn keep_effect(&mut self, node: &Node, effect: Effect) -> Result<(), Stop> {
        let limit = self.program.limits().effects;
        let met = self.state.effects.len() as u64 + 1;
        if met > limit {
            return Err(Stop::limit(&node.id, "effects to remember", limit, met));
        }
        self.state.effects.push(effect);
        Ok(())
    }
}

/// `sys.error` (language 4.2).
pub(super) fn error_value(call: &PendingCall, error: ToolError) -> Value {
    let optional = [("code", error.code), ("data", error.data), ("part", part_value(call))];
    let optional = optional.into_iter().filter_map(|(key, value)| Some((key, value?)));
    described(call, error.kind.as_str(), error.message).into_iter().chain(optional).collect::<Mapping>().into()
}

pub(super) fn denial_value(call: &PendingCall, reason: Option<String>) -> Value {
    let message = reason.unwrap_or_else(|| DENIED.to_owned());
    let part = part_value(call).map(|part| ("part", part));
    described(call, "denied", message).into_iter().chain(part).collect::<Mapping>().into()
}

/// The part of a call that an error is about (language 10.3).
fn part_value(call: &PendingCall) -> Option<Value> {
    call.part.as_ref().map(|of| of.part.to_value())
}

fn described(call: &PendingCall, kind: &str, message: String) -> [(&'static str, Value); 4] {
    [
        ("tool", Value::Text(call.name.clone())),
        ("node", Value::Text(call.node.shared())),
        ("kind", Value::text(kind)),
        ("message", Value::text(message)),
    ]
}

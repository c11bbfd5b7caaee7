//! Rollback: undo calls, newest first (language 7.7).
//!
//! **Invariant:** unwinding always continues: an undo that failed for good is listed, never retried beyond its policy.

use super::{
    Event, ToolOutcome,
    call::{call_of, name},
    choose::Onward,
    fail::{DENIED, Stop},
    result::Settled,
    retry::{Trying, next_attempt, retries},
    step::{Move, find},
};
use crate::{
    program::{Call, Callee, Graph, PointIndex},
    state::{Effect, PendingCall, Status},
};
use trellis_base::{
    index::to_u32,
    schema::Schema,
    value::{Mapping, Value},
};

impl<'e> Move<'e> {
    /// Begins to unwind; if there is nothing to unwind, returns the next point.
    pub(super) fn roll_back(&mut self) -> Result<Onward<'e>, Stop> {
        let effects = &self.state.effects;
        self.events.push(Event::RollingBack(to_u32(effects.undoable().len())));
        let irreversible = Value::list(effects.irreversible().map(|effect| listed(effect)));
        let before = self.state.system_context.rollback.as_ref().and_then(Value::as_map);
        let failed = before.and_then(|lists| lists.get("failed")).cloned().unwrap_or_else(|| Value::list([]));
        self.state.system_context.rollback = Some(Value::map([("failed", failed), ("irreversible", irreversible)]));
        self.unwind()
    }

    /// Yields the next undo, or returns the target after the last one.
    fn unwind(&mut self) -> Result<Onward<'e>, Stop> {
        self.state.attempt = 1;
        self.state.take_call();
        self.state.status = Status::RollingBack;
        while let Some(effect) = self.state.effects.pop() {
            if let Some(undo) = &effect.undo {
                self.call(undo.clone(), Status::RollingBack)?;
                return Ok(None);
            }
        }
        self.state.rolled_back = true;
        let (graph, body) = self.current_graph();
        Ok(Some((body, self.program.rollback_reply(graph))))
    }

    /// The graph that unwinds; its node may be gone, since frozen undo calls survive it.
    fn current_graph(&self) -> (&'e Graph, PointIndex) {
        let node = find(self.program, &self.state.current_node_id).map_or_else(|| self.program.entry(), |index| self.program.node(index));
        (self.program.graph_of(node), node.body)
    }

    /// Takes the result of a pending undo.
    pub(super) fn undone(&mut self, pending: &PendingCall, outcome: ToolOutcome) -> Result<(), Stop> {
        let settled = Settled::new(self.engine, outcome, self.undo_returns(pending));
        self.state.settled = Some(pending.id.clone());
        self.undone_as(pending, settled)
    }

    /// Continues from a pending undo with this outcome.
    pub(super) fn undone_as(&mut self, pending: &PendingCall, settled: Settled) -> Result<(), Stop> {
        self.events.push(Event::Returned { id: pending.id.clone(), outcome: settled.as_str().into() });
        let message = match settled {
            Settled::Success(_) => None,
            Settled::Denied(reason) => Some(reason.unwrap_or_else(|| DENIED.to_owned())),
            Settled::Failed(error) => {
                if retries(pending.retry.as_ref(), pending.attempt, &error) {
                    return self.undo_again(pending, Trying::of(&error));
                }
                Some(error.message)
            }
        };
        self.events.push(Event::Undone { tool: pending.name.clone(), ok: message.is_none() });
        if let Some(message) = message {
            self.list_failed(pending, &message);
        }
        match self.unwind()? {
            Some((point, reply)) => self.take(point, reply),
            None => Ok(()),
        }
    }

    fn undo_again(&mut self, pending: &PendingCall, trying: Trying) -> Result<(), Stop> {
        let parts = self.abandon().map(|(_, parts)| parts.again());
        self.state.attempt = self.state.attempt.saturating_add(1);
        self.call_with(next_attempt(pending, pending.retry.as_ref(), trying), Status::RollingBack, parts.unwrap_or_default());
        Ok(())
    }

    /// Returns the schemas of an undo's result, while its node still has the undo.
    fn undo_returns(&self, pending: &PendingCall) -> &'e [Schema] {
        self.undo_of(pending).map_or(&[], |undo| &undo.returns)
    }

    /// The undo that a call was made from, while its node still has it: the node's own, or that of a branch.
    pub(super) fn undo_of(&self, pending: &PendingCall) -> Option<&'e Call> {
        let node = self.program.node(find(self.program, &pending.node)?);
        let call: &'e Call = call_of(node)?;
        let branches = if let Callee::Parallel(branches, _) = &call.callee { &**branches } else { &[] };
        let mut undos = std::iter::once(call).chain(branches.iter().map(|(_, branch)| branch)).filter_map(|call| call.undo.as_deref());
        undos.find(|undo| name(undo) == &*pending.name)
    }

    fn list_failed(&mut self, pending: &PendingCall, message: &str) {
        let entry = Value::map([
            ("tool", Value::Text(pending.name.clone())),
            ("node", Value::Text(pending.node.shared())),
            ("message", Value::text(message)),
        ]);
        let mut lists = match self.state.system_context.rollback.take() {
            Some(Value::Map(lists)) => lists,
            _ => Mapping::new(),
        };
        match lists.get_mut("failed") {
            Some(Value::List(failed)) => failed.push(entry),
            _ => drop(lists.insert("failed".into(), Value::list([entry]))),
        }
        self.state.system_context.rollback = Some(lists.into());
    }
}

fn listed(effect: &Effect) -> Value {
    Value::map([("tool", Value::Text(effect.tool.clone())), ("node", Value::Text(effect.node.shared()))])
}

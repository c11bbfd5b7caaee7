//! Results of calls that the session left (language 7.6): recorded, never moving it.

use std::sync::Arc;

use super::{
    Event, Step, ToolResult,
    call::{call_of, name},
    fail::Stop,
    parts::is_irreversible,
    result::Settled,
    step::{Move, find},
};
use crate::{
    program::{Call, Callee, Node},
    state::{Abandoned, CallRole, Effect, PartName, State, Status},
};
use trellis_base::{id::CallId, value::Value};

impl Move<'_> {
    /// The step of a late result: the same state, but for an effect that may have joined.
    /// `child` is the left child that made the call, while it is known.
    pub(super) fn late(mut self, abandoned: &Abandoned, child: Option<&State>, result: ToolResult) -> Step {
        self.settle(&result.id);
        if self.state.status == Status::Terminated {
            self.events.push(Event::DeadLetter(result.id));
            return self.into_step();
        }
        let effect = match (&abandoned.child, child) {
            (None, _) => self.late_effect(abandoned, result.outcome),
            (Some(_), Some(child)) => Move::new(self.engine, child.clone()).late_effect(abandoned, result.outcome),
            (Some(_), None) => self.late_unknown(abandoned, result.outcome),
        };
        let effect = effect.filter(|effect| !self.state.effects.holds(&effect.key));
        let joined = effect.is_some();
        if let Some(effect) = effect {
            self.state.effects.push(effect);
        }
        self.events.push(Event::Late { id: result.id, joined });
        self.into_step()
    }

    /// Remembers that a result of this call came: a second one is none.
    fn settle(&mut self, id: &CallId) {
        let left = Arc::make_mut(&mut self.state.abandoned).iter_mut().find(|left| left.id == *id);
        left.into_iter().for_each(|left| left.is_settled = true);
    }

    /// The effect of a late success: once per key, and only of a call that its node still makes.
    fn late_effect(&self, abandoned: &Abandoned, outcome: super::ToolOutcome) -> Option<Effect> {
        let node = self.program.node(find(self.program, &abandoned.node)?);
        let call = call_of(node).filter(|_| abandoned.role == CallRole::Do)?;
        let call = match (&abandoned.part, &call.callee) {
            (Some(PartName::Branch(name)), Callee::Parallel(branches, _)) => &branches.iter().find(|(branch, _)| branch == name)?.1,
            (Some(PartName::Item(_)), Callee::Each(..)) => return self.late_item(call, abandoned, outcome),
            (Some(_), _) => return None,
            (None, _) => call,
        };
        if name(call) != &*abandoned.tool {
            return None;
        }
        let Settled::Success(value) = Settled::new(self.engine, outcome, &call.returns) else { return None };
        let effects = &self.state.effects;
        if effects.holds(&abandoned.key) || effects.len() as u64 >= self.program.limits().effects {
            return None;
        }
        // An undo that cannot be made any more is at least listed: its effect must not be forgotten.
        self.replayed(node, call, abandoned, value).unwrap_or_else(|_| Some(irreversible(abandoned)))
    }

    /// The effect of a call of a child that is not known any more: it can be listed, not undone.
    fn late_unknown(&self, abandoned: &Abandoned, outcome: super::ToolOutcome) -> Option<Effect> {
        let state = State { current_node_id: abandoned.node.clone(), ..self.state.clone() };
        let effect = Move::new(self.engine, state).late_effect(abandoned, outcome)?;
        Some(Effect { undo: None, ..effect })
    }

    /// The effect of an item of `each`: items have no undo, so one that cannot be undone is listed.
    fn late_item(&self, call: &Call, abandoned: &Abandoned, outcome: super::ToolOutcome) -> Option<Effect> {
        let tool = call.offered.iter().find(|tool| tool.name == abandoned.tool)?;
        let succeeded = matches!(Settled::new(self.engine, outcome, tool.returns.as_slice()), Settled::Success(_));
        let effects = &self.state.effects;
        let is_new = !effects.holds(&abandoned.key) && (effects.len() as u64) < self.program.limits().effects;
        (succeeded && is_new && is_irreversible(tool)).then(|| irreversible(abandoned))
    }

    /// Interpolates the undo over a copy of the context with the node's writes applied.
    fn replayed(&self, node: &Node, call: &Call, abandoned: &Abandoned, value: Value) -> Result<Option<Effect>, Stop> {
        let state = State { current_node_id: node.id.clone(), ..self.state.clone() };
        let mut copy = Move::new(self.engine, state);
        copy.input = Some(value.clone());
        copy.tool_result = Some(value);
        for write in &call.writes {
            copy.write(&node.id, write)?;
        }
        copy.effect(node, call, &abandoned.tool, &abandoned.key)
    }
}

fn irreversible(abandoned: &Abandoned) -> Effect {
    Effect { node: abandoned.node.clone(), tool: abandoned.tool.clone(), key: abandoned.key.clone(), undo: None }
}

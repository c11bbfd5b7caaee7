//! Child sessions: their start, their result for the caller, and the effects that they leave to it (language 5.4, 10.7 to 10.9).
//!
//! ```text
//! caller at `graph` ──begin_child──▶ child ──navigate──▶ … ──▶ end ──outcome──▶ result of the call
//!                                      └─ left, or ended without success ──leave──▶ its effects are the caller's
//! ```
//!
//! **Invariant:** an effect is in one state only: in the child's while that lives, in the caller's once the child was left or failed.

use std::sync::Arc;

use super::{
    Engine, Event, Start, StartError, Step, ToolError, ToolErrorKind, ToolOutcome, ToolResult, Unanswered,
    fail::DENIED,
    parts::part_call,
    step::{Move, find},
};
use crate::{
    program::{Failure, Limits},
    state::{CallKind, CallRole, Effect, EndReason, Ended, PendingCall, State},
};
use trellis_base::{
    id::{CallId, SessionId},
    index::to_u32,
    value::{Mapping, Value},
};

/// Bytes of an output that replace the message of a child that failed without one.
const MESSAGE: usize = 200;

/// The reason why a child did not begin.
#[derive(Clone, Debug)]
pub enum NotBegun {
    /// This predicate must be answered first.
    Unanswered(Box<Unanswered>),
    /// It cannot begin: this is the outcome of the call.
    Refused(ToolOutcome),
}

impl Engine {
    /// Begins the child session of a `graph` call: at the called node, with the arguments as its context, and named by the id of the call, so that each
    /// attempt is another child (language 10.7).
    ///
    /// # Errors
    /// A predicate must be answered first, or the start is refused: an error of kind `schema`.
    pub fn begin_child(&self, caller: &State, call: &PendingCall) -> Result<Step, NotBegun> {
        let refused = |message: String| {
            let error = ToolError { kind: ToolErrorKind::Schema, ..ToolError::new(message) };
            NotBegun::Refused(ToolOutcome::Error(error))
        };
        let CallKind::Graph(at) = &call.kind else { return Err(refused(format!("`{}` calls no graph", call.name))) };
        let Some(node) = find(&self.program, at) else { return Err(refused(StartError::UnknownNode(at.clone()).to_string())) };
        let node = self.program.node(node);
        let own = find(&self.program, &caller.current_node_id).map(|node| self.program.node(node).graph);
        let start = Start {
            session: Some(SessionId::new(call.id.shared())),
            context: call.args.clone(),
            locale: caller.locale.clone(),
            at: Some(node.id.clone()),
            seed: caller.seed.clone(),
        };
        let is_inner = own.is_none_or(|own| own == node.graph);
        self.of_graph_again(caller).begin_as(start, is_inner).map_err(|error| match error {
            StartError::Unanswered(asked) => NotBegun::Unanswered(asked),
            error => refused(error.to_string()),
        })
    }

    /// Returns the engine with the graph in which a session began: keys of calls depend on it.
    fn of_graph_again(&self, caller: &State) -> Self {
        self.clone().of_graph(caller.graph.clone())
    }

    /// Returns the outcome of an ended child for its caller, `None` while the child has not ended (language 10.7).
    pub fn outcome(&self, child: &State) -> Option<ToolOutcome> {
        let ended = child.ended.as_deref()?;
        Some(match ended.reason {
            EndReason::Finished => ToolOutcome::Success(ended.output.clone().unwrap_or_default()),
            EndReason::Denied => ToolOutcome::Denied(Some(ended.message.as_deref().unwrap_or(DENIED).to_owned())),
            EndReason::Failed | EndReason::RolledBack => ToolOutcome::Error(failure(child, ended, self.program.limits())),
        })
    }

    /// Leaves children of a session, or takes over the effects of ended ones: those that they have not undone join its own, in their order, and its
    /// late calls are known. Nothing else changes. A child of an undo hands nothing over: that undo is listed as failed (language 10.6, 10.9).
    pub fn leave(&self, parent: &State, children: &[&State]) -> Step {
        let mut step = Move::new(self, parent.clone());
        let undoes = parent.pending_tool_call.as_ref().is_some_and(|call| matches!(call.role, CallRole::Undo(_)));
        for child in children {
            let before = step.state.effects.len();
            if !undoes {
                child.effects.iter().for_each(|effect| step.state.effects.push(Effect::clone(effect)));
                unfinished_undo(child).into_iter().for_each(|effect| step.state.effects.push(effect));
            }
            for call in self.open_calls(child) {
                step.remember_left_of(&call, Some(&child.session_id));
            }
            let effects = to_u32(step.state.effects.len() - before);
            step.events.push(Event::LeftChild { child: child.session_id.clone(), effects });
        }
        step.into_step()
    }

    /// The step of a late result of a call that a left child made, while its context is still known: its undo is interpolated over that (language
    /// 10.9). Nothing, where the session left no such call.
    pub fn late_in(&self, parent: &State, child: &State, result: ToolResult) -> Option<Step> {
        let left = parent.abandoned.iter().find(|left| left.id == result.id && !left.is_settled)?;
        Some(Move::new(self, parent.clone()).late(left, Some(child), result))
    }

    /// The calls of a state that are made now: the pending one, or its open parts.
    pub fn open_calls(&self, state: &State) -> Vec<Arc<PendingCall>> {
        let Some(whole) = &state.pending_tool_call else { return Vec::new() };
        if whole.kind.parts() != Some(state.parts.len()) {
            return vec![Arc::clone(whole)];
        }
        self.open(state).filter_map(|at| part_call(whole, &state.parts, at)).collect()
    }
}

/// The call of this name that a state waits for: its pending one, or a part of that.
pub fn pending_call(state: &State, id: &CallId) -> Option<Arc<PendingCall>> {
    pending_calls(state).find(|call| call.id == *id)
}

/// The calls that a state waits for: its pending one, then the parts of that, in order.
pub fn pending_calls(state: &State) -> impl Iterator<Item = Arc<PendingCall>> {
    let whole = state.pending_tool_call.as_ref();
    let parts = whole.into_iter().flat_map(|whole| (0..to_u32(state.parts.len())).filter_map(|at| part_call(whole, &state.parts, at)));
    whole.cloned().into_iter().chain(parts)
}

/// Returns the effect whose undo a child was making: it is unknown whether it was undone, and its key is the same.
fn unfinished_undo(child: &State) -> Option<Effect> {
    let undo = child.pending_tool_call.as_ref().filter(|call| matches!(call.role, CallRole::Undo(_)))?;
    Some(Effect { node: undo.node.clone(), tool: undo.name.clone(), key: undo.idempotency_key.clone(), undo: Some(Arc::clone(undo)) })
}

/// Returns the error of a child that failed or was rolled back. A decision of its author is final.
fn failure(child: &State, ended: &Ended, limits: &Limits) -> ToolError {
    let is_rolled_back = ended.reason == EndReason::RolledBack;
    let code = if is_rolled_back { "rolled_back" } else { ended.code.as_deref().unwrap_or("failed") };
    let decided = is_rolled_back || [Failure::Fail, Failure::End].iter().any(|failure| failure.as_str() == code);
    let of_call = [Failure::Fail, Failure::ToolError, Failure::Timeout].iter().any(|failure| failure.as_str() == code);
    let is_here = |error: &&Value| error.as_map().and_then(|error| error.get("node")).and_then(Value::as_str) == Some(ended.node.as_str());
    let error = child.system_context.error.as_ref().filter(|error| of_call && is_here(error));
    let output = ended.output.as_ref();
    let message = match (&ended.message, output) {
        (Some(message), _) => message.to_string(),
        (None, Some(output)) => cut(output.to_json()),
        (None, None) => format!("`{}` ended as {}", ended.node, ended.reason.as_str()),
    };
    let data = |output: Option<&Value>, error: Option<Value>| {
        let data = [
            Some(("node", Value::Text(ended.node.shared()))),
            Some(("ended", Value::text(ended.reason.as_str()))),
            output.map(|output| ("output", output.clone())),
            error.map(|error| ("error", error)),
        ];
        Value::from(data.into_iter().flatten().collect::<Mapping>())
    };
    // Each child in a child adds levels; what is too much is left out, and the reason is still told.
    let admitted = |data: &Value| limits.admit(data).is_ok();
    let whole = Some(data(output, error.cloned())).filter(admitted);
    let data = whole.or_else(|| Some(data(output, error.map(without_data))).filter(admitted)).unwrap_or_else(|| data(None, None));
    ToolError { data: Some(data), is_final: decided, ..ToolError::coded(code, message) }
}

/// An error without its `data`.
fn without_data(error: &Value) -> Value {
    let entries = error.as_map().into_iter().flat_map(|error| error.iter()).filter(|(key, _)| &***key != "data");
    Value::from(entries.map(|(key, value)| (key.clone(), value.clone())).collect::<Mapping>())
}

fn cut(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(MESSAGE));
    text
}

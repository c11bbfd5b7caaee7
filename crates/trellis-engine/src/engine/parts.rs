//! PartStates of a pending call: their calls, the open ones, and their outcomes (language 10.1, 10.2, 10.4).
//!
//! **Invariant:** the call of a part follows from the frozen whole and its number, so that it is the same after a restart.

use std::sync::Arc;

use super::{
    Engine, Event, Next, RenderError, ToolError, ToolErrorKind, ToolOutcome,
    call::{call_of, name},
    fail::{Stop, with_article},
    ids,
    input::breaches,
    result::Settled,
    retry::{Trying, next_delay, retries},
    step::{Move, find},
};
use crate::{
    program::{Call, Callee, Node, Tool},
    state::{Approval, CallKind, CallRole, Offered, PartCalls, PartName, PartOf, PartState, PartStates, PendingCall, State},
};
use trellis_base::{
    id::CallId,
    language::MOST_ABREAST,
    schema::Schema,
    value::{List, Mapping, Value},
};

impl Engine {
    /// Returns the next action of a host for a pending call.
    pub(super) fn next(&self, state: &State, call: &Arc<PendingCall>) -> Result<Next, RenderError> {
        let Some(count) = call.kind.parts() else { return Ok(Next::Call(call.clone())) };
        if state.parts.len() != count {
            return Err(RenderError::Unadopted(state.current_node_id.clone()));
        }
        let open: Vec<_> = self.open(state).filter_map(|at| part_call(call, &state.parts, at)).collect();
        Ok(if open.is_empty() { Next::Pass } else { Next::Parts { whole: call.clone(), open } })
    }

    /// Returns the parts that are open now; none if the outcomes so far decide the whole.
    pub(super) fn open<'s>(&self, state: &'s State) -> impl Iterator<Item = u32> + use<'s> {
        let kind = state.pending_tool_call.as_deref().map(|call| &call.kind);
        let most = match kind {
            Some(kind) if !kind.is_decided(&state.parts) => kind.limit().unwrap_or(self.program.limits().abreast).clamp(1, MOST_ABREAST),
            _ => 0,
        };
        state.parts.waiting(most as usize)
    }

    /// Returns whether a pending call has parts of which none is left to run: the next pass settles it.
    pub(super) fn has_nothing_open(&self, state: &State) -> bool {
        let call = state.pending_tool_call.as_deref();
        call.is_some_and(|call| call.kind.parts() == Some(state.parts.len())) && self.open(state).next().is_none()
    }

    /// The open part that a result is for.
    pub(super) fn open_part(&self, state: &State, id: &CallId) -> Option<(u32, Arc<PendingCall>)> {
        let whole = state.pending_tool_call.as_ref().filter(|call| call.kind.parts() == Some(state.parts.len()))?;
        self.open(state).find_map(|at| Some((at, part_call(whole, &state.parts, at).filter(|call| call.id == *id)?)))
    }

    /// Returns whether the part of the pending call that was made under this id has its outcome.
    pub(super) fn has_settled_part(&self, state: &State, id: &CallId) -> bool {
        let Some(whole) = &state.pending_tool_call else { return false };
        let done = (0..).zip(state.parts.iter()).filter(|(_, part)| part.outcome.is_some());
        done.into_iter().any(|(at, _)| part_call(whole, &state.parts, at).is_some_and(|call| call.id == *id))
    }
}

/// The call of a part, as its next attempt is made.
pub(super) fn part_call(whole: &PendingCall, parts: &PartStates, at: u32) -> Option<Arc<PendingCall>> {
    let part = parts.get(at)?;
    let first = whole.prepared.get(parts.len(), at as usize, || first_attempt(whole, at))?;
    if part.attempt == 1 && part.delay == 0 {
        return Some(first);
    }
    let id = ids::call(&first.idempotency_key, part.attempt);
    Some(Arc::new(PendingCall { id, attempt: part.attempt, delay: part.delay, ..PendingCall::clone(&first) }))
}

fn first_attempt(whole: &PendingCall, at: u32) -> PendingCall {
    let named = |part: PartName| Some(PartOf { of: whole.id.clone(), part });
    match &whole.kind {
        CallKind::Parallel { branches, .. } => match branches.get(at as usize) {
            Some((name, branch)) => PendingCall { part: named(PartName::Branch(name.clone())), ..branch.clone() },
            None => whole.clone(),
        },
        CallKind::Each { items, offered, approve, .. } => {
            let item = items.as_list().and_then(|items| items.get(at as usize));
            let item = item.and_then(Value::as_map);
            let name = item.and_then(|item| item.get("name")).and_then(Value::as_str).unwrap_or_default();
            let args = item.and_then(|item| item.get("args")).and_then(Value::as_map).cloned().unwrap_or_default();
            let tool = offered.iter().find(|tool| *tool.name == *name);
            let key = ids::item(&whole.idempotency_key, at);
            PendingCall {
                id: ids::call(&key, 1),
                name: tool.map_or_else(|| Arc::from(name), |tool| tool.name.clone()),
                role: whole.role.clone(),
                node: whole.node.clone(),
                args,
                secrets: Vec::new(),
                idempotency_key: key,
                attempt: 1,
                delay: 0,
                timeout: tool.and_then(|tool| tool.timeout),
                approve: approve.as_ref().map(|approve| {
                    let ask = if approve.asks.len() == 1 { approve.asks.first() } else { approve.asks.get(at as usize) };
                    Approval { ask: ask.cloned().flatten(), expires: approve.expires }
                }),
                retry: tool.and_then(|tool| tool.retry.clone()),
                metadata: whole.metadata.clone(),
                kind: CallKind::Tool,
                part: named(PartName::Item(at)),
                prepared: PartCalls::default(),
                offered: Vec::new(),
            }
        }
        CallKind::Tool | CallKind::Graph(_) => whole.clone(),
    }
}

impl<'e> Move<'e> {
    /// The call of the program that a pending one was made from, while its node still has it.
    pub(super) fn origin_of(&self, pending: &PendingCall) -> Option<&'e Call> {
        let node: &'e Node = self.program.node(find(self.program, &pending.node)?);
        let call = match pending.role {
            CallRole::Do => call_of(node),
            CallRole::BeforeEach => self.program.graph_of(node).before_each.as_deref(),
            CallRole::Undo(_) => self.undo_of(pending),
        };
        call.filter(|call| name(call) == &*pending.name)
    }

    /// Returns the parts of a call that was just made: items that cannot be called have their outcome at once (language 10.4).
    pub(super) fn first_parts(&self, whole: &PendingCall) -> PartStates {
        let CallKind::Each { items, offered, approve, .. } = &whole.kind else {
            return PartStates::fresh(whole.kind.parts().unwrap_or(0));
        };
        let tools: &[Arc<Tool>] = self.origin_of(whole).map_or(&[], |call| &call.offered);
        let asks = approve.as_ref().map_or(&[][..], |approve| &approve.asks);
        let part = |(at, item): (usize, &Value)| {
            let unasked = asks.get(if asks.len() == 1 { 0 } else { at }).is_some_and(Option::is_none);
            let refused = refused(item, offered, tools);
            let refused = refused.or_else(|| unasked.then(|| failed("template", ToolErrorKind::Error, "its `ask` cannot be rendered")));
            PartState { outcome: refused.map(|error| Arc::new(ToolOutcome::Error(error))), ..PartState::FRESH }
        };
        PartStates::new(items.as_list().into_iter().flat_map(List::iter).enumerate().map(part))
    }

    /// Checks that the outcomes of the parts are within their bound.
    pub(super) fn hold_parts(&self) -> Result<(), Stop> {
        let (limit, met) = (self.program.limits().parts_output, self.state.parts.bytes());
        if met > limit {
            let what = "bytes came of the parts of one call (`limits.parts_output`)";
            return Err(Stop::limit(&self.state.current_node_id, what, limit, met));
        }
        Ok(())
    }

    /// Reports the parts that are open now and were not before.
    pub(super) fn announce_opened(&mut self, before: &[u32]) {
        let Some(whole) = self.state.pending_tool_call.clone().filter(|call| call.kind.parts().is_some()) else { return };
        let opened: Vec<_> = self.engine.open(&self.state).filter(|at| !before.contains(at)).collect();
        for part in opened.into_iter().filter_map(|at| part_call(&whole, &self.state.parts, at)) {
            self.events.push(Event::Called { id: part.id.clone(), tool: part.name.clone() });
        }
    }

    /// Leaves the parts that are open, once in a step: late results of theirs are known.
    pub(super) fn leave_parts(&mut self) {
        if std::mem::replace(&mut self.has_left_parts, true) {
            return;
        }
        let Some(whole) = self.state.pending_tool_call.clone() else { return };
        let kind = &whole.kind;
        let Some(_) = kind.parts() else { return };
        let most = kind.limit().unwrap_or(self.program.limits().abreast).clamp(1, MOST_ABREAST);
        let open: Vec<_> = self.state.parts.waiting(most as usize).filter_map(|at| part_call(&whole, &self.state.parts, at)).collect();
        open.iter().for_each(|part| self.remember_left(part));
    }

    /// Takes the result of an open part: a step on the same node, or the outcome of the whole that it decides (language 10.2, 10.3).
    pub(super) fn part_result(&mut self, whole: &Arc<PendingCall>, at: u32, call: &PendingCall, outcome: ToolOutcome) -> Result<(), Stop> {
        let of_program = self.part_of_program(whole, call);
        let settled = Settled::new(self.engine, outcome, of_program.map_or(&[][..], |part| part.returns(call)));
        self.events.push(Event::Returned { id: call.id.clone(), outcome: settled.as_str().into() });
        self.state.settled = Some(call.id.clone());
        let before: Vec<u32> = self.engine.open(&self.state).collect();
        let done = |outcome| PartState { attempt: call.attempt, delay: 0, outcome: Some(Arc::new(outcome)) };
        let part = match settled {
            Settled::Failed(error) if retries(call.retry.as_ref(), call.attempt, &error) => {
                self.remember_left(call);
                let delay = next_delay(call.retry.as_ref(), call.attempt, Trying::of(&error));
                PartState { attempt: call.attempt.saturating_add(1), delay, outcome: None }
            }
            Settled::Failed(error) => done(ToolOutcome::Error(error)),
            Settled::Denied(reason) => done(ToolOutcome::Denied(reason)),
            Settled::Success(value) => {
                if let Some(part) = of_program {
                    self.part_effect(&part, call, &value)?;
                }
                done(ToolOutcome::Success(value))
            }
        };
        let is_again = part.outcome.is_none();
        self.state.parts.set(at, part);
        self.hold_parts()?;
        if whole.kind.is_decided(&self.state.parts) {
            return self.settle_by_parts(whole);
        }
        let before: Vec<u32> = before.into_iter().filter(|before| !is_again || *before != at).collect();
        self.announce_opened(&before);
        Ok(())
    }

    /// Returns the reason why a value from a client is no result of a part; `None` if it is one.
    pub(super) fn unfit_part(&self, whole: &PendingCall, call: &PendingCall, value: &Value) -> Option<String> {
        let returns = self.part_of_program(whole, call)?.returns(call);
        let broken = returns.iter().find(|schema| !self.engine.fits(schema, value))?;
        Some(breaches(broken, value, ""))
    }

    /// Records the effect of a part that succeeded in a client's result of the whole.
    pub(super) fn part_succeeded(&mut self, whole: &PendingCall, call: &PendingCall, value: &Value) -> Result<(), Stop> {
        self.part_of_program(whole, call).map_or(Ok(()), |part| self.part_effect(&part, call, value))
    }

    /// Finds a part in the program.
    fn part_of_program(&self, whole: &PendingCall, part: &PendingCall) -> Option<ProgramPart<'e>> {
        let node = self.program.node(find(self.program, &whole.node)?);
        let call = self.origin_of(whole)?;
        let made = match (&part.part.as_ref()?.part, &call.callee) {
            (PartName::Branch(branch), Callee::Parallel(branches, _)) => {
                ProgramPart::Branch(node, branches.iter().find(|(name, _)| name == branch).map(|(_, call)| call)?)
            }
            (PartName::Item(_), Callee::Each(..)) => ProgramPart::Item(node, call.offered.iter().find(|tool| tool.name == part.name)?),
            _ => return None,
        };
        Some(made)
    }

    /// Remembers a part that succeeded, where that matters to a rollback (language 10.6).
    fn part_effect(&mut self, part: &ProgramPart<'e>, call: &PendingCall, value: &Value) -> Result<(), Stop> {
        if self.state.effects.holds(&call.idempotency_key) {
            return Ok(());
        }
        let (node, effect) = match *part {
            ProgramPart::Branch(node, branch) => (node, self.effect_of_branch(node, branch, call, value)?),
            ProgramPart::Item(node, tool) => (node, is_irreversible(tool).then(|| self.irreversible(node, call))),
        };
        effect.map_or(Ok(()), |effect| self.keep_effect(node, effect))
    }
}

/// A part in the program.
#[derive(Clone, Copy)]
enum ProgramPart<'e> {
    Branch(&'e Node, &'e Call),
    Item(&'e Node, &'e Tool),
}

impl<'e> ProgramPart<'e> {
    /// Returns the schemas of a success, while the program still makes the same call there.
    fn returns(self, call: &PendingCall) -> &'e [Schema] {
        match self {
            Self::Branch(_, branch) if name(branch) == &*call.name => &branch.returns,
            Self::Branch(..) => &[],
            Self::Item(_, tool) => tool.returns.as_slice(),
        }
    }
}

pub(super) fn is_irreversible(tool: &Tool) -> bool {
    tool.effect == Some(trellis_base::language::Effect::Irreversible)
}

/// Returns the reason why an item cannot be called.
fn refused(item: &Value, offered: &[Offered], tools: &[Arc<Tool>]) -> Option<ToolError> {
    let bad = |message: String| Some(failed("bad-args", ToolErrorKind::Schema, message));
    let Some(entry) = item.as_map() else { return bad(format!("the item is {}, not a mapping", with_article(item.kind()))) };
    let Some(name) = entry.get("name").and_then(Value::as_str) else { return bad("the item has no text `name`".to_owned()) };
    if !offered.iter().any(|tool| *tool.name == *name) {
        return Some(failed("unknown-tool", ToolErrorKind::Error, format!("`{name}` is not offered here")));
    }
    let none = Value::Map(Mapping::new());
    let args = entry.get("args").unwrap_or(&none);
    if args.as_map().is_none() {
        return bad(format!("the arguments of `{name}` are {}, not a mapping", with_article(args.kind())));
    }
    let parameters = tools.iter().find(|tool| *tool.name == *name).and_then(|tool| tool.parameters.as_ref())?;
    if parameters.fits(args) { None } else { bad(format!("the arguments of `{name}` do not fit: {}", breaches(parameters, args, ""))) }
}

fn failed(code: &str, kind: ToolErrorKind, message: impl Into<String>) -> ToolError {
    ToolError { kind, code: Some(Value::text(code)), ..ToolError::new(message) }.finally()
}

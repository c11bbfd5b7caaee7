//! Finding out whether a predicate holds: a bound tool answers, or the client (language 6.2).

use std::sync::Arc;

use trellis_core::{
    Context, Engine, NodeId, Program, SessionId, Start, ToolOutcome, ToolResult,
    engine::{Unanswered, question_key},
    id::{CallId, IdempotencyKey, KeySeed},
    state::{CallKind, CallRole, PartCalls, PendingCall, State},
};

use super::{
    SendError, SessionEvent, Sessions, Stop,
    rest::millis,
    slot::{PanicSafeLock, Slot, SlotState},
};
use crate::{
    binding::{Bindings, Caller},
    interceptor::Verdict,
};

/// A question, its subject, and the session of a tree that asks it.
#[derive(Clone)]
pub(super) struct PredicateQuestion {
    asked: Unanswered,
    id: Arc<str>,
    node: NodeId,
    child: Option<SessionId>,
    /// The call whose child cannot begin before.
    begins: Option<CallId>,
    /// The random number of its session's start.
    seed: Option<KeySeed>,
}

/// The outcome of a question.
pub(super) enum PredicateAnswer {
    /// The value by a bound tool.
    Holds(bool),
    /// The client is to be asked.
    AskClient(Box<Stop>),
}

/// The predicate and the step that asks for it: asked again in another step, it is another question. The start is no step.
pub(super) fn id(name: &str, step: Option<u64>) -> Arc<str> {
    format!("{name}@{}", step.map_or(0, |step| step + 1)).into()
}

impl PredicateQuestion {
    pub(super) fn at_start(asked: Unanswered, program: &Program, start: &Start) -> Self {
        let node = start.at.clone().unwrap_or_else(|| program.entry().id.clone());
        Self { id: id(&asked.name, None), asked, node, child: None, begins: None, seed: start.seed.clone() }
    }

    pub(super) fn in_step(asked: Unanswered, child: Option<SessionId>, state: &State) -> Self {
        let id = id(&asked.name, Some(state.step));
        let id = child.as_ref().map_or(Arc::clone(&id), |child| format!("{id}@{child}").into());
        Self { id, asked, node: state.current_node_id.clone(), child, begins: None, seed: state.seed.clone() }
    }

    /// The question without which the child of a call cannot begin.
    pub(super) fn of_child(asked: Unanswered, caller: Option<SessionId>, call: &PendingCall, seed: Option<KeySeed>) -> Self {
        let id = format!("{}@{}", id(&asked.name, None), call.id).into();
        let node = if let CallKind::Graph(node) = &call.kind { node.clone() } else { call.node.clone() };
        Self { id, asked, node, child: caller, begins: Some(call.id.clone()), seed }
    }

    /// The key under which a tool is asked: no two starts share one (language 7.8).
    fn key(&self) -> IdempotencyKey {
        self.seed.as_ref().map_or_else(|| IdempotencyKey::new(&*self.id), |seed| question_key(seed, &self.id))
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    pub(super) fn node(&self) -> &NodeId {
        &self.node
    }

    /// The context that it is asked about.
    pub(super) fn asks_about(&self) -> Context {
        self.asked.context.clone()
    }
}

impl Sessions {
    /// Asks the bound tool, or else the client.
    pub(super) async fn predicate(&self, slot: &Slot, question: PredicateQuestion, caller: Caller) -> PredicateAnswer {
        let (engine, bindings) = self.situation(slot);
        if let Some(call) = bound(engine.inspect(), &question)
            && bindings.carries_out(engine.inspect(), &call)
        {
            match self.asked(slot, &engine, &bindings, call, &question, &caller).await {
                Ok(holds) => return PredicateAnswer::Holds(holds),
                Err(why) => self.tell_in(slot, question.child.as_ref(), SessionEvent::Trouble("predicate", why.into())),
            }
        }
        PredicateAnswer::AskClient(Box::new(Stop::predicate(question.id, question.asked)))
    }

    fn situation(&self, slot: &Slot) -> (Engine, Arc<Bindings>) {
        match slot.place.locked().running() {
            Some(running) => (running.session.engine().clone(), Arc::clone(&running.bindings)),
            None => {
                let current = self.current();
                (current.engine, current.bindings)
            }
        }
    }

    /// Returns the answer of the tool.
    async fn asked(
        &self,
        slot: &Slot,
        engine: &Engine,
        bindings: &Bindings,
        call: PendingCall,
        question: &PredicateQuestion,
        caller: &Caller,
    ) -> Result<bool, String> {
        let name = &question.asked.name;
        let context = Context::new(call.args.clone());
        let caller = caller.clone().within(context.clone());
        let call = Arc::new(call);
        let verdict = tokio::select! {
            biased;
            verdict = self.decided(slot, &call, &context) => verdict,
            () = caller.cancel().cancelled() => return Err(format!("the predicate `{name}` was not answered")),
        };
        let result = match verdict {
            Verdict::Answer { outcome, meta } => ToolResult::new(call.id.clone(), outcome).with_meta(meta),
            Verdict::Deny(why) => ToolResult::new(call.id.clone(), ToolOutcome::Denied(why)),
            Verdict::Elsewhere(why) => return Err(why),
            Verdict::Hold { .. } if !self.policy.approve_all => {
                return Err(format!("the predicate `{name}` was not answered: an interceptor holds its tool `{}`", call.name));
            }
            Verdict::Allow | Verdict::Hold { .. } => bindings.call(engine.inspect(), &call, &caller).await,
        };
        self.tell_in(slot, question.child.as_ref(), SessionEvent::Given(Arc::clone(&call), result.clone()));
        match result.outcome {
            ToolOutcome::Success(value) => {
                value.as_bool().ok_or_else(|| format!("the predicate `{name}` is answered with true or false, not {}", value.kind()))
            }
            ToolOutcome::Error(error) => Err(format!("the predicate `{name}` was not answered: {}", error.message)),
            ToolOutcome::Denied(_) => Err(format!("the predicate `{name}` was not answered")),
        }
    }

    /// Hands an answer to the session that asked.
    pub(super) fn answer(&self, slot: &Slot, question: &PredicateQuestion, holds: bool) -> Result<(), SendError> {
        let name = &question.asked.name;
        match &mut *slot.place.locked() {
            SlotState::Running(running) => match &question.begins {
                Some(call) => {
                    running.session.answer_child(call, name, holds);
                    Ok(())
                }
                None => Ok(running.session.answer_in(question.child.as_ref(), name, holds)?),
            },
            SlotState::Beginning(beginning) => {
                beginning.answers.insert(Arc::clone(name), holds);
                Ok(())
            }
            SlotState::Away | SlotState::Gone => Err(SendError::Unknown(slot.id.clone())),
        }
    }
}

/// The call that answers a predicate with a bound tool; its arguments are the keys that it needs.
fn bound(program: &Program, question: &PredicateQuestion) -> Option<PendingCall> {
    let predicate = program.predicates().iter().find(|predicate| predicate.name == question.asked.name)?;
    let (tool, args) = predicate.call(&question.asked.context)?;
    let graph = program.find(&question.node).map_or(program.root(), |node| program.graph_of(program.node(node)));
    let timeout = graph.bindings.get(tool).and_then(|binding| binding.tool.timeout.as_ref());
    Some(PendingCall {
        id: CallId::new(&*question.id),
        name: Arc::clone(tool),
        role: CallRole::Do,
        node: question.node.clone(),
        args,
        secrets: Vec::new(),
        idempotency_key: question.key(),
        attempt: 1,
        delay: 0,
        timeout: timeout.map(|timeout| millis(timeout.value)),
        approve: None,
        retry: None,
        metadata: None,
        kind: CallKind::Tool,
        part: None,
        prepared: PartCalls::default(),
        offered: Vec::new(),
    })
}

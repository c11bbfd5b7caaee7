//! Finding out whether a predicate holds: a bound tool answers, or the client (language 6.2).

use std::sync::Arc;

use trellis_core::{
    Context, Engine, NodeId, Program, Start, ToolOutcome, ToolResult,
    engine::Unanswered,
    id::{CallId, IdempotencyKey},
    state::{CallKind, CallRole, PartCalls, PendingCall},
};

use super::{
    SendError, SessionEvent, Sessions, Stop,
    drive::millis,
    slot::{PanicSafeLock, Slot, SlotState},
};
use crate::{
    binding::{Bindings, Caller},
    interceptor::Verdict,
    session::Session,
};

/// What is asked, and about what.
pub(super) struct PredicateQuestion {
    asked: Unanswered,
    id: Arc<str>,
    node: NodeId,
}

/// The predicate and the step that asks for it: asked again in another step, it is another question. The start is no step.
pub(super) fn id(name: &str, step: Option<u64>) -> Arc<str> {
    format!("{name}@{}", step.map_or(0, |step| step + 1)).into()
}

impl PredicateQuestion {
    pub(super) fn at_start(asked: Unanswered, program: &Program, start: &Start) -> Self {
        let node = start.at.clone().unwrap_or_else(|| program.entry().id.clone());
        Self { id: id(&asked.name, None), asked, node }
    }

    pub(super) fn in_step(asked: Unanswered, session: &Session) -> Self {
        let state = session.state();
        Self { id: id(&asked.name, Some(state.step)), asked, node: state.current_node_id.clone() }
    }
}

impl Sessions {
    /// Asks the bound tool, or else the client.
    pub(super) async fn predicate(&self, slot: &Slot, question: PredicateQuestion) -> Result<Option<Stop>, SendError> {
        let (engine, bindings) = self.situation(slot);
        if let Some(call) = bound(engine.inspect(), &question)
            && bindings.carries_out(engine.inspect(), &call)
        {
            match self.asked(slot, &engine, &bindings, call, &question.asked.name).await {
                None => return Ok(None),
                Some(Ok(holds)) => {
                    self.answer(slot, &question.asked.name, holds)?;
                    return Ok(None);
                }
                Some(Err(why)) => self.tell(slot, &SessionEvent::Trouble("predicate", why.into())),
            }
        }
        Ok(Some(Stop::predicate(question.id, question.asked)))
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

    /// What the tool says; nothing where the session was disturbed.
    async fn asked(
        &self,
        slot: &Slot,
        engine: &Engine,
        bindings: &Bindings,
        call: PendingCall,
        name: &str,
    ) -> Option<Result<bool, String>> {
        let context = Context::new(call.args.clone());
        let caller = Caller::new(slot.id.clone(), self.graph(), |_| {}).within(context.clone());
        let call = Arc::new(call);
        let result = match self.verdict(slot, &call, &context).await? {
            Verdict::Answer { outcome, meta } => ToolResult::new(call.id.clone(), outcome).with_meta(meta),
            Verdict::Deny(why) => ToolResult::new(call.id.clone(), ToolOutcome::Denied(why)),
            Verdict::Elsewhere(why) => return Some(Err(why)),
            Verdict::Allow | Verdict::Hold => tokio::select! {
                biased;
                result = bindings.call(engine.inspect(), &call, &caller) => result,
                () = slot.disturbed_from_here() => return None,
            },
        };
        self.tell(slot, &SessionEvent::Given(Arc::clone(&call), result.clone()));
        Some(match result.outcome {
            ToolOutcome::Success(value) => {
                value.as_bool().ok_or_else(|| format!("the predicate `{name}` is answered with true or false, not {}", value.kind()))
            }
            ToolOutcome::Error(error) => Err(format!("the predicate `{name}` was not answered: {}", error.message)),
            ToolOutcome::Denied(_) => Err(format!("the predicate `{name}` was not answered")),
        })
    }

    fn answer(&self, slot: &Slot, name: &Arc<str>, holds: bool) -> Result<(), SendError> {
        match &mut *slot.place.locked() {
            SlotState::Running(running) => Ok(running.session.answer(name, holds)?),
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
        idempotency_key: IdempotencyKey::new(&*question.id),
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

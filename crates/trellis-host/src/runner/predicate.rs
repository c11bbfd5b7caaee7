//! Finding out whether a predicate holds: a bound tool answers, or the other end (language 6.2).

use std::{ops::ControlFlow, sync::Arc, time::Duration};

use trellis_core::{
    Engine, Mapping, NodeId, Program, Start, ToolOutcome,
    id::{CallId, IdempotencyKey},
    program::PredicateSource,
    state::{CallKind, CallRole, PendingCall},
};

use super::{
    Awaited, Command, Console, Flow, Note, Reason, RunError, Runner,
    wait::{Carried, Reply},
};
use crate::session::Session;

/// What is asked, of whom and about what.
struct Question<'a> {
    name: &'a Arc<str>,
    /// The predicate and the step that asks for it: asked again in another step, it is another question.
    id: String,
    node: NodeId,
    context: Mapping,
}

/// What became of asking.
enum Answered {
    Truth(bool),
    Moved,
    Over(Reason),
}

impl<C: Console> Runner<C> {
    /// Answers a predicate that a session's step needs.
    pub(super) async fn predicate(&mut self, session: &mut Session, name: &Arc<str>) -> Result<Flow, RunError> {
        let state = session.state();
        let id = format!("{name}@{}", state.step + 1);
        let question = Question { name, id, node: state.current_node_id.clone(), context: state.context.to_mapping() };
        let engine = session.engine().clone();
        match self.find_out(&engine, Some(session), question).await? {
            Answered::Truth(truth) => {
                if let Err(refusal) = session.answer(name, truth) {
                    self.refuse(&refusal).await?;
                }
                Ok(Flow::Continue(()))
            }
            Answered::Moved => Ok(Flow::Continue(())),
            Answered::Over(reason) => Ok(Flow::Break(reason)),
        }
    }

    /// Answers a predicate that the start needs.
    pub(super) async fn find_out_first(
        &mut self,
        engine: &Engine,
        start: &Start,
        name: &Arc<str>,
    ) -> Result<ControlFlow<Reason, bool>, RunError> {
        let node = start.at.clone().unwrap_or_else(|| engine.inspect().entry().id.clone());
        let question = Question { name, id: format!("{name}@0"), node, context: start.context.clone() };
        Ok(match self.find_out(engine, None, question).await? {
            Answered::Truth(truth) => ControlFlow::Continue(truth),
            Answered::Over(reason) => ControlFlow::Break(reason),
            // Without a session nothing can move.
            Answered::Moved => ControlFlow::Break(Reason::Failed),
        })
    }

    async fn find_out(&mut self, engine: &Engine, mut session: Option<&mut Session>, question: Question<'_>) -> Result<Answered, RunError> {
        if let Some(call) = bound(engine.inspect(), &question)
            && self.bindings.carries_out(engine.inspect(), &call)
        {
            let message = match self.carry_out(engine, session.as_deref_mut(), &call).await? {
                Carried::Out(ToolOutcome::Success(value)) => match value.as_bool() {
                    Some(truth) => return Ok(Answered::Truth(truth)),
                    None => format!("the predicate `{}` is answered with true or false, not {}", question.name, value.kind()),
                },
                Carried::Out(ToolOutcome::Error(error)) => format!("the predicate `{}` was not answered: {}", question.name, error.message),
                Carried::Out(ToolOutcome::Denied(_)) => format!("the predicate `{}` was not answered", question.name),
                Carried::Moved(_) => return Ok(Answered::Moved),
                Carried::Over(reason, _) => return Ok(Answered::Over(reason)),
            };
            self.console.note(Note::Error { code: "predicate", message: &message }).await?;
        }
        let awaited = Awaited::Predicate { id: &question.id, name: question.name };
        loop {
            match self.reply(session.as_deref_mut(), awaited, None, false).await? {
                Reply::Given(Command::Predicate { value, .. }) => return Ok(Answered::Truth(value)),
                Reply::Given(_) | Reply::TimeUp => {}
                Reply::Moved => return Ok(Answered::Moved),
                Reply::Over(reason) => return Ok(Answered::Over(reason)),
            }
        }
    }
}

/// The call that answers a predicate with a bound tool; its arguments are the context.
fn bound(program: &Program, question: &Question<'_>) -> Option<PendingCall> {
    let predicate = program.predicates().iter().find(|predicate| predicate.name == *question.name)?;
    let PredicateSource::Binding(tool) = &predicate.source else { return None };
    let graph = program.find(&question.node).map_or(program.root(), |node| program.graph_of(program.node(node)));
    let timeout = graph.bindings.get(tool).and_then(|binding| binding.tool.timeout.as_ref());
    Some(PendingCall {
        id: CallId::new(&*question.id),
        name: Arc::clone(tool),
        role: CallRole::Do,
        node: question.node.clone(),
        args: question.context.clone(),
        secrets: Vec::new(),
        idempotency_key: IdempotencyKey::new(&*question.id),
        attempt: 1,
        delay: 0,
        timeout: timeout.map(|timeout| millis(timeout.value)),
        approve: None,
        retry: None,
        metadata: None,
        kind: CallKind::Tool,
    })
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

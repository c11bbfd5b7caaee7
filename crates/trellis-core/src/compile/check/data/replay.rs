//! A way that was found is walked by the engine itself.

use std::sync::Arc;

use super::{
    presence::Candidate,
    symbols::Vars,
    witness::{Beginning, Brought, Move},
};
use crate::{
    engine::{Answers, Engine, Input, Predicates, Start, StartError, ToolError, ToolErrorKind, ToolOutcome, ToolResult},
    id::SessionId,
    program::Program,
    state::{EndReason, State, Status},
    value::{Mapping, Value},
};

/// Attempts, and undone effects, of one step.
const REPEATS: usize = 1_000;

/// Whether the engine walks these moves into the candidate's accident.
pub(super) fn walks(program: &Arc<Program>, candidate: &Candidate, beginning: &Beginning, moves: &[Move], vars: &Vars) -> bool {
    let deferred = program.predicates().iter().fold(Predicates::new(), |known, predicate| known.deferred(&predicate.name));
    let Ok(engine) = Engine::new(Arc::clone(program), deferred) else { return false };
    let context = beginning.context.iter().map(|(key, sym)| Some((key.clone(), vars.choose(sym)?)));
    let Some(context) = context.collect::<Option<Mapping>>() else { return false };
    let at = (!beginning.is_entry).then(|| program.node(program.point(beginning.point).node).id.clone());
    let start = Start { session: Some(SessionId::from("witness")), context, locale: None, at };
    let mut state = match answering(&engine, None).start(start) {
        Ok(step) => step.state,
        // A child that lacks an argument is refused before it begins.
        Err(StartError::Inputs { problems }) => {
            let missing = format!("`{}` is missing", candidate.site.path);
            return moves.is_empty() && problems.contains(&missing);
        }
        Err(_) => return false,
    };
    for step in moves {
        // A terminal that only says something ends in the step that enters it.
        if state.status == Status::Terminated {
            break;
        }
        match take(&engine, state, step, vars) {
            Some(next) => state = next,
            None => return false,
        }
    }
    is_accident(program, candidate, &state)
}

/// The engine with these answers; a predicate that a way does not speak of does not hold.
fn answering(engine: &Engine, step: Option<&Move>) -> Engine {
    let program = engine.inspect();
    let answer = |index: usize| {
        let index = u32::try_from(index).unwrap_or(u32::MAX);
        step.and_then(|step| step.answers.get(&index)).copied().unwrap_or(false)
    };
    let answers: Answers = program.predicates().iter().enumerate().map(|(at, predicate)| (predicate.name.clone(), answer(at))).collect();
    engine.answering(answers)
}

fn take(engine: &Engine, mut state: State, step: &Move, vars: &Vars) -> Option<State> {
    let engine = answering(engine, Some(step));
    let node = state.current_node_id.clone();
    for _ in 0..REPEATS {
        state = engine.navigate(&state, input(&state, step, vars)?).ok()?.state;
        // Attempts repeat until the policy is spent; what was done is undone.
        let again = state.current_node_id == node && state.attempt > 1 && state.status != Status::Terminated;
        if !again {
            break;
        }
    }
    for _ in 0..REPEATS {
        if state.status != Status::RollingBack {
            break;
        }
        let call = state.pending_tool_call.clone()?;
        let result = ToolResult { id: call.id.clone(), outcome: ToolOutcome::Success(Value::Null) };
        state = engine.navigate(&state, Input::Result(result)).ok()?.state;
    }
    Some(state)
}

fn input(state: &State, step: &Move, vars: &Vars) -> Option<Input> {
    let result = |outcome| {
        let call = state.pending_tool_call.as_ref()?;
        Some(Input::Result(ToolResult { id: call.id.clone(), outcome }))
    };
    match &step.given {
        Brought::Pass => Some(Input::Pass),
        Brought::Answer(sym) => Some(Input::Value(vars.choose(sym)?)),
        Brought::Invalid => Some(Input::Text("?".into())),
        Brought::Success(sym) => result(ToolOutcome::Success(vars.choose(sym)?)),
        Brought::Error => result(ToolOutcome::Error(ToolError::new("it failed"))),
        Brought::Timeout => result(ToolOutcome::Error(ToolError { kind: ToolErrorKind::Timeout, ..ToolError::new("it took too long") })),
        Brought::Denied => result(ToolOutcome::Denied(None)),
        Brought::Signal(name) => Some(Input::Signal(name.clone())),
    }
}

/// Whether a session failed at the candidate's node for want of its path.
fn is_accident(program: &Program, candidate: &Candidate, state: &State) -> bool {
    let node = program.node(program.point(candidate.point).node);
    let Some(ended) = &state.ended else { return false };
    let names = ended.message.as_ref().is_some_and(|message| message.contains(&format!("`{}`", candidate.site.path)));
    let spoken = candidate.site.deep || names || ended.code.as_deref() == Some("template");
    ended.reason == EndReason::Failed
        && matches!(ended.code.as_deref(), Some("template" | "condition" | "missing-context"))
        && ended.node == node.id
        && spoken
}

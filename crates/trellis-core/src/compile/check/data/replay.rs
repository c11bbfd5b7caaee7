//! A way that was found is walked by the engine itself.

use std::sync::Arc;

use super::{
    accident::Accident,
    script::Op,
    shapes,
    symbols::{Sym, Vars},
    witness::{Beginning, Brought, Move, Search},
};
use crate::{
    engine::{Answers, Engine, Input, Predicates, Start, StartError, ToolError, ToolErrorKind, ToolOutcome, ToolResult},
    id::SessionId,
    program::{Callee, Failure},
    schema::Schema,
    state::{CallKind, EndReason, PendingCall, State, Status},
    value::{Mapping, Value},
};

/// Attempts, and undone effects, of one step.
const REPEATS: usize = 1_000;

/// Walks these moves with the engine. Where they end in the candidate's accident, gives what the engine says of it.
pub(super) fn walks(search: &Search<'_, '_>, beginning: &Beginning, moves: &[Move], vars: &Vars) -> Option<Option<String>> {
    let program = search.program;
    let deferred = program.predicates().iter().fold(Predicates::new(), |known, predicate| known.deferred(&predicate.name));
    let mut engine = Engine::new(Arc::clone(program), deferred).ok()?;
    engine.is_trial = true;
    let given = beginning.context.iter().filter(|(_, sym)| vars.presence(sym) != Some(false));
    let context = given.map(|(key, sym)| Some((key.clone(), vars.choose(sym)?)));
    let context = context.collect::<Option<Mapping>>()?;
    let at = (!beginning.is_entry).then(|| program.node(program.point(beginning.point).node).id.clone());
    let start = Start { session: Some(SessionId::from("witness")), context, locale: locale(search), at };
    let mut state = match answering(&engine, None).start(start) {
        Ok(step) => step.state,
        // A child that lacks an argument is refused before it begins.
        Err(StartError::Inputs { problems }) => {
            let missing = search.wanted().map(|path| format!("`{path}` is missing"));
            return (moves.is_empty() && problems.contains(&missing?)).then_some(None);
        }
        Err(_) => return None,
    };
    for step in moves {
        // A terminal that only says something ends in the step that enters it.
        if state.status == Status::Terminated {
            break;
        }
        state = take(&engine, state, step, vars)?;
    }
    is_accident(search, &state).then(|| state.ended.as_ref().and_then(|ended| ended.message.as_deref().map(str::to_owned)))
}

/// The locale in which a template is met that the accident is about.
fn locale(search: &Search<'_, '_>) -> Option<Arc<str>> {
    match search.candidate.accident {
        Accident::Missing(site) | Accident::Operand(site) => search.script.sites[site as usize].locale().map(Arc::from),
        _ => None,
    }
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
        Brought::Error(sym) => result(ToolOutcome::Error(failure(vars, sym)?)),
        Brought::Denied(sym) => result(ToolOutcome::Denied(Some(failure(vars, sym)?.message))),
        Brought::Signal(name) => Some(Input::Signal(name.clone())),
    }
}

/// The failure that leaves this as `sys.error`.
fn failure(vars: &Vars, sym: &Sym) -> Option<ToolError> {
    let Value::Map(said) = vars.choose(sym)? else { return None };
    let kind = match said.get("kind").and_then(Value::as_str)? {
        "timeout" => ToolErrorKind::Timeout,
        "schema" => ToolErrorKind::Schema,
        _ => ToolErrorKind::Error,
    };
    let message = said.get("message").and_then(Value::as_str)?.to_owned();
    Some(ToolError { kind, code: said.get("code").cloned(), message, data: said.get("data").cloned() })
}

/// Whether a session came to grief at the candidate's node, as the candidate says.
fn is_accident(search: &Search<'_, '_>, state: &State) -> bool {
    let program = search.program;
    let node = program.node(program.point(search.candidate.point).node);
    let ops = &search.script.ops;
    if let Accident::Args(op) = search.candidate.accident {
        let Op::Args { call } = &ops[op as usize] else { return false };
        let Some(schema) = shapes::taken(program, call).and_then(|schema| Schema::new(&schema.into()).ok()) else { return false };
        let undone = state.effects.undoable().next_back().and_then(|effect| effect.undo.as_deref());
        let mut calls: Vec<&PendingCall> = state.pending_tool_call.as_deref().into_iter().chain(undone).collect();
        while let Some(pending) = calls.pop() {
            let is_it = match (&call.callee, &pending.kind) {
                (Callee::Tool(tool), _) => *pending.name == *tool.name,
                (Callee::Graph(child), CallKind::Graph(id)) => program.node(*child).id == *id,
                _ => false,
            };
            if is_it && !schema.fits(&Value::Map(pending.args.clone())) {
                return true;
            }
            if let CallKind::Parallel { branches, .. } = &pending.kind {
                calls.extend(branches.values());
            }
        }
        return false;
    }
    let Some(ended) = &state.ended else { return false };
    let codes: &[Failure] = match search.candidate.accident {
        Accident::Missing(_) => &[Failure::Template, Failure::Condition, Failure::MissingContext],
        Accident::Truth(_) => &[Failure::Condition],
        Accident::Operand(_) => &[Failure::Template],
        Accident::Unfit(_) => &[Failure::ContextSchema],
        Accident::Fails(_) => &[Failure::Assert],
        Accident::Write(_) => &[Failure::Write],
        Accident::NoMatch(_) => &[Failure::NoMatch],
        Accident::Args(_) => &[],
    };
    let spoken = match search.candidate.accident {
        Accident::Missing(at) => {
            let site = &search.script.sites[at as usize];
            let names = ended.message.as_ref().is_some_and(|message| message.contains(&format!("`{}`", site.path)));
            site.is_deep() || names || ended.code.as_deref() == Some(Failure::Template.as_str())
        }
        _ => true,
    };
    let code = ended.code.as_deref();
    ended.reason == EndReason::Failed && codes.iter().any(|known| code == Some(known.as_str())) && ended.node == node.id && spoken
}

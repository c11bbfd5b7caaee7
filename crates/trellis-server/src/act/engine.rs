//! The engine alone, for clients that store the state themselves: no tool, no store, no clock.

use std::sync::Arc;

use serde_json::{Value as Json, json};
use trellis_core::{
    Engine, Input, SignalName, Start, State,
    engine::{Action, Adopted, Answers, Blocker, Next, Step, View},
};
use trellis_host::{SendError, journal::draw_seed, wire};

use crate::{
    served::ServedGraph,
    trouble::{Code, Trouble},
};

/// A state, and the input to it.
#[derive(Clone, Debug)]
pub(crate) struct EngineInput {
    pub(crate) state: State,
    pub(crate) input: Input,
    pub(crate) answers: Answers,
}

/// Starts a session that is not stored, with keys of its own for its calls.
///
/// # Errors
/// The start is refused.
pub(crate) fn engine_start(graph: &ServedGraph, start: Start, answers: Answers) -> Result<Json, Trouble> {
    let engine = graph.engine()?;
    let engine = if answers.is_empty() { engine } else { engine.answering(answers) };
    step(engine.start(Start { seed: Some(draw_seed().map_err(SendError::from)?), ..start })?)
}

/// Renders a state: its text and its next action.
///
/// # Errors
/// The state does not fit the graph, or its node cannot be rendered.
pub(crate) fn engine_render(graph: &ServedGraph, state: State) -> Result<Json, Trouble> {
    let engine = graph.engine()?;
    let state = adopted(&engine, state)?;
    let view = engine.render(&state).map_err(|error| Trouble::new(Code::Render, error.to_string()))?;
    Ok(shown(&view))
}

/// Takes one step.
///
/// # Errors
/// The state does not fit the graph, or the input is refused.
pub(crate) fn engine_navigate(graph: &ServedGraph, input: EngineInput) -> Result<Json, Trouble> {
    let engine = graph.engine()?;
    let state = adopted(&engine, input.state)?;
    let engine = if input.answers.is_empty() { engine } else { engine.answering(input.answers) };
    match engine.navigate(&state, input.input) {
        Ok(taken) => step(taken),
        Err(refusal) => Err(unanswered(refusal)),
    }
}

/// Raises a signal.
///
/// # Errors
/// The state does not fit the graph, or nothing handles the signal.
pub(crate) fn engine_signal(graph: &ServedGraph, state: State, signal: &SignalName) -> Result<Json, Trouble> {
    let engine = graph.engine()?;
    let state = adopted(&engine, state)?;
    step(engine.signal(&state, signal).map_err(unanswered)?)
}

/// A refusal; of a step that needs the answer to a predicate, which one.
fn unanswered(refusal: trellis_core::NavigateError) -> Trouble {
    let asks = match &refusal {
        trellis_core::NavigateError::Unanswered(asks) => Some(Arc::clone(&asks.name)),
        _ => None,
    };
    match asks {
        Some(name) => Trouble::from(refusal).with("predicate", &*name),
        None => refusal.into(),
    }
}

fn step(Step { state, events, .. }: Step) -> Result<Json, Trouble> {
    let state =
        serde_json::to_value(state).map_err(|error| Trouble::new(Code::Internal, Code::Internal.title()).logged(error.to_string()))?;
    Ok(json!({ "state": state, "events": events }))
}

/// The state as this program has it: it is believed only as far as the program can hold it.
fn adopted(engine: &Engine, state: State) -> Result<State, Trouble> {
    match engine.adopt(state) {
        Adopted::Kept(state) | Adopted::Moved { state, .. } => Ok(state),
        Adopted::Blocked { blockers, .. } => Err(match blockers.into_iter().next() {
            Some(Blocker::MissingKeys(keys)) => {
                Trouble::new(Code::Unadopted, "the graph needs keys that the state does not have").with("keys", keys)
            }
            Some(Blocker::CallChanged { now, .. }) => Trouble::new(Code::Unadopted, format!("the graph would call `{now}`")),
            Some(Blocker::NotEntered { node, message }) => Trouble::new(Code::Unadopted, format!("`{node}` cannot be entered: {message}")),
            Some(Blocker::Version(version)) => Trouble::new(Code::Unadopted, format!("the state is of version {version}")),
            None => Trouble::new(Code::Unadopted, "the state does not fit the graph"),
        }),
    }
}

/// A view, with a composite call as its open parts: they are what its client answers (`docs/serve.md#routes`).
fn shown(view: &View) -> Json {
    let whole = if let Next::Parts { whole, .. } = &view.next { Some(&whole.id) } else { None };
    let is_open = |action: &Action<'_>| !matches!(action, Action::CallTool(call) if Some(&call.id) == whole);
    let line = |action: Action<'_>| match action {
        Action::RenderContent(text) => json!(wire::SessionEvent::RenderContent(text.into())),
        Action::RequestInput(request) => json!(wire::Stop::RequestInput(wire::InputQuestion::new(request, 0))),
        Action::CallTool(call) => json!(wire::Stop::CallTool(wire::Call::from(call))),
        Action::End(ended) => json!(wire::Stop::End(wire::End::from(&Arc::new(ended.clone())))),
    };
    json!({ "content": view.content, "actions": view.actions().filter(is_open).map(line).collect::<Vec<_>>(), "terminal": view.terminal() })
}

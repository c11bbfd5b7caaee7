//! `navigate`: which reply an input is, or why it is none (language 7.3–7.6).

use super::{
    Engine, Event, Expected, Input, NavigateError, Step, ToolError, ToolErrorKind, ToolResult,
    fail::Stop,
    input::{self, ReceivedInput, Taken},
    parts::part_call,
    render,
    result::error_value,
    step::{Move, find, limits, point, scope},
};
use crate::{
    program::{Choice, Listen, Node, Outcome, PointIndex, Reply, Role},
    state::{EndReason, State, Status},
};
use trellis_base::{
    id::{CallId, SignalName},
    language::InputType,
    scope::Scope,
    value::Value,
};

/// Returns the input as `on_invalid` may show it; `None` for a secret, and where no text reads it.
fn shown_input(listen: &Listen, given: &ReceivedInput) -> Option<Value> {
    let invalid = listen.on_invalid.as_ref().filter(|_| listen.kind != Some(InputType::Secret))?;
    let mut texts = invalid.text.iter().chain(invalid.messages.iter().map(|(_, text)| text));
    texts.any(|text| !text.is_literal()).then(|| given.shown())
}

impl Engine {
    pub(super) fn step(&self, state: &State, input: Input) -> Result<Step, NavigateError> {
        match input {
            Input::Result(result) => self.take_result(state, result),
            _ if state.status == Status::Terminated => Err(self.ended(state)),
            Input::Signal(signal) => self.take_signal(state, &signal),
            Input::Pass => self.take_input(state, ReceivedInput::Nothing),
            Input::Text(text) => self.take_input(state, ReceivedInput::Text(text)),
            Input::Value(value) => self.take_input(state, ReceivedInput::Value(value)),
        }
    }

    fn take_input(&self, state: &State, given: ReceivedInput) -> Result<Step, NavigateError> {
        given.check_size(self.max_input)?;
        let node = self.node(state)?;
        match (state.status, &node.role) {
            (Status::Active, Role::Pass) if matches!(given, ReceivedInput::Nothing) => self.advance(state, node.body, &Outcome::Pass, None),
            (Status::WaitingForTool | Status::RollingBack, _)
                if matches!(given, ReceivedInput::Nothing) && self.has_nothing_open(state) =>
            {
                self.settle_parts(state)
            }
            (Status::WaitingForInput, Role::Listen(listen)) => self.listen(state, node, listen, given),
            (Status::WaitingForInput, _) | (Status::Active, Role::Listen(_) | Role::Act(_)) => {
                Err(NavigateError::Unadopted(node.id.clone()))
            }
            _ => Err(NavigateError::WrongKind { node: node.id.clone(), got: given.kind(), expected: self.expected(state) }),
        }
    }

    fn listen(&self, state: &State, node: &Node, listen: &Listen, given: ReceivedInput) -> Result<Step, NavigateError> {
        let called = |choice: &Choice| render::called(&self.program, state, node, choice);
        given.check_depth(listen, self.program.limits())?;
        let refused = shown_input(listen, &given);
        let gone = self.stands_in.and_then(|_| given.as_value()).filter(|value| self.is_gone(value));
        let read = match (input::read(listen, &called, given), gone) {
            (Taken::Invalid(_), Some(gone)) => Taken::Answer(gone),
            (read, _) => read,
        };
        let problem = match read {
            Taken::Answer(value) if let Err(excess) = self.program.limits().admit(&value) => return Err(NavigateError::Excess(excess)),
            Taken::Answer(value) => return self.advance(state, node.body, &listen.outcome(&value), Some(value)),
            Taken::Slept => return self.advance(state, node.body, &Outcome::Answer, None),
            Taken::Invalid(problem) => problem,
        };
        let message = self.invalid_text(state, node, listen, refused).unwrap_or(problem);
        if !listen.on_invalid.as_ref().is_some_and(|invalid| invalid.counts) {
            return Err(NavigateError::Invalid { node: node.id.clone(), message, expected: self.expected(state) });
        }
        let mut step = self.begin(state);
        step.events.push(Event::Invalid(message.into()));
        let done = step.reply(node.body, &Outcome::Invalid).and_then(|reply| step.take(node.body, reply));
        step.close(done).map_err(NavigateError::Unanswered)
    }

    /// Renders `on_invalid` in the session's locale; the plain sentence replaces a text that cannot be rendered.
    fn invalid_text(&self, state: &State, node: &Node, listen: &Listen, refused: Option<Value>) -> Option<String> {
        let invalid = listen.on_invalid.as_ref()?;
        let local = render::in_locale(&self.program, state, node, &invalid.messages);
        let text = local.into_iter().flatten().next().or(invalid.text.as_ref())?;
        let scope = Scope { input: refused, ..scope(&self.program, state) };
        text.render(&scope, limits(&self.program)).ok().map(|text| text.to_string())
    }

    fn advance(&self, state: &State, point: PointIndex, outcome: &Outcome, input: Option<Value>) -> Result<Step, NavigateError> {
        let mut step = self.begin(state);
        step.input = input;
        let done = step.reply(point, outcome).and_then(|reply| step.take(point, reply));
        step.close(done).map_err(NavigateError::Unanswered)
    }

    fn take_signal(&self, state: &State, signal: &SignalName) -> Result<Step, NavigateError> {
        let waits = matches!(state.status, Status::WaitingForInput | Status::WaitingForTool);
        if !waits {
            let node = state.current_node_id.clone();
            return Err(NavigateError::WrongKind { node, got: "a signal", expected: self.expected(state) });
        }
        let node = self.node(state)?;
        let point = point(state, node);
        let timeout = signal.as_str() == SignalName::TIMEOUT;
        if timeout && state.status == Status::WaitingForTool {
            return self.time_out(state, point);
        }
        let exact = self.program.reply(point, &Outcome::Signal(signal.clone()));
        let reply = exact.or_else(|| self.program.reply(point, &Outcome::AnySignal));
        let Some(reply) = reply.filter(|reply| timeout || self.applies(state, reply)) else {
            let (node, signal) = (node.id.clone(), signal.clone());
            return Err(NavigateError::UnhandledSignal { node, signal, expected: self.expected(state) });
        };
        let mut step = self.begin(state);
        step.events.push(Event::Signalled(signal.clone()));
        step.abandon();
        let done = step.take(point, reply);
        step.close(done).map_err(NavigateError::Unanswered)
    }

    /// Returns whether a reply is more than a default of the graph that does not apply to this session (language 5.4).
    fn applies(&self, state: &State, reply: &Reply) -> bool {
        !state.is_inner || self.program.edges_of(reply).iter().any(|edge| !edge.why.is_graph_wide())
    }

    /// The host's clock ran out for the pending call.
    fn time_out(&self, state: &State, point: PointIndex) -> Result<Step, NavigateError> {
        let mut step = self.begin(state);
        let mut done = Ok(());
        if let Some(pending) = state.pending_tool_call.clone() {
            step.events.push(Event::Returned { id: pending.id.clone(), outcome: "timeout".into() });
            let error = ToolError { kind: ToolErrorKind::Timeout, ..ToolError::new("the call took too long") };
            step.error = Some(error_value(&pending, error));
            done = step.unsettle(point, &Outcome::Timeout);
        }
        step.close(done).map_err(NavigateError::Unanswered)
    }

    fn take_result(&self, state: &State, result: ToolResult) -> Result<Step, NavigateError> {
        if let Some(pending) = state.pending_tool_call.as_ref().filter(|pending| pending.id == result.id) {
            let mut step = self.begin(state);
            let done: Result<(), Stop> = if pending.kind.parts() == Some(state.parts.len()) {
                step.state.settled = Some(pending.id.clone());
                step.settle_by_client(pending, result.outcome)
            } else if state.status == Status::RollingBack {
                step.undone(pending, result.outcome)
            } else {
                let point = point(state, self.node(state)?);
                step.result(point, pending, result.outcome)
            };
            return step.close(done).map_err(NavigateError::Unanswered);
        }
        if let Some((whole, (at, part))) = state.pending_tool_call.as_ref().zip(self.open_part(state, &result.id)) {
            let mut step = self.begin(state);
            let done = step.part_result(whole, at, &part, result.outcome);
            return step.close(done).map_err(NavigateError::Unanswered);
        }
        let left = state.abandoned.iter().find(|abandoned| abandoned.id == result.id);
        if let Some(abandoned) = left.filter(|abandoned| !abandoned.is_settled) {
            return Ok(Move::new(self, state.clone()).late(abandoned, None, result));
        }
        if state.status == Status::Terminated && left.is_none() {
            return Err(self.ended(state));
        }
        Err(self.foreign(state, result.id))
    }

    /// The step that settles a call without parts left to run (language 10.4).
    fn settle_parts(&self, state: &State) -> Result<Step, NavigateError> {
        let mut step = self.begin(state);
        let done = state.pending_tool_call.as_ref().map_or(Ok(()), |whole| step.settle_by_parts(whole));
        step.close(done).map_err(NavigateError::Unanswered)
    }

    fn foreign(&self, state: &State, id: CallId) -> NavigateError {
        let settled = state.settled.as_ref() == Some(&id) || state.has_settled_late(&id) || self.has_settled_part(state, &id);
        let expected = self.expected(state);
        match state.pending_tool_call {
            None if !settled => NavigateError::WrongKind { node: state.current_node_id.clone(), got: "a tool result", expected },
            _ => NavigateError::ForeignCall { id, settled, expected },
        }
    }

    /// An accepted move: one step more.
    fn begin(&self, state: &State) -> Move<'_> {
        let mut step = Move::new(self, state.clone());
        step.state.step += 1;
        step
    }

    fn node(&self, state: &State) -> Result<&Node, NavigateError> {
        let found = self.program.find(&state.current_node_id);
        found.map(|index| self.program.node(index)).ok_or_else(|| NavigateError::Unadopted(state.current_node_id.clone()))
    }

    fn ended(&self, state: &State) -> NavigateError {
        let reason = state.ended.as_ref().map_or(EndReason::Failed, |ended| ended.reason);
        NavigateError::Ended { reason }
    }

    /// Returns the input that a state would accept.
    pub(super) fn expected(&self, state: &State) -> Expected {
        let pending = state.pending_tool_call.as_ref();
        match state.status {
            Status::Terminated => Expected::Nothing,
            Status::WaitingForTool | Status::RollingBack if self.has_nothing_open(state) => Expected::Pass,
            Status::WaitingForTool | Status::RollingBack => pending.map_or(Expected::Nothing, |call| {
                let part = self.open(state).next().and_then(|at| part_call(call, &state.parts, at));
                Expected::Result(part.map_or_else(|| call.id.clone(), |part| part.id.clone()))
            }),
            Status::Active => Expected::Pass,
            Status::WaitingForInput => {
                let node = find(&self.program, &state.current_node_id).map(|index| self.program.node(index));
                match node.map(|node| (node, &node.role)) {
                    Some((node, Role::Listen(listen))) => {
                        // A template that fails is reported where the node is rendered.
                        let asked = render::request(&self.program, state, node, listen).unwrap_or_else(|_| render::demand(listen));
                        Expected::Input(Box::new(asked))
                    }
                    _ => Expected::Pass,
                }
            }
        }
    }
}

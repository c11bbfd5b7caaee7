//! Runs the author lines of a case: steps every session through the engine, answers calls by doubles, runs children.

mod begin;
mod children;
mod predicates;

use std::sync::Arc;

use trellis_core::{
    Engine, Event, Input, NavigateError, Next, NodeId, Predicates, Program, SessionId, SignalName, Start, State, ToolOutcome, ToolResult,
    Value,
    engine::{Answers, Call, RequestType, Step},
    id::CallId,
    path::{KeyPath, walk},
    program::PredicateSource,
    transcript::{AuthorLine, print, read::read, unmarked},
};
use trellis_project::sheet::Expected;

use crate::{
    beside::Beside,
    compare::is_expectation,
    coverage::Counts,
    doubles::Double,
    limits::Limits,
    session::{Session, marked},
};

/// The slip of a line that nobody takes.
const NO_SESSION: &str = "there is no session that takes this line";

/// A printed line, with the node after it.
#[derive(Clone, Debug)]
pub(crate) struct Printed {
    pub(crate) text: String,
    pub(crate) node: Option<NodeId>,
}

/// A case while it is played.
pub(crate) struct Player<'c> {
    engine: Engine,
    beside: &'c dyn Beside,
    limits: &'c Limits,
    pub(crate) doubles: Vec<Double>,
    start: Start,
    stored: Option<State>,
    by_hand: bool,
    answers: Answers,
    has_begun: bool,
    sessions: Vec<Session>,
    /// The calls of the transcript, in order.
    calls: Vec<CallId>,
    /// The line of each call, for a note after it.
    call_lines: Vec<usize>,
    pub(crate) lines: Vec<Printed>,
    /// The reason why the case cannot continue.
    pub(crate) stopped: Option<String>,
    /// The call that nothing answered, if that is the reason, as doubles name it.
    pub(crate) unanswered: Option<String>,
    /// The reason why the session did not start.
    pub(crate) not_started: Option<String>,
    /// The first calculation of the graph that failed, which a handler may hide.
    pub(crate) miscalculated: Option<String>,
    /// The line of the sheet that is played.
    line: usize,
    /// Lines that mean nothing, by their numbers in the sheet.
    pub(crate) slips: Vec<(usize, String)>,
    pub(crate) counts: Counts,
    steps: u64,
    /// True if another case was replayed first, and no line of this one was played yet.
    may_come_after: bool,
}

impl<'c> Player<'c> {
    pub(crate) fn new(program: Arc<Program>, doubles: Vec<Double>, beside: &'c dyn Beside, limits: &'c Limits) -> Self {
        let asked = program.predicates().iter().filter(|predicate| !matches!(predicate.source, PredicateSource::Schema(_)));
        let predicates = asked.fold(Predicates::new(), |predicates, predicate| predicates.deferred(&predicate.name));
        let engine = Engine::new(program, predicates).unwrap_or_else(|error| unreachable!("every predicate is deferred: {error}"));
        Self {
            engine,
            beside,
            limits,
            doubles,
            start: Start { session: Some(SessionId::from("s")), ..Start::default() },
            stored: None,
            by_hand: false,
            answers: Answers::new(),
            has_begun: false,
            sessions: Vec::new(),
            calls: Vec::new(),
            call_lines: Vec::new(),
            lines: Vec::new(),
            stopped: None,
            unanswered: None,
            not_started: None,
            miscalculated: None,
            line: 0,
            slips: Vec::new(),
            counts: Counts::default(),
            steps: 0,
            may_come_after: false,
        }
    }

    /// Notes that the present line means nothing.
    fn slip(&mut self, message: impl Into<String>) {
        self.slips.push((self.line, message.into()));
    }

    /// Takes the author lines of a block.
    pub(crate) fn take_block(&mut self, block: &Expected) {
        for (at, text) in block.text.lines().enumerate().filter(|(_, text)| !is_expectation(text)) {
            self.line = block.line + 1 + at;
            self.take(text);
        }
    }

    /// Takes one author line.
    fn take(&mut self, text: &str) {
        if self.stopped.is_some() {
            return;
        }
        let (bare, number) = unmarked(text);
        let line = match read(&bare) {
            Ok(line) => line,
            Err(error) => return self.slip(error),
        };
        let begins =
            matches!(line, AuthorLine::Remark | AuthorLine::Begin(..)) || (matches!(line, AuthorLine::Predicate(..)) && !self.has_begun);
        if !begins {
            self.may_come_after = false;
            self.begin();
        }
        if self.stopped.is_some() || matches!(line, AuthorLine::Text(_) | AuthorLine::Value(_)) && self.misses_a_result(number) {
            return;
        }
        if let (Some(reason), false) = (&self.not_started, begins) {
            return self.slip(reason.clone());
        }
        self.print(None, text);
        match line {
            AuthorLine::Remark => {}
            AuthorLine::Begin(what, value) => self.set_up(&what, &value),
            AuthorLine::Predicate(name, answer) => drop(self.answers.insert(name.into(), answer)),
            AuthorLine::Text(text) => self.hand_in(number, Input::Text(text)),
            AuthorLine::Value(value) => self.hand_in(number, Input::Value(value)),
            AuthorLine::Signal(name) => self.raise(number, &SignalName::new(name)),
            AuthorLine::Pass => self.hand_in(number, Input::Pass),
            AuthorLine::Result(call, outcome) => self.result(number, call, outcome),
            AuthorLine::Show(of_state, path) => self.show(number, of_state, &path),
        }
    }

    /// Ends the transcript: a call that nothing answers ends it otherwise than it should.
    pub(crate) fn finish(&mut self) {
        self.begin();
        if self.stopped.is_none() && !self.by_hand {
            self.misses_a_result(None);
        }
    }

    /// The current node of the case.
    pub(crate) fn node(&self) -> Option<NodeId> {
        self.target(None, |_| true).map(|at| self.sessions[at].state.current_node_id.clone())
    }

    /// The session that a line is for: the one of this number, or the first that fits, children before their callers.
    fn target(&self, number: Option<usize>, fits: impl Fn(&Session) -> bool) -> Option<usize> {
        let order = self.in_order(|tree| tree.signal_order(None));
        if number.is_some() {
            return order.into_iter().find(|&at| self.sessions[at].number == number);
        }
        order.iter().copied().find(|&at| fits(&self.sessions[at])).or_else(|| order.first().copied())
    }

    /// Raises a signal in the first session that takes it, outwards from the one of this number (language 10.11).
    fn raise(&mut self, number: Option<usize>, signal: &SignalName) {
        let Some(at) = self.target(number, |_| true) else { return self.slip(NO_SESSION) };
        let named = number.map(|_| self.sessions[at].state.session_id.clone());
        let order = self.in_order(|tree| tree.signal_order(named.as_ref()));
        let takes = |&at: &usize| self.engine.navigate(&self.sessions[at].state, Input::Signal(signal.clone())).is_ok();
        // The refusal is that of the root, or of the session that is named.
        let refuses = if number.is_some() { order.first() } else { order.last() }.copied().unwrap_or(at);
        let at = order.into_iter().find(takes).unwrap_or(refuses);
        self.navigate(at, Input::Signal(signal.clone()));
        self.go_on();
    }

    fn hand_in(&mut self, number: Option<usize>, input: Input) {
        let fits = |session: &Session| match (&input, session.view.as_ref().map(|view| &view.next)) {
            (Input::Pass, Some(Next::Ask(request))) => matches!(request.input_type, RequestType::None(_)),
            (_, next) => matches!(next, Some(Next::Ask(_))),
        };
        let target = self.target(number, fits);
        let target =
            target.or_else(|| self.target(number, |session| matches!(session.view.as_ref().map(|view| &view.next), Some(Next::Ask(_)))));
        let Some(at) = target else { return self.slip(NO_SESSION) };
        self.navigate(at, input);
        self.go_on();
    }

    /// A result, of the pending call or of one named by its number.
    fn result(&mut self, number: Option<usize>, call: Option<usize>, outcome: ToolOutcome) {
        let (at, id) = match call {
            Some(call) => {
                let id = call.checked_sub(1).and_then(|at| self.calls.get(at)).cloned().unwrap_or_else(|| CallId::from("foreign"));
                (self.owner(&id), id)
            }
            None => {
                let waits = |session: &Session| self.waits_for_result(session);
                let Some(at) = self.target(number, waits) else { return };
                let session = &self.sessions[at];
                let part = match session.view.as_ref().map(|view| &view.next) {
                    Some(Next::Parts { open, .. }) if !self.by_hand => {
                        open.iter().find(|part| !self.is_walked(part)).or(open.first()).map(|part| part.id.clone())
                    }
                    _ => None,
                };
                let id = part.or_else(|| session.writer.pending.clone()).or_else(|| self.calls.last().cloned());
                (at, id.unwrap_or_else(|| CallId::from("foreign")))
            }
        };
        self.navigate(at, Input::Result(ToolResult::new(id, outcome)));
        self.go_on();
    }

    /// The session that made a call; the root where none is known.
    fn owner(&self, id: &CallId) -> usize {
        let makes = |session: &Session| !session.is_over && self.engine.open_calls(&session.state).iter().any(|call| call.id == *id);
        let whole = |session: &Session| session.state.pending_tool_call.as_ref().is_some_and(|call| call.id == *id);
        self.sessions.iter().position(|session| makes(session) || whole(session)).unwrap_or(0)
    }

    /// Returns whether a session waits for a result that no child brings.
    fn waits_for_result(&self, session: &Session) -> bool {
        match session.view.as_ref().map(|view| &view.next) {
            Some(Next::Call(call)) => !self.is_walked(call),
            Some(Next::Parts { open, .. }) => open.iter().any(|call| !self.is_walked(call)),
            _ => false,
        }
    }

    fn is_walked(&self, call: &Call) -> bool {
        self.sessions.iter().any(|session| !session.is_over && session.caller.as_ref().is_some_and(|(_, id)| *id == call.id))
    }

    fn stop(&mut self, line: String) {
        self.print(None, &line);
        self.stopped = Some(line);
    }

    /// One move of a session; whether it was made. The children that it leaves are left first: what they did is known when it moves.
    fn navigate(&mut self, at: usize, input: Input) -> bool {
        let before = self.sessions[at].state.clone();
        let mut left = self.settled_by(at, &input);
        loop {
            let state = self.without(at, &left).unwrap_or_else(|| before.clone());
            match self.step(&state.current_node_id, |engine| engine.navigate(&state, input.clone())) {
                Ok(step) => {
                    let more = self.unawaited(at, &step.state, &left);
                    if !more.is_empty() {
                        left.extend(more);
                        continue;
                    }
                    if let Input::Result(result) = &input {
                        let open = [&*self.engine.open_calls(&state), &*self.engine.open_calls(&step.state)];
                        self.counts.settled(&state, open, result);
                    }
                    self.forget(at, &left);
                    self.sessions[at].state = state;
                    self.accept(at, step);
                    return true;
                }
                Err(NavigateError::Unanswered(asked)) if !self.by_hand => self.stop(format!("- not answered: {}", asked.name)),
                Err(error) => {
                    let mut text = String::new();
                    print::refusal(&mut text, &error);
                    self.say(at, &text);
                }
            }
            return false;
        }
    }

    /// Takes the result of a step.
    fn accept(&mut self, at: usize, step: Step) {
        self.steps += 1;
        self.counts.take(self.engine.inspect(), &self.sessions[at].state, &step);
        let mut text = String::new();
        step.events.iter().for_each(|event| print::event(&mut text, event));
        let is_late = step.events.iter().any(|event| matches!(event, Event::Late { .. } | Event::DeadLetter(_)));
        let session = &mut self.sessions[at];
        session.state = step.state;
        session.is_shown = is_late && session.is_shown;
        self.say(at, &text);
    }

    /// Continues every session until an author is needed.
    fn go_on(&mut self) {
        while self.stopped.is_none() {
            if let Some(excess) = self.limits.reached(self.steps) {
                return self.stop(format!("- stopped: {excess}"));
            }
            let order: Vec<usize> = (0..self.sessions.len()).rev().filter(|&at| !self.sessions[at].is_over).collect();
            for &at in order.iter().rev() {
                self.show_stop(at);
            }
            if !order.into_iter().any(|at| self.advance(at)) {
                return;
            }
        }
    }

    /// Shows the stop of a session, once.
    fn show_stop(&mut self, at: usize) {
        if std::mem::replace(&mut self.sessions[at].is_shown, true) {
            return;
        }
        let session = &mut self.sessions[at];
        let view = self.engine.render(&session.state);
        session.writer.calls = std::mem::take(&mut self.calls);
        let before = session.writer.calls.len();
        session.writer.text.clear();
        session.writer.view(&session.state, view.clone());
        self.calls = std::mem::take(&mut session.writer.calls);
        session.view = view.ok();
        for locale in self.engine.rendered_locales(&session.state) {
            self.counts.said(&session.state.current_node_id, locale);
        }
        let text = std::mem::take(&mut session.writer.text);
        let first = self.lines.len();
        self.say(at, &text);
        let mut new = self.calls.len() - before;
        for line in first..self.lines.len() {
            if new > 0 && self.lines[line].text.starts_with('!') {
                self.call_lines.push(line);
                new -= 1;
            }
        }
        self.call_lines.resize(self.calls.len(), usize::MAX);
        self.note_retries(at);
    }

    fn note_retries(&mut self, at: usize) {
        let session = &self.sessions[at];
        let (whole, calls) = match session.view.as_ref().map(|view| &view.next) {
            Some(Next::Call(call)) => (call, std::slice::from_ref(call)),
            Some(Next::Parts { whole, open }) => (whole, &open[..]),
            _ => return,
        };
        calls.iter().for_each(|call| self.counts.retried(call, whole));
    }

    /// Answers the stop of a session, if that needs no author line; returns whether it did.
    fn advance(&mut self, at: usize) -> bool {
        let Some(next) = self.sessions[at].view.as_ref().map(|view| view.next.clone()) else { return false };
        match next {
            Next::Pass => self.navigate(at, Input::Pass),
            Next::Ask(_) => false,
            Next::Call(call) => self.answer(at, &call),
            Next::Parts { open, .. } => open.iter().any(|part| self.answer(at, part)),
            Next::End(_) => self.hand_back(at),
        }
    }

    fn say(&mut self, at: usize, text: &str) {
        let (number, node) = (self.sessions[at].number, self.sessions[at].state.current_node_id.clone());
        for line in text.lines() {
            self.lines.push(Printed { text: marked(line, number), node: Some(node.clone()) });
        }
    }

    fn print(&mut self, node: Option<NodeId>, text: &str) {
        let node = node.or_else(|| self.node());
        self.lines.push(Printed { text: text.to_owned(), node });
    }

    /// `: value` of a context path, or of a part of the state.
    fn show(&mut self, number: Option<usize>, of_state: bool, path: &str) {
        let at = if number.is_some() { self.target(number, |_| true) } else { Some(0) };
        let Some(session) = at.and_then(|at| self.sessions.get(at)) else { return };
        let json = || serde_json::to_string(&session.state).ok().and_then(|text| Value::from_json(&text).ok()).unwrap_or_default();
        let all = if of_state { json() } else { Value::Map(session.state.context.to_mapping()) };
        let found = match KeyPath::parse(path) {
            Some(path) => walk(&all, path.segments()).cloned(),
            None if path.is_empty() => Some(all),
            None => None,
        };
        self.print(None, &format!(": {}", found.map_or_else(|| "absent".to_owned(), |value| value.to_json())));
    }
}

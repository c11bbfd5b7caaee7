//! A session walked by the lines of an author, with what every step promises checked on the way.
//!
//! **Invariant:** between two steps the state goes through JSON, so that nothing which is not persisted can matter.

use std::sync::Arc;

use trellis_core::{
    Engine, Event, Input, NavigateError, Next, NodeId, Predicates, Program, SessionId, SignalName, Start, State, ToolResult, Value,
    engine::{Answers, Expected, Moment, RequestType, Step},
    id::CallId,
    path::{KeyPath, walk},
    program::PredicateSource,
    transcript::{AuthorLine, TranscriptWriter, print, read::read},
};

use super::{super::journal, Played, moments};

/// One accepted move.
#[derive(Clone, Debug)]
pub struct Record {
    /// The node at which it began; `None` for the start.
    pub from: Option<NodeId>,
    /// The node to which it led.
    pub to: NodeId,
    /// Its events.
    pub events: Vec<Event>,
    /// The host's input, for a replay.
    pub moment: Moment,
    /// The state it led to.
    pub after: State,
}

/// A session on its way.
#[derive(Debug)]
pub struct Walk {
    engine: Engine,
    start: Start,
    answers: Answers,
    begun: Option<Answers>,
    /// `$ state`: where it begins instead.
    stored: Option<State>,
    state: Option<State>,
    records: Vec<Record>,
    problems: Vec<String>,
    slips: Vec<String>,
    out: TranscriptWriter,
}

impl Walk {
    /// A session that has not begun.
    pub fn new(program: Arc<Program>) -> Self {
        let asked = program.predicates().iter().filter(|predicate| !matches!(predicate.source, PredicateSource::Schema(_)));
        let predicates = asked.fold(Predicates::new(), |predicates, predicate| predicates.deferred(&predicate.name));
        let engine = Engine::new(Arc::clone(&program), predicates).expect("every predicate is deferred");
        Self {
            engine,
            start: Start { session: Some(SessionId::from("s")), ..Start::default() },
            answers: Answers::new(),
            begun: None,
            stored: None,
            state: None,
            records: Vec::new(),
            problems: Vec::new(),
            slips: Vec::new(),
            out: TranscriptWriter::default(),
        }
    }

    /// Takes one author line.
    pub fn take(&mut self, text: &str) {
        let line = match read(text) {
            Ok(line) => line,
            Err(error) => {
                self.out.line(text);
                return self.slips.push(error);
            }
        };
        let begins = matches!(line, AuthorLine::Remark | AuthorLine::Begin(..))
            || (matches!(line, AuthorLine::Predicate(..)) && self.begun.is_none());
        if !begins {
            self.begin();
        }
        self.out.line(text);
        match line {
            AuthorLine::Remark => {}
            AuthorLine::Begin(what, _) if self.begun.is_some() => self.slips.push(format!("`$ {what}` comes after the session has begun")),
            AuthorLine::Begin(what, value) => self.set_up(&what, &value),
            AuthorLine::Predicate(name, answer) => drop(self.answers.insert(name.into(), answer)),
            AuthorLine::Text(text) => self.hand_in(Input::Text(text)),
            AuthorLine::Value(value) => self.hand_in(Input::Value(value)),
            AuthorLine::Signal(name) => self.hand_in(Input::Signal(SignalName::new(name))),
            AuthorLine::Pass => self.hand_in(Input::Pass),
            AuthorLine::Result(number, outcome) => {
                self.hand_in(Input::Result(ToolResult::new(self.call(number), outcome)));
            }
            AuthorLine::Show(of_state, path) => self.show(of_state, &path),
        }
    }

    /// Returns the state of the session; `None` if it could not begin.
    pub fn state(&self) -> Option<&State> {
        self.state.as_ref()
    }

    /// Returns the next action of the host.
    pub fn next(&self) -> Option<Next> {
        self.state.as_ref().and_then(|state| self.engine.render(state).ok()).map(|view| view.next)
    }

    /// The id of a call by its number, from 1, or of the last one; a call of nobody where there is none.
    pub(super) fn call(&self, number: Option<usize>) -> CallId {
        let found = match number {
            Some(number) => number.checked_sub(1).and_then(|at| self.out.calls.get(at)),
            None => self.out.pending.as_ref().or(self.out.calls.last()),
        };
        found.cloned().unwrap_or_else(|| CallId::from("foreign"))
    }

    /// The id of a call by its number, from 1.
    pub fn id_of(&self, number: usize) -> Option<CallId> {
        self.out.calls.get(number.checked_sub(1)?).cloned()
    }

    /// Returns the number of calls so far.
    pub fn calls(&self) -> usize {
        self.out.calls.len()
    }

    /// Ends the transcript: replays it and hands it over.
    pub fn finish(mut self) -> Played {
        self.begin();
        if let (Some(state), Some(answers)) = (&self.state, &self.begun) {
            let moments = moments(&self.records[1..]);
            let replayed = match &self.stored {
                Some(stored) => self.retrace(stored.clone(), moments),
                None => {
                    let replayed = self.engine.answering(answers.clone()).replay(self.start.clone(), moments);
                    replayed.map_err(|divergence| format!("the replay diverges: {divergence:?}"))
                }
            };
            match replayed {
                Ok(replayed) if json(&replayed) == json(state) => {}
                Ok(replayed) => self.problems.push(format!("the replay differs:\n  was {}\n  is  {}", json(state), json(&replayed))),
                Err(problem) => self.problems.push(problem),
            }
        }
        let mut played = Played {
            text: self.out.text,
            problems: self.problems,
            slips: self.slips,
            records: self.records,
            engine: self.engine,
            start: self.start,
            begun: self.begun.unwrap_or_default(),
            is_stored: self.stored.is_some(),
        };
        played.problems.extend(journal::flaws(&played));
        played
    }

    /// Takes moments again from a stored state.
    fn retrace(&self, mut state: State, moments: Vec<Moment>) -> Result<State, String> {
        for Moment { input, answers, .. } in moments {
            let step = self.engine.answering(answers).navigate(&state, input);
            state = step.map_err(|error| format!("the replay diverges: {error}"))?.state;
        }
        Ok(state)
    }

    /// `$ …`: how the session begins.
    fn set_up(&mut self, what: &str, value: &str) {
        match what {
            "context" => match Value::from_json(value) {
                Ok(Value::Map(context)) => self.start.context = context,
                _ => self.slips.push(format!("`{value}` is no JSON mapping")),
            },
            "locale" => self.start.locale = Some(value.into()),
            "at" => self.start.at = Some(NodeId::from(value)),
            "session" => self.start.session = Some(SessionId::from(value)).filter(|_| value != "-"),
            "state" => match serde_json::from_str(value) {
                Ok(state) => self.stored = Some(state),
                Err(error) => self.slips.push(format!("`{value}` is no state: {error}")),
            },
            "limit" => self.engine = self.engine.clone().with_max_input(value.parse().unwrap_or_default()),
            other => self.slips.push(format!("`$ {other}` is no way to begin: context, locale, at, session, state, limit")),
        }
        if self.begun.is_some() {
            self.slips.push("`$` lines come first".into());
        }
    }

    /// Starts the session, once.
    pub fn begin(&mut self) {
        if self.begun.is_some() {
            return;
        }
        self.begun = Some(self.answers.clone());
        if let Some(state) = self.stored.clone() {
            return self.accept(None, Input::Pass, Step::new(state));
        }
        match self.engine.answering(self.answers.clone()).start(self.start.clone()) {
            Ok(step) => self.accept(None, Input::Pass, step),
            Err(error) => self.out.line(&format!("- not started: {error}")),
        }
    }

    /// Hands in an input and goes on to the next stop.
    fn hand_in(&mut self, input: Input) {
        if let Some(state) = self.state.clone() {
            match self.navigate(&state, &input) {
                Ok(step) => self.accept(Some(state.current_node_id), input, step),
                Err(error) => {
                    self.check_refusal(&state, &error);
                    print::refusal(&mut self.out.text, &error);
                }
            }
        }
    }

    /// A refusal says what would be accepted, and that is what the view asks for (language 7.3).
    fn check_refusal(&mut self, state: &State, error: &NavigateError) {
        let expected = match error {
            NavigateError::Invalid { expected, .. }
            | NavigateError::WrongKind { expected, .. }
            | NavigateError::ForeignCall { expected, .. }
            | NavigateError::UnhandledSignal { expected, .. } => expected,
            NavigateError::Ended { .. } if state.ended.is_some() => return,
            NavigateError::Ended { .. } | NavigateError::Unadopted(_) => &Expected::Nothing,
            _ => return,
        };
        let fits = match (self.engine.render(state).map(|view| view.next), expected) {
            (Ok(Next::Ask(request)), Expected::Input(expected)) => request == **expected,
            (Ok(Next::Ask(request)), Expected::Pass) => matches!(request.input_type, RequestType::None(_)),
            (Ok(Next::Call(call)), Expected::Result(id)) => call.id == *id,
            (Ok(Next::Parts { open, .. }), Expected::Result(id)) => open.first().is_some_and(|part| part.id == *id),
            (Ok(Next::Pass), Expected::Pass) | (Ok(Next::End(_)), Expected::Nothing) => true,
            _ => false,
        };
        if !fits {
            self.problems.push(format!("the refusal `{error}` expects {expected:?}, which is not what the view asks for"));
        }
    }

    /// One move, made twice: the same state and input give the same step, and a refusal leaves no trace.
    fn navigate(&mut self, state: &State, input: &Input) -> Result<Step, NavigateError> {
        let engine = self.engine.answering(self.answers.clone());
        let before = state.clone();
        let (first, second) = (engine.navigate(state, input.clone()), engine.navigate(state, input.clone()));
        let same = match (&first, &second) {
            (Ok(a), Ok(b)) => a.state == b.state && a.events == b.events,
            (Err(a), Err(b)) => a == b,
            _ => false,
        };
        if !same || before != *state {
            self.problems.push(format!("{input:?} at `{}` does not give the same step twice", state.current_node_id));
        }
        if let Ok(step) = &first
            && step.state.step != state.step + 1
            && !step.events.iter().any(|event| matches!(event, Event::Late { .. } | Event::DeadLetter(_)))
        {
            self.problems.push(format!("{input:?} at `{}` moves `step` from {} to {}", state.current_node_id, state.step, step.state.step));
        }
        first
    }

    /// Records a step, prints what it says and goes on through nodes that do not stop.
    fn accept(&mut self, from: Option<NodeId>, input: Input, step: Step) {
        let mut next = self.record(from, input, step);
        let mut passes = 0;
        while let (true, Some(state)) = (next, self.state.clone()) {
            passes += 1;
            if passes > self.engine.inspect().limits().pass_through.min(1000) {
                self.out.line("- stopped: it passes through for ever");
                break;
            }
            match self.navigate(&state, &Input::Pass) {
                Ok(step) => next = self.record(Some(state.current_node_id), Input::Pass, step),
                Err(error) => {
                    print::refusal(&mut self.out.text, &error);
                    break;
                }
            }
        }
    }

    /// Records and prints one step; whether the host should pass on.
    fn record(&mut self, from: Option<NodeId>, input: Input, step: Step) -> bool {
        let answers = step.events.iter().filter_map(|event| match event {
            Event::Predicate { name, answer } => Some((Arc::clone(name), *answer)),
            _ => None,
        });
        let moment = Moment { input, answers: answers.collect(), to: Some(step.state.current_node_id.clone()) };
        for event in &step.events {
            print::event(&mut self.out.text, event);
        }
        let late = step.events.iter().any(|event| matches!(event, Event::Late { .. } | Event::DeadLetter(_)));
        let after = step.state.clone();
        self.records.push(Record { from, to: after.current_node_id.clone(), events: step.events, moment, after });
        let written = json(&step.state);
        let state: State = match serde_json::from_str(&written) {
            Ok(state) => state,
            Err(error) => {
                self.problems.push(format!("the state cannot be read back: {error}\n  {written}"));
                step.state
            }
        };
        if json(&state) != written {
            self.problems.push(format!("the state changes when it is stored:\n  was {written}\n  is  {}", json(&state)));
        }
        let pass = !late && self.view(&state);
        self.state = Some(state);
        pass
    }

    /// Prints what the host should do now; whether it should pass on.
    fn view(&mut self, state: &State) -> bool {
        let (view, again) = (self.engine.render(state), self.engine.render(state));
        if view != again {
            self.problems.push(format!("`{}` is not rendered the same twice", state.current_node_id));
        }
        self.out.view(state, view)
    }

    /// `: value` of a context path, or of a part of the state.
    fn show(&mut self, of_state: bool, path: &str) {
        let Some(state) = &self.state else { return };
        let all = if of_state { Value::from_json(&json(state)).unwrap_or_default() } else { Value::Map(state.context.to_mapping()) };
        let found = match KeyPath::parse(path) {
            Some(path) => walk(&all, path.segments()).cloned(),
            None if path.is_empty() => Some(all),
            None => None,
        };
        self.out.line(&format!(": {}", found.map_or_else(|| "absent".to_owned(), |value| value.to_json())));
    }
}

fn json(state: &State) -> String {
    serde_json::to_string(state).expect("a state is JSON")
}

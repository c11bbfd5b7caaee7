//! Graphs from text, and sessions in them.

use std::sync::Arc;

use trellis_core::{
    Dialect, Document, Engine, Event, Input, Mapping, NavigateError, Next, Predicates, Program, Source, Start, State, ToolError,
    ToolOutcome, ToolResult, Value, compile,
    engine::{Call, Step, View},
    id::CallId,
};

/// Compiles a graph that must be accepted.
pub fn program(files: &[(&str, &str)]) -> Arc<Program> {
    let documents: Vec<_> =
        files.iter().map(|(path, text)| Arc::new(Document::parse(&Source::text(*path, text), Dialect::Jinja))).collect();
    let compiled = compile(&documents);
    let found: Vec<_> = compiled.diagnostics.iter().map(|diagnostic| &diagnostic.message).collect();
    compiled.program.unwrap_or_else(|| panic!("{found:#?}"))
}

/// An engine without predicates.
pub fn engine(files: &[(&str, &str)]) -> Engine {
    Engine::new(program(files), Predicates::new()).unwrap()
}

/// JSON as a value.
pub fn json(text: &str) -> Value {
    Value::from_json(text).unwrap()
}

/// The beginning of session `s` with a context.
pub fn start(context: &str) -> Start {
    let context: Mapping = serde_json::from_str(context).unwrap();
    Start { session: Some("s".into()), context, ..Start::default() }
}

/// A session under test.
pub struct Walk {
    pub engine: Engine,
    pub state: State,
    pub events: Vec<Event>,
}

impl Walk {
    pub fn new(files: &[(&str, &str)]) -> Self {
        Self::with(engine(files), "{}")
    }

    pub fn with(engine: Engine, context: &str) -> Self {
        let Step { state, events, .. } = engine.start(start(context)).unwrap();
        Self { engine, state, events }
    }

    /// Takes an input that must be accepted.
    pub fn go(&mut self, input: Input) -> &mut Self {
        let before = self.state.clone();
        let step = self.engine.navigate(&self.state, input).unwrap_or_else(|error| panic!("{error}"));
        assert!(step.state.step == before.step + 1 || step.state.step == before.step);
        self.state = step.state;
        self.events = step.events;
        self
    }

    pub fn say(&mut self, text: &str) -> &mut Self {
        self.go(Input::Text(text.into()))
    }

    /// Passes on from nodes that do not stop.
    pub fn pass(&mut self) -> &mut Self {
        while self.view().next == Next::Pass {
            self.go(Input::Pass);
        }
        self
    }

    pub fn view(&self) -> View {
        self.engine.render(&self.state).unwrap()
    }

    pub fn content(&self) -> String {
        self.view().content.map(|content| content.trim().to_owned()).unwrap_or_default()
    }

    pub fn call(&self) -> Call {
        match self.view().next {
            Next::Call(call) | Next::Parts { whole: call, .. } => call,
            other => panic!("{other:?}"),
        }
    }

    fn result(&self, id: CallId, outcome: ToolOutcome) -> Input {
        Input::Result(ToolResult::new(id, outcome))
    }

    /// The pending call succeeds.
    pub fn succeed(&mut self, value: &str) -> &mut Self {
        let input = self.result(self.call().id.clone(), ToolOutcome::Success(json(value)));
        self.go(input)
    }

    /// The pending call fails.
    pub fn fail(&mut self, message: &str) -> &mut Self {
        let input = self.result(self.call().id.clone(), ToolOutcome::Error(ToolError::new(message)));
        self.go(input)
    }

    /// A success of any call.
    pub fn late(&mut self, id: &CallId, value: &str) -> &mut Self {
        let input = self.result(id.clone(), ToolOutcome::Success(json(value)));
        self.go(input)
    }

    pub fn refused(&self, input: Input) -> NavigateError {
        self.engine.navigate(&self.state, input).unwrap_err()
    }

    pub fn node(&self) -> &str {
        self.state.current_node_id.as_str()
    }

    /// Returns its end: reason and code.
    pub fn ended(&self) -> String {
        let ended = self.state.ended.as_ref().unwrap();
        let code = ended.code.as_ref().map(|code| format!(" {code}")).unwrap_or_default();
        format!("{}{code}", ended.reason.as_str())
    }

    pub fn message(&self) -> String {
        self.state.ended.as_ref().unwrap().message.as_ref().unwrap().to_string()
    }

    pub fn key(&self, key: &str) -> Option<String> {
        self.state.context.get(key).map(Value::to_json)
    }
}

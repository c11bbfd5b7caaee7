//! The engine: `render` returns the next action of the host, `navigate` the state after its answer.
//!
//! **Invariant:** same program, state, input and answers give the same step; no clock, randomness, environment or IO.

mod acceptance;
mod adopt;
mod believe;
mod call;
mod children;
mod choose;
mod enter;
mod fail;
mod guard;
mod ids;
mod input;
mod io;
mod late_result;
mod navigate;
mod parts;
mod predicates;
mod refusal;
mod relocate;
mod render;
mod replay;
mod result;
mod retry;
mod rollback;
mod settle;
mod speech;
mod start;
mod step;
mod write;

pub use self::relocate::NotEntered;
pub use acceptance::Acceptance;
pub use adopt::{Adopted, Blocker, ChangedCall, Moved};
pub use children::{NotBegun, pending_call, pending_calls};
pub use ids::question_key;
pub use input::{accept, accept_default};
pub use io::{Action, AnyInput, Call, EndView, Event, Next, NoInput, OptionView, Request, RequestType, Step, View};
pub use predicates::{MissingPredicate, Predicates, Unanswered};
pub use refusal::{Expected, NavigateError, RenderError, StartError};
pub use replay::Divergence;

use std::{fmt, sync::Arc};

use crate::{
    program::{PredicateSource, Program},
    state::State,
};
use trellis_base::id::{KeySeed, NodeId, SessionId, SignalName};
pub use trellis_base::input::{Answers, Input, Moment, Start, ToolError, ToolErrorKind, ToolOutcome, ToolResult};

/// A program with the host's predicates: cheap to clone, `Send + Sync`, synchronous.
///
/// A host renders the state, carries out the action of the view, and navigates with its result, until [`Next::End`].
#[derive(Clone)]
pub struct Engine {
    program: Arc<Program>,
    predicates: Predicates,
    answers: Option<Arc<Answers>>,
    max_input: u64,
    /// The graph that sessions begin in, for the keys of their calls.
    graph: Option<Arc<str>>,
    /// True if sessions begin anywhere, with any context: the checker provokes violations on purpose.
    is_trial: bool,
    /// Recognises the texts that mark removed values: these are not checked against a schema.
    stands_in: Option<fn(&str) -> bool>,
}

impl Engine {
    /// An engine for a program.
    ///
    /// # Errors
    /// A host predicate of the program is neither answered nor deferred.
    pub fn new(program: Arc<Program>, predicates: Predicates) -> Result<Self, MissingPredicate> {
        let hosted = program.predicates().iter().filter(|predicate| matches!(predicate.source, PredicateSource::Host(_)));
        let mut names: Vec<_> =
            hosted.map(|predicate| predicate.name.clone()).filter(|name| !predicates.known.contains_key(name)).collect();
        names.sort();
        names.dedup();
        if !names.is_empty() {
            return Err(MissingPredicate { names });
        }
        Ok(Self { is_trial: false, ..Self::on_trial(program, predicates) })
    }

    /// Creates an engine that provokes violations on purpose: sessions begin anywhere, with any values.
    pub fn on_trial(program: Arc<Program>, predicates: Predicates) -> Self {
        let (max_input, graph) = (program.limits().input, program.root().name.clone());
        Self { program, predicates, answers: None, max_input, graph, is_trial: true, stands_in: None }
    }

    /// Returns the engine with another bound for inputs, in bytes (language A.1, `TRELLIS_MAX_INPUT_SIZE`).
    #[must_use]
    pub fn with_max_input(self, bytes: u64) -> Self {
        Self { max_input: bytes, ..self }
    }

    /// Returns the engine whose sessions begin in a graph of this name: calls of two graphs have keys of their own, also where starts have no
    /// [`Start::seed`] (language 7.8). The default is the program's name; without one, keys are those of sessions that began before keys depended on
    /// the graph.
    #[must_use]
    pub fn of_graph(self, name: Option<Arc<str>>) -> Self {
        Self { graph: name, ..self }
    }

    /// Returns the engine with answers of deferred predicates for one step (language 6.2).
    #[must_use]
    pub fn answering(&self, answers: Answers) -> Self {
        Self { answers: Some(Arc::new(answers)), ..self.clone() }
    }

    /// Returns the engine for records from which values were removed: a text for which `stands_in` holds replaces a value that fitted, so that no
    /// schema and no input type refuses it.
    #[must_use]
    pub fn believing(&self, stands_in: fn(&str) -> bool) -> Self {
        Self { stands_in: Some(stands_in), ..self.clone() }
    }

    /// Begins a session: checks `inputs` and enters the entry (language 7.1).
    ///
    /// # Errors
    /// The context does not fit; nothing began.
    pub fn start(&self, start: Start) -> Result<Step, StartError> {
        self.begin_as(start, false)
    }

    /// Returns the next action of the host. Pure; a pending call is repeated byte for byte (language 7.2).
    ///
    /// # Errors
    /// The state does not belong to this program (see [`Engine::adopt`]), or its content cannot be rendered.
    pub fn render(&self, state: &State) -> Result<View, RenderError> {
        self.view(state)
    }

    /// Takes an input and moves: validate, write, choose, enter (language 7.3).
    ///
    /// # Errors
    /// A refusal: nothing happened; with the accepted input.
    pub fn navigate(&self, state: &State, input: Input) -> Result<Step, NavigateError> {
        self.step(state, input)
    }

    /// Raises a signal (language 7.5).
    ///
    /// # Errors
    /// As [`Engine::navigate`].
    pub fn signal(&self, state: &State, signal: &SignalName) -> Result<Step, NavigateError> {
        self.navigate(state, Input::Signal(signal.clone()))
    }

    /// Returns the locales of `messages` whose words the current node of a session has for it.
    pub fn rendered_locales(&self, state: &State) -> Vec<Arc<str>> {
        let program = self.inspect();
        let node = program.find(&state.current_node_id).map(|index| program.node(index));
        node.into_iter().flat_map(|node| render::rendered_locales(program, state, node)).cloned().collect()
    }

    /// The program.
    pub fn inspect(&self) -> &Program {
        &self.program
    }

    /// Fits a stored state to this program: the one function behind resume, watch and `session check`.
    pub fn adopt(&self, state: State) -> Adopted {
        self.fit(state, None, ChangedCall::Blocks)
    }

    /// Adopts a state as [`Self::adopt`] does, with a decision about a pending call that the node would no longer make.
    pub fn adopt_deciding(&self, state: State, changed: ChangedCall) -> Adopted {
        self.fit(state, None, changed)
    }

    /// Adopts the state of a child that began at this node, as [`Self::adopt_deciding`] does: it never leaves what its caller called.
    pub fn adopt_child(&self, state: State, began: &NodeId, changed: ChangedCall) -> Adopted {
        self.fit(state, Some(began), changed)
    }

    /// Moves a session into a node, with the context that it has: a step of its own, with keys of its own. A pending call is abandoned.
    ///
    /// # Errors
    /// There is no such node, keys that it certainly needs are not set, or it cannot be entered; nothing happened.
    pub fn enter(&self, state: State, node: &NodeId) -> Result<Step, NotEntered> {
        self.put_at(state, node)
    }

    /// Puts a session back to the state `then`, with its context. Step numbers continue from `now`, and effects on the world since then stay
    /// known: a rollback undoes them. If a call was pending then, its node is entered again.
    ///
    /// # Errors
    /// It had ended then, it rolls back now or did so then, or the node cannot be entered; nothing happened.
    pub fn back(&self, now: &State, then: State) -> Result<Step, NotEntered> {
        self.put_back(now, then)
    }

    /// Returns a new session that begins at the state `then` of another one. It has no effects to undo: those belong to the session that made
    /// them. If a call was pending then, its node is entered again, so that the call has a key of its own: `seed` is the random number of the new
    /// session, as in [`Start::seed`].
    ///
    /// # Errors
    /// As [`Engine::back`].
    pub fn fork(&self, then: State, session: SessionId, seed: Option<KeySeed>) -> Result<Step, NotEntered> {
        self.split(then, session, seed)
    }

    /// Walks recorded moments again.
    ///
    /// # Errors
    /// The first moment that does not go as it was recorded.
    pub fn replay(&self, start: Start, moments: impl IntoIterator<Item = Moment>) -> Result<State, Divergence> {
        self.walk(start, moments)
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").field("program", self.program.fingerprint()).field("predicates", &self.predicates).finish_non_exhaustive()
    }
}

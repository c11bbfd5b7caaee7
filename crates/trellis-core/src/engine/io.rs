//! What goes into the engine and what comes out of it.

use std::{collections::BTreeMap, fmt, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{
    context::Context,
    id::{CallId, NodeId, SessionId, SignalName},
    span::LineColumn,
    state::{EndReason, PendingCall, State},
    syntax::node::InputType,
    value::{Mapping, Value},
};

/// What a session begins with.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Start {
    /// The session's name; ids and keys derive from it, so it must be unique.
    pub session: Option<SessionId>,
    /// The initial context.
    #[serde(default)]
    pub context: Mapping,
    /// The locale, if it is not the context's.
    #[serde(default)]
    pub locale: Option<Arc<str>>,
    /// A node to begin at instead of the entry, for `run --at` and child sessions.
    #[serde(default)]
    pub at: Option<NodeId>,
}

/// What a host hands in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Input {
    /// What a person typed.
    Text(String),
    /// A value from a program.
    Value(Value),
    /// What became of a call.
    Result(ToolResult),
    /// A signal.
    Signal(SignalName),
    /// Nothing: a node that passes through, a sleep that is over, an empty input.
    Pass,
}

/// What became of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The attempt it answers.
    pub id: CallId,
    /// How it went.
    pub outcome: ToolOutcome,
}

/// How a call went.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolOutcome {
    /// It succeeded.
    Success(Value),
    /// It failed.
    Error(ToolError),
    /// It was denied, or its approval expired; with a reason, if one was given.
    Denied(Option<String>),
}

/// Why a call failed: `sys.error` without tool and node (language 4.2).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolError {
    /// What kind of failure.
    #[serde(default)]
    pub kind: ToolErrorKind,
    /// The tool's own code.
    #[serde(default, deserialize_with = "crate::value::present", skip_serializing_if = "Option::is_none")]
    pub code: Option<Value>,
    /// For people.
    pub message: String,
    /// For programs.
    #[serde(default, deserialize_with = "crate::value::present", skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

impl ToolError {
    /// A plain failure.
    pub fn new(message: impl Into<String>) -> Self {
        Self { kind: ToolErrorKind::Error, code: None, message: message.into(), data: None }
    }
}

/// Kinds of tool failure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolErrorKind {
    /// The tool said so, or died.
    #[default]
    Error,
    /// It took too long.
    Timeout,
    /// Its result breaks `returns`.
    Schema,
}

/// What the host should do now.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// What the node says, as Markdown.
    pub content: Option<Arc<str>>,
    /// What follows.
    pub next: Next,
}

impl View {
    /// Whether the session has ended.
    pub fn terminal(&self) -> bool {
        matches!(self.next, Next::End(_))
    }
}

/// What the host does next. A match over it is exhaustive: nobody forgets pass-through.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// Navigate with [`Input::Pass`].
    Pass,
    /// Ask, and navigate with the answer.
    Ask(Request),
    /// Carry out the call, and navigate with its result.
    Call(Call),
    /// Stop.
    End(EndView),
}

/// A call to carry out.
pub type Call = Arc<PendingCall>;

/// How it ended.
pub type EndView = Arc<crate::state::Ended>;

/// What to ask: `REQUEST_INPUT` (language 7.2).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Request {
    /// What is accepted.
    pub input_type: RequestType,
    /// What can be chosen.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<OptionView>,
    /// The value of an empty input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// The JSON Schema of the input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
    /// How long to listen, or to sleep.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "millis")]
    pub timeout: Option<Duration>,
    /// The node's metadata.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
    /// Whether other input than the options is accepted too (language 6.4).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub open: bool,
}

/// `input_type` of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum RequestType {
    /// As the node declares it.
    Declared(InputType),
    /// Anything, kept as it came.
    Any(AnyInput),
    /// Nothing: sleep for `timeout`, then navigate with [`Input::Pass`].
    None(NoInput),
}

/// `any`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AnyInput {
    /// `any`
    Any,
}

/// `none`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NoInput {
    /// `none`
    None,
}

/// One option as it is shown.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OptionView {
    /// The identity: what is sent.
    pub value: Value,
    /// What is shown, in the session's locale.
    pub text: Arc<str>,
}

#[expect(clippy::ref_option, reason = "serde hands over a reference")]
fn millis<S: serde::Serializer>(duration: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
    duration.map(|duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)).serialize(serializer)
}

/// An accepted move.
#[derive(Clone, Debug)]
pub struct Step {
    /// Where the session is now.
    pub state: State,
    /// What happened on the way, in order.
    pub events: Vec<Event>,
}

/// What happened in a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// A node was left.
    Left(NodeId),
    /// A node was entered.
    Entered(NodeId),
    /// A call was yielded.
    Called {
        /// The attempt.
        id: CallId,
        /// The tool.
        tool: Arc<str>,
    },
    /// A result was accepted.
    Returned {
        /// The attempt.
        id: CallId,
        /// How it went: `success`, `error`, `timeout`, `schema`, `denied`.
        outcome: Arc<str>,
    },
    /// A signal was taken.
    Signalled(SignalName),
    /// An invalid input was counted; with what to say.
    Invalid(Arc<str>),
    /// A predicate answered; replay uses this record (language 6.2).
    Predicate {
        /// Its name.
        name: Arc<str>,
        /// Its answer.
        answer: bool,
    },
    /// The result of an abandoned call arrived (language 7.6).
    Late {
        /// The attempt.
        id: CallId,
        /// Whether its undo joined the effects.
        joined: bool,
    },
    /// The result of a call arrived after the end.
    DeadLetter(CallId),
    /// Compensation began; so many undos will be called.
    RollingBack(u32),
    /// An undo was carried out, or given up.
    Undone {
        /// The tool that undid.
        tool: Arc<str>,
        /// Whether it succeeded.
        ok: bool,
    },
    /// The session ended.
    Ended(EndReason),
}

/// A refusal: nothing happened (language 7.3).
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum NavigateError {
    /// The input is not valid here.
    #[error("{message}")]
    Invalid {
        /// The node.
        node: NodeId,
        /// What to say to a person: `on_invalid.text`, or what is wrong.
        message: String,
        /// What would be accepted.
        expected: Expected,
    },
    /// The input is larger than the bound; never truncated (design §9).
    #[error("the input is {size} bytes, the limit is {limit}")]
    TooLarge {
        /// Its size.
        size: u64,
        /// The bound.
        limit: u64,
    },
    /// This kind of input is not taken now.
    #[error("`{node}` takes {expected}, not {got}")]
    WrongKind {
        /// The node.
        node: NodeId,
        /// What was handed in: `an input`, `a tool result`, `a pass`.
        got: &'static str,
        /// What would be accepted.
        expected: Expected,
    },
    /// The result belongs to no call of this session that is pending or abandoned.
    #[error("the result is for call `{id}`, {}; {expected} is awaited", if *settled { "which is settled" } else { "which is not a call of this session" })]
    ForeignCall {
        /// The call it names.
        id: CallId,
        /// Whether a result of it was accepted already.
        settled: bool,
        /// What would be accepted.
        expected: Expected,
    },
    /// Nothing handles this signal here.
    #[error("`{node}` does not handle the signal `{signal}`")]
    UnhandledSignal {
        /// The node.
        node: NodeId,
        /// The signal.
        signal: SignalName,
        /// What would be accepted.
        expected: Expected,
    },
    /// The session has ended.
    #[error("the session has ended ({})", reason.as_str())]
    Ended {
        /// How.
        reason: EndReason,
    },
    /// A deferred predicate must be answered first: [`super::Engine::answering`].
    #[error("the predicate `{0}` must be answered first")]
    Unanswered(Arc<str>),
    /// The state stands at a node or call that this program does not have: [`super::Engine::adopt`].
    #[error("the graph has no node `{0}` as the session left it")]
    Unadopted(NodeId),
}

/// What would be accepted, for people and programs.
#[derive(Clone, Debug, PartialEq)]
pub enum Expected {
    /// An input that fits the request.
    Input(Box<Request>),
    /// The result of this call.
    Result(CallId),
    /// A pass.
    Pass,
    /// Nothing any more.
    Nothing,
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(_) => f.write_str("an input"),
            Self::Result(id) => write!(f, "the result of call `{id}`"),
            Self::Pass => f.write_str("a pass"),
            Self::Nothing => f.write_str("nothing"),
        }
    }
}

/// A session that could not begin.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum StartError {
    /// The context does not fit `inputs`, `required_context` or `context_schema` of the entry.
    #[error("the session cannot start: {}", problems.join("; "))]
    Inputs {
        /// One line each, naming the key.
        problems: Vec<String>,
    },
    /// There is no such node to begin at.
    #[error("there is no node `{0}` to begin at")]
    UnknownNode(NodeId),
    /// A deferred predicate must be answered first.
    #[error("the predicate `{0}` must be answered first")]
    Unanswered(Arc<str>),
}

/// A view that could not be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RenderError {
    /// The state stands at a node that this program does not have.
    #[error("the graph has no node `{0}`")]
    Unadopted(NodeId),
    /// A template failed.
    #[error("`{node}` cannot be rendered: {message}")]
    Template {
        /// The node.
        node: NodeId,
        /// What is missing or wrong.
        message: String,
    },
}

/// A program asks for a predicate that the host does not know.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the predicates {} are not answered by the host", names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "))]
pub struct MissingPredicate {
    /// Their names.
    pub names: Vec<Arc<str>>,
}

type Answer = dyn Fn(&Context) -> bool + Send + Sync;

/// The host's answers to named predicates (language 6.2).
#[derive(Clone, Default)]
pub struct Predicates {
    pub(super) known: Arc<BTreeMap<Arc<str>, Option<Arc<Answer>>>>,
}

impl Predicates {
    /// None.
    pub fn new() -> Self {
        Self::default()
    }

    /// Answers `name` with a function of the context. It must be pure: the same context, the same answer.
    #[must_use]
    pub fn with(mut self, name: &str, answer: impl Fn(&Context) -> bool + Send + Sync + 'static) -> Self {
        Arc::make_mut(&mut self.known).insert(name.into(), Some(Arc::new(answer)));
        self
    }

    /// Leaves `name` to be answered step by step: `navigate` then refuses with [`NavigateError::Unanswered`] until the host asks [`super::Engine::answering`].
    #[must_use]
    pub fn deferred(mut self, name: &str) -> Self {
        Arc::make_mut(&mut self.known).insert(name.into(), None);
        self
    }
}

impl fmt::Debug for Predicates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.known.keys()).finish()
    }
}

/// Answers of deferred predicates for one step.
pub type Answers = BTreeMap<Arc<str>, bool>;

/// A stored state, fitted to a program.
#[derive(Clone, Debug)]
pub enum Adopted {
    /// It goes on where it is.
    Kept(State),
    /// It goes on elsewhere.
    Moved {
        /// The state there.
        state: State,
        /// Where it was.
        from: NodeId,
        /// Why it moved.
        why: Moved,
    },
    /// It cannot go on as it is.
    Blocked {
        /// The state, unchanged.
        state: State,
        /// Everything that is in the way.
        blockers: Vec<Blocker>,
    },
}

/// Why a session moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moved {
    /// Its node has another id now (`was:`).
    Renamed,
    /// Its node is gone: it goes on at the nearest surviving module's `start`.
    Vanished,
}

/// What keeps a session from going on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Blocker {
    /// Its node needs these keys now.
    MissingKeys(Vec<String>),
    /// Its pending call is no longer what the node calls: another tool, or other arguments.
    CallChanged {
        /// The call that is pending.
        pending: Arc<str>,
        /// What the node would call now, if it still calls.
        now: Option<Arc<str>>,
    },
    /// Its node waits for something else now.
    RoleChanged(NodeId),
    /// The state was written by a newer version.
    Version(u32),
}

/// One recorded moment.
#[derive(Clone, Debug)]
pub struct Moment {
    /// What was handed in.
    pub input: Input,
    /// What predicates answered.
    pub answers: Answers,
    /// The node where it led, if that is known.
    pub to: Option<NodeId>,
}

/// Where a replay left the record.
#[derive(Clone, Debug, PartialEq)]
pub struct Divergence {
    /// Which moment, from 0; nothing for the start.
    pub moment: Option<usize>,
    /// The node where it happened.
    pub node: Option<NodeId>,
    /// Its place in the graph.
    pub at: Option<(Arc<str>, LineColumn)>,
    /// What happened instead.
    pub message: String,
}

//! Answers of the engine that change nothing: refusals, sessions that cannot begin, views that cannot be made.

use std::fmt;

use super::{Request, Unanswered};
use crate::{program::Excess, state::EndReason};
use trellis_base::id::{CallId, NodeId, SignalName};

/// A refusal: nothing happened (language 7.3).
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum NavigateError {
    /// The input is not valid here.
    #[error("{message}")]
    Invalid {
        /// The node.
        node: NodeId,
        /// The message for a person: `on_invalid.text`, or the reason.
        message: String,
        /// The accepted input.
        expected: Expected,
    },
    /// The input is larger than the bound; never truncated (language A.1).
    #[error("the input is {size} bytes, the limit is {limit}")]
    TooLarge {
        /// Its size.
        size: u64,
        /// The bound.
        limit: u64,
    },
    /// The input is nested too deeply, or larger than a value may be.
    #[error("the input {0}")]
    Excess(Excess),
    /// This kind of input is not taken now.
    #[error("`{node}` takes {expected}, not {got}")]
    WrongKind {
        /// The node.
        node: NodeId,
        /// The kind of the given input: `an input`, `a tool result`, `a pass`.
        got: &'static str,
        /// The accepted input.
        expected: Expected,
    },
    /// The result belongs to no call of this session that is pending or abandoned.
    #[error("the result is for call `{id}`, {}; {expected} is awaited", if *settled { "which is settled" } else { "which is not a call of this session" })]
    ForeignCall {
        /// The call it names.
        id: CallId,
        /// True if a result of it was accepted already.
        settled: bool,
        /// The accepted input.
        expected: Expected,
    },
    /// No handler takes this signal here.
    #[error("`{node}` does not handle the signal `{signal}`")]
    UnhandledSignal {
        /// The node.
        node: NodeId,
        /// The signal.
        signal: SignalName,
        /// The accepted input.
        expected: Expected,
    },
    /// The session has ended.
    #[error("the session has ended ({})", reason.as_str())]
    Ended {
        /// The reason for the end.
        reason: EndReason,
    },
    /// A deferred predicate must be answered first: [`super::Engine::answering`].
    #[error(transparent)]
    Unanswered(Box<Unanswered>),
    /// The state is at a node or call that this program does not have: [`super::Engine::adopt`].
    #[error("the graph has no node `{0}` as the session left it")]
    Unadopted(NodeId),
}

impl NavigateError {
    /// The stable code of the refusal, for programs: `invalid-input`, `input-too-large`, `excess`, `wrong-kind`, `foreign-call`, `unhandled-signal`, `ended`,
    /// `unanswered-predicate` or `unadopted`.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Invalid { .. } => "invalid-input",
            Self::TooLarge { .. } => "input-too-large",
            Self::Excess(_) => "excess",
            Self::WrongKind { .. } => "wrong-kind",
            Self::ForeignCall { .. } => "foreign-call",
            Self::UnhandledSignal { .. } => "unhandled-signal",
            Self::Ended { .. } => "ended",
            Self::Unanswered(_) => "unanswered-predicate",
            Self::Unadopted(_) => "unadopted",
        }
    }
}

/// The accepted input, for people and programs.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Expected {
    /// An input that fits the request.
    Input(Box<Request>),
    /// The result of this call.
    Result(CallId),
    /// A pass.
    Pass,
    /// No further input.
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
#[non_exhaustive]
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
    #[error(transparent)]
    Unanswered(Box<Unanswered>),
}

/// A view that could not be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RenderError {
    /// The state is at a node that this program does not have.
    #[error("the graph has no node `{0}`")]
    Unadopted(NodeId),
    /// A template failed.
    #[error("`{node}` cannot be rendered: {message}")]
    Template {
        /// The node.
        node: NodeId,
        /// The description of the missing or wrong value.
        message: String,
    },
}

//! What sessions and their clients say to each other.

use std::{sync::Arc, time::Duration};

use trellis_core::{
    Input, Mapping, NavigateError, NodeId, SessionId, SignalName, ToolOutcome,
    engine::{Call, EndView, Request, StartError},
    id::CallId,
};

use crate::{
    session::SessionError,
    store::{BadName, StoreError},
};

/// Where a session stopped, and what it said on the way.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    /// The session.
    pub session: SessionId,
    /// What its nodes said since the last turn, as Markdown.
    pub said: Vec<Arc<str>>,
    /// What it needs.
    pub stop: Stop,
}

/// What a session needs from its client. `due` is when it stops waiting for that, in milliseconds since 1970: [`crate::Sessions::resume`] then says
/// how it goes on.
#[derive(Clone, Debug, PartialEq)]
pub enum Stop {
    /// An input: [`Reply::Input`].
    Ask {
        /// What is accepted.
        request: Request,
        /// The end of its `timeout`.
        due: Option<u64>,
    },
    /// A call that nothing here carries out: [`Reply::Input`] with its result.
    Call {
        /// Which.
        call: Call,
        /// The end of its `timeout`.
        due: Option<u64>,
    },
    /// The approval of a call: [`Reply::Approve`].
    Held {
        /// Exactly this call, with these arguments.
        call: Call,
        /// When the approval expires; it is denied then.
        due: Option<u64>,
    },
    /// Whether a predicate holds: [`Reply::Predicate`] (language 6.2).
    Predicate {
        /// The predicate and the step that asks for it.
        id: Arc<str>,
        /// Its name.
        name: Arc<str>,
    },
    /// Keys that the node needs on the program as it is now: [`Reply::Context`].
    Keys {
        /// The node.
        node: NodeId,
        /// The keys.
        missing: Vec<String>,
    },
    /// Whether a pending call stays, which the node would make otherwise now: [`Reply::Keep`].
    Changed {
        /// The call that is pending.
        call: Call,
        /// The tool that would be called now.
        now: Arc<str>,
    },
    /// Nothing any more.
    Ended(EndView),
}

impl Stop {
    /// When it stops waiting, in milliseconds since 1970.
    pub fn due(&self) -> Option<u64> {
        match self {
            Self::Ask { due, .. } | Self::Call { due, .. } | Self::Held { due, .. } => *due,
            Self::Predicate { .. } | Self::Keys { .. } | Self::Changed { .. } | Self::Ended(_) => None,
        }
    }
}

/// What a client sends.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// An answer, a result or a signal.
    Input(Input),
    /// Whether a call may run.
    Approve {
        /// Which one; nothing for the one that is held.
        call: Option<CallId>,
        /// Whether it may.
        yes: bool,
    },
    /// Whether a predicate holds.
    Predicate {
        /// What was asked.
        id: Arc<str>,
        /// The answer.
        holds: bool,
    },
    /// Keys for the context.
    Context(Mapping),
    /// Whether the pending call stays as it is, or is made again.
    Keep(bool),
}

impl From<Input> for Reply {
    fn from(input: Input) -> Self {
        Self::Input(input)
    }
}

/// What happens between two turns.
#[derive(Clone, Debug, PartialEq)]
pub enum Happening {
    /// A node says something, as Markdown.
    Said(Arc<str>),
    /// An input was counted as invalid, with what to say (language 6.5).
    Invalid(Arc<str>),
    /// A call begins to be carried out.
    Calling(Call),
    /// A running tool says something about its progress: one line.
    Progress(Call, Arc<str>),
    /// What became of a call that was carried out, answered or denied here.
    Returned(Call, ToolOutcome),
    /// A result that a client gave was taken, or a bound tool answered a predicate.
    Given(Call, ToolOutcome),
    /// A sleep begins, or the delay before another attempt.
    Sleeping(Duration),
    /// The session took up another program; with why it stands elsewhere, if it does.
    Adopted(Option<Arc<str>>),
    /// Something went wrong that the session goes on from: a stable code and one line.
    Trouble(&'static str, Arc<str>),
}

/// Why a session did not go on.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SendError {
    /// There is no such session.
    #[error("there is no session `{0}`")]
    Unknown(SessionId),
    /// There is one of that name.
    #[error("there is a session `{0}` already")]
    Exists(SessionId),
    /// It could not begin; nothing was kept.
    #[error(transparent)]
    Start(#[from] StartError),
    /// A signal came before the session began.
    #[error("the session has not begun; nothing handles the signal `{0}`")]
    NotBegun(SignalName),
    /// The engine refused what was sent.
    #[error(transparent)]
    Refused(#[from] NavigateError),
    /// Something else is awaited.
    #[error("{expected} is awaited, not {got}")]
    NotAwaited {
        /// What is.
        expected: String,
        /// What came.
        got: String,
    },
    /// The time was up before the answer came.
    #[error("the time was up; the session went on without an answer")]
    TooLate,
    /// The keys cannot be set.
    #[error("the context cannot hold `{0}`: it is a reserved name")]
    Reserved(Arc<str>),
    /// It cannot advance, and stays where it is.
    #[error(transparent)]
    Stuck(#[from] SessionError),
    /// Its name is none that a session can have.
    #[error(transparent)]
    BadName(#[from] BadName),
    /// The store has a session of that name, of another graph.
    #[error("session `{session}` walks the graph `{graph}`, not `{here}`")]
    OtherGraph {
        /// The session.
        session: SessionId,
        /// Its graph.
        graph: Arc<str>,
        /// The graph here.
        here: Arc<str>,
    },
    /// Its graph was edited, and it fits the graph no longer.
    #[error("session `{session}` cannot go on: {why}")]
    Unfit {
        /// The session.
        session: SessionId,
        /// What is in the way.
        why: String,
    },
    /// It could not be loaded, or what happened could not be stored and did not happen. After a conflict, somebody else went on with it.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// It was told to stop, and stays where it is.
    #[error("the session was stopped where it is")]
    Stopped,
}

//! What a runner and the one at the other end say to each other, in whatever form.

use std::{io, time::Duration};

use trellis_core::{
    Input, Mapping, NodeId, SessionId, SignalName, ToolResult, Value,
    engine::{EndView, Request},
    state::PendingCall,
};

use super::Reason;
use crate::{
    binding::Delta,
    policy::Decided,
    sessions::{Stop, Waiting},
};

/// What the runner waits for.
#[derive(Clone, Copy, Debug)]
pub enum Awaited<'a> {
    /// An input that fits the request.
    Input(&'a Request),
    /// Whether this call may run.
    Approval(&'a PendingCall),
    /// The result of this call, which nothing here carries out.
    Result(&'a PendingCall),
    /// Whether a predicate holds.
    Predicate {
        /// What the answer names.
        id: &'a str,
        /// The predicate.
        name: &'a str,
    },
    /// Keys that the node needs since the graph was edited, and the session lacks: [`Command::Context`].
    Keys {
        /// The node.
        node: &'a NodeId,
        /// The keys.
        missing: &'a [String],
    },
    /// Whether a pending call stays, which its node would make otherwise since the graph was edited: [`Command::Keep`].
    Changed {
        /// The call that is pending.
        pending: &'a PendingCall,
        /// The tool that would be called now.
        now: &'a str,
    },
    /// Nothing but signals: the program is busy. Everything else is kept, in order.
    Nothing,
}

impl<'a> Awaited<'a> {
    /// What a session's stop waits for.
    pub(super) fn of(stop: &'a Stop) -> Self {
        match stop {
            Stop::Ask { request, .. } => Self::Input(request),
            Stop::Call { call, .. } => Self::Result(call),
            Stop::Approve { call, .. } => Self::Approval(call),
            Stop::Predicate { id, name, .. } => Self::Predicate { id, name },
            Stop::Keys { node, missing } => Self::Keys { node, missing },
            Stop::Changed { call, now } => Self::Changed { pending: call, now },
            Stop::Running { .. } | Stop::Sleeping { .. } | Stop::Ended(_) => Self::Nothing,
        }
    }
}

/// How something is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asking {
    /// The time until it is no longer awaited.
    pub left: Option<Duration>,
    /// Whether the same was asked before: an answer could not be taken, or an edit changed nothing about it.
    pub again: bool,
    /// The number of the question: an answer that names it is taken by this question, or by none.
    pub seq: u64,
}

/// What came from the other end.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Command {
    /// An input.
    Input(Input),
    /// What became of a call.
    Result(ToolResult),
    /// A signal.
    Signal(SignalName),
    /// Whether a call may run; nothing for the one that was asked about.
    Approve {
        /// Which call.
        id: Option<String>,
        /// Whether it may.
        yes: bool,
    },
    /// Whether a predicate holds.
    Predicate {
        /// What was asked.
        id: String,
        /// The answer.
        value: bool,
    },
    /// Keys for the context.
    Context(Mapping),
    /// Whether the pending call stays as it is, or is made again.
    Keep(bool),
    /// An input, keys, a decision or a signal, with the question that it answers.
    Addressed {
        /// The number of the question.
        seq: Option<u64>,
        /// The child that it is for, or the session itself.
        to: Option<SessionId>,
        /// The answer.
        answer: Box<Command>,
    },
    /// Something that cannot be understood.
    Bad {
        /// A stable code.
        code: &'static str,
        /// What is wrong and what is accepted.
        message: String,
    },
    /// There is no more input.
    End,
}

/// What the runner says without waiting for an answer.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Note<'a> {
    /// What a node says, as Markdown.
    Content(&'a str),
    /// A call that is carried out here begins.
    Call(&'a PendingCall),
    /// What else waits in the session, beside what is asked next: each is answered by its id.
    Awaiting(&'a [Waiting]),
    /// A line that a running tool wrote on standard error.
    Progress(&'a PendingCall, &'a str),
    /// A piece of the text that a model writes, while it writes it.
    Delta(&'a PendingCall, &'a Delta),
    /// What a policy decided about a call.
    Policy(&'a PendingCall, &'a Decided),
    /// What became of a call.
    Result(&'a PendingCall, &'a ToolResult),
    /// The result of a call breaks what its tool returns, and counts as a failure; with why.
    Refused(&'a PendingCall, &'a str),
    /// A rollback begins.
    RollingBack {
        /// Where.
        node: &'a NodeId,
        /// The failure behind it, where the node's own call failed.
        why: Option<&'a str>,
    },
    /// A sleep begins, or the delay before another attempt.
    Sleep(Duration),
    /// What an edit of the graph came to.
    Reload(&'a Reloaded<'a>),
    /// Something was refused; the session is where it was.
    Error {
        /// A stable code.
        code: &'a str,
        /// One line.
        message: &'a str,
    },
    /// The run is over.
    End(&'a RunSummary),
}

/// What an edit of the graph came to.
#[derive(Clone, Copy, Debug)]
pub enum Reloaded<'a> {
    /// The graph is sound, and the session runs it.
    Sound {
        /// Whether it had been broken.
        healed: bool,
        /// Why the session stands where it stands, if it moved, and what else there is to say, in one line.
        moved: Option<&'a str>,
    },
    /// The graph is broken, and an older version goes on.
    Broken {
        /// What is wrong.
        findings: &'a Findings,
        /// When the version that goes on was taken up, in milliseconds since 1970.
        since: u64,
    },
}

/// What is wrong with a graph, for people and for programs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Findings {
    /// Drawn, with styles.
    pub text: String,
    /// As `check --format json` has them: the list of diagnostics.
    pub json: serde_json::Value,
}

/// How a run ended.
#[derive(Clone, Debug)]
pub struct RunSummary {
    /// Why.
    pub reason: Reason,
    /// How the session ended, if it did.
    pub ended: Option<EndView>,
    /// What stopped the run, where the session did not end.
    pub message: Option<String>,
    /// Where in the graph's files it failed: `orders/pay.md:4`.
    pub place: Option<String>,
    /// What can be done about it.
    pub help: Option<&'static str>,
}

impl RunSummary {
    /// The value that the session ended with.
    pub fn output(&self) -> Option<&Value> {
        self.ended.as_ref().and_then(|ended| ended.output.as_ref())
    }
}

/// The other end of a run: a person at a terminal, or a program.
#[expect(async_fn_in_trait, reason = "a run stays on one thread; nobody sends its futures elsewhere")]
pub trait Console {
    /// Says something.
    async fn note(&mut self, note: Note<'_>) -> io::Result<()>;

    /// Asks for something.
    async fn ask(&mut self, awaited: Awaited<'_>, asking: Asking) -> io::Result<()>;

    /// Takes what comes. May be dropped before it is done: nothing is lost then.
    async fn read(&mut self, awaited: Awaited<'_>) -> io::Result<Command>;

    /// Says whose the next notes and questions are: those of a child, or of the session itself.
    fn about(&mut self, child: Option<&SessionId>) {
        let _ = child;
    }

    /// Whether an answer that could not be stored can be given again. Not where the answers were all written before: the next one would be taken for it.
    fn can_repeat(&self) -> bool {
        true
    }
}

/// A console that is lent: it outlives the run, and another may follow on it.
impl<C: Console> Console for &mut C {
    async fn note(&mut self, note: Note<'_>) -> io::Result<()> {
        (**self).note(note).await
    }

    async fn ask(&mut self, awaited: Awaited<'_>, asking: Asking) -> io::Result<()> {
        (**self).ask(awaited, asking).await
    }

    async fn read(&mut self, awaited: Awaited<'_>) -> io::Result<Command> {
        (**self).read(awaited).await
    }

    fn about(&mut self, child: Option<&SessionId>) {
        (**self).about(child);
    }

    fn can_repeat(&self) -> bool {
        (**self).can_repeat()
    }
}

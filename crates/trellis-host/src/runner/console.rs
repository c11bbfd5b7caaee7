//! The messages between a runner and the other end, in any form.

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

/// The input that the runner waits for.
#[derive(Clone, Copy, Debug)]
pub enum Awaited<'a> {
    /// An input that fits the request.
    Input(&'a Request),
    /// The approval of this call.
    Approval {
        /// The call.
        call: &'a PendingCall,
        /// The carrier of the call ([`Bindings::carrier`](crate::Bindings::carrier)).
        by: Option<&'a str>,
    },
    /// The result of this call, which nothing here carries out.
    Result(&'a PendingCall),
    /// The value of a predicate.
    Predicate {
        /// The id that the answer names.
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
    /// The decision to keep or drop a pending call, if the edited node would make a different one: [`Command::Keep`].
    Changed {
        /// The call that is pending.
        pending: &'a PendingCall,
        /// The tool that would be called now.
        now: &'a str,
    },
    /// Only signals: the program is busy. Other input is queued, in order.
    Nothing,
}

impl<'a> Awaited<'a> {
    /// Returns the input that a session's stop waits for; `by` would carry its call out.
    pub(super) fn of(stop: &'a Stop, by: Option<&'a str>) -> Self {
        match stop {
            Stop::Ask { request, .. } => Self::Input(request),
            Stop::Call { call, .. } => Self::Result(call),
            Stop::Approve { call, .. } => Self::Approval { call, by },
            Stop::Predicate { id, name, .. } => Self::Predicate { id, name },
            Stop::Keys { node, missing } => Self::Keys { node, missing },
            Stop::Changed { call, now } => Self::Changed { pending: call, now },
            Stop::Running { .. } | Stop::Sleeping { .. } | Stop::Ended(_) => Self::Nothing,
        }
    }
}

/// The circumstances of a question.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asking {
    /// The time until it is no longer awaited.
    pub left: Option<Duration>,
    /// True if the same question was asked before: an answer was refused, or an edit changed nothing about it.
    pub again: bool,
    /// The number of the question: an answer that names it is taken by this question, or by none.
    pub seq: u64,
}

/// A command from the other end.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Command {
    /// An input.
    Input(Input),
    /// The result of a call.
    Result(ToolResult),
    /// A signal.
    Signal(SignalName),
    /// The decision about a call; without an id, about the one in question.
    Approve {
        /// The call.
        id: Option<String>,
        /// True if it may run.
        yes: bool,
    },
    /// The value of a predicate.
    Predicate {
        /// The id of the question.
        id: String,
        /// The answer.
        value: bool,
    },
    /// Keys for the context.
    Context(Mapping),
    /// True to keep the pending call, false to make it again.
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
        /// The mistake, and the accepted input.
        message: String,
    },
    /// There is no more input.
    End,
}

/// A message of the runner that needs no answer.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Note<'a> {
    /// The content of a node, as Markdown.
    Content(&'a str),
    /// A call that is carried out here begins.
    Call(&'a PendingCall),
    /// The other waits in the session, before the next question: each is answered by its id.
    Awaiting(&'a [Waiting]),
    /// A line that a running tool wrote on standard error.
    Progress(&'a PendingCall, &'a str),
    /// A piece of the text that a model writes, while it writes it.
    Delta(&'a PendingCall, &'a Delta),
    /// The decision of a policy about a call.
    Policy(&'a PendingCall, &'a Decided),
    /// The result of a call.
    Result(&'a PendingCall, &'a ToolResult),
    /// The result of a call violates `returns` of its tool, and counts as a failure; with the reason.
    Refused(&'a PendingCall, &'a str),
    /// A rollback begins.
    RollingBack {
        /// The node.
        node: &'a NodeId,
        /// The failure behind it, where the node's own call failed.
        why: Option<&'a str>,
    },
    /// A sleep begins, or the delay before another attempt.
    Sleep(Duration),
    /// The result of an edit of the graph.
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

/// The result of an edit of the graph.
#[derive(Clone, Copy, Debug)]
pub enum Reloaded<'a> {
    /// The graph is sound, and the session runs it.
    Sound {
        /// True if it had been broken.
        healed: bool,
        /// The reason why the session is at its node, if it moved, and further remarks, in one line.
        moved: Option<&'a str>,
    },
    /// The graph is broken, and an older version stays in use.
    Broken {
        /// The findings.
        findings: &'a Findings,
        /// The time at which the version in use was taken up, in milliseconds since 1970.
        since: u64,
    },
}

/// The findings about a graph, for people and for programs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Findings {
    /// Drawn, with styles.
    pub text: String,
    /// As `check --format json` has them: the list of diagnostics.
    pub json: serde_json::Value,
}

/// The end of a run.
#[derive(Clone, Debug)]
pub struct RunSummary {
    /// The reason.
    pub reason: Reason,
    /// The end of the session, if it ended.
    pub ended: Option<EndView>,
    /// The reason why the run stopped, if the session did not end.
    pub message: Option<String>,
    /// The place in the graph's files where it failed: `orders/pay.md:4`.
    pub place: Option<String>,
    /// The remedy.
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
    /// Shows a message.
    async fn note(&mut self, note: Note<'_>) -> io::Result<()>;

    /// Asks for something.
    async fn ask(&mut self, awaited: Awaited<'_>, asking: Asking) -> io::Result<()>;

    /// Reads the next command. May be dropped before it is done: nothing is lost then.
    async fn read(&mut self, awaited: Awaited<'_>) -> io::Result<Command>;

    /// Sets the session of the next notes and questions: a child, with the name of the branch that it is, or the session itself.
    fn about(&mut self, child: Option<&SessionId>, branch: Option<&str>) {
        let _ = (child, branch);
    }

    /// Returns whether the texts of branches that ask side by side are shown with their questions, for people, and not in the order of the journal.
    fn groups_questions(&self) -> bool {
        true
    }

    /// Returns whether an answer that could not be stored can be given again. Not if the answers were all written before: the next one would be taken
    /// for it.
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

    fn about(&mut self, child: Option<&SessionId>, branch: Option<&str>) {
        (**self).about(child, branch);
    }

    fn groups_questions(&self) -> bool {
        (**self).groups_questions()
    }

    fn can_repeat(&self) -> bool {
        (**self).can_repeat()
    }
}

//! What a runner and the one at the other end say to each other, in whatever form.

use std::io;

use trellis_core::{
    Input, SignalName, ToolOutcome, ToolResult, Value,
    engine::{EndView, Request},
    state::PendingCall,
};

use super::Reason;

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
    /// Nothing but signals: the program is busy. Everything else is kept, in order.
    Nothing,
}

/// What came from the other end.
#[derive(Clone, Debug, PartialEq)]
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
pub enum Note<'a> {
    /// What a node says, as Markdown.
    Content(&'a str),
    /// A call that is carried out here begins.
    Call(&'a PendingCall),
    /// What became of a call.
    Result(&'a PendingCall, &'a ToolOutcome),
    /// Something was refused; the session is where it was.
    Error {
        /// A stable code.
        code: &'a str,
        /// One line.
        message: &'a str,
    },
    /// The run is over.
    End(&'a Farewell),
}

/// How a run ended.
#[derive(Clone, Debug)]
pub struct Farewell {
    /// Why.
    pub reason: Reason,
    /// How the session ended, if it did.
    pub ended: Option<EndView>,
    /// What stopped the run, where the session did not end.
    pub message: Option<String>,
}

impl Farewell {
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

    /// Asks for something; `again` after an answer that could not be taken.
    async fn ask(&mut self, awaited: Awaited<'_>, again: bool) -> io::Result<()>;

    /// Takes what comes. May be dropped before it is done: nothing is lost then.
    async fn read(&mut self, awaited: Awaited<'_>) -> io::Result<Command>;
}

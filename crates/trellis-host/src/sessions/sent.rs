//! The inputs of clients, each with the question that it answers.

use std::sync::Arc;

use trellis_core::{Input, Mapping, SessionId, id::CallId};

/// An input of a client, and the question that it answers.
///
/// An input, a context and a decision about a call name the question by [`Turn::asked`](super::Turn::asked) or [`Turn::seq`](super::Turn::seq); without a number they answer the current
/// question. Results, approvals and answers of predicates name their call or question, and signals belong to no question: their number is ignored.
///
/// ```
/// use trellis_core::{Input, SessionId};
/// use trellis_host::{Reply, Sent};
///
/// // An answer to the question that was asked at record 4, by the child that asked it.
/// let sent = Sent { expected: Some(4), ..Sent::from(Input::Text("yes".into())) }.to(SessionId::from("order/1"));
/// assert_eq!(sent.reply, Reply::Input(Input::Text("yes".into())));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Sent {
    /// The number of the turn that it answers.
    pub expected: Option<u64>,
    /// The child that an input or a signal is for; `None` for the first question. The session itself has its own name.
    pub to: Option<SessionId>,
    /// The input.
    pub reply: Reply,
}

impl Sent {
    /// Addresses one child of the session, or the session itself, by its name.
    #[must_use]
    pub fn to(self, session: SessionId) -> Self {
        Self { to: Some(session), ..self }
    }
}

impl From<Reply> for Sent {
    fn from(reply: Reply) -> Self {
        Self { expected: None, to: None, reply }
    }
}

impl From<Input> for Sent {
    fn from(input: Input) -> Self {
        Reply::Input(input).into()
    }
}

/// An input of a client.
///
/// ```
/// # use trellis_core::{Dialect, Document, Engine, Predicates, Source, compile};
/// use trellis_core::{Start, Value};
/// use trellis_host::{Bindings, Reply, Sessions, Stop};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let files = [("start.md", "---\ntools: [{ name: pay }]\ndo: { name: pay, approve: true }\non_error: end\non_denied: end\nto: end\n---\n"), ("end.md", "---\n---\nDone.\n")];
/// # let documents = files.map(|(path, text)| Document::parse(&Source::text(path, text), Dialect::default()).into());
/// # let engine = Engine::new(compile(&documents).program.ok_or("the graph has mistakes")?, Predicates::new())?;
/// let sessions = Sessions::new(engine, Bindings::none().function("pay", |_, _| Ok(Value::Null)))?;
/// let turn = sessions.start(Start::default()).await?;
/// let Stop::Approve { call, .. } = &turn.stop else { return Err("it needs an approval".into()) };
///
/// let turn = sessions.send(&turn.session, Reply::Approve { call: Some(call.id.clone()), yes: true }).await?;
/// assert!(matches!(turn.stop, Stop::Ended(_)));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// An answer, a result or a signal.
    Input(Input),
    /// The decision about a call.
    Approve {
        /// The call; `None` for the one that is held.
        call: Option<CallId>,
        /// True if it may run.
        yes: bool,
    },
    /// The value of a predicate.
    Predicate {
        /// The id of the question.
        id: Arc<str>,
        /// The answer.
        holds: bool,
    },
    /// Keys for the context.
    Context(Mapping),
    /// True to keep the pending call, false to make it again.
    Keep(bool),
}

impl Reply {
    /// Returns whether it answers a question that only a number names.
    pub(super) fn is_for_a_question(&self) -> bool {
        match self {
            Self::Input(input) => !matches!(input, Input::Result(_) | Input::Signal(_)),
            Self::Context(_) | Self::Keep(_) => true,
            Self::Approve { .. } | Self::Predicate { .. } => false,
        }
    }
}

impl From<Input> for Reply {
    fn from(input: Input) -> Self {
        Self::Input(input)
    }
}

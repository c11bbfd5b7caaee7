//! The messages between sessions and their clients.

use std::{sync::Arc, time::Duration};

use trellis_core::{
    Context, NodeId, SessionId, ToolResult,
    engine::{Call, EndView, Request, Unanswered},
};

use super::sent::{Reply, Sent};
use crate::{
    binding::Delta,
    journal::Record,
    policy::{Budget, Decided, Spent},
    session::Session,
    store::SessionStatus,
};

/// The stop of a session, and the content that it showed before.
///
/// ```
/// # use trellis_core::{Dialect, Document, Engine, Predicates, Source, compile};
/// use trellis_core::{Input, Start};
/// use trellis_host::{Bindings, Sessions, Stop};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let files = [("start.md", "---\ninput_type: text\nsave_to: name\nto: hello\n---\nYour name?\n"), ("hello.md", "---\n---\nHello {{ name }}.\n")];
/// # let documents = files.map(|(path, text)| Document::parse(&Source::text(path, text), Dialect::default()).into());
/// # let engine = Engine::new(compile(&documents).program.ok_or("the graph has mistakes")?, Predicates::new())?;
/// let sessions = Sessions::new(engine, Bindings::none())?;
/// let turn = sessions.start(Start::default()).await?;
/// assert_eq!(&*turn.said[0].text, "Your name?\n");
/// assert!(matches!(turn.stop, Stop::Ask { .. }));
///
/// let turn = sessions.send(&turn.session, turn.answer(Input::Text("Ana".into()))).await?;
/// assert_eq!(&*turn.said[0].text, "Hello Ana.\n");
/// assert!(matches!(turn.stop, Stop::Ended(_)));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Turn {
    /// The session.
    pub session: SessionId,
    /// The number of the record that comes next.
    pub seq: u64,
    /// The number from which on this is asked. An answer that names it, or `seq`, is taken while the same is asked: [`Turn::answer`].
    pub asked: u64,
    /// The child that needs it; `None` for the session itself.
    pub child: Option<SessionId>,
    /// The node that needs it.
    pub node: NodeId,
    /// The wait of the session as a whole, or its end.
    pub standing: SessionStatus,
    /// The fingerprint of the program that it is on.
    pub program: Arc<str>,
    /// The content of its nodes since the last turn; from [`crate::Sessions::resume`] and [`crate::Sessions::view`], if there was none
    /// since, that of the present one.
    pub said: Vec<Said>,
    /// The events since the last turn, the last [`MAX_HAPPENED`] of them: content of its nodes, its calls and their results, decisions of policies,
    /// edits. Empty in a turn that advanced nothing.
    pub happened: Vec<SessionEvent>,
    /// True if there were more events.
    pub has_more: bool,
    /// Its need.
    pub stop: Stop,
    /// The other waits and sleeps in its tree: each can be answered before `stop`, by its id or with [`Sent::to`].
    pub others: Arc<Vec<Waiting>>,
    /// The bounds of its calls.
    pub budget: Budget,
    /// The amount that its calls have spent.
    pub spent: Spent,
}

/// The content of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// The child that the node belongs to; `None` for the session itself.
    pub child: Option<SessionId>,
    /// The node.
    pub node: NodeId,
    /// Its words, as Markdown.
    pub text: Arc<str>,
}

/// The need of one session of a tree.
#[derive(Clone, Debug, PartialEq)]
pub struct Waiting {
    /// The child; `None` for the session itself.
    pub child: Option<SessionId>,
    /// Its node.
    pub node: NodeId,
    /// The number from which on this is asked.
    pub asked: u64,
    /// Its need.
    pub stop: Stop,
}

/// The largest number of events of a turn.
pub const MAX_HAPPENED: usize = 200;

impl Turn {
    /// Returns the turn of a session in its current state.
    pub(super) fn of(session: &Session, first: Waiting) -> Self {
        let state = session.state();
        let turn = Self::before(state.session_id.clone(), Arc::clone(&state.program), first);
        Self { seq: session.journal().next_seq(), standing: SessionStatus::of(state), spent: session.here().spent, ..turn }
    }

    /// The turn of a session that has not begun.
    pub(super) fn before(session: SessionId, program: Arc<str>, first: Waiting) -> Self {
        let Waiting { child, node, asked, stop } = first;
        Self {
            session,
            seq: 0,
            asked,
            child,
            node,
            standing: SessionStatus::Active,
            program,
            said: Vec::new(),
            happened: Vec::new(),
            has_more: false,
            stop,
            others: Arc::default(),
            budget: Budget::default(),
            spent: Spent::default(),
        }
    }

    /// Returns its need, as one of the waits of its tree.
    pub(crate) fn first(&self) -> Waiting {
        Waiting { child: self.child.clone(), node: self.node.clone(), asked: self.asked, stop: self.stop.clone() }
    }

    /// Returns the time at which it continues by itself, in milliseconds since 1970: the first of its waits ends, or a sleep beside that elapses.
    pub fn due(&self) -> Option<u64> {
        self.stop.due().into_iter().chain(self.others.iter().filter_map(|other| other.stop.acts_at())).min()
    }

    /// Returns an answer to this turn, and to no other.
    pub fn answer(&self, reply: impl Into<Reply>) -> Sent {
        Sent { expected: Some(self.asked), to: self.child.clone(), reply: reply.into() }
    }
}

/// The need of a session from its client. `due` is the time at which it stops waiting for that, in milliseconds since 1970:
/// [`crate::Sessions::resume`] then returns the next turn.
#[derive(Clone, Debug, PartialEq)]
pub enum Stop {
    /// An input: [`Reply::Input`].
    Ask {
        /// The accepted input.
        request: Request,
        /// The end of its `timeout`.
        due: Option<u64>,
    },
    /// A call that nothing here carries out: [`Reply::Input`] with its result.
    Call {
        /// The call.
        call: Call,
        /// The end of its `timeout`.
        due: Option<u64>,
    },
    /// The approval of a call: [`Reply::Approve`].
    Approve {
        /// Exactly this call, with these arguments.
        call: Call,
        /// The time at which the approval expires; it is denied then.
        due: Option<u64>,
    },
    /// The value of a predicate: [`Reply::Predicate`] (language 6.2).
    Predicate {
        /// The predicate and the step that asks for it.
        id: Arc<str>,
        /// Its name.
        name: Arc<str>,
        /// The context that it is asked about: the one after the writes of its step (language 7.3). It may contain private values.
        context: Context,
    },
    /// Keys that the node needs on the program as it is now: [`Reply::Context`].
    Keys {
        /// The node.
        node: NodeId,
        /// The keys.
        missing: Vec<String>,
    },
    /// The decision to keep or drop a pending call, if the edited node would make a different one: [`Reply::Keep`].
    Changed {
        /// The call that is pending.
        call: Call,
        /// The tool that would be called now.
        now: Arc<str>,
    },
    /// No need for now: it works by itself ([`crate::Policy::is_detached`], [`crate::Sessions::view`]).
    Running {
        /// The node.
        node: NodeId,
        /// The call that is carried out, if it is one.
        call: Option<Call>,
        /// Since when, in milliseconds since 1970.
        since: u64,
    },
    /// No need for now: it sleeps, or waits before another attempt at a call.
    Sleeping {
        /// The node.
        node: NodeId,
        /// Until when, in milliseconds since 1970.
        until: u64,
    },
    /// No further need.
    Ended(EndView),
}

impl Stop {
    /// The question whether a predicate holds.
    pub(super) fn predicate(id: Arc<str>, Unanswered { name, context, .. }: Unanswered) -> Self {
        Self::Predicate { id, name, context }
    }

    /// Returns the time at which it changes by itself, in milliseconds since 1970: it stops waiting, or a sleep elapses.
    pub fn acts_at(&self) -> Option<u64> {
        match self {
            Self::Sleeping { until, .. } => Some(*until),
            stop => stop.due(),
        }
    }

    /// Stops waiting at this time at the latest: a call around it takes too long then.
    pub(super) fn due_by(mut self, until: Option<u64>) -> Self {
        if let Self::Ask { due, .. } | Self::Call { due, .. } | Self::Approve { due, .. } = &mut self {
            *due = due.iter().copied().chain(until).min();
        }
        self
    }

    /// Returns the call that waits for an approval.
    pub fn held_call(&self) -> Option<&Call> {
        if let Self::Approve { call, .. } = self { Some(call) } else { None }
    }

    /// Returns the time at which it stops waiting, in milliseconds since 1970.
    pub fn due(&self) -> Option<u64> {
        match self {
            Self::Ask { due, .. } | Self::Call { due, .. } | Self::Approve { due, .. } => *due,
            Self::Predicate { .. } | Self::Keys { .. } | Self::Changed { .. } => None,
            Self::Running { .. } | Self::Sleeping { .. } | Self::Ended(_) => None,
        }
    }
}

/// An event between two turns.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum SessionEvent {
    /// Records were stored: reported right after their append, and before every other event about them. Only with a store.
    Recorded(Arc<[Record]>),
    /// The content of a node, as Markdown.
    Said(Arc<str>),
    /// An input was counted as invalid, with the message (language 6.5).
    Invalid(Arc<str>),
    /// A call begins to be carried out.
    Calling(Call),
    /// A running tool reports progress: one line.
    Progress(Call, Arc<str>),
    /// A piece of the text that a model writes for a call, while it writes it (language 9.21).
    Delta(Call, Delta),
    /// A policy decided about a call (language 11.3).
    Ruled(Call, Arc<Decided>),
    /// The result of a call that was carried out, answered or denied here.
    Returned(Call, ToolResult),
    /// The result of a call violates `returns` of its tool (language 5.3), and counts as a failure; with the reason.
    Refused(Call, Arc<str>),
    /// A rollback begins that has something to undo: where, and the failure behind it, where the node's own call failed.
    RollingBack {
        /// The node.
        node: NodeId,
        /// The failure of the node's own call.
        why: Option<Arc<str>>,
    },
    /// A result that a client gave was taken, or a bound tool answered a predicate.
    Given(Call, ToolResult),
    /// A sleep begins, or the delay before another attempt.
    Sleeping(Duration),
    /// The session took up another program; with the reason why it is elsewhere, if it moved.
    Adopted(Option<Arc<str>>),
    /// Trouble after which the session continues: a stable code and one line.
    Trouble(&'static str, Arc<str>),
    /// Something happens in a child of the session; never in another `InChild`.
    InChild(SessionId, Box<SessionEvent>),
}

impl SessionEvent {
    /// The event as one of a child, or of the session itself.
    pub(super) fn of_child(self, child: Option<&SessionId>) -> Self {
        match child {
            None => self,
            Some(child) => Self::InChild(child.clone(), Box::new(self)),
        }
    }

    /// Returns the child that it belongs to, `None` for the session itself, and the event in it.
    pub fn split(&self) -> (Option<&SessionId>, &Self) {
        match self {
            Self::InChild(child, event) => (Some(child), event),
            event => (None, event),
        }
    }
}

//! What sessions and their clients say to each other.

use std::{sync::Arc, time::Duration};

use trellis_core::{
    Context, Input, Mapping, NodeId, SessionId, ToolResult,
    engine::{Call, EndView, Request, Unanswered},
    id::CallId,
};

use crate::{binding::Delta, journal::Record, policy::Decided, session::Session, store::SessionStatus};

/// Where a session stopped, and what it said on the way.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Turn {
    /// The session.
    pub session: SessionId,
    /// The number of the record that comes next.
    pub seq: u64,
    /// The number from which on this is asked. An answer that names it, or `seq`, is taken while the same is asked: [`Turn::answer`].
    pub asked: u64,
    /// The child that needs it; nothing where the session itself does.
    pub child: Option<SessionId>,
    /// The node that needs it.
    pub node: NodeId,
    /// What the session waits for as a whole, or how it ended.
    pub standing: SessionStatus,
    /// The fingerprint of the program that it is on.
    pub program: Arc<str>,
    /// What its nodes said since the last turn; from [`crate::Sessions::resume`] and [`crate::Sessions::view`], where they said nothing
    /// since, what the present one said.
    pub said: Vec<Said>,
    /// What happened since the last turn, the last [`MAX_HAPPENED`] of it: what its nodes said, its calls and their results, decisions of policies,
    /// edits. Nothing in a turn that nobody went on for.
    pub happened: Vec<SessionEvent>,
    /// Whether more happened.
    pub has_more: bool,
    /// What it needs.
    pub stop: Stop,
    /// What else waits in its tree, and what sleeps there: each can be answered before `stop`, by its id or with [`Sent::to`].
    pub others: Arc<Vec<Waiting>>,
}

/// Something that a node said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// The child whose node it is; nothing for the session itself.
    pub child: Option<SessionId>,
    /// The node.
    pub node: NodeId,
    /// Its words, as Markdown.
    pub text: Arc<str>,
}

/// What one session of a tree needs.
#[derive(Clone, Debug, PartialEq)]
pub struct Waiting {
    /// The child; nothing for the session itself.
    pub child: Option<SessionId>,
    /// Its node.
    pub node: NodeId,
    /// The number from which on this is asked.
    pub asked: u64,
    /// What it needs.
    pub stop: Stop,
}

/// How much of what happened a turn has.
pub const MAX_HAPPENED: usize = 200;

impl Turn {
    /// The turn of a session that stands where its state says.
    pub(super) fn of(session: &Session, first: Waiting) -> Self {
        let state = session.state();
        let turn = Self::before(state.session_id.clone(), Arc::clone(&state.program), first);
        Self { seq: session.journal().next_seq(), standing: SessionStatus::of(state), ..turn }
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
        }
    }

    /// What it needs, as one of what its tree waits for.
    pub(crate) fn first(&self) -> Waiting {
        Waiting { child: self.child.clone(), node: self.node.clone(), asked: self.asked, stop: self.stop.clone() }
    }

    /// When something of it goes on by itself, in milliseconds since 1970: it stops waiting for the first of what it waits for, or a sleep beside that
    /// is over.
    pub fn due(&self) -> Option<u64> {
        self.stop.due().into_iter().chain(self.others.iter().filter_map(|other| other.stop.acts_at())).min()
    }

    /// What answers this turn, and no other.
    pub fn answer(&self, reply: impl Into<Reply>) -> Sent {
        Sent { expected: Some(self.asked), to: self.child.clone(), reply: reply.into() }
    }
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
    Approve {
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
        /// What it is asked about: the context after the writes of its step (language 7.3). It is not for everybody to see.
        context: Context,
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
    /// Nothing for now: it works by itself ([`crate::Policy::is_detached`], [`crate::Sessions::view`]).
    Running {
        /// Where.
        node: NodeId,
        /// The call that is carried out, if it is one.
        call: Option<Call>,
        /// Since when, in milliseconds since 1970.
        since: u64,
    },
    /// Nothing for now: it sleeps, or waits before another attempt at a call.
    Sleeping {
        /// Where.
        node: NodeId,
        /// Until when, in milliseconds since 1970.
        until: u64,
    },
    /// Nothing any more.
    Ended(EndView),
}

impl Stop {
    /// The question whether a predicate holds.
    pub(super) fn predicate(id: Arc<str>, Unanswered { name, context, .. }: Unanswered) -> Self {
        Self::Predicate { id, name, context }
    }

    /// When something becomes of it by itself, in milliseconds since 1970: it stops waiting, or a sleep is over.
    pub fn acts_at(&self) -> Option<u64> {
        match self {
            Self::Sleeping { until, .. } => Some(*until),
            stop => stop.due(),
        }
    }

    /// When it stops waiting, in milliseconds since 1970.
    pub fn due(&self) -> Option<u64> {
        match self {
            Self::Ask { due, .. } | Self::Call { due, .. } | Self::Approve { due, .. } => *due,
            Self::Predicate { .. } | Self::Keys { .. } | Self::Changed { .. } => None,
            Self::Running { .. } | Self::Sleeping { .. } | Self::Ended(_) => None,
        }
    }
}

/// What a client sends, and what it answers.
///
/// An input, a context and a decision about a call name the question by [`Turn::asked`] or [`Turn::seq`]; without a number they are taken for whatever
/// is asked. Results, approvals and answers of predicates name what they belong to, and signals belong to no question: their number is not looked at.
#[derive(Clone, Debug, PartialEq)]
pub struct Sent {
    /// The number of the turn that it answers.
    pub expected: Option<u64>,
    /// The child that an input or a signal is for; nothing for what is asked first. The session itself has its own name.
    pub to: Option<SessionId>,
    /// What is sent.
    pub reply: Reply,
}

impl Sent {
    /// The same for one child of the session, or for the session itself, by its name.
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

impl Reply {
    /// Whether it answers a question that only a number names.
    pub(super) fn is_for_a_question(&self) -> bool {
        match self {
            Self::Input(input) => !matches!(input, Input::Result(_) | Input::Signal(_)),
            Self::Context(_) | Self::Keep(_) => true,
            Self::Approve { .. } | Self::Predicate { .. } => false,
        }
    }

    /// Whether it is the result of a call, which may come at any time (language 7.6).
    pub(super) fn is_result(&self) -> bool {
        matches!(self, Self::Input(Input::Result(_)))
    }
}

impl From<Input> for Reply {
    fn from(input: Input) -> Self {
        Self::Input(input)
    }
}

/// What happens between two turns.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum SessionEvent {
    /// Records were stored: told right after their append, and before everything else that is told of them. Not where there is no store.
    Recorded(Arc<[Record]>),
    /// A node says something, as Markdown.
    Said(Arc<str>),
    /// An input was counted as invalid, with what to say (language 6.5).
    Invalid(Arc<str>),
    /// A call begins to be carried out.
    Calling(Call),
    /// A running tool says something about its progress: one line.
    Progress(Call, Arc<str>),
    /// A piece of the text that a model writes for a call, while it writes it (world 9.21).
    Delta(Call, Delta),
    /// A policy decided about a call (world 11.3).
    Ruled(Call, Arc<Decided>),
    /// What became of a call that was carried out, answered or denied here.
    Returned(Call, ToolResult),
    /// The result of a call breaks what its tool returns (language 5.3), and counts as a failure; with why.
    Refused(Call, Arc<str>),
    /// A rollback begins that has something to undo: where, and the failure behind it, where the node's own call failed.
    RollingBack {
        /// Where.
        node: NodeId,
        /// The failure of the node's own call.
        why: Option<Arc<str>>,
    },
    /// A result that a client gave was taken, or a bound tool answered a predicate.
    Given(Call, ToolResult),
    /// A sleep begins, or the delay before another attempt.
    Sleeping(Duration),
    /// The session took up another program; with why it stands elsewhere, if it does.
    Adopted(Option<Arc<str>>),
    /// Something went wrong that the session goes on from: a stable code and one line.
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

    /// The child that it happens in, nothing for the session itself, and what happens.
    pub fn split(&self) -> (Option<&SessionId>, &Self) {
        match self {
            Self::InChild(child, event) => (Some(child), event),
            event => (None, event),
        }
    }
}

//! Policies of sessions: the actions that they take without a client.

#[expect(unused_imports, reason = "the docs lead there")]
use super::{SessionEvent, Sessions, Stop};

/// Another program is not taken up: a hook does not let it be, or it would not start either.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the graph is not taken up: {0}")]
pub struct Vetoed(pub String);

/// The actions that sessions take without a client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Policy {
    /// Calls that need an approval have it (`--yes`).
    pub approve_all: bool,
    /// The handling of calls without a binding here.
    pub unbound: Unbound,
    /// True if `start`, `send` and `resume` return as soon as a session works by itself, with [`Stop::Running`] or [`Stop::Sleeping`], and leave the
    /// rest to [`Sessions::drive`], here or in another process. It needs a store; without one sessions are advanced at once. While nothing here
    /// drives them, that is told once: [`SessionEvent::Trouble`] with `not-driven`.
    pub is_detached: bool,
    /// True if the client answers calls of graphs, as it does calls of tools; else each is a child session (language 10.7).
    pub answers_graphs: bool,
}

impl Policy {
    /// Creates a policy that approves by hand, asks the client for results of unbound calls, and waits until a client is needed.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets [`Policy::approve_all`].
    #[must_use]
    pub fn approve_all(self, approve_all: bool) -> Self {
        Self { approve_all, ..self }
    }

    /// Sets [`Policy::answers_graphs`].
    #[must_use]
    pub fn answers_graphs(self, answers_graphs: bool) -> Self {
        Self { answers_graphs, ..self }
    }

    /// Sets [`Policy::unbound`].
    #[must_use]
    pub fn unbound(self, unbound: Unbound) -> Self {
        Self { unbound, ..self }
    }

    /// Sets [`Policy::is_detached`].
    #[must_use]
    pub fn detached(self, is_detached: bool) -> Self {
        Self { is_detached, ..self }
    }
}

/// The handling of calls without a binding here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unbound {
    /// The client carries them out, within the call's timeout: [`Stop::Call`].
    #[default]
    Elsewhere,
    /// A person types their result in and takes the time they need: [`Stop::Call`] too.
    TypedIn,
    /// They fail.
    Fail,
}

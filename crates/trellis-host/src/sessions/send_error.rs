//! The reasons why a session did not continue with an input.

use std::sync::Arc;

use trellis_core::{NavigateError, SessionId, SignalName, engine::StartError, id::CallId, program::KeyExcess};

use super::Turn;
use crate::{
    journal::NoRandom,
    session::SessionError,
    store::{BadName, StoreError},
};

/// The reason why a session did not continue.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// There is no such session.
    #[error("there is no session `{0}`")]
    Unknown(SessionId),
    /// There is one of that name.
    #[error("there is a session `{0}` already")]
    Exists(SessionId),
    /// It could not begin; nothing was stored.
    #[error(transparent)]
    Start(#[from] StartError),
    /// It has no keys for its calls: nothing began.
    #[error(transparent)]
    NoRandom(#[from] NoRandom),
    /// A signal came before the session began.
    #[error("the session has not begun; nothing handles the signal `{0}`")]
    NotBegun(SignalName),
    /// It has no such child that is alive.
    #[error("the session has no child `{0}` that is alive")]
    UnknownChild(SessionId),
    /// The engine refused the input.
    #[error(transparent)]
    Refused(#[from] NavigateError),
    /// Something else is awaited.
    #[error("{expected} is awaited, not {got}")]
    NotAwaited {
        /// The expected input.
        expected: String,
        /// The input that came.
        got: String,
    },
    /// The result of a call is not its sender's to give (language C.8). Nothing was taken.
    #[error("the result of call `{call}` is not a client's to give: {}{why}", of_part(.part.as_ref()))]
    NotYours {
        /// The call.
        call: CallId,
        /// The part of it by which that is so, if it is not the call itself.
        part: Option<CallId>,
        /// The reason.
        why: NotYours,
    },
    /// Something else is asked since the turn that it answers; nothing was taken.
    #[error("this answers an earlier question; the session has advanced since, and asks something else now")]
    Stale(Box<Turn>),
    /// This request was taken before; nothing was done now. With where the session is.
    #[error("this request was taken before")]
    Repeated(Box<Turn>),
    /// Another request had this name.
    #[error("another request to session `{0}` had this key; a key names one request")]
    KeyReused(SessionId),
    /// The time was up before the answer came; nothing was taken. With where the session is now.
    #[error("the time was up; the session continued without an answer")]
    TooLate(Box<Turn>),
    /// The keys cannot be set.
    #[error("the context cannot hold `{0}`: it is a reserved name")]
    Reserved(Arc<str>),
    /// The keys, or the context with them, are above a bound.
    #[error(transparent)]
    Excess(#[from] KeyExcess),
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
    #[error("session `{session}` cannot continue: {why}")]
    Unfit {
        /// The session.
        session: SessionId,
        /// The blocker.
        why: String,
    },
    /// It could not be loaded, or a step could not be stored and did not happen. After a conflict, another writer advanced it.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// It takes nothing new any more: [`crate::Sessions::stop`].
    #[error("the host is stopping; send it again when it is back")]
    Stopping,
    /// Foreign code in it panicked; it is loaded again the next time, if there is a store.
    #[error("a bug stopped the session: {0}")]
    Panicked(String),
    /// It was told to stop, and stays where it is.
    #[error("the session was stopped where it is")]
    Stopped,
}

/// The words for the part of a call by which its result is refused.
fn of_part(part: Option<&CallId>) -> String {
    part.map(|part| format!("of its part `{part}`, ")).unwrap_or_default()
}

/// The reason why the result of a call is not its sender's to give.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotYours {
    /// It needs an approval that was not given, or was not when the result came.
    #[error("it waits for an approval")]
    Held,
    /// It waits before another attempt.
    #[error("it waits before its next attempt")]
    Delayed,
    /// A binding carries it out here, or it is a child session here.
    #[error("it is carried out here")]
    CarriedOutHere,
    /// Nobody is asked to carry it out: policy and interceptors have not let it, it was left before they did, or it was answered and is tried again.
    #[error("nobody is asked to carry it out")]
    NotAsked,
}

//! The stable codes of refusals: each error of a session has one, at every door.

use crate::{session::SessionError, sessions::SendError, store::StoreError};

impl SendError {
    /// Returns the stable code of the refusal, for programs. JSON Lines distinguish fewer: [`SendError::line_code`].
    pub fn code(&self) -> &'static str {
        match self {
            Self::Refused(refusal) => refusal.code(),
            Self::Stuck(SessionError::Refused(_)) => "refused",
            Self::Excess(_) => "excess",
            Self::NotAwaited { .. } => "wrong-kind",
            Self::NotYours { .. } => "not-yours",
            Self::NotBegun(_) => "unhandled-signal",
            Self::UnknownChild(_) => "unknown-child",
            Self::Reserved(_) => "reserved-name",
            Self::TooLate(_) => "too-late",
            Self::Stale(_) => "conflict",
            Self::Stuck(SessionError::PassThrough { .. }) => "pass-through",
            Self::Stuck(SessionError::Render(_)) => "render",
            Self::Store(error) => error.code(),
            Self::BadName(_) => "bad-name",
            Self::OtherGraph { .. } => "other-graph",
            Self::Unfit { .. } => "unfit",
            Self::Unknown(_) => "unknown-session",
            Self::Exists(_) => "session-exists",
            Self::Start(_) => "start-refused",
            Self::Stopped => "stopped",
            Self::Stopping => "stopping",
            Self::Repeated(_) => "repeated",
            Self::KeyReused(_) => "key-reused",
            Self::NoRandom(_) | Self::Panicked(_) => "internal",
        }
    }

    /// Returns the code of an `ERROR` of JSON Lines: one session is advanced there, and one store holds it.
    pub fn line_code(&self) -> &'static str {
        match self {
            Self::Store(StoreError::Conflict { .. }) => "conflict",
            Self::Store(_) => "store",
            Self::BadName(_) | Self::OtherGraph { .. } | Self::Unfit { .. } | Self::Unknown(_) | Self::Exists(_) => "session",
            Self::Start(_) | Self::Stopped | Self::Stopping | Self::Repeated(_) | Self::KeyReused(_) => "session",
            Self::Panicked(_) => "panicked",
            are_distinct => are_distinct.code(),
        }
    }
}

impl StoreError {
    /// The stable code of the failure, for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Conflict { .. } => "conflict",
            Self::Unavailable { .. } => "store-unavailable",
            Self::Unwritable { .. } => "store-unwritable",
            Self::Newer { .. } | Self::Corrupt { .. } | Self::Key(_) => "lost",
            Self::Spec(_) => "internal",
        }
    }
}

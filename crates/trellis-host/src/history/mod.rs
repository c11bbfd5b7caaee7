//! The history of stored sessions: read, taken up elsewhere, asked again, held against the graph as it is now.
//!
//! ```text
//! SessionStore ──open──▶ History ──at──▶ State, replay, transcript, hops
//! Operator { store, engine } ──fork, back, goto, set, approve, deny, settle──▶ one more record
//! Check { store, engine } ──▶ Checked, Checked …          each stored session against the graph as it is now
//! ```
//!
//! **Invariant:** history is never rewritten: each operation on a session is one more record, appended only if no other writer was faster.

mod approval;
mod check;
mod dead;
mod operator;
mod path;
mod read;
mod redact;
mod replay;
mod secret_places;
mod settle;
mod transcript;
mod walk;

use trellis_core::{SessionId, engine::NotEntered};

pub use self::{
    approval::{PendingApproval, Undecided},
    check::{Check, Checked, EditVerdict},
    dead::UnsettledLetter,
    operator::{Operator, Put},
    path::hops,
    read::{Flaw, History, state_at},
    redact::Redactor,
    replay::{Replayed, replay},
    secret_places::SecretPlaces,
    transcript::{Transcript, transcript},
    walk::{RecordWalk, WalkedRecord},
};
use crate::{
    journal::NoRandom,
    store::{BadName, StoreError},
};

/// The reason why an operation on a session failed; nothing was changed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum HistoryError {
    /// The name is none.
    #[error(transparent)]
    Name(#[from] BadName),
    /// There is no such session.
    #[error("there is no session `{0}`")]
    Unknown(SessionId),
    /// It walks another graph.
    #[error("session `{session}` walks the graph `{graph}`, not `{here}`")]
    OtherGraph {
        /// The session.
        session: SessionId,
        /// The graph that it walks.
        graph: std::sync::Arc<str>,
        /// The expected graph.
        here: std::sync::Arc<str>,
    },
    /// There is one of that name.
    #[error("there is a session `{0}` already")]
    Exists(SessionId),
    /// It has no such record.
    #[error("session `{session}` has records 0 to {last}, there is no {seq}")]
    NoRecord {
        /// The session.
        session: SessionId,
        /// The record.
        seq: u64,
        /// The last one that it has.
        last: u64,
    },
    /// The records that lead there are not all there.
    #[error("where session `{session}` was after record {seq} is not known any more: {why}")]
    Lost {
        /// The session.
        session: SessionId,
        /// The record.
        seq: u64,
        /// The missing record, and the reason.
        why: String,
    },
    /// The session advanced meanwhile.
    #[error("session `{0}` advanced meanwhile; nothing was changed")]
    Conflict(SessionId),
    /// It cannot be put there.
    #[error(transparent)]
    Refused(#[from] NotEntered),
    /// A key that cannot be set.
    #[error("{0}")]
    Key(String),
    /// There was no decision about a call.
    #[error("session `{0}`: {1}")]
    Undecided(SessionId, #[source] Undecided),
    /// No call was settled by hand.
    #[error("session `{0}`: {1}")]
    Unsettled(SessionId, String),
    /// It has no such dead letter, or none any more.
    #[error("session `{session}` has no dead letter `{key}`")]
    NoLetter {
        /// The session.
        session: SessionId,
        /// The key.
        key: String,
    },
    /// A fork has no keys for its calls: nothing began.
    #[error(transparent)]
    NoRandom(#[from] NoRandom),
    /// The store fails.
    #[error(transparent)]
    Store(StoreError),
}

impl From<StoreError> for HistoryError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Conflict { session, .. } => Self::Conflict(session),
            error => Self::Store(error),
        }
    }
}

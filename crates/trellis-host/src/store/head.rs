//! The head of a session: stored beside its records, in the clear.

use std::{cmp::Reverse, sync::Arc};

use serde::{Deserialize, Serialize};
use trellis_core::{
    NodeId, SessionId,
    state::{EndReason, State, Status},
};

use super::{Query, Which};

/// The part of a session that lists show. No value of its context is in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The session.
    pub session: SessionId,
    /// The graph that it walks, by name.
    pub graph: Arc<str>,
    /// The fingerprint of the program that it is on.
    pub program: Arc<str>,
    /// The number of the record that comes next.
    pub next: u64,
    /// The time at which it began, in milliseconds since 1970.
    pub began: u64,
    /// The time of its last move.
    pub at: u64,
    /// Its node.
    pub node: NodeId,
    /// Its wait, or its end.
    pub standing: SessionStatus,
    /// The time at which it continues by itself: a sleep or a `timeout` elapses, a call can be made. `None`: an answer is needed.
    pub due: Option<u64>,
}

impl Head {
    /// Returns the head of a session of which only the name can be read, and the time of its last write.
    pub(super) fn unreadable(session: SessionId, at: u64) -> Self {
        let (graph, program, node) = ("".into(), "".into(), "".into());
        Self { session, graph, program, next: 0, began: at, at, node, standing: SessionStatus::Unreadable, due: None }
    }

    /// Returns whether its writer worked on it from then on: it was due when it was stored. One that is due since before waits for whoever comes.
    pub(crate) fn is_worked_on(&self) -> bool {
        self.due == Some(self.at)
    }
}

impl Query {
    /// The page of this query, where all heads are at hand.
    pub fn of(&self, heads: Vec<Head>) -> Vec<Head> {
        let mut heads = self.all_of(heads);
        heads.truncate(self.limit);
        heads
    }

    /// The page of this query and all pages behind it.
    pub(super) fn all_of(&self, mut heads: Vec<Head>) -> Vec<Head> {
        heads.retain(|head| self.graph.as_ref().is_none_or(|graph| *graph == head.graph));
        match self.which {
            Which::Newest => {
                if let Some((at, session)) = &self.after {
                    heads.retain(|head| (Reverse(head.at), &head.session) > (Reverse(*at), session));
                }
                heads.sort_unstable_by(|one, other| (Reverse(one.at), &one.session).cmp(&(Reverse(other.at), &other.session)));
            }
            Which::Due(by) => {
                heads.retain(|head| head.due.is_some_and(|due| due <= by));
                if let Some((due, session)) = &self.after {
                    heads.retain(|head| (head.due, &head.session) > (Some(*due), session));
                }
                heads.sort_unstable_by(|one, other| (one.due, &one.session).cmp(&(other.due, &other.session)));
            }
        }
        heads
    }

    /// Returns the beginning of the next page, if that head is the last of this one.
    pub(super) fn page_after(&self, last: &Head) -> (u64, SessionId) {
        let moment = match self.which {
            Which::Newest => last.at,
            Which::Due(_) => last.due.unwrap_or_default(),
        };
        (moment, last.session.clone())
    }
}

/// The wait of a session, or its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionStatus {
    /// No wait: it passes on.
    Active,
    /// An input, or the end of a sleep.
    WaitingForInput,
    /// A result.
    WaitingForTool,
    /// The result of an undo.
    RollingBack,
    /// It ended in success.
    Finished,
    /// It failed.
    Failed,
    /// A call was denied and nothing handled it.
    Denied,
    /// Everything was unwound.
    RolledBack,
    /// Unknown: the stored session cannot be read. Loading it returns the reason. No session is stored so.
    #[serde(skip)]
    Unreadable,
}

impl SessionStatus {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Active,
        Self::WaitingForInput,
        Self::WaitingForTool,
        Self::RollingBack,
        Self::Finished,
        Self::Failed,
        Self::Denied,
        Self::RolledBack,
        Self::Unreadable,
    ];

    /// Returns the status of a state.
    pub fn of(state: &State) -> Self {
        match (state.status, state.ended.as_ref().map(|ended| ended.reason)) {
            (Status::Active, _) => Self::Active,
            (Status::WaitingForInput, _) => Self::WaitingForInput,
            (Status::WaitingForTool, _) => Self::WaitingForTool,
            (Status::RollingBack, _) => Self::RollingBack,
            (Status::Terminated, Some(EndReason::Finished)) => Self::Finished,
            (Status::Terminated, Some(EndReason::Denied)) => Self::Denied,
            (Status::Terminated, Some(EndReason::RolledBack)) => Self::RolledBack,
            (Status::Terminated, Some(EndReason::Failed) | None) => Self::Failed,
        }
    }

    /// As it is written everywhere.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::WaitingForInput => "waiting_for_input",
            Self::WaitingForTool => "waiting_for_tool",
            Self::RollingBack => "rolling_back",
            Self::Finished => "finished",
            Self::Failed => "failed",
            Self::Denied => "denied",
            Self::RolledBack => "rolled_back",
            Self::Unreadable => "unreadable",
        }
    }

    /// Returns whether it is an end.
    pub fn has_ended(self) -> bool {
        matches!(self, Self::Finished | Self::Failed | Self::Denied | Self::RolledBack)
    }
}

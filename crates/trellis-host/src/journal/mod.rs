//! The journal: what happened to a session, append-only; its state is the fold of it (language B.2, B.3).
//!
//! In go records as steps are accepted, out come the session's state, its moments for a replay, and its history for people. Refused inputs are
//! no records. What was recorded is what holds: the fold needs no program. [`replay`] asks a program whether it would do the same.
//!
//! **Invariant:** record `n` has `seq` `n`; nothing is ever changed, and what somebody takes is never removed before; a record without [`Entry::Start`] or [`Entry::Reload`] holds no state.

mod clock;
mod fold;
mod memory;
mod request;
mod retake;

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Serialize};
use trellis_core::{
    Event, Input, Mapping, NodeId, SessionId, SignalName, Start, State, ToolResult,
    engine::{Answers, Moment},
    id::{CallId, IdempotencyKey},
    state::{Changes, Ended},
    tree::Caller,
};

use crate::{policy::Decided, store::restore};

pub(crate) use self::retake::retake;
pub use self::{
    clock::Clock,
    fold::{FoldError, fold},
    memory::{Conflict, MemoryJournal},
    request::{RequestKey, TakenRequests},
    retake::replay,
};

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Its number, from 0.
    pub seq: u64,
    /// When, in milliseconds since 1970.
    pub at: u64,
    /// What was handed in.
    #[serde(flatten)]
    pub entry: Entry,
    /// The child that it happened to; nothing for the root of the tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child: Option<SessionId>,
    /// The node before; nothing for a start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<NodeId>,
    /// The node after.
    pub to: NodeId,
    /// What happened on the way, answers of predicates included.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<Event>,
    /// What it changed in the state; nothing in a record that opens an epoch.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub changes: Box<Changes>,
    /// The program that did it.
    pub program: Arc<str>,
    /// Of a `context` or `reload`: what was asked before is still asked. Any other record that could change the question does.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub still_asked: bool,
    /// What is asked behind it, as a checksum: an edit that was made while nobody had the session in memory is held against it. Not where the graph
    /// redacts anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<u32>,
    /// The request that made it, if a server knows that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<RequestKey>,
}

/// What a record is about: its `kind`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Entry {
    /// The session began; opens an epoch, unless it is a child.
    Start {
        /// With what.
        start: Box<Start>,
        /// Where it was then.
        state: Box<State>,
        /// The session that it was forked from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        origin: Option<Origin>,
        /// The call that began it, of a child.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        caller: Option<Caller>,
    },
    /// An input was accepted, or a node passed through.
    Input {
        /// Which.
        input: Input,
    },
    /// The result of the pending call was accepted.
    Result {
        /// Which.
        result: Box<ToolResult>,
    },
    /// A signal was taken.
    Signal {
        /// Which.
        signal: SignalName,
    },
    /// Keys were supplied from outside.
    Context {
        /// Which.
        keys: Mapping,
    },
    /// The program changed; opens an epoch.
    Reload {
        /// Where the session is on the new program.
        state: Box<State>,
        /// Where its children are on it; those that are not there were left.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        children: BTreeMap<SessionId, ChildState>,
    },
    /// Children were left, or ended without success: what they did and did not undo is now an effect of this session (language 10.9).
    Leave {
        /// Which, each behind its caller.
        children: Vec<SessionId>,
    },
    /// The session asks for something else before it goes on: its graph was edited, or a value that it needs was not stored.
    Blocked {
        /// What it asks for.
        needs: Needs,
    },
    /// Somebody put the session elsewhere; opens an epoch. What happened before stays in the journal.
    Move {
        /// What they asked for. A record has a `to` of its own.
        #[serde(rename = "destination")]
        to: Destination,
        /// Where it stands now.
        state: Box<State>,
    },
    /// A person approved a pending call: it may run, also after a restart. A denial is a result.
    Approve {
        /// The call, all its attempts.
        key: IdempotencyKey,
    },
    /// A policy decided about a pending call, all its attempts (world 11.3). It is not asked again.
    Policy {
        /// The call.
        key: IdempotencyKey,
        /// The decision, who decided, and by what.
        #[serde(flatten)]
        decided: Box<Decided>,
    },
    /// The result of a call that the session had left arrived; it moved nothing (language 7.6).
    Late {
        /// Which.
        result: Box<ToolResult>,
    },
    /// The session ended; what the step before it came to.
    End {
        /// How.
        ended: Arc<Ended>,
    },
}

/// A child where it stands on another program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChildState {
    /// The call that began it.
    pub caller: Caller,
    /// Where it stands.
    pub state: State,
}

/// What a session asks for before it goes on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Needs {
    /// Keys of the context.
    Keys {
        /// The node that needs them.
        node: NodeId,
        /// Their names.
        missing: Vec<String>,
    },
    /// Whether a pending call stays.
    Decision {
        /// The call.
        call: CallId,
        /// The tool that would be called now.
        now: Arc<str>,
    },
}

/// Where a fork comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The session.
    pub session: SessionId,
    /// Its last record that the fork shares.
    pub seq: u64,
}

/// Where a session was put.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Destination {
    /// To where it was after this record, with the context of then.
    Back(u64),
    /// To this node, with the context that it has.
    Node(NodeId),
}

impl Entry {
    /// The whole state, of an entry that opens an epoch.
    pub fn epoch(&self) -> Option<&State> {
        match self {
            Self::Start { state, caller: None, .. } | Self::Reload { state, .. } | Self::Move { state, .. } => Some(state),
            _ => None,
        }
    }
}

#[expect(clippy::borrowed_box, reason = "serde hands over a reference")]
fn is_nothing(changes: &Box<Changes>) -> bool {
    **changes == Changes::default()
}

impl Record {
    /// Takes its step again in the state before it, as it was recorded.
    pub fn apply(&self, state: &mut State) {
        match &self.entry {
            Entry::Start { state: begins, .. } => state.clone_from(begins),
            Entry::Context { keys } => {
                state.context.extend(keys);
                if !keys.is_empty() {
                    restore(state);
                }
            }
            entry => match entry.epoch() {
                Some(begins) => state.clone_from(begins),
                None => state.apply(&self.changes),
            },
        }
    }

    /// Whether something else is asked since it, so that what answers an earlier question is stale.
    pub fn asks_anew(&self) -> bool {
        match &self.entry {
            Entry::Start { .. } | Entry::Input { .. } | Entry::Result { .. } | Entry::Signal { .. } => true,
            Entry::Move { .. } | Entry::Blocked { .. } => true,
            Entry::Context { .. } | Entry::Reload { .. } => !self.still_asked,
            Entry::Approve { .. } | Entry::Policy { .. } | Entry::Late { .. } | Entry::Leave { .. } | Entry::End { .. } => false,
        }
    }

    /// The record as a moment of a replay; nothing for records that hand nothing to the engine.
    pub fn moment(&self) -> Option<Moment> {
        let input = match &self.entry {
            Entry::Input { input } => input.clone(),
            Entry::Result { result } | Entry::Late { result } => Input::Result((**result).clone()),
            Entry::Signal { signal } => Input::Signal(signal.clone()),
            _ => return None,
        };
        Some(Moment { input, answers: self.answers(), to: Some(self.to.clone()) })
    }

    /// What predicates answered in this step (language 6.2).
    pub fn answers(&self) -> Answers {
        let answers = self.events.iter().filter_map(|event| match event {
            Event::Predicate { name, answer } => Some((Arc::clone(name), *answer)),
            _ => None,
        });
        answers.collect()
    }
}

#[cfg(test)]
mod tests;

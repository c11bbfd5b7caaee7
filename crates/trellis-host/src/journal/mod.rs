//! The journal: the steps of a session, append-only; its state is the fold of it (language B.2, B.3).
//!
//! In go records as steps are accepted, out come the session's state, its moments for a replay, and its history for people. Refused inputs are
//! no records. The recorded changes apply: the fold needs no program. [`replay`] checks whether a program would do the same.
//!
//! **Invariant:** record `n` has `seq` `n`; no record is ever changed, and none is removed before it is taken, where records are taken; a record
//! without [`Entry::Start`] or [`Entry::Reload`] holds no state.

mod clock;
mod dead;
mod fold;
mod memory;
mod request;
mod retake;
mod seed;
mod typed;

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

pub use self::{
    clock::Clock,
    dead::{DeadLetter, DeathCause, Settlement},
    fold::{FoldError, fold},
    memory::{Conflict, MemoryJournal},
    request::{RequestKey, TakenRequests},
    retake::replay,
    seed::{NoRandom, draw_seed},
    typed::{LeftOut, TypedSecrets},
};
pub(crate) use self::{
    dead::{is_ended_by_call, is_undo_given_up},
    retake::retake,
    typed::{asks_at, asks_for_secrets, leaves},
};

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Its number, from 0.
    pub seq: u64,
    /// The time, in milliseconds since 1970.
    pub at: u64,
    /// The input.
    #[serde(flatten)]
    pub entry: Entry,
    /// The child that the record is about; `None` for the root of the tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child: Option<SessionId>,
    /// The node before; `None` for a start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<NodeId>,
    /// The node after.
    pub to: NodeId,
    /// The events of the step, answers of predicates included.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<Event>,
    /// The changes of the state; none in a record that opens an epoch.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub changes: Box<Changes>,
    /// The program that did it.
    pub program: Arc<str>,
    /// For a `context` or `reload`: true if the earlier question is still asked. Any other record that could change the question does.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub still_asked: bool,
    /// The checksum of the question after it, by which an edit is noticed that was made while the session was not in memory. `None` while the
    /// session has a value that its graph redacts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<u32>,
    /// The request that made it, if a server knows that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<RequestKey>,
    /// The calls that its step left and that no client is asked for, since none had been or the call was answered: a late result of one is not a
    /// client's to give (language C.8).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unasked: Vec<CallId>,
}

/// The kind of a record: its `kind`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Entry {
    /// The session began; opens an epoch, unless it is a child.
    Start {
        /// With what.
        start: Box<Start>,
        /// The initial state.
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
        /// The input.
        input: Input,
    },
    /// The result of the pending call was accepted.
    Result {
        /// The result.
        result: Box<ToolResult>,
    },
    /// A person settled a call by hand, in place of whoever would have carried it out (language C.8). The result of a call that the session had left
    /// moves nothing.
    Settle {
        /// The result.
        result: Box<ToolResult>,
        /// The person, as the host knows them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<Arc<str>>,
        /// The reason, in the person's words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        because: Option<Arc<str>>,
        /// The calls that needed an approval and had none, or that the policy denied: this one, its whole, its open parts, those of its children.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        unapproved: Vec<CallId>,
    },
    /// A signal was taken.
    Signal {
        /// The signal.
        signal: SignalName,
    },
    /// Keys were supplied from outside.
    Context {
        /// The keys.
        keys: Mapping,
    },
    /// The program changed; opens an epoch.
    Reload {
        /// The state of the session on the new program.
        state: Box<State>,
        /// The states of its children on it; missing ones were left.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        children: BTreeMap<SessionId, ChildState>,
    },
    /// Children were left, or ended without success: effects that they did and did not undo are now an effect of this session (language 10.9).
    Leave {
        /// The children, each behind its caller.
        children: Vec<SessionId>,
    },
    /// The session asks for something else before it continues: its graph was edited, or a value that it needs was not stored.
    Blocked {
        /// The demand.
        needs: Needs,
    },
    /// An operator moved the session; opens an epoch. Earlier records stay in the journal.
    Move {
        /// The requested destination. A record has a `to` of its own.
        #[serde(rename = "destination")]
        to: Destination,
        /// The new state.
        state: Box<State>,
    },
    /// A person approved a pending call: it may run, also after a restart. A denial is a result.
    Approve {
        /// The call, all its attempts.
        key: IdempotencyKey,
    },
    /// A policy decided about a pending call, all its attempts (language 11.3). It is not asked again.
    Policy {
        /// The call.
        key: IdempotencyKey,
        /// The decision, its source, and its evidence.
        #[serde(flatten)]
        decided: Box<Decided>,
    },
    /// The result of a call that the session had left arrived; it moved nothing (language 7.6).
    Late {
        /// The result.
        result: Box<ToolResult>,
    },
    /// A call was given up (language 11.7).
    Dead {
        /// The letter.
        letter: Box<DeadLetter>,
    },
    /// A dead letter was settled.
    Settled {
        /// The call that it is about.
        key: IdempotencyKey,
        /// The settlement.
        how: Settlement,
    },
    /// The session ended by the step before.
    End {
        /// The end.
        ended: Arc<Ended>,
    },
}

/// The state of a child on another program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChildState {
    /// The call that began it.
    pub caller: Caller,
    /// The state.
    pub state: State,
}

/// The demand of a session before it continues.
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
    /// The decision to keep or drop a pending call.
    Decision {
        /// The call.
        call: CallId,
        /// The tool that would be called now.
        now: Arc<str>,
    },
}

/// The origin of a fork.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The session.
    pub session: SessionId,
    /// Its last record that the fork shares.
    pub seq: u64,
    /// The secrets that were typed there, and are in the fork.
    #[serde(default = "TypedSecrets::unknown", skip_serializing_if = "TypedSecrets::is_unknown")]
    pub typed: TypedSecrets,
}

/// The destination of a move.
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

    /// The result of a call, of an entry that has one: from a tool, late, or by hand.
    pub fn result(&self) -> Option<&ToolResult> {
        match self {
            Self::Result { result } | Self::Late { result } | Self::Settle { result, .. } => Some(result),
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

    /// Returns whether another question is asked since it, so that answers to an earlier one are stale.
    pub fn asks_anew(&self) -> bool {
        match &self.entry {
            Entry::Start { .. } | Entry::Input { .. } | Entry::Result { .. } | Entry::Signal { .. } => true,
            Entry::Move { .. } | Entry::Blocked { .. } => true,
            Entry::Settle { .. } => !self.is_late(),
            Entry::Context { .. } | Entry::Reload { .. } => !self.still_asked,
            Entry::Approve { .. } | Entry::Policy { .. } | Entry::Late { .. } | Entry::Leave { .. } => false,
            Entry::Dead { .. } | Entry::Settled { .. } | Entry::End { .. } => false,
        }
    }

    /// Returns whether it has the result of a call that the session had left: it moves nothing.
    pub fn is_late(&self) -> bool {
        self.events.iter().any(|event| matches!(event, Event::Late { .. } | Event::DeadLetter(_)))
    }

    /// Returns the record as a moment of a replay; `None` for records without an input for the engine.
    pub fn moment(&self) -> Option<Moment> {
        let input = match &self.entry {
            Entry::Input { input } => input.clone(),
            Entry::Signal { signal } => Input::Signal(signal.clone()),
            entry => Input::Result(entry.result()?.clone()),
        };
        Some(Moment { input, answers: self.answers(), to: Some(self.to.clone()) })
    }

    /// Returns the answers of predicates in this step (language 6.2).
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

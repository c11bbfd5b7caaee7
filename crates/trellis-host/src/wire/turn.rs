//! Where a session stopped, and what it said on the way.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use trellis_core::{NodeId, SessionId};

use super::Stop;
use crate::sessions;

/// The answer of everything that walks a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "turn"))]
#[non_exhaustive]
pub struct Turn {
    /// The session.
    pub session: SessionId,
    /// The number of the record that comes next. An answer that names it, or the number of the question, is taken while the same is asked.
    pub seq: u64,
    /// The node that stops.
    pub node: NodeId,
    /// The child session that stops; absent where the session itself does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child: Option<SessionId>,
    /// The texts since the stop before.
    pub said: Vec<Said>,
    /// What the session needs.
    pub stop: Stop,
    /// What else waits in the session and its children; each is answered by its id, or with `to`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<Waiting>,
    /// The moment when the session stops waiting for that, in milliseconds since 1970; null where it waits for ever.
    pub due: Option<u64>,
}

impl From<&sessions::Turn> for Turn {
    fn from(turn: &sessions::Turn) -> Self {
        Self {
            session: turn.session.clone(),
            seq: turn.seq,
            node: turn.node.clone(),
            child: turn.child.clone(),
            said: turn.said.iter().map(Said::from).collect(),
            stop: Stop::of(&turn.stop, turn.asked),
            others: turn.others.iter().map(Waiting::from).collect(),
            due: turn.due(),
        }
    }
}

/// What else waits in a session and its children.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "waiting_session"))]
#[non_exhaustive]
pub struct Waiting {
    /// The child session; absent for the session itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child: Option<SessionId>,
    /// Its node.
    pub node: NodeId,
    /// What it needs.
    pub stop: Stop,
    /// The moment when something becomes of that by itself, in milliseconds since 1970; null where it waits for ever.
    pub due: Option<u64>,
}

impl From<&sessions::Waiting> for Waiting {
    fn from(waiting: &sessions::Waiting) -> Self {
        let sessions::Waiting { child, node, asked, stop } = waiting;
        Self { child: child.clone(), node: node.clone(), stop: Stop::of(stop, *asked), due: stop.goes_on() }
    }
}

/// A text that a node said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "said"))]
#[non_exhaustive]
pub struct Said {
    /// The child session whose node it is; absent for the session itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child: Option<SessionId>,
    /// The node.
    pub node: NodeId,
    /// The text, as Markdown.
    pub text: Arc<str>,
}

impl From<&sessions::Said> for Said {
    fn from(said: &sessions::Said) -> Self {
        Self { child: said.child.clone(), node: said.node.clone(), text: Arc::clone(&said.text) }
    }
}

//! Where a session stopped, and what it said on the way.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use trellis_core::{NodeId, SessionId};

use super::{SessionEvent, Stop};
use crate::{sessions, store::SessionStatus};

/// The answer of everything that walks a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "turn"))]
#[non_exhaustive]
pub struct Turn {
    /// The session.
    pub session: SessionId,
    /// The name of its graph, where a server has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graph: Option<Arc<str>>,
    /// The fingerprint of the program that it is on.
    pub program: Arc<str>,
    /// The number of the record that comes next. An answer that names it, or the number of the question, is taken while the same is asked.
    pub seq: u64,
    /// The node where it stands; before it began, the one where it begins.
    pub node: NodeId,
    /// What it waits for, or how it ended: `active`, `waiting_for_input`, `waiting_for_tool`, `rolling_back`, `finished`, `failed`, `denied`,
    /// `rolled_back`.
    pub standing: Arc<str>,
    /// The server's clock, in milliseconds since 1970, to count down to `due` by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub now: Option<u64>,
    /// The texts since the stop before.
    pub said: Vec<Said>,
    /// The lines since the stop before, the newest 200, without `PROGRESS` and `DELTA`.
    pub happened: Vec<SessionEvent>,
    /// Whether more happened than stands there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub more: bool,
    /// What the session needs.
    pub stop: Stop,
    /// The moment when the session stops waiting for that, in milliseconds since 1970; null where it waits for ever.
    pub due: Option<u64>,
    /// What other parts of the same call need.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<OtherStop>,
}

impl Turn {
    /// The same as a server tells it: of which graph, and at what time.
    #[must_use]
    pub fn told(self, graph: impl Into<Arc<str>>, now: u64) -> Self {
        Self { graph: Some(graph.into()), now: Some(now), ..self }
    }
}

impl From<&sessions::Turn> for Turn {
    fn from(turn: &sessions::Turn) -> Self {
        let other = |stop: &sessions::Stop| OtherStop { node: turn.node.clone(), stop: Stop::of(stop, turn.asked), due: stop.due() };
        Self {
            session: turn.session.clone(),
            graph: None,
            program: Arc::clone(&turn.program),
            seq: turn.seq,
            node: turn.node.clone(),
            standing: SessionStatus::as_str(turn.standing).into(),
            now: None,
            said: turn.said.iter().map(Said::from).collect(),
            happened: turn.happened.iter().filter_map(SessionEvent::of).collect(),
            more: turn.has_more,
            stop: Stop::of(&turn.stop, turn.asked),
            due: turn.stop.due(),
            others: turn.others.iter().map(other).collect(),
        }
    }
}

/// What another part of the same call needs; it is answered by its id.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "other_stop"))]
#[non_exhaustive]
pub struct OtherStop {
    /// The node.
    pub node: NodeId,
    /// What it needs.
    pub stop: Stop,
    /// The moment when it stops waiting for that, in milliseconds since 1970; null where it waits for ever.
    pub due: Option<u64>,
}

/// A text that a node said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "said"))]
#[non_exhaustive]
pub struct Said {
    /// The node.
    pub node: NodeId,
    /// The text, as Markdown.
    pub text: Arc<str>,
    /// The text as safe HTML, where it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub html: Option<String>,
}

impl From<&sessions::Said> for Said {
    fn from(said: &sessions::Said) -> Self {
        Self { node: said.node.clone(), text: Arc::clone(&said.text), html: None }
    }
}

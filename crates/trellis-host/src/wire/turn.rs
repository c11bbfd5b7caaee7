//! Where a session stopped, and what it said on the way.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use trellis_core::SessionId;

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
    /// The texts since the stop before.
    pub said: Vec<Said>,
    /// What the session needs.
    pub stop: Stop,
    /// What other parts of the same call need; each is answered by its id.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<Stop>,
    /// The moment when the session stops waiting for that, in milliseconds since 1970; null where it waits for ever.
    pub due: Option<u64>,
}

impl From<&sessions::Turn> for Turn {
    fn from(turn: &sessions::Turn) -> Self {
        Self {
            session: turn.session.clone(),
            seq: turn.seq,
            said: turn.said.iter().map(|text| Said { text: Arc::clone(text) }).collect(),
            stop: Stop::of(&turn.stop, turn.asked),
            others: turn.others.iter().map(|stop| Stop::of(stop, turn.asked)).collect(),
            due: turn.due(),
        }
    }
}

/// A text that a node said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "said"))]
#[non_exhaustive]
pub struct Said {
    /// The text, as Markdown.
    pub text: Arc<str>,
}

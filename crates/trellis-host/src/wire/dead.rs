//! Dead letters, as doors list them (language 11.7).

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use trellis_core::{Mapping, NodeId, SessionId, id::IdempotencyKey};

use super::CallResult;
use crate::{history::UnsettledLetter, journal::DeathCause, secrets::shown};

/// A call that was given up, and is not settled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "dead_letter"))]
#[non_exhaustive]
pub struct DeadLetter {
    /// The key of the call, which names the letter.
    pub key: IdempotencyKey,
    /// Its session.
    pub session: SessionId,
    /// The graph of the session.
    pub graph: Arc<str>,
    /// The child that made the call; absent for the session itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child: Option<SessionId>,
    /// The node that made it.
    pub node: NodeId,
    /// Its tool.
    pub tool: Arc<str>,
    /// Its arguments; absent where its result came after the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<Mapping>,
    /// The cause.
    pub cause: DeathCause,
    /// Its last attempt, and the outcome of that.
    #[serde(flatten)]
    pub outcome: CallResult,
}

impl From<&UnsettledLetter> for DeadLetter {
    fn from(unsettled: &UnsettledLetter) -> Self {
        let letter = &unsettled.letter;
        Self {
            key: letter.key.clone(),
            session: unsettled.session.clone(),
            graph: Arc::clone(&unsettled.graph),
            child: letter.by.clone(),
            node: letter.node.clone(),
            tool: Arc::clone(&letter.tool),
            args: letter.call.as_ref().map(|call| shown(call)),
            cause: letter.cause,
            outcome: CallResult::new(letter.id.clone(), letter.outcome.clone()),
        }
    }
}

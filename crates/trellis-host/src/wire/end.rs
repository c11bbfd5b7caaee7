//! The end of a session or a run.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use trellis_core::{NodeId, Value, engine::EndView, state};

use super::present;

/// The end of a session or a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "end"))]
#[non_exhaustive]
pub struct End {
    /// The reason of the end; `finished` is the only success.
    pub reason: EndReason,
    /// The value that the session ended with, or null.
    pub output: Option<Value>,
    /// The failure: `fail`, `end-failed`, `no-match`, `tool-error`, `timeout`, `max-visits`, `invalid-input`, `missing-context`, `context-schema`,
    /// `failed-assert`, `template`, `condition`, `write`, `limit`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schemars", schemars(extend("enum" = super::constraints::END_CODES)))]
    pub code: Option<Arc<str>>,
    /// The node where it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<NodeId>,
    /// The message, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<Arc<str>>,
    /// The place of the text that failed, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<FailurePlace>,
    /// The effects that a rollback could not undo.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schemars", schemars(with = "Option<Rollback>"))]
    pub rollback: Option<Value>,
}

impl End {
    /// Creates the end for this reason, without further details.
    pub fn new(reason: EndReason) -> Self {
        Self { reason, output: None, code: None, node: None, message: None, place: None, rollback: None }
    }

    /// Reads `rollback`; `None` where there is none, or it has another shape.
    pub fn rolled_back(&self) -> Option<Rollback> {
        self.rollback.as_ref().and_then(|rollback| super::read(rollback).ok())
    }
}

impl From<&EndView> for End {
    fn from(ended: &EndView) -> Self {
        Self {
            output: ended.output.clone(),
            code: ended.code.clone(),
            node: Some(ended.node.clone()),
            message: ended.message.clone(),
            place: ended.place.as_ref().map(FailurePlace::from),
            rollback: ended.rollback.clone(),
            ..Self::new(ended.reason.into())
        }
    }
}

/// The place of a text that failed, in the files of the graph.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "failure_place"))]
#[non_exhaustive]
pub struct FailurePlace {
    /// The file, by its path below the root.
    pub path: Arc<str>,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The key whose value it is, such as `do.args.query`; absent in a body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Arc<str>>,
}

impl From<&state::FailurePlace> for FailurePlace {
    fn from(place: &state::FailurePlace) -> Self {
        Self { path: Arc::clone(&place.path), line: place.line, column: place.column, key: place.key.clone() }
    }
}

/// Reasons why a session or a run is over. With the last three the session did not end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "end_reason"))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EndReason {
    /// Success.
    Finished,
    /// Failure.
    Failed,
    /// A call was denied and nothing handled it.
    Denied,
    /// Everything was unwound.
    RolledBack,
    /// There is no more input.
    EndOfInput,
    /// An interrupt that nothing handled.
    Interrupted,
    /// The graph does not compile.
    InvalidGraph,
}

impl From<state::EndReason> for EndReason {
    fn from(reason: state::EndReason) -> Self {
        match reason {
            state::EndReason::Finished => Self::Finished,
            state::EndReason::Failed => Self::Failed,
            state::EndReason::Denied => Self::Denied,
            state::EndReason::RolledBack => Self::RolledBack,
        }
    }
}

/// The effects that a rollback could not undo.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "rollback"))]
#[non_exhaustive]
pub struct Rollback {
    /// Undos that failed.
    pub failed: Vec<UndoFailure>,
    /// Effects that nothing undoes.
    pub irreversible: Vec<LastingEffect>,
}

/// An undo that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "undo_failure"))]
#[non_exhaustive]
pub struct UndoFailure {
    /// The tool that should undo it.
    pub tool: Arc<str>,
    /// The node of the effect.
    pub node: NodeId,
    /// The reason of the failure, for people.
    pub message: String,
}

/// An effect that nothing undoes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "lasting_effect"))]
#[non_exhaustive]
pub struct LastingEffect {
    /// The tool that had it.
    pub tool: Arc<str>,
    /// The node that called the tool.
    pub node: NodeId,
}

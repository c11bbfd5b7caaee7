//! Dead letters: calls that were given up, and that nothing in their graphs handled (language 11.7).
//!
//! **Invariant:** a letter is a reading of the step that gives its call up, so that a session and the fold of its records find the same one.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use trellis_core::{
    Event, NodeId, SessionId, State, ToolError, ToolOutcome, ToolResult,
    engine::{Call, ToolErrorKind, pending_call},
    id::{CallId, IdempotencyKey},
    program::Failure,
    state::{CallKind, CallRole, EndReason, PendingCall},
};

/// A call that was given up. Its key names it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DeadLetter {
    /// The call, all its attempts.
    pub key: IdempotencyKey,
    /// Its last attempt.
    pub id: CallId,
    /// The cause.
    pub cause: DeathCause,
    /// The node that made it.
    pub node: NodeId,
    /// Its tool.
    pub tool: Arc<str>,
    /// The child that made it; `None` for the root of the tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<SessionId>,
    /// The call as it was made, without secrets; `None` if its result came after the end: the arguments of a call that was left are not stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<Call>,
    /// The outcome of the call.
    pub outcome: ToolOutcome,
}

/// The reason why a call was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "death_cause"))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DeathCause {
    /// Its failure ended the session.
    Ended,
    /// It was to undo something, and failed for good.
    Undo,
    /// Its result came after the end.
    Late,
}

/// The settlement of a dead letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Settlement {
    /// The call was made again and succeeded.
    Retried,
    /// It was dropped by a person.
    Dropped,
}

impl DeathCause {
    /// As it is written everywhere.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ended => "ended",
            Self::Undo => "undo",
            Self::Late => "late",
        }
    }
}

impl DeadLetter {
    /// The letter of a step that took a result. A call of a graph has none: the innermost call of a tool is the letter.
    pub(crate) fn of(before: &State, after: &State, events: &[Event], result: &ToolResult) -> Option<Self> {
        if events.iter().any(|event| matches!(event, Event::DeadLetter(_))) {
            return Self::late(before, result);
        }
        // Asked first: of many parts, the one of a result is found slowly.
        let (is_given_up, is_ended) = (is_undo_given_up(events), is_ended_by_call(before, after));
        if !is_given_up && !is_ended {
            return None;
        }
        let call = pending_call(before, &result.id).filter(|call| matches!(call.kind, CallKind::Tool))?;
        let cause = match call.role {
            CallRole::Undo(_) => is_given_up.then_some(DeathCause::Undo),
            CallRole::Do | CallRole::BeforeEach => is_ended.then_some(DeathCause::Ended),
        }?;
        Some(Self {
            key: call.idempotency_key.clone(),
            id: call.id.clone(),
            cause,
            node: call.node.clone(),
            tool: Arc::clone(&call.name),
            by: None,
            outcome: failure(&call, after, result),
            call: Some(call),
        })
    }

    fn late(before: &State, result: &ToolResult) -> Option<Self> {
        let left = before.abandoned.iter().find(|left| left.id == result.id)?;
        Some(Self {
            key: left.key.clone(),
            id: left.id.clone(),
            cause: DeathCause::Late,
            node: left.node.clone(),
            tool: Arc::clone(&left.tool),
            by: left.child.clone(),
            call: None,
            outcome: result.outcome.clone(),
        })
    }
}

/// Returns the outcome of a call; a success that violates `returns` is an error.
fn failure(call: &PendingCall, after: &State, result: &ToolResult) -> ToolOutcome {
    if !matches!(result.outcome, ToolOutcome::Success(_)) {
        return result.outcome.clone();
    }
    let message = after.ended.as_ref().and_then(|ended| ended.message.clone());
    let message = message.map_or_else(|| format!("the result of `{}` breaks `returns`", call.name), |message| message.to_string());
    ToolOutcome::Error(ToolError { kind: ToolErrorKind::Schema, ..ToolError::new(message) })
}

/// Returns whether a step gave the pending undo up.
pub(crate) fn is_undo_given_up(events: &[Event]) -> bool {
    events.iter().any(|event| matches!(event, Event::Undone { ok: false, .. }))
}

/// Returns whether the outcome of a call ended a session, since nothing in its graph handles it.
pub(crate) fn is_ended_by_call(before: &State, after: &State) -> bool {
    let Some(ended) = after.ended.as_ref().filter(|_| before.ended.is_none()) else { return false };
    let is_of_call = [Failure::ToolError, Failure::Timeout].iter().any(|failure| ended.code.as_deref() == Some(failure.as_str()));
    ended.reason == EndReason::Failed && is_of_call && ended.node == before.current_node_id
}

//! The payloads that go out (`docs/reference/json-lines.md`); times are milliseconds.

use serde::Serialize;
use trellis_core::{
    Mapping, ToolError, ToolOutcome, Value,
    engine::Request,
    id::{CallId, IdempotencyKey, NodeId},
    state::{Approval, CallKind, CallRole, PendingCall},
    template::SecretUse,
};

use crate::runner::console::{Reloaded, RunSummary};

#[derive(Serialize)]
pub(super) struct ErrorPayload<'a> {
    pub(super) code: &'a str,
    pub(super) message: &'a str,
}

#[derive(Serialize)]
pub(super) struct PredicatePayload<'a> {
    pub(super) id: &'a str,
    pub(super) name: &'a str,
}

#[derive(Serialize)]
pub(super) struct ProgressPayload<'a> {
    pub(super) id: &'a CallId,
    pub(super) text: &'a str,
}

/// Awaits `input`. The number may stand beside the answer.
#[derive(Serialize)]
pub(super) struct RequestPayload<'a> {
    #[serde(flatten)]
    pub(super) request: &'a Request,
    pub(super) seq: u64,
}

/// Awaits `context`.
#[derive(Serialize)]
pub(super) struct NeedsPayload<'a> {
    pub(super) node: &'a NodeId,
    pub(super) keys: &'a [String],
    pub(super) seq: u64,
}

/// Awaits `keep`.
#[derive(Serialize)]
pub(super) struct ChangedPayload<'a> {
    pub(super) id: &'a CallId,
    pub(super) pending: &'a str,
    pub(super) now: &'a str,
    pub(super) seq: u64,
}

#[derive(Serialize)]
pub(super) struct ReloadPayload<'a> {
    status: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    moved: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    diagnostics: Option<&'a serde_json::Value>,
}

impl<'a> ReloadPayload<'a> {
    pub(super) fn new(reloaded: &'a Reloaded<'_>) -> Self {
        match *reloaded {
            Reloaded::Sound { moved, .. } => Self { status: "sound", since: None, moved, diagnostics: None },
            Reloaded::Broken { findings, since } => {
                Self { status: "broken", since: Some(since), moved: None, diagnostics: Some(&findings.json) }
            }
        }
    }
}

/// `CALL_TOOL`. A delay was slept already, so it is not handed on.
#[derive(Serialize)]
pub(super) struct CallPayload<'a> {
    id: &'a CallId,
    name: &'a str,
    args: &'a Mapping,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    secrets: &'a [SecretUse],
    idempotency_key: &'a IdempotencyKey,
    attempt: u32,
    node: &'a NodeId,
    role: &'a CallRole,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    approve: Option<&'a Approval>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'a Value>,
    #[serde(skip_serializing_if = "CallKind::is_tool")]
    kind: &'a CallKind,
}

impl<'a> CallPayload<'a> {
    pub(super) fn new(call: &'a PendingCall) -> Self {
        Self {
            id: &call.id,
            name: &call.name,
            args: &call.args,
            secrets: &call.secrets,
            idempotency_key: &call.idempotency_key,
            attempt: call.attempt,
            node: &call.node,
            role: &call.role,
            timeout: call.timeout,
            approve: call.approve.as_ref(),
            metadata: call.metadata.as_ref(),
            kind: &call.kind,
        }
    }
}

#[derive(Serialize)]
pub(super) struct ApprovalPayload<'a> {
    id: &'a CallId,
    name: &'a str,
    args: &'a Mapping,
    #[serde(skip_serializing_if = "Option::is_none")]
    ask: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires: Option<u64>,
}

impl<'a> ApprovalPayload<'a> {
    pub(super) fn new(call: &'a PendingCall) -> Self {
        let approval = call.approve.as_ref();
        let ask = approval.and_then(|approval| approval.ask.as_deref());
        Self { id: &call.id, name: &call.name, args: &call.args, ask, expires: approval.and_then(|approval| approval.expires) }
    }
}

#[derive(Serialize)]
pub(super) struct ResultPayload<'a> {
    id: &'a CallId,
    #[serde(flatten)]
    outcome: OutcomePayload<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum OutcomePayload<'a> {
    Success {
        result: &'a Value,
    },
    Error {
        error: &'a ToolError,
    },
    Denied {
        denied: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<&'a str>,
    },
}

impl<'a> ResultPayload<'a> {
    pub(super) fn new(id: &'a CallId, outcome: &'a ToolOutcome) -> Self {
        let outcome = match outcome {
            ToolOutcome::Success(result) => OutcomePayload::Success { result },
            ToolOutcome::Error(error) => OutcomePayload::Error { error },
            ToolOutcome::Denied(reason) => OutcomePayload::Denied { denied: true, reason: reason.as_deref() },
        };
        Self { id, outcome }
    }
}

#[derive(Serialize)]
pub(super) struct EndPayload<'a> {
    reason: &'a str,
    output: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<&'a NodeId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rollback: Option<&'a Value>,
}

impl<'a> EndPayload<'a> {
    pub(super) fn new(farewell: &'a RunSummary) -> Self {
        let ended = farewell.ended.as_deref();
        Self {
            reason: farewell.reason.as_str(),
            output: farewell.output(),
            code: ended.and_then(|ended| ended.code.as_deref()),
            node: ended.map(|ended| &ended.node),
            message: ended.and_then(|ended| ended.message.as_deref()).or(farewell.message.as_deref()),
            rollback: ended.and_then(|ended| ended.rollback.as_ref()),
        }
    }
}

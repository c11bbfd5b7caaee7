//! The lines of events between two stops.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use trellis_core::{SessionId, id::CallId};

use super::{Call, CallResult};
use crate::{
    binding,
    policy::{Decided, Decision, DecisionSource},
    sessions,
};

/// A line that needs no answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "event"))]
#[serde(tag = "type", content = "payload", rename_all = "SCREAMING_SNAKE_CASE")]
#[non_exhaustive]
pub enum SessionEvent {
    /// The content of a node, as Markdown; once for each entering of it.
    RenderContent(Arc<str>),
    /// A call begins; without a binding it waits for a `tool_result`.
    CallTool(Call),
    /// A running tool reports its progress.
    Progress(Progress),
    /// A model writes: a piece of its text, told while it writes.
    Delta(Delta),
    /// A policy decided about a call, with its evidence.
    Policy(PolicyDecision),
    /// A call with a binding is over, or one was denied.
    ToolResult(CallResult),
    /// Files of the graph were saved, under `--watch`.
    Reload(Reload),
    /// Something was refused; the session stays where it was.
    Error(Refusal),
}

impl SessionEvent {
    /// Returns `None` for events that only observers of sessions see: sleeps, refused results, given results and rollbacks.
    pub fn of(event: &sessions::SessionEvent) -> Option<Self> {
        use sessions::SessionEvent as Seen;
        Some(match event {
            Seen::Said(text) => Self::RenderContent(Arc::clone(text)),
            Seen::Invalid(message) => Self::Error(Refusal::new("invalid-input", message)),
            Seen::Calling(call) => Self::CallTool(Call::from(&**call)),
            Seen::Progress(call, text) => Self::Progress(Progress::new(call.id.clone(), Arc::clone(text))),
            Seen::Delta(call, delta) => Self::Delta(Delta::new(call.id.clone(), delta)),
            Seen::Ruled(call, decided) => Self::Policy(PolicyDecision::new(call.id.clone(), decided)),
            Seen::Returned(_, result) => Self::ToolResult(CallResult::from(result)),
            Seen::Adopted(moved) => Self::Reload(Reload::sound(moved.as_deref())),
            Seen::Trouble(code, message) => Self::Error(Refusal::new(code, message)),
            // The line names its session beside it: see `Line`.
            Seen::InChild(_, event) => return Self::of(event),
            Seen::Recorded(_) | Seen::Sleeping(_) | Seen::Refused(..) | Seen::Given(..) | Seen::RollingBack { .. } => return None,
        })
    }
}

/// A line with the child that it is about.
#[derive(Clone, Debug, Serialize)]
pub struct Line<'l, T> {
    /// The line.
    #[serde(flatten)]
    pub line: &'l T,
    /// The child; `None` for the session itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub child: Option<&'l SessionId>,
}

/// The progress of a running tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "progress"))]
#[non_exhaustive]
pub struct Progress {
    /// The call; its answer has the same id.
    pub id: CallId,
    /// One line that the tool wrote on standard error.
    pub text: Arc<str>,
}

impl Progress {
    /// The line `text` of the call `id`.
    pub fn new(id: CallId, text: impl Into<Arc<str>>) -> Self {
        Self { id, text: text.into() }
    }
}

/// A piece of the text that a model writes; the result of its call has the whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "delta"))]
#[non_exhaustive]
pub struct Delta {
    /// The call; its answer has the same id.
    pub id: CallId,
    /// The text that comes next.
    pub text: Arc<str>,
    /// True if it revokes the pieces before it: another provider answers.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reset: bool,
}

impl Delta {
    /// A piece of the text of the call `id`.
    pub fn new(id: CallId, delta: &binding::Delta) -> Self {
        Self { id, text: Arc::clone(&delta.text), reset: delta.is_reset }
    }
}

/// The decision of a policy about a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "policy_decision"))]
#[non_exhaustive]
pub struct PolicyDecision {
    /// The call; its answer has the same id.
    pub id: CallId,
    /// The decision.
    pub decision: Decision,
    /// The source of the decision.
    pub source: DecisionSource,
    /// Reasons for people, a line each.
    pub notes: Vec<Arc<str>>,
}

impl PolicyDecision {
    /// Creates the decision about the call `id`.
    pub fn new(id: CallId, decided: &Decided) -> Self {
        Self { id, decision: decided.decision, source: decided.source, notes: decided.notes.clone() }
    }
}

/// The outcome of saving files of the graph.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "reload"))]
#[non_exhaustive]
pub struct Reload {
    /// The state of the saved graph.
    pub status: ReloadStatus,
    /// The time at which the version was taken that stays in use while the graph is broken, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<u64>,
    /// The reason why the session is at its node, if there is one to report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved: Option<Arc<str>>,
    /// The findings, as `check --format json` has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schemars", schemars(schema_with = "super::constraints::diagnostics"))]
    pub diagnostics: Option<serde_json::Value>,
}

impl Reload {
    /// Creates the event of a sound graph, with the reason why the session is elsewhere, if it moved.
    pub fn sound(moved: Option<&str>) -> Self {
        Self { status: ReloadStatus::Sound, since: None, moved: moved.map(Arc::from), diagnostics: None }
    }

    /// Creates the event of a graph with these findings. `since` is the time at which the version in use was taken, in milliseconds since 1970;
    /// `None` if nothing runs yet.
    pub fn broken(diagnostics: serde_json::Value, since: Option<u64>) -> Self {
        Self { status: ReloadStatus::Broken, since, moved: None, diagnostics: Some(diagnostics) }
    }
}

/// The state of a saved graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "reload_status"))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ReloadStatus {
    /// It is sound and now runs.
    Sound,
    /// It is broken, and an older version stays in use.
    Broken,
}

/// A refusal, or other trouble after which the session continues.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "refusal"))]
#[non_exhaustive]
pub struct Refusal {
    /// A stable code: `bad-json`, `bad-line`, `not-utf8` and `line-too-long` for lines; `wrong-kind`, `invalid-input`, `input-too-large`, `excess`
    /// (above `limits.depth`, `limits.value` or `limits.context`), `foreign-call`, `unhandled-signal` for inputs that were not awaited or do not
    /// fit; `pass-through`, `render`, `refused`, `predicate` for failures of the graph or the host.
    #[cfg_attr(feature = "schemars", schemars(extend("pattern" = "^[a-z]+(-[a-z0-9]+)*$")))]
    pub code: Arc<str>,
    /// The mistake, and the accepted input.
    pub message: Arc<str>,
}

impl Refusal {
    /// A refusal with a stable code and one line for people.
    pub fn new(code: &str, message: &str) -> Self {
        Self { code: code.into(), message: message.into() }
    }
}

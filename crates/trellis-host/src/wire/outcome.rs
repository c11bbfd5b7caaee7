//! The outcome of a call: a result, an error or a denial.

use serde::{Deserialize, Serialize};
use trellis_core::{ToolError, ToolOutcome, ToolResult, Value, engine::ToolErrorKind, id::CallId};

use super::{present, read};

/// The outcome of a call. Printed, an error is a mapping; taken, it may also be a text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "PrintedResult", try_from = "ResultLine")]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "call_result"))]
#[non_exhaustive]
pub struct CallResult {
    /// The call.
    pub id: CallId,
    /// The outcome.
    pub outcome: ToolOutcome,
    /// Further data about its origin; never in the context.
    pub meta: Option<Value>,
}

impl CallResult {
    /// The outcome of the call `id`.
    pub fn new(id: CallId, outcome: ToolOutcome) -> Self {
        Self { id, outcome, meta: None }
    }
}

impl From<&ToolResult> for CallResult {
    fn from(result: &ToolResult) -> Self {
        let ToolResult { id, outcome, meta } = result.clone();
        Self { id, outcome, meta }
    }
}

impl From<CallResult> for ToolResult {
    fn from(result: CallResult) -> Self {
        Self { id: result.id, outcome: result.outcome, meta: result.meta }
    }
}

/// An outcome that cannot be taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadOutcome {
    /// It is none, or more than one.
    #[error("a `tool_result` has exactly one of `result`, `error`, `denied: true`")]
    NotOne,
    /// Its error cannot be understood, with why.
    #[error("`error`: {0}")]
    Error(String),
}

/// Kinds of failure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "error_kind"))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ErrorKind {
    /// The tool reported an error, or died.
    #[default]
    Error,
    /// It took too long.
    Timeout,
    /// Its result breaks `returns`.
    Schema,
}

impl From<ToolErrorKind> for ErrorKind {
    fn from(kind: ToolErrorKind) -> Self {
        match kind {
            ToolErrorKind::Timeout => Self::Timeout,
            ToolErrorKind::Schema => Self::Schema,
            _ => Self::Error,
        }
    }
}

impl From<ErrorKind> for ToolErrorKind {
    fn from(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::Error => Self::Error,
            ErrorKind::Timeout => Self::Timeout,
            ErrorKind::Schema => Self::Schema,
        }
    }
}

/// The shape of an outcome that is printed.
#[derive(Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schemars", schemars(extend("oneOf" = super::constraints::one_outcome(), "dependentRequired" = super::constraints::reason_of_denial())))]
struct PrintedResult {
    /// The call; its answer has the same id.
    id: CallId,
    /// The value that it returned; null is a result.
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Value>,
    /// The error.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<PrintedError>,
    /// It was denied, or its approval expired.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "schemars", schemars(extend("const" = true)))]
    denied: bool,
    /// The reason of the denial.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// Further data about its origin; never in the context.
    #[serde(skip_serializing_if = "Option::is_none")]
    meta: Option<Value>,
}

/// The error of a call.
#[derive(Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "call_error"))]
struct PrintedError {
    /// The kind of failure.
    kind: ErrorKind,
    /// The tool's own code.
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<Value>,
    /// For people.
    message: String,
    /// For programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<Value>,
    /// True where no policy tries the call again.
    #[serde(rename = "final", skip_serializing_if = "std::ops::Not::not")]
    is_final: bool,
    /// The time before which another attempt makes no sense, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<u64>,
}

impl From<CallResult> for PrintedResult {
    fn from(CallResult { id, outcome, meta }: CallResult) -> Self {
        let none = Self { id, result: None, error: None, denied: false, reason: None, meta };
        match outcome {
            ToolOutcome::Success(value) => Self { result: Some(value), ..none },
            ToolOutcome::Error(ToolError { kind, code, message, data, is_final, after }) => {
                Self { error: Some(PrintedError { kind: kind.into(), code, message, data, is_final, after }), ..none }
            }
            ToolOutcome::Denied(reason) => Self { denied: true, reason, ..none },
        }
    }
}

/// The keys of an outcome that a client sends.
pub(super) const KEYS: [&str; 6] = ["id", "result", "error", "denied", "reason", "meta"];

/// The shape of an outcome that is taken.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object such as {\"id\": …, \"result\": …}")]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schemars", schemars(rename = "given_result", extend("oneOf" = super::constraints::one_outcome(), "dependentRequired" = super::constraints::reason_of_denial())))]
pub(super) struct ResultLine {
    /// The call; its answer has the same id.
    id: CallId,
    /// The value that it returned; null is a result.
    #[serde(default, deserialize_with = "present")]
    #[cfg_attr(feature = "schemars", schemars(skip_serializing_if = "Option::is_none"))]
    result: Option<Value>,
    /// The error: a text, or a mapping.
    #[serde(default)]
    #[cfg_attr(feature = "schemars", schemars(with = "GivenError", skip_serializing_if = "Option::is_none"))]
    error: Option<Value>,
    /// It was denied.
    #[serde(default)]
    #[cfg_attr(feature = "schemars", schemars(skip_serializing_if = "std::ops::Not::not", extend("const" = true)))]
    denied: bool,
    /// The reason of the denial.
    #[serde(default)]
    #[cfg_attr(feature = "schemars", schemars(skip_serializing_if = "Option::is_none"))]
    reason: Option<String>,
    /// Further data about its origin; never in the context.
    #[serde(default, deserialize_with = "present")]
    #[cfg_attr(feature = "schemars", schemars(skip_serializing_if = "Option::is_none"))]
    meta: Option<Value>,
}

/// The error of a call: a text, or a mapping.
#[cfg(feature = "schemars")]
#[derive(schemars::JsonSchema)]
#[schemars(untagged, rename = "given_error")]
#[expect(dead_code, reason = "only its schema is used; an error is read after the rest of its line")]
enum GivenError {
    /// For people.
    Text(String),
    /// For people and programs.
    More(ErrorLine),
}

/// The error of a call as a mapping.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a text or an object such as {\"message\": …}")]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "given_failure"))]
struct ErrorLine {
    /// For people.
    message: String,
    /// The kind of failure; `error` if it is missing.
    #[serde(default)]
    #[cfg_attr(feature = "schemars", schemars(skip_serializing_if = "is_plain"))]
    kind: ErrorKind,
    /// The tool's own code.
    #[serde(default, deserialize_with = "present")]
    #[cfg_attr(feature = "schemars", schemars(skip_serializing_if = "Option::is_none"))]
    code: Option<Value>,
    /// For programs.
    #[serde(default, deserialize_with = "present")]
    #[cfg_attr(feature = "schemars", schemars(skip_serializing_if = "Option::is_none"))]
    data: Option<Value>,
    /// True where no policy tries the call again.
    #[serde(default, rename = "final")]
    #[cfg_attr(feature = "schemars", schemars(skip_serializing_if = "std::ops::Not::not"))]
    is_final: bool,
    /// The time before which another attempt makes no sense, in milliseconds.
    #[serde(default)]
    #[cfg_attr(feature = "schemars", schemars(skip_serializing_if = "Option::is_none"))]
    after: Option<u64>,
}

impl TryFrom<ResultLine> for CallResult {
    type Error = BadOutcome;

    fn try_from(given: ResultLine) -> Result<Self, BadOutcome> {
        let outcome = match (given.result, given.error, given.denied) {
            (Some(value), None, false) => ToolOutcome::Success(value),
            (None, Some(Value::Text(message)), false) => ToolOutcome::Error(ToolError::new(&*message)),
            (None, Some(error), false) => {
                let ErrorLine { message, kind, code, data, is_final, after } = read(&error).map_err(BadOutcome::Error)?;
                ToolOutcome::Error(ToolError { kind: kind.into(), code, message, data, is_final, after })
            }
            (None, None, true) => ToolOutcome::Denied(given.reason),
            _ => return Err(BadOutcome::NotOne),
        };
        Ok(Self { id: given.id, outcome, meta: given.meta })
    }
}

#[cfg(feature = "schemars")]
/// Returns true for the default kind of a failure.
fn is_plain(kind: &ErrorKind) -> bool {
    *kind == ErrorKind::default()
}

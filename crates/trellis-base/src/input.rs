//! Inputs from a host, as data: how a session begins, answers of people, results of calls, and answers of predicates.
//!
//! **Invariant:** nothing here knows a program or a state, so that a finding can hold the session that meets it.

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Serialize};

use crate::{
    id::{CallId, KeySeed, NodeId, SessionId, SignalName},
    value::{Mapping, Value},
};

/// Start of a session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Start {
    /// The session's name, unique in its store. Without one it is `local`, for hosts that have only one.
    pub session: Option<SessionId>,
    /// The initial context.
    #[serde(default)]
    pub context: Mapping,
    /// The locale, if it is not the context's.
    #[serde(default)]
    pub locale: Option<Arc<str>>,
    /// A node to begin at instead of the entry, for `run --at` and child sessions.
    #[serde(default)]
    pub at: Option<NodeId>,
    /// The random number from which keys of calls derive (language 7.8). `Sessions` of the host draw one for each start, whatever stands here; a
    /// host that steps states itself draws its own. Without one, keys derive from the names of the graph and the session alone: two sessions of
    /// one name then call their tools under the same keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<KeySeed>,
}

/// Input from a host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Input {
    /// Answer of a person.
    Text(String),
    /// A value from a program.
    Value(Value),
    /// Result of a call.
    Result(ToolResult),
    /// A signal.
    Signal(SignalName),
    /// No value: a node that passes through, an elapsed sleep, an empty input.
    Pass,
}

/// Result of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The attempt it answers.
    pub id: CallId,
    /// Outcome of the call.
    pub outcome: ToolOutcome,
    /// Further data about its origin, such as the model that answered: recorded and shown, never in the context (language 9.3).
    #[serde(default, deserialize_with = "crate::value::present", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Value>,
}

impl ToolResult {
    /// The outcome of the call `id`.
    pub fn new(id: CallId, outcome: ToolOutcome) -> Self {
        Self { id, outcome, meta: None }
    }

    /// Sets the further data about its origin.
    #[must_use]
    pub fn with_meta(self, meta: impl Into<Option<Value>>) -> Self {
        Self { meta: meta.into(), ..self }
    }
}

/// Outcome of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolOutcome {
    /// It succeeded.
    Success(Value),
    /// It failed.
    Error(ToolError),
    /// It was denied, or its approval expired; with a reason, if one was given.
    Denied(Option<String>),
}

/// The error of a call: `sys.error` without tool and node (language 4.2).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolError {
    /// Kind of the failure.
    #[serde(default)]
    pub kind: ToolErrorKind,
    /// The tool's own code.
    #[serde(default, deserialize_with = "crate::value::present", skip_serializing_if = "Option::is_none")]
    pub code: Option<Value>,
    /// For people.
    pub message: String,
    /// For programs.
    #[serde(default, deserialize_with = "crate::value::present", skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    /// True if no policy tries the call again (language 9.3); no part of `sys.error`.
    #[serde(default, rename = "final", skip_serializing_if = "std::ops::Not::not")]
    pub is_final: bool,
    /// Milliseconds before which another attempt makes no sense (language 9.3); no part of `sys.error`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
}

impl ToolError {
    /// A plain failure.
    pub fn new(message: impl Into<String>) -> Self {
        Self { kind: ToolErrorKind::Error, code: None, message: message.into(), data: None, is_final: false, after: None }
    }

    /// A failure with a code.
    pub fn coded(code: impl Into<Value>, message: impl Into<String>) -> Self {
        Self { code: Some(code.into()), ..Self::new(message) }
    }

    /// Marks it as final: no policy tries the call again.
    #[must_use]
    pub fn finally(self) -> Self {
        Self { is_final: true, ..self }
    }
}

/// Kinds of tool failure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolErrorKind {
    /// The tool reported an error, or died.
    #[default]
    Error,
    /// It took too long.
    Timeout,
    /// Its result breaks `returns`.
    Schema,
}

impl ToolErrorKind {
    /// As `sys.error.kind` has it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Timeout => "timeout",
            Self::Schema => "schema",
        }
    }
}

/// Answers of deferred predicates for one step.
pub type Answers = BTreeMap<Arc<str>, bool>;

/// One recorded moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Moment {
    /// Input of the step.
    pub input: Input,
    /// Answers of predicates.
    #[serde(default, skip_serializing_if = "Answers::is_empty")]
    pub answers: Answers,
    /// The node where it led, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<NodeId>,
}

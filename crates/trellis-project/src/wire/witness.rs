//! A session that demonstrates a finding.

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Serialize};
use trellis_core::{Mapping, NodeId, SessionId, SignalName, ToolOutcome, Value, engine, id::CallId, witness};

/// A session that demonstrates a finding: its start, its inputs, and the violation at its end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "witness"))]
#[non_exhaustive]
pub struct Witness {
    /// The beginning of the session.
    pub start: Start,
    /// The answers of predicates while it begins.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub begun: BTreeMap<Arc<str>, bool>,
    /// The inputs, attempts and undone effects included, and the node where each leads.
    pub moments: Vec<Moment>,
    /// The violation at its end.
    #[serde(rename = "accident")]
    pub violation: Violation,
}

impl From<&witness::Witness> for Witness {
    fn from(witness: &witness::Witness) -> Self {
        Self {
            start: Start::from(&witness.start),
            begun: witness.begun.clone(),
            moments: witness.moments.iter().map(Moment::from).collect(),
            violation: Violation::from(&witness.violation),
        }
    }
}

/// The beginning of a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "start"))]
#[non_exhaustive]
pub struct Start {
    /// The session's name, or null.
    pub session: Option<SessionId>,
    /// The initial context.
    pub context: Mapping,
    /// The locale, if it is not the context's.
    pub locale: Option<Arc<str>>,
    /// The node where it begins, if it is not the entry.
    pub at: Option<NodeId>,
}

impl From<&engine::Start> for Start {
    fn from(start: &engine::Start) -> Self {
        Self { session: start.session.clone(), context: start.context.clone(), locale: start.locale.clone(), at: start.at.clone() }
    }
}

/// One moment of a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "moment"))]
#[non_exhaustive]
pub struct Moment {
    /// The input.
    pub input: Input,
    /// The answers of predicates.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub answers: BTreeMap<Arc<str>, bool>,
    /// The node where it leads, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<NodeId>,
}

impl From<&engine::Moment> for Moment {
    fn from(moment: &engine::Moment) -> Self {
        Self { input: Input::from(&moment.input), answers: moment.answers.clone(), to: moment.to.clone() }
    }
}

/// An input, as a host hands it in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "input"))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Input {
    /// A text that a person typed.
    Text(String),
    /// A value from a program.
    Value(Value),
    /// The outcome of a call.
    #[non_exhaustive]
    Result {
        /// The call.
        id: CallId,
        /// The outcome.
        outcome: Outcome,
    },
    /// A signal.
    Signal(SignalName),
    /// No value: a node that passes through, an elapsed sleep, an empty input.
    Pass,
}

impl From<&engine::Input> for Input {
    fn from(input: &engine::Input) -> Self {
        match input {
            engine::Input::Text(text) => Self::Text(text.clone()),
            engine::Input::Value(value) => Self::Value(value.clone()),
            engine::Input::Result(result) => Self::Result { id: result.id.clone(), outcome: Outcome::from(&result.outcome) },
            engine::Input::Signal(signal) => Self::Signal(signal.clone()),
            engine::Input::Pass => Self::Pass,
        }
    }
}

/// The outcome of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "outcome"))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Outcome {
    /// It succeeded with this value.
    Success(Value),
    /// It failed.
    Error(ToolError),
    /// It was denied, or its approval expired; with the reason, or null.
    Denied(Option<String>),
}

impl From<&ToolOutcome> for Outcome {
    fn from(outcome: &ToolOutcome) -> Self {
        match outcome {
            ToolOutcome::Success(value) => Self::Success(value.clone()),
            ToolOutcome::Error(error) => Self::Error(ToolError::from(error)),
            ToolOutcome::Denied(reason) => Self::Denied(reason.clone()),
        }
    }
}

/// The reason why a call failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "tool_error"))]
#[non_exhaustive]
pub struct ToolError {
    /// The kind of failure: `error`, `timeout` or `schema`.
    pub kind: String,
    /// The tool's own code.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub code: Option<Value>,
    /// For people.
    pub message: String,
    /// For programs.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    /// True where no policy tries the call again.
    #[serde(default, rename = "final", skip_serializing_if = "std::ops::Not::not")]
    pub is_final: bool,
    /// The time before which another attempt makes no sense, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
}

impl From<&engine::ToolError> for ToolError {
    fn from(error: &engine::ToolError) -> Self {
        let kind = match error.kind {
            engine::ToolErrorKind::Timeout => "timeout",
            engine::ToolErrorKind::Schema => "schema",
            _ => "error",
        };
        Self {
            kind: kind.to_owned(),
            code: error.code.clone(),
            message: error.message.clone(),
            data: error.data.clone(),
            is_final: error.is_final,
            after: error.after,
        }
    }
}

/// Reads a value that is present under its key, null included.
fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// An end that should not be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "violation"))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Violation {
    /// The session ends as failed.
    #[non_exhaustive]
    Failed {
        /// The node.
        node: NodeId,
        /// The code of the failure.
        code: Arc<str>,
        /// The path that it is about, or the text that an author wrote for a part of an item.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        about: Option<Arc<str>>,
        /// True where that is a path of the context, or of `sys`, which is not set then.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        missing: bool,
    },
    /// The session makes a call, or stores one for a rollback, whose arguments do not fit.
    #[non_exhaustive]
    Call {
        /// The node that makes it.
        node: NodeId,
        /// The tool, or the node that begins the child.
        callee: Arc<str>,
        /// The JSON Schema of its arguments.
        takes: Value,
    },
    /// The session does not begin, since a value is not given.
    #[non_exhaustive]
    Refused {
        /// The path of the value.
        missing: Arc<str>,
    },
}

impl From<&witness::Violation> for Violation {
    fn from(violation: &witness::Violation) -> Self {
        match violation {
            witness::Violation::Failed { node, code, about, missing } => {
                Self::Failed { node: node.clone(), code: Arc::clone(code), about: about.clone(), missing: *missing }
            }
            witness::Violation::Call { node, callee, takes } => {
                Self::Call { node: node.clone(), callee: Arc::clone(callee), takes: takes.clone() }
            }
            witness::Violation::Refused { missing } => Self::Refused { missing: Arc::clone(missing) },
        }
    }
}

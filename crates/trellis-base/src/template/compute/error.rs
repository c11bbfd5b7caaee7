//! The reasons why a `compute` file gave no result.

use std::fmt;

use crate::{
    diagnostic::{FilePath, Place},
    input::ToolError,
    span::{LineColumn, LineIndex, Span},
    value::Value,
};

/// The code of a failure that its author gave none.
const COMPUTE: &str = "compute";

/// A failure of a `compute` file: its author's `error`, or one with the code `compute`. The same arguments fail again, so no retry helps.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub struct ComputeError {
    /// A text or an integer.
    pub code: Value,
    /// For people, one line.
    pub message: String,
    /// For programs.
    pub data: Option<Value>,
    /// The bytes that failed, if they are known.
    pub place: Option<Place>,
    /// The beginning of that place.
    pub at: Option<LineColumn>,
}

impl ComputeError {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self { code: Value::text(COMPUTE), message: message.into(), data: None, place: None, at: None }
    }

    /// Adds its place in a file.
    pub(super) fn at(self, path: &FilePath, text: &str, span: Span) -> Self {
        Self { place: Some(Place::new(path, span)), at: Some(LineIndex::new(text).locate(span.start)), ..self }
    }
}

impl fmt::Display for ComputeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match (&self.place, self.at) {
            (Some(place), Some(at)) => write!(f, " ({}:{}:{})", place.path, at.line, at.column),
            _ => Ok(()),
        }
    }
}

impl From<ComputeError> for ToolError {
    fn from(error: ComputeError) -> Self {
        let message = error.to_string();
        Self { code: Some(error.code), data: error.data, ..Self::new(message).finally() }
    }
}

/// The error that an author set: `{code?, message, data?}`.
pub(super) fn of_author(error: &Value) -> ComputeError {
    let wrong = |what: String| ComputeError::new(format!("{what}: `error` is `{{code?, message, data?}}`"));
    let Value::Map(entries) = error else { return wrong(format!("`error` was set to a value of kind {}", error.kind())) };
    if let Some(key) = entries.keys().find(|key| !["code", "message", "data"].contains(&&***key)) {
        return wrong(format!("`error` has no key `{key}`"));
    }
    let Some(Value::Text(message)) = entries.get("message") else { return wrong("`error` has no text `message`".to_owned()) };
    let code = match entries.get("code") {
        None | Some(Value::Null) => Value::text(COMPUTE),
        Some(code @ (Value::Text(_) | Value::Int(_) | Value::UInt(_))) => code.clone(),
        Some(other) => return wrong(format!("a code is a text or an integer, not of kind {}", other.kind())),
    };
    ComputeError { code, data: entries.get("data").cloned(), ..ComputeError::new(&**message) }
}

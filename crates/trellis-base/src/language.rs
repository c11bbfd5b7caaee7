//! The words of the language that mean the same to the parser, a program, a state and the engine.
//!
//! **Invariant:** nothing here is resolved or lowered, and nothing refers to another part of the crate.

use std::{sync::Arc, time::Duration};

/// `input_type:`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InputType {
    /// Any text.
    Text,
    /// `yes` or `no`.
    Confirm,
    /// One of the options.
    Choice,
    /// An integer.
    Int,
    /// A decimal.
    Float,
    /// Any JSON value.
    Json,
    /// Text that is not shown, logged or stored in `sys.ans`.
    Secret,
}

/// `end:`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndSyntax {
    /// Ending here is success.
    Finished,
    /// Ending here is failure.
    Failed,
}

/// `on_error:` of a composite call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnBranchError {
    /// A branch's error is the node's.
    Fail,
    /// Errors become entries of the result.
    Collect,
}

/// `effect:` (language 5), weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// No effect to undo.
    None,
    /// Can be undone.
    Undoable,
    /// Cannot be undone.
    Irreversible,
}

/// `retry:` with its defaults filled in (language 7.4).
#[derive(Clone, Debug, PartialEq)]
pub struct Retry {
    /// Attempts in all, the first included; at least 1.
    pub max: u32,
    /// The first delay.
    pub base: Duration,
    /// Factor between two delays; at least 1.
    pub factor: f64,
    /// The longest delay.
    pub cap: Duration,
    /// True if results of kind `error` are retried.
    pub on_error: bool,
    /// True if results of kind `timeout` are retried.
    pub on_timeout: bool,
}

/// A place in rendered arguments where a secret belongs (language 3.6). Out of band, so that no text can pretend to be one.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct SecretUse {
    /// JSON pointer of the text that holds it.
    pub pointer: String,
    /// Byte offset in that text.
    pub offset: usize,
    /// The secret's name.
    pub name: Arc<str>,
}

/// The most parts of a call that run at once (language 10.1).
pub const MOST_ABREAST: u32 = 64;

/// The highest `limits.depth`: the levels around a value in a record must fit within those that readers of JSON accept.
pub const DEEPEST: u32 = 64;

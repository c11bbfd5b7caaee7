//! Conditions as written (language 6.1).

use std::sync::Arc;

use crate::{path::KeyPath, value::Value};

/// A parsed condition. Whether a bare name is a predicate or a key is decided when the graph is compiled.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// The condition as the author wrote it, trimmed.
    pub text: Arc<str>,
    /// The path it reads, or the predicate it names.
    pub subject: KeyPath,
    /// What is asked of it.
    pub test: Test,
    /// Whether the answer is turned round: `not`, `!=`, `is not`.
    pub negated: bool,
}

/// What a condition asks.
#[derive(Clone, Debug, PartialEq)]
pub enum Test {
    /// `path`: a boolean, or a predicate.
    Truth,
    /// `path == literal`.
    Is(Value),
    /// `path in [literal, …]`.
    In(Vec<Value>),
    /// `path is set`.
    Set,
    /// `path is empty`.
    Empty,
}

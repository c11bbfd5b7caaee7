//! Mismatches between a value and a Rust type, with their place.

use std::fmt;

use serde::{de, ser};

use super::Segment;

/// The reason why a Rust value is no [`Value`](super::Value), or a value does not fit a Rust type.
///
/// It prints as one line that begins with the place, such as ``at `items.0.price`: a number must be finite, not NaN``.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConvertError(Box<Trouble>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Trouble {
    /// From the inside out.
    path: Vec<Segment>,
    message: String,
}

impl ConvertError {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self(Box::new(Trouble { path: Vec::new(), message: message.into() }))
    }

    pub(super) fn number(number: impl fmt::Display) -> Self {
        Self::new(format!("the number {number} does not fit 64 bits"))
    }

    pub(super) fn infinite(number: f64) -> Self {
        Self::new(format!("a number must be finite, not {number}"))
    }

    /// Adds one step further out to its place.
    pub(super) fn within(mut self, segment: Segment) -> Self {
        self.0.path.push(segment);
        self
    }

    /// Returns its place in the value, dotted and with list indexes, such as `items.0.price`; empty for the value itself.
    pub fn path(&self) -> String {
        let segments: Vec<_> = self.0.path.iter().rev().map(ToString::to_string).collect();
        segments.join(".")
    }

    /// Returns the description of the mismatch.
    pub fn message(&self) -> &str {
        &self.0.message
    }
}

impl fmt::Display for ConvertError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.path.is_empty() {
            return f.write_str(&self.0.message);
        }
        write!(f, "at `{}`: {}", self.path(), self.0.message)
    }
}

impl std::error::Error for ConvertError {}

impl ser::Error for ConvertError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(message.to_string())
    }
}

impl de::Error for ConvertError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(message.to_string())
    }
}

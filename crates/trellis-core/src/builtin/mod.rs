//! Builtins that only calculate: a call's arguments become its result, and nothing else is read or written (world 9.24).
//!
//! Each function takes the arguments of a call by their names, and fails with the code that `docs/reference/builtins.md` lists. The same arguments fail
//! again: none of these failures is worth a retry.

mod json;
mod math;
#[cfg(test)]
mod tests;

pub use self::{
    json::{merge as json_merge, parse as json_parse},
    math::evaluate as math_evaluate,
};
use crate::{input::ToolError, value::Value};

/// A failure with a code.
fn failure(code: &str, message: impl Into<String>) -> ToolError {
    ToolError { code: Some(Value::text(code)), ..ToolError::new(message) }
}

/// A missing or wrong argument.
fn wanted(code: &str, name: &str, kind: &str, given: Option<&Value>) -> ToolError {
    failure(code, format!("`{name}` needs a {kind}, not {}", given.map_or("nothing", Value::kind)))
}

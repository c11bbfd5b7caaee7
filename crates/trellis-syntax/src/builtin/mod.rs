//! Builtins: the contracts of all of them, and those that only calculate (language 9.24).
//!
//! A host carries them out. A function here takes the arguments of a call by their names, and fails with the code that `docs/reference/builtins.md`
//! lists; the same arguments fail again, so its failures are final.

mod contracts;
mod json;
mod math;
#[cfg(test)]
mod tests;

pub use self::{
    contracts::{BUILTINS, BuiltinTool, MODEL},
    json::{merge as json_merge, parse as json_parse, read_json},
    math::evaluate as math_evaluate,
};
use trellis_base::{input::ToolError, value::Value};

/// A failure with a code.
fn failure(code: &str, message: impl Into<String>) -> ToolError {
    ToolError::coded(code, message).finally()
}

/// A missing or wrong argument.
fn wanted(code: &str, name: &str, kind: &str, given: Option<&Value>) -> ToolError {
    failure(code, format!("`{name}` needs a {kind}, not {}", given.map_or("nothing", Value::kind)))
}

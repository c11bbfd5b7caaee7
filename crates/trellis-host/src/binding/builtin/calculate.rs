//! Builtins that only calculate.

use trellis_core::{Mapping, ToolError, Value, builtin};

use super::{Request, Tool};

/// A builtin of the core.
#[derive(Clone, Copy)]
pub(super) struct Calculation(&'static str, fn(&Mapping) -> Result<Value, ToolError>);

impl Calculation {
    pub(super) fn named(name: &str) -> Option<Self> {
        match name {
            "math.evaluate" => Some(Self("math.evaluate", builtin::math_evaluate)),
            "json.parse" => Some(Self("json.parse", builtin::json_parse)),
            "json.merge" => Some(Self("json.merge", builtin::json_merge)),
            _ => None,
        }
    }
}

impl Tool for Calculation {
    fn call(&self, request: Request<'_>) -> Result<Value, ToolError> {
        (self.1)(request.args)
    }
}

impl std::fmt::Debug for Calculation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

//! `math.evaluate`.

use super::{failure, wanted};
use trellis_base::{
    input::ToolError,
    template,
    value::{Mapping, Value},
};

const EXPRESSION: &str = "expression";

/// `math.evaluate {expression}`: the number of an expression like `2 + 3 * (4 - 1)`.
///
/// # Errors
/// `expression`: it is none, it holds other values than numbers, or its number does not fit; `data: {at}` is the byte where, from 0, if that is known.
pub fn evaluate(arguments: &Mapping) -> Result<Value, ToolError> {
    let Some(Value::Text(expression)) = arguments.get(EXPRESSION) else {
        return Err(wanted(EXPRESSION, EXPRESSION, "text", arguments.get(EXPRESSION)));
    };
    template::number(expression).map_err(|error| {
        let data = error.span.map(|span| Value::map([("at", Value::from(u64::from(span.start)))]));
        ToolError { data, ..failure(EXPRESSION, error.message) }
    })
}

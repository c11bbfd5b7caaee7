//! Inputs as the lines of an author.

use trellis_base::id::CallId;
use trellis_engine::engine::{Input, ToolError, ToolOutcome};

/// The mark in place of a secret that a person typed.
const SECRET: &str = "***";

/// The line of an input; results name their call by its number among `calls` where it is not the pending one.
pub fn input(input: &Input, calls: &[CallId], pending: Option<&CallId>, is_secret: bool) -> String {
    match input {
        Input::Text(_) | Input::Value(_) if is_secret => format!("> {SECRET}"),
        Input::Text(text) if text.contains(['\n', '\r']) => format!(">= {}", json(text)),
        Input::Text(text) if text.is_empty() => ">".to_owned(),
        Input::Text(text) => format!("> {text}"),
        Input::Value(value) => format!(">= {}", value.to_json()),
        Input::Signal(signal) => format!("^ {signal}"),
        Input::Pass => ".".to_owned(),
        Input::Result(result) => {
            let number = match calls.iter().rposition(|call| *call == result.id) {
                Some(_) if pending == Some(&result.id) => String::new(),
                Some(at) => (at + 1).to_string(),
                None => "0".to_owned(),
            };
            format!("<{number}{}", outcome(&result.outcome))
        }
    }
}

/// Returns the text after `<`: the result of a call.
pub fn outcome(outcome: &ToolOutcome) -> String {
    match outcome {
        ToolOutcome::Success(value) => format!(" {}", value.to_json()),
        ToolOutcome::Error(error) if is_plain(error) => format!("! {}", error.message),
        ToolOutcome::Error(error) => format!("! {}", json(error)),
        ToolOutcome::Denied(None) => "x".to_owned(),
        ToolOutcome::Denied(Some(reason)) => format!("x {}", reason.replace(['\n', '\r'], " ")),
    }
}

/// Returns whether an error is its message and nothing else.
fn is_plain(error: &ToolError) -> bool {
    let message = &*error.message;
    let is_line = !message.is_empty() && message.trim() == message && !message.starts_with('{') && !message.contains(['\n', '\r']);
    is_line && *error == ToolError::new(message)
}

/// JSON on one line.
pub fn json(value: &(impl serde::Serialize + ?Sized)) -> String {
    serde_json::to_string(value).unwrap_or_else(|error| unreachable!("everything here is JSON: {error}"))
}

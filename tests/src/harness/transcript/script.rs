//! One line of an author: what it hands to the engine.

use trellis_core::{ToolError, ToolOutcome, Value, engine::ToolErrorKind};

/// What an author line asks for.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Line {
    /// Nothing: blank, or a comment.
    Remark,
    /// `$ context {…}`, `$ locale x`, `$ at x`, `$ session x`, `$ limit n`: how the session begins.
    Begin(String, String),
    /// `@ name = true`: what a predicate answers from here on.
    Predicate(String, bool),
    /// `> text`.
    Text(String),
    /// `>= json`.
    Value(Value),
    /// `< json`, `<! message`, `<~`, `<x reason`, of the pending call or with a number of a call named before.
    Result(Option<usize>, ToolOutcome),
    /// `^ name`.
    Signal(String),
    /// `.`.
    Pass,
    /// `= path`: shows a context value; `= state path`: a part of the state.
    Show(bool, String),
}

/// Whether a line is the program's: it is thrown away and written anew.
pub(super) fn is_program_line(line: &str) -> bool {
    line.starts_with(['|', '?', '!', '-', '*', '~', ':'])
}

/// Reads an author line.
pub(super) fn read(line: &str) -> Result<Line, String> {
    let line = line.trim_end_matches('\r');
    let Some(mark) = line.chars().next().filter(|mark| *mark != '#') else { return Ok(Line::Remark) };
    let rest = &line[mark.len_utf8()..];
    let bare = rest.strip_prefix(' ').unwrap_or(rest);
    match mark {
        '$' => bare.split_once(' ').map(|(what, value)| Line::Begin(what.into(), value.into())),
        '@' => bare.split_once(" = ").and_then(|(name, answer)| Some(Line::Predicate(name.into(), answer.parse().ok()?))),
        '>' => match rest.strip_prefix('=') {
            Some(value) => return json(value).map(Line::Value),
            None => Some(Line::Text(bare.into())),
        },
        '<' => return result(rest),
        '^' => Some(Line::Signal(bare.into())),
        '.' => Some(Line::Pass),
        '=' => Some(match bare.strip_prefix("state ") {
            Some(path) => Line::Show(true, path.trim().into()),
            None => Line::Show(false, bare.into()),
        }),
        _ => None,
    }
    .ok_or_else(|| format!("`{line}` is no line of a transcript"))
}

/// Reads what stands behind `<`.
fn result(rest: &str) -> Result<Line, String> {
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let call = rest[..digits].parse().ok();
    let rest = &rest[digits..];
    let outcome = match rest.chars().next() {
        Some('!') => ToolOutcome::Error(error(rest[1..].trim())),
        Some('~') => {
            ToolOutcome::Error(ToolError { kind: ToolErrorKind::Timeout, ..ToolError::new(or(rest[1..].trim(), "took too long")) })
        }
        Some('x') => ToolOutcome::Denied(Some(rest[1..].trim().to_owned()).filter(|reason| !reason.is_empty())),
        _ => ToolOutcome::Success(json(rest)?),
    };
    Ok(Line::Result(call, outcome))
}

/// An error as a host hands it over: a text, or `{message, code, data}`.
fn error(text: &str) -> ToolError {
    match serde_json::from_str(text) {
        Ok(error) if text.starts_with('{') => error,
        _ => ToolError::new(text),
    }
}

fn or<'t>(text: &'t str, other: &'t str) -> &'t str {
    if text.is_empty() { other } else { text }
}

fn json(text: &str) -> Result<Value, String> {
    Value::from_json(text.trim()).map_err(|error| format!("`{}` is no JSON: {error}", text.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_can_name_a_call() {
        assert_eq!(read("<2 [1]").unwrap(), Line::Result(Some(2), ToolOutcome::Success(Value::list([Value::Int(1)]))));
        assert_eq!(read("<! broken").unwrap(), Line::Result(None, ToolOutcome::Error(ToolError::new("broken"))));
        assert_eq!(read("<x").unwrap(), Line::Result(None, ToolOutcome::Denied(None)));
        assert!(read("< {").is_err());
        assert_eq!(read(">").unwrap(), Line::Text(String::new()));
        assert_eq!(read(">=\"a\"").unwrap(), Line::Value(Value::text("a")));
    }
}

//! One line of an author: its input for the engine.

use std::borrow::Cow;

use trellis_base::value::Value;
use trellis_engine::engine::{ToolError, ToolErrorKind, ToolOutcome};

/// The meaning of an author line.
#[derive(Clone, Debug, PartialEq)]
pub enum AuthorLine {
    /// No input: a blank line, or a comment.
    Remark,
    /// `$ context {…}`, `$ locale x`, `$ at x`, `$ session x`, `$ limit n`: how the session begins.
    Begin(String, String),
    /// `@ name = true`: the answer of a predicate from here on.
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

/// Returns whether a line is the program's: it is discarded and rewritten.
pub fn is_program_line(line: &str) -> bool {
    line.starts_with(['|', '?', '!', '-', '*', '~', ':'])
}

/// Splits a line of an author into the number of a child behind its mark, as in `>[2] Ada`, and the rest.
pub fn unmarked(line: &str) -> (Cow<'_, str>, Option<usize>) {
    let mut chars = line.chars();
    let Some(mark) = chars.next().filter(|mark| matches!(mark, '>' | '<' | '^' | '.' | '=')) else { return (line.into(), None) };
    let found = chars.as_str().strip_prefix('[').and_then(|rest| rest.split_once(']'));
    match found.and_then(|(number, rest)| Some((number.parse().ok()?, rest))) {
        Some((number, rest)) => (format!("{mark}{rest}").into(), Some(number)),
        None => (line.into(), None),
    }
}

/// Reads an author line.
///
/// # Errors
/// It is none, or has a part that is no JSON.
pub fn read(line: &str) -> Result<AuthorLine, String> {
    let line = line.trim_end_matches('\r');
    let Some(mark) = line.chars().next().filter(|mark| *mark != '#') else { return Ok(AuthorLine::Remark) };
    let rest = &line[mark.len_utf8()..];
    let bare = rest.strip_prefix(' ').unwrap_or(rest);
    match mark {
        '$' => {
            let (what, value) = bare.split_once(' ').unwrap_or((bare, ""));
            Some(AuthorLine::Begin(what.into(), value.into()))
        }
        '@' => bare.split_once(" = ").and_then(|(name, answer)| Some(AuthorLine::Predicate(name.into(), answer.parse().ok()?))),
        '>' => match rest.strip_prefix('=') {
            Some(value) => return json(value).map(AuthorLine::Value),
            None => Some(AuthorLine::Text(bare.into())),
        },
        '<' => return result(rest),
        '^' => Some(AuthorLine::Signal(bare.into())),
        '.' => Some(AuthorLine::Pass),
        '=' => Some(match bare.strip_prefix("state ") {
            Some(path) => AuthorLine::Show(true, path.trim().into()),
            None => AuthorLine::Show(false, bare.into()),
        }),
        _ => None,
    }
    .ok_or_else(|| format!("`{line}` is no line of a transcript"))
}

/// Reads the text after `<`.
fn result(rest: &str) -> Result<AuthorLine, String> {
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let call = rest[..digits].parse().ok();
    let rest = &rest[digits..];
    Ok(AuthorLine::Result(call, outcome(rest)?))
}

/// Reads an outcome: JSON, `! message`, `~`, `x reason`.
///
/// # Errors
/// It is no JSON.
pub fn outcome(rest: &str) -> Result<ToolOutcome, String> {
    Ok(match rest.chars().next() {
        Some('!') => ToolOutcome::Error(error(rest[1..].trim())),
        Some('~') => {
            ToolOutcome::Error(ToolError { kind: ToolErrorKind::Timeout, ..ToolError::new(or(rest[1..].trim(), "took too long")) })
        }
        Some('x') => ToolOutcome::Denied(Some(rest[1..].trim().to_owned()).filter(|reason| !reason.is_empty())),
        _ => ToolOutcome::Success(json(rest)?),
    })
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
    fn the_number_of_a_child_stands_behind_the_mark() {
        assert_eq!(unmarked(">[2] Ada"), ("> Ada".into(), Some(2)));
        assert_eq!(unmarked("> [2] Ada"), ("> [2] Ada".into(), None));
        assert_eq!(unmarked("<2 {}"), ("<2 {}".into(), None));
    }

    #[test]
    fn results_can_name_a_call() {
        assert_eq!(read("<2 [1]").unwrap(), AuthorLine::Result(Some(2), ToolOutcome::Success(Value::list([Value::Int(1)]))));
        assert_eq!(read("<! broken").unwrap(), AuthorLine::Result(None, ToolOutcome::Error(ToolError::new("broken"))));
        assert_eq!(read("<x").unwrap(), AuthorLine::Result(None, ToolOutcome::Denied(None)));
        assert!(read("< {").is_err());
        assert_eq!(read(">").unwrap(), AuthorLine::Text(String::new()));
        assert_eq!(read(">=\"a\"").unwrap(), AuthorLine::Value(Value::text("a")));
    }
}

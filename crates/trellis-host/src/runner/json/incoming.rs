//! One line from the other end becomes a command.

use std::sync::Arc;

use serde::Deserialize;
use trellis_core::{
    Input, SignalName, ToolError, ToolOutcome, ToolResult, Value, diagnostic::did_you_mean, engine::ToolErrorKind, id::CallId,
};

use crate::runner::console::Command;

pub(super) fn bad(code: &'static str, message: impl Into<String>) -> Command {
    Command::Bad { code, message: message.into() }
}

/// The number of a question, beside its answer.
const SEQ: &str = "seq";

const KINDS: [&str; 8] = ["input", "tool_result", "signal", "approve", "deny", "predicate", "context", "keep"];

pub(super) fn parse(line: &str) -> Command {
    let message = match Value::from_json(line) {
        Ok(Value::Map(message)) => message,
        Ok(other) => return bad("bad-line", format!("a line is an object such as {{\"input\": …}}, not {}", other.kind())),
        Err(error) => return bad("bad-json", format!("the line is no JSON: {error}")),
    };
    let mut entries = message.iter().filter(|(key, _)| &***key != SEQ);
    let (Some((key, value)), None) = (entries.next(), entries.next()) else {
        return bad("bad-line", format!("a line has exactly one of {}", names()));
    };
    match message.get(SEQ) {
        Some(seq) => numbered(seq, key, command(key, value)),
        None => command(key, value),
    }
}

/// An answer with the number of its question.
fn numbered(seq: &Value, key: &str, answer: Command) -> Command {
    match (answer, seq) {
        (bad @ Command::Bad { .. }, _) => bad,
        (answer @ (Command::Input(_) | Command::Context(_) | Command::Keep(_)), Value::Int(seq)) if *seq >= 0 => {
            Command::Numbered { seq: seq.unsigned_abs(), answer: Box::new(answer) }
        }
        (Command::Input(_) | Command::Context(_) | Command::Keep(_), other) => {
            bad("bad-line", format!("`seq` is the number of a question, such as 3, not {}", other.to_json()))
        }
        _ => bad("bad-line", format!("`seq` stands beside `input`, `context` and `keep`; `{key}` names what it belongs to by itself")),
    }
}

fn command(key: &Arc<str>, value: &Value) -> Command {
    match &**key {
        "input" => Command::Input(match value {
            Value::Text(text) => Input::Text(text.to_string()),
            value => Input::Value(value.clone()),
        }),
        "signal" => text(key, value, |name| Command::Signal(SignalName::new(name))),
        "approve" => text(key, value, |id| Command::Approve { id: Some(id.into()), yes: true }),
        "deny" => text(key, value, |id| Command::Approve { id: Some(id.into()), yes: false }),
        "tool_result" => decode::<ResultLine>(key, value).map_or_else(|bad| bad, |line| line.command()),
        "predicate" => {
            decode::<PredicateLine>(key, value).map_or_else(|bad| bad, |line| Command::Predicate { id: line.id, value: line.value })
        }
        "context" => match value {
            Value::Map(keys) => Command::Context(keys.clone()),
            other => bad("bad-line", format!("`context` is a mapping, not {}", other.kind())),
        },
        "keep" => value.as_bool().map_or_else(|| bad("bad-line", format!("`keep` is true or false, not {}", value.kind())), Command::Keep),
        other => {
            let help = did_you_mean(other, KINDS).unwrap_or_else(|| format!("a line has exactly one of {}", names()));
            bad("bad-line", format!("unknown key `{other}`; {help}"))
        }
    }
}

fn names() -> String {
    KINDS.map(|kind| format!("`{kind}`")).join(", ")
}

fn text(key: &str, value: &Value, command: impl FnOnce(&str) -> Command) -> Command {
    value.as_str().map_or_else(|| bad("bad-line", format!("`{key}` is a text, not {}", value.kind())), command)
}

fn decode<T: serde::de::DeserializeOwned>(key: &str, value: &Value) -> Result<T, Command> {
    serde_json::from_str(&value.to_json()).map_err(|error| {
        let error = error.to_string();
        let why = error.split_once(" at line").map_or(&*error, |(why, _)| why);
        bad("bad-line", format!("`{key}`: {why}"))
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PredicateLine {
    id: String,
    value: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ResultLine {
    id: String,
    // A result of null is a result.
    #[serde(default, deserialize_with = "present")]
    result: Option<Value>,
    #[serde(default)]
    error: Option<Value>,
    #[serde(default)]
    denied: bool,
    #[serde(default)]
    reason: Option<String>,
}

fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// `error` of a `tool_result`, unless it is a text.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ErrorLine {
    message: String,
    #[serde(default)]
    kind: ToolErrorKind,
    #[serde(default)]
    code: Option<Value>,
    #[serde(default)]
    data: Option<Value>,
}

impl ResultLine {
    fn command(self) -> Command {
        let outcome = match (self.result, self.error, self.denied) {
            (Some(value), None, false) => ToolOutcome::Success(value),
            (None, Some(Value::Text(message)), false) => ToolOutcome::Error(ToolError::new(&*message)),
            (None, Some(error), false) => match decode::<ErrorLine>("error", &error) {
                Ok(ErrorLine { message, kind, code, data }) => ToolOutcome::Error(ToolError { kind, code, message, data }),
                Err(bad) => return bad,
            },
            (None, None, true) => ToolOutcome::Denied(self.reason),
            _ => return bad("bad-line", "a `tool_result` has exactly one of `result`, `error`, `denied: true`"),
        };
        Command::Result(ToolResult { id: CallId::new(self.id), outcome })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(line: &str) -> String {
        match parse(line) {
            Command::Bad { message, .. } => message,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn texts_are_typed_and_other_values_are_values() {
        assert_eq!(parse(r#"{"input":"42"}"#), Command::Input(Input::Text("42".into())));
        assert_eq!(parse(r#"{"input":18446744073709551615}"#), Command::Input(Input::Value(Value::UInt(u64::MAX))));
        assert_eq!(parse(r#" {"input":null} "#), Command::Input(Input::Value(Value::Null)));
        assert_eq!(parse(r#"{"signal":"interrupt"}"#), Command::Signal("interrupt".into()));
        assert_eq!(parse(r#"{"deny":"c1"}"#), Command::Approve { id: Some("c1".into()), yes: false });
        assert_eq!(parse(r#"{"predicate":{"id":"p","value":false}}"#), Command::Predicate { id: "p".into(), value: false });
    }

    #[test]
    fn an_answer_may_name_its_question() {
        let numbered = |line: &str| match parse(line) {
            Command::Numbered { seq, answer } => (seq, *answer),
            other => panic!("{other:?}"),
        };
        assert_eq!(numbered(r#"{"input":"x","seq":3}"#), (3, Command::Input(Input::Text("x".into()))));
        assert_eq!(numbered(r#"{"seq":0,"keep":true}"#), (0, Command::Keep(true)));
        assert_eq!(message(r#"{"input":1,"seq":-1}"#), "`seq` is the number of a question, such as 3, not -1");
        assert!(message(r#"{"deny":"c","seq":1}"#).starts_with("`seq` stands beside `input`, `context` and `keep`"));
        assert!(message(r#"{"seq":1}"#).contains("exactly one of `input`"));
    }

    #[test]
    fn a_result_is_a_value_an_error_or_a_denial() {
        let outcome = |line: &str| match parse(line) {
            Command::Result(result) => result.outcome,
            other => panic!("{other:?}"),
        };
        assert_eq!(outcome(r#"{"tool_result":{"id":"c","result":null}}"#), ToolOutcome::Success(Value::Null));
        assert_eq!(outcome(r#"{"tool_result":{"id":"c","error":"down"}}"#), ToolOutcome::Error(ToolError::new("down")));
        let error = outcome(r#"{"tool_result":{"id":"c","error":{"message":"down","code":503,"data":{"a":1}}}}"#);
        assert!(matches!(error, ToolOutcome::Error(ToolError { code: Some(Value::Int(503)), data: Some(_), .. })));
        assert_eq!(outcome(r#"{"tool_result":{"id":"c","denied":true}}"#), ToolOutcome::Denied(None));
    }

    #[test]
    fn a_bad_line_says_what_a_line_is() {
        assert!(message("{").starts_with("the line is no JSON"));
        assert_eq!(message("[1]"), "a line is an object such as {\"input\": …}, not list");
        assert_eq!(message(r#"{"imput":1}"#), "unknown key `imput`; did you mean `input`?");
        assert!(message("{}").contains("exactly one of `input`"));
        assert!(message(r#"{"input":1,"signal":"x"}"#).contains("exactly one"));
        assert_eq!(message(r#"{"keep":1}"#), "`keep` is true or false, not integer");
        assert_eq!(message(r#"{"context":[]}"#), "`context` is a mapping, not list");
        assert_eq!(message(r#"{"signal":1}"#), "`signal` is a text, not integer");
        assert!(message(r#"{"tool_result":{"id":"c"}}"#).contains("exactly one of `result`"));
        assert_eq!(message(r#"{"tool_result":{"result":1}}"#), "`tool_result`: missing field `id`");
    }
}

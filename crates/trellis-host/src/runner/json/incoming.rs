//! One line from the other end becomes a command.

use trellis_core::{Input, SessionId, Value};

use crate::{
    runner::console::Command,
    wire::{BadReply, Reply},
};

pub(super) fn bad(code: &'static str, message: impl Into<String>) -> Command {
    Command::Bad { code, message: message.into() }
}

pub(super) fn parse(line: &str) -> Command {
    match Reply::parse(line) {
        Ok(reply) => command(reply),
        Err(BadReply { code, message, .. }) => bad(code, message),
    }
}

fn command(reply: Reply) -> Command {
    let of = |seq: Option<u64>, to: Option<SessionId>, answer: Command| match (seq, to) {
        (None, None) => answer,
        (seq, to) => Command::Addressed { seq, to, answer: Box::new(answer) },
    };
    match reply {
        Reply::Input { input: Value::Text(text), seq, to } => of(seq, to, Command::Input(Input::Text(text.to_string()))),
        Reply::Input { input, seq, to } => of(seq, to, Command::Input(Input::Value(input))),
        Reply::ToolResult { tool_result } => Command::Result(tool_result.into()),
        Reply::Signal { signal, to } => of(None, to, Command::Signal(signal)),
        Reply::Approve { approve } => Command::Approve { id: Some(approve.as_str().into()), yes: true },
        Reply::Deny { deny } => Command::Approve { id: Some(deny.as_str().into()), yes: false },
        Reply::Predicate { predicate } => Command::Predicate { id: predicate.id.to_string(), value: predicate.value },
        Reply::Context { context, seq } => of(seq, None, Command::Context(context)),
        Reply::Keep { keep, seq } => of(seq, None, Command::Keep(keep)),
    }
}

#[cfg(test)]
mod tests {
    use trellis_core::{ToolError, ToolOutcome};

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
            Command::Addressed { seq: Some(seq), to: None, answer } => (seq, *answer),
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
        let busy = outcome(r#"{"tool_result":{"id":"c","error":{"message":"busy","final":true,"after":300}}}"#);
        assert_eq!(busy, ToolOutcome::Error(ToolError { after: Some(300), ..ToolError::new("busy").finally() }));
        let Command::Result(result) = parse(r#"{"tool_result":{"id":"c","result":1,"meta":{"model":"m"}}}"#) else { panic!("a result") };
        assert_eq!(result.meta, Some(Value::map([("model", Value::text("m"))])));
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

//! JSON Lines: one object a line, out and in (design §8).
//!
//! Lines that arrive while the program is busy are kept in order, but signals act at once.
//!
//! **Invariant:** no line is lost; a bad one is answered in its turn.

use std::{collections::VecDeque, io};

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufRead, AsyncWrite, AsyncWriteExt};
use trellis_core::{
    CallId, Input, SignalName, ToolError, ToolOutcome, ToolResult, Value,
    diagnostic::did_you_mean,
    engine::ToolErrorKind,
    id::{IdempotencyKey, NodeId},
    state::{Approval, CallKind, CallRole, PendingCall},
    template::SecretUse,
    Mapping,
};

use super::{
    console::{Awaited, Command, Console, Farewell, Note},
    lines::{Line, Lines},
};

/// A program at the other end.
pub struct JsonLines<R, W> {
    lines: Lines<R>,
    writer: W,
    /// What came while the program was busy.
    early: VecDeque<(Command, u64)>,
    early_bytes: u64,
    limit: u64,
}

impl<R: AsyncBufRead + Unpin, W: AsyncWrite + Unpin> JsonLines<R, W> {
    /// Lines from `reader`, lines to `writer`; a line is at most `limit` bytes, which must hold inputs and results of tools.
    pub fn new(reader: R, writer: W, limit: u64) -> Self {
        Self { lines: Lines::new(reader), writer, early: VecDeque::new(), early_bytes: 0, limit }
    }

    async fn print<P: Serialize>(&mut self, kind: &str, payload: P) -> io::Result<()> {
        #[derive(Serialize)]
        struct Message<'a, P> {
            r#type: &'a str,
            payload: P,
        }
        let mut line = serde_json::to_string(&Message { r#type: kind, payload }).map_err(io::Error::other)?;
        line.push('\n');
        self.writer.write_all(line.as_bytes()).await?;
        self.writer.flush().await
    }

    /// The next line that is not blank.
    async fn next(&mut self) -> io::Result<(Command, u64)> {
        loop {
            return Ok(match self.lines.next(self.limit).await? {
                Line::Text(line) if line.trim().is_empty() => continue,
                Line::Text(line) => (parse(&line), line.len() as u64),
                Line::NotUtf8 => (bad("not-utf8", "the line is not UTF-8"), 0),
                Line::TooLong { size, limit } => (bad("line-too-long", format!("the line is {size} bytes, the limit is {limit}")), 0),
                Line::End => (Command::End, 0),
            });
        }
    }
}

/// So many lines or bytes are kept; then reading waits until the program is ready.
const EARLY_LINES: usize = 10_000;
const EARLY_BYTES: u64 = 8 << 20;

impl<R: AsyncBufRead + Unpin, W: AsyncWrite + Unpin> Console for JsonLines<R, W> {
    async fn note(&mut self, note: Note<'_>) -> io::Result<()> {
        match note {
            Note::Content(text) => self.print("RENDER_CONTENT", text).await,
            Note::Call(call) => self.print("CALL_TOOL", CallPayload::new(call)).await,
            Note::Result(call, outcome) => self.print("TOOL_RESULT", ResultPayload::new(&call.id, outcome)).await,
            Note::Error { code, message } => self.print("ERROR", ErrorPayload { code, message }).await,
            Note::End(farewell) => self.print("END", EndPayload::new(farewell)).await,
        }
    }

    async fn ask(&mut self, awaited: Awaited<'_>, again: bool) -> io::Result<()> {
        match awaited {
            // After an error the request still stands.
            _ if again => Ok(()),
            Awaited::Input(request) => self.print("REQUEST_INPUT", request).await,
            Awaited::Approval(call) => self.print("APPROVAL", ApprovalPayload::new(call)).await,
            Awaited::Result(call) => self.print("CALL_TOOL", CallPayload::new(call)).await,
            Awaited::Predicate { id, name } => self.print("PREDICATE", PredicatePayload { id, name }).await,
            Awaited::Nothing => Ok(()),
        }
    }

    async fn read(&mut self, awaited: Awaited<'_>) -> io::Result<Command> {
        if !matches!(awaited, Awaited::Nothing) {
            if let Some((command, bytes)) = self.early.pop_front() {
                self.early_bytes -= bytes;
                return Ok(command);
            }
            return Ok(self.next().await?.0);
        }
        loop {
            if self.lines.ended() || self.early.len() >= EARLY_LINES || self.early_bytes >= EARLY_BYTES {
                return std::future::pending().await;
            }
            match self.next().await? {
                (signal @ Command::Signal(_), _) => return Ok(signal),
                (Command::End, _) => {}
                early => {
                    self.early_bytes += early.1;
                    self.early.push_back(early);
                }
            }
        }
    }
}

fn bad(code: &'static str, message: impl Into<String>) -> Command {
    Command::Bad { code, message: message.into() }
}

const KINDS: [&str; 6] = ["input", "tool_result", "signal", "approve", "deny", "predicate"];

fn parse(line: &str) -> Command {
    let message = match Value::from_json(line) {
        Ok(Value::Map(message)) => message,
        Ok(other) => return bad("bad-line", format!("a line is an object such as {{\"input\": …}}, not {}", other.kind())),
        Err(error) => return bad("bad-json", format!("the line is no JSON: {error}")),
    };
    let mut entries = message.iter();
    let (Some((key, value)), None) = (entries.next(), entries.next()) else {
        return bad("bad-line", format!("a line has exactly one of {}", names()));
    };
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

#[derive(Serialize)]
struct ErrorPayload<'a> {
    code: &'a str,
    message: &'a str,
}

#[derive(Serialize)]
struct PredicatePayload<'a> {
    id: &'a str,
    name: &'a str,
}

/// `CALL_TOOL`. A delay was slept already, so it is not handed on.
#[derive(Serialize)]
struct CallPayload<'a> {
    id: &'a CallId,
    name: &'a str,
    args: &'a Mapping,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    secrets: &'a [SecretUse],
    idempotency_key: &'a IdempotencyKey,
    attempt: u32,
    node: &'a NodeId,
    role: &'a CallRole,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    approve: Option<&'a Approval>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'a Value>,
    #[serde(skip_serializing_if = "CallKind::is_tool")]
    kind: &'a CallKind,
}

impl<'a> CallPayload<'a> {
    fn new(call: &'a PendingCall) -> Self {
        Self {
            id: &call.id,
            name: &call.name,
            args: &call.args,
            secrets: &call.secrets,
            idempotency_key: &call.idempotency_key,
            attempt: call.attempt,
            node: &call.node,
            role: &call.role,
            timeout: call.timeout,
            approve: call.approve.as_ref(),
            metadata: call.metadata.as_ref(),
            kind: &call.kind,
        }
    }
}

#[derive(Serialize)]
struct ApprovalPayload<'a> {
    id: &'a CallId,
    name: &'a str,
    args: &'a Mapping,
    #[serde(skip_serializing_if = "Option::is_none")]
    ask: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires: Option<u64>,
}

impl<'a> ApprovalPayload<'a> {
    fn new(call: &'a PendingCall) -> Self {
        let approval = call.approve.as_ref();
        let ask = approval.and_then(|approval| approval.ask.as_deref());
        Self { id: &call.id, name: &call.name, args: &call.args, ask, expires: approval.and_then(|approval| approval.expires) }
    }
}

#[derive(Serialize)]
struct ResultPayload<'a> {
    id: &'a CallId,
    #[serde(flatten)]
    outcome: OutcomePayload<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum OutcomePayload<'a> {
    Success {
        result: &'a Value,
    },
    Error {
        error: &'a ToolError,
    },
    Denied {
        denied: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<&'a str>,
    },
}

impl<'a> ResultPayload<'a> {
    fn new(id: &'a CallId, outcome: &'a ToolOutcome) -> Self {
        let outcome = match outcome {
            ToolOutcome::Success(result) => OutcomePayload::Success { result },
            ToolOutcome::Error(error) => OutcomePayload::Error { error },
            ToolOutcome::Denied(reason) => OutcomePayload::Denied { denied: true, reason: reason.as_deref() },
        };
        Self { id, outcome }
    }
}

#[derive(Serialize)]
struct EndPayload<'a> {
    reason: &'a str,
    output: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<&'a NodeId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rollback: Option<&'a Value>,
}

impl<'a> EndPayload<'a> {
    fn new(farewell: &'a Farewell) -> Self {
        let ended = farewell.ended.as_deref();
        Self {
            reason: farewell.reason.as_str(),
            output: farewell.output(),
            code: ended.and_then(|ended| ended.code.as_deref()),
            node: ended.map(|ended| &ended.node),
            message: ended.and_then(|ended| ended.message.as_deref()).or(farewell.message.as_deref()),
            rollback: ended.and_then(|ended| ended.rollback.as_ref()),
        }
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
        assert_eq!(message(r#"{"signal":1}"#), "`signal` is a text, not integer");
        assert!(message(r#"{"tool_result":{"id":"c"}}"#).contains("exactly one of `result`"));
        assert_eq!(message(r#"{"tool_result":{"result":1}}"#), "`tool_result`: missing field `id`");
    }
}

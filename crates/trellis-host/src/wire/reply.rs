//! The lines that a client sends.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use trellis_core::{Input, Mapping, SessionId, SignalName, Value, diagnostic::did_you_mean, id::CallId};

#[cfg(feature = "schemars")]
use super::outcome::ResultLine;
use super::{CallResult, outcome, read};
use crate::sessions;

/// The number of a question, beside its answer.
const SEQ: &str = "seq";

/// The session of a tree that a reply is for, beside it.
const TO: &str = "to";

const KINDS: [&str; 8] = ["input", "tool_result", "signal", "approve", "deny", "predicate", "context", "keep"];

/// All keys of a line.
const ALL_KEYS: [&str; 10] = ["input", "tool_result", "signal", "approve", "deny", "predicate", "context", "keep", SEQ, TO];

/// A line that a client sends: an answer, a result or a signal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "in", !try_from))]
#[serde(untagged, try_from = "Value")]
#[non_exhaustive]
pub enum Reply {
    /// An answer to `REQUEST_INPUT`.
    #[non_exhaustive]
    Input {
        /// The answer: a text is read as the declared type, another value is taken as it is.
        input: Value,
        /// The number of the question that it answers: where something else is asked by then, it is refused with the code `conflict`.
        #[serde(skip_serializing_if = "Option::is_none")]
        seq: Option<u64>,
        /// The child session that it is for, or the session itself; without it, the one that is asked.
        #[serde(skip_serializing_if = "Option::is_none")]
        to: Option<SessionId>,
    },
    /// The outcome of a call.
    #[non_exhaustive]
    ToolResult {
        /// The call and its outcome.
        #[cfg_attr(feature = "schemars", schemars(with = "ResultLine"))]
        tool_result: CallResult,
    },
    /// A signal, such as `interrupt`.
    #[non_exhaustive]
    Signal {
        /// The signal's name.
        signal: SignalName,
        /// The child session at which it begins, going outwards; without it, the innermost.
        #[serde(skip_serializing_if = "Option::is_none")]
        to: Option<SessionId>,
    },
    /// The call of an `APPROVAL` may run.
    #[non_exhaustive]
    Approve {
        /// The id of the call.
        approve: CallId,
    },
    /// The call of an `APPROVAL` may not run.
    #[non_exhaustive]
    Deny {
        /// The id of the call.
        deny: CallId,
    },
    /// The answer to a `PREDICATE`.
    #[non_exhaustive]
    Predicate {
        /// The question and its answer.
        predicate: PredicateLine,
    },
    /// The keys that a `NEEDS` names.
    #[non_exhaustive]
    Context {
        /// Values by key.
        context: Mapping,
        /// The number of the question that it answers: where something else is asked by then, it is refused with the code `conflict`.
        #[serde(skip_serializing_if = "Option::is_none")]
        seq: Option<u64>,
    },
    /// The answer to a `CHANGED`.
    #[non_exhaustive]
    Keep {
        /// True keeps the call that is under way, false makes it again as the node has it now.
        keep: bool,
        /// The number of the question that it answers: where something else is asked by then, it is refused with the code `conflict`.
        #[serde(skip_serializing_if = "Option::is_none")]
        seq: Option<u64>,
    },
}

/// An answer to a `PREDICATE`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(rename = "predicate_answer"))]
#[serde(deny_unknown_fields, expecting = "an object such as {\"id\": …, \"value\": true}")]
#[non_exhaustive]
pub struct PredicateLine {
    /// The id of the `PREDICATE`.
    pub id: Arc<str>,
    /// True where it holds.
    pub value: bool,
}

impl PredicateLine {
    /// The keys of the object.
    const KEYS: [&str; 2] = ["id", "value"];
}

/// A line that cannot be taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct BadReply {
    /// A stable code: `bad-json` or `bad-line`.
    pub code: &'static str,
    /// The mistake, and the accepted input.
    pub message: String,
    /// The place of the mistake in the line, as a JSON pointer (RFC 6901); empty for the line as a whole.
    pub pointer: String,
}

fn bad(message: impl Into<String>) -> BadReply {
    BadReply { code: "bad-line", message: message.into(), pointer: String::new() }
}

/// Refuses keys that nothing here has, with the nearest known one, else with all of `known`.
fn check_keys(keys: &Mapping, known: &[&str], within: &str) -> Result<(), BadReply> {
    let Some((key, _)) = keys.iter().find(|(key, _)| !known.contains(&&***key)) else { return Ok(()) };
    let all = || format!("there is {}", listed(known));
    let help = did_you_mean(key, known.iter().copied()).unwrap_or_else(all);
    let pointer = format!("{within}/{}", key.replace('~', "~0").replace('/', "~1"));
    Err(BadReply { pointer, ..bad(format!("unknown key `{key}`; {help}")) })
}

impl Reply {
    /// Reads a line.
    ///
    /// # Errors
    /// The line is no JSON, or no reply.
    pub fn parse(line: &str) -> Result<Self, BadReply> {
        let value = Value::from_json(line);
        value.map_err(|error| BadReply { code: "bad-json", ..bad(format!("the line is no JSON: {error}")) })?.try_into()
    }

    /// An answer to `REQUEST_INPUT`.
    pub fn input(input: impl Into<Value>) -> Self {
        Self::Input { input: input.into(), seq: None, to: None }
    }

    /// The outcome of a call.
    pub fn tool_result(tool_result: CallResult) -> Self {
        Self::ToolResult { tool_result }
    }

    /// A signal.
    pub fn signal(signal: SignalName) -> Self {
        Self::Signal { signal, to: None }
    }

    /// The decision whether a call may run.
    pub fn decision(call: CallId, yes: bool) -> Self {
        if yes { Self::Approve { approve: call } } else { Self::Deny { deny: call } }
    }

    /// The answer to the predicate question `id`.
    pub fn predicate(id: impl Into<Arc<str>>, value: bool) -> Self {
        Self::Predicate { predicate: PredicateLine { id: id.into(), value } }
    }

    /// The keys that a `NEEDS` names.
    pub fn context(context: Mapping) -> Self {
        Self::Context { context, seq: None }
    }

    /// The answer to a `CHANGED`.
    pub fn keep(keep: bool) -> Self {
        Self::Keep { keep, seq: None }
    }

    /// Sets the number of its question; a reply that names its own call or question is unchanged.
    #[must_use]
    pub fn numbered(mut self, number: u64) -> Self {
        if let Self::Input { seq, .. } | Self::Context { seq, .. } | Self::Keep { seq, .. } = &mut self {
            *seq = Some(number);
        }
        self
    }

    /// Addresses one child of the session, or the session itself, by its name; only inputs and signals have an address.
    #[must_use]
    pub fn to(mut self, session: SessionId) -> Self {
        if let Self::Input { to, .. } | Self::Signal { to, .. } = &mut self {
            *to = Some(session);
        }
        self
    }

    /// A line with one key and no number.
    fn of(key: &str, value: &Value) -> Result<Self, BadReply> {
        let at = |refused: BadReply| BadReply { pointer: format!("/{key}"), ..refused };
        let other_kind = |wanted: &str| at(bad(format!("`{key}` is {wanted}, not {}", value.kind())));
        let text = || value.as_str().ok_or_else(|| other_kind("a text"));
        let misread = |why: String| at(bad(format!("`{key}`: {why}")));
        let known: &[&str] = match key {
            "tool_result" => &outcome::KEYS,
            "predicate" => &PredicateLine::KEYS,
            _ => &[],
        };
        if let (Value::Map(given), false) = (value, known.is_empty()) {
            check_keys(given, known, &format!("/{key}"))?;
        }
        Ok(match key {
            "input" => Self::input(value.clone()),
            "signal" => Self::signal(text()?.into()),
            "approve" => Self::decision(text()?.into(), true),
            "deny" => Self::decision(text()?.into(), false),
            "tool_result" => {
                let given: outcome::ResultLine = read(value).map_err(misread)?;
                Self::tool_result(given.try_into().map_err(|error: super::BadOutcome| at(bad(error.to_string())))?)
            }
            "predicate" => Self::Predicate { predicate: read(value).map_err(misread)? },
            "context" => match value {
                Value::Map(keys) => Self::context(keys.clone()),
                _ => return Err(other_kind("a mapping")),
            },
            "keep" => Self::keep(value.as_bool().ok_or_else(|| other_kind("true or false"))?),
            _ => return Err(bad(format!("a line has exactly one of {}", listed(&KINDS)))),
        })
    }

    /// Sets the number of its question, which `key` may have or not.
    fn with_seq(self, key: &str, seq: &Value) -> Result<Self, BadReply> {
        match (self, seq) {
            (reply @ (Self::Input { .. } | Self::Context { .. } | Self::Keep { .. }), Value::Int(seq)) if *seq >= 0 => {
                Ok(reply.numbered(seq.unsigned_abs()))
            }
            (Self::Input { .. } | Self::Context { .. } | Self::Keep { .. }, other) => {
                Err(bad(format!("`seq` is the number of a question, such as 3, not {}", other.to_json())))
            }
            _ => Err(bad(format!("`seq` stands beside `input`, `context` and `keep`; `{key}` names what it belongs to by itself"))),
        }
    }
}

impl Reply {
    /// Sets the session that it is for, which `key` may have or not.
    fn with_to(self, key: &str, to: &Value) -> Result<Self, BadReply> {
        match (&self, to.as_str()) {
            (Self::Input { .. } | Self::Signal { .. }, Some(session)) => Ok(self.to(session.into())),
            (Self::Input { .. } | Self::Signal { .. }, None) => Err(bad(format!("`to` is the name of a child session, not {}", to.kind()))),
            _ => Err(bad(format!("`to` stands beside `input` and `signal`; `{key}` names what it belongs to by itself"))),
        }
    }
}

impl TryFrom<Value> for Reply {
    type Error = BadReply;

    fn try_from(value: Value) -> Result<Self, BadReply> {
        let message = match value {
            Value::Map(message) => message,
            other => return Err(bad(format!("a line is an object such as {{\"input\": …}}, not {}", other.kind()))),
        };
        check_keys(&message, &ALL_KEYS, "")?;
        let mut entries = message.iter().filter(|(key, _)| ![SEQ, TO].contains(&&***key));
        let (Some((key, value)), None) = (entries.next(), entries.next()) else {
            return Err(bad(format!("a line has exactly one of {}", listed(&KINDS))));
        };
        let reply = Self::of(key, value)?;
        let reply = match message.get(SEQ) {
            Some(seq) => reply.with_seq(key, seq)?,
            None => reply,
        };
        match message.get(TO) {
            Some(to) => reply.with_to(key, to),
            None => Ok(reply),
        }
    }
}

fn listed(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

impl From<Reply> for sessions::Sent {
    fn from(reply: Reply) -> Self {
        let of = |expected, to, reply| Self { expected, to, reply };
        match reply {
            Reply::Input { input: Value::Text(text), seq, to } => of(seq, to, Input::Text(text.to_string()).into()),
            Reply::Input { input, seq, to } => of(seq, to, Input::Value(input).into()),
            Reply::ToolResult { tool_result } => Input::Result(tool_result.into()).into(),
            Reply::Signal { signal, to } => of(None, to, Input::Signal(signal).into()),
            Reply::Approve { approve } => sessions::Reply::Approve { call: Some(approve), yes: true }.into(),
            Reply::Deny { deny } => sessions::Reply::Approve { call: Some(deny), yes: false }.into(),
            Reply::Predicate { predicate } => sessions::Reply::Predicate { id: predicate.id, holds: predicate.value }.into(),
            Reply::Context { context, seq } => of(seq, None, sessions::Reply::Context(context)),
            Reply::Keep { keep, seq } => of(seq, None, sessions::Reply::Keep(keep)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// JSON Lines: a bad line is reported in words of the page, and names no type of this code.
    #[test]
    fn a_bad_line_is_told_in_plain_words() {
        for (line, message) in [
            (r#"{"tool_result":3}"#, "`tool_result`: invalid type: integer `3`, expected an object such as {\"id\": …, \"result\": …}"),
            (
                r#"{"tool_result":{"id":"c","error":7}}"#,
                "`error`: invalid type: integer `7`, expected a text or an object such as {\"message\": …}",
            ),
            (r#"{"predicate":true}"#, "`predicate`: invalid type: boolean `true`, expected an object such as {\"id\": …, \"value\": true}"),
        ] {
            assert_eq!(Reply::parse(line).unwrap_err().message, message, "{line}");
        }
    }

    // `docs/serve.md`: unknown keys are refused with the nearest key as help, and their place
    #[test]
    fn an_unknown_key_is_told_with_the_nearest_one_and_its_place() {
        for (line, pointer, message) in [
            (r#"{"inptu":"2"}"#, "/inptu", "unknown key `inptu`; did you mean `input`?"),
            (r#"{"input":"2","toto":"x"}"#, "/toto", "unknown key `toto`; "),
            (r#"{"input":"2","sqe":3}"#, "/sqe", "unknown key `sqe`; did you mean `seq`?"),
            (r#"{"tool_result":{"id":"x","reslt":1}}"#, "/tool_result/reslt", "unknown key `reslt`; did you mean `result`?"),
            (r#"{"predicate":{"id":"x","valeu":true}}"#, "/predicate/valeu", "unknown key `valeu`; did you mean `value`?"),
            (r#"{"tool_result":{"result":1}}"#, "/tool_result", "`tool_result`: missing field `id`"),
            (r#"{"signal":1}"#, "/signal", "`signal` is a text, not "),
            (r#"{"input":1,"signal":"leave"}"#, "", "a line has exactly one of "),
        ] {
            let bad = Reply::parse(line).unwrap_err();
            assert_eq!((&*bad.pointer, bad.message.starts_with(message)), (pointer, true), "{line}: {}", bad.message);
        }
    }
}

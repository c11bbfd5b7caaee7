//! The answer of an endpoint, whole or in pieces, assembled (language 9.21).
//!
//! In: JSON of `chat/completions`, the one object of an answer or the chunks of a stream. Out: a [`Completion`].
//!
//! **Invariant:** a stream that did not say its end is no answer.

use std::collections::BTreeMap;

use serde::Deserialize;
use trellis_core::ToolError;

use super::{
    completion::{Completion, RequestedCall, Usage},
    lost,
};

/// An answer that comes in chunks.
#[derive(Debug, Default)]
pub(super) struct AnswerAssembly {
    completion: Completion,
    /// The place of the call of each index.
    places: BTreeMap<u64, usize>,
    is_done: bool,
}

#[derive(Deserialize)]
struct Chunk {
    #[serde(default)]
    choices: Option<Vec<ChunkChoice>>,
    #[serde(default)]
    usage: Option<WireUsage>,
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    error: Option<serde_json::Value>,
}

#[derive(Deserialize)]
struct ChunkChoice {
    #[serde(default, alias = "delta")]
    message: Option<WireMessage>,
    #[serde(default)]
    finish_reason: Option<String>,
    #[serde(default)]
    index: Option<u64>,
}

#[derive(Default, Deserialize)]
struct WireMessage {
    #[serde(default)]
    content: Option<Content>,
    #[serde(default)]
    refusal: Option<String>,
    #[serde(default)]
    tool_calls: Option<Vec<WireCall>>,
}

/// The text of a message: endpoints also send lists of parts.
#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<ContentPart>),
}

#[derive(Deserialize)]
struct ContentPart {
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    refusal: Option<String>,
}

#[derive(Deserialize)]
struct WireCall {
    #[serde(default)]
    index: Option<u64>,
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    function: Option<WireFunction>,
}

#[derive(Deserialize)]
struct WireFunction {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    arguments: Option<serde_json::Value>,
}

#[derive(Clone, Copy, Deserialize)]
struct WireUsage {
    #[serde(default)]
    prompt_tokens: Option<u64>,
    #[serde(default)]
    completion_tokens: Option<u64>,
}

impl AnswerAssembly {
    /// Takes the data of one event; its text goes to `on_text`. Gives false at the end of the stream.
    ///
    /// # Errors
    /// Code `malformed_json`; the error of an endpoint that broke off its answer.
    pub(super) fn push(&mut self, data: &str, on_text: &mut dyn FnMut(&str)) -> Result<bool, ToolError> {
        if data.trim() == "[DONE]" {
            self.is_done = true;
            return Ok(false);
        }
        let chunk: Chunk = serde_json::from_str(data).map_err(|error| {
            let why = format!("the answer has a chunk that cannot be read: {error}");
            ToolError::coded("malformed_json", why)
        })?;
        self.take(chunk, on_text)?;
        Ok(true)
    }

    /// The answer, once the stream is over.
    ///
    /// # Errors
    /// Code `cut`: it is over before the answer is; `malformed_json`: there was no answer in it.
    pub(super) fn finish(self) -> Result<Completion, ToolError> {
        if self.completion.finish.is_some() {
            return Ok(self.completion);
        }
        let has_begun = !self.completion.content.is_empty() || !self.completion.calls.is_empty();
        match (self.is_done, has_begun) {
            // It marked the end of the stream, and left the reason out.
            (true, true) => Ok(self.completion),
            (true, false) => Err(no_choice()),
            (false, _) => Err(ToolError::coded("cut", "the answer broke off before its end")),
        }
    }

    fn take(&mut self, chunk: Chunk, on_text: &mut dyn FnMut(&str)) -> Result<(), ToolError> {
        if let Some(error) = chunk.error.filter(|error| !error.is_null()) {
            return Err(broken_off(&error));
        }
        if let Some(usage) = chunk.usage {
            self.completion.usage = usage.into();
        }
        if let Some(model) = chunk.model.filter(|model| !model.is_empty()) {
            self.completion.model = Some(model);
        }
        // One answer was requested; any other is ignored.
        let choice = chunk.choices.unwrap_or_default().into_iter().find(|choice| choice.index.unwrap_or(0) == 0);
        let Some(choice) = choice else { return Ok(()) };
        if let Some(message) = choice.message {
            self.say(message, on_text);
        }
        if let Some(finish) = choice.finish_reason.filter(|finish| !finish.is_empty()) {
            self.completion.finish = Some(finish);
        }
        Ok(())
    }

    fn say(&mut self, message: WireMessage, on_text: &mut dyn FnMut(&str)) {
        let mut text = |text: &str| {
            if !text.is_empty() {
                self.completion.content.push_str(text);
                on_text(text);
            }
        };
        match message.content {
            Some(Content::Text(content)) => text(&content),
            Some(Content::Parts(parts)) => {
                for part in parts {
                    text(&part.text.unwrap_or_default());
                    self.completion.refusal.push_str(&part.refusal.unwrap_or_default());
                }
            }
            None => {}
        }
        self.completion.refusal.push_str(&message.refusal.unwrap_or_default());
        message.tool_calls.unwrap_or_default().into_iter().for_each(|call| self.call(call));
    }

    /// Takes a call, or a piece of one. Without an index, one with an id begins a call, and another one continues the last.
    fn call(&mut self, piece: WireCall) {
        let calls = &mut self.completion.calls;
        let id = piece.id.unwrap_or_default();
        let place = match piece.index {
            Some(index) => *self.places.entry(index).or_insert(calls.len()),
            None if id.is_empty() && piece.function.as_ref().is_some_and(|function| function.name.is_none()) => {
                calls.len().saturating_sub(1)
            }
            None => calls.len(),
        };
        if place == calls.len() {
            calls.push(RequestedCall::default());
        }
        let Some(call) = calls.get_mut(place) else { return };
        if call.id.is_empty() {
            call.id = id;
        }
        let Some(function) = piece.function else { return };
        call.name.push_str(&function.name.unwrap_or_default());
        match function.arguments {
            Some(serde_json::Value::String(arguments)) => call.arguments.push_str(&arguments),
            None | Some(serde_json::Value::Null) => {}
            // Some endpoints send the arguments as they are.
            Some(arguments) => call.arguments.push_str(&arguments.to_string()),
        }
    }
}

impl From<WireUsage> for Usage {
    fn from(usage: WireUsage) -> Self {
        Self { input: usage.prompt_tokens.unwrap_or(0), output: usage.completion_tokens.unwrap_or(0) }
    }
}

/// Reads the answer in one object.
///
/// # Errors
/// Code `malformed_json`; or the error that takes the place of the answer.
pub(super) fn whole(body: &[u8]) -> Result<Completion, ToolError> {
    let chunk: Chunk =
        serde_json::from_slice(body).map_err(|error| ToolError::coded("malformed_json", format!("the answer cannot be read: {error}")))?;
    let has_choice = chunk.choices.as_ref().is_some_and(|choices| !choices.is_empty());
    let mut assembly = AnswerAssembly::default();
    assembly.take(chunk, &mut |_| {})?;
    if has_choice { Ok(assembly.completion) } else { Err(no_choice()) }
}

fn no_choice() -> ToolError {
    ToolError::coded("malformed_json", "the answer has no choice in it")
}

/// The error that an endpoint sends where an answer should be; a status in it counts as the response's own.
fn broken_off(error: &serde_json::Value) -> ToolError {
    let message = said(error).unwrap_or_else(|| error.to_string());
    let message = format!("the provider broke off the answer: {message}");
    let status = ["code", "status"].iter().find_map(|key| error.get(key)?.as_u64()).filter(|status| (400..600).contains(status));
    match status {
        Some(status @ (408 | 425 | 429 | 500 | 502..=504)) => ToolError::coded(format!("http-{status}"), message),
        Some(status) => lost(&format!("http-{status}"), message),
        None => ToolError::coded("cut", message),
    }
}

/// The message of an endpoint's error.
pub(super) fn said(error: &serde_json::Value) -> Option<String> {
    let inner = error.get("error").unwrap_or(error);
    let message = inner.get("message").unwrap_or(inner).as_str()?;
    Some(message.trim().to_owned()).filter(|message| !message.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the answer of a stream of events, and the reported text.
    fn streamed(events: &[&str]) -> Result<(Completion, String), ToolError> {
        let (mut assembly, mut on_text) = (AnswerAssembly::default(), String::new());
        for event in events {
            if !assembly.push(event, &mut |text| on_text.push_str(text))? {
                break;
            }
        }
        assembly.finish().map(|completion| (completion, on_text))
    }

    fn code(result: Result<(Completion, String), ToolError>) -> (String, bool) {
        let error = result.unwrap_err();
        (error.code.unwrap().as_str().unwrap().to_owned(), error.is_final)
    }

    const DONE: &str = "[DONE]";
    const STOP: &str = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;

    #[test]
    fn a_stream_is_put_together() {
        // language 9.21
        let (answer, on_text) = streamed(&[
            r#"{"model":"m-1","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"content":"Hel"}}]}"#,
            r#"{"choices":[{"index":1,"delta":{"content":"NO"}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"content":[{"type":"text","text":"lo"}]}}]}"#,
            STOP,
            r#"{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":2}}"#,
            DONE,
        ])
        .unwrap();
        assert_eq!((answer.content.as_str(), on_text.as_str(), answer.model.as_deref()), ("Hello", "Hello", Some("m-1")));
        assert_eq!((answer.usage, answer.finish.as_deref()), (Usage { input: 5, output: 2 }, Some("stop")));
    }

    #[test]
    fn tool_calls_are_put_together_by_index() {
        // language 9.21
        let (answer, _) = streamed(&[
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"find","arguments":""}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":1,"id":"b","function":{"name":"now"}},{"index":0,"function":{"arguments":"{\"q\""}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]},"finish_reason":"tool_calls"}]}"#,
            DONE,
        ])
        .unwrap();
        let calls: Vec<_> = answer.calls.iter().map(|call| (&*call.id, &*call.name, &*call.arguments)).collect();
        assert_eq!(calls, [("a", "find", r#"{"q":1}"#), ("b", "now", "")]);
    }

    #[test]
    fn calls_without_an_index_are_told_apart_by_their_ids() {
        let (answer, _) = streamed(&[
            r#"{"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"x","arguments":{"q":1}}},{"id":"b","function":{"name":"y","arguments":"{"}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"}"}}]}}]}"#,
            STOP,
        ])
        .unwrap();
        let calls: Vec<_> = answer.calls.iter().map(|call| (&*call.name, &*call.arguments)).collect();
        assert_eq!(calls, [("x", r#"{"q":1}"#), ("y", "{}")]);
    }

    #[test]
    fn what_breaks_off_is_no_answer() {
        let begun = r#"{"choices":[{"delta":{"content":"Hel"}}]}"#;
        assert_eq!(code(streamed(&[begun])), ("cut".into(), false));
        assert_eq!(code(streamed(&[])), ("cut".into(), false));
        assert_eq!(code(streamed(&[DONE])), ("malformed_json".into(), false));
        assert_eq!(code(streamed(&[r#"{"choices":"#])), ("malformed_json".into(), false));
        assert_eq!(code(streamed(&[begun, r#"{"error":{"message":"overloaded"}}"#])), ("cut".into(), false));
        assert_eq!(code(streamed(&[r#"{"error":{"message":"slow down","code":429}}"#])), ("http-429".into(), false));
        assert_eq!(code(streamed(&[r#"{"error":{"message":"no","code":401}}"#])), ("http-401".into(), true));
        // A stream whose reason came is whole without its last event, and so is one that marked its end without the reason.
        assert_eq!(streamed(&[begun, STOP]).unwrap().1, "Hel");
        assert_eq!(streamed(&[begun, DONE]).unwrap().1, "Hel");
    }

    #[test]
    fn an_object_is_an_answer_too() {
        let answer = |body: &str| whole(body.as_bytes());
        let said = answer(r#"{"choices":[{"message":{"content":null,"tool_calls":null},"finish_reason":"stop"}],"usage":null}"#).unwrap();
        assert_eq!((said.content.as_str(), said.usage), ("", Usage::default()));
        let refused = answer(r#"{"choices":[{"message":{"content":null,"refusal":"No."}}]}"#).unwrap();
        assert_eq!(refused.refusal, "No.");
        for broken in ["", "<html>", "[]", r#"{"choices":[]}"#, "{}", r#"{"choices":[{"message":{"content":3}}]}"#] {
            assert_eq!(answer(broken).unwrap_err().code, Some("malformed_json".into()), "{broken}");
        }
    }
}

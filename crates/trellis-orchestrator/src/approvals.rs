//! Questions to a chat about calls that wait for approval (orchestrator 3.6, 6.2).

use trellis_core::{Value, engine::Call, id::CallId};
use trellis_host::sessions::Turn;

use crate::texts::Language;

/// Characters of the id of a call that a chat is shown.
const SHOWN_ID_LENGTH: usize = 8;
/// Bytes of the arguments that one message shows.
const MAX_ARGS: usize = 1500;

/// The id of a call as a chat knows it.
pub fn short_id(call: &CallId) -> String {
    call.as_str().chars().take(SHOWN_ID_LENGTH).collect()
}

/// The key of the message that asks a chat about a call.
pub fn ask_key(call: &CallId) -> String {
    format!("ask:{call}")
}

/// Returns whether a prefix of an id names this call.
pub fn is_meant(call: &CallId, typed: &str) -> bool {
    call.as_str().starts_with(typed)
}

/// The calls of a session that are held.
pub fn held(turn: &Turn) -> Vec<Call> {
    let stops = std::iter::once(&turn.stop).chain(turn.others.iter().map(|other| &other.stop));
    stops.filter_map(|stop| stop.held()).cloned().collect()
}

/// Returns the question to a chat about a call: messages with their keys, in order. The arguments are complete: long ones come in several messages,
/// and the question last. `shown` redacts them for the chat.
pub fn question(language: Language, call: &Call, shown: impl FnOnce(&str) -> String) -> Vec<(String, String)> {
    // Redacted before it is divided, since nobody finds a secret in two halves.
    let args = shown(&Value::Map(call.args.clone()).to_json());
    let (key, id) = (ask_key(&call.id), short_id(&call.id));
    let parts = parts(&args);
    let mut messages = Vec::new();
    let shown = if let [whole] = parts[..] {
        let ticks = ticks(whole, 1);
        format!("{ticks}{whole}{ticks}")
    } else {
        let count = parts.len().to_string();
        for (number, part) in (1_usize..).zip(&parts) {
            let (number, ticks) = (number.to_string(), ticks(part, 3));
            let head = language.fill("approval_part", &[("tool", &call.name), ("id", &id), ("number", &number), ("count", &count)]);
            messages.push((format!("{key}:{number}"), format!("{head}\n\n{ticks}\n{part}\n{ticks}")));
        }
        language.fill("approval_parts", &[("count", &count), ("bytes", &args.len().to_string())])
    };
    messages.push((key, language.fill("approval_asked", &[("tool", &call.name), ("args", &shown), ("id", &id)])));
    messages
}

/// A text in parts that a message has room for.
fn parts(text: &str) -> Vec<&str> {
    let (mut parts, mut rest) = (Vec::new(), text);
    while rest.len() > MAX_ARGS {
        let (part, after) = rest.split_at(rest.floor_char_boundary(MAX_ARGS));
        parts.push(part);
        rest = after;
    }
    parts.push(rest);
    parts
}

/// Backticks, at least so many, that nothing in a text closes.
fn ticks(text: &str, least: usize) -> String {
    let longest = text.split(|char| char != '`').map(str::len).max().unwrap_or_default();
    "`".repeat((longest + 1).max(least))
}

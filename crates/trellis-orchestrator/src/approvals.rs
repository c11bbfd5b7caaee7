//! Questions to a chat about calls that wait for approval (orchestrator 3.6, 6.2).

use trellis_core::{Mapping, Value, engine::Call, id::CallId};
use trellis_host::sessions::Turn;

use crate::{texts::Language, visible::visible};

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
pub fn held_calls(turn: &Turn) -> Vec<Call> {
    let stops = std::iter::once(&turn.stop).chain(turn.others.iter().map(|other| &other.stop));
    stops.filter_map(|stop| stop.held()).cloned().collect()
}

/// Returns the question to a chat about a call: messages with their keys, in order. The arguments are complete: long ones come in several messages,
/// and the question last; what an edit takes away and puts there stands line by line before it. `shown` redacts texts for the chat. Characters that
/// nobody sees are written out.
pub fn question(language: Language, call: &Call, shown: impl Fn(&str) -> String) -> Vec<(String, String)> {
    // Redacted before it is divided, since nobody finds a secret in two halves.
    let args = shown(&Value::Map(call.args.clone()).to_json());
    let args = visible(&args);
    let (key, id) = (ask_key(&call.id), short_id(&call.id));
    let pieces = parts(&args);
    let mut messages = Vec::new();
    let change = shown(&change(&call.args));
    for (number, part) in (1_usize..).zip(parts(&visible(&change)).into_iter().filter(|part| !part.is_empty())) {
        let ticks = ticks(part, 3);
        messages.push((format!("{key}:change-{number}"), format!("`{}` {id}\n\n{ticks}diff\n{part}\n{ticks}", call.name)));
    }
    let shown = if let [whole] = pieces[..] {
        let ticks = ticks(whole, 1);
        format!("{ticks}{whole}{ticks}")
    } else {
        let count = pieces.len().to_string();
        for (number, part) in (1_usize..).zip(&pieces) {
            let (number, ticks) = (number.to_string(), ticks(part, 3));
            let head = language.fill("approval_part", &[("tool", &call.name), ("id", &id), ("number", &number), ("count", &count)]);
            messages.push((format!("{key}:{number}"), format!("{head}\n\n{ticks}\n{part}\n{ticks}")));
        }
        language.fill("approval_parts", &[("count", &count), ("bytes", &args.len().to_string())])
    };
    messages.push((key, language.fill("approval_asked", &[("tool", &call.name), ("args", &shown), ("id", &id)])));
    messages
}

/// The lines that an edit takes away and puts there; nothing for another call.
pub fn change(args: &Mapping) -> String {
    let [Some(old), Some(new)] = ["old", "new"].map(|name| args.get(name).and_then(Value::as_str)) else { return String::new() };
    let lines = |mark: char, text: &str| text.lines().map(|line| format!("{mark} {line}")).collect::<Vec<_>>().join("\n");
    format!("{}\n{}", lines('-', old), lines('+', new))
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

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;

    fn asked(args: &Json) -> String {
        let call = json!({
            "id": "0123456789ab-1", "name": "shell", "args": args, "idempotency_key": "0123456789ab", "attempt": 1,
            "node": "act", "role": "do", "effect": "none", "contract": null,
        });
        let call: Call = serde_json::from_value(call).expect("a call");
        let messages = question(Language::English, &call, str::to_owned);
        messages.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join("\n")
    }

    // orchestrator 6.2: what an approver reads is what runs: characters that nobody sees or that turn the direction are written out
    #[test]
    fn nothing_in_a_question_is_hidden() {
        let hidden = ['\u{202e}', '\u{2066}', '\u{200b}', '\u{feff}', '\u{3164}', '\u{e0041}', '\u{a0}', '\u{9b}', '\u{336}', '\u{e000}'];
        let said = asked(&json!({ "command": format!("rm {}x", hidden.iter().collect::<String>()) }));
        let shown = r"rm \u202e\u2066\u200b\ufeff\u3164\udb40\udc41\u00a0\u009b\u0336\ue000x";
        assert!(!said.contains(hidden) && said.contains(shown), "{said}");
        let said = asked(&json!({ "path": "a", "old": "one\ntwo", "new": "three" }));
        assert!(said.contains("- one\n- two\n+ three\n"), "{said}");
    }
}

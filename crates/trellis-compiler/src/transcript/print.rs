//! The output of the program, as lines of a transcript.
//!
//! **Invariant:** every line begins with the mark of a program line, for all texts of a graph.

use std::{borrow::Cow, fmt::Write as _};

use trellis_base::value::Value;
use trellis_engine::{
    engine::{Call, EndView, Event, NavigateError, Next, Request, RequestType},
    state::{Approval, CallKind, CallRole},
};

/// `| text`, a line each; a carriage return is shown as `␍`.
pub fn content(out: &mut String, text: &str) {
    for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
        let line = line.replace('\r', "␍");
        let _ = writeln!(out, "{}", format!("| {line}").trim_end_matches(' '));
    }
}

/// A text on one line: its line breaks are shown as `␊`, carriage returns as `␍`; one at its end is left out.
pub fn one_line(text: &str) -> Cow<'_, str> {
    let text = text.strip_suffix('\n').unwrap_or(text);
    if text.contains(['\n', '\r']) { text.replace('\n', "␊").replace('\r', "␍").into() } else { text.into() }
}

/// Adds the line of the next action; none for a pass.
pub fn next(out: &mut String, next: &Next) {
    match next {
        Next::Pass => {}
        Next::Ask(request) => self::request(out, request),
        Next::Call(call) => self::call(out, call, "! ", None),
        Next::Parts { whole, open } => {
            self::call(out, whole, "! ", None);
            open.iter().for_each(|call| part(out, call, None));
        }
        Next::End(ended) => end(out, ended),
    }
}

/// `? type [options] default … schema … timeout … metadata … open`.
fn request(out: &mut String, request: &Request) {
    let kind = match request.input_type {
        RequestType::Declared(kind) => serde_json::to_string(&kind).unwrap_or_default().trim_matches('"').to_owned(),
        RequestType::Any(_) => "any".into(),
        RequestType::None(_) => "none".into(),
    };
    let _ = write!(out, "? {kind}");
    if !request.options.is_empty() {
        let options = request.options.iter().map(|option| match option.value.as_str() {
            Some(value) if *value == *option.text => format!("{value:?}"),
            _ => format!("{}: {:?}", option.value.to_json(), option.text),
        });
        let _ = write!(out, " [{}]", options.collect::<Vec<_>>().join(", "));
    }
    for (name, value) in [("default", &request.default), ("schema", &request.schema), ("metadata", &request.metadata)] {
        if let Some(value) = value {
            let _ = write!(out, " {name} {}", value.to_json());
        }
    }
    if let Some(timeout) = request.timeout {
        let _ = write!(out, " timeout {}", duration(u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX)));
    }
    out.push_str(if request.open { " open\n" } else { "\n" });
}

/// The whole of a call with parts, which follow it.
pub(super) fn whole(out: &mut String, call: &Call) {
    self::call(out, call, "! ", None);
}

/// `!   part: name {args} #2`: a part of a call, by its number among the calls of the transcript.
pub(super) fn part(out: &mut String, call: &Call, number: Option<usize>) {
    let name = call.part.as_ref().map(|of| format!("{}: ", of.part)).unwrap_or_default();
    self::call(out, call, &format!("!   {name}"), number);
}

/// `! name {args}` with everything that is not as usual in brackets.
fn call(out: &mut String, call: &Call, lead: &str, number: Option<usize>) {
    let _ = write!(out, "{lead}{} {}", call.name, Value::Map(call.args.clone()).to_json());
    if let Some(number) = number {
        let _ = write!(out, " #{number}");
    }
    let mut notes = Vec::new();
    match &call.role {
        CallRole::Do => {}
        CallRole::Undo(number) => notes.push(format!("undo {number}")),
        CallRole::BeforeEach => notes.push("before_each".into()),
    }
    if call.attempt > 1 || call.delay > 0 {
        notes.push(format!("attempt {}, delay {}", call.attempt, duration(call.delay)));
    }
    notes.extend(call.timeout.map(|timeout| format!("timeout {}", duration(timeout))));
    notes.extend(call.approve.as_ref().map(approval));
    notes.extend(call.secrets.iter().map(|secret| format!("secret {} at {}@{}", secret.name, secret.pointer, secret.offset)));
    notes.extend(call.metadata.as_ref().map(|metadata| format!("metadata {}", metadata.to_json())));
    notes.extend(kind(&call.kind));
    for note in notes {
        let _ = write!(out, " ({note})");
    }
    out.push('\n');
}

/// `approve: question, expires 15m`.
fn approval(approval: &Approval) -> String {
    let expires = approval.expires.map(|expires| format!(", expires {}", duration(expires))).unwrap_or_default();
    format!("approve: {}{expires}", one_line(approval.ask.as_deref().unwrap_or("this call")))
}

/// Returns the words after a composite call.
fn kind(kind: &CallKind) -> Option<String> {
    let words = |words: &[(&str, bool)], limit: &Option<u32>| {
        let words = words.iter().filter(|(_, on)| *on).map(|(word, _)| (*word).to_owned());
        words.chain(limit.map(|limit| format!("limit {limit}"))).collect::<Vec<_>>().join(", ")
    };
    match kind {
        CallKind::Tool => None,
        CallKind::Graph(node) => Some(format!("graph {node}")),
        CallKind::Parallel { any, collect, limit, .. } => {
            Some(words(&[("parallel", true), ("join any", *any), ("collect", *collect)], limit))
        }
        CallKind::Each { items, offered, collect, limit, .. } => {
            let words = words(&[("each", true), ("collect", *collect)], limit);
            let offered: Vec<_> = offered.iter().map(|tool| &*tool.name).collect();
            Some(format!("{words}, offered {}, items {}", offered.join(" "), items.to_json()))
        }
    }
}

/// `* end reason code at node: message {output}`.
fn end(out: &mut String, ended: &EndView) {
    let _ = write!(out, "* end {}", ended.reason.as_str());
    if let Some(code) = &ended.code {
        let _ = write!(out, " {code} at {}", ended.node);
    }
    if let Some(message) = &ended.message {
        let _ = write!(out, ": {}", one_line(message));
    }
    for (name, value) in [("", &ended.output), (" rollback", &ended.rollback)] {
        if let Some(value) = value {
            let _ = write!(out, "{name} {}", value.to_json());
        }
    }
    out.push('\n');
}

/// Events that no view shows.
pub fn event(out: &mut String, event: &Event) {
    let _ = match event {
        Event::Invalid(text) => writeln!(out, "- invalid: {}", one_line(text)),
        Event::Late { joined, .. } => writeln!(out, "~ late{}", if *joined { ", joined the effects" } else { "" }),
        Event::DeadLetter(_) => writeln!(out, "~ dead letter"),
        Event::RollingBack(undos) => writeln!(out, "~ rolling back {undos}"),
        Event::Undone { tool, ok } => writeln!(out, "~ {} {tool}", if *ok { "undone" } else { "could not undo" }),
        _ => Ok(()),
    };
}

/// Adds `- refused: …`, or `- invalid: …` for an input that a person can correct.
pub fn refusal(out: &mut String, error: &NavigateError) {
    let word = if matches!(error, NavigateError::Invalid { .. }) { "invalid" } else { "refused" };
    let _ = writeln!(out, "- {word}: {}", one_line(&error.to_string()));
}

/// Milliseconds as an author writes them.
fn duration(millis: u64) -> String {
    match millis {
        0 => "0s".into(),
        _ if millis.is_multiple_of(3_600_000) => format!("{}h", millis / 3_600_000),
        _ if millis.is_multiple_of(60_000) => format!("{}m", millis / 60_000),
        _ if millis.is_multiple_of(1000) => format!("{}s", millis / 1000),
        _ => format!("{millis}ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_several_lines_stay_on_the_line_of_their_mark() {
        let mut out = String::new();
        event(&mut out, &Event::Invalid("One.\n> two\r\n".into()));
        assert_eq!(out, "- invalid: One.␊> two␍\n");
        let asked = Approval { ask: Some("Pay?\n= all".into()), expires: None };
        assert_eq!(approval(&asked), "approve: Pay?␊= all");
    }
}

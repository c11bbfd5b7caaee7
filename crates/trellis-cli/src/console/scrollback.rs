//! The permanent rows above the live ones: calls, results, answers, edits, the end.
//!
//! In: events. Out: lines for the terminal.
//!
//! **Invariant:** nothing that a tool or an author wrote reaches the terminal as a command, and an approval shows every argument whole.

use std::{fmt::Write as _, time::Duration};

use anstyle::{AnsiColor, Style};
use trellis_core::{
    ToolOutcome, Value,
    state::{CallKind, PendingCall},
};
use trellis_host::{
    Reason,
    policy::Decided,
    runner::{Reloaded, RunSummary, leaves_something},
    secrets::shown,
};
use trellis_orchestrator::visible::visible_line;

use super::{
    busy::label,
    rows::{Window, duration_text},
};
use crate::{
    columns::{width, wrapped},
    report::printable,
    terminal::{BOLD, QUIET, clock_time},
};

const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Red.on_default();
const NOTED: Style = AnsiColor::Yellow.on_default();
/// A call that took less time took none.
const WORTH_SAYING: Duration = Duration::from_millis(100);
const MARKED: Style = AnsiColor::Cyan.on_default();

/// Renders a call before it is made: its name, then each argument. Texts of several lines follow a bar, unchanged.
pub(super) fn call(call: &PendingCall, window: Window) -> String {
    held_call(call, None, window)
}

/// Renders a call as [`call`], with its carrier.
pub(super) fn held_call(call: &PendingCall, by: Option<&str>, window: Window) -> String {
    let name = match &call.kind {
        CallKind::Tool | CallKind::Graph(_) => label(call),
        CallKind::Parallel { .. } | CallKind::Each { .. } => call.name.to_string(),
    };
    let mut out = format!("{BOLD}{}{BOLD:#}\n", printable(&name));
    for line in by.into_iter().flat_map(|by| wrapped(&printable(&format!("carried out by {by}")), window.room.saturating_sub(2).max(8))) {
        let _ = writeln!(out, "  {QUIET}{line}{QUIET:#}");
    }
    match &call.kind {
        CallKind::Parallel { branches, .. } => {
            for (name, branch) in branches {
                let _ = writeln!(out, "  {QUIET}{}:{QUIET:#} {}", printable(name), printable(&branch.name));
                arguments(branch, "    ", window, &mut out);
            }
        }
        CallKind::Each { items, .. } => argument("items", items, "  ", 5, window, &mut out),
        CallKind::Tool | CallKind::Graph(_) => arguments(call, "  ", window, &mut out),
    }
    out
}

fn arguments(call: &PendingCall, margin: &str, window: Window, out: &mut String) {
    let args = shown(call);
    let column = args.keys().map(|key| width(key)).max().unwrap_or(0).min(window.room / 3);
    for (key, value) in args.iter() {
        argument(key, value, margin, column, window, out);
    }
}

fn argument(key: &str, value: &Value, margin: &str, column: usize, window: Window, out: &mut String) {
    let key = visible_line(key);
    let gap = " ".repeat(column.saturating_sub(width(&key)));
    let _ = write!(out, "{margin}{QUIET}{key}:{QUIET:#}");
    let (text, bar) = match value {
        Value::Text(text) if text.contains('\n') => (text.to_string(), window.look.pick("│ ", "| ")),
        value => (serde_json::to_string_pretty(value).unwrap_or_else(|_| value.to_json()), ""),
    };
    let inner = " ".repeat(width(margin) + 2);
    let room = window.room.saturating_sub(inner.len() + width(bar)).max(8);
    let first = window.room.saturating_sub(width(margin) + column.max(width(&key)) + 2);
    if bar.is_empty() && !text.contains('\n') && width(&text) <= first {
        let _ = writeln!(out, "{gap} {}", visible_line(&text));
        return;
    }
    out.push('\n');
    for line in text.split('\n') {
        for line in wrapped(&visible_line(&line.replace('\t', "    ")), room) {
            let _ = writeln!(out, "{inner}{QUIET}{bar}{QUIET:#}{line}");
        }
    }
}

/// Returns the outcome of a call; `said` are the lines that it wrote, which a message need not repeat.
pub(super) fn result(call: &PendingCall, outcome: &ToolOutcome, elapsed: Option<Duration>, said: &[String], window: Window) -> String {
    let elapsed = elapsed.filter(|elapsed| *elapsed >= WORTH_SAYING);
    let time = elapsed.map_or_else(String::new, |elapsed| format!(" {QUIET}{}{QUIET:#}", duration_text(elapsed)));
    let name = label(call);
    let name = printable(&name);
    let (mark, style, why) = match outcome {
        ToolOutcome::Success(_) => (window.look.pick("✓", "ok"), GOOD, None),
        ToolOutcome::Error(error) => {
            let is_said = said.ends_with(&error.message.lines().map(str::to_owned).collect::<Vec<_>>());
            (window.look.pick("✗", "x"), BAD, Some(error.message.clone()).filter(|_| !is_said))
        }
        ToolOutcome::Denied(why) => (window.look.pick("✗", "x"), BAD, Some(why.clone().unwrap_or_else(|| "denied".to_owned()))),
    };
    let why = why.map_or_else(String::new, |why| indented(&format!(": {why}"), width(mark) + 1 + width(&name), window));
    format!("{style}{mark}{style:#} {name}{time}{why}\n")
}

/// The reason why a policy holds a call.
pub(super) fn held(call: &PendingCall, decided: &Decided, window: Window) -> String {
    let name = printable(&call.name);
    let why = indented(&format!(" waits for an approval: {}", decided.reason()), 2 + width(&name), window);
    format!("{NOTED}{}{NOTED:#} {name}{why}\n", window.look.pick("■", "x"))
}

/// A call that waits for an approval beside another question.
pub(super) fn waiting(of: &PendingCall, window: Window) -> String {
    format!("\n{}{NOTED}{}{NOTED:#} waits for an approval\n", call(of, window), window.look.pick("■", "x"))
}

/// The name of a branch, above what it says.
pub(super) fn branch(name: &str) -> String {
    format!("{QUIET}{}:{QUIET:#}\n", printable(name))
}

/// A call that ran and was left.
pub(super) fn stopped(name: &str, elapsed: Duration, window: Window) -> String {
    format!("{NOTED}{}{NOTED:#} {} {QUIET}stopped after {}{QUIET:#}\n", window.look.pick("■", "x"), printable(name), duration_text(elapsed))
}

/// A line that a tool wrote.
pub(super) fn progress(line: &str, window: Window) -> String {
    let bar = window.look.pick("│", "|");
    let lines = wrapped(&printable(&line.replace('\t', "    ")), window.room.saturating_sub(2).max(8));
    lines.iter().map(|line| format!("{QUIET}{bar} {line}{QUIET:#}\n")).collect()
}

/// Returns the row of an answer.
pub(super) fn answer(lead: &str, answer: &str) -> String {
    format!("{MARKED}{}{MARKED:#}{BOLD}{}{BOLD:#}\n", printable(lead), printable(answer))
}

/// Returns the row of a refusal.
pub(super) fn refusal(message: &str, window: Window) -> String {
    format!("{BAD}{}{BAD:#} {}\n", window.look.pick("✗", "x"), indented(message, 2, window))
}

/// A question above the line that answers it.
pub(super) fn lead(text: &str, window: Window) -> String {
    let lines = text.lines().flat_map(|line| wrapped(&printable(line), window.room.max(8)));
    lines.map(|line| line + "\n").collect()
}

/// Returns the rows about an edit.
pub(super) fn reload(reloaded: &Reloaded<'_>, window: Window) -> String {
    match reloaded {
        Reloaded::Sound { healed, moved } => {
            let mark = window.look.pick("↻", "*");
            let said = if *healed { format!("{GOOD}{mark} sound again{GOOD:#}") } else { format!("{QUIET}{mark} reloaded{QUIET:#}") };
            let why = moved.map_or_else(String::new, |why| format!("{QUIET}{}{QUIET:#}", indented(&format!(": {why}"), 12, window)));
            format!("{said}{why}\n")
        }
        Reloaded::Broken { findings, since } => {
            let end = if findings.text.is_empty() || findings.text.ends_with('\n') { "" } else { "\n" };
            let since = clock_time(*since);
            format!("\n{}{end}{NOTED}still running the version of {since}{NOTED:#}\n", findings.text)
        }
    }
}

/// Renders the end of a session: the reason, the place, and what to do.
pub(super) fn summary(summary: &RunSummary, window: Window) -> String {
    let ended = summary.ended.as_deref();
    let message = ended.and_then(|ended| ended.message.as_deref()).or(summary.message.as_deref());
    let node = ended.map(|ended| format!("`{}`", ended.node));
    // Most messages name the node themselves.
    let node = node.filter(|node| !message.is_some_and(|message| message.starts_with(node)));
    let at = node.map_or_else(String::new, |node| format!(" at {node}"));
    let (word, mark, style) = match summary.reason {
        Reason::Finished => return format!("\n{GOOD}{}{GOOD:#} {QUIET}finished{QUIET:#}\n", window.look.pick("✓", "ok")),
        Reason::Failed => ("failed", "✗", BAD),
        Reason::Denied => ("denied", "✗", BAD),
        Reason::RolledBack => ("rolled back", "↩", NOTED),
        Reason::Interrupted => ("interrupted", "■", NOTED),
        Reason::EndOfInput => ("", "■", NOTED),
    };
    let mark = window.look.pick(mark, "x");
    let text = match (word, message) {
        ("", message) => message.unwrap_or("the input ended").to_owned(),
        (word, Some(message)) => format!("{word}{at}: {message}"),
        (word, None) => format!("{word}{at}"),
    };
    let mut out = format!("\n{style}{mark}{style:#} {}\n", indented(&text, 2, window));
    if let Some(place) = &summary.place {
        let _ = writeln!(out, "  {QUIET}{}{QUIET:#}", printable(place));
    }
    if let Some(rollback) = ended.and_then(|ended| ended.rollback.as_ref()).filter(|list| leaves_something(list)) {
        argument("rollback", rollback, "  ", 8, window, &mut out);
    }
    if let Some(help) = summary.help {
        let _ = writeln!(out, "{GOOD}help{GOOD:#}: {}", indented(help, 6, window));
    }
    out
}

/// Wraps a text that begins at column `taken`; further lines are indented by two columns.
fn indented(text: &str, taken: usize, window: Window) -> String {
    let room = window.room.max(10);
    let taken = taken.min(room - 2);
    // The first line is wrapped with what stands before it, which is then taken off again.
    let before = "\u{b7}".repeat(taken);
    let lines = text.lines().enumerate().flat_map(|(at, line)| {
        let line = printable(line);
        wrapped(&if at == 0 { format!("{before}{line}") } else { line.into_owned() }, room - 2)
    });
    lines.collect::<Vec<_>>().join("\n  ").replacen(&before, "", 1)
}

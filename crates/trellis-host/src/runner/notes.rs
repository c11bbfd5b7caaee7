//! The lines of a run without a drawn screen beside the conversation: failed calls, new attempts, a rollback, a line each.

use trellis_core::{ToolError, ToolOutcome, engine::ToolErrorKind, state::PendingCall};

use super::console::Note;
use crate::policy::Decision;

/// The number of characters of a tool's message that a line shows.
const MAX_SHOWN_CHARS: usize = 300;

/// Returns the line about an event; `None` for events that the conversation shows, and for successes.
pub(super) fn line(note: &Note<'_>) -> Option<String> {
    match note {
        Note::Call(call) if call.attempt > 1 => Some(format!("`{}` is tried again, attempt {}", call.callee(), call.attempt)),
        Note::Result(call, result) => match &result.outcome {
            ToolOutcome::Success(_) => None,
            ToolOutcome::Error(error) => Some(failed(call, error)),
            ToolOutcome::Denied(why) => Some(format!("`{}` was denied{}", call.callee(), because(why.as_deref()))),
        },
        Note::Policy(call, decided) if decided.decision == Decision::Ask => {
            Some(format!("`{}` waits for an approval{}", call.callee(), because(Some(&decided.reason()))))
        }
        Note::Refused(call, why) => Some(format!("`{}` failed{}", call.callee(), because(Some(why)))),
        Note::RollingBack { node, why } => Some(format!("rolling back from `{node}`{}", because(*why))),
        _ => None,
    }
}

fn failed(call: &PendingCall, error: &ToolError) -> String {
    let name = format!("`{}`", call.callee());
    match (error.kind, &error.message) {
        (ToolErrorKind::Timeout, message) if message.starts_with(&name) => short(message),
        (ToolErrorKind::Timeout, message) => format!("{name} timed out{}", because(Some(message))),
        (_, message) => format!("{name} failed{}", because(Some(message))),
    }
}

fn because(why: Option<&str>) -> String {
    why.map(short).filter(|why| !why.is_empty()).map_or_else(String::new, |why| format!(": {why}"))
}

/// Returns the last line of a text, in which a failing program usually gives the reason.
fn short(text: &str) -> String {
    let last = text.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    match last.char_indices().nth(MAX_SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &last[..end]),
        None => last.to_owned(),
    }
}

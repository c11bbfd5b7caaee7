//! Events, as files that people and programs read: `runtime/events/`, `runtime/tasks/`, `runtime/dlq/` (orchestrator 9).
//!
//! ```text
//! queue.db ───┐                 ┌─▶ events/events.jsonl ─▶ events/index.json, tasks/details/<task>.md
//!             ├─▶ Recorder ─────┼─▶ tasks/store.json
//! journals ───┘                 └─▶ dlq/outbound.jsonl
//! ```
//!
//! Queue and journals are read again and again, from the last event on; nobody waits for that.
//!
//! **Invariant:** an event is named by its origin, number and kind, so reading the same twice adds nothing; after a crash the rest is added.

mod dead_letters;
mod details;
mod index;
mod log;
mod of_queue;
mod of_records;
mod recorder;
mod tasks;

use serde::{Deserialize, Serialize};

pub use self::{
    index::EventIndex,
    log::EventLog,
    recorder::{Recorder, RecordingError, check_files, forget_projections},
    tasks::{Task, TaskStep, Tasks, tasks_of},
};
use crate::{message::ChatPlace, seal::sha256};

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// A task was begun.
    TaskCreated,
    /// A step of a task was begun.
    StepStarted,
    /// A step of a task is over.
    StepDone,
    /// A call was made.
    ToolCalled,
    /// A call returned.
    ToolReturned,
    /// A call waits for an approval.
    ApprovalAsked,
    /// Somebody decided about a call.
    ApprovalDecided,
    /// A session waits for an input.
    Waiting,
    /// A session got the input that it waited for.
    Resumed,
    /// A session finished.
    Completed,
    /// A session failed.
    Failed,
    /// Somebody stopped a session.
    Cancelled,
    /// A session used up its turns.
    MaxTurnsReached,
    /// A message came in.
    MessageIn,
    /// A message went out.
    MessageOut,
    /// A message cannot be sent.
    MessageDead,
    /// A schedule fired.
    CronFired,
    /// A heartbeat began.
    Heartbeat,
    /// A message referred to a secret that cannot be opened.
    SecretMissing,
    /// A service is in another state.
    #[serde(rename = "service")]
    Daemon,
}

impl EventKind {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::TaskCreated => "task_created",
            Self::StepStarted => "step_started",
            Self::StepDone => "step_done",
            Self::ToolCalled => "tool_called",
            Self::ToolReturned => "tool_returned",
            Self::ApprovalAsked => "approval_asked",
            Self::ApprovalDecided => "approval_decided",
            Self::Waiting => "waiting",
            Self::Resumed => "resumed",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::MaxTurnsReached => "max_turns_reached",
            Self::MessageIn => "message_in",
            Self::MessageOut => "message_out",
            Self::MessageDead => "message_dead",
            Self::CronFired => "cron_fired",
            Self::Heartbeat => "heartbeat",
            Self::SecretMissing => "secret_missing",
            Self::Daemon => "service",
        }
    }
}

/// A line of `events.jsonl`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkflowEvent {
    /// Its name: the same event always has the same one.
    pub id: String,
    /// Its time, in milliseconds since 1970.
    pub at: u64,
    /// Its kind.
    pub kind: EventKind,
    /// The task that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The session that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The chat, as `provider:chat`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chat: Option<String>,
    /// The event in a line, for people.
    pub summary: String,
    /// Further details.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<serde_json::Value>,
}

impl WorkflowEvent {
    /// An event of an origin, which is a session or the key of a message, at its number `seq`.
    pub fn new(origin: &str, seq: u64, kind: EventKind, at: u64, summary: impl Into<String>) -> Self {
        let id = sha256(&format!("{origin}:{seq}:{}", kind.as_str()))[..16].to_owned();
        Self { id, at, kind, task: None, run: None, chat: None, summary: summary.into(), data: None }
    }

    /// Sets its chat.
    #[must_use]
    pub fn in_chat(self, place: &ChatPlace) -> Self {
        Self { chat: Some(format!("{}:{}", place.provider, place.chat)), ..self }
    }

    /// Sets its session, which is a task if it is named so.
    #[must_use]
    pub fn of_run(self, run: &str) -> Self {
        let task = run.starts_with("task-").then(|| run.to_owned());
        Self { run: Some(run.to_owned()), task, ..self }
    }
}

/// The beginning of a text in one line.
fn brief(text: &str) -> String {
    const MOST: usize = 120;
    let text: Vec<&str> = text.split_whitespace().collect();
    let text = text.join(" ");
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests;

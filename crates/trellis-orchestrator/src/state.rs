//! The state of a running orchestrator as a dashboard shows it: the answer of `/api/state` (orchestrator 8.5).
//!
//! **Invariant:** every text in it was sealed when it came in, and is masked before it is shown.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::schedule::Job;

/// The whole state at a moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// The services beside the conversations, in the order of their starts.
    pub services: Vec<Health>,
    /// The channels.
    pub channels: Vec<ChannelState>,
    /// The sessions that have not ended, except tasks; oldest first.
    pub runs: Vec<RunState>,
    /// The tasks that have not ended, with what `runtime/tasks/store.json` has of them; newest first.
    pub tasks: Vec<TaskState>,
    /// The calls that wait for somebody's decision, as `/api/approvals` lists them; `due` is the time at which they run no more, once that has begun.
    pub approvals: Vec<Json>,
    /// The messages that wait to be sent.
    pub outbox: OutboxState,
    /// The messages and calls of sessions that were given up.
    pub dead: Vec<DeadLetter>,
    /// The schedules.
    pub cron: Vec<Job>,
    /// The memory.
    pub memory: MemoryState,
    /// The number of decisions in force.
    pub decisions: usize,
}

/// The health of a service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    /// Its name.
    pub name: String,
    /// Its state, such as `running` or `down`.
    pub state: String,
    /// The time of its last change, in milliseconds since 1970.
    pub since: u64,
    /// The reason of its last failure, as long as that counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The number of restarts.
    pub restarts: u32,
}

/// A channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelState {
    /// Its name.
    pub name: String,
    /// The age of the oldest message that no session has yet, in milliseconds.
    pub lag: u64,
    /// The position at which the next read begins.
    pub cursor: Option<String>,
    /// Its present error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A session that has not ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunState {
    /// The name of the session.
    pub id: String,
    /// Its kind: `agent`, `command`, `heartbeat`, `consolidate`.
    pub entry: String,
    /// The channel.
    pub provider: String,
    /// The chat.
    pub chat: String,
    /// The thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
    /// The person who began it.
    pub sender: String,
    /// Its progress.
    #[serde(flatten)]
    pub standing: RunStanding,
    /// The time of its begin, in milliseconds since 1970.
    pub created_at: u64,
}

/// The progress of a session (orchestrator 2.5).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunStanding {
    /// `running`, `waiting_approval`, or the kind of its end.
    pub status: String,
    /// The node.
    pub node: String,
    /// The kind of its wait: `input`, `file` or `tool`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<String>,
}

/// A task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskState {
    /// Its id, which is the name of its session.
    pub id: String,
    /// Its title.
    pub title: String,
    /// The channel.
    pub provider: String,
    /// The chat.
    pub chat: String,
    /// The thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
    /// The session.
    pub session: String,
    /// Its progress.
    #[serde(flatten)]
    pub standing: RunStanding,
    /// The calls of the model so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<u32>,
    /// The most calls of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u32>,
    /// Its steps.
    #[serde(default)]
    pub steps: Vec<StepState>,
    /// The time of its begin, in milliseconds since 1970.
    pub created_at: u64,
    /// The time of its last step, in milliseconds since 1970.
    pub updated_at: u64,
    /// Its result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// The reason of its failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A step of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepState {
    /// Its title.
    pub title: String,
    /// Its status.
    pub status: String,
}

/// The messages that wait to be sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutboxState {
    /// The number of messages.
    pub queued: u64,
    /// The time at which the oldest of them was queued, in milliseconds since 1970.
    pub oldest: Option<u64>,
}

/// A message or call that was given up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum DeadLetter {
    /// A message that could not be sent.
    Message {
        /// Its number in the outbox.
        id: i64,
        /// The time at which it was queued, in milliseconds since 1970.
        at: u64,
        /// The channel.
        provider: String,
        /// The chat.
        chat: String,
        /// The thread.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        thread: Option<String>,
        /// Its text.
        text: String,
        /// The number of attempts.
        attempts: u32,
        /// The reason.
        error: LetterError,
        /// The key of the call that made it.
        key: String,
    },
    /// A call of a session, as `/api/dead-letters` lists it.
    Call {
        /// The letter.
        letter: Json,
    },
}

/// The reason why a message was given up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LetterError {
    /// The code, as the provider names it.
    pub code: String,
    /// The error message.
    pub message: String,
}

/// The memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryState {
    /// The bytes of its files.
    pub bytes: u64,
    /// The days that have a file.
    pub days: u64,
}

/// The keeper of the services.
#[async_trait]
pub trait Services: Send + Sync {
    /// Returns the states of the services, in the order of their starts.
    fn states(&self) -> Vec<Health>;

    /// Starts a service that does not run; returns whether there is one of this name.
    async fn start(&self, name: &str) -> bool;

    /// Restarts a service; returns whether there is one of this name.
    async fn restart(&self, name: &str) -> bool;
}

//! What a dashboard shows of a running orchestrator: the answer of `/api/state` (orchestrator 8.5).
//!
//! **Invariant:** every text in it was sealed when it came in, and is masked before it is told.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::schedule::Job;

/// Everything at a moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// What runs beside the conversations, in the order of the starts.
    pub services: Vec<Health>,
    /// The channels.
    pub channels: Vec<ChannelState>,
    /// The sessions that go on, but for tasks; oldest first.
    pub runs: Vec<RunState>,
    /// The tasks, as `runtime/tasks/store.json` has them; newest first.
    pub tasks: Vec<TaskState>,
    /// The calls that wait for somebody's decision, as `/api/approvals` lists them.
    pub approvals: Vec<Json>,
    /// What waits to be sent.
    pub outbox: OutboxState,
    /// What was given up: messages, and calls of sessions.
    pub dead: Vec<DeadLetter>,
    /// The schedules.
    pub cron: Vec<Job>,
    /// The memory.
    pub memory: MemoryState,
    /// The number of decisions that count.
    pub decisions: usize,
}

/// The health of a service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    /// Its name.
    pub name: String,
    /// How it is, such as `running` or `down`.
    pub state: String,
    /// Since when, in milliseconds since 1970.
    pub since: u64,
    /// Why it failed last, as long as that counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// How often it was started again.
    pub restarts: u32,
}

/// A channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelState {
    /// Its name.
    pub name: String,
    /// For how long the oldest message has waited that no session has yet, in milliseconds.
    pub lag: u64,
    /// Where the next read begins.
    pub cursor: Option<String>,
    /// What is wrong with it now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A session that goes on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunState {
    /// The name of the session.
    pub id: String,
    /// What it is: `agent`, `command`, `heartbeat`, `consolidate`.
    pub entry: String,
    /// The channel.
    pub provider: String,
    /// The chat.
    pub chat: String,
    /// The thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
    /// Who began it.
    pub sender: String,
    /// Where it stands.
    #[serde(flatten)]
    pub standing: RunStanding,
    /// When it was begun, in milliseconds since 1970.
    pub created_at: u64,
}

/// Where a session stands (orchestrator 2.5).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunStanding {
    /// `running`, `waiting_approval`, or how it ended.
    pub status: String,
    /// The node.
    pub node: String,
    /// What it waits for: `input` or `tool`.
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
    /// Where it stands.
    #[serde(flatten)]
    pub standing: RunStanding,
    /// The call of the model at which it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<u64>,
    /// The most calls of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u64>,
    /// Its steps.
    #[serde(default)]
    pub steps: Vec<StepState>,
    /// When it was begun, in milliseconds since 1970.
    pub created_at: u64,
    /// When it moved last, in milliseconds since 1970.
    pub updated_at: u64,
    /// What came of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A step of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepState {
    /// Its title.
    pub title: String,
    /// Where it stands.
    pub status: String,
}

/// What waits to be sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutboxState {
    /// The number of messages.
    pub queued: u64,
    /// When the oldest of them was put there, in milliseconds since 1970.
    pub oldest: Option<u64>,
}

/// Something that was given up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum DeadLetter {
    /// A message that could not be sent.
    Message {
        /// Its number in the outbox.
        id: i64,
        /// When it was said, in milliseconds since 1970.
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
        /// How often it was tried.
        attempts: u32,
        /// Why it was given up.
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

/// Why a message was given up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LetterError {
    /// The code, as the provider names it.
    pub code: String,
    /// What happened.
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

/// What keeps the services running.
#[async_trait]
pub trait Services: Send + Sync {
    /// Where they stand, in the order of the starts.
    fn states(&self) -> Vec<Health>;

    /// Starts a service that does not run; whether there is one of this name.
    async fn start(&self, name: &str) -> bool;

    /// Starts a service anew; whether there is one of this name.
    async fn restart(&self, name: &str) -> bool;
}

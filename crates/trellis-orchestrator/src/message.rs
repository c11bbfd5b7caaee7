//! Messages, and where they are said.

use serde::{Deserialize, Serialize};
use trellis_core::{Mapping, Value};

use crate::seal::sha256;

/// A chat of a provider, or a thread of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ChatPlace {
    /// The channel: `terminal`, `web` …
    pub provider: String,
    /// The chat, as the provider names it.
    pub chat: String,
    /// The thread in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
}

impl ChatPlace {
    /// The chat of a provider, without a thread.
    pub fn new(provider: &str, chat: &str) -> Self {
        Self { provider: provider.to_owned(), chat: chat.to_owned(), thread: None }
    }

    /// The chat that `provider:chat` names; `terminal` has one chat only.
    pub fn named(text: &str) -> Option<Self> {
        let (provider, chat) = text.split_once(':').or((text == "terminal").then_some((text, text)))?;
        let is_provider = !provider.is_empty() && provider.chars().all(|char| char.is_ascii_lowercase());
        (is_provider && !chat.trim().is_empty()).then(|| Self::new(provider, chat))
    }

    /// The name of the file of what was said here: `<provider>-<hash>` (orchestrator 9).
    pub fn file_name(&self) -> String {
        format!("{}-{}", self.provider, &sha256(&format!("{}:{}", self.chat, self.thread.as_deref().unwrap_or_default()))[..16])
    }
}

/// Work that the agent does beside its conversations, each in a session of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// A task that a session began (orchestrator 2.4).
    Task,
    /// What stands open in `HEARTBEAT.md` (orchestrator 8.2).
    Heartbeat,
    /// The memory is made shorter (orchestrator 5.4).
    Consolidate,
}

impl Work {
    /// Its name: the `entry` of its sessions, their sender, and the beginning of their ids.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Task => "task",
            Self::Heartbeat => "heartbeat",
            Self::Consolidate => "consolidate",
        }
    }

    /// The work as a message to itself, so that it is kept as all messages are: once under its name. What its session begins with stands in the text.
    pub fn message(self, name: &str, place: ChatPlace, context: Mapping, at: u64) -> Incoming {
        let (id, sender) = (format!("{}-{name}", self.as_str()), self.as_str().to_owned());
        Incoming { place, id, sender_name: sender.clone(), sender, text: Value::Map(context).to_json(), at }
    }
}

/// A message that a channel read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incoming {
    /// Where it was said.
    pub place: ChatPlace,
    /// Its id there: one message has one id, however often it is read.
    pub id: String,
    /// Who said it, as the provider names them.
    pub sender: String,
    /// The name that people know them by.
    pub sender_name: String,
    /// What was said.
    pub text: String,
    /// When, in milliseconds since 1970.
    pub at: u64,
}

impl Incoming {
    /// The one name of the message over all channels: `provider:chat:id`.
    pub fn key(&self) -> String {
        format!("{}:{}:{}", self.place.provider, self.place.chat, self.id)
    }

    /// The work that it is; nothing where somebody said it. No channel has such senders and ids.
    pub fn work(&self) -> Option<Work> {
        let is_it = |work: &Work| self.sender == work.as_str() && self.id.strip_prefix(work.as_str()).is_some_and(|id| id.starts_with('-'));
        [Work::Task, Work::Heartbeat, Work::Consolidate].into_iter().find(is_it)
    }

    /// What the session of a work begins with.
    pub fn context(&self) -> Mapping {
        let context = Value::from_json(&self.text).ok();
        context.as_ref().and_then(Value::as_map).cloned().unwrap_or_default()
    }

    /// The name of the session that a group begins whose first message this is (orchestrator 2.2).
    pub fn session(&self) -> String {
        if self.work().is_some() {
            return self.id.clone();
        }
        let thread = self.place.thread.as_deref().unwrap_or_default();
        format!("chat-{}", &sha256(&format!("{}:{}:{thread}:{}", self.place.provider, self.place.chat, self.id))[..16])
    }
}

/// A message for a chat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// Where it is said.
    pub place: ChatPlace,
    /// Its text, as Markdown.
    pub text: String,
    /// A name of it that stays over attempts.
    pub key: String,
}

/// The time now, in milliseconds since 1970.
pub fn now() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

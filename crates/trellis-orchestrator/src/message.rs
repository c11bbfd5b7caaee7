//! Messages and their places: provider, chat and thread.

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

    /// The chat that `provider:chat` names; `terminal` has one chat only, and `web` is the chat of whoever has the only token.
    pub fn named(text: &str) -> Option<Self> {
        let alone = match text {
            "terminal" => Some((text, text)),
            "web" => Some((text, "local")),
            _ => None,
        };
        let (provider, chat) = text.split_once(':').or(alone)?;
        let is_provider = !provider.is_empty() && provider.chars().all(|char| char.is_ascii_lowercase());
        (is_provider && !chat.trim().is_empty()).then(|| Self::new(provider, chat))
    }

    /// The name of the history file of this chat: `<provider>-<hash>` (orchestrator 9).
    pub fn file_name(&self) -> String {
        format!("{}-{}", self.provider, &sha256(&format!("{}:{}", self.chat, self.thread.as_deref().unwrap_or_default()))[..16])
    }
}

/// Work that the agent does beside its conversations, each in a session of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// A task that a session began (orchestrator 2.4).
    Task,
    /// The open points of `HEARTBEAT.md` (orchestrator 8.2).
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

    /// The work as a message to itself, so that it is stored like every message, once under its name. Its text is the initial context of its session.
    pub fn message(self, name: &str, place: ChatPlace, context: Mapping, at: u64) -> Incoming {
        let (id, sender) = (format!("{}-{name}", self.as_str()), self.as_str().to_owned());
        Incoming { place, id, sender_name: sender.clone(), sender, text: Value::Map(context).to_json(), at, files: Vec::new() }
    }
}

/// A message that a channel read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incoming {
    /// Its place.
    pub place: ChatPlace,
    /// Its id there: one message has one id, however often it is read.
    pub id: String,
    /// The sender, as named by the provider.
    pub sender: String,
    /// The name that people know them by.
    pub sender_name: String,
    /// Its text.
    pub text: String,
    /// Its time, in milliseconds since 1970.
    pub at: u64,
    /// The files that came with it.
    pub files: Vec<Attachment>,
}

/// A file that somebody sent (orchestrator 3.10).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    /// Its name, as the sender has it.
    pub name: String,
    /// Its media type, as the provider says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// Its length in bytes, as the provider says until it was fetched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// The address or id that the provider has for it. It is not stored, since addresses may let anybody in.
    #[serde(skip)]
    pub source: String,
    /// Its path in the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The reason why it could not be fetched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
}

impl Attachment {
    /// The file in one line, as the model reads it: the local path, or why there is none. It never contains the address of the provider.
    pub fn line(&self) -> String {
        let name = printable(&self.name);
        match (&self.path, &self.trouble) {
            (Some(path), _) => {
                let details = [Some(name), self.media_type.as_deref().map(printable), self.size.map(|size| format!("{size} bytes"))];
                let details: Vec<String> = details.into_iter().flatten().collect();
                format!("- {path} ({})", details.join(", "))
            }
            (None, trouble) => format!("- {name}: not fetched: {}", printable(trouble.as_deref().unwrap_or("it was not asked for"))),
        }
    }

    /// The file as a graph gets it: `{name, path?, media_type?, size?, error?}`.
    pub fn value(&self) -> Value {
        let texts = [("path", &self.path), ("media_type", &self.media_type), ("error", &self.trouble)];
        let mut entries = vec![("name", Value::text(&*self.name))];
        entries.extend(texts.into_iter().filter_map(|(key, text)| Some((key, Value::text(text.as_deref()?)))));
        entries.extend(self.size.map(|size| ("size", Value::Int(i64::try_from(size).unwrap_or(i64::MAX)))));
        Value::map(entries)
    }
}

/// A text in one line, without characters that a terminal obeys or that change the direction of writing.
pub fn printable(text: &str) -> String {
    let is_direction = |char: char| matches!(char, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    text.chars().map(|char| if char.is_control() || is_direction(char) { ' ' } else { char }).collect::<String>().trim().to_owned()
}

impl Incoming {
    /// The one name of the message over all channels: `provider:chat:id`.
    pub fn key(&self) -> String {
        format!("{}:{}:{}", self.place.provider, self.place.chat, self.id)
    }

    /// The task that it represents; `None` for a message of a person. No channel has such senders and ids.
    pub fn work(&self) -> Option<Work> {
        let is_it = |work: &Work| self.sender == work.as_str() && self.id.strip_prefix(work.as_str()).is_some_and(|id| id.starts_with('-'));
        [Work::Task, Work::Heartbeat, Work::Consolidate].into_iter().find(is_it)
    }

    /// Returns the initial context of the session of a work.
    pub fn context(&self) -> Mapping {
        let context = Value::from_json(&self.text).ok();
        context.as_ref().and_then(Value::as_map).cloned().unwrap_or_default()
    }

    /// The name of the session that begins with a group whose first message is this (orchestrator 2.2).
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
    /// Its place.
    pub place: ChatPlace,
    /// Its text, as Markdown.
    pub text: String,
    /// Its key, which stays the same over attempts.
    pub key: String,
    /// The name of the file that the text is sent as; `None` for a message.
    pub file: Option<String>,
}

impl Outgoing {
    /// A message for a chat.
    pub fn new(place: ChatPlace, text: impl Into<String>, key: impl Into<String>) -> Self {
        Self { place, text: text.into(), key: key.into(), file: None }
    }
}

/// The time now, in milliseconds since 1970.
pub fn now() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

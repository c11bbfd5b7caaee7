//! Channels: where people write and read (orchestrator 4).

mod inbox;
mod remote;
mod split;
mod terminal;
mod troubles;
mod web;

use std::time::Duration;

use async_trait::async_trait;

pub use self::{
    inbox::{INBOX, Inbox, InboxError, InboxFile, folder_of},
    remote::{ChannelSetup, check_remote, open_remote},
    split::parts,
    terminal::{Terminal, TerminalIo},
    troubles::{ChannelTrouble, ChannelTroubles},
    web::{Web, WebPosts},
};
use crate::{
    message::{Attachment, ChatPlace, Incoming, Outgoing},
    words::{Command, command},
};

/// The abilities of a channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// People can send files in it.
    pub has_files: bool,
    /// People can react to messages of it.
    pub has_reactions: bool,
    /// It shows that an answer is being written.
    pub shows_typing: bool,
}

/// A reaction that somebody put on a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reaction {
    /// The chat of the message.
    pub place: ChatPlace,
    /// The message, as the provider names it.
    pub message: String,
    /// The person who reacted, as the provider names them.
    pub sender: String,
    /// The emoji, or the name that the provider has for it.
    pub name: String,
}

/// The format in which a chat gets answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rendering {
    /// Markdown, drawn as the channel can.
    #[default]
    Markdown,
    /// The text as it is.
    Plain,
}

impl Rendering {
    /// The format of a name that people type: `markdown`, `plain`.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "markdown" => Some(Self::Markdown),
            "plain" => Some(Self::Plain),
            _ => None,
        }
    }
}

/// The result of one read of a channel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// The messages, oldest first.
    pub messages: Vec<Incoming>,
    /// Earlier messages whose text has changed.
    pub edits: Vec<Incoming>,
    /// Earlier messages that were deleted: their chats and their names.
    pub deletions: Vec<(ChatPlace, String)>,
    /// Reactions to messages, including those that were read before.
    pub reactions: Vec<Reaction>,
    /// The position at which the next read begins.
    pub cursor: Option<String>,
    /// True if the channel has ended: no batch follows.
    pub is_over: bool,
    /// Errors of parts that could not be read, while the rest could: a chat that is gone.
    pub troubles: Vec<ChannelError>,
}

/// A channel failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct ChannelError {
    /// The code, as the provider names it.
    pub code: String,
    /// The error message.
    pub message: String,
    /// True if another attempt cannot succeed.
    pub is_final: bool,
    /// The wait that the provider asks for.
    pub after: Option<Duration>,
    /// The stage that the attempt reached.
    pub reach: Reach,
}

/// The stage that a failed attempt reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reach {
    /// Nothing was sent: the channel itself waits, because it was asked to.
    Unsent,
    /// The provider rejected it.
    #[default]
    Refused,
    /// The provider may have accepted it, without an answer.
    Unknown,
}

impl ChannelError {
    /// A temporary failure.
    pub fn new(code: &str, message: impl Into<String>) -> Self {
        Self { code: code.to_owned(), message: message.into(), is_final: false, after: None, reach: Reach::Refused }
    }

    /// Marks the failure as permanent.
    #[must_use]
    pub fn finally(self) -> Self {
        Self { is_final: true, ..self }
    }

    /// Sets the stage that the attempt reached.
    #[must_use]
    pub fn reaching(self, reach: Reach) -> Self {
        Self { reach, ..self }
    }

    /// Sets the wait that the provider asks for.
    #[must_use]
    pub fn after(self, after: Duration) -> Self {
        Self { after: Some(after), ..self }
    }
}

/// A channel to people.
#[async_trait]
pub trait Channel: Send + Sync {
    /// Its name, which is part of the keys of messages.
    fn name(&self) -> &str;

    /// Returns its abilities.
    fn capabilities(&self) -> Capabilities {
        Capabilities::default()
    }

    /// The time for which messages of one person are collected after the first, to be answered together.
    fn grouping(&self) -> Duration;

    /// Names the messages whose reactions are awaited. A channel whose provider reports reactions by itself need not know.
    fn watch(&self, _messages: Vec<(ChatPlace, String)>) {}

    /// Reads the text of a message as a command.
    fn parse_command(&self, message: &Incoming) -> Option<Command> {
        command(&message.text)
    }

    /// The names by which a text calls the agent: mentions as the provider writes them, and aliases.
    fn parse_agent_mentions(&self, _text: &str) -> Vec<String> {
        Vec::new()
    }

    /// Fetches a file of a message.
    ///
    /// # Errors
    /// The channel has no files, or the provider does not hand this one over.
    async fn fetch(&self, _file: &Attachment, _into: InboxFile) -> Result<Attachment, ChannelError> {
        Err(ChannelError::new("no_files", "this channel has no files").finally())
    }

    /// Waits for messages after a cursor. The future may be dropped; the next call reads the same messages again.
    ///
    /// # Errors
    /// The provider cannot be read.
    async fn read(&self, cursor: Option<&str>) -> Result<Batch, ChannelError>;

    /// Sends a message and returns the receipt of the provider.
    ///
    /// # Errors
    /// The provider rejects it.
    async fn send(&self, message: &Outgoing, rendering: Rendering) -> Result<String, ChannelError>;

    /// Shows the person who wrote a message that it was read.
    ///
    /// # Errors
    /// The provider rejects it, which is harmless.
    async fn react(&self, _place: &ChatPlace, _message: &str) -> Result<(), ChannelError> {
        Ok(())
    }

    /// Shows a chat for a few seconds that an answer is being written.
    ///
    /// # Errors
    /// The provider rejects it, which is harmless.
    async fn set_typing(&self, _place: &ChatPlace) -> Result<(), ChannelError> {
        Ok(())
    }
}

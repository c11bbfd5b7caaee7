//! Channels: where people write and read (orchestrator 4).

mod remote;
mod split;
mod terminal;

use std::time::Duration;

use async_trait::async_trait;

pub use self::{
    remote::{ChannelSetup, check_remote, open_remote},
    split::parts,
    terminal::{Terminal, TerminalIo},
};
use crate::message::{ChatPlace, Incoming, Outgoing};

/// How a chat gets answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rendering {
    /// Markdown, drawn as the channel can.
    #[default]
    Markdown,
    /// The text as it is.
    Plain,
}

impl Rendering {
    /// The name that people type: `markdown`, `plain`.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "markdown" => Some(Self::Markdown),
            "plain" => Some(Self::Plain),
            _ => None,
        }
    }
}

/// What a channel read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// The messages, oldest first.
    pub messages: Vec<Incoming>,
    /// Messages of before that have another text now.
    pub edits: Vec<Incoming>,
    /// Where the next read begins.
    pub cursor: Option<String>,
    /// Whether nothing will ever come behind it.
    pub is_over: bool,
    /// What could not be read, while the rest could: a chat that is gone.
    pub troubles: Vec<ChannelError>,
}

/// A channel failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct ChannelError {
    /// The code, as the provider names it.
    pub code: String,
    /// What happened.
    pub message: String,
    /// Whether another attempt can only fail too.
    pub is_final: bool,
    /// How long the provider wants to be left alone.
    pub after: Option<Duration>,
    /// How far the attempt came.
    pub reach: Reach,
}

/// How far an attempt came that failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reach {
    /// Nothing was sent: the channel itself waits, because it was asked to.
    Unsent,
    /// The provider did not take it.
    #[default]
    Refused,
    /// The provider may have taken it, and did not say so.
    Unknown,
}

impl ChannelError {
    /// A failure that may pass.
    pub fn new(code: &str, message: impl Into<String>) -> Self {
        Self { code: code.to_owned(), message: message.into(), is_final: false, after: None, reach: Reach::Refused }
    }

    /// The same for one that stays.
    #[must_use]
    pub fn finally(self) -> Self {
        Self { is_final: true, ..self }
    }

    /// The same for an attempt that came so far.
    #[must_use]
    pub fn reaching(self, reach: Reach) -> Self {
        Self { reach, ..self }
    }

    /// The same with the time that the provider asks for.
    #[must_use]
    pub fn after(self, after: Duration) -> Self {
        Self { after: Some(after), ..self }
    }
}

/// A way to people.
#[async_trait]
pub trait Channel: Send + Sync {
    /// Its name, which stands in the keys of messages.
    fn name(&self) -> &str;

    /// How long messages of one person are collected after the first, to be answered together.
    fn grouping(&self) -> Duration;

    /// Waits for messages behind a cursor. It may be dropped: what it had read is read again.
    ///
    /// # Errors
    /// The provider cannot be read.
    async fn read(&self, cursor: Option<&str>) -> Result<Batch, ChannelError>;

    /// Says something: the receipt of the provider.
    ///
    /// # Errors
    /// The provider does not take it.
    async fn send(&self, message: &Outgoing, rendering: Rendering) -> Result<String, ChannelError>;

    /// Shows the person who wrote a message that it was read.
    ///
    /// # Errors
    /// The provider does not take it, which is no harm.
    async fn react(&self, _place: &ChatPlace, _message: &str) -> Result<(), ChannelError> {
        Ok(())
    }

    /// Shows a chat for a few seconds that an answer is being written.
    ///
    /// # Errors
    /// The provider does not take it, which is no harm.
    async fn set_typing(&self, _place: &ChatPlace) -> Result<(), ChannelError> {
        Ok(())
    }
}

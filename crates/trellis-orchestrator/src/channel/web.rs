//! A chat in the browser: messages come as requests, answers go to all who follow the events of the server (orchestrator 4).
//!
//! A message is stored by the request that brings it, so there is nothing to read. A page that opens later finds all messages in the queue.

use std::{fmt, time::Duration};

use async_trait::async_trait;

use super::{Batch, Channel, ChannelError, Rendering};
use crate::message::{ChatPlace, Outgoing};

/// The name of the channel.
const WEB: &str = "web";
/// Messages that somebody sends in the same breath.
const WEB_GROUPING: Duration = Duration::from_millis(250);

/// News for a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WebPosts<'a> {
    /// A message.
    Message(&'a Outgoing, Rendering),
    /// An answer is being written.
    Typing(&'a ChatPlace),
}

type Tell = dyn Fn(WebPosts<'_>) + Send + Sync;

/// The channel of the browser. The chat of a person is the label of their token.
pub struct Web(Box<Tell>);

impl Web {
    /// A channel that reports to pages with `tell`.
    pub fn new(tell: impl Fn(WebPosts<'_>) + Send + Sync + 'static) -> Self {
        Self(Box::new(tell))
    }

    /// The chat of a label, or a thread of it.
    pub fn place(label: &str, thread: Option<&str>) -> ChatPlace {
        ChatPlace { thread: thread.map(str::to_owned), ..ChatPlace::new(WEB, label) }
    }

    /// Returns whether a place belongs to this channel.
    pub fn has(place: &ChatPlace) -> bool {
        place.provider == WEB
    }
}

impl fmt::Debug for Web {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Web")
    }
}

#[async_trait]
impl Channel for Web {
    fn name(&self) -> &str {
        WEB
    }

    fn grouping(&self) -> Duration {
        WEB_GROUPING
    }

    async fn read(&self, _: Option<&str>) -> Result<Batch, ChannelError> {
        std::future::pending().await
    }

    /// Nobody may be connected: the message stays in the outbox as sent.
    async fn send(&self, message: &Outgoing, rendering: Rendering) -> Result<String, ChannelError> {
        (self.0)(WebPosts::Message(message, rendering));
        Ok(String::new())
    }

    async fn set_typing(&self, place: &ChatPlace) -> Result<(), ChannelError> {
        (self.0)(WebPosts::Typing(place));
        Ok(())
    }
}

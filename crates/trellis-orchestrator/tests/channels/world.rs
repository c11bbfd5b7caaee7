//! A channel to a fake provider, read as the orchestrator reads it.

use std::{sync::Arc, time::Duration};

use trellis_host::Secrets;
use trellis_orchestrator::{
    channel::{Batch, Channel, ChannelError, check_remote, open_remote},
    config::{self, Settings},
    message::Incoming,
};
use trellis_tests::providers::{FakeProvider, ProviderKind, TOKEN};

/// The longest time that anything may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) const ALL: [ProviderKind; 3] = [ProviderKind::Slack, ProviderKind::Telegram, ProviderKind::Discord];

/// Settings with a channel to a provider.
pub(crate) fn settings(provider: &FakeProvider, allow: &str) -> Settings {
    let channel = provider.settings("{ secret: token }", allow);
    let text = format!("agent: {{ aliases: [\"@agent\"] }}\nchannels:\n  {}: {channel}\n", provider.name());
    let (settings, found) = config::read(config::CONFIG_FILE, &text);
    assert_eq!(found, [], "{text}");
    settings
}

pub(crate) fn secrets(token: &'static str) -> Secrets {
    Secrets::new(move |name| (name == "token").then(|| token.to_owned()))
}

pub(crate) fn channel(provider: &FakeProvider, allow: &str) -> Arc<dyn Channel> {
    open_remote(&settings(provider, allow), &secrets(TOKEN)).expect("a channel").remove(0)
}

pub(crate) async fn check(provider: &FakeProvider, token: &'static str) -> Vec<String> {
    check_remote(&settings(provider, "[\"*\"]"), &secrets(token)).await
}

/// A channel that is read from a cursor on.
pub(crate) struct Reader {
    pub(crate) channel: Arc<dyn Channel>,
    pub(crate) cursor: Option<String>,
    /// Everything that was read.
    pub(crate) heard: Vec<Incoming>,
    pub(crate) troubles: Vec<ChannelError>,
}

impl Reader {
    /// A reader that has looked once, so that what is said from now on is news.
    pub(crate) async fn ready(provider: &FakeProvider, allow: &str) -> Self {
        let mut reader = Self { channel: channel(provider, allow), cursor: None, heard: Vec::new(), troubles: Vec::new() };
        if provider.name() != "telegram" {
            reader.read().await.expect("it reads");
        }
        reader
    }

    /// Reads once, and moves the cursor.
    pub(crate) async fn read(&mut self) -> Result<Batch, ChannelError> {
        let reading = self.channel.read(self.cursor.as_deref());
        let batch = tokio::time::timeout(PATIENCE, reading).await.expect("it reads in time")?;
        self.cursor = batch.cursor.clone().or(self.cursor.take());
        self.heard.extend(batch.messages.iter().cloned());
        self.troubles.extend(batch.troubles.iter().cloned());
        Ok(batch)
    }

    /// Reads until a message has these words, through failures that pass: all texts until then.
    pub(crate) async fn until(&mut self, words: &str) -> Vec<String> {
        let reading = async {
            while !self.heard.iter().any(|message| message.text.contains(words)) {
                if let Err(error) = self.read().await {
                    assert!(!error.is_final, "{error:?}");
                    tokio::time::sleep(error.after.unwrap_or(Duration::from_millis(10))).await;
                }
            }
        };
        tokio::time::timeout(PATIENCE, reading).await.expect("it is read");
        self.texts()
    }

    pub(crate) fn texts(&self) -> Vec<String> {
        self.heard.iter().map(|message| message.text.clone()).collect()
    }
}

//! Channels over a network, read by polling, so that this machine needs no reachable address (orchestrator 4.2).
//!
//! ```text
//! read(cursor) ─▶ Api ─▶ provider      Said ──Hearing──▶ Incoming, if it is for the agent
//! send ─▶ Pace ─▶ Api ─▶ provider
//! ```
//!
//! **Invariant:** no error contains a token or the text of a message; a cursor passes delivered messages only.

mod api;
mod discord;
mod download;
mod hearing;
mod markup;
mod multipart;
mod pace;
mod slack;
mod telegram;
mod watched;

use std::{env, sync::Arc, time::Duration};

use trellis_host::{Secrets, secrets::SecretText};

use self::{discord::Discord, hearing::Hearing, slack::Slack, telegram::Telegram};
use super::Channel;
use crate::config::{Provider, Reactions, RemoteSettings, Settings, TokenSource};

/// Messages of one person are collected for so long, since people write several in one breath (orchestrator 3.4).
const GROUPING: Duration = Duration::from_millis(3500);

/// A channel cannot be set up.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("channel `{channel}`: {why}")]
pub struct ChannelSetup {
    /// Its name.
    pub channel: String,
    /// The reason.
    pub why: String,
}

/// A channel, with its settings and its token.
struct Opened {
    settings: RemoteSettings,
    token: SecretText,
    hearing: Hearing,
    reactions: Reactions,
}

/// The channels over a network that settings name.
///
/// # Errors
/// A token is missing.
pub fn open_remote(settings: &Settings, secrets: &Secrets) -> Result<Vec<Arc<dyn Channel>>, ChannelSetup> {
    settings.remote.iter().map(|remote| open(settings, remote, secrets).map(channel)).collect()
}

/// Checks the token and the access at each provider before anything is read; returns one line for each obstacle.
pub async fn check_remote(settings: &Settings, secrets: &Secrets) -> Vec<String> {
    let mut found = Vec::new();
    for remote in &settings.remote {
        let name = remote.provider.as_str();
        match open(settings, remote, secrets) {
            Ok(opened) => found.extend(check(opened).await.into_iter().map(|why| format!("channel `{name}`: {why}"))),
            Err(error) => found.push(error.to_string()),
        }
    }
    found
}

fn open(settings: &Settings, remote: &RemoteSettings, secrets: &Secrets) -> Result<Opened, ChannelSetup> {
    let fails = |why: String| ChannelSetup { channel: remote.provider.as_str().to_owned(), why };
    let token = match &remote.token {
        TokenSource::Env(name) => match env::var(name).map(|value| value.trim().to_owned()) {
            Ok(value) if !value.is_empty() => SecretText::new(value),
            _ => return Err(fails(format!("the variable `{name}` is not set: put its token there, or into `.env` of the workspace"))),
        },
        TokenSource::Secret(name) => secrets.find(name).map_err(|error| fails(error.to_string()))?,
    };
    if token.is_empty() || !token.chars().all(|char| char.is_ascii_graphic() && !matches!(char, '/' | '?' | '#')) {
        return Err(fails("its token has a character that no token has".to_owned()));
    }
    let hearing = Hearing::new(&remote.allow, &settings.aliases, settings.auto_reply);
    Ok(Opened { settings: remote.clone(), token, hearing, reactions: settings.reactions.clone() })
}

fn channel(opened: Opened) -> Arc<dyn Channel> {
    match opened.settings.provider {
        Provider::Slack => Arc::new(Slack::new(opened)),
        Provider::Telegram => Arc::new(Telegram::new(opened)),
        Provider::Discord => Arc::new(Discord::new(opened)),
    }
}

async fn check(opened: Opened) -> Vec<String> {
    match opened.settings.provider {
        Provider::Slack => Slack::new(opened).check().await,
        Provider::Telegram => Telegram::new(opened).check().await,
        Provider::Discord => Discord::new(opened).check().await,
    }
}

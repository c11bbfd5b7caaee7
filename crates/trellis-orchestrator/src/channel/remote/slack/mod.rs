//! Slack: `conversations.history` and `conversations.replies` from where the last read ended, `chat.postMessage`.

mod read;
mod text;

use std::{fmt, time::Duration};

use async_trait::async_trait;
use serde_json::{Value as Json, json};
use tokio::sync::OnceCell;

use super::{
    GROUPING, Opened,
    api::{Api, ApiAnswer, PATIENCE},
    hearing::Hearing,
    markup,
    pace::{ALL, Pace},
};
use crate::{
    channel::{Batch, Channel, ChannelError, Rendering},
    config::{Provider, RemoteSettings},
    message::{ChatPlace, Outgoing},
};

/// Errors that another attempt gets too.
const FINAL: [&str; 24] = [
    "account_inactive",
    "access_denied",
    "as_user_not_supported",
    "cannot_reply_to_message",
    "channel_not_found",
    "ekm_access_denied",
    "enterprise_is_restricted",
    "invalid_auth",
    "invalid_blocks",
    "is_archived",
    "is_inactive",
    "messages_tab_disabled",
    "missing_scope",
    "msg_too_long",
    "no_permission",
    "no_text",
    "not_allowed_token_type",
    "not_authed",
    "not_in_channel",
    "restricted_action",
    "thread_locked",
    "thread_not_found",
    "token_expired",
    "token_revoked",
];

/// The channel of an app of Slack.
#[derive(Debug)]
pub(super) struct Slack {
    settings: RemoteSettings,
    hearing: Hearing,
    api: Api,
    pace: Pace,
    me: OnceCell<SlackUser>,
}

/// The user that the app is.
#[derive(Clone, Debug)]
struct SlackUser {
    id: String,
}

impl Slack {
    pub(super) fn new(Opened { settings, token, hearing }: Opened) -> Self {
        let api = Api::new(settings.base_url.clone(), Some(format!("Bearer {}", token.as_str())));
        Self { settings, hearing, api, pace: Pace::default(), me: OnceCell::new() }
    }

    /// What is in the way before anything is read: the token, and chats that cannot be read.
    pub(super) async fn check(&self) -> Vec<String> {
        if let Err(error) = self.me().await {
            return vec![error.to_string()];
        }
        let mut found = Vec::new();
        for chat in &self.settings.read {
            if let Err(error) = self.get("conversations.history", &[("channel", chat), ("limit", "1")]).await {
                found.push(format!("chat `{chat}`: {error}"));
            }
        }
        found
    }

    async fn me(&self) -> Result<&SlackUser, ChannelError> {
        let ask = async || {
            let answer = self.post("auth.test", json!({})).await?;
            let id =
                answer["user_id"].as_str().ok_or_else(|| ChannelError::new("unreadable", "`auth.test`: there is no user in the answer"))?;
            Ok(SlackUser { id: id.to_owned() })
        };
        self.me.get_or_try_init(ask).await
    }

    async fn get(&self, method: &str, query: &[(&str, &str)]) -> Result<Json, ChannelError> {
        taken(method, self.api.get(method, query).await?)
    }

    async fn post(&self, method: &str, body: Json) -> Result<Json, ChannelError> {
        taken(method, self.api.ask("POST", method, Some(body), PATIENCE).await?)
    }
}

/// The answer of a method that went well.
fn taken(method: &str, answer: ApiAnswer) -> Result<Json, ChannelError> {
    if answer.status == 200 && answer.body["ok"] == true {
        return Ok(answer.body);
    }
    let named = answer.body["error"].as_str().filter(|name| !name.is_empty()).map(str::to_owned);
    let code = named.unwrap_or_else(|| format!("http-{}", answer.status));
    let mut why = format!("`{code}`");
    for (key, word) in [("needed", "it needs"), ("provided", "it has")] {
        if let Some(scopes) = answer.body[key].as_str() {
            fmt::Write::write_fmt(&mut why, format_args!(", {word} {scopes}")).unwrap_or_default();
        }
    }
    let is_final = FINAL.contains(&&*code) || matches!(answer.status, 400 | 401 | 403 | 404);
    Err(answer.error(method, &code, &why, is_final))
}

#[async_trait]
impl Channel for Slack {
    fn name(&self) -> &str {
        Provider::Slack.as_str()
    }

    fn grouping(&self) -> Duration {
        GROUPING
    }

    async fn read(&self, cursor: Option<&str>) -> Result<Batch, ChannelError> {
        let me = self.me().await?;
        let batch = self.round(cursor, me).await?;
        if batch.messages.is_empty() {
            tokio::time::sleep(self.settings.poll).await;
        }
        Ok(batch)
    }

    async fn send(&self, message: &Outgoing, rendering: Rendering) -> Result<String, ChannelError> {
        self.pace.permit(ALL)?;
        let (text, is_marked) = match rendering {
            Rendering::Markdown => (markup::mrkdwn(&message.text), true),
            Rendering::Plain => (markup::escaped(&message.text), false),
        };
        let mut body = json!({ "channel": message.place.chat, "text": text, "mrkdwn": is_marked, "unfurl_links": false });
        if let Some(thread) = &message.place.thread {
            body["thread_ts"] = json!(thread);
        }
        let sent = self.post("chat.postMessage", body).await.inspect_err(|error| {
            if let Some(after) = error.after {
                self.pace.hold(ALL, after);
            }
        })?;
        Ok(sent["ts"].as_str().unwrap_or_default().to_owned())
    }

    async fn react(&self, place: &ChatPlace, message: &str) -> Result<(), ChannelError> {
        self.pace.permit(ALL)?;
        let body = json!({ "channel": place.chat, "timestamp": message, "name": "eyes" });
        match self.post("reactions.add", body).await {
            Err(error) if error.code != "already_reacted" => Err(error),
            _ => Ok(()),
        }
    }
}

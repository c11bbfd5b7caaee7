//! Slack: `conversations.history` and `conversations.replies` since the last read, `chat.postMessage`.

mod reactions;
mod read;
mod text;

use std::{
    collections::BTreeMap,
    fmt,
    sync::{
        Mutex,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use serde_json::{Value as Json, json};
use tokio::sync::OnceCell;

use super::{
    GROUPING, Opened,
    api::{ANSWER_TIMEOUT, Api, ApiAnswer},
    download::Downloads,
    hearing::Hearing,
    markup,
    multipart::Content,
    pace::{ALL, Pace},
    watched::Watched,
};
use crate::{
    channel::{Batch, Capabilities, Channel, ChannelError, InboxFile, Rendering},
    config::{Provider, RemoteSettings},
    message::{Attachment, ChatPlace, Outgoing},
};

/// The shortest time between two requests, on average.
const REQUEST_INTERVAL: Duration = Duration::from_millis(1250);

/// Permanent errors.
const FINAL: [&str; 23] = [
    "account_inactive",
    "access_denied",
    "as_user_not_supported",
    "cannot_reply_to_message",
    "channel_not_found",
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

/// The hosts of files that people send, and of files that are uploaded.
const SLACK_FILE_HOSTS: &[&str] = &["files.slack.com"];

/// The channel of an app of Slack.
#[derive(Debug)]
pub(super) struct Slack {
    settings: RemoteSettings,
    hearing: Hearing,
    api: Api,
    pace: Pace,
    downloads: Downloads,
    me: OnceCell<SlackUser>,
    /// Requests of the current look.
    requests: AtomicU32,
    watched: Watched,
    /// The users that are known to be bots, or not to be.
    bots: Mutex<BTreeMap<String, bool>>,
}

/// The user that the app is.
#[derive(Clone, Debug)]
struct SlackUser {
    id: String,
}

impl SlackUser {
    /// The words that call the user.
    fn mention(&self) -> String {
        format!("<@{}>", self.id)
    }
}

impl Slack {
    pub(super) fn new(Opened { settings, token, hearing, .. }: Opened) -> Self {
        let authorization = Some(format!("Bearer {}", token.as_str()));
        let downloads = Downloads::new(&settings.base_url, SLACK_FILE_HOSTS, authorization.clone());
        let api = Api::new(settings.base_url.clone(), authorization);
        let (pace, me, watched, bots) = (Pace::default(), OnceCell::new(), Watched::default(), Mutex::default());
        Self { settings, hearing, api, pace, downloads, me, requests: AtomicU32::new(0), watched, bots }
    }

    /// Checks, before anything is read, the token and the access to the chats.
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
        self.requests.fetch_add(1, Ordering::Relaxed);
        accept(method, self.api.get(method, query).await?)
    }

    async fn post(&self, method: &str, body: Json) -> Result<Json, ChannelError> {
        accept(method, self.api.ask("POST", method, Some(body), ANSWER_TIMEOUT).await?)
    }

    /// Shares a text as a file: asks for an address, uploads the file there, and shares it in its chat.
    async fn share(&self, message: &Outgoing, name: &str) -> Result<String, ChannelError> {
        let length = message.text.len().to_string();
        let place = self.get("files.getUploadURLExternal", &[("filename", name), ("length", &length)]).await?;
        let (Some(id), Some(url)) = (place["file_id"].as_str(), place["upload_url"].as_str()) else {
            return Err(ChannelError::new("unreadable", "`files.getUploadURLExternal`: there is no place in the answer"));
        };
        let bytes = message.text.clone().into_bytes();
        self.downloads.put(url, Content { kind: "application/octet-stream".to_owned(), bytes }).await?;
        let mut body = json!({ "files": [{ "id": id, "title": name }], "channel_id": message.place.chat });
        if let Some(thread) = &message.place.thread {
            body["thread_ts"] = json!(thread);
        }
        self.post("files.completeUploadExternal", body).await.map(|_| String::new())
    }
}

/// The time between two looks: the more requests a look takes, the longer, since an app may ask about fifty times in a minute.
fn pause(poll: Duration, requests: u32, is_empty: bool) -> Duration {
    let paced = poll.min(REQUEST_INTERVAL) * requests;
    if is_empty { paced.max(poll) } else { paced }
}

/// The body of a successful answer.
fn accept(method: &str, answer: ApiAnswer) -> Result<Json, ChannelError> {
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

    fn capabilities(&self) -> Capabilities {
        Capabilities { has_files: true, has_reactions: true, shows_typing: false }
    }

    fn watch(&self, messages: Vec<(ChatPlace, String)>) {
        self.watched.set(messages);
    }

    fn parse_agent_mentions(&self, text: &str) -> Vec<String> {
        let mention = self.me.get().map(SlackUser::mention).unwrap_or_default();
        self.hearing.names(text, &[&mention])
    }

    async fn fetch(&self, file: &Attachment, into: InboxFile) -> Result<Attachment, ChannelError> {
        self.downloads.fetch(&file.source, file, into).await
    }

    async fn read(&self, cursor: Option<&str>) -> Result<Batch, ChannelError> {
        let me = self.me().await?;
        let batch = self.round(cursor, me).await?;
        let requests = self.requests.swap(0, Ordering::Relaxed);
        tokio::time::sleep(pause(self.settings.poll, requests, batch.messages.is_empty())).await;
        Ok(batch)
    }

    async fn send(&self, message: &Outgoing, rendering: Rendering) -> Result<String, ChannelError> {
        self.pace.permit(ALL)?;
        let holds = |error: &ChannelError| {
            if let Some(after) = error.after {
                self.pace.hold(ALL, after);
            }
        };
        if let Some(name) = &message.file {
            return self.share(message, name).await.inspect_err(holds);
        }
        let (text, is_marked) = match rendering {
            Rendering::Markdown => (markup::mrkdwn(&message.text), true),
            Rendering::Plain => (markup::escape(&message.text), false),
        };
        let mut body = json!({ "channel": message.place.chat, "text": text, "mrkdwn": is_marked, "unfurl_links": false });
        if let Some(thread) = &message.place.thread {
            body["thread_ts"] = json!(thread);
        }
        let sent = self.post("chat.postMessage", body).await.inspect_err(holds)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    // orchestrator 4.1: many chats are asked no more often in a minute than one app may
    #[test]
    fn many_chats_are_asked_in_turn() {
        let second = Duration::from_secs(1);
        for (chats, least) in [(1, 2), (3, 3), (10, 12)] {
            let pause = pause(2 * second, chats, true);
            assert!(pause >= least * second && pause.as_secs_f64() * 48.0 >= f64::from(chats) * 60.0 - 1.0, "{chats}: {pause:?}");
        }
        assert_eq!(pause(Duration::from_millis(10), 3, true), Duration::from_millis(30));
        assert_eq!(pause(2 * second, 1, false), REQUEST_INTERVAL);
        assert_eq!(pause(60 * second, 3, true), 60 * second);
    }
}

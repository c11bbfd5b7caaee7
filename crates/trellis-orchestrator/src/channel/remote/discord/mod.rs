//! Discord: `GET /channels/{id}/messages?after=`, `POST /channels/{id}/messages`.

mod reactions;
mod types;

use std::{collections::BTreeMap, time::Duration};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use tokio::sync::{Mutex, OnceCell};

use self::types::{DiscordFile, DiscordMessage};
use super::{
    GROUPING, Opened,
    api::{ANSWER_TIMEOUT, Api, ApiAnswer, seconds},
    download::Downloads,
    hearing::Hearing,
    multipart::{Content, multipart},
    pace::{ALL, Pace},
    watched::Watched,
};
use crate::{
    channel::{Batch, Capabilities, Channel, ChannelError, InboxFile, Reach, Rendering},
    config::{Provider, Reactions, RemoteSettings},
    message::{Attachment, ChatPlace, Incoming, Outgoing},
    seal::sha256,
};

/// Codes of permanent errors, and their names.
const FINAL: [(i64, &str); 12] = [
    (10003, "channel_not_found"),
    (10004, "channel_not_found"),
    (10008, "message_not_found"),
    (20028, "slow_mode"),
    (40001, "invalid_auth"),
    (50001, "not_in_channel"),
    (50006, "no_text"),
    (50007, "blocked"),
    (50008, "forbidden"),
    (50013, "forbidden"),
    (50035, "msg_too_long"),
    (160_005, "thread_locked"),
];

/// Types of messages that people write: default and reply.
const WRITTEN: [i64; 2] = [0, 19];
/// The kind of a chat with one person.
const DIRECT: i64 = 1;
/// Flags of an application that gets the texts of messages.
const MESSAGE_CONTENT: i64 = 1 << 18 | 1 << 19;
/// The moment from which the provider counts, in milliseconds since 1970.
const EPOCH: u64 = 1_420_070_400_000;

/// The hosts of files that people send.
const DISCORD_FILE_HOSTS: &[&str] = &["cdn.discordapp.com", "media.discordapp.net"];

/// The channel of a bot of Discord.
#[derive(Debug)]
pub(super) struct Discord {
    settings: RemoteSettings,
    hearing: Hearing,
    api: Api,
    pace: Pace,
    downloads: Downloads,
    me: OnceCell<String>,
    watched: Watched,
    reactions: Reactions,
    /// The chats that are known to be direct, or not to be.
    kinds: Mutex<BTreeMap<String, bool>>,
}

/// The newest message of each chat that was read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct DiscordCursor(BTreeMap<String, u64>);

impl Discord {
    pub(super) fn new(Opened { settings, token, hearing, reactions }: Opened) -> Self {
        let api = Api::new(settings.base_url.clone(), Some(format!("Bot {}", token.as_str())));
        // Addresses of files are signed: their host needs no token.
        let downloads = Downloads::new(&settings.base_url, DISCORD_FILE_HOSTS, None);
        let (pace, me, watched, kinds) = (Pace::default(), OnceCell::new(), Watched::default(), Mutex::default());
        Self { settings, hearing, api, pace, downloads, me, watched, reactions, kinds }
    }

    /// Checks, before anything is read, the token, the intent without which texts are empty, and the access to the chats.
    pub(super) async fn check(&self) -> Vec<String> {
        if let Err(error) = self.me().await {
            return vec![error.to_string()];
        }
        let mut found = Vec::new();
        match self.get("applications/@me", &[]).await {
            Ok(app) if app["flags"].as_i64().is_some_and(|flags| flags & MESSAGE_CONTENT == 0) => {
                found.push("the bot has no message content intent, so texts are empty: switch it on in the developer portal".to_owned());
            }
            Ok(_) => {}
            Err(error) => found.push(error.to_string()),
        }
        for chat in &self.settings.read {
            if let Err(error) = self.get(&format!("channels/{chat}/messages"), &[("limit", "1")]).await {
                found.push(format!("chat `{chat}`: {error}"));
            }
        }
        found
    }

    async fn me(&self) -> Result<&String, ChannelError> {
        let ask = async || {
            let user = self.get("users/@me", &[]).await?;
            user["id"]
                .as_str()
                .map(str::to_owned)
                .ok_or_else(|| ChannelError::new("unreadable", "`users/@me`: there is no user in the answer"))
        };
        self.me.get_or_try_init(ask).await
    }

    async fn get(&self, path: &str, query: &[(&str, &str)]) -> Result<Json, ChannelError> {
        accept(path, self.api.get(path, query).await?)
    }

    /// Does something in a chat, at the pace that its bucket allows.
    async fn act(&self, method: &str, path: &str, chat: &str, body: Option<Content>) -> Result<Json, ChannelError> {
        self.pace.permit(chat)?;
        let answer = self.api.ask_with(method, path, body, ANSWER_TIMEOUT).await?;
        if let Some(empty) = answer.empty {
            self.pace.hold(chat, empty);
        }
        let is_global = answer.body["global"] == true;
        accept(path, answer).inspect_err(|error| {
            if let Some(after) = error.after {
                self.pace.hold(if is_global { ALL } else { chat }, after);
            }
        })
    }

    /// Asks, and waits as long as the provider wants.
    async fn get_in_time(&self, path: &str, query: &[(&str, &str)]) -> Result<Json, ChannelError> {
        loop {
            match self.get(path, query).await {
                Err(ChannelError { after: Some(after), .. }) => tokio::time::sleep(after).await,
                answer => return answer,
            }
        }
    }

    async fn is_direct(&self, chat: &str) -> Result<bool, ChannelError> {
        let mut kinds = self.kinds.lock().await;
        if let Some(known) = kinds.get(chat) {
            return Ok(*known);
        }
        let is_direct = self.get_in_time(&format!("channels/{chat}"), &[]).await?["type"].as_i64() == Some(DIRECT);
        kinds.insert(chat.to_owned(), is_direct);
        Ok(is_direct)
    }

    /// The messages of a chat after one, oldest first; without one the newest, which is not for the agent.
    async fn messages_after(&self, chat: &str, seen: Option<u64>) -> Result<Vec<DiscordMessage>, ChannelError> {
        let (path, mut messages, mut after) = (format!("channels/{chat}/messages"), Vec::new(), seen.unwrap_or_default());
        let limit = if seen.is_some() { self.settings.rows } else { 1 };
        loop {
            let (from, limit_text) = (after.to_string(), limit.to_string());
            let mut query = vec![("limit", &*limit_text)];
            if seen.is_some() {
                query.push(("after", &from));
            }
            let Json::Array(page) = self.get_in_time(&path, &query).await? else {
                return Err(ChannelError::new("unreadable", format!("`{path}`: there is no list of messages")));
            };
            let newest = page.iter().filter_map(|message| snowflake(message["id"].as_str()?)).max();
            let is_last = page.len() < limit || seen.is_none() || newest.is_none_or(|newest| newest <= after);
            after = newest.unwrap_or(after).max(after);
            messages.extend(page.into_iter().filter_map(|message| serde_json::from_value::<DiscordMessage>(message).ok()));
            if is_last {
                break;
            }
        }
        messages.sort_by_key(|message| snowflake(&message.id));
        Ok(messages)
    }

    fn heard(&self, message: DiscordMessage, chat: &str, me: &str, is_direct: bool) -> Option<Incoming> {
        let DiscordMessage { id, r#type, content, author, webhook_id, referenced_message, attachments } = message;
        let is_somebody = !author.bot && author.id != *me && webhook_id.is_none() && WRITTEN.contains(&r#type);
        if !is_somebody || !self.hearing.allows(chat, &author.id) {
            return None;
        }
        let is_reply = referenced_message.is_some_and(|message| message.author.id == *me);
        let mentions = mentions(me);
        let text = self.hearing.text_for_agent(&content, &[&mentions[0], &mentions[1]], is_direct || is_reply)?;
        let sender_name = author.global_name.filter(|name| !name.is_empty()).unwrap_or(author.username);
        let at = (snowflake(&id)? >> 22) + EPOCH;
        let files: Vec<Attachment> = attachments.into_iter().map(DiscordFile::attachment).collect();
        (!text.is_empty() || !files.is_empty()).then(|| Incoming {
            place: ChatPlace::new(Provider::Discord.as_str(), chat),
            id,
            sender: author.id,
            sender_name,
            text,
            at,
            files,
        })
    }
}

/// The words that call a user.
fn mentions(user: &str) -> [String; 2] {
    [format!("<@{user}>"), format!("<@!{user}>")]
}

/// The body of a successful answer.
fn accept(path: &str, mut answer: ApiAnswer) -> Result<Json, ChannelError> {
    if (200..300).contains(&answer.status) {
        return Ok(answer.body);
    }
    if answer.status == 429 {
        answer.after = answer.body["retry_after"].as_f64().and_then(seconds).or(answer.after);
    }
    let known = answer.body["code"].as_i64().and_then(|code| FINAL.iter().find(|(known, _)| *known == code)).map(|(_, name)| *name);
    let known = known.or_else(|| (answer.status == 401).then_some("invalid_auth"));
    let code = known.map_or_else(|| format!("http-{}", answer.status), str::to_owned);
    let why = answer.body["message"].as_str().map_or_else(|| format!("the status is {}", answer.status), str::to_owned);
    let is_final = matches!(answer.status, 400 | 401 | 403 | 404);
    // The provider knows a message by its nonce, so repeated sending has no effect.
    Err(answer.error(path, &code, &why, is_final).reaching(Reach::Refused))
}

/// The number of an id.
fn snowflake(id: &str) -> Option<u64> {
    id.parse().ok()
}

#[async_trait]
impl Channel for Discord {
    fn name(&self) -> &str {
        Provider::Discord.as_str()
    }

    fn grouping(&self) -> Duration {
        GROUPING
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { has_files: true, has_reactions: true, shows_typing: true }
    }

    fn watch(&self, messages: Vec<(ChatPlace, String)>) {
        self.watched.set(messages);
    }

    fn parse_agent_mentions(&self, text: &str) -> Vec<String> {
        let mentions = self.me.get().map(|me| mentions(me)).unwrap_or_default();
        self.hearing.names(text, &[&mentions[0], &mentions[1]])
    }

    async fn fetch(&self, file: &Attachment, into: InboxFile) -> Result<Attachment, ChannelError> {
        self.downloads.fetch(&file.source, file, into).await
    }

    async fn read(&self, cursor: Option<&str>) -> Result<Batch, ChannelError> {
        let me = self.me().await?;
        let before: DiscordCursor = cursor.and_then(|cursor| serde_json::from_str(cursor).ok()).unwrap_or_default();
        let (mut next, mut batch, mut failed) = (before.clone(), Batch::default(), 0);
        for chat in &self.settings.read {
            let seen = before.0.get(chat).copied();
            let read = async { Ok((self.is_direct(chat).await?, self.messages_after(chat, seen).await?)) };
            match read.await {
                Ok((is_direct, messages)) => {
                    let newest = messages.iter().filter_map(|message| snowflake(&message.id)).max();
                    next.0.insert(chat.clone(), newest.or(seen).unwrap_or_default());
                    let heard = messages.into_iter().filter(|_| seen.is_some());
                    batch.messages.extend(heard.filter_map(|message| self.heard(message, chat, me, is_direct)));
                }
                Err(error) => {
                    let error: ChannelError = error;
                    failed += 1;
                    batch.troubles.push(ChannelError { message: format!("chat `{chat}`: {}", error.message), ..error });
                }
            }
        }
        if failed > 0 && failed == self.settings.read.len() {
            return Err(batch.troubles.remove(0));
        }
        self.reactions(me, &mut batch).await;
        batch.messages.sort_by_key(|message| snowflake(&message.id));
        batch.cursor = (next != before).then(|| serde_json::to_string(&next).ok()).flatten();
        if batch.messages.is_empty() {
            tokio::time::sleep(self.settings.poll).await;
        }
        Ok(batch)
    }

    async fn send(&self, message: &Outgoing, _: Rendering) -> Result<String, ChannelError> {
        let chat = &message.place.chat;
        let mut body = json!({
            "content": message.text,
            "nonce": &sha256(&message.key)[..25],
            "enforce_nonce": true,
            "allowed_mentions": { "parse": [] },
        });
        let path = format!("channels/{chat}/messages");
        let content = match &message.file {
            Some(name) => {
                body["content"] = json!("");
                multipart(&[("payload_json", &body.to_string())], ("files[0]", name, &message.text))
            }
            None => Content::json(&body),
        };
        let sent = self.act("POST", &path, chat, Some(content)).await;
        // The provider knows a repeated message by its nonce.
        let sent = sent.map_err(|error| if error.reach == Reach::Unknown { error.reaching(Reach::Refused) } else { error })?;
        Ok(sent["id"].as_str().unwrap_or_default().to_owned())
    }

    async fn react(&self, place: &ChatPlace, message: &str) -> Result<(), ChannelError> {
        let path = format!("channels/{}/messages/{message}/reactions/%F0%9F%91%80/@me", place.chat);
        self.act("PUT", &path, &format!("{}:reactions", place.chat), None).await.map(drop)
    }

    async fn set_typing(&self, place: &ChatPlace) -> Result<(), ChannelError> {
        self.act("POST", &format!("channels/{}/typing", place.chat), &format!("{}:typing", place.chat), None).await.map(drop)
    }
}

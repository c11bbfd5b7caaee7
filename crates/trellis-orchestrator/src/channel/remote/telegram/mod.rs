//! Telegram: `getUpdates` as a long poll, `sendMessage`, `sendDocument`.

mod types;

use std::{
    fmt,
    time::{Duration, Instant},
};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use tokio::sync::OnceCell;

use self::types::{Message, MessageReaction, Update};
use super::{
    GROUPING, Opened,
    api::{ANSWER_TIMEOUT, Api, ApiAnswer, seconds},
    download::Downloads,
    hearing::{ActiveThreads, Hearing},
    markup,
    multipart::multipart,
    pace::{ALL, Pace},
};
use crate::{
    channel::{Batch, Capabilities, Channel, ChannelError, InboxFile, Reaction, Rendering},
    config::{Provider, RemoteSettings},
    message::{Attachment, ChatPlace, Incoming, Outgoing, now},
};

/// Seconds for which the provider holds a poll without news.
const LONG_POLL: u64 = 25;

/// The hosts of files that people send.
const TELEGRAM_FILE_HOSTS: &[&str] = &["api.telegram.org"];

/// Words of permanent errors, and their codes.
const FINAL: [(&str, &str); 14] = [
    ("unauthorized", "invalid_auth"),
    ("webhook is active", "webhook_set"),
    ("bot was blocked", "blocked"),
    ("user is deactivated", "blocked"),
    ("bot was kicked", "not_in_channel"),
    ("bot is not a member", "not_in_channel"),
    ("not enough rights", "forbidden"),
    ("have no rights", "forbidden"),
    ("chat not found", "channel_not_found"),
    ("group chat was upgraded", "channel_moved"),
    ("thread not found", "channel_not_found"),
    ("message is too long", "msg_too_long"),
    ("message text is empty", "no_text"),
    ("can't parse entities", "bad_markup"),
];

/// The channel of a bot of Telegram.
#[derive(Debug)]
pub(super) struct Telegram {
    settings: RemoteSettings,
    hearing: Hearing,
    api: Api,
    pace: Pace,
    downloads: Downloads,
    /// The address before the paths of files, which holds the token.
    files: FileAddress,
    me: OnceCell<Bot>,
}

struct FileAddress(String);

impl fmt::Debug for FileAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FileAddress")
    }
}

#[derive(Clone, Debug, Deserialize)]
struct Bot {
    id: i64,
    username: String,
}

impl Bot {
    /// The words that call the bot.
    fn mention(&self) -> String {
        format!("@{}", self.username)
    }
}

/// The position at which the next poll begins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Cursor {
    offset: i64,
    /// The topics that address the agent.
    #[serde(default)]
    threads: ActiveThreads,
}

impl Telegram {
    pub(super) fn new(Opened { settings, token, hearing, .. }: Opened) -> Self {
        let api = Api::new(format!("{}/bot{}", settings.base_url, token.as_str()), None);
        let downloads = Downloads::new(&settings.base_url, TELEGRAM_FILE_HOSTS, None);
        let files = FileAddress(format!("{}/file/bot{}", settings.base_url, token.as_str()));
        Self { settings, hearing, api, pace: Pace::default(), downloads, files, me: OnceCell::new() }
    }

    /// Checks, before anything is read, the token, and that no webhook takes the messages.
    pub(super) async fn check(&self) -> Vec<String> {
        let mut found: Vec<String> = self.me().await.err().map(|error| error.to_string()).into_iter().collect();
        if found.is_empty() {
            match self.call("getWebhookInfo", json!({}), ANSWER_TIMEOUT).await {
                Ok(info) if info["url"].as_str().is_some_and(|url| !url.is_empty()) => found.push(webhook()),
                Ok(_) => {}
                Err(error) => found.push(error.to_string()),
            }
        }
        found
    }

    async fn me(&self) -> Result<&Bot, ChannelError> {
        let ask = async || {
            let bot = self.call("getMe", json!({}), ANSWER_TIMEOUT).await?;
            serde_json::from_value(bot).map_err(|_| ChannelError::new("unreadable", "`getMe`: there is no bot in the answer"))
        };
        self.me.get_or_try_init(ask).await
    }

    async fn call(&self, method: &str, body: Json, patience: Duration) -> Result<Json, ChannelError> {
        accept(method, self.api.ask("POST", method, Some(body), patience).await?)
    }

    /// Shares a text as a file.
    async fn share(&self, message: &Outgoing, name: &str) -> Result<Json, ChannelError> {
        let topic = addressed_to(&message.place)["message_thread_id"].as_i64().map(|topic| topic.to_string());
        let mut fields = vec![("chat_id", &*message.place.chat)];
        fields.extend(topic.as_deref().map(|topic| ("message_thread_id", topic)));
        let body = multipart(&fields, ("document", name, &message.text));
        accept("sendDocument", self.api.ask_with("POST", "sendDocument", Some(body), ANSWER_TIMEOUT).await?)
    }

    /// Returns the new reactions to a message. A reaction that was taken back has no effect.
    fn reactions(&self, reacted: MessageReaction, me: &Bot) -> Vec<Reaction> {
        let MessageReaction { chat, message_id, user, old_reaction, new_reaction } = reacted;
        let (chat, Some(user)) = (chat.id.to_string(), user.filter(|user| !user.is_bot && user.id != me.id)) else { return Vec::new() };
        let sender = user.id.to_string();
        if !self.hearing.allows(&chat, &sender) {
            return Vec::new();
        }
        let place = ChatPlace::new(Provider::Telegram.as_str(), &chat);
        let named = new_reaction.into_iter().filter(|new| !old_reaction.contains(new)).filter_map(|new| new.emoji);
        named.map(|name| Reaction { place: place.clone(), message: message_id.to_string(), sender: sender.clone(), name }).collect()
    }

    /// Returns the message of an update, if it is for the agent.
    fn heard(&self, mut message: Message, me: &Bot, threads: &mut ActiveThreads) -> Option<Incoming> {
        let files = message.take_files();
        let from = message.from.as_ref().filter(|from| !from.is_bot && from.id != me.id)?;
        let (chat, user) = (message.chat.id.to_string(), from.id.to_string());
        if !self.hearing.allows(&chat, &user) {
            return None;
        }
        let text = message.text.as_deref().or(message.caption.as_deref()).or((!files.is_empty()).then_some(""))?;
        let topic = message.message_thread_id.filter(|_| message.is_topic_message).map(|topic| topic.to_string());
        let thread = topic.as_ref().map(|topic| format!("{chat}:{topic}"));
        let is_reply = message.reply_to_message.as_ref().and_then(|reply| reply.from.as_ref()).is_some_and(|from| from.id == me.id);
        let is_direct = message.chat.r#type == "private" || is_reply || thread.as_ref().is_some_and(|thread| threads.has(thread));
        let mention = me.mention();
        let text = match named_bot(text) {
            Some(bot) if bot.eq_ignore_ascii_case(&me.username) => text.trim().to_owned(),
            Some(_) => return None,
            None => self.hearing.text_for_agent(text, &[&mention], is_direct)?,
        };
        if let Some(thread) = thread {
            threads.note(&thread, &message.message_id.to_string(), now());
        }
        let last = from.last_name.iter().map(|name| format!(" {name}"));
        Some(Incoming {
            place: ChatPlace { provider: Provider::Telegram.as_str().to_owned(), chat, thread: topic },
            id: message.message_id.to_string(),
            sender_name: last.fold(from.first_name.clone(), |name, last| name + &last),
            sender: user,
            text,
            at: message.date.saturating_mul(1000),
            files,
        })
    }
}

/// The result of a successful method.
fn accept(method: &str, mut answer: ApiAnswer) -> Result<Json, ChannelError> {
    if answer.status == 200 && answer.body["ok"] == true {
        return Ok(answer.body["result"].take());
    }
    answer.after = answer.body["parameters"]["retry_after"].as_f64().and_then(seconds).or(answer.after);
    let why = answer.body["description"].as_str().unwrap_or_default();
    let lower = why.to_lowercase();
    let known = FINAL.iter().find(|(words, _)| lower.contains(words)).map(|(_, code)| *code);
    let code = known.map_or_else(|| format!("http-{}", answer.status), str::to_owned);
    let is_final = known.is_some() || matches!(answer.status, 400 | 401 | 403 | 404);
    let why = match known {
        Some("webhook_set") => webhook(),
        _ if answer.status == 409 => "another program reads the same bot".to_owned(),
        _ if why.is_empty() => format!("the status is {}", answer.status),
        _ => why.to_owned(),
    };
    Err(answer.error(method, &code, &why, is_final))
}

/// The bot that a command names: `/x@bot`.
fn named_bot(text: &str) -> Option<&str> {
    let word = text.split_whitespace().next().filter(|word| word.starts_with('/'))?;
    word.split_once('@').map(|(_, bot)| bot)
}

fn webhook() -> String {
    "a webhook is set for this bot, so it cannot be read: remove it with `deleteWebhook`".to_owned()
}

/// A chat and topic in a body.
fn addressed_to(place: &ChatPlace) -> Json {
    let mut body = json!({ "chat_id": place.chat.parse::<i64>().map_or_else(|_| json!(place.chat), |id| json!(id)) });
    if let Some(topic) = place.thread.as_ref().and_then(|topic| topic.parse::<i64>().ok()) {
        body["message_thread_id"] = json!(topic);
    }
    body
}

#[async_trait]
impl Channel for Telegram {
    fn name(&self) -> &str {
        Provider::Telegram.as_str()
    }

    fn grouping(&self) -> Duration {
        GROUPING
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { has_files: true, has_reactions: true, shows_typing: true }
    }

    fn parse_agent_mentions(&self, text: &str) -> Vec<String> {
        let mention = self.me.get().map(Bot::mention).unwrap_or_default();
        self.hearing.names(text, &[&mention])
    }

    async fn fetch(&self, file: &Attachment, into: InboxFile) -> Result<Attachment, ChannelError> {
        let found = self.call("getFile", json!({ "file_id": file.source }), ANSWER_TIMEOUT).await?;
        let path = found["file_path"].as_str().unwrap_or_default();
        let is_path = |part: &str| !part.is_empty() && part != "." && part != "..";
        if !path.split('/').all(is_path) || path.contains(['?', '#', '\\', ':', '%']) {
            return Err(ChannelError::new("unreadable", "`getFile`: there is no path in the answer").finally());
        }
        self.downloads.fetch(&format!("{}/{path}", self.files.0), file, into).await
    }

    async fn read(&self, cursor: Option<&str>) -> Result<Batch, ChannelError> {
        let me = self.me().await?;
        let mut cursor: Cursor = cursor.and_then(|cursor| serde_json::from_str(cursor).ok()).unwrap_or_default();
        let began = Instant::now();
        let body = json!({
            "offset": cursor.offset,
            "limit": self.settings.rows,
            "timeout": LONG_POLL,
            "allowed_updates": ["message", "edited_message", "message_reaction"],
        });
        let updates = self.call("getUpdates", body, ANSWER_TIMEOUT + Duration::from_secs(LONG_POLL)).await?;
        let Json::Array(updates) = updates else {
            return Err(ChannelError::new("unreadable", "`getUpdates`: there is no list of updates"));
        };
        if updates.is_empty() {
            // A proxy that does not hold the poll is not asked without end.
            if began.elapsed() < Duration::from_secs(1) {
                tokio::time::sleep(self.settings.poll).await;
            }
            return Ok(Batch::default());
        }
        let mut batch = Batch::default();
        for update in updates {
            // Unknown kinds of updates are skipped.
            let id = update["update_id"].as_i64();
            if let Ok(Update { message, edited_message, message_reaction }) = serde_json::from_value::<Update>(update) {
                batch.reactions.extend(message_reaction.into_iter().flat_map(|reacted| self.reactions(reacted, me)));
                batch.messages.extend(message.and_then(|message| self.heard(message, me, &mut cursor.threads)));
                batch.edits.extend(edited_message.and_then(|message| self.heard(message, me, &mut cursor.threads)));
            }
            cursor.offset = id.map_or(cursor.offset, |id| cursor.offset.max(id + 1));
        }
        cursor.threads.forget(now());
        batch.cursor = serde_json::to_string(&cursor).ok();
        Ok(batch)
    }

    async fn send(&self, message: &Outgoing, rendering: Rendering) -> Result<String, ChannelError> {
        self.pace.permit(&message.place.chat)?;
        let holds = |error: &ChannelError| {
            if let Some(after) = error.after {
                self.pace.hold(ALL, after);
            }
        };
        let receipt = |sent: Json| sent["message_id"].as_i64().map(|id| id.to_string()).unwrap_or_default();
        if let Some(name) = &message.file {
            return self.share(message, name).await.inspect_err(holds).map(receipt);
        }
        let mut body = addressed_to(&message.place);
        body["link_preview_options"] = json!({ "is_disabled": true });
        match rendering {
            Rendering::Markdown => {
                body["text"] = json!(markup::html(&message.text));
                body["parse_mode"] = json!("HTML");
            }
            Rendering::Plain => body["text"] = json!(message.text),
        }
        self.call("sendMessage", body, ANSWER_TIMEOUT).await.inspect_err(holds).map(receipt)
    }

    async fn react(&self, place: &ChatPlace, message: &str) -> Result<(), ChannelError> {
        self.pace.permit(&place.chat)?;
        let body = json!({
            "chat_id": addressed_to(place)["chat_id"],
            "message_id": message.parse::<i64>().unwrap_or_default(),
            "reaction": [{ "type": "emoji", "emoji": "👀" }],
        });
        self.call("setMessageReaction", body, ANSWER_TIMEOUT).await.map(drop)
    }

    async fn set_typing(&self, place: &ChatPlace) -> Result<(), ChannelError> {
        self.pace.permit(&place.chat)?;
        let mut body = addressed_to(place);
        body["action"] = json!("typing");
        self.call("sendChatAction", body, ANSWER_TIMEOUT).await.map(drop)
    }
}

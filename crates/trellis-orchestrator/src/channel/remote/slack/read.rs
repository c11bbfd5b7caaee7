//! One poll of all chats and threads.
//!
//! **Invariant:** the cursor of a chat is the newest message that was read; a chat that cannot be read keeps its cursor.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::{Slack, SlackUser, text::plain};
use crate::{
    channel::{Batch, ChannelError, remote::hearing::ActiveThreads},
    config::Provider,
    message::{Attachment, ChatPlace, Incoming, now},
};

/// The position at which the next poll begins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct SlackCursor {
    /// The newest message of each chat that was read.
    chats: BTreeMap<String, String>,
    /// The threads that address the agent, as `chat:ts`.
    #[serde(default)]
    threads: ActiveThreads,
}

#[derive(Debug, Deserialize)]
struct SlackMessage {
    ts: String,
    thread_ts: Option<String>,
    user: Option<String>,
    bot_id: Option<String>,
    subtype: Option<String>,
    #[serde(default)]
    text: String,
    user_profile: Option<SlackProfile>,
    #[serde(default)]
    files: Vec<SlackFile>,
}

#[derive(Debug, Deserialize)]
struct SlackFile {
    name: Option<String>,
    title: Option<String>,
    mimetype: Option<String>,
    size: Option<u64>,
    #[serde(default)]
    mode: String,
    #[serde(default)]
    file_access: String,
    url_private_download: Option<String>,
    url_private: Option<String>,
}

impl SlackFile {
    fn attachment(self) -> Attachment {
        let lacking = match (&*self.mode, &*self.file_access) {
            ("external" | "tombstone" | "hidden_by_limit", _) => Some(format!("Slack does not keep it (`{}`)", self.mode)),
            (_, "check_file_info" | "access_denied") => Some("Slack does not let this app see it".to_owned()),
            _ => None,
        };
        let name = self.name.or(self.title).unwrap_or_else(|| "file".to_owned());
        let source = self.url_private_download.or(self.url_private);
        let trouble = lacking.or_else(|| source.is_none().then(|| "Slack names no address of it".to_owned()));
        Attachment { name, media_type: self.mimetype, size: self.size, source: source.unwrap_or_default(), path: None, trouble }
    }
}

#[derive(Debug, Deserialize)]
struct SlackProfile {
    #[serde(default)]
    display_name: String,
    #[serde(default)]
    real_name: String,
}

/// Subtypes of messages that people write; others come from the provider.
const WRITTEN: [&str; 3] = ["thread_broadcast", "file_share", "me_message"];

impl Slack {
    /// Polls once.
    pub(super) async fn round(&self, cursor: Option<&str>, me: &SlackUser) -> Result<Batch, ChannelError> {
        let before: SlackCursor = cursor.and_then(|cursor| serde_json::from_str(cursor).ok()).unwrap_or_default();
        let (mut next, mut batch, mut failed) = (before.clone(), Batch::default(), 0);
        for chat in &self.settings.read {
            let read = match before.chats.get(chat) {
                Some(seen) => self.pages("conversations.history", &[("channel", chat), ("oldest", seen)]).await,
                None => self.newest(chat).await.map(|seen| {
                    next.chats.insert(chat.clone(), seen);
                    Vec::new()
                }),
            };
            match read {
                Ok(messages) => {
                    if let Some(newest) = messages.last() {
                        next.chats.insert(chat.clone(), newest.ts.clone());
                    }
                    batch.messages.extend(messages.into_iter().filter_map(|message| self.heard(message, chat, me, &mut next.threads)));
                }
                Err(error) => {
                    failed += 1;
                    batch.troubles.push(ChannelError { message: format!("chat `{chat}`: {}", error.message), ..error });
                }
            }
        }
        if failed > 0 && failed == self.settings.read.len() {
            return Err(batch.troubles.remove(0));
        }
        for (thread, seen) in before.threads.all() {
            let Some((chat, root)) = thread.split_once(':') else { continue };
            match self.pages("conversations.replies", &[("channel", chat), ("ts", root), ("oldest", &seen)]).await {
                // The first message of a thread comes with each page.
                Ok(messages) => {
                    for message in messages.into_iter().filter(|message| message.ts > seen) {
                        next.threads.note(&thread, &message.ts, now());
                        batch.messages.extend(self.heard(message, chat, me, &mut next.threads));
                    }
                }
                Err(error) if error.is_final => next.threads.remove(&thread),
                Err(error) => batch.troubles.push(error),
            }
        }
        next.threads.forget(now());
        self.reactions(me, &mut batch).await;
        batch.messages.sort_by(|one, other| one.id.cmp(&other.id));
        batch.cursor = (next != before).then(|| serde_json::to_string(&next).ok()).flatten();
        Ok(batch)
    }

    /// The newest message of a chat that is read for the first time: earlier messages are not for the agent.
    async fn newest(&self, chat: &str) -> Result<String, ChannelError> {
        let answer = self.get_in_time("conversations.history", &[("channel", chat), ("limit", "1")]).await?;
        Ok(answer["messages"][0]["ts"].as_str().unwrap_or("0").to_owned())
    }

    /// All pages of an answer, oldest message first.
    async fn pages(&self, method: &str, query: &[(&str, &str)]) -> Result<Vec<SlackMessage>, ChannelError> {
        let (rows, mut messages, mut page) = (self.settings.rows.to_string(), Vec::new(), String::new());
        loop {
            let mut query = query.to_vec();
            query.push(("limit", &rows));
            if !page.is_empty() {
                query.push(("cursor", &page));
            }
            let mut answer = self.get_in_time(method, &query).await?;
            let Json::Array(rows) = answer["messages"].take() else {
                return Err(ChannelError::new("unreadable", format!("`{method}`: there are no messages in the answer")));
            };
            messages.extend(rows.into_iter().filter_map(|row| serde_json::from_value::<SlackMessage>(row).ok()));
            let next = answer["response_metadata"]["next_cursor"].as_str().unwrap_or_default();
            if next.is_empty() || next == page {
                break;
            }
            page = next.to_owned();
        }
        messages.sort_by(|one, other| one.ts.cmp(&other.ts));
        Ok(messages)
    }

    /// Asks, and waits as long as the provider wants: the pages before are not asked for again.
    pub(super) async fn get_in_time(&self, method: &str, query: &[(&str, &str)]) -> Result<Json, ChannelError> {
        loop {
            match self.get(method, query).await {
                Err(ChannelError { after: Some(after), .. }) => tokio::time::sleep(after).await,
                answer => return answer,
            }
        }
    }

    /// A message as the agent gets it, if it is for the agent.
    fn heard(&self, message: SlackMessage, chat: &str, me: &SlackUser, threads: &mut ActiveThreads) -> Option<Incoming> {
        let is_written = message.subtype.as_deref().is_none_or(|subtype| WRITTEN.contains(&subtype));
        let user = message.user.filter(|user| is_written && message.bot_id.is_none() && *user != me.id)?;
        if !self.hearing.allows(chat, &user) {
            return None;
        }
        let is_direct = chat.starts_with('D');
        let root = message.thread_ts.as_deref().unwrap_or(&message.ts);
        let thread = format!("{chat}:{root}");
        let mention = me.mention();
        let text = self.hearing.text_for_agent(&plain(&message.text), &[&mention], is_direct || threads.has(&thread))?;
        let place = |thread: Option<&str>| ChatPlace {
            provider: Provider::Slack.as_str().to_owned(),
            chat: chat.to_owned(),
            thread: thread.map(str::to_owned),
        };
        // In a channel the answer is a thread under the message; in a direct chat it follows it.
        let place = if is_direct { place(message.thread_ts.as_deref()) } else { place(Some(root)) };
        // A message that is read with its chat says nothing about the replies before it.
        if place.thread.is_some() && !threads.has(&thread) {
            threads.note(&thread, &message.ts, now());
        }
        let names = message.user_profile.into_iter().flat_map(|profile| [profile.display_name, profile.real_name]);
        let sender_name = names.into_iter().find(|name| !name.is_empty()).unwrap_or_else(|| user.clone());
        let files = message.files.into_iter().map(SlackFile::attachment).collect();
        Some(Incoming { place, at: millis(&message.ts), id: message.ts, sender: user, sender_name, text, files })
    }
}

/// Milliseconds since 1970 of a moment such as `1700000000.000100`.
fn millis(ts: &str) -> u64 {
    let (seconds, micros) = ts.split_once('.').unwrap_or((ts, "0"));
    let (seconds, micros): (u64, u64) = (seconds.parse().unwrap_or_default(), micros.parse().unwrap_or_default());
    seconds.saturating_mul(1000).saturating_add(micros / 1000)
}

//! The chat of the page: its messages, and messages of people and of the agent as they come (orchestrator 4, row `web`).

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use serde::Serialize;
use serde_json::json;
use trellis_server::{
    Code, Trouble,
    extra::{News, html},
};

use super::{View, look::queue_trouble};
use crate::{
    channel::{Batch, Rendering, Web, WebPosts},
    message::{ChatPlace, Incoming, Outgoing, now},
    queue::{InboundRow, OutboxRow, RowState},
    schedule::SENDER,
    words::answer,
};

/// Bytes of a message.
const MAX_WEB_TEXT: usize = 64 << 10;
/// Characters of the name of a thread.
const MAX_THREAD_NAME: usize = 64;
/// Messages of each side that a page gets.
const SHOWN_MESSAGES: u32 = 200;
/// The keys of a message that is sent here.
pub(super) const MESSAGE_KEYS: &[&str] = &["text", "thread"];

/// A message of the chat, as the page shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChatMessage {
    /// Its name, which no other message of the chat has.
    pub id: String,
    /// The chat.
    pub chat: String,
    /// The thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
    /// Its author: `person`, `agent` or `schedule`.
    pub from: &'static str,
    /// Its time, in milliseconds since 1970.
    pub at: u64,
    /// Its text, sealed.
    pub text: String,
    /// The text as safe HTML, if the chat gets Markdown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub html: Option<String>,
    /// The call that it asks about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
}

impl View {
    /// Takes a message of a person: it is sealed, then stored; the same key is the same message, and with another text none.
    ///
    /// # Errors
    /// There is no text, it is too long, or the queue fails.
    pub(super) async fn say(&self, label: &str, text: &str, thread: Option<&str>, key: Option<&str>) -> Result<ChatMessage, Trouble> {
        let text = text.trim();
        if text.is_empty() {
            return Err(Trouble::request("/text", "`text` says nothing"));
        }
        if text.len() > MAX_WEB_TEXT {
            let detail = format!("the message has {} bytes, the limit is {MAX_WEB_TEXT}", text.len());
            return Err(Trouble::new(Code::InputTooLarge, detail).with("limit", MAX_WEB_TEXT));
        }
        let place = Web::place(label, thread_name(thread)?);
        let at = now();
        let id = key.map_or_else(|| format!("{at}-{}", MESSAGE_COUNT.fetch_add(1, Ordering::Relaxed)), |key| format!("key-{key}"));
        let (sender, sender_name) = (label.to_owned(), label.to_owned());
        let message = Incoming { place: place.clone(), id, sender, sender_name, text: text.to_owned(), at, files: Vec::new() };
        let (key, sealed) = (message.key(), self.receiver.seal_message(message.clone(), None).await.map_err(queue_trouble)?);
        let stored = self
            .receiver
            .take("web", Batch { messages: vec![message], ..Batch::default() }, Duration::ZERO)
            .await
            .map_err(queue_trouble)?;
        self.hands.wake.notify_one();
        let row = self.hands.queue.of_key(&key).await.map_err(queue_trouble)?;
        let said = row.map(|row| from_person(&row)).ok_or_else(|| Trouble::new(Code::StoreUnavailable, "the message is gone already"))?;
        let is_same = said.text == sealed.text && said.thread == place.thread;
        if stored.new == 0 && !is_same {
            return Err(Trouble::new(Code::KeyReused, Code::KeyReused.title()));
        }
        if stored.new > 0 {
            self.news.tell_chat(label, "message", json!(said));
        }
        Ok(said)
    }

    /// Returns whether a text decides about a call that waits, by its id.
    ///
    /// # Errors
    /// The queue fails.
    pub(super) async fn is_decision(&self, text: &str) -> Result<bool, Trouble> {
        let Some(id) = answer(text).and_then(|answer| answer.id) else { return Ok(false) };
        let waiting = self.hands.queue.waiting_calls().await.map_err(queue_trouble)?;
        Ok(waiting.iter().any(|call| call.asked.call.starts_with(&id)))
    }

    /// Returns the messages of a chat, oldest first.
    ///
    /// # Errors
    /// The queue fails, or the thread has an impossible name.
    pub(super) async fn conversation(&self, label: &str, thread: Option<&str>) -> Result<Vec<ChatMessage>, Trouble> {
        let place = Web::place(label, thread_name(thread)?);
        let queue = &self.hands.queue;
        let (inbound, outbound) = queue.conversation(&place, SHOWN_MESSAGES).await.map_err(queue_trouble)?;
        let rendering = queue.setting(&place.provider, &place.chat, "render").await.map_err(queue_trouble)?;
        let rendering = rendering.and_then(|name| Rendering::named(&name)).unwrap_or_default();
        let people = inbound.iter().filter(|row| row.message.work().is_none()).map(from_person);
        let is_sent = |row: &&OutboxRow| matches!(row.state, RowState::Sent | RowState::Sending);
        let agent = outbound.iter().filter(is_sent).map(|row| from_agent(&row.message, row.queued, rendering));
        let mut said: Vec<ChatMessage> = people.chain(agent).collect();
        said.sort_by_key(|message| message.at);
        Ok(said)
    }
}

/// Tells two messages of one moment apart.
static MESSAGE_COUNT: AtomicU64 = AtomicU64::new(0);

/// The name of a thread.
fn thread_name(thread: Option<&str>) -> Result<Option<&str>, Trouble> {
    let is_name = |thread: &&str| (1..=MAX_THREAD_NAME).contains(&thread.chars().count()) && !thread.chars().any(char::is_control);
    match thread {
        None => Ok(None),
        Some(thread) => Some(thread)
            .filter(is_name)
            .map(Some)
            .ok_or_else(|| Trouble::request("/thread", format!("`thread` is a name of 1 to {MAX_THREAD_NAME} characters"))),
    }
}

/// Returns the function by which the channel reports to the pages.
pub(super) fn telling(news: News) -> impl Fn(WebPosts<'_>) + Send + Sync + 'static {
    move |post| match post {
        WebPosts::Message(message, rendering) => {
            news.tell_chat(&message.place.chat, "message", json!(from_agent(message, now(), rendering)))
        }
        WebPosts::Typing(ChatPlace { chat, thread, .. }) => news.tell_chat(chat, "typing", json!({ "chat": chat, "thread": thread })),
    }
}

fn from_person(row: &InboundRow) -> ChatMessage {
    let Incoming { place, id, sender, text, .. } = &row.message;
    let from = if sender == SENDER && id.starts_with("cron-") { "schedule" } else { "person" };
    ChatMessage {
        id: id.clone(),
        chat: place.chat.clone(),
        thread: place.thread.clone(),
        from,
        at: row.stored,
        text: text.clone(),
        html: None,
        call: None,
    }
}

fn from_agent(message: &Outgoing, at: u64, rendering: Rendering) -> ChatMessage {
    let Outgoing { place, text, key, .. } = message;
    ChatMessage {
        id: key.clone(),
        chat: place.chat.clone(),
        thread: place.thread.clone(),
        from: "agent",
        at,
        text: text.clone(),
        html: (rendering == Rendering::Markdown).then(|| html(text)),
        call: key.strip_prefix("ask:").filter(|call| !call.contains(':')).map(str::to_owned),
    }
}

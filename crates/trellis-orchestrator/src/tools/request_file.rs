//! `request_file`: asks a chat for a file, and waits until somebody sends one (orchestrator 6).
//!
//! ```text
//! call ──question──▶ chat      message with a file ─▶ Dispatcher ──answer──▶ queue ──▶ call
//! ```
//!
//! **Invariant:** the wait counts from the first time that the call was made, also over a restart; a file that was brought stays so.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::sync::Notify;
use trellis_core::{Mapping, ToolError, Value};
use trellis_host::{Bindings, CallContext};

use super::{Hands, Returned, function, store_error, text};
use crate::{
    config::Provider,
    message::{Attachment, ChatPlace, Outgoing, now},
};

/// Milliseconds that a call waits for a file.
const FILE_TIMEOUT_MS: u64 = 24 * 3600 * 1000;
/// The longest time between two reads of the clock: a clock that was set is noticed by then.
const CLOCK_INTERVAL: Duration = Duration::from_secs(60);

/// The calls of this process that wait for a file, by their chats and threads. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct FileRequests {
    waiting: Arc<Mutex<BTreeMap<ChatPlace, (String, String)>>>,
    /// Notified when a file was brought.
    pub(crate) news: Arc<Notify>,
}

impl FileRequests {
    /// The call that waits for a file in a chat and thread, with its session.
    pub(crate) fn waiting(&self, place: &ChatPlace) -> Option<(String, String)> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).get(place).cloned()
    }

    /// Returns whether a call of a session waits for a file.
    pub(crate) fn has_session(&self, session: &str) -> bool {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).values().any(|(_, known)| known == session)
    }

    /// Begins to wait, unless another call waits in the same place.
    fn begin(&self, place: &ChatPlace, call: &str, session: &str) -> Option<Waiting> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.contains_key(place) {
            return None;
        }
        waiting.insert(place.clone(), (call.to_owned(), session.to_owned()));
        Some(Waiting { requests: self.clone(), place: place.clone() })
    }
}

/// A call that waits, until it is dropped: also when it is stopped.
struct Waiting {
    requests: FileRequests,
    place: ChatPlace,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.requests.waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.place);
    }
}

pub(super) fn bind(bindings: Bindings, hands: &Arc<Hands>) -> Bindings {
    function(bindings, hands, "request_file", request)
}

async fn request(hands: Arc<Hands>, context: CallContext, args: Mapping) -> Returned {
    let (place, session) = (hands.place(&context.session).await?, context.session.as_str());
    if Provider::named(&place.provider).is_none() {
        return Err(ToolError::coded("no_files", "nobody can send files in this chat: ask for the text of the file").finally());
    }
    let call = context.idempotency_key.to_string();
    let busy = || ToolError::coded("too-many", "this chat is asked for a file already: wait until it is there").finally();
    let _waiting = hands.files.begin(&place, &call, session).ok_or_else(busy)?;
    hands.queue.file_request(&call, session, now() + FILE_TIMEOUT_MS).await.map_err(store_error)?;
    let question = hands.settings.language.fill("file_asked", &[("what", text(&args, "what"))]);
    hands.outbox.post(Outgoing::new(place, question, format!("file:{call}"))).await.map_err(store_error)?;
    // A file may have come before the call was made again.
    hands.wake.notify_one();
    loop {
        let news = hands.files.news.notified();
        let request = hands.queue.file_request(&call, session, 0).await.map_err(store_error)?;
        if let Some(answer) = request.answer {
            return take_file(&hands, answer).await;
        }
        let left = Duration::from_millis(request.until.saturating_sub(now()));
        if left.is_zero() {
            return Err(ToolError::coded("timeout", "nobody sent a file within 24 hours").finally());
        }
        let _ = tokio::time::timeout(left.min(CLOCK_INTERVAL), news).await;
    }
}

/// The files of a message, and the text that came with them.
async fn take_file(hands: &Hands, answer: i64) -> Returned {
    let row = hands.queue.message(answer).await.map_err(store_error)?;
    let gone = || ToolError::coded("not_found", "the message with the file is gone").finally();
    let message = row.ok_or_else(gone)?.message;
    let files = message.files.iter().map(Attachment::value);
    Ok(Value::map([("files", Value::list(files)), ("text", Value::text(message.text))]))
}

//! The path of an outgoing message: rows of the outbox, in order for each chat and thread (orchestrator 7).
//!
//! **Invariant:** every row ends as sent, or as dead with its error; none is lost in between. Dead is what was refused for good, or waited for longer
//! than the settings say; a question about a held call waits as long as it takes.

mod backoff;
mod redact;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures_util::{StreamExt as _, stream::FuturesUnordered};
use tokio::sync::Notify;

pub use self::{backoff::requeue_after, redact::SecretMask};
use crate::{
    channel::{Channel, ChannelError, ChannelTrouble, ChannelTroubles, Reach, Rendering, parts},
    config::Provider,
    message::{Outgoing, now},
    queue::{OutboxRow, Queue, QueueError},
    supervisor::Pulse,
    texts::Language,
};

/// Attempts in a row.
const INLINE: u32 = 3;
/// Time after which a message that a failure held up says that it is late, in milliseconds.
const LATE_MS: u64 = 60_000;
/// The beginnings of the keys of questions about held calls, in their chats and to those who may decide.
const QUESTIONS: [&str; 2] = ["ask:", "up:"];
/// Time between two attempts in a row.
const BETWEEN: Duration = Duration::from_millis(100);

/// Characters of a text that is sent in parts; a longer one is sent as a file.
const MAX_CHARS: usize = 14_000;
/// The name of that file.
const ANSWER_FILE: &str = "answer.md";

/// Room in a part for the prefix of a repeated message.
const MARK_ROOM: usize = 48;

/// The channels by name.
pub type Channels = BTreeMap<String, Arc<dyn Channel>>;

/// Puts messages into the outbox.
#[derive(Clone, Debug)]
pub struct Outbox {
    queue: Queue,
    mask: SecretMask,
    /// The prefix of a message that may have been sent before.
    mark: &'static str,
    language: Language,
    /// The time for which a message waits for its channel, in milliseconds.
    patience: u64,
    /// The last failures of channels, by name, and the time before which nothing is known.
    failures: Arc<Mutex<BTreeMap<String, u64>>>,
    /// The channels that take nothing now.
    blocked: ChannelTroubles,
    since: u64,
    posted: Arc<Notify>,
    /// Its pulse.
    pub(crate) pulse: Arc<Pulse>,
}

impl Outbox {
    /// Creates the outbox of a queue; `mask` redacts secrets, and `mark` is the prefix of a message that may have been sent before.
    pub fn new(queue: Queue, mask: SecretMask, mark: &'static str) -> Self {
        let (language, patience, since) = (Language::default(), 24 * 3600 * 1000, now());
        Self {
            queue,
            mask,
            mark,
            language,
            patience,
            failures: Arc::default(),
            blocked: ChannelTroubles::default(),
            since,
            posted: Arc::default(),
            pulse: Arc::default(),
        }
    }

    /// Sets the language of its notice that a text became a file.
    #[must_use]
    pub fn language(self, language: Language) -> Self {
        Self { language, ..self }
    }

    /// Sets the time for which a message waits for a channel that fails.
    #[must_use]
    pub fn patience(self, patience: Duration) -> Self {
        Self { patience: millis(patience), ..self }
    }

    /// The channels that take nothing now, by name, each since its first attempt that failed.
    pub fn blocked_channels(&self) -> Vec<(String, ChannelTrouble)> {
        self.blocked.broken()
    }

    /// Puts a message in, in parts if its channel needs them; returns the number of its last row. The same key makes the same rows.
    ///
    /// # Errors
    /// The queue fails.
    pub async fn post(&self, message: Outgoing) -> Result<i64, QueueError> {
        let (mask, language) = (self.mask.clone(), self.language);
        let divided = tokio::task::spawn_blocking(move || divide(Outgoing { text: mask.masked(&message.text), ..message }, language));
        let parts = divided.await.map_err(|error| QueueError::Gone(error.to_string()))?;
        let row = self.queue.post_parts(parts, now()).await?;
        self.posted.notify_one();
        Ok(row)
    }

    /// Puts a dead message at the end of its chat, to be sent again; returns whether it was dead (orchestrator 7.3).
    ///
    /// # Errors
    /// The queue fails.
    pub async fn retry(&self, n: i64) -> Result<bool, QueueError> {
        let is_there = self.queue.retry_dead(n, now()).await?;
        self.posted.notify_one();
        Ok(is_there)
    }

    /// Sends waiting messages for ever. It may be dropped; after [`Queue::recover`], interrupted messages are sent again.
    ///
    /// # Errors
    /// The queue fails.
    pub async fn serve(&self, channels: &Channels) -> Result<(), QueueError> {
        // The first row of each chat: none waits for another chat.
        let (mut sending, mut underway) = (FuturesUnordered::new(), BTreeSet::new());
        loop {
            for row in self.queue.sendable(now()).await? {
                if underway.insert(row.n) {
                    sending.push(async move { (row.n, self.send(channels, row).await) });
                }
            }
            // The state of a due row that is underway already changes in a moment.
            let due = self.queue.next_due().await?;
            let wait = due.map_or(Duration::from_secs(60), |due| Duration::from_millis(due.saturating_sub(now()).max(5)));
            tokio::select! {
                Some((n, outcome)) = sending.next() => {
                    outcome?;
                    underway.remove(&n);
                }
                () = self.posted.notified() => {}
                () = self.pulse.asked() => self.pulse.beat(),
                () = tokio::time::sleep(wait) => {}
            }
        }
    }

    /// Sends one row, and notes its outcome.
    async fn send(&self, channels: &Channels, row: OutboxRow) -> Result<(), QueueError> {
        self.queue.begin_sending(row.n).await?;
        let place = &row.message.place;
        let outcome = match channels.get(&place.provider) {
            Some(channel) => {
                let rendering = self.queue.setting(&place.provider, &place.chat, "render").await?;
                let rendering = rendering.and_then(|name| Rendering::named(&name)).unwrap_or_default();
                self.attempts(&**channel, &row, rendering).await?
            }
            None => Err(ChannelError::new("channel_not_found", format!("there is no channel `{}`", place.provider)).finally()),
        };
        match outcome {
            Ok(receipt) => {
                self.queue.note_sent(row.n, &receipt, now()).await?;
                self.blocked.work(&place.provider, None);
                if row.error.is_some() {
                    // The channel is back: what waits for it need not wait longer.
                    self.queue.hurry(&place.provider, now()).await?;
                }
                Ok(())
            }
            Err(error) if error.reach == Reach::Unsent => {
                let wait = error.after.unwrap_or(BETWEEN);
                self.queue.postpone(row.n, after(wait)).await
            }
            Err(error) => {
                let tried = row.attempts + 1;
                let wait = error.after.unwrap_or_else(|| requeue_after(tried, row.n.unsigned_abs()));
                self.failures.lock().unwrap_or_else(PoisonError::into_inner).insert(place.provider.clone(), now());
                let is_in_time =
                    QUESTIONS.iter().any(|key| row.message.key.starts_with(key)) || now() < row.queued.saturating_add(self.patience);
                let due = (!error.is_final && is_in_time).then(|| after(wait));
                match due {
                    Some(_) => self.blocked.fail(&place.provider, error.message.clone(), now()),
                    // What is refused for good says nothing about others, and nobody tries again.
                    None => self.blocked.work(&place.provider, None),
                }
                self.queue.note_unsent(row.n, &error.code, &error.message, due).await
            }
        }
    }

    /// Tries to send a row, a few times in a row where that may help. A message that may have arrived is marked from then on.
    async fn attempts(
        &self,
        channel: &dyn Channel,
        row: &OutboxRow,
        rendering: Rendering,
    ) -> Result<Result<String, ChannelError>, QueueError> {
        let (mut last, mut message) = (1, row.message.clone());
        let late = self.lateness(row);
        loop {
            let text = format!("{}{}", late.as_deref().unwrap_or_default(), message.text);
            let outcome = channel.send(&Outgoing { text, ..message.clone() }, rendering).await;
            let marked = message.file.as_mut().unwrap_or(&mut message.text);
            if let Err(ChannelError { reach: Reach::Unknown, .. }) = outcome
                && !marked.starts_with(self.mark)
            {
                self.queue.mark(row.n, self.mark).await?;
                marked.insert_str(0, self.mark);
            }
            match outcome {
                Err(error) if !error.is_final && error.after.is_none() && last < INLINE => last += 1,
                outcome => return Ok(outcome),
            }
            tokio::time::sleep(BETWEEN).await;
        }
    }

    /// What a message says first that a failure of its channel, or a pause of this program, held up; a file says it in the message before.
    fn lateness(&self, row: &OutboxRow) -> Option<String> {
        let failed = self.failures.lock().unwrap_or_else(PoisonError::into_inner).get(&row.message.place.provider).copied();
        let is_held_up = row.error.is_some() || failed.unwrap_or(self.since) >= row.queued;
        let is_first = is_held_up && row.message.file.is_none();
        is_first.then(|| late_prefix(self.language, now().saturating_sub(row.queued))).flatten()
    }
}

/// The prefix of a message that waited for so many milliseconds, if that was long.
pub(crate) fn late_prefix(language: Language, waited: u64) -> Option<String> {
    (waited >= LATE_MS).then(|| language.fill("late", &[("minutes", &(waited / 60_000).to_string())]))
}

/// The milliseconds of a time.
fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Returns the moment after a wait from now, in milliseconds since 1970.
fn after(wait: Duration) -> u64 {
    now().saturating_add(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX))
}

/// The parts of a message, each under a key of its own; the last has that of the message. A text that is too long for a chat is a file, with its
/// beginning before it.
fn divide(message: Outgoing, language: Language) -> Vec<Outgoing> {
    let Some(provider) = Provider::named(&message.place.provider).filter(|_| message.file.is_none()) else { return vec![message] };
    let limit = provider.part() - MARK_ROOM;
    let length = message.text.chars().count();
    let mut divided: Vec<Outgoing> = if length > MAX_CHARS {
        let said = language.fill("attached", &[("characters", &length.to_string()), ("file", ANSWER_FILE)]);
        let begins = parts(&message.text, limit - said.encode_utf16().count() - 2).swap_remove(0);
        let first = Outgoing { text: format!("{begins}\n\n{said}"), key: format!("{}:1", message.key), ..message.clone() };
        vec![first, Outgoing { file: Some(ANSWER_FILE.to_owned()), ..message.clone() }]
    } else {
        let part = |(number, text)| Outgoing { text, key: format!("{}:{number}", message.key), ..message.clone() };
        (1..).zip(parts(&message.text, limit)).map(part).collect()
    };
    if let Some(last) = divided.last_mut() {
        last.key = message.key;
    }
    divided
}

#[cfg(test)]
mod tests;

//! The way of a message out: rows of the outbox, in order for each chat and thread (orchestrator 7).
//!
//! **Invariant:** a row is sent, or dead with its error; nothing in between is forgotten.

mod backoff;
mod redact;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use futures_util::{StreamExt as _, stream::FuturesUnordered};
use tokio::sync::Notify;

pub use self::{backoff::requeue_after, redact::SecretMask};
use crate::{
    channel::{Channel, ChannelError, Reach, Rendering, parts},
    config::Provider,
    message::{Outgoing, now},
    queue::{OutboxRow, Queue, QueueError},
};

/// Attempts in a row.
const INLINE: u32 = 3;
/// Times that a row is put back before it is dead.
const REQUEUES: u32 = 3;
/// Time between two attempts in a row.
const BETWEEN: Duration = Duration::from_millis(100);

/// Room of a part for what is put in front of it when it is sent again.
const MARK_ROOM: usize = 16;

/// The channels by name.
pub type Channels = BTreeMap<String, Arc<dyn Channel>>;

/// Puts messages into the outbox.
#[derive(Clone, Debug)]
pub struct Outbox {
    queue: Queue,
    mask: SecretMask,
    /// What stands in front of a message that may have been sent before.
    mark: &'static str,
    posted: Arc<Notify>,
}

impl Outbox {
    /// The outbox of a queue; values that `mask` knows are not said. `mark` stands in front of a message that may have been sent before.
    pub fn new(queue: Queue, mask: SecretMask, mark: &'static str) -> Self {
        Self { queue, mask, mark, posted: Arc::default() }
    }

    /// Puts a message in, in parts where its channel takes no more: the number of its last row. The same key makes the same rows.
    ///
    /// # Errors
    /// The queue fails.
    pub async fn post(&self, message: Outgoing) -> Result<i64, QueueError> {
        let mask = self.mask.clone();
        let divided = tokio::task::spawn_blocking(move || divided(Outgoing { text: mask.masked(&message.text), ..message }));
        let parts = divided.await.map_err(|error| QueueError::Gone(error.to_string()))?;
        let row = self.queue.post_parts(parts, now()).await?;
        self.posted.notify_one();
        Ok(row)
    }

    /// Sends what waits, forever; it may be dropped, and what was being sent is sent again after [`Queue::recover`].
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
            // What is due and underway already is noted in a moment.
            let due = self.queue.next_due().await?;
            let wait = due.map_or(Duration::from_secs(60), |due| Duration::from_millis(due.saturating_sub(now()).max(5)));
            tokio::select! {
                Some((n, outcome)) = sending.next() => {
                    outcome?;
                    underway.remove(&n);
                }
                () = self.posted.notified() => {}
                () = tokio::time::sleep(wait) => {}
            }
        }
    }

    /// Sends one row, and notes what became of it.
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
            Ok(receipt) => self.queue.sent(row.n, &receipt, now()).await,
            Err(error) if error.reach == Reach::Unsent => {
                let wait = error.after.unwrap_or(BETWEEN);
                self.queue.postpone(row.n, now() + u64::try_from(wait.as_millis()).unwrap_or_default()).await
            }
            Err(error) => {
                let tried = row.attempts + 1;
                let wait = error.after.unwrap_or_else(|| requeue_after(tried, row.n.unsigned_abs()));
                let due = (!error.is_final && tried <= REQUEUES).then(|| now() + u64::try_from(wait.as_millis()).unwrap_or_default());
                self.queue.unsent(row.n, &error.code, &error.message, due).await
            }
        }
    }

    /// Tries to send a row, a few times in a row where that may help. What may have arrived is marked from then on.
    async fn attempts(
        &self,
        channel: &dyn Channel,
        row: &OutboxRow,
        rendering: Rendering,
    ) -> Result<Result<String, ChannelError>, QueueError> {
        let (mut last, mut message) = (1, row.message.clone());
        loop {
            let outcome = channel.send(&message, rendering).await;
            if let Err(ChannelError { reach: Reach::Unknown, .. }) = outcome
                && !message.text.starts_with(self.mark)
            {
                self.queue.mark(row.n, self.mark).await?;
                message.text.insert_str(0, self.mark);
            }
            match outcome {
                Err(error) if !error.is_final && error.after.is_none() && last < INLINE => last += 1,
                outcome => return Ok(outcome),
            }
            tokio::time::sleep(BETWEEN).await;
        }
    }
}

/// The parts of a message, each under a key of its own; the last has that of the message.
fn divided(message: Outgoing) -> Vec<Outgoing> {
    let Some(provider) = Provider::named(&message.place.provider) else { return vec![message] };
    let mut parts: Vec<Outgoing> = (1..)
        .zip(parts(&message.text, provider.part() - MARK_ROOM))
        .map(|(number, text)| Outgoing { text, key: format!("{}:{number}", message.key), place: message.place.clone() })
        .collect();
    if let Some(last) = parts.last_mut() {
        last.key = message.key;
    }
    parts
}

#[cfg(test)]
mod tests;

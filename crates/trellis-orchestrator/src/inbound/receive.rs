//! The first steps of a message: it is sealed, then stored, each once (orchestrator 3.2, 3.3).

use std::time::Duration;

use super::{LiveCommands, setter::value_to_seal};
use crate::{
    channel::Batch,
    message::{Incoming, now},
    queue::{Queue, QueueError, Stored},
    seal::{Sealer, SecretKind},
    workspace::{History, Said, Speaker},
};

/// Takes messages in.
#[derive(Clone, Debug)]
pub struct Receiver {
    queue: Queue,
    sealer: Sealer,
    /// The commands of the graph, one of which sets a secret.
    commands: LiveCommands,
    history: History,
}

impl Receiver {
    /// A receiver into this queue.
    pub fn new(queue: Queue, sealer: Sealer, commands: LiveCommands, history: History) -> Self {
        Self { queue, sealer, commands, history }
    }

    /// Takes what a channel read: nothing of it is stored, logged or shown before it is sealed. `window` is how long what somebody said before counts.
    ///
    /// # Errors
    /// The queue fails; the channel reads the same again then.
    pub async fn take(&self, channel: &str, batch: Batch, window: Duration) -> Result<Stored, QueueError> {
        let mut sealed: Vec<Incoming> = Vec::with_capacity(batch.messages.len());
        for message in batch.messages {
            let before = self.before(&sealed, &message, window).await?;
            sealed.push(self.sealed(message, before).await?);
        }
        for edit in batch.edits {
            let edit = self.sealed(edit, None).await?;
            self.note_edit(edit).await?;
        }
        self.queue.store(channel, sealed, batch.cursor, now()).await
    }

    /// Notes in the history of a chat that a message has another text now; what was said about it stays said (3.2).
    async fn note_edit(&self, edit: Incoming) -> Result<(), QueueError> {
        let history = self.history.clone();
        let noting = tokio::task::spawn_blocking(move || {
            let said = Said {
                id: edit.key(),
                at: edit.at,
                role: Speaker::User,
                sender: edit.sender_name,
                text: edit.text,
                run: String::new(),
                edited: true,
            };
            history.note(&edit.place, &said)
        });
        // The provider has the text; a history that cannot be written stops nobody.
        noting.await.map(drop).map_err(|error| QueueError::Gone(error.to_string()))
    }

    /// What the same person said just before.
    async fn before(&self, earlier: &[Incoming], message: &Incoming, window: Duration) -> Result<Option<String>, QueueError> {
        let is_same = |earlier: &&Incoming| earlier.place == message.place && earlier.sender == message.sender;
        if let Some(before) = earlier.iter().rev().find(is_same) {
            return Ok(Some(before.text.clone()));
        }
        // Whoever types a password after they announced it takes a moment.
        let window = window.max(Duration::from_millis(3500));
        let since = message.at.saturating_sub(u64::try_from(window.as_millis()).unwrap_or(u64::MAX));
        self.queue.said_before(message, since).await
    }

    async fn sealed(&self, message: Incoming, before: Option<String>) -> Result<Incoming, QueueError> {
        let receiver = self.clone();
        let sealing = tokio::task::spawn_blocking(move || {
            let Incoming { place, sender_name, text, .. } = &message;
            let seal = |text: &str, before| receiver.sealer.seal(&place.provider, &place.chat, text, before);
            let text = receiver.with_value_sealed(&message).unwrap_or_else(|| seal(text, before.as_deref()));
            let sender_name = seal(sender_name, None);
            Incoming { text, sender_name, ..message }
        });
        sealing.await.map_err(|error| QueueError::Gone(error.to_string()))
    }

    /// The text of a command that sets a secret, whose value is one whatever it looks like.
    fn with_value_sealed(&self, message: &Incoming) -> Option<String> {
        let (head, value) = value_to_seal(&message.text, &self.commands.now())?;
        let reference = self.sealer.reference(&message.place.provider, &message.place.chat, SecretKind::Secret, &value);
        Some(format!("{head} {reference}"))
    }
}

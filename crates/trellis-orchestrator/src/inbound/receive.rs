//! Receives a message: seals it, then stores it, exactly once (orchestrator 3.2, 3.3).

use std::time::Duration;

use super::{LiveCommands, setter::value_to_seal};
use crate::{
    channel::Batch,
    config::Reactions,
    message::{Attachment, ChatPlace, Incoming, now, printable},
    queue::{Queue, QueueError, Stored},
    seal::{Sealer, SecretKind},
    workspace::{History, Said},
};

/// Takes messages in.
#[derive(Clone, Debug)]
pub struct Receiver {
    queue: Queue,
    sealer: Sealer,
    /// The commands of the graph, one of which sets a secret.
    commands: LiveCommands,
    history: History,
    reactions: Reactions,
}

impl Receiver {
    /// A receiver into this queue.
    pub fn new(queue: Queue, sealer: Sealer, commands: LiveCommands, history: History) -> Self {
        Self { queue, sealer, commands, history, reactions: Reactions::default() }
    }

    /// Sets the reactions that stand for requests.
    #[must_use]
    pub fn reactions(self, reactions: Reactions) -> Self {
        Self { reactions, ..self }
    }

    /// The name of a file of a message as it may be stored, also as a part of a path.
    ///
    /// # Errors
    /// The work is aborted.
    pub async fn sealed_name(&self, place: &ChatPlace, name: &str) -> Result<String, QueueError> {
        let (sealer, place, name) = (self.sealer.clone(), place.clone(), printable(name));
        let sealing = tokio::task::spawn_blocking(move || sealer.seal(&place.provider, &place.chat, &name, None));
        sealing.await.map_err(|error| QueueError::Gone(error.to_string()))
    }

    /// Returns whether a message was stored before, so that its files need not be fetched again.
    ///
    /// # Errors
    /// The queue fails.
    pub async fn knows(&self, message: &Incoming) -> Result<bool, QueueError> {
        self.queue.has_message(message.key()).await
    }

    /// Receives the messages of a channel, sealed before they are stored, logged or shown. `window` is the time for which an earlier message counts.
    ///
    /// # Errors
    /// The queue fails; the channel reads the same again then.
    pub async fn take(&self, channel: &str, batch: Batch, window: Duration) -> Result<Stored, QueueError> {
        let mut sealed: Vec<Incoming> = Vec::with_capacity(batch.messages.len());
        for message in batch.messages {
            let before = self.before(&sealed, &message, window).await?;
            sealed.push(self.seal_message(message, before).await?);
        }
        for edit in batch.edits {
            let edit = self.seal_message(edit, None).await?;
            self.note_edit(edit).await?;
        }
        for (place, id) in batch.deletions {
            self.note_deletion(place, id).await?;
        }
        let signs = batch.reactions.into_iter().filter_map(|reaction| Some((self.reactions.sign(&reaction.name)?, reaction)));
        let reactions = signs.map(|(sign, reaction)| (reaction, sign)).collect();
        self.queue.store_all(channel, sealed, reactions, batch.cursor, now()).await
    }

    /// Records in the history of a chat that a message was edited; earlier answers to it stay (orchestrator 3.2).
    async fn note_edit(&self, edit: Incoming) -> Result<(), QueueError> {
        let place = edit.place.clone();
        self.note(place, Said { edited: true, ..Said::by(edit, "") }).await
    }

    /// Records in the history of a chat that a message was deleted.
    async fn note_deletion(&self, place: ChatPlace, id: String) -> Result<(), QueueError> {
        let (sender, sender_name, text, files) = Default::default();
        let gone = Incoming { place: place.clone(), id, sender, sender_name, text, at: now(), files };
        self.note(place, Said { deleted: true, ..Said::by(gone, "") }).await
    }

    async fn note(&self, place: ChatPlace, said: Said) -> Result<(), QueueError> {
        let history = self.history.clone();
        // The provider has the text; a failed write of the history is no reason to stop.
        let noting = tokio::task::spawn_blocking(move || drop(history.note(&place, &said)));
        noting.await.map_err(|error| QueueError::Gone(error.to_string()))
    }

    /// The previous message of the same person.
    async fn before(&self, earlier: &[Incoming], message: &Incoming, window: Duration) -> Result<Option<String>, QueueError> {
        let is_same = |earlier: &&Incoming| earlier.place == message.place && earlier.sender == message.sender;
        if let Some(before) = earlier.iter().rev().find(is_same) {
            return Ok(Some(before.text.clone()));
        }
        // A person who announces a password takes a moment to type it.
        let window = window.max(Duration::from_millis(3500));
        let since = message.at.saturating_sub(u64::try_from(window.as_millis()).unwrap_or(u64::MAX));
        self.queue.said_before(message, since).await
    }

    /// A message without its secrets; `before` is the previous one of the same person.
    pub(crate) async fn seal_message(&self, message: Incoming, before: Option<String>) -> Result<Incoming, QueueError> {
        let receiver = self.clone();
        let sealing = tokio::task::spawn_blocking(move || {
            let Incoming { place, sender_name, text, .. } = &message;
            let seal = |text: &str, before| receiver.sealer.seal(&place.provider, &place.chat, text, before);
            let text = receiver.with_value_sealed(&message).unwrap_or_else(|| seal(text, before.as_deref()));
            let sender_name = seal(&printable(sender_name), None);
            let files = message.files.iter().map(|file| Attachment { name: seal(&printable(&file.name), None), ..file.clone() }).collect();
            Incoming { text, sender_name, files, ..message }
        });
        sealing.await.map_err(|error| QueueError::Gone(error.to_string()))
    }

    /// The text of a command that sets a secret, with its value sealed, whatever the value looks like.
    fn with_value_sealed(&self, message: &Incoming) -> Option<String> {
        let (head, value) = value_to_seal(&message.text, &self.commands.now())?;
        let reference = self.sealer.reference(&message.place.provider, &message.place.chat, SecretKind::Secret, &value);
        Some(format!("{head} {reference}"))
    }
}

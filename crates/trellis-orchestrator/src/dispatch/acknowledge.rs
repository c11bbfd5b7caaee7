//! Acknowledges that a message was read, and shows that the agent is at work (orchestrator 3.9).

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use trellis_core::SessionId;

use super::Dispatcher;
use crate::{
    channel::Web,
    config::Provider,
    inbound::Group,
    message::{ChatPlace, now},
    queue::QueueError,
};

/// The time after which providers remove a typing indicator.
const RENEWED: Duration = Duration::from_secs(4);

/// The longest time for which a chat is shown a typing indicator, in milliseconds: an hour.
const MAX_ACKNOWLEDGED_MS: u64 = 3_600_000;

impl Dispatcher {
    /// Shows a chat that a group was read and is being answered. Nothing waits for this, and a failure is ignored.
    pub(super) fn acknowledge(&self, group: &Group) {
        let Some(channel) = self.channels.get(&group.place().provider).map(Arc::clone) else { return };
        let (place, last) = (group.place().clone(), group.rows[group.rows.len() - 1].message.id.clone());
        tokio::spawn(async move {
            drop(channel.react(&place, &last).await);
            drop(channel.set_typing(&place).await);
        });
    }

    /// Shows a typing indicator in chats, as long as an answer is being written; runs forever.
    ///
    /// # Errors
    /// The queue fails.
    pub async fn keep_typing(&self) -> Result<(), QueueError> {
        loop {
            tokio::time::sleep(RENEWED).await;
            for place in self.working().await? {
                if let Some(channel) = self.channels.get(&place.provider).map(Arc::clone) {
                    tokio::spawn(async move { drop(channel.set_typing(&place).await) });
                }
            }
        }
    }

    /// Returns the chats over a network or in the browser whose session is working, rather than waiting for a person.
    async fn working(&self) -> Result<BTreeSet<ChatPlace>, QueueError> {
        let mut runs = BTreeSet::new();
        // A session that was held or waiting for long is not at work, and reading each of these is slow.
        let since = now().saturating_sub(MAX_ACKNOWLEDGED_MS);
        for row in self.hands.queue.taken_rows().await?.into_iter().filter(|row| row.stored >= since) {
            if Provider::named(&row.message.place.provider).is_none() && !Web::has(&row.message.place) {
                continue;
            }
            runs.extend(row.run.map(|run| (run, row.message.place)));
        }
        let mut working = BTreeSet::new();
        for (run, place) in runs {
            if self.hands.files.has_session(&run) {
                continue;
            }
            if self.sessions.view(&SessionId::new(run)).await.is_ok_and(|turn| turn.stop.needs_nobody()) {
                working.insert(place);
            }
        }
        Ok(working)
    }
}

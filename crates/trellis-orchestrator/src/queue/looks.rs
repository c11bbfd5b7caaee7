//! The view of the queue for a dashboard and a chat page, and their actions on messages that were given up (orchestrator 7.3, 8.5).

use std::collections::BTreeMap;

use super::{
    InboundRow, OutboxRow, Queue, QueueError, inbound,
    moments::{signed, unsigned},
    outbox,
};
use crate::message::ChatPlace;

impl Queue {
    /// The number of messages that wait to be sent, and the time at which the oldest of them was queued.
    ///
    /// # Errors
    /// The queue fails.
    pub async fn unsent_count(&self) -> Result<(u64, Option<u64>), QueueError> {
        let query = "select count(*), min(queued) from outbox where state in ('queued', 'sending')";
        let counted = |row: &rusqlite::Row<'_>| Ok((unsigned(row.get(0)?), row.get::<_, Option<i64>>(1)?.map(unsigned)));
        self.run(move |tables| tables.query_row(query, [], counted)).await
    }

    /// Returns the time at which the oldest message of each channel came in that no session has yet, and the cursor of each channel that has one.
    ///
    /// # Errors
    /// The queue fails.
    pub async fn channel_positions(&self) -> Result<(BTreeMap<String, u64>, BTreeMap<String, String>), QueueError> {
        self.run(|tables| {
            let mut oldest = tables.prepare("select provider, min(stored) from inbound where state = 'new' group by provider")?;
            let oldest = oldest.query_map([], |row| Ok((row.get(0)?, unsigned(row.get(1)?))))?.collect::<Result<_, _>>()?;
            let mut cursors = tables.prepare("select channel, cursor from cursors")?;
            let cursors = cursors.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?;
            Ok((oldest, cursors))
        })
        .await
    }

    /// The newest messages that came in from a chat and thread, and the newest that went out there; each oldest first.
    ///
    /// # Errors
    /// The queue fails.
    pub async fn conversation(&self, place: &ChatPlace, count: u32) -> Result<(Vec<InboundRow>, Vec<OutboxRow>), QueueError> {
        let ChatPlace { provider, chat, thread } = place.clone();
        self.run(move |tables| {
            let of = |table: &str| {
                format!("where n in (select n from {table} where provider = ?1 and chat = ?2 and thread = ?3 order by n desc limit ?4) order by n")
            };
            let thread = thread.unwrap_or_default();
            let values = rusqlite::params![provider, chat, thread, count];
            Ok((inbound::rows(tables, &of("inbound"), values)?, outbox::rows(tables, &of("outbox"), values)?))
        })
        .await
    }

    /// A message that came in, by its key.
    ///
    /// # Errors
    /// The queue fails.
    pub async fn of_key(&self, key: &str) -> Result<Option<InboundRow>, QueueError> {
        let key = key.to_owned();
        self.run(move |tables| Ok(inbound::rows(tables, "where key = ?1", [key])?.pop())).await
    }

    /// Puts a message that was given up at the end of its chat, to be sent again; returns whether it was given up.
    ///
    /// # Errors
    /// The queue fails.
    pub async fn retry_dead(&self, n: i64, now: u64) -> Result<bool, QueueError> {
        let command =
            "update outbox set n = (select max(n) + 1 from outbox), state = 'queued', attempts = 0, due = ?2, code = null, error = null
                       where n = ?1 and state = 'dead'";
        self.run(move |tables| Ok(tables.execute(command, (n, signed(now)))? > 0)).await
    }

    /// Marks a message that was given up as one that nobody sends any more; returns whether it was given up.
    ///
    /// # Errors
    /// The queue fails.
    pub async fn drop_dead(&self, n: i64) -> Result<bool, QueueError> {
        self.run(move |tables| Ok(tables.execute("update outbox set state = 'dropped' where n = ?1 and state = 'dead'", [n])? > 0)).await
    }
}

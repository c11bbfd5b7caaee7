//! The view of the queue for those who record it: messages that came in and went out since the last time (orchestrator 9).

use super::{
    InboundRow, OutboxRow, Queue, QueueError, inbound,
    moments::{signed, unsigned},
    outbox,
};
use crate::message::ChatPlace;

/// Rows that are read at once.
const PAGE: u32 = 5000;

impl Queue {
    /// Messages of the chat of a thread outside the thread, nearest to its beginning: at most `count`, oldest first.
    ///
    /// # Errors
    /// The queue fails.
    pub async fn nearby(&self, place: &ChatPlace, count: u32) -> Result<Vec<InboundRow>, QueueError> {
        let ChatPlace { provider, chat, thread } = place.clone();
        let Some(thread) = thread else { return Ok(Vec::new()) };
        let columns = inbound::INBOUND_COLUMNS;
        let query = format!(
            "select {columns} from (select * from inbound where provider = ?1 and chat = ?2 and thread != ?3
             order by abs(at - (select min(at) from inbound where provider = ?1 and chat = ?2 and thread = ?3)) limit ?4) order by at, n"
        );
        self.run(move |tables| tables.prepare_cached(&query)?.query_map((provider, chat, thread, count), inbound::row)?.collect()).await
    }

    /// Messages that came in behind another one and not before a moment, oldest first; perhaps not all at once.
    ///
    /// # Errors
    /// The queue fails.
    pub async fn heard_since(&self, n: i64, since: u64) -> Result<Vec<InboundRow>, QueueError> {
        let query = format!("select {} from inbound where n > ?1 and stored >= ?2 order by n limit ?3", inbound::INBOUND_COLUMNS);
        self.run(move |tables| tables.prepare_cached(&query)?.query_map((n, signed(since), PAGE), inbound::row)?.collect()).await
    }

    /// Messages that were sent at a moment or later, with their moments, oldest first; perhaps not all at once.
    ///
    /// # Errors
    /// The queue fails.
    pub async fn sent_since(&self, since: u64) -> Result<Vec<(OutboxRow, u64)>, QueueError> {
        let columns = outbox::OUTBOX_COLUMNS;
        let query = format!("select {columns}, sent from outbox where state = 'sent' and sent >= ?1 order by sent limit ?2");
        self.run(move |tables| {
            let mut statement = tables.prepare_cached(&query)?;
            statement.query_map((signed(since), PAGE), |row| Ok((outbox::row(row)?, unsigned(row.get("sent")?))))?.collect()
        })
        .await
    }
}

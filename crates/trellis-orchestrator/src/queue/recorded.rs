//! What is written down about the queue: what came in and went out since somebody looked last (orchestrator 9).

use super::{
    InboundRow, OutboxRow, Queue, QueueError,
    inbound::{self, signed, unsigned},
    outbox,
};

/// Rows that are read at once.
const PAGE: u32 = 5000;

impl Queue {
    /// Messages that came in behind another one and not before a moment, oldest first; perhaps not all at once.
    ///
    /// # Errors
    /// The queue fails.
    pub async fn heard_since(&self, n: i64, since: u64) -> Result<Vec<InboundRow>, QueueError> {
        let query = format!("select {} from inbound where n > ?1 and stored >= ?2 order by n limit ?3", inbound::COLUMNS);
        self.run(move |tables| tables.prepare_cached(&query)?.query_map((n, signed(since), PAGE), inbound::row)?.collect()).await
    }

    /// Messages that were sent at a moment or later, with their moments, oldest first; perhaps not all at once.
    ///
    /// # Errors
    /// The queue fails.
    pub async fn sent_since(&self, since: u64) -> Result<Vec<(OutboxRow, u64)>, QueueError> {
        let columns = outbox::COLUMNS;
        let query = format!("select {columns}, sent from outbox where state = 'sent' and sent >= ?1 order by sent limit ?2");
        self.run(move |tables| {
            let mut statement = tables.prepare_cached(&query)?;
            statement.query_map((signed(since), PAGE), |row| Ok((outbox::row(row)?, unsigned(row.get("sent")?))))?.collect()
        })
        .await
    }
}

//! Lines of the memory, each by the call that writes it (orchestrator 5.4, 9).

use super::{Queue, QueueError, moments::signed};
use crate::workspace::MemoryLine;

impl Queue {
    /// The line of a call, which is this one where the call has none yet.
    ///
    /// # Errors
    /// The queue fails.
    pub async fn note(&self, call: &str, line: MemoryLine, now: u64) -> Result<MemoryLine, QueueError> {
        let call = call.to_owned();
        self.run(move |tables| {
            let MemoryLine { day, text, equal } = &line;
            let command = "insert into notes (call, day, line, equal, stored) values (?1, ?2, ?3, ?4, ?5) on conflict do nothing";
            tables.execute(command, (&call, day, text, equal, signed(now)))?;
            tables.query_row("select day, line, equal from notes where call = ?1", [call], |row| {
                Ok(MemoryLine { day: row.get(0)?, text: row.get(1)?, equal: row.get(2)? })
            })
        })
        .await
    }
}

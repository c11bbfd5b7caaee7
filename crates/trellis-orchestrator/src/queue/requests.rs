//! Calls that wait for a file of their chat (orchestrator 6, `request_file`).

use rusqlite::OptionalExtension as _;

use super::{
    Queue, QueueError,
    moments::{signed, unsigned},
};

/// A call that waits for a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileRequest {
    /// The time at which its wait ends, in milliseconds since 1970.
    pub until: u64,
    /// The number of the message that brought files.
    pub answer: Option<i64>,
}

impl Queue {
    /// Returns the request of a call, and makes it if there is none: its time counts from the first time that the call was made.
    ///
    /// # Errors
    /// The queue fails.
    pub async fn file_request(&self, call: &str, session: &str, until: u64) -> Result<FileRequest, QueueError> {
        let (call, session) = (call.to_owned(), session.to_owned());
        self.run(move |tables| {
            let command = "insert into file_requests (call, session, until) values (?1, ?2, ?3) on conflict do nothing";
            tables.execute(command, (&call, session, signed(until)))?;
            tables.query_row("select until, answer from file_requests where call = ?1", [call], |row| {
                let until: i64 = row.get(0)?;
                Ok(FileRequest { until: unsigned(until), answer: row.get(1)? })
            })
        })
        .await
    }

    /// Gives messages to the session of a call that waits for a file; returns whether it still did.
    ///
    /// # Errors
    /// The queue fails.
    pub async fn answer_file_request(&self, call: &str, numbers: Vec<i64>) -> Result<bool, QueueError> {
        let call = call.to_owned();
        self.run(move |tables| {
            let query = "select session from file_requests where call = ?1 and answer is null";
            let Some(session) = tables.query_row(query, [&call], |row| row.get::<_, String>(0)).optional()? else { return Ok(false) };
            tables.execute("update file_requests set answer = ?2 where call = ?1", (&call, numbers.last()))?;
            for number in numbers {
                tables.execute("update inbound set state = 'taken', run = ?2 where n = ?1 and state = 'new'", (number, &session))?;
            }
            Ok(true)
        })
        .await
    }
}

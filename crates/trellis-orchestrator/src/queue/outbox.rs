//! Outgoing messages, in order for each chat and thread (orchestrator 7).

use rusqlite::{OptionalExtension as _, Row, Transaction};

use super::{
    Queue, QueueError,
    moments::{signed, unsigned},
};
use crate::message::{ChatPlace, Outgoing};

/// Time after which a sent message is forgotten, in milliseconds: 7 days.
const OUTBOX_RETENTION_MS: u64 = 7 * 24 * 3600 * 1000;

/// The stage of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowState {
    /// It waits for its turn.
    Queued,
    /// It was handed to the channel, which has not confirmed it yet.
    Sending,
    /// The channel has it.
    Sent,
    /// It cannot be sent.
    Dead,
    /// Somebody decided that it is not to be sent.
    Dropped,
}

impl RowState {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Sending => "sending",
            Self::Sent => "sent",
            Self::Dead => "dead",
            Self::Dropped => "dropped",
        }
    }

    fn named(name: &str) -> Self {
        match name {
            "queued" => Self::Queued,
            "sending" => Self::Sending,
            "sent" => Self::Sent,
            "dead" => Self::Dead,
            _ => Self::Dropped,
        }
    }
}

/// The stage of a question to a chat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QuestionState {
    /// The chat has not seen all of it.
    Unseen,
    /// The question is being sent.
    Underway {
        /// The number of the last message that had come in before.
        heard: i64,
    },
    /// The chat has seen it.
    Seen {
        /// The number of the last message that had come in before.
        heard: i64,
        /// The name that the provider gave to its last message.
        receipt: String,
    },
}

/// A message as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutboxRow {
    /// Its number, in the order in which messages were made.
    pub n: i64,
    /// The text and its place.
    pub message: Outgoing,
    /// Its stage.
    pub state: RowState,
    /// The number of attempts.
    pub attempts: u32,
    /// The code and message of the last failure.
    pub error: Option<(String, String)>,
    /// The time at which it was queued, in milliseconds since 1970.
    pub queued: u64,
}

/// Puts a mark in front of a text once; of a file, in front of its name.
const MARKED: &str = "text = case when file is not null or substr(text, 1, length(?1)) = ?1 then text else ?1 || text end,
                      file = case when substr(file, 1, length(?1)) = ?1 then file else ?1 || file end";

pub(super) const OUTBOX_COLUMNS: &str = "n, provider, chat, thread, text, key, state, attempts, code, error, queued, file";

impl Queue {
    /// Puts a message into the outbox and returns its number. For a known key, this is the number of the existing row.
    ///
    /// # Errors
    /// The queue fails.
    pub async fn post(&self, message: Outgoing, now: u64) -> Result<i64, QueueError> {
        self.post_parts(vec![message], now).await
    }

    /// Puts the parts of a message into the outbox, directly after each other, and returns the number of the last.
    ///
    /// # Errors
    /// The queue fails; none is there then.
    pub async fn post_parts(&self, parts: Vec<Outgoing>, now: u64) -> Result<i64, QueueError> {
        self.run(move |tables| {
            let mut n = 0;
            for Outgoing { place, text, key, file } in &parts {
                let command = "insert into outbox (key, provider, chat, thread, text, state, due, queued, file)
                               values (?1, ?2, ?3, ?4, ?5, 'queued', ?6, ?6, ?7) on conflict (key) do nothing";
                let thread = place.thread.as_deref().unwrap_or_default();
                tables.execute(command, (key, &place.provider, &place.chat, thread, text, signed(now), file))?;
                n = tables.query_row("select n from outbox where key = ?1", [key], |row| row.get(0))?;
            }
            Ok(n)
        })
        .await
    }

    /// Returns the first unsent message of each chat and thread, if it is due; later ones wait. One whose time in the queue is now in the future is
    /// due: the clock was set back.
    ///
    /// # Errors
    /// The queue fails.
    pub async fn sendable(&self, now: u64) -> Result<Vec<OutboxRow>, QueueError> {
        let rest = "where n in (select min(n) from outbox where state in ('queued', 'sending') group by provider, chat, thread)
                    and state = 'queued' and (due <= ?1 or queued > ?1) order by n";
        self.run(move |tables| rows(tables, rest, [signed(now)])).await
    }

    /// Returns the due time of the next message that waits only for its time, in milliseconds since 1970.
    ///
    /// # Errors
    /// The queue fails.
    pub async fn next_due(&self) -> Result<Option<u64>, QueueError> {
        let query = "select min(due) from outbox where state = 'queued'
                     and n in (select min(n) from outbox where state in ('queued', 'sending') group by provider, chat, thread)";
        self.run(move |tables| tables.query_row(query, [], |row| Ok(row.get::<_, Option<i64>>(0)?.map(unsigned)))).await
    }

    /// Notes that a message is handed to its channel now, and the last message that had come in until then.
    ///
    /// # Errors
    /// The queue fails.
    pub async fn begin_sending(&self, n: i64) -> Result<(), QueueError> {
        let command = "update outbox set state = 'sending', attempts = attempts + 1,
                       heard = (select coalesce(max(n), 0) from inbound) where n = ?1";
        self.run(move |tables| tables.execute(command, [n]).map(drop)).await
    }

    /// Returns the stage of a question: the message of this key, and those of `key:…` that belong to it.
    ///
    /// # Errors
    /// The queue fails.
    pub async fn question(&self, key: &str) -> Result<QuestionState, QueueError> {
        let key = key.to_owned();
        self.run(move |tables| {
            let query = "select state, heard, coalesce(receipt, '') from outbox where key = ?1 or key > ?1 || ':' and key < ?1 || ';'";
            let mut statement = tables.prepare_cached(query)?;
            let parts = statement
                .query_map([key], |row| Ok((row.get::<_, String>(0)?, row.get::<_, Option<i64>>(1)?, row.get::<_, String>(2)?)))?;
            let (mut heard, mut receipt, mut is_underway, mut count) = (0, String::new(), false, 0);
            for part in parts {
                let (state, before, sent_as) = part?;
                match (RowState::named(&state), before) {
                    (RowState::Sent | RowState::Sending, None) | (RowState::Queued | RowState::Dead | RowState::Dropped, _) => {
                        return Ok(QuestionState::Unseen);
                    }
                    (state, Some(before)) => {
                        is_underway |= state == RowState::Sending;
                        heard = heard.max(before);
                        if is_later(&sent_as, &receipt) {
                            receipt = sent_as;
                        }
                    }
                }
                count += 1;
            }
            Ok(match count {
                0 => QuestionState::Unseen,
                _ if is_underway => QuestionState::Underway { heard },
                _ => QuestionState::Seen { heard, receipt },
            })
        })
        .await
    }

    /// Notes that a channel has a message.
    ///
    /// # Errors
    /// The queue fails.
    pub async fn note_sent(&self, n: i64, receipt: &str, now: u64) -> Result<(), QueueError> {
        let receipt = receipt.to_owned();
        let command = "update outbox set state = 'sent', receipt = ?2, sent = ?3, code = null, error = null where n = ?1";
        self.run(move |tables| tables.execute(command, (n, receipt, signed(now))).map(drop)).await?;
        self.news.notify_one();
        Ok(())
    }

    /// Puts a message that could not be sent back, to be tried at `due`; without a time it is dead.
    ///
    /// # Errors
    /// The queue fails.
    pub async fn note_unsent(&self, n: i64, code: &str, why: &str, due: Option<u64>) -> Result<(), QueueError> {
        let (code, why) = (code.to_owned(), why.to_owned());
        let state = if due.is_some() { RowState::Queued } else { RowState::Dead }.as_str();
        let command = "update outbox set state = ?2, code = ?3, error = ?4, due = coalesce(?5, due) where n = ?1";
        self.run(move |tables| tables.execute(command, (n, state, code, why, due.map(signed))).map(drop)).await?;
        self.news.notify_one();
        Ok(())
    }

    /// Puts back a message that was not sent because its channel pauses; this is no attempt.
    ///
    /// # Errors
    /// The queue fails.
    pub async fn postpone(&self, n: i64, due: u64) -> Result<(), QueueError> {
        let command = "update outbox set state = 'queued', attempts = attempts - 1, due = ?2 where n = ?1";
        self.run(move |tables| tables.execute(command, (n, signed(due))).map(drop)).await
    }

    /// Makes messages due that wait for a channel which failed, and is back.
    ///
    /// # Errors
    /// The queue fails.
    pub async fn hurry(&self, provider: &str, now: u64) -> Result<(), QueueError> {
        let provider = provider.to_owned();
        let command = "update outbox set due = ?2 where state = 'queued' and provider = ?1 and code is not null and due > ?2";
        self.run(move |tables| tables.execute(command, (provider, signed(now))).map(drop)).await
    }

    /// Notes that a message may have been sent, so that it has `mark` in front when it is sent again.
    ///
    /// # Errors
    /// The queue fails.
    pub async fn mark(&self, n: i64, mark: &str) -> Result<(), QueueError> {
        let mark = mark.to_owned();
        let command = format!("update outbox set {MARKED} where n = ?2");
        self.run(move |tables| tables.execute(&command, (mark, n)).map(drop)).await
    }

    /// Queues messages again that were being sent when the process died. They may have arrived, so they get the prefix `mark`.
    ///
    /// # Errors
    /// The queue fails.
    pub async fn recover(&self, mark: &str) -> Result<usize, QueueError> {
        let mark = mark.to_owned();
        let command = format!("update outbox set state = 'queued', {MARKED} where state = 'sending'");
        self.run(move |tables| tables.execute(&command, [mark])).await
    }

    /// The rows of a state, oldest first.
    ///
    /// # Errors
    /// The queue fails.
    pub async fn in_state(&self, state: RowState) -> Result<Vec<OutboxRow>, QueueError> {
        self.run(move |tables| rows(tables, "where state = ?1 order by n", [state.as_str()])).await
    }

    /// A message by its key.
    ///
    /// # Errors
    /// The queue fails.
    pub async fn row_by_key(&self, key: &str) -> Result<Option<OutboxRow>, QueueError> {
        let key = key.to_owned();
        let query = format!("select {OUTBOX_COLUMNS} from outbox where key = ?1");
        self.run(move |tables| tables.query_row(&query, [key], row).optional()).await
    }

    /// Returns whether no message waits to be sent.
    ///
    /// # Errors
    /// The queue fails.
    pub async fn is_flushed(&self) -> Result<bool, QueueError> {
        let query = "select not exists (select 1 from outbox where state in ('queued', 'sending'))";
        self.run(move |tables| tables.query_row(query, [], |row| row.get(0))).await
    }

    /// Deletes messages that were sent long ago, except in chats with a running session, since one may be its question.
    ///
    /// # Errors
    /// The queue fails.
    pub async fn forget_sent(&self, now: u64) -> Result<usize, QueueError> {
        let before = signed(now.saturating_sub(OUTBOX_RETENTION_MS));
        let command = "delete from outbox where state = 'sent' and sent < ?1 and not exists (select 1 from inbound where state = 'taken'
                       and provider = outbox.provider and chat = outbox.chat and thread = outbox.thread)";
        self.run(move |tables| tables.execute(command, [before])).await
    }
}

/// Returns whether a message was sent after another one of its chat, by the increasing ids of the provider; one without an id was sent before.
pub fn is_later(message: &str, than: &str) -> bool {
    (message.len(), message) > (than.len(), than)
}

pub(super) fn rows(tables: &Transaction<'_>, rest: &str, values: impl rusqlite::Params) -> rusqlite::Result<Vec<OutboxRow>> {
    let mut statement = tables.prepare(&format!("select {OUTBOX_COLUMNS} from outbox {rest}"))?;
    statement.query_map(values, row)?.collect()
}

pub(super) fn row(row: &Row<'_>) -> rusqlite::Result<OutboxRow> {
    let (thread, state): (String, String) = (row.get(3)?, row.get(6)?);
    let place = ChatPlace { provider: row.get(1)?, chat: row.get(2)?, thread: Some(thread).filter(|thread| !thread.is_empty()) };
    let code: Option<String> = row.get(8)?;
    let why: Option<String> = row.get(9)?;
    let queued: i64 = row.get(10)?;
    Ok(OutboxRow {
        n: row.get(0)?,
        message: Outgoing { place, text: row.get(4)?, key: row.get(5)?, file: row.get(11)? },
        state: RowState::named(&state),
        attempts: row.get(7)?,
        error: code.map(|code| (code, why.unwrap_or_default())),
        queued: unsigned(queued),
    })
}

//! Calls that wait for somebody, and the messages that ask about them (orchestrator 3.5, 6.2).

use rusqlite::{OptionalExtension as _, Row};

use super::{
    Queue, QueueError,
    moments::{signed, unsigned},
    outbox::RowState,
};
use crate::message::{ChatPlace, now};

/// A call that a chat was asked about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskedCall {
    /// The id of the call.
    pub call: String,
    /// Its session.
    pub session: String,
    /// The chat and thread.
    pub place: ChatPlace,
    /// The number of times that somebody deferred it.
    pub again: u32,
}

/// A call that waits for a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingCall {
    /// The call, as it was asked about.
    pub asked: AskedCall,
    /// The time since which it waits, in milliseconds since 1970.
    pub since: u64,
    /// The time at which its chat had the question, or was lost to it for good; `None` while the question is on its way,
    /// or was put off.
    pub arrived: Option<u64>,
    /// True if those who may decide were told beside its chat.
    pub is_escalated: bool,
}

impl WaitingCall {
    /// Returns the time at which the call runs no more if it waits for so long, both in milliseconds; `None` while its time has not begun.
    pub fn end(&self, patience: u64, now: u64) -> Option<u64> {
        // Where the clock was set back, it waits no longer than that takes.
        self.arrived.map(|arrived| arrived.min(now).saturating_add(patience))
    }
}

/// The messages that ask about a call: `ask:CALL`, `ask:CALL:again-N` where it is asked again, and `up:CALL:N` to those who may decide.
const ASKS: &str = "(outbox.key = 'ask:' || questions.call or outbox.key like 'ask:' || questions.call || ':again-%'
                     or outbox.key like 'up:' || questions.call || ':%')";

/// Milliseconds until a chat is asked again about a call that was deferred: an hour.
pub(crate) const ASK_AGAIN_MS: u64 = 3_600_000;

/// Messages that are looked after at once.
const MAX_AWAITED: u32 = 50;

impl Queue {
    /// Notes the calls of a session that wait for a decision: these, and no others.
    ///
    /// # Errors
    /// The queue fails.
    pub async fn hold(&self, session: &str, place: &ChatPlace, calls: Vec<String>) -> Result<(), QueueError> {
        let (session, place) = (session.to_owned(), place.clone());
        self.run(move |tables| {
            let known: Vec<String> = tables
                .prepare_cached("select call from questions where session = ?1")?
                .query_map([&session], |row| row.get(0))?
                .collect::<rusqlite::Result<_>>()?;
            for gone in known.iter().filter(|call| !calls.contains(call)) {
                tables.execute("delete from questions where call = ?1", [gone])?;
            }
            for call in calls.iter().filter(|call| !known.contains(call)) {
                let command =
                    "insert into questions (call, session, provider, chat, thread, since) values (?1, ?2, ?3, ?4, ?5, ?6) on conflict do nothing";
                let thread = place.thread.as_deref().unwrap_or_default();
                tables.execute(command, (call, &session, &place.provider, &place.chat, thread, signed(now())))?;
            }
            Ok(())
        })
        .await
    }

    /// The calls that wait for a decision, those first that wait longest.
    ///
    /// # Errors
    /// The queue fails.
    pub async fn waiting_calls(&self) -> Result<Vec<WaitingCall>, QueueError> {
        // The last part of a question has its key. One that nobody posted is as old as the call, and the time of one that was deferred begins when it is asked again.
        let query = "select call, session, questions.provider, questions.chat, questions.thread, again, since, escalated,
                            case when questions.due is not null then null
                                 when outbox.key is null then since when state = 'sent' then max(since, sent)
                                 when state in ('dead', 'dropped') then max(since, outbox.due) end
                     from questions left join outbox
                       on outbox.key = 'ask:' || call || case when again > 0 and questions.due is null then ':again-' || again else '' end
                     order by since";
        self.run(move |tables| {
            let mut statement = tables.prepare_cached(query)?;
            let waiting = |row: &Row<'_>| {
                let arrived = row.get::<_, Option<i64>>(8)?.map(unsigned);
                Ok(WaitingCall { asked: asked(row)?, since: unsigned(row.get(6)?), arrived, is_escalated: row.get(7)? })
            };
            statement.query_map([], waiting)?.collect()
        })
        .await
    }

    /// Returns whether somebody was asked about a call whose id begins so.
    ///
    /// # Errors
    /// The queue fails.
    pub async fn was_asked(&self, id: &str) -> Result<bool, QueueError> {
        let key = format!("ask:{id}%");
        let query = "select exists (select 1 from outbox where key like ?1)";
        self.run(move |tables| tables.query_row(query, [key], |row| row.get(0))).await
    }

    /// Notes that those who may decide were told of a call.
    ///
    /// # Errors
    /// The queue fails.
    pub async fn note_telling(&self, call: &str) -> Result<(), QueueError> {
        let call = call.to_owned();
        self.run(move |tables| tables.execute("update questions set escalated = 1 where call = ?1", [call]).map(drop)).await
    }

    /// The calls of a session that wait no more, if these are all that do, with the chats that were asked about them beside their own.
    ///
    /// # Errors
    /// The queue fails.
    pub async fn asked_elsewhere(&self, session: &str, waiting: Vec<String>) -> Result<Vec<(String, ChatPlace)>, QueueError> {
        let session = session.to_owned();
        let query = "select outbox.provider, outbox.chat, outbox.thread, call from questions
                     join outbox on outbox.key like 'up:' || call || ':%' where session = ?1 and escalated
                     group by call, outbox.provider, outbox.chat, outbox.thread order by call, min(outbox.n)";
        self.run(move |tables| {
            let mut statement = tables.prepare_cached(query)?;
            let mut asked: Vec<(String, ChatPlace)> =
                statement.query_map([session], |row| Ok((row.get(3)?, place(row, 0)?)))?.collect::<rusqlite::Result<_>>()?;
            asked.retain(|(call, _)| !waiting.contains(call));
            Ok(asked)
        })
        .await
    }

    /// The call that a message asked about, by the name that the provider gave to the message.
    ///
    /// # Errors
    /// The queue fails.
    pub async fn asked_by(&self, provider: &str, chat: &str, receipt: &str) -> Result<Option<AskedCall>, QueueError> {
        let values = (provider.to_owned(), chat.to_owned(), receipt.to_owned());
        let query = format!(
            "select call, session, questions.provider, questions.chat, questions.thread, again from outbox join questions on {ASKS}
             where outbox.provider = ?1 and outbox.chat = ?2 and outbox.receipt = ?3 and outbox.receipt != ''"
        );
        self.run(move |tables| tables.query_row(&query, values, asked).optional()).await
    }

    /// Returns whether a message that asks a chat about a call is being sent: it may be there already, and its name is not known yet.
    ///
    /// # Errors
    /// The queue fails.
    pub async fn is_asking(&self, provider: &str, chat: &str) -> Result<bool, QueueError> {
        let values = (provider.to_owned(), chat.to_owned(), RowState::Sending.as_str());
        let query = format!(
            "select exists (select 1 from outbox join questions on {ASKS} where outbox.provider = ?1 and outbox.chat = ?2 and outbox.state = ?3)"
        );
        self.run(move |tables| tables.query_row(&query, values, |row| row.get(0))).await
    }

    /// The messages of a channel that ask about a call which still waits, newest first: their chats and their names.
    ///
    /// # Errors
    /// The queue fails.
    pub async fn awaited_messages(&self, provider: &str) -> Result<Vec<(ChatPlace, String)>, QueueError> {
        let provider = provider.to_owned();
        let query = format!(
            "select outbox.provider, outbox.chat, outbox.thread, outbox.receipt from questions join outbox on {ASKS}
             where outbox.provider = ?1 and outbox.state = 'sent' and outbox.receipt != '' order by outbox.n desc limit ?2"
        );
        self.run(move |tables| {
            let mut statement = tables.prepare_cached(&query)?;
            statement.query_map((provider, MAX_AWAITED), |row| Ok((place(row, 0)?, row.get(3)?)))?.collect()
        })
        .await
    }

    /// Sets the time at which a chat is asked about a call again.
    ///
    /// # Errors
    /// The queue fails.
    pub async fn ask_again(&self, call: &str, due: u64) -> Result<(), QueueError> {
        let call = call.to_owned();
        let command = "update questions set due = ?2, again = again + 1 where call = ?1";
        self.run(move |tables| tables.execute(command, (call, signed(due))).map(drop)).await
    }

    /// The calls about which chats are to be asked again by now, and when the next one is, in milliseconds since 1970. One that would wait longer than
    /// that takes waits no more: the clock was set back.
    ///
    /// # Errors
    /// The queue fails.
    pub async fn due_questions(&self, now: u64) -> Result<(Vec<AskedCall>, Option<u64>), QueueError> {
        self.run(move |tables| {
            let query = "select call, session, provider, chat, thread, again from questions where due <= ?1 or due > ?2";
            let latest = signed(now.saturating_add(ASK_AGAIN_MS));
            let due = tables.prepare_cached(query)?.query_map([signed(now), latest], asked)?.collect::<rusqlite::Result<Vec<_>>>()?;
            let next = "select min(due) from questions where due > ?1";
            let next = tables.query_row(next, [signed(now)], |row| Ok(row.get::<_, Option<i64>>(0)?.map(unsigned)))?;
            Ok((due, next))
        })
        .await
    }

    /// Notes that a chat was asked about a call again.
    ///
    /// # Errors
    /// The queue fails.
    pub async fn note_asking_again(&self, call: &str) -> Result<(), QueueError> {
        let call = call.to_owned();
        self.run(move |tables| tables.execute("update questions set due = null where call = ?1", [call]).map(drop)).await
    }
}

fn asked(row: &Row<'_>) -> rusqlite::Result<AskedCall> {
    Ok(AskedCall { call: row.get(0)?, session: row.get(1)?, place: place(row, 2)?, again: row.get(5)? })
}

/// The chat in the columns from this one on.
fn place(row: &Row<'_>, at: usize) -> rusqlite::Result<ChatPlace> {
    let thread: String = row.get(at + 2)?;
    Ok(ChatPlace { provider: row.get(at)?, chat: row.get(at + 1)?, thread: Some(thread).filter(|thread| !thread.is_empty()) })
}

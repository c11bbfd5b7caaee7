//! Incoming messages.

use rusqlite::{OptionalExtension as _, Row, Transaction};
use tokio::sync::Notify;

use super::{
    Queue, QueueError,
    moments::{signed, unsigned},
    reactions,
};
use crate::{
    channel::Reaction,
    config::Sign,
    message::{ChatPlace, Incoming},
    words::{Kind, kind},
};

/// Time after which a done message is forgotten, in milliseconds: 30 days.
const INBOUND_RETENTION_MS: u64 = 30 * 24 * 3600 * 1000;

/// Waiting messages of a chat and thread that are returned: so many of conversation, and so many of commands and decisions.
const LOOKED_AT: u32 = 256;

/// A message as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InboundRow {
    /// Its number, in the order of arrival.
    pub n: i64,
    /// The sealed text.
    pub message: Incoming,
    /// The time at which it was stored, in milliseconds since 1970.
    pub stored: u64,
    /// The session that it belongs to, once it was taken.
    pub run: Option<String>,
    /// The number of the question that it answers; `None` if it began the session.
    pub asked: Option<u64>,
    /// True if it is conversation, whatever it looks like.
    pub is_talk: bool,
    /// True if that session has ended, or no session needs it any more.
    pub is_done: bool,
}

impl InboundRow {
    /// Returns whether no session has it yet, and nobody has settled it.
    pub fn is_waiting(&self) -> bool {
        self.run.is_none() && !self.is_done
    }

    /// Returns whether it belongs to a session that has not ended.
    pub fn is_taken(&self) -> bool {
        self.run.is_some() && !self.is_done
    }

    /// Returns its kind.
    pub fn kind(&self) -> Kind {
        if self.is_talk { Kind::Talk } else { kind(&self.message) }
    }
}

/// The messages of a batch that are new.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stored {
    /// The number of messages that were stored.
    pub new: usize,
    /// The number of those that had been read before.
    pub known: usize,
}

impl Stored {
    /// Notifies those who wait for messages, if there are any.
    fn tell(&self, news: &Notify) {
        if self.new > 0 {
            news.notify_one();
        }
    }
}

pub(super) const INBOUND_COLUMNS: &str =
    "n, provider, chat, thread, id, sender, sender_name, text, at, stored, run, asked, talk, state = 'done', files";

impl Queue {
    /// Stores messages, each once, together with the cursor after them: after a crash both are stored, or neither.
    ///
    /// # Errors
    /// The queue fails; nothing is stored then.
    pub async fn store(&self, channel: &str, batch: Vec<Incoming>, cursor: Option<String>, now: u64) -> Result<Stored, QueueError> {
        self.store_all(channel, batch, Vec::new(), cursor, now).await
    }

    /// Stores messages and reactions, each once, and the cursor behind them, together.
    ///
    /// # Errors
    /// The queue fails; nothing is stored then.
    pub async fn store_all(
        &self,
        channel: &str,
        batch: Vec<Incoming>,
        reactions: Vec<(Reaction, Sign)>,
        cursor: Option<String>,
        now: u64,
    ) -> Result<Stored, QueueError> {
        let channel = channel.to_owned();
        self.run(move |tables| {
            let mut stored = Stored::default();
            for (reaction, sign) in &reactions {
                reactions::insert(tables, reaction, *sign, now)?;
            }
            for message in &batch {
                match insert(tables, message, now)? {
                    0 => stored.known += 1,
                    _ => stored.new += 1,
                }
            }
            if let Some(cursor) = cursor {
                let command = "insert into cursors values (?1, ?2) on conflict do update set cursor = excluded.cursor";
                tables.execute(command, (channel, cursor))?;
            }
            Ok(stored)
        })
        .await
        .inspect(|stored| stored.tell(&self.news))
    }

    /// Stores a work of a chat unless `most` of its kind are open there; returns whether it is stored, now or before.
    ///
    /// # Errors
    /// The queue fails.
    pub async fn store_work(&self, message: Incoming, most: u32, now: u64) -> Result<bool, QueueError> {
        self.run(move |tables| {
            let Incoming { place, sender, .. } = &message;
            let query = "select (select count(*) from inbound where provider = ?1 and chat = ?2 and sender = ?3 and id like ?3 || '-%'
                         and state != 'done') < ?4 or exists (select 1 from inbound where key = ?5)";
            let has_room = tables.query_row(query, (&place.provider, &place.chat, sender, most, message.key()), |row| row.get(0))?;
            if has_room {
                insert(tables, &message, now)?;
            }
            Ok(has_room)
        })
        .await
    }

    /// The messages that no session has yet, oldest first: the first of each chat and thread, and of these conversation apart from the rest, so that
    /// conversation never hides a command. What came between them and was taken stands there too: it parts their groups.
    ///
    /// # Errors
    /// The queue fails.
    pub async fn waiting(&self) -> Result<Vec<InboundRow>, QueueError> {
        let rest = "where n in (select n from (select n, row_number() over (partition by provider, chat, thread, talk order by n) as place
                    from inbound where state = 'new') where place <= ?1)
                    or state != 'new' and n in (select later.n from inbound later cross join
                    (select provider, chat, thread, min(n) as n from inbound where state = 'new' group by provider, chat, thread) first
                    where later.n > (select min(n) from inbound where state = 'new') and later.n > first.n
                    and later.provider = first.provider and later.chat = first.chat and later.thread = first.thread) order by n";
        self.run(|tables| rows(tables, rest, [LOOKED_AT])).await
    }

    /// Returns whether no session has a message yet, and nobody has settled it.
    ///
    /// # Errors
    /// The queue fails.
    pub async fn is_waiting(&self, n: i64) -> Result<bool, QueueError> {
        let query = "select exists (select 1 from inbound where n = ?1 and state = 'new')";
        self.run(move |tables| tables.query_row(query, [n], |row| row.get(0))).await
    }

    /// Marks messages as conversation that decides about nothing.
    ///
    /// # Errors
    /// The queue fails.
    pub async fn are_talk(&self, numbers: Vec<i64>) -> Result<(), QueueError> {
        self.run(move |tables| {
            for number in numbers {
                tables.execute("update inbound set talk = 1 where n = ?1", [number])?;
            }
            Ok(())
        })
        .await
    }

    /// Gives messages to a session, as the answer to its question of this number unless they begin it; messages that another session has taken
    /// meanwhile stay with it.
    ///
    /// # Errors
    /// The queue fails.
    pub async fn take(&self, numbers: Vec<i64>, run: &str, asked: Option<u64>) -> Result<(), QueueError> {
        let (run, asked) = (run.to_owned(), asked.map(signed));
        self.run(move |tables| {
            let command = "update inbound set state = 'taken', run = ?2, asked = ?3 where n = ?1 and state = 'new'";
            for number in numbers {
                tables.execute(command, (number, &run, asked))?;
            }
            Ok(())
        })
        .await
    }

    /// Takes messages back from a session whose question they came too late for; they keep its number.
    ///
    /// # Errors
    /// The queue fails.
    pub async fn release(&self, numbers: Vec<i64>) -> Result<(), QueueError> {
        self.run(move |tables| {
            for number in numbers {
                tables.execute("update inbound set state = 'new', run = null where n = ?1 and state = 'taken'", [number])?;
            }
            Ok(())
        })
        .await
    }

    /// Marks messages that need no session.
    ///
    /// # Errors
    /// The queue fails.
    pub async fn settle(&self, numbers: Vec<i64>) -> Result<(), QueueError> {
        self.run(move |tables| {
            for number in numbers {
                tables.execute("update inbound set state = 'done' where n = ?1", [number])?;
            }
            Ok(())
        })
        .await
    }

    /// Marks the messages of a session that has ended; returns whether it was open until now.
    ///
    /// # Errors
    /// The queue fails.
    pub async fn end_run(&self, run: &str) -> Result<bool, QueueError> {
        let run = run.to_owned();
        self.run(move |tables| Ok(tables.execute("update inbound set state = 'done' where run = ?1 and state = 'taken'", [run])? > 0)).await
    }

    /// The messages of sessions that have not ended, oldest first.
    ///
    /// # Errors
    /// The queue fails.
    pub async fn taken_rows(&self) -> Result<Vec<InboundRow>, QueueError> {
        self.run(|tables| rows(tables, "where state = 'taken' order by n", [])).await
    }

    /// The first message of a session, also after its end.
    ///
    /// # Errors
    /// The queue fails.
    pub async fn of_run(&self, run: &str) -> Result<Option<InboundRow>, QueueError> {
        let run = run.to_owned();
        let sql = format!("select {INBOUND_COLUMNS} from inbound where run = ?1 order by n limit 1");
        self.run(move |tables| tables.query_row(&sql, [run], row).optional()).await
    }

    /// Returns whether a message was stored before.
    ///
    /// # Errors
    /// The queue fails.
    pub async fn has_message(&self, key: String) -> Result<bool, QueueError> {
        self.run(move |tables| tables.query_row("select exists (select 1 from inbound where key = ?1)", [key], |row| row.get(0))).await
    }

    /// A message by its number.
    ///
    /// # Errors
    /// The queue fails.
    pub async fn message(&self, n: i64) -> Result<Option<InboundRow>, QueueError> {
        let sql = format!("select {INBOUND_COLUMNS} from inbound where n = ?1");
        self.run(move |tables| tables.query_row(&sql, [n], row).optional()).await
    }

    /// Returns the previous message of the same person here.
    ///
    /// # Errors
    /// The queue fails.
    pub async fn said_before(&self, message: &Incoming, since: u64) -> Result<Option<String>, QueueError> {
        let (place, sender, at, key) = (message.place.clone(), message.sender.clone(), signed(message.at), message.key());
        self.run(move |tables| {
            let query =
                "select text from inbound where provider = ?1 and chat = ?2 and thread = ?3 and sender = ?4 and at <= ?5 and at >= ?6
                         and key != ?7 order by n desc limit 1";
            let values = (&place.provider, &place.chat, place.thread.as_deref().unwrap_or_default(), &sender, at, signed(since), key);
            tables.query_row(query, values, |row| row.get(0)).optional()
        })
        .await
    }

    /// Deletes messages that were finished long ago.
    ///
    /// # Errors
    /// The queue fails.
    pub async fn forget(&self, now: u64) -> Result<usize, QueueError> {
        let before = signed(now.saturating_sub(INBOUND_RETENTION_MS));
        self.run(move |tables| {
            tables.execute("delete from reactions where not is_open and stored < ?1", [before])?;
            tables.execute("delete from file_requests where until < ?1", [before])?;
            tables.execute("delete from notes where stored < ?1", [before])?;
            tables.execute("delete from inbound where state = 'done' and stored < ?1", [before])
        })
        .await
    }
}

fn insert(tables: &Transaction<'_>, message: &Incoming, now: u64) -> rusqlite::Result<usize> {
    let Incoming { place, id, sender, sender_name, text, at, files } = message;
    let command = "insert into inbound (key, provider, chat, thread, id, sender, sender_name, text, at, stored, talk, files, state)
                   values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, 'new') on conflict (key) do nothing";
    let thread = place.thread.as_deref().unwrap_or_default();
    let mut statement = tables.prepare_cached(command)?;
    let is_talk = kind(message) == Kind::Talk;
    let files = serde_json::to_string(files).unwrap_or_default();
    statement.execute((
        message.key(),
        &place.provider,
        &place.chat,
        thread,
        id,
        sender,
        sender_name,
        text,
        signed(*at),
        signed(now),
        is_talk,
        files,
    ))
}

pub(super) fn rows(tables: &Transaction<'_>, rest: &str, values: impl rusqlite::Params) -> rusqlite::Result<Vec<InboundRow>> {
    let mut statement = tables.prepare(&format!("select {INBOUND_COLUMNS} from inbound {rest}"))?;
    statement.query_map(values, row)?.collect()
}

pub(super) fn row(row: &Row<'_>) -> rusqlite::Result<InboundRow> {
    let thread: String = row.get(3)?;
    let place = ChatPlace { provider: row.get(1)?, chat: row.get(2)?, thread: Some(thread).filter(|thread| !thread.is_empty()) };
    let (at, stored, asked): (i64, i64, Option<i64>) = (row.get(8)?, row.get(9)?, row.get(11)?);
    let files = serde_json::from_str(&row.get::<_, String>(14)?).unwrap_or_default();
    let (id, sender, sender_name, text) = (row.get(4)?, row.get(5)?, row.get(6)?, row.get(7)?);
    let message = Incoming { place, id, sender, sender_name, text, at: unsigned(at), files };
    Ok(InboundRow {
        n: row.get(0)?,
        message,
        stored: unsigned(stored),
        run: row.get(10)?,
        asked: asked.map(unsigned),
        is_talk: row.get(12)?,
        is_done: row.get(13)?,
    })
}

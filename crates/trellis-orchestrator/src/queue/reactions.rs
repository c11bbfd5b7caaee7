//! Reactions to messages, each once (orchestrator 3.5).

use rusqlite::Transaction;

use super::{Queue, QueueError, moments::signed};
use crate::{channel::Reaction, config::Sign};

/// A reaction that nobody has acted on yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReactionRow {
    /// Its number, in the order of arrival.
    pub n: i64,
    /// The channel.
    pub provider: String,
    /// The chat.
    pub chat: String,
    /// The message that it stands on, as the provider names it.
    pub message: String,
    /// The person who reacted.
    pub sender: String,
    /// Its request.
    pub sign: Sign,
}

impl Queue {
    /// The reactions that are to be acted on, the strongest first.
    ///
    /// # Errors
    /// The queue fails.
    pub async fn open_reactions(&self) -> Result<Vec<ReactionRow>, QueueError> {
        let query = "select n, provider, chat, message, sender, sign from reactions where is_open order by n limit 256";
        let read = self.run(move |tables| {
            let mut statement = tables.prepare_cached(query)?;
            let rows = statement.query_map([], |row| {
                let sign: String = row.get(5)?;
                let (n, provider, chat, message, sender) = (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?);
                Ok(Sign::named(&sign).map(|sign| ReactionRow { n, provider, chat, message, sender, sign }))
            })?;
            rows.filter_map(Result::transpose).collect::<rusqlite::Result<Vec<_>>>()
        });
        let mut rows = read.await?;
        rows.sort_by_key(|row| (row.sign, row.n));
        Ok(rows)
    }

    /// Returns whether a reaction is to be acted on.
    ///
    /// # Errors
    /// The queue fails.
    pub async fn is_open_reaction(&self, n: i64) -> Result<bool, QueueError> {
        let query = "select exists (select 1 from reactions where n = ?1 and is_open)";
        self.run(move |tables| tables.query_row(query, [n], |row| row.get(0))).await
    }

    /// Notes that a reaction was acted on.
    ///
    /// # Errors
    /// The queue fails.
    pub async fn settle_reaction(&self, n: i64) -> Result<(), QueueError> {
        self.run(move |tables| tables.execute("update reactions set is_open = 0 where n = ?1", [n]).map(drop)).await
    }
}

pub(super) fn insert(tables: &Transaction<'_>, reaction: &Reaction, sign: Sign, now: u64) -> rusqlite::Result<usize> {
    let Reaction { place, message, sender, .. } = reaction;
    let command = "insert into reactions (provider, chat, message, sender, sign, stored) values (?1, ?2, ?3, ?4, ?5, ?6)
                   on conflict do nothing";
    tables.execute(command, (&place.provider, &place.chat, message, sender, sign.as_str(), signed(now)))
}

//! The reader: beside the writer, so that no read waits for a disk.

use std::{ops::Range, sync::Arc};

use rusqlite::{Connection, OptionalExtension, Row as Found, params, types::ValueRef};
use serde::{Deserialize, de::IntoDeserializer};
use trellis_core::{NodeId, SessionId};

use super::{listed, number, place, stored};
use crate::store::{Head, Query, Row, SessionStatus, Stored, Which};

/// The reader. Its connection stores prepared statements.
#[derive(Debug)]
pub(super) struct SqliteReader {
    connection: Connection,
}

/// The columns of a head, in the order in which it is read.
macro_rules! heads {
    ($more:literal) => {
        concat!("SELECT session, graph, program, next, began, at, node, standing, due", $more)
    };
}

/// A page of heads, of one graph or of all.
macro_rules! page {
    ($index:literal, $condition:literal, $order:literal) => {
        concat!(
            heads!(" FROM sessions INDEXED BY "),
            $index,
            " WHERE (?3 IS NULL OR graph = ?3) AND ",
            $condition,
            " ORDER BY ",
            $order,
            " LIMIT ?4"
        )
    };
}

const HEAD: &str = heads!(", id FROM sessions WHERE session = ?1");
const SNAPSHOT: &str = "SELECT next, text FROM snapshots WHERE id = ?1";
const RECORDS: &str = "SELECT place & 0xffffffff, text FROM records WHERE place BETWEEN ?1 AND ?2 ORDER BY place LIMIT ?3";
const RECENT: &str = "SELECT seq, text FROM recent WHERE id = ?1 AND seq >= ?2 ORDER BY seq LIMIT ?3";
const NEWEST: [&str; 2] = [
    page!("newest", "?1 IS NULL AND ?2 IS NULL AND ?5 IS NULL", "listed DESC, at DESC, session"),
    page!("newest", "listed <= ?5 AND at <= ?1 AND (at < ?1 OR session > ?2)", "listed DESC, at DESC, session"),
];
const DUE: [&str; 2] = [
    page!("due", "due <= ?5 AND ?1 IS NULL AND ?2 IS NULL", "due, session"),
    page!("due", "due <= ?5 AND due >= ?1 AND (due > ?1 OR session > ?2)", "due, session"),
];

impl SqliteReader {
    /// Refuses a file whose tables are not as the statements want them.
    pub(super) fn new(connection: Connection) -> rusqlite::Result<Self> {
        for sql in [HEAD, SNAPSHOT, RECORDS, RECENT].iter().chain(&NEWEST).chain(&DUE) {
            connection.prepare_cached(sql)?;
        }
        Ok(Self { connection })
    }

    /// Several questions of one moment.
    fn at_once<T>(&self, read: impl FnOnce(&Self) -> rusqlite::Result<T>) -> rusqlite::Result<T> {
        let moment = self.connection.unchecked_transaction()?;
        let found = read(self);
        moment.commit()?;
        found
    }

    pub(super) fn load(&self, sessions: &[SessionId]) -> rusqlite::Result<Vec<Option<Stored>>> {
        self.at_once(|reader| sessions.iter().map(|session| reader.stored(session)).collect())
    }

    fn stored(&self, session: &SessionId) -> rusqlite::Result<Option<Stored>> {
        let found = self
            .connection
            .prepare_cached(HEAD)?
            .query_row([session.as_str()], |row| Ok((head(row)?, row.get::<_, i64>(9)?)))
            .optional()?;
        let Some((head, id)) = found else { return Ok(None) };
        let snapshot = self.connection.prepare_cached(SNAPSHOT)?.query_row([id], |row| Ok((number(row, 0)?, text(row, 1)?))).optional()?;
        let since = snapshot.as_ref().map_or(0, |(next, _)| *next);
        let records = self.rows(session, id, since..head.next, usize::MAX)?;
        Ok(Some(Stored { head, snapshot, records }))
    }

    pub(super) fn records(&self, session: &SessionId, from: u64, limit: usize) -> rusqlite::Result<Vec<Row>> {
        self.at_once(|reader| {
            let mut head = reader.connection.prepare_cached(HEAD)?;
            match head.query_row([session.as_str()], |row| Ok((row.get(9)?, number(row, 3)?))).optional()? {
                Some((id, next)) => reader.rows(session, id, from..next, limit),
                None => Ok(Vec::new()),
            }
        })
    }

    fn rows(&self, session: &SessionId, id: i64, range: Range<u64>, limit: usize) -> rusqlite::Result<Vec<Row>> {
        let row = |row: &Found<'_>| {
            let seq = number(row, 0)?;
            let text = match row.get_ref(1)? {
                ValueRef::Text(text) => std::str::from_utf8(text).map(Arc::from).map_err(|error| error.to_string()),
                other => Err(format!("it is {}, not text", other.data_type())),
            };
            Ok(Row { seq, text: text.map_err(|why| format!("session `{session}`, record {seq}: {why}").into()) })
        };
        let sorted = params![place(id, range.start), place(id, u64::MAX), limited(limit)];
        let mut rows: Vec<Row> = self.connection.prepare_cached(RECORDS)?.query_map(sorted, row)?.collect::<Result<_, _>>()?;
        let (count, next) = (rows.len() as u64, rows.last().map_or(range.start, |last| last.seq + 1));
        let is_whole = next == range.start + count && (next == range.end || rows.len() == limit);
        if !is_whole {
            let recent = params![id, stored(range.start), limited(limit)];
            for recent in self.connection.prepare_cached(RECENT)?.query_map(recent, row)? {
                rows.push(recent?);
            }
            rows.sort_unstable_by_key(|row| row.seq);
            rows.truncate(limit);
        }
        Ok(rows)
    }

    pub(super) fn list(&self, query: &Query) -> rusqlite::Result<Vec<Head>> {
        let (moment, session) = match &query.after {
            Some((moment, session)) => (Some(stored(*moment)), Some(session.as_str())),
            None => (None, None),
        };
        let (graph, limit, later) = (query.graph.as_deref(), limited(query.limit), usize::from(moment.is_some()));
        match query.which {
            Which::Newest => {
                let listed = query.after.as_ref().map(|(moment, _)| listed(*moment));
                self.connection
                    .prepare_cached(NEWEST[later])?
                    .query_map(params![moment, session, graph, limit, listed], for_list)?
                    .collect()
            }
            Which::Due(by) => self
                .connection
                .prepare_cached(DUE[later])?
                .query_map(params![moment, session, graph, limit, stored(by)], for_list)?
                .collect(),
        }
    }
}

fn limited(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

fn text(row: &Found<'_>, column: usize) -> rusqlite::Result<Arc<str>> {
    row.get_ref(column)?.as_str().map(Arc::from).map_err(|error| unfit(column, error))
}

fn unfit(column: usize, error: impl std::error::Error + Send + Sync + 'static) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, Box::new(error))
}

/// The reason why the head of a session cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("session `{session}`: {why}")]
struct Misread {
    session: Arc<str>,
    why: rusqlite::Error,
}

/// A head for a list, which one that cannot be read does not spoil.
fn for_list(row: &Found<'_>) -> rusqlite::Result<Head> {
    match head(row) {
        Err(rusqlite::Error::FromSqlConversionFailure(..)) => {
            let due = row.get::<_, Option<i64>>(8)?.map(i64::unsigned_abs);
            Ok(Head { due, ..Head::unreadable(SessionId::new(text(row, 0)?), number(row, 5)?) })
        }
        head => head,
    }
}

fn head(row: &Found<'_>) -> rusqlite::Result<Head> {
    let session = text(row, 0)?;
    head_of(row, Arc::clone(&session)).map_err(|why| unfit(0, Misread { session, why }))
}

fn head_of(row: &Found<'_>, session: Arc<str>) -> rusqlite::Result<Head> {
    let standing = text(row, 7)?;
    Ok(Head {
        session: SessionId::new(session),
        graph: text(row, 1)?,
        program: text(row, 2)?,
        next: number(row, 3)?,
        began: number(row, 4)?,
        at: number(row, 5)?,
        node: NodeId::new(text(row, 6)?),
        standing: SessionStatus::deserialize((&*standing).into_deserializer()).map_err(|error: serde::de::value::Error| unfit(7, error))?,
        due: row.get::<_, Option<i64>>(8)?.map(i64::unsigned_abs),
    })
}

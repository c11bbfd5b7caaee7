//! One transaction for all pending writes.

use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OptionalExtension, params};
use trellis_core::SessionId;

use super::{Name, listed, log::Log, number, place, stored};
use crate::store::{Append, LOCK_TIMEOUT, Removal, StoreError};

/// A write.
#[derive(Debug)]
pub(super) enum What {
    Append(Append),
    Remove(SessionId, Removal),
}

/// The waiting for other processes that hold the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LockPolicy {
    None,
    Some,
}

/// The reason why a write did not happen.
enum Refused {
    /// It changed nothing, and other writes may continue.
    Conflict(StoreError),
    /// Nothing of the transaction can stay.
    Failed(rusqlite::Error),
}

impl From<rusqlite::Error> for Refused {
    fn from(error: rusqlite::Error) -> Self {
        Self::Failed(error)
    }
}

const BEGIN: &str = "BEGIN IMMEDIATE";
const COMMIT: &str = "COMMIT";
const FIND: &str = "SELECT id, next FROM sessions WHERE session = ?1";
const START: &str = "INSERT INTO sessions (session, graph, listed, program, next, began, at, node, standing, due)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
const GO_ON: &str = "UPDATE sessions SET program = ?2, next = ?3, began = ?4, at = ?5, node = ?6, standing = ?7, due = ?8 WHERE id = ?1";
const LIST: &str = "UPDATE sessions SET graph = ?2, listed = ?3 WHERE id = ?1 AND (graph, listed) <> (?2, ?3)";
const RECORD: &str = "INSERT INTO records (place, text) VALUES (?1 << 32 | ?2, ?3)";
const INSERT_RECENT: &str = "INSERT INTO recent (id, seq, text) VALUES (?1, ?2, ?3)";
const SORT: &str = "INSERT INTO records SELECT id << 32 | seq, text FROM recent ORDER BY 1; DELETE FROM recent";
const SNAPSHOT: &str =
    "INSERT INTO snapshots (id, next, text) VALUES (?1, ?2, ?3) ON CONFLICT (id) DO UPDATE SET next = excluded.next, text = excluded.text";

/// The number of sessions that must step at once before shared pages for their records, sorted in later, pay off.
const MIN_SHARING_SESSIONS: usize = 4;

/// The number of bytes of records in `recent` before they are sorted in.
const MAX_RECENT_BYTES: usize = 512 << 10;

/// The writer. Its connection stores prepared statements.
#[derive(Debug)]
pub(super) struct Writer {
    connection: Connection,
    log: Log,
    /// The number of bytes of records that it put into `recent`, or found there.
    recent: usize,
}

impl Writer {
    /// Refuses a file whose tables are not as the statements want them.
    pub(super) fn new(connection: Connection) -> rusqlite::Result<Self> {
        for sql in [BEGIN, COMMIT, FIND, START, GO_ON, LIST, RECORD, INSERT_RECENT, SNAPSHOT] {
            connection.prepare_cached(sql)?;
        }
        let recent = connection.query_row("SELECT coalesce(sum(octet_length(text)), 0) FROM recent", [], |row| number(row, 0))?;
        Ok(Self { log: Log::of(&connection), connection, recent: usize::try_from(recent).unwrap_or(usize::MAX) })
    }

    /// Returns whether there is much to sort in.
    pub(super) fn has_much_to_sort(&self) -> bool {
        self.recent >= MAX_RECENT_BYTES
    }

    /// Moves recent records to the others of their sessions: one page then has many of them. If that fails, they can be read as before, and it is
    /// tried again after more of them.
    pub(super) fn sort(&mut self) {
        self.recent = 0;
        let sorted = self.connection.busy_timeout(LOCK_TIMEOUT).and_then(|()| self.in_one(|writer| writer.connection.execute_batch(SORT)));
        drop(sorted);
    }

    /// Commits all of a group together, and returns the outcome of each. `None`: another process holds the file, and it is not awaited.
    pub(super) fn write(&mut self, group: &[What], patience: LockPolicy, name: &Name) -> Option<Vec<Result<(), StoreError>>> {
        let is_busy = |error: &rusqlite::Error| error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy);
        let wait = if patience == LockPolicy::Some { LOCK_TIMEOUT } else { Duration::ZERO };
        match self.connection.busy_timeout(wait).and_then(|()| self.all(group)) {
            Ok(outcomes) => Some(outcomes),
            Err(error) if is_busy(&error) && patience == LockPolicy::None => None,
            // A failed one takes the others with it, so each is tried alone, unless none could be written.
            Err(error) if group.len() > 1 && !is_busy(&error) => Some(group.iter().map(|what| self.alone(what, name)).collect()),
            Err(error) => Some(group.iter().map(|_| Err(name.error(&error))).collect()),
        }
    }

    /// Runs one transaction: all of its changes are stored when this returns, or none.
    fn in_one<T>(&mut self, act: impl FnOnce(&mut Self) -> rusqlite::Result<T>) -> rusqlite::Result<T> {
        let attempt = || {
            self.connection.prepare_cached(BEGIN)?.execute([])?;
            self.log.make_room();
            let done = act(self)?;
            self.connection.prepare_cached(COMMIT)?.execute([])?;
            Ok(done)
        };
        let done = attempt();
        if done.is_err() && !self.connection.is_autocommit() {
            let _ = self.connection.execute_batch("ROLLBACK");
        }
        done
    }

    fn all(&mut self, group: &[What]) -> rusqlite::Result<Vec<Result<(), StoreError>>> {
        let outcome_of = |outcome| match outcome {
            Ok(()) => Ok(Ok(())),
            Err(Refused::Conflict(conflict)) => Ok(Err(conflict)),
            Err(Refused::Failed(error)) => Err(error),
        };
        let record = if group.len() < MIN_SHARING_SESSIONS { RECORD } else { INSERT_RECENT };
        self.in_one(|writer| group.iter().map(|what| outcome_of(writer.one(what, record))).collect())
    }

    fn alone(&mut self, what: &What, name: &Name) -> Result<(), StoreError> {
        match self.all(std::slice::from_ref(what)) {
            Ok(mut outcomes) => outcomes.remove(0),
            Err(error) => Err(name.error(&error)),
        }
    }

    fn one(&mut self, what: &What, record: &str) -> Result<(), Refused> {
        match what {
            What::Append(append) => self.append(append, record),
            What::Remove(session, removal) => self.remove(session, *removal),
        }
    }

    fn find(&mut self, session: &SessionId) -> rusqlite::Result<Option<(i64, u64)>> {
        self.connection.prepare_cached(FIND)?.query_row([session.as_str()], |row| Ok((row.get(0)?, number(row, 1)?))).optional()
    }

    fn append(&mut self, append: &Append, record: &str) -> Result<(), Refused> {
        let found = self.find(&append.session)?;
        let next = found.map_or(0, |(_, next)| next);
        if next != append.expected {
            return Err(Refused::Conflict(conflict(&append.session, append.expected, next)));
        }
        let head = &append.head;
        let (graph, program, node, standing) = (&*head.graph, &*head.program, head.node.as_str(), head.standing.as_str());
        let (next, began, at, due) = (stored(head.next), stored(head.began), stored(head.at), head.due.map(stored));
        let listed = listed(head.at);
        let id = match found {
            Some((id, _)) => {
                self.connection.prepare_cached(GO_ON)?.execute(params![id, program, next, began, at, node, standing, due])?;
                self.connection.prepare_cached(LIST)?.execute(params![id, graph, listed])?;
                id
            }
            None => {
                let session = append.session.as_str();
                let start = params![session, graph, listed, program, next, began, at, node, standing, due];
                self.connection.prepare_cached(START)?.insert(start)?
            }
        };
        let is_recent = record == INSERT_RECENT;
        let mut record = self.connection.prepare_cached(record)?;
        for (text, seq) in append.records.iter().zip(append.expected..) {
            record.execute(params![id, stored(seq), &**text])?;
            self.recent += if is_recent { text.len() } else { 0 };
        }
        if let Some(text) = &append.snapshot {
            self.connection.prepare_cached(SNAPSHOT)?.execute(params![id, next, &**text])?;
        }
        Ok(())
    }

    fn remove(&mut self, session: &SessionId, removal: Removal) -> Result<(), Refused> {
        let Some((id, next)) = self.find(session)? else { return Ok(()) };
        match removal {
            Removal::Session { expected } if expected != next => return Err(Refused::Conflict(conflict(session, expected, next))),
            Removal::Session { .. } => {
                self.connection.execute("DELETE FROM records WHERE place BETWEEN ?1 AND ?2", [place(id, 0), place(id, u64::MAX)])?;
                for table in ["recent", "snapshots", "sessions"] {
                    self.connection.execute(&format!("DELETE FROM {table} WHERE id = ?1"), [id])?;
                }
            }
            Removal::Before(seq) => {
                let held = self.connection.query_row("SELECT next FROM snapshots WHERE id = ?1", [id], |row| number(row, 0)).optional()?;
                let before = seq.min(held.unwrap_or(0));
                self.connection.execute("DELETE FROM records WHERE place >= ?1 AND place < ?2", [place(id, 0), place(id, before)])?;
                self.connection.execute("DELETE FROM recent WHERE id = ?1 AND seq < ?2", [id, stored(before)])?;
            }
        }
        Ok(())
    }
}

fn conflict(session: &SessionId, expected: u64, found: u64) -> StoreError {
    StoreError::Conflict { session: session.clone(), expected, found }
}

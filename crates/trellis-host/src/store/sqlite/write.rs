//! One transaction for all who wait.

use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OptionalExtension, params};
use trellis_core::SessionId;

use super::{Name, number, schema::PATIENCE, stored};
use crate::store::{Append, Removal, StoreError};

/// What is written.
#[derive(Debug)]
pub(super) enum What {
    Append(Append),
    Remove(SessionId, Removal),
}

/// Whether other processes that hold the file are waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Patience {
    None,
    Some,
}

/// Why a write did not happen.
enum Refused {
    /// It changed nothing, and others may go on.
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
const START: &str =
    "INSERT INTO sessions (session, graph, program, next, began, at, node, standing, due) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
const GO_ON: &str =
    "UPDATE sessions SET graph = ?2, program = ?3, next = ?4, began = ?5, at = ?6, node = ?7, standing = ?8, due = ?9 WHERE id = ?1";
const RECORD: &str = "INSERT INTO records (id, seq, text) VALUES (?1, ?2, ?3)";
const SNAPSHOT: &str =
    "INSERT INTO snapshots (id, next, text) VALUES (?1, ?2, ?3) ON CONFLICT (id) DO UPDATE SET next = excluded.next, text = excluded.text";

/// The one that writes. Statements are prepared once, and kept by the connection.
#[derive(Debug)]
pub(super) struct Writer {
    connection: Connection,
}

impl Writer {
    /// Refuses a file whose tables are not as the statements want them.
    pub(super) fn new(connection: Connection) -> rusqlite::Result<Self> {
        for sql in [BEGIN, COMMIT, FIND, START, GO_ON, RECORD, SNAPSHOT] {
            connection.prepare_cached(sql)?;
        }
        Ok(Self { connection })
    }

    /// Commits all of a group together, and says of each what became of it. Nothing: another process holds the file, and it is not waited for.
    pub(super) fn write(&mut self, group: &[What], patience: Patience, name: &Name) -> Option<Vec<Result<(), StoreError>>> {
        let is_busy = |error: &rusqlite::Error| error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy);
        let wait = if patience == Patience::Some { PATIENCE } else { Duration::ZERO };
        match self.connection.busy_timeout(wait).and_then(|()| self.all(group)) {
            Ok(outcomes) => Some(outcomes),
            Err(error) if is_busy(&error) && patience == Patience::None => None,
            // One that fails takes the others with it, so each tries alone, unless nobody could write.
            Err(error) if group.len() > 1 && !is_busy(&error) => Some(group.iter().map(|what| self.alone(what, name)).collect()),
            Err(error) => Some(group.iter().map(|_| Err(name.error(&error))).collect()),
        }
    }

    /// All writes in one transaction: it is kept when this returns, or nothing of it is.
    fn all(&mut self, group: &[What]) -> rusqlite::Result<Vec<Result<(), StoreError>>> {
        let outcomes = self.attempt(group);
        if outcomes.is_err() && !self.connection.is_autocommit() {
            let _ = self.connection.execute_batch("ROLLBACK");
        }
        outcomes
    }

    fn attempt(&mut self, group: &[What]) -> rusqlite::Result<Vec<Result<(), StoreError>>> {
        self.connection.prepare_cached(BEGIN)?.execute([])?;
        let mut outcomes = Vec::with_capacity(group.len());
        for what in group {
            outcomes.push(match self.one(what) {
                Ok(()) => Ok(()),
                Err(Refused::Conflict(conflict)) => Err(conflict),
                Err(Refused::Failed(error)) => return Err(error),
            });
        }
        self.connection.prepare_cached(COMMIT)?.execute([])?;
        Ok(outcomes)
    }

    fn alone(&mut self, what: &What, name: &Name) -> Result<(), StoreError> {
        match self.all(std::slice::from_ref(what)) {
            Ok(mut outcomes) => outcomes.remove(0),
            Err(error) => Err(name.error(&error)),
        }
    }

    fn one(&mut self, what: &What) -> Result<(), Refused> {
        match what {
            What::Append(append) => self.append(append),
            What::Remove(session, removal) => self.remove(session, *removal),
        }
    }

    fn find(&mut self, session: &SessionId) -> rusqlite::Result<Option<(i64, u64)>> {
        self.connection.prepare_cached(FIND)?.query_row([session.as_str()], |row| Ok((row.get(0)?, number(row, 1)?))).optional()
    }

    fn append(&mut self, append: &Append) -> Result<(), Refused> {
        let found = self.find(&append.session)?;
        let next = found.map_or(0, |(_, next)| next);
        if next != append.expected {
            return Err(Refused::Conflict(conflict(&append.session, append.expected, next)));
        }
        let head = &append.head;
        let (graph, program, node, standing) = (&*head.graph, &*head.program, head.node.as_str(), head.standing.as_str());
        let (next, began, at, due) = (stored(head.next), stored(head.began), stored(head.at), head.due.map(stored));
        let id = match found {
            Some((id, _)) => {
                self.connection.prepare_cached(GO_ON)?.execute(params![id, graph, program, next, began, at, node, standing, due])?;
                id
            }
            None => self.connection.prepare_cached(START)?.insert(params![
                append.session.as_str(),
                graph,
                program,
                next,
                began,
                at,
                node,
                standing,
                due
            ])?,
        };
        let mut record = self.connection.prepare_cached(RECORD)?;
        for (text, seq) in append.records.iter().zip(append.expected..) {
            record.execute(params![id, stored(seq), &**text])?;
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
                for table in ["records", "snapshots", "sessions"] {
                    self.connection.execute(&format!("DELETE FROM {table} WHERE id = ?1"), [id])?;
                }
            }
            Removal::Before(seq) => {
                let sql = "DELETE FROM records WHERE id = ?1 AND seq < min(?2, coalesce((SELECT next FROM snapshots WHERE id = ?1), 0))";
                self.connection.execute(sql, [id, stored(seq)])?;
            }
        }
        Ok(())
    }
}

fn conflict(session: &SessionId, expected: u64, found: u64) -> StoreError {
    StoreError::Conflict { session: session.clone(), expected, found }
}

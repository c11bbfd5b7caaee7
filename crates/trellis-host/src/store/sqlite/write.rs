//! The one that writes: takes all that waits, commits it once, and then says so to everybody.

use std::sync::mpsc::Receiver;

use rusqlite::{Connection, ErrorCode, OptionalExtension, Statement, params};
use tokio::sync::oneshot;
use trellis_core::SessionId;

use super::{Name, number, stored};
use crate::store::{Append, Removal, StoreError};

/// How many writes one commit takes at most.
const GROUP: usize = 512;

/// Something to write, and whom to tell.
pub(super) struct Write {
    pub(super) what: What,
    pub(super) tell: oneshot::Sender<Result<(), StoreError>>,
}

/// What is written.
pub(super) enum What {
    Append(Append),
    Remove(SessionId, Removal),
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

/// Writes until nobody is left who could ask for it.
pub(super) fn work(connection: &Connection, waiting: &Receiver<Write>, name: &Name) -> rusqlite::Result<()> {
    let mut writer = Writer::new(connection)?;
    while let Ok(first) = waiting.recv() {
        let mut group = vec![first];
        group.extend(waiting.try_iter().take(GROUP - 1));
        let told = match writer.all(&group) {
            Ok(outcomes) => outcomes,
            // One that fails takes the others with it, so each tries alone, unless nobody could write.
            Err(error) if group.len() > 1 && error.sqlite_error_code() != Some(ErrorCode::DatabaseBusy) => {
                group.iter().map(|write| writer.alone(write, name)).collect()
            }
            Err(error) => group.iter().map(|_| Err(name.error(&error))).collect(),
        };
        for (write, outcome) in group.into_iter().zip(told) {
            // Whoever does not wait any more finds it by loading.
            let _ = write.tell.send(outcome);
        }
    }
    Ok(())
}

/// Whether the tables are as the statements want them.
pub(super) fn check(connection: &Connection) -> rusqlite::Result<()> {
    Writer::new(connection).map(drop)
}

/// The statements, prepared once.
struct Writer<'a> {
    connection: &'a Connection,
    begin: Statement<'a>,
    commit: Statement<'a>,
    find: Statement<'a>,
    start: Statement<'a>,
    go_on: Statement<'a>,
    record: Statement<'a>,
    snapshot: Statement<'a>,
}

impl<'a> Writer<'a> {
    fn new(connection: &'a Connection) -> rusqlite::Result<Self> {
        let prepare = |sql| connection.prepare(sql);
        Ok(Self {
            connection,
            begin: prepare("BEGIN IMMEDIATE")?,
            commit: prepare("COMMIT")?,
            find: prepare("SELECT id, next FROM sessions WHERE session = ?1")?,
            start: prepare(
                "INSERT INTO sessions (session, graph, program, next, began, at, node, standing, due) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            )?,
            go_on: prepare(
                "UPDATE sessions SET graph = ?2, program = ?3, next = ?4, began = ?5, at = ?6, node = ?7, standing = ?8, due = ?9 WHERE id = ?1",
            )?,
            record: prepare("INSERT INTO records (id, seq, text) VALUES (?1, ?2, ?3)")?,
            snapshot: prepare(
                "INSERT INTO snapshots (id, next, text) VALUES (?1, ?2, ?3) ON CONFLICT (id) DO UPDATE SET next = excluded.next, text = excluded.text",
            )?,
        })
    }

    /// All writes in one transaction: it is kept when this returns, or nothing of it is.
    fn all(&mut self, group: &[Write]) -> rusqlite::Result<Vec<Result<(), StoreError>>> {
        let outcomes = self.attempt(group);
        if outcomes.is_err() && !self.connection.is_autocommit() {
            let _ = self.connection.execute_batch("ROLLBACK");
        }
        outcomes
    }

    fn attempt(&mut self, group: &[Write]) -> rusqlite::Result<Vec<Result<(), StoreError>>> {
        self.begin.execute([])?;
        let mut outcomes = Vec::with_capacity(group.len());
        for write in group {
            outcomes.push(match self.one(&write.what) {
                Ok(()) => Ok(()),
                Err(Refused::Conflict(conflict)) => Err(conflict),
                Err(Refused::Failed(error)) => return Err(error),
            });
        }
        self.commit.execute([])?;
        Ok(outcomes)
    }

    fn alone(&mut self, write: &Write, name: &Name) -> Result<(), StoreError> {
        match self.all(std::slice::from_ref(write)) {
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
        self.find.query_row([session.as_str()], |row| Ok((row.get(0)?, number(row, 1)?))).optional()
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
                self.go_on.execute(params![id, graph, program, next, began, at, node, standing, due])?;
                id
            }
            None => self.start.insert(params![append.session.as_str(), graph, program, next, began, at, node, standing, due])?,
        };
        for (text, seq) in append.records.iter().zip(append.expected..) {
            self.record.execute(params![id, stored(seq), &**text])?;
        }
        if let Some(text) = &append.snapshot {
            self.snapshot.execute(params![id, next, &**text])?;
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

//! A store in one SQLite file: the embedded default.
//!
//! Pending writes are committed together, so many sessions share one write to the disk (`queue.rs`). Readers do not wait for writers. Records are
//! stored in the order of their arrival, so that many sessions share a page; now and then they are sorted to the others of their session. The file is
//! in WAL mode with `synchronous = full`: committed data survives a loss of power. Several processes may use one file.
//!
//! **Invariant:** an append is acknowledged after its commit; a file that is not of this program, or of a newer version, is not touched.

mod log;
mod queue;
mod read;
mod schema;
mod write;

use std::{path::PathBuf, sync::Arc};

use rusqlite::{Connection, ErrorCode};
use tokio::sync::Mutex;
use trellis_core::SessionId;

use self::{
    queue::Queue,
    read::SqliteReader,
    write::{What, Writer},
};
use super::{Append, Head, Pending, Query, Removal, Row, SessionStore, StoreError, Stored, blocking::run_blocking};

/// Stores sessions in a SQLite file. It works on the threads of tokio that may block; if the disk is quick, it appends in place.
///
/// ```
/// use std::sync::Arc;
///
/// use trellis_host::store::{Query, SessionStore, SqliteStore, Which};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// let store: Arc<dyn SessionStore> = Arc::new(SqliteStore::open(folder.path().join("sessions.db"))?);
/// assert_eq!(store.list(Query { graph: None, which: Which::Newest, after: None, limit: 10 }).await?, []);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct SqliteStore {
    queue: Arc<Queue>,
    reader: Arc<Mutex<SqliteReader>>,
    name: Name,
}

/// The name of the store in errors.
#[derive(Clone, Debug)]
struct Name {
    path: PathBuf,
}

impl SqliteStore {
    /// Opens a file, makes it where it is not there, and brings it to the newest version.
    ///
    /// # Errors
    /// It cannot be opened or made, may not be written, is no database, is one of something else, or is of a newer version.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, StoreError> {
        Self::opened(path.into(), None)
    }

    /// Opens a file that may not grow beyond `pages` pages of 4 KiB: a larger write is refused as on a full disk.
    ///
    /// # Errors
    /// As [`SqliteStore::open`].
    pub fn open_bounded(path: impl Into<PathBuf>, pages: u32) -> Result<Self, StoreError> {
        Self::opened(path.into(), Some(pages))
    }

    /// Opens an existing file, and creates nothing. If it, or its folder, may not be written, its content can be read.
    ///
    /// # Errors
    /// There is none, or as [`SqliteStore::open`].
    pub fn open_existing(path: impl Into<PathBuf>) -> Result<Self, StoreError> {
        let name = Name { path: path.into() };
        if !name.path.exists() {
            return Err(StoreError::Unavailable { store: name.shared(), message: "there is no such file".to_owned() });
        }
        if schema::may_be_written(&name.path) {
            return Self::opened(name.path, None);
        }
        let connect = || schema::connect_to_read(&name.path, &name);
        let (writer, reader) = (connect()?, connect()?);
        Self::working(name, writer, reader)
    }

    fn opened(path: PathBuf, pages: Option<u32>) -> Result<Self, StoreError> {
        let name = Name { path };
        let writer = schema::open(&name.path, &name)?;
        if let Some(pages) = pages {
            writer.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(())).map_err(|error| name.error(&error))?;
        }
        let reader = schema::connect(&name.path).map_err(|error| name.error(&error))?;
        Self::working(name, writer, reader)
    }

    fn working(name: Name, writer: Connection, reader: Connection) -> Result<Self, StoreError> {
        let open = || Ok((Writer::new(writer)?, SqliteReader::new(reader)?));
        let (writer, reader) = open().map_err(|error| name.error(&error))?;
        Ok(Self { queue: Queue::new(writer, name.clone()), reader: Arc::new(Mutex::new(reader)), name })
    }

    fn read<T: Send + 'static>(&self, read: impl FnOnce(&SqliteReader) -> rusqlite::Result<T> + Send + 'static) -> Pending<'_, T> {
        Box::pin(async move {
            let (reader, name) = (Arc::clone(&self.reader).lock_owned().await, self.name.clone());
            run_blocking(self.name.shared(), move || read(&reader).map_err(|error| name.error(&error))).await
        })
    }
}

impl Name {
    fn shared(&self) -> Arc<str> {
        format!("`sqlite:{}`", self.path.display()).into()
    }

    fn gone(&self) -> StoreError {
        StoreError::Unavailable { store: self.shared(), message: "it was closed".to_owned() }
    }

    fn corrupt(&self, message: String) -> StoreError {
        StoreError::Corrupt { place: format!("`{}`", self.path.display()), message }
    }

    /// Returns the store error for an error of SQLite.
    fn error(&self, error: &rusqlite::Error) -> StoreError {
        let message = match error {
            rusqlite::Error::SqliteFailure(code, None) => code.to_string(),
            // The error has the session and the reason.
            rusqlite::Error::FromSqlConversionFailure(_, _, why) => why.to_string(),
            error => error.to_string(),
        };
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => self.corrupt(message),
            Some(ErrorCode::DiskFull | ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen | ErrorCode::TooBig) => {
                StoreError::Unwritable { store: self.shared(), message }
            }
            // A write that failed is rolled back; one that may not have reached the disk is not known to be.
            Some(ErrorCode::SystemIoFailure)
                if error.sqlite_error().is_some_and(|code| code.extended_code == rusqlite::ffi::SQLITE_IOERR_WRITE) =>
            {
                StoreError::Unwritable { store: self.shared(), message }
            }
            Some(_) => StoreError::Unavailable { store: self.shared(), message },
            None => self.corrupt(message),
        }
    }
}

/// Returns a number as SQLite stores it: those beyond 2⁶³ − 1 are stored as that.
fn stored(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Returns the place of a record: those of a session are adjacent, in their order.
fn place(id: i64, seq: u64) -> i64 {
    id << 32 | i64::from(u32::try_from(seq).unwrap_or(u32::MAX))
}

/// Returns the place of a session in the list of the newest, roughly: one that moves all the time need not be moved there each time.
fn listed(at: u64) -> i64 {
    stored(at) >> 3
}

fn number(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<u64> {
    row.get::<_, i64>(column).map(i64::unsigned_abs)
}

impl SessionStore for SqliteStore {
    fn append(&self, append: Append) -> Pending<'_, ()> {
        self.queue.write(What::Append(append))
    }

    fn load<'a>(&'a self, sessions: &'a [SessionId]) -> Pending<'a, Vec<Option<Stored>>> {
        let sessions = sessions.to_vec();
        self.read(move |reader| reader.load(&sessions))
    }

    fn records<'a>(&'a self, session: &'a SessionId, from: u64, limit: usize) -> Pending<'a, Vec<Row>> {
        let session = session.clone();
        self.read(move |reader| reader.records(&session, from, limit))
    }

    fn list(&self, query: Query) -> Pending<'_, Vec<Head>> {
        self.read(move |reader| reader.list(&query))
    }

    fn remove<'a>(&'a self, session: &'a SessionId, removal: Removal) -> Pending<'a, ()> {
        self.queue.write(What::Remove(session.clone(), removal))
    }
}

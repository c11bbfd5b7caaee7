//! Stores: the places of sessions (language B.4, C.5).
//!
//! ```text
//! Sessions ──Append { session, expected, records, head, snapshot }──▶ SessionStore     all of it or nothing; kept when it returns
//! Sessions ◀──Stored { head, snapshot, records since }── SessionStore
//! ```
//!
//! A store holds texts: it does not read records or snapshots, so encryption and redaction wrap any store. Each session is a row of records
//! with numbers from 0, one newest snapshot, and a [`Head`] to find it by.
//!
//! **Invariant:** an append that returned survives a crash; one that expected another number changed nothing; after any other failure, everything
//! stored before can still be read.

#[cfg(any(feature = "redis", feature = "postgres"))]
mod address;
mod blocking;
mod files;
mod head;
mod memory;
mod name;
mod open;
#[cfg(feature = "postgres")]
mod postgres;
mod redacted;
#[cfg(feature = "redis")]
mod redis;
mod retention;
mod rows;
#[cfg(feature = "encryption")]
mod sealed;
mod snapshot;
#[cfg(feature = "sqlite")]
mod sqlite;

use std::{fmt, pin::Pin, sync::Arc, time::Duration};

use trellis_core::SessionId;

#[cfg(feature = "postgres")]
pub use self::postgres::PostgresStore;
#[cfg(feature = "redis")]
pub use self::redis::RedisStore;
#[cfg(feature = "encryption")]
pub use self::sealed::{Keys, Resealed, Sealed};
pub use self::{
    files::FilesStore,
    head::{Head, SessionStatus},
    memory::MemoryStore,
    name::{BadName, check_name},
    open::{open, open_existing, weaknesses},
    redacted::{Redacted, lacking, redacted_by, restore},
    retention::{Pruned, Retention},
    rows::read,
    snapshot::{Approved, ChildSnapshot, Snapshot},
};

pub(crate) use self::name::quoted;
pub(crate) use self::redacted::{MIN_SEARCHED_BYTES, Place, absent, appended_path, is_redacted, put_at, visit, whole};
#[cfg(feature = "sqlite")]
pub use self::sqlite::SqliteStore;

/// Heads of sessions that are read from a store at once.
pub(crate) const HEADS_PER_PAGE: usize = 512;
/// Records of a session that are read from a store at once.
pub(crate) const RECORDS_PER_PAGE: usize = 1000;
/// The time for which another process may hold a session, or the file of all of them, before the attempt is given up.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// The remedy where TLS is wanted.
const TUNNEL: &str = "lead it through a tunnel (`stunnel`, `ssh -L`), and name this end of it";

/// The pending result of a store.
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// Stores sessions. One contract suite (`tests/stores`) holds for every store.
///
/// ```
/// # use trellis_core::{Dialect, Document, Engine, Predicates, Source, compile};
/// use std::sync::Arc;
///
/// use trellis_core::{Input, Start};
/// use trellis_host::{
///     Bindings, Sessions,
///     store::{MemoryStore, SessionStore},
/// };
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let files = [("start.md", "---\ninput_type: text\nsave_to: name\nto: hello\n---\nYour name?\n"), ("hello.md", "---\n---\nHello {{ name }}.\n")];
/// # let documents = files.map(|(path, text)| Document::parse(&Source::text(path, text), Dialect::default()).into());
/// # let engine = Engine::new(compile(&documents).program.ok_or("the graph has mistakes")?, Predicates::new())?;
/// let store: Arc<dyn SessionStore> = Arc::new(MemoryStore::new());
/// let asked = Sessions::new(engine.clone(), Bindings::none())?.store(Arc::clone(&store), "hello").start(Start::default()).await?;
///
/// // Another host takes the session up where it stands.
/// let sessions = Sessions::new(engine, Bindings::none())?.store(store, "hello");
/// let turn = sessions.send(&asked.session, asked.answer(Input::Text("Ana".into()))).await?;
/// assert_eq!(&*turn.said[0].text, "Hello Ana.\n");
/// # Ok(())
/// # }
/// ```
pub trait SessionStore: Send + Sync {
    /// Appends records, and replaces the head and, where one is given, the snapshot: all of it or nothing.
    ///
    /// # Errors
    /// [`StoreError::Conflict`]: the next number of the session is not `expected`; nothing was appended. [`StoreError::Unavailable`]: it may
    /// have been appended or not; loading shows which.
    fn append(&self, append: Append) -> Pending<'_, ()>;

    /// Loads sessions, in the order requested; `None` for each that does not exist.
    fn load<'a>(&'a self, sessions: &'a [SessionId]) -> Pending<'a, Vec<Option<Stored>>>;

    /// Returns the history: the stored records from number `from` on, at most `limit`.
    fn records<'a>(&'a self, session: &'a SessionId, from: u64, limit: usize) -> Pending<'a, Vec<Row>>;

    /// Lists heads of many sessions, a page at a time. One that cannot be read does not affect the others: it is listed as
    /// [`SessionStatus::Unreadable`], of no graph, if the store knows its session.
    fn list(&self, query: Query) -> Pending<'_, Vec<Head>>;

    /// Removes a session, or the oldest part of its history. Removing a missing one is no error.
    ///
    /// # Errors
    /// [`StoreError::Conflict`]: the session advanced meanwhile; nothing was removed.
    fn remove<'a>(&'a self, session: &'a SessionId, removal: Removal) -> Pending<'a, ()>;
}

/// One write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Append {
    /// The session.
    pub session: SessionId,
    /// The number of the first record, which the writer expects to be next. 0 begins a session.
    pub expected: u64,
    /// The records, numbered on from there: JSON, a line each, without line breaks. Never none.
    pub records: Vec<Arc<str>>,
    /// The new head of the session; its `next` is the number after the last record.
    pub head: Head,
    /// The state after the last record, for a quick resume: JSON on one line.
    pub snapshot: Option<Arc<str>>,
}

/// A stored session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Its head.
    pub head: Head,
    /// The newest snapshot, and the number of the first record that is not in it.
    pub snapshot: Option<(u64, Arc<str>)>,
    /// Records that are not in the snapshot.
    pub records: Vec<Row>,
}

/// A record as it was stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its number.
    pub seq: u64,
    /// Its text, or where and why it cannot be read any more.
    pub text: Result<Arc<str>, Arc<str>>,
}

/// The sessions to list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// Only those of this graph.
    pub graph: Option<Arc<str>>,
    /// The set of sessions, and their order.
    pub which: Which,
    /// Only those behind this one, in that order: the last head of the page before.
    pub after: Option<(u64, SessionId)>,
    /// The largest number of heads.
    pub limit: usize,
}

/// A set of sessions, and their order. Sessions of the same moment are sorted by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// All; those that moved last come first. [`Query::after`] has their [`Head::at`].
    Newest,
    /// Those that continue by themselves at this moment or before; the earliest comes first. [`Query::after`] has their [`Head::due`].
    Due(u64),
}

/// The part that is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removal {
    /// The session, if this is still its next number.
    Session {
        /// Its [`Head::next`]; 0 where the store cannot read it.
        expected: u64,
    },
    /// Its records before this number. Those that no snapshot covers always stay.
    Before(u64),
}

/// A failure of a store.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Another writer appended first: load the session and try again.
    #[error("session `{session}` advanced meanwhile: record {expected} was expected to come next, it is {found}")]
    Conflict {
        /// The session.
        session: SessionId,
        /// The expected next number.
        expected: u64,
        /// The actual next number; 0 if there is no such session.
        found: u64,
    },
    /// The store cannot be reached, or responded too late. It is unknown whether anything was written; acknowledged records are stored.
    #[error("{store} cannot be reached: {message}")]
    Unavailable {
        /// The store, without secrets.
        store: Arc<str>,
        /// The cause.
        message: String,
    },
    /// The store refuses to write: the disk is full, the folder may not be written. Nothing was written.
    #[error("{store} cannot be written: {message}")]
    Unwritable {
        /// The store.
        store: Arc<str>,
        /// The cause.
        message: String,
    },
    /// It was written by a newer version.
    #[error("{store} was written by a newer version of trellis (format {found}; this one reads up to {known})")]
    Newer {
        /// The store, or a file of it.
        store: Arc<str>,
        /// The format that was found.
        found: u64,
        /// The newest format that is known.
        known: u64,
    },
    /// A stored text cannot be read.
    #[error("{place} cannot be read: {message}")]
    Corrupt {
        /// The place: a file and line, or a session and record.
        place: String,
        /// The cause, and the remedy.
        message: String,
    },
    /// It is encrypted, and the key is not there or not the right one.
    #[error("{0}")]
    Key(String),
    /// No store is named so, or it was left out when the program was built.
    #[error("{0}")]
    Spec(String),
}

impl<S: SessionStore + ?Sized> SessionStore for Arc<S> {
    fn append(&self, append: Append) -> Pending<'_, ()> {
        (**self).append(append)
    }

    fn load<'a>(&'a self, sessions: &'a [SessionId]) -> Pending<'a, Vec<Option<Stored>>> {
        (**self).load(sessions)
    }

    fn records<'a>(&'a self, session: &'a SessionId, from: u64, limit: usize) -> Pending<'a, Vec<Row>> {
        (**self).records(session, from, limit)
    }

    fn list(&self, query: Query) -> Pending<'_, Vec<Head>> {
        (**self).list(query)
    }

    fn remove<'a>(&'a self, session: &'a SessionId, removal: Removal) -> Pending<'a, ()> {
        (**self).remove(session, removal)
    }
}

impl fmt::Debug for dyn SessionStore + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SessionStore")
    }
}

//! The queue of a workspace, `runtime/queue.db`: incoming messages, cursors of channels, outgoing messages (orchestrator 9).
//!
//! ```text
//! inbound   new ──group──▶ taken (run) ──session ended──▶ done
//! outbox    queued ──▶ sending ──▶ sent        sending ──▶ queued (again) ──▶ dead
//! ```
//!
//! **Invariant:** after a crash, every row is in a state from which it continues; one key makes one row.

mod inbound;
mod looks;
mod moments;
mod notes;
mod outbox;
mod questions;
mod reactions;
mod recorded;
mod requests;

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use rusqlite::{Connection, ErrorCode};
use tokio::sync::Notify;

pub(crate) use self::questions::ASK_AGAIN_MS;
pub use self::{
    inbound::{InboundRow, Stored},
    outbox::{OutboxRow, QuestionState, RowState, is_later},
    questions::{AskedCall, WaitingCall},
    reactions::ReactionRow,
    requests::FileRequest,
};

/// The newest form of the tables.
const VERSION: i64 = FORMS.len() as i64;

/// Statements that make each form of the tables out of the one before, from none on.
const FORMS: [&str; 6] = [
    TABLES,
    "
-- The last message that had come in when a message began to be sent: what was said up to there is no answer to it.
alter table outbox add column heard integer;
update outbox set heard = (select coalesce(max(n), 0) from inbound) where state = 'sent';
-- The question of its session that a message answers.
alter table inbound add column asked integer;
-- Whether a message is conversation; of those that were there before, each is looked at.
alter table inbound add column talk integer not null default 0;
",
    "
-- What was sent since, and what cannot be sent, is written down.
create index outbox_sent on outbox (sent) where sent is not null;
create index outbox_dead on outbox (n) where state = 'dead';
",
    "
-- The files that came with a message, as JSON.
alter table inbound add column files text not null default '[]';
-- The name of the file that a text is sent as.
alter table outbox add column file text;
create index outbox_receipt on outbox (provider, chat, receipt) where receipt != '';
-- Calls that wait for somebody, with the time at which their chat is asked again.
create table questions (
  call text primary key,
  session text not null, provider text not null, chat text not null, thread text not null default '',
  again integer not null default 0, due integer
) without rowid;
-- What somebody reacted with to a message: each counts once, also where it is taken back.
create table reactions (
  n integer primary key,
  provider text not null, chat text not null, message text not null, sender text not null, sign text not null,
  stored integer not null, is_open integer not null default 1,
  unique (provider, chat, message, sender, sign)
);
create index reactions_open on reactions (n) where is_open;
-- Calls that wait for a file, with the message that brought it.
create table file_requests (
  call text primary key,
  session text not null, until integer not null, answer integer
) without rowid;
",
    "
-- Lines of the memory by the calls that write them, with the number of equal lines before: a call that is made again writes no second one.
create table notes (
  call text primary key,
  day text not null, line text not null, equal integer not null, stored integer not null
) without rowid;
",
    "
-- When a call began to wait for somebody, and whether those who may decide were asked beside its chat.
alter table questions add column since integer not null default 0;
alter table questions add column escalated integer not null default 0;
update questions set since = unixepoch() * 1000;
",
];

const TABLES: &str = "
create table inbound (
  n integer primary key,
  key text not null unique,
  provider text not null, chat text not null, thread text not null default '',
  id text not null, sender text not null, sender_name text not null, text text not null,
  at integer not null, stored integer not null,
  state text not null check (state in ('new', 'taken', 'done')),
  run text
);
create index inbound_open on inbound (state, n) where state != 'done';
create index inbound_run on inbound (run) where run is not null;
create table cursors (channel text primary key, cursor text not null) without rowid;
create table outbox (
  n integer primary key autoincrement,
  key text not null unique,
  provider text not null, chat text not null, thread text not null default '',
  text text not null,
  state text not null check (state in ('queued', 'sending', 'sent', 'dead', 'dropped')),
  attempts integer not null default 0, due integer not null, queued integer not null, sent integer,
  receipt text, code text, error text
);
create index outbox_open on outbox (state, n) where state in ('queued', 'sending');
create table settings (provider text not null, chat text not null, name text not null, value text not null, primary key (provider, chat, name)) without rowid;
";

/// The queue failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QueueError {
    /// SQLite says why.
    #[error("the queue `{file}` fails: {source}")]
    Sqlite {
        /// The file.
        file: String,
        /// The reason.
        source: rusqlite::Error,
    },
    /// It is no database any more.
    #[error("the queue `{file}` is damaged ({source}): put a copy back, or move it away to go on without what waits in it")]
    Damaged {
        /// The file.
        file: String,
        /// The reason.
        source: rusqlite::Error,
    },
    /// A newer program wrote it.
    #[error("the queue `{file}` was written by a newer program (form {found}, this one knows {VERSION}): it is left as it is")]
    Newer {
        /// The file.
        file: String,
        /// Its form.
        found: i64,
    },
    /// The work was aborted.
    #[error("the work on the queue was broken off: {0}")]
    Gone(String),
}

/// The queue of a workspace. Clones share it.
#[derive(Clone, Debug)]
pub struct Queue {
    file: PathBuf,
    connection: Arc<Mutex<Connection>>,
    /// Notified when a message came in, went out or cannot go out.
    pub news: Arc<Notify>,
}

impl Queue {
    /// Opens the queue, or makes it.
    ///
    /// # Errors
    /// The file cannot be used, or a newer program wrote it.
    pub fn open(file: &Path) -> Result<Self, QueueError> {
        let fails = |source: rusqlite::Error| {
            let file = file.display().to_string();
            match source.sqlite_error_code() {
                Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => QueueError::Damaged { file, source },
                _ => QueueError::Sqlite { file, source },
            }
        };
        // A file that cannot be made is refused by SQLite, with its reason.
        drop(make_private(file));
        let mut connection = Connection::open(file).map_err(fails)?;
        let found = make_tables(&mut connection).map_err(fails)?;
        if found > VERSION {
            return Err(QueueError::Newer { file: file.display().to_string(), found });
        }
        Ok(Self { file: file.to_owned(), connection: Arc::new(Mutex::new(connection)), news: Arc::default() })
    }

    /// Runs a function on the tables in one transaction, on a thread that may block.
    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&rusqlite::Transaction<'_>) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, QueueError> {
        let (connection, file) = (Arc::clone(&self.connection), self.file.display().to_string());
        let done = tokio::task::spawn_blocking(move || {
            let mut connection = connection.lock().unwrap_or_else(PoisonError::into_inner);
            let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
            let result = work(&transaction)?;
            transaction.commit()?;
            Ok(result)
        });
        match done.await {
            Ok(result) => result.map_err(|source| QueueError::Sqlite { file, source }),
            Err(error) => Err(QueueError::Gone(error.to_string())),
        }
    }

    /// The cursor of a channel, as it was stored with the last messages.
    ///
    /// # Errors
    /// The queue fails.
    pub async fn cursor(&self, channel: &str) -> Result<Option<String>, QueueError> {
        let channel = channel.to_owned();
        self.run(move |tables| first(tables, "select cursor from cursors where channel = ?1", [channel])).await
    }

    /// A setting of a chat, such as the format of its answers.
    ///
    /// # Errors
    /// The queue fails.
    pub async fn setting(&self, provider: &str, chat: &str, name: &'static str) -> Result<Option<String>, QueueError> {
        let (provider, chat) = (provider.to_owned(), chat.to_owned());
        let query = "select value from settings where provider = ?1 and chat = ?2 and name = ?3";
        self.run(move |tables| first(tables, query, (provider, chat, name))).await
    }

    /// Sets a setting of a chat.
    ///
    /// # Errors
    /// The queue fails.
    pub async fn set(&self, provider: &str, chat: &str, name: &'static str, value: &str) -> Result<(), QueueError> {
        let (provider, chat, value) = (provider.to_owned(), chat.to_owned(), value.to_owned());
        let command = "insert into settings values (?1, ?2, ?3, ?4) on conflict do update set value = excluded.value";
        self.run(move |tables| tables.execute(command, (provider, chat, name, value)).map(drop)).await
    }
}

/// Creates the file if it is missing, readable for its owner only, as SQLite makes the files beside it.
fn make_private(file: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
    let made = std::fs::OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(file)?;
    let mode = made.metadata()?.permissions().mode();
    if mode & 0o077 != 0 { made.set_permissions(std::fs::Permissions::from_mode(mode & 0o700)) } else { Ok(()) }
}

/// Creates missing tables, and returns the version of the existing ones.
fn make_tables(connection: &mut Connection) -> rusqlite::Result<i64> {
    connection.busy_timeout(std::time::Duration::from_secs(10))?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    // A channel does not deliver messages again once it was told that they are stored.
    connection.pragma_update(None, "synchronous", "full")?;
    let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    let found: i64 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
    for form in FORMS.iter().skip(usize::try_from(found).unwrap_or(usize::MAX)) {
        transaction.execute_batch(form)?;
    }
    if found <= VERSION {
        // Written also where it is the same: a file that may only be read opens without a complaint, and fails with the first message.
        transaction.pragma_update(None, "user_version", VERSION)?;
    }
    transaction.commit()?;
    Ok(found.max(VERSION))
}

fn first(tables: &rusqlite::Transaction<'_>, query: &str, values: impl rusqlite::Params) -> rusqlite::Result<Option<String>> {
    use rusqlite::OptionalExtension as _;
    tables.query_row(query, values, |row| row.get(0)).optional()
}

#[cfg(test)]
mod tests;

//! A store in a PostgreSQL: a schema with the tables `sessions`, `snapshots` and `records` (`1.sql`).
//!
//! Connections are pooled: sessions that write at the same time share the server's work for a commit. An append is one statement, and so one
//! transaction; its durability depends on the server's `synchronous_commit`, which is `on` by default.
//!
//! **Invariant:** a call takes no longer than its bound and makes at most one connection; a connection that was late is not used again.

mod migrate;
mod sql;

use std::{collections::BTreeMap, fmt, str::FromStr, sync::Arc, time::Duration};

use deadpool_postgres::{Manager, ManagerConfig, Object, Pool, PoolError, RecyclingMethod};
use serde::{Deserialize, de::value::StrDeserializer};
use tokio::{sync::OnceCell, time::timeout};
use tokio_postgres::{Config, Error, NoTls, error::SqlState, types::ToSql};
use trellis_core::SessionId;

use self::migrate::{MigrationError, migrate};
use super::{Append, Head, Pending, Query, Removal, Row, SessionStatus, SessionStore, StoreError, Stored, Which, address::Address};

/// The largest number of connections of one process.
const CONNECTIONS: usize = 16;

/// Stores sessions in a PostgreSQL.
pub struct PostgresStore {
    pool: Pool,
    schema: String,
    name: Arc<str>,
    bound: Duration,
    is_ready: OnceCell<()>,
}

impl PostgresStore {
    /// Creates a store at `postgres://user:password@host[:port]/database[?schema=name]`; its tables are in the schema, `trellis` by default. It
    /// connects at the first call, which creates missing tables.
    ///
    /// # Errors
    /// This is no such address, or it demands TLS, which is not offered.
    pub fn new(url: &str) -> Result<Self, StoreError> {
        Self::with_bound(url, Duration::from_secs(10))
    }

    /// Creates a store whose calls take at most this long; the default is 10 s.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn with_bound(url: &str, bound: Duration) -> Result<Self, StoreError> {
        let address = Address::new(url, "schema")?;
        let mut config =
            Config::from_str(&address.url).map_err(|_| address.malformed("postgres://user:password@host:5432/database?schema=trellis"))?;
        let name = address.shown;
        if config.get_ssl_mode() == tokio_postgres::config::SslMode::Require {
            let help = super::TUNNEL;
            return Err(StoreError::Spec(format!("{name} demands TLS (`sslmode=require`), which is not offered: {help}")));
        }
        let schema = address.own.unwrap_or_else(|| "trellis".to_owned());
        // The server gives up a little before we do, so that nothing is written behind our back much later.
        let millis = (bound / 10 * 9).as_millis();
        let set = format!("-c statement_timeout={millis} -c search_path=\"{schema}\" {}", config.get_options().unwrap_or_default());
        config.options(set).application_name("trellis").connect_timeout(bound / 2);
        let manager = Manager::from_config(config, NoTls, ManagerConfig { recycling_method: RecyclingMethod::Fast });
        let pool = Pool::builder(manager).max_size(CONNECTIONS).build();
        let pool = pool.map_err(|error| StoreError::Unavailable { store: Arc::clone(&name), message: error.to_string() })?;
        Ok(Self { pool, schema, name, bound, is_ready: OnceCell::new() })
    }

    /// Returns the settings by which the server could lose acknowledged records, a line each.
    ///
    /// # Errors
    /// It cannot be reached.
    pub async fn weaknesses(&self) -> Result<Vec<String>, StoreError> {
        let work = async {
            let row = self.ask("select current_setting('fsync'), current_setting('synchronous_commit')", &[]).await?;
            let Some(row) = row.first() else { return Ok(Vec::new()) };
            let (fsync, commit): (String, String) = (row.get(0), row.get(1));
            Ok(match (&*fsync, &*commit) {
                ("off", _) => vec!["`fsync` is `off`: a crash of its machine loses sessions; set it to `on`".to_owned()],
                (_, "off") => vec!["`synchronous_commit` is `off`: a crash loses the last steps; set it to `on`".to_owned()],
                _ => Vec::new(),
            })
        };
        self.bounded(work).await
    }

    /// Does `work` within the bound.
    fn bounded<'a, T: Send + 'a>(&'a self, work: impl Future<Output = Result<T, StoreError>> + Send + 'a) -> Pending<'a, T> {
        Box::pin(async move { timeout(self.bound, work).await.unwrap_or_else(|_| Err(self.late())) })
    }

    /// A connection to a store that is ready.
    async fn client(&self) -> Result<Object, StoreError> {
        self.is_ready.get_or_try_init(|| self.prepare()).await?;
        self.pool.get().await.map_err(|error| self.unreachable(&error))
    }

    async fn prepare(&self) -> Result<(), StoreError> {
        let mut client = self.pool.get().await.map_err(|error| self.unreachable(&error))?;
        migrate(&mut client, &self.schema, &self.name).await.map_err(|obstacle| match obstacle {
            MigrationError::Newer(error) => error,
            MigrationError::Failed(error) => self.failed(&error),
        })
    }

    /// Returns the rows of `statement`.
    async fn ask(&self, statement: &str, parameters: &[&(dyn ToSql + Sync)]) -> Result<Vec<tokio_postgres::Row>, StoreError> {
        let mut lent = PooledClient { client: Some(self.client().await?), is_done: false };
        let Some(client) = &lent.client else { return Ok(Vec::new()) };
        let answer = async {
            let statement = client.prepare_cached(statement).await?;
            client.query(&statement, parameters).await
        };
        let answer = answer.await;
        lent.is_done = !client.is_closed();
        answer.map_err(|error| self.failed(&error))
    }

    async fn count(&self, statement: &str, parameters: &[&(dyn ToSql + Sync)]) -> Result<i64, StoreError> {
        Ok(self.ask(statement, parameters).await?.first().map_or(0, |row| row.get(0)))
    }

    async fn put(&self, append: Append) -> Result<(), StoreError> {
        let Append { session, expected, records, head, snapshot } = append;
        let (name, records): (_, Vec<&str>) = (session.as_str(), records.iter().map(|record| &**record).collect());
        if [name, &*head.graph, head.node.as_str()].iter().any(|text| text.contains('\0')) {
            let message = "a name with the control code 0 has no place in a PostgreSQL".into();
            return Err(StoreError::Unwritable { store: Arc::clone(&self.name), message });
        }
        // A moment that a PostgreSQL cannot count to is the last one it can.
        let [at_first, next, began, at] = [expected, head.next, head.began, head.at].map(capped);
        let due = head.due.map(capped);
        let statement = if expected == 0 { sql::BEGIN_APPEND } else { sql::APPEND };
        let (node, standing, snapshot) = (head.node.as_str(), head.standing.as_str(), snapshot.as_deref());
        let (graph, program) = (&*head.graph, &*head.program);
        let parameters: [&(dyn ToSql + Sync); 12] =
            [&name, &at_first, &graph, &program, &next, &began, &at, &node, &standing, &due, &records, &snapshot];
        if self.count(statement, &parameters).await? == 1 {
            return Ok(());
        }
        let found = u64::try_from(self.count(sql::NEXT, &[&name]).await?).unwrap_or_default();
        Err(StoreError::Conflict { session, expected, found })
    }

    async fn take(&self, sessions: &[SessionId]) -> Result<Vec<Option<Stored>>, StoreError> {
        let names: Vec<_> = sessions.iter().map(SessionId::as_str).filter(|name| !name.contains('\0')).collect();
        let rows = self.ask(sql::LOAD, &[&names]).await?;
        let mut found = BTreeMap::new();
        for row in rows {
            let head = self.head(&row)?;
            let (seqs, texts): (Vec<i64>, Vec<String>) = (row.get(11), row.get(12));
            let snapshot = row.get::<_, Option<i64>>(9).map(|held| (number(held), row.get::<_, String>(10).into()));
            let records = seqs.into_iter().zip(texts).map(|(seq, text)| Row { seq: number(seq), text: Ok(text.into()) }).collect();
            found.insert(head.session.clone(), Stored { head, snapshot, records });
        }
        Ok(sessions.iter().map(|session| found.get(session).cloned()).collect())
    }

    async fn history(&self, session: &SessionId, from: u64, limit: usize) -> Result<Vec<Row>, StoreError> {
        if session.as_str().contains('\0') {
            return Ok(Vec::new());
        }
        let (from, limit) = (i64::try_from(from).unwrap_or(i64::MAX), i64::try_from(limit).unwrap_or(i64::MAX));
        let rows = self.ask(sql::SELECT_RECORDS, &[&session.as_str(), &from, &limit]).await?;
        Ok(rows.iter().map(|row| Row { seq: number(row.get(0)), text: Ok(row.get::<_, String>(1).into()) }).collect())
    }

    async fn page(&self, query: Query) -> Result<Vec<Head>, StoreError> {
        let Query { graph, which, after, limit } = query;
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let (after, session) = after.map_or((None, String::new()), |(after, session)| (Some(capped(after)), session.to_string()));
        let of_graph = usize::from(graph.is_some());
        let graph = graph.as_deref().unwrap_or_default();
        let rows = match which {
            Which::Newest => {
                let after = after.map_or(i64::MIN, |at| -at);
                let parameters: [&(dyn ToSql + Sync); 4] = [&after, &session, &limit, &graph];
                self.ask(sql::SELECT_NEWEST[of_graph], &parameters[..3 + of_graph]).await?
            }
            Which::Due(by) => {
                let parameters: [&(dyn ToSql + Sync); 5] = [&after.unwrap_or(i64::MIN), &session, &limit, &capped(by), &graph];
                self.ask(sql::SELECT_DUE[of_graph], &parameters[..4 + of_graph]).await?
            }
        };
        let listed = |row| match self.head(row) {
            Err(StoreError::Corrupt { .. }) => {
                let due = row.get::<_, Option<i64>>(8).map(number);
                Ok(Head { due, ..Head::unreadable(row.get::<_, &str>(0).into(), number(row.get(5))) })
            }
            head => head,
        };
        rows.iter().map(listed).collect()
    }

    async fn take_out(&self, session: &SessionId, removal: Removal) -> Result<(), StoreError> {
        let name = session.as_str();
        match removal {
            _ if name.contains('\0') => {}
            Removal::Before(seq) => drop(self.ask(sql::PRUNE, &[&name, &capped(seq)]).await?),
            Removal::Session { expected } => {
                if self.count(sql::REMOVE, &[&name, &capped(expected)]).await? == 0
                    && let Some(row) = self.ask(sql::NEXT, &[&name]).await?.first()
                {
                    return Err(StoreError::Conflict { session: session.clone(), expected, found: number(row.get(0)) });
                }
            }
        }
        Ok(())
    }

    fn head(&self, row: &tokio_postgres::Row) -> Result<Head, StoreError> {
        let session: &str = row.get(0);
        let standing: StrDeserializer<'_, serde::de::value::Error> = StrDeserializer::new(row.get(7));
        let standing = SessionStatus::deserialize(standing).map_err(|error| StoreError::Corrupt {
            place: format!("session `{session}` in {}", self.name),
            message: format!("its standing is none: {error}"),
        })?;
        Ok(Head {
            session: session.into(),
            graph: row.get::<_, &str>(1).into(),
            program: row.get::<_, &str>(2).into(),
            next: number(row.get(3)),
            began: number(row.get(4)),
            at: number(row.get(5)),
            node: row.get::<_, &str>(6).into(),
            standing,
            due: row.get::<_, Option<i64>>(8).map(number),
        })
    }

    fn late(&self) -> StoreError {
        StoreError::Unavailable { store: Arc::clone(&self.name), message: format!("no answer within {:?}", self.bound) }
    }

    fn unreachable(&self, error: &PoolError) -> StoreError {
        match error {
            PoolError::Backend(error) => self.failed(error),
            error => StoreError::Unavailable { store: Arc::clone(&self.name), message: error.to_string() },
        }
    }

    fn failed(&self, error: &Error) -> StoreError {
        let store = Arc::clone(&self.name);
        let message = match (error.as_db_error(), std::error::Error::source(error)) {
            (Some(error), _) => error.message().to_owned(),
            (None, Some(cause)) => cause.to_string(),
            (None, None) => error.to_string(),
        };
        let Some(code) = error.code() else { return StoreError::Unavailable { store, message } };
        let refuses = [
            SqlState::DISK_FULL,
            SqlState::OUT_OF_MEMORY,
            SqlState::READ_ONLY_SQL_TRANSACTION,
            SqlState::INSUFFICIENT_PRIVILEGE,
            SqlState::PROGRAM_LIMIT_EXCEEDED,
        ];
        match code {
            code if refuses.contains(code) => StoreError::Unwritable { store, message },
            &SqlState::DATA_CORRUPTED | &SqlState::INDEX_CORRUPTED => StoreError::Corrupt { place: store.to_string(), message },
            &SqlState::INVALID_PASSWORD | &SqlState::INVALID_AUTHORIZATION_SPECIFICATION => {
                StoreError::Unavailable { store, message: "it does not take this user and password".into() }
            }
            _ => StoreError::Unavailable { store, message },
        }
    }
}

/// A connection in use. One that is dropped with its answer outstanding, because that was late or is no longer needed, is closed.
struct PooledClient {
    client: Option<Object>,
    is_done: bool,
}

impl Drop for PooledClient {
    fn drop(&mut self) {
        if let Some(client) = self.client.take().filter(|_| !self.is_done) {
            drop(Object::take(client));
        }
    }
}

/// Converts a stored number, which is never negative.
fn number(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}

/// Converts a number, with those beyond the greatest as that.
fn capped(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

impl SessionStore for PostgresStore {
    fn append(&self, append: Append) -> Pending<'_, ()> {
        self.bounded(self.put(append))
    }

    fn load<'a>(&'a self, sessions: &'a [SessionId]) -> Pending<'a, Vec<Option<Stored>>> {
        self.bounded(self.take(sessions))
    }

    fn records<'a>(&'a self, session: &'a SessionId, from: u64, limit: usize) -> Pending<'a, Vec<Row>> {
        self.bounded(self.history(session, from, limit))
    }

    fn list(&self, query: Query) -> Pending<'_, Vec<Head>> {
        self.bounded(self.page(query))
    }

    fn remove<'a>(&'a self, session: &'a SessionId, removal: Removal) -> Pending<'a, ()> {
        self.bounded(self.take_out(session, removal))
    }
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresStore").field("store", &self.name).field("schema", &self.schema).finish_non_exhaustive()
    }
}

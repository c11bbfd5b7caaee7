//! The one connection to a Redis: made when it is needed, shared by all calls, forgotten when it fails.
//!
//! **Invariant:** a call takes no longer than its bound, and makes at most one connection. After a failure, for [`FAILURE_COOLDOWN`], calls fail with its
//! error, and none connects: however many sessions call, a server that is gone is not stormed.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use ::redis::{
    AsyncConnectionConfig, Client, ErrorKind, FromRedisValue, RedisError, Script, ScriptInvocation, ServerErrorKind,
    aio::MultiplexedConnection,
};
use tokio::{sync::Mutex, time::timeout};

use super::LAYOUT_FORMAT;
use crate::store::StoreError;

/// The time for which later calls fail with an earlier failure.
const FAILURE_COOLDOWN: Duration = Duration::from_millis(100);

pub(super) struct Link {
    client: Client,
    prefix: String,
    /// For errors.
    store: Arc<str>,
    pub(super) bound: Duration,
    open: Script,
    state: Mutex<State>,
    /// Connections with a smaller number failed, and are not used again.
    sound_from: AtomicU64,
}

enum State {
    Idle,
    Up { connection: MultiplexedConnection, number: u64 },
    Down { since: Instant, error: StoreError },
}

/// A connection, and which one it is.
struct PooledLink {
    connection: MultiplexedConnection,
    number: u64,
}

impl Link {
    pub(super) fn new(client: Client, prefix: String, store: Arc<str>, bound: Duration) -> Self {
        Self {
            client,
            prefix,
            store,
            bound,
            open: Script::new(include_str!("open.lua")),
            state: Mutex::new(State::Idle),
            sound_from: AtomicU64::new(0),
        }
    }

    /// Runs a script.
    pub(super) async fn run<T: FromRedisValue>(&self, script: &ScriptInvocation<'_>) -> Result<T, StoreError> {
        let mut number = None;
        let work = async {
            let mut lent = self.lend().await?;
            number = Some(lent.number);
            script.invoke_async(&mut lent.connection).await.map_err(|error| self.failed(&error))
        };
        let outcome = timeout(self.bound, work).await.unwrap_or_else(|_| Err(self.late()));
        if let (Err(StoreError::Unavailable { .. }), Some(number)) = (&outcome, number) {
            self.sound_from.fetch_max(number + 1, Ordering::Relaxed);
        }
        outcome
    }

    /// Returns the value of a setting of the server; `None` if the server does not disclose it.
    pub(super) async fn setting(&self, name: &str) -> Result<Option<String>, StoreError> {
        let work = async {
            let mut lent = self.lend().await?;
            let answer: Result<Vec<String>, _> = ::redis::cmd("CONFIG").arg("GET").arg(name).query_async(&mut lent.connection).await;
            match answer {
                Ok(answer) => Ok(answer.into_iter().nth(1)),
                Err(error) if error.is_io_error() => Err(self.failed(&error)),
                Err(_) => Ok(None),
            }
        };
        timeout(self.bound, work).await.unwrap_or_else(|_| Err(self.late()))
    }

    async fn lend(&self) -> Result<PooledLink, StoreError> {
        let mut state = self.state.lock().await;
        match &*state {
            State::Up { connection, number } if *number >= self.sound_from.load(Ordering::Relaxed) => {
                return Ok(PooledLink { connection: connection.clone(), number: *number });
            }
            State::Down { since, error } if since.elapsed() < FAILURE_COOLDOWN => return Err(error.clone()),
            _ => {}
        }
        // Half of the bound, so that a caller that waits for the lock gets the same error before its own bound.
        let made = timeout(self.bound / 2, self.connect()).await.unwrap_or_else(|_| Err(self.late()));
        match made {
            Ok(connection) => {
                let number = fresh();
                *state = State::Up { connection: connection.clone(), number };
                Ok(PooledLink { connection, number })
            }
            Err(error) => {
                *state = State::Down { since: Instant::now(), error: error.clone() };
                Err(error)
            }
        }
    }

    async fn connect(&self) -> Result<MultiplexedConnection, StoreError> {
        // The bounds are ours: one for the whole call.
        let config = AsyncConnectionConfig::new().set_connection_timeout(None).set_response_timeout(None);
        let connected = self.client.get_multiplexed_async_connection_with_config(&config).await;
        let mut connection = connected.map_err(|error| self.failed(&error))?;
        let mut open = self.open.arg(&self.prefix);
        let found: String = open.arg(LAYOUT_FORMAT).invoke_async(&mut connection).await.map_err(|error| self.failed(&error))?;
        match found.parse() {
            Ok(found) if found <= LAYOUT_FORMAT => Ok(connection),
            Ok(found) => Err(StoreError::Newer { store: Arc::clone(&self.store), found, known: LAYOUT_FORMAT }),
            Err(_) => Err(StoreError::Corrupt {
                place: format!("{}, key `{}:format`", self.store, self.prefix),
                message: "it holds no number; another program uses this prefix".into(),
            }),
        }
    }

    fn late(&self) -> StoreError {
        StoreError::Unavailable { store: Arc::clone(&self.store), message: format!("no answer within {:?}", self.bound) }
    }

    fn failed(&self, error: &RedisError) -> StoreError {
        let store = Arc::clone(&self.store);
        let message = error.to_string();
        match (error.kind(), error.code()) {
            (ErrorKind::Server(ServerErrorKind::ReadOnly | ServerErrorKind::NoPerm), _)
            | (_, Some("OOM" | "MISCONF" | "NOREPLICAS" | "READONLY" | "NOPERM")) => StoreError::Unwritable { store, message },
            (_, Some("WRONGTYPE")) => {
                let message = "a key holds another kind of value; another program uses this prefix".into();
                StoreError::Corrupt { place: format!("{store}, keys `{}:…`", self.prefix), message }
            }
            (ErrorKind::AuthenticationFailed, _) | (_, Some("NOAUTH" | "WRONGPASS")) => {
                StoreError::Unavailable { store, message: "it does not take this user and password".into() }
            }
            _ => StoreError::Unavailable { store, message },
        }
    }
}

/// Numbers connections.
fn fresh() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

//! The servers of a host: one connection each, opened at the first call, reused over reloads, closed when idle.
//!
//! **Invariant:** however many calls begin at once, a server is started once.

use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::{Instant, sleep};
use trellis_core::ToolError;

use super::{
    super::{Cancel, Pending, host::Resource},
    config::{Reach, ServerConfig},
    connection::Connection,
    failure::{left_alone, lost},
};
use crate::{Secrets, http::HttpClient};

/// A server that dies so often …
const DEATHS: usize = 3;

/// … within this time is left alone for as long.
const WITHIN: Duration = Duration::from_secs(60);

/// The servers that bindings of a host call, and their connections.
#[derive(Default)]
pub struct Servers(Mutex<Vec<Arc<Server>>>);

/// A server and its connection, where there is one.
pub(super) struct Server {
    config: ServerConfig,
    secrets: Secrets,
    http: HttpClient,
    /// Held while a connection is opened.
    opening: tokio::sync::Mutex<()>,
    state: Mutex<ServerState>,
    /// The connection is to be closed: another replaced it, or the host ends.
    retired: Cancel,
    /// The host ends.
    closed: Cancel,
}

#[derive(Default)]
struct ServerState {
    connection: Option<Arc<Connection>>,
    /// Calls that use it.
    calls: usize,
    /// The time at which the last one ended.
    last: Option<Instant>,
    deaths: VecDeque<Instant>,
}

/// The use of a connection by one call; it is not closed meanwhile.
pub(super) struct Lease {
    server: Arc<Server>,
    connection: Arc<Connection>,
}

impl Servers {
    /// The server of this definition; one of the same name that is defined otherwise closes when its calls are over.
    pub(super) fn get(&self, config: ServerConfig, secrets: &Secrets, http: &HttpClient) -> Arc<Server> {
        let mut servers = locked(&self.0);
        servers.retain(|server| !server.retired.is_cancelled() || locked(&server.state).connection.is_some());
        if let Some(known) = servers.iter().find(|server| server.config == config && !server.retired.is_cancelled()) {
            return Arc::clone(known);
        }
        servers.iter().filter(|server| server.config.is_same_place(&config)).for_each(|server| server.retired.cancel());
        let server = Arc::new(Server::new(config, secrets.clone(), http.clone()));
        servers.push(Arc::clone(&server));
        server
    }
}

impl Resource for Servers {
    /// Closes all connections, and opens none any more. Processes are asked to end, and ended by force after their grace period.
    fn close(&self) -> Pending<'_, ()> {
        Box::pin(async {
            let servers = std::mem::take(&mut *locked(&self.0));
            futures_util::future::join_all(servers.iter().map(|server| server.close())).await;
        })
    }
}

impl Server {
    fn new(config: ServerConfig, secrets: Secrets, http: HttpClient) -> Self {
        let (retired, closed) = (Cancel::new(), Cancel::new());
        Self { config, secrets, http, opening: tokio::sync::Mutex::default(), state: Mutex::default(), retired, closed }
    }

    pub(super) fn config(&self) -> &ServerConfig {
        &self.config
    }

    /// Returns the reasons why it could not start or be asked, found without either.
    pub(super) fn foreseen(&self) -> Vec<String> {
        let (why, sealed) = match &self.config.reach {
            Reach::Process(process, env) => (process.foreseen(), env),
            Reach::Url(_, headers) => (None, headers),
        };
        let unknown = sealed.names().into_iter().filter_map(|name| Some(self.secrets.find(name).err()?.to_string()));
        why.into_iter().chain(unknown).collect()
    }

    /// Returns a connection for one call. Opening it continues when the caller stops waiting, so that the next attempt finds it.
    ///
    /// # Errors
    /// There is none, and why.
    pub(super) async fn connection(self: &Arc<Self>) -> Result<Lease, ToolError> {
        if let Some(lease) = self.live() {
            return Ok(lease);
        }
        let opened = tokio::spawn(Arc::clone(self).open()).await;
        opened.unwrap_or_else(|_| Err(lost(&self.config.name, "was closed")))
    }

    fn live(self: &Arc<Self>) -> Option<Lease> {
        let mut state = locked(&self.state);
        let connection = state.connection.as_ref().filter(|connection| !connection.is_over())?;
        let connection = Arc::clone(connection);
        state.calls += 1;
        Some(Lease { server: Arc::clone(self), connection })
    }

    async fn open(self: Arc<Self>) -> Result<Lease, ToolError> {
        let _opening = self.opening.lock().await;
        if let Some(lease) = self.live() {
            return Ok(lease);
        }
        self.left_alone()?;
        let opened = tokio::select! {
            opened = Connection::open(&self.config, &self.secrets, &self.http) => opened,
            () = self.closed.cancelled() => return Err(lost(&self.config.name, "was closed")),
        };
        match opened {
            Ok(connection) => {
                let connection = Arc::new(connection);
                let mut state = locked(&self.state);
                state.connection = Some(Arc::clone(&connection));
                state.calls += 1;
                drop(state);
                tokio::spawn(Arc::clone(&self).keep(Arc::clone(&connection)));
                Ok(Lease { server: Arc::clone(&self), connection })
            }
            Err(failed) => {
                if failed.died {
                    self.died();
                }
                Err(failed.error)
            }
        }
    }

    /// Holds a connection until it ends, or is idle.
    async fn keep(self: Arc<Self>, connection: Arc<Connection>) {
        loop {
            let rest = self.rest();
            tokio::select! {
                () = connection.tap().end().cancelled() => {
                    self.leave(&connection);
                    self.died();
                    break;
                }
                () = sleep(rest) => {}
                () = self.retired.cancelled(), if rest > RETIRED => {}
            }
            if self.rest().is_zero() && self.leave(&connection) {
                break;
            }
        }
        connection.close().await;
    }

    /// Time until it may be closed, should no call come.
    fn rest(&self) -> Duration {
        let state = locked(&self.state);
        let idle = if self.retired.is_cancelled() { Duration::ZERO } else { self.config.idle };
        match state.last {
            Some(last) if state.calls == 0 => idle.saturating_sub(last.elapsed()),
            // It is checked again; `idle: 0` may not occupy a processor.
            _ => idle.max(RETIRED),
        }
    }

    /// Takes the connection away, if no call uses it or it is over.
    fn leave(&self, connection: &Arc<Connection>) -> bool {
        let mut state = locked(&self.state);
        let is_free = state.calls == 0 || connection.is_over();
        if is_free && state.connection.as_ref().is_some_and(|current| Arc::ptr_eq(current, connection)) {
            state.connection = None;
        }
        is_free
    }

    fn died(&self) {
        if self.closed.is_cancelled() {
            return;
        }
        let mut state = locked(&self.state);
        state.deaths.push_back(Instant::now());
        if state.deaths.len() > DEATHS {
            state.deaths.pop_front();
        }
    }

    fn left_alone(&self) -> Result<(), ToolError> {
        let state = locked(&self.state);
        let (Some(first), Some(last)) = (state.deaths.front(), state.deaths.back()) else { return Ok(()) };
        let rest = WITHIN.saturating_sub(last.elapsed());
        if state.deaths.len() < DEATHS || last.duration_since(*first) >= WITHIN || rest.is_zero() {
            return Ok(());
        }
        Err(left_alone(&self.config.name, rest))
    }

    async fn close(&self) {
        self.closed.cancel();
        self.retired.cancel();
        let _opening = self.opening.lock().await;
        let connection = locked(&self.state).connection.take();
        if let Some(connection) = connection {
            connection.close().await;
        }
    }
}

/// Time between two checks of a server that is to be closed and has calls.
const RETIRED: Duration = Duration::from_millis(100);

impl Lease {
    pub(super) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Time that the server has to answer a call that was stopped.
    pub(super) fn grace(&self) -> Duration {
        self.server.config.grace
    }

    /// Returns the error that the end of the connection is for this call.
    pub(super) fn gone(&self) -> ToolError {
        let is_alone = locked(&self.server.state).calls == 1;
        self.connection.gone(is_alone)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let mut state = locked(&self.server.state);
        state.calls -= 1;
        state.last = Some(Instant::now());
    }
}

impl fmt::Debug for Servers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(locked(&self.0).iter().map(|server| &server.config.name)).finish()
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Server").field(&self.config.name).finish()
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

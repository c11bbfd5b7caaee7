//! A service that the supervisor keeps running, and its status.

use async_trait::async_trait;
use serde::Serialize;

/// A service failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct DaemonError {
    /// The reason.
    pub why: String,
    /// True if the cause lies outside of the program, such as a full disk or a store that is away: it is gone some day, without anybody who starts the
    /// service.
    pub is_outside: bool,
}

impl DaemonError {
    /// The failure of an error.
    pub fn of(error: impl std::fmt::Display) -> Self {
        Self { why: error.to_string(), is_outside: false }
    }

    /// The failure of an error whose cause lies outside of the program.
    pub fn outside(error: impl std::fmt::Display) -> Self {
        Self { is_outside: true, ..Self::of(error) }
    }
}

/// A service: it works for as long as the process does.
#[async_trait]
pub trait Daemon: Send + Sync + 'static {
    /// Its name, which no other service has.
    fn name(&self) -> &str;

    /// Makes it ready; the next service starts after that.
    ///
    /// # Errors
    /// It cannot start now.
    async fn start(&self) -> Result<(), DaemonError> {
        Ok(())
    }

    /// Works until nothing is left to do. It may be dropped, and is called again then.
    ///
    /// # Errors
    /// It cannot continue.
    async fn run(&self) -> Result<(), DaemonError>;

    /// Answers health checks.
    ///
    /// # Errors
    /// It is unhealthy, which counts as no answer.
    async fn health(&self) -> Result<(), DaemonError> {
        Ok(())
    }

    /// Finishes the current work, while it still runs.
    async fn stop(&self) {}
}

impl std::fmt::Debug for dyn Daemon {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Daemon").field(&self.name()).finish()
    }
}

/// The state of a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DaemonState {
    /// It is getting ready.
    Starting,
    /// It works.
    Running,
    /// It failed, and starts again in a while.
    Waiting,
    /// It failed too often, and starts when somebody starts it.
    Down,
    /// There is nothing left for it to do.
    Ended,
    /// Somebody stopped it.
    Stopped,
}

impl DaemonState {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Down => "down",
            Self::Ended => "ended",
            Self::Stopped => "stopped",
        }
    }
}

/// The status of a service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DaemonStatus {
    /// Its name.
    pub name: String,
    /// Its state.
    pub state: DaemonState,
    /// The time of its last change, in milliseconds since 1970.
    pub since: u64,
    /// The reason of its last failure or bad health, as long as it lasts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The number of restarts after failures.
    pub restarts: u32,
}

impl DaemonStatus {
    pub(super) fn new(name: &str) -> Self {
        Self { name: name.to_owned(), state: DaemonState::Stopped, since: 0, error: None, restarts: 0 }
    }
}

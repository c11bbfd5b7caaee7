//! A service that the supervisor keeps running, and where it stands.

use async_trait::async_trait;
use serde::Serialize;

/// A service failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DaemonError(pub String);

impl DaemonError {
    /// The failure that an error tells of.
    pub fn of(error: impl std::fmt::Display) -> Self {
        Self(error.to_string())
    }
}

/// A service: something that works for as long as the process does.
#[async_trait]
pub trait Daemon: Send + Sync + 'static {
    /// Its name, which no other service has.
    fn name(&self) -> &str;

    /// Makes it ready; the next service starts behind that.
    ///
    /// # Errors
    /// It cannot start now.
    async fn start(&self) -> Result<(), DaemonError> {
        Ok(())
    }

    /// Works until there is nothing left to do. It may be dropped, and is called again then.
    ///
    /// # Errors
    /// It cannot go on.
    async fn run(&self) -> Result<(), DaemonError>;

    /// Answers when it is asked how it is.
    ///
    /// # Errors
    /// It is not well, which counts as no answer.
    async fn health(&self) -> Result<(), DaemonError> {
        Ok(())
    }

    /// Brings to an end what is under way, while it still runs.
    async fn stop(&self) {}
}

impl std::fmt::Debug for dyn Daemon {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Daemon").field(&self.name()).finish()
    }
}

/// How a service is.
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

/// Where a service stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DaemonStatus {
    /// Its name.
    pub name: String,
    /// How it is.
    pub state: DaemonState,
    /// Since when, in milliseconds since 1970.
    pub since: u64,
    /// Why it failed last, or is not well, as long as that is so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// How often it was started again because it failed.
    pub restarts: u32,
}

impl DaemonStatus {
    pub(super) fn new(name: &str) -> Self {
        Self { name: name.to_owned(), state: DaemonState::Stopped, since: 0, error: None, restarts: 0 }
    }
}

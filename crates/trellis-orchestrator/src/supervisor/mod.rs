//! The supervisor: starts services in order, checks their health, restarts those that failed, and stops them in reverse (orchestrator 8.3, 8.4).
//!
//! ```text
//! starting ──▶ running ──over──▶ ended
//!     ▲           │ error, panic, three late answers
//!     │           ▼
//!     └──1–60 s── waiting ──10 restarts in an hour──▶ down        stop ──▶ stopped        start: from ended, down, stopped
//! ```
//!
//! **Invariant:** an error of one service ends no other; each is stopped once, in the reverse order of the starts.

mod daemon;
mod keeper;
mod pulse;
mod restarts;

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use tokio::{
    sync::{broadcast, mpsc, oneshot},
    task::AbortHandle,
};

use self::keeper::{Order, keep};
pub use self::{
    daemon::{Daemon, DaemonError, DaemonState, DaemonStatus},
    pulse::Pulse,
};

use crate::state::{Health, Services};

/// The longest time for which the start of one service holds up the next.
const START_TIMEOUT: Duration = Duration::from_secs(10);
/// Changes that wait for a slow subscriber.
const MAX_PENDING_CHANGES: usize = 256;

/// There is no service of a name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no service `{name}`")]
pub struct UnknownDaemon {
    /// The name.
    pub name: String,
}

/// The services of a process.
#[derive(Debug)]
pub struct Supervisor {
    entries: Mutex<Vec<DaemonEntry>>,
    changes: broadcast::Sender<DaemonStatus>,
}

/// A service with its orders and its status.
#[derive(Debug)]
struct DaemonEntry {
    status: Arc<Mutex<DaemonStatus>>,
    orders: mpsc::UnboundedSender<Order>,
    keeper: AbortHandle,
}

impl Default for Supervisor {
    fn default() -> Self {
        Self { entries: Mutex::default(), changes: broadcast::channel(MAX_PENDING_CHANGES).0 }
    }
}

impl Supervisor {
    /// Starts a service behind those that were added before, and keeps it running: returns once it runs, fails, or takes long to start.
    pub async fn add(&self, daemon: Arc<dyn Daemon>) {
        let status = Arc::new(Mutex::new(DaemonStatus::new(daemon.name())));
        let (orders, ordered) = mpsc::unbounded_channel();
        let keeper = tokio::spawn(keep(daemon, ordered, Arc::clone(&status), self.changes.clone())).abort_handle();
        let (done, is_done) = oneshot::channel();
        drop(orders.send(Order::Start(done)));
        self.entries().push(DaemonEntry { status, orders, keeper });
        let _ = tokio::time::timeout(START_TIMEOUT, is_done).await;
    }

    /// Returns the statuses of all services, in the order of their starts.
    pub fn statuses(&self) -> Vec<DaemonStatus> {
        self.entries().iter().map(DaemonEntry::status).collect()
    }

    /// Returns the status of one service.
    pub fn status(&self, name: &str) -> Option<DaemonStatus> {
        self.statuses().into_iter().find(|status| status.name == name)
    }

    /// Changes of services from now on.
    pub fn subscribe(&self) -> broadcast::Receiver<DaemonStatus> {
        self.changes.subscribe()
    }

    /// Starts a service that does not run; its restarts are counted anew. One that runs continues.
    ///
    /// # Errors
    /// There is none of this name.
    pub async fn start(&self, name: &str) -> Result<(), UnknownDaemon> {
        self.order(name, Order::Start).await
    }

    /// Stops a service, until somebody starts it.
    ///
    /// # Errors
    /// As [`Supervisor::start`].
    pub async fn stop(&self, name: &str) -> Result<(), UnknownDaemon> {
        self.order(name, Order::Stop).await
    }

    /// Stops a service and starts it again.
    ///
    /// # Errors
    /// As [`Supervisor::start`].
    pub async fn restart(&self, name: &str) -> Result<(), UnknownDaemon> {
        self.order(name, Order::Restart).await
    }

    /// Stops all services in the reverse order of their starts, each once.
    pub async fn stop_all(&self) {
        let orders: Vec<_> = self.entries().iter().rev().map(|entry| entry.orders.clone()).collect();
        for orders in orders {
            tell(&orders, Order::Stop).await;
        }
    }

    async fn order(&self, name: &str, order: impl FnOnce(oneshot::Sender<()>) -> Order) -> Result<(), UnknownDaemon> {
        let orders = self.entries().iter().find(|entry| entry.status().name == name).map(|entry| entry.orders.clone());
        tell(&orders.ok_or_else(|| UnknownDaemon { name: name.to_owned() })?, order).await;
        Ok(())
    }

    fn entries(&self) -> std::sync::MutexGuard<'_, Vec<DaemonEntry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Services for Supervisor {
    fn states(&self) -> Vec<Health> {
        let state = |DaemonStatus { name, state, since, error, restarts }: DaemonStatus| {
            let state = state.as_str().to_owned();
            Health { name, state, since, error, restarts }
        };
        self.statuses().into_iter().map(state).collect()
    }

    async fn start(&self, name: &str) -> bool {
        Self::start(self, name).await.is_ok()
    }

    async fn restart(&self, name: &str) -> bool {
        Self::restart(self, name).await.is_ok()
    }
}

impl DaemonEntry {
    fn status(&self) -> DaemonStatus {
        self.status.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for DaemonEntry {
    fn drop(&mut self) {
        self.keeper.abort();
    }
}

/// Gives an order, and waits until it is carried out.
async fn tell(orders: &mpsc::UnboundedSender<Order>, order: impl FnOnce(oneshot::Sender<()>) -> Order) {
    let (done, is_done) = oneshot::channel();
    drop(orders.send(order(done)));
    // A service whose keeper is gone does not run.
    let _ = is_done.await;
}

#[cfg(test)]
mod tests;

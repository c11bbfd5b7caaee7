//! The thread of work that may wait for a disk: one that may block, or the current one if the disk responds sooner than such a thread starts.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use super::StoreError;

/// The response time up to which a disk is awaited in place: another thread would take about a tenth of it to start and to report.
const QUICK: Duration = Duration::from_micros(500);

/// The last response of a disk. It is unknown at first: no caller waits for a disk that may be slow.
#[derive(Debug, Default)]
pub(super) struct Pace {
    is_quick: AtomicBool,
}

impl Pace {
    /// Returns whether the caller may do it in place.
    pub(super) fn is_quick(&self) -> bool {
        self.is_quick.load(Ordering::Relaxed)
    }

    #[cfg(test)]
    pub(super) fn set(&self, is_quick: bool) {
        self.is_quick.store(is_quick, Ordering::Relaxed);
    }

    /// Does something, and remembers how long that took.
    pub(super) fn timed<T>(&self, act: impl FnOnce() -> T) -> T {
        let began = Instant::now();
        let done = act();
        self.is_quick.store(began.elapsed() < QUICK, Ordering::Relaxed);
        done
    }
}

/// Does work that may wait for a disk on a thread of tokio that may block.
pub(super) async fn run_blocking<T: Send + 'static>(
    store: Arc<str>,
    act: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    match tokio::task::spawn_blocking(act).await {
        Ok(done) => done,
        Err(error) => Err(StoreError::Unavailable { store, message: error.to_string() }),
    }
}

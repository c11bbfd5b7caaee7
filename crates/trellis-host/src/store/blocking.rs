//! Where work is done that may wait for a disk: on a thread that may block, or at once where the disk answers sooner than such a thread does.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use super::StoreError;

/// A disk that answers within this time is waited for: another thread would take about a tenth of it to begin and to tell.
const QUICK: Duration = Duration::from_micros(500);

/// How a disk answered the last time. Nothing is known at first: nobody is made to wait for a disk that may be slow.
#[derive(Debug, Default)]
pub(super) struct Pace {
    is_quick: AtomicBool,
}

impl Pace {
    /// Whether the one who asks may do it.
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

/// Does what may wait for a disk on a thread of tokio that may block.
pub(super) async fn aside<T: Send + 'static>(
    store: Arc<str>,
    act: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    match tokio::task::spawn_blocking(act).await {
        Ok(done) => done,
        Err(error) => Err(StoreError::Unavailable { store, message: error.to_string() }),
    }
}

//! A clock that a test moves.
//!
//! **Invariant:** it never goes backwards.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::time::Instant;

use crate::Clock;

/// A clock for tests.
///
/// A [new](Self::new) one goes as the timers of tokio go. In a test whose time is paused (`#[tokio::test(start_paused = true)]`) it stands still
/// until the test moves it, or until everything waits: then it goes straight to the next sleep or timeout, which takes no time at all. One that
/// [stands still](Self::still) moves only when it is told to.
///
/// Clones show the same time.
#[derive(Clone, Debug)]
pub struct TestClock {
    at: u64,
    /// The time at which it was first asked; nothing for one that stands still.
    began: Option<Arc<OnceLock<Instant>>>,
    skipped: Arc<AtomicU64>,
}

impl TestClock {
    /// A clock that shows `at`, in milliseconds since 1970, when it is first asked.
    pub fn new(at: u64) -> Self {
        Self { at, began: Some(Arc::default()), skipped: Arc::default() }
    }

    /// A clock that shows `at`, in milliseconds since 1970, until it is told to [skip](Self::skip).
    pub fn still(at: u64) -> Self {
        Self { at, began: None, skipped: Arc::default() }
    }

    /// The clock for [`Sessions::clock`](crate::Sessions::clock) and others.
    pub fn clock(&self) -> Clock {
        let clock = self.clone();
        Clock::new(move || clock.now())
    }

    /// The time, in milliseconds since 1970.
    pub fn now(&self) -> u64 {
        let elapsed = self.began.as_ref().map(|began| began.get_or_init(Instant::now).elapsed()).unwrap_or_default();
        self.at.saturating_add(millis(elapsed)).saturating_add(self.skipped.load(Ordering::SeqCst))
    }

    /// Moves the time of the runtime on, timers included: what is due by then wakes, in order.
    ///
    /// # Panics
    /// The time of the runtime is not paused.
    pub async fn advance(&self, by: Duration) {
        self.now();
        tokio::time::advance(by).await;
    }

    /// Moves the clock alone, as if the machine had slept: what waits on a timer goes on waiting.
    pub fn skip(&self, by: Duration) {
        self.skipped.fetch_add(millis(by), Ordering::SeqCst);
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

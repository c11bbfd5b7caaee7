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
/// A [new](Self::new) one follows the timers of tokio. In a test whose time is paused (`#[tokio::test(start_paused = true)]`) it does not move
/// until the test moves it, or until everything waits: then it jumps to the next sleep or timeout, which takes no time at all. A
/// [still](Self::still) one moves only on request.
///
/// Clones show the same time.
///
/// ```
/// use std::time::Duration;
///
/// use trellis_host::testing::TestClock;
///
/// let clock = TestClock::still(1_000);
/// clock.skip(Duration::from_secs(60));
/// assert_eq!(clock.clock().now(), 61_000);
/// ```
#[derive(Clone, Debug)]
pub struct TestClock {
    at: u64,
    /// The time of its first use; `None` for a still one.
    began: Option<Arc<OnceLock<Instant>>>,
    skipped: Arc<AtomicU64>,
}

impl TestClock {
    /// A clock that shows `at`, in milliseconds since 1970, when it is first asked.
    pub fn new(at: u64) -> Self {
        Self { at, began: Some(Arc::default()), skipped: Arc::default() }
    }

    /// Creates a clock that shows `at`, in milliseconds since 1970, until a [skip](Self::skip).
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

    /// Advances the time of the runtime, timers included: those due by then fire, in order.
    ///
    /// # Panics
    /// The time of the runtime is not paused.
    pub async fn advance(&self, by: Duration) {
        self.now();
        tokio::time::advance(by).await;
    }

    /// Moves the clock alone, as if the machine had slept: waits on timers continue.
    pub fn skip(&self, by: Duration) {
        self.skipped.fetch_add(millis(by), Ordering::SeqCst);
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

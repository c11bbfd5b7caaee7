//! The time, handed in.

use std::{fmt, sync::Arc, time::SystemTime};

/// Returns the time for records, in milliseconds since 1970; injected, so that a test or a replay is exact.
///
/// ```
/// use trellis_host::Clock;
///
/// assert_eq!(Clock::fixed(1_700_000_000_000).now(), 1_700_000_000_000);
/// assert!(Clock::system().now() > 1_700_000_000_000);
/// ```
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> u64 + Send + Sync>);

impl Clock {
    /// A clock that asks `now`.
    pub fn new(now: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// The machine's clock.
    pub fn system() -> Self {
        Self::new(|| {
            let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
        })
    }

    /// Returns a clock with a fixed time.
    pub fn fixed(at: u64) -> Self {
        Self::new(move || at)
    }

    /// The time.
    pub fn now(&self) -> u64 {
        (self.0)()
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::system()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Clock").field(&self.now()).finish()
    }
}

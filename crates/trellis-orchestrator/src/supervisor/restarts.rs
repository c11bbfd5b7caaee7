//! The backoff and the bound of restarts after failures.

use std::{collections::VecDeque, time::Duration};

use tokio::time::Instant;

/// The wait before the first restart.
const FIRST_RESTART_BACKOFF: Duration = Duration::from_secs(1);
/// The longest wait.
const MAX_RESTART_BACKOFF: Duration = Duration::from_secs(60);
/// Restarts within an hour.
const MAX_RESTARTS: usize = 10;
/// The hour, by the monotonic clock.
const RESTART_WINDOW: Duration = Duration::from_secs(3600);

/// The restarts of a service within the last hour.
#[derive(Debug, Default)]
pub(super) struct Restarts {
    moments: VecDeque<Instant>,
    wait: Option<Duration>,
}

impl Restarts {
    /// The wait before the next restart of a service that ran for `ran`; `None` after too many. A failure whose cause is outside does not count.
    pub(super) fn next(&mut self, now: Instant, ran: Duration, is_outside: bool) -> Option<Duration> {
        self.moments.retain(|moment| now.duration_since(*moment) < RESTART_WINDOW);
        if !is_outside && self.moments.len() >= MAX_RESTARTS {
            return None;
        }
        // A service that ran for longer than the longest wait failed for another reason.
        let wait =
            self.wait.filter(|_| ran < MAX_RESTART_BACKOFF).map_or(FIRST_RESTART_BACKOFF, |wait| (wait * 2).min(MAX_RESTART_BACKOFF));
        if !is_outside {
            self.moments.push_back(now);
        }
        self.wait = Some(wait);
        Some(wait)
    }
}

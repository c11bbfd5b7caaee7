//! How soon a service that failed is started again, and when no more.

use std::{collections::VecDeque, time::Duration};

use tokio::time::Instant;

/// The wait before the first restart.
const FIRST: Duration = Duration::from_secs(1);
/// The longest wait.
const LONGEST: Duration = Duration::from_secs(60);
/// Restarts within an hour.
const MOST: usize = 10;
/// The hour, by the monotonic clock.
const HOUR: Duration = Duration::from_secs(3600);

/// The restarts of a service within the last hour.
#[derive(Debug, Default)]
pub(super) struct Restarts {
    moments: VecDeque<Instant>,
    wait: Option<Duration>,
}

impl Restarts {
    /// The wait before the next restart of a service that ran for `ran`; nothing once there were too many.
    pub(super) fn next(&mut self, now: Instant, ran: Duration) -> Option<Duration> {
        self.moments.retain(|moment| now.duration_since(*moment) < HOUR);
        if self.moments.len() >= MOST {
            return None;
        }
        // What ran well for longer than the longest wait failed for another reason.
        let wait = self.wait.filter(|_| ran < LONGEST).map_or(FIRST, |wait| (wait * 2).min(LONGEST));
        self.moments.push_back(now);
        self.wait = Some(wait);
        Some(wait)
    }
}

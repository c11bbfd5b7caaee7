//! The rest of a session, and its duration.

use std::time::Duration;

use super::Turn;

/// The waiting while a session sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SleepPolicy {
    /// It is slept until it is over, and calls are carried out.
    Whole,
    /// Sleeps and running calls are left to the scheduler.
    Brief,
    /// Sleeping sessions are left alone.
    None,
}

/// The point at which a session came to rest.
#[expect(clippy::large_enum_variant, reason = "it is handed on at once")]
pub(super) enum RestPoint {
    Stopped(Turn),
    /// It continues by itself then.
    Asleep(u64),
}

/// A duration in milliseconds.
pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

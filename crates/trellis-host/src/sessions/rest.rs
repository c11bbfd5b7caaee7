//! How a session rests, and how long.

use std::time::Duration;

use super::Turn;

/// Whether somebody waits while a session sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SleepPolicy {
    /// It is slept until it is over, and calls are carried out.
    Whole,
    /// What sleeps, and what is carried out, is left to whoever wakes sessions.
    Brief,
    /// What sleeps is left alone.
    None,
}

/// Where a session came to rest.
#[expect(clippy::large_enum_variant, reason = "it is handed on at once")]
pub(super) enum RestPoint {
    Stopped(Turn),
    /// It goes on by itself then.
    Asleep(u64),
}

/// A duration in milliseconds.
pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

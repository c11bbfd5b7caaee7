//! Moments as numbers.

use std::time::{SystemTime, UNIX_EPOCH};

/// A moment, in milliseconds since 1970.
pub(crate) fn millis(moment: SystemTime) -> u64 {
    u64::try_from(moment.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis()).unwrap_or(u64::MAX)
}

/// The time, in milliseconds since 1970.
pub(crate) fn now() -> u64 {
    millis(SystemTime::now())
}

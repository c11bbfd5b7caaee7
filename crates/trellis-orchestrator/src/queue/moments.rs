//! Moments as a database holds them.

/// A time as SQLite stores it.
pub(super) fn signed(moment: u64) -> i64 {
    i64::try_from(moment).unwrap_or(i64::MAX)
}

/// A time from SQLite.
pub(super) fn unsigned(moment: i64) -> u64 {
    u64::try_from(moment).unwrap_or_default()
}

//! Backoff of a message that could not be sent.

use std::time::Duration;

/// The longest wait, without jitter.
const CAP: u64 = 60_000;

/// The time before attempt `tried + 1`: 700 ms · 2^(tried − 1), at most a minute, and up to a fifth more, which `seed` decides.
pub fn requeue_after(tried: u32, seed: u64) -> Duration {
    let base = 700_u64.saturating_mul(1_u64.checked_shl(tried.saturating_sub(1)).unwrap_or(u64::MAX)).min(CAP);
    // A multiplication spreads numbers that follow each other.
    let spread = seed.wrapping_add(u64::from(tried)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    Duration::from_millis(base + base * (spread % 201) / 1000)
}

//! Another attempt of a call that went wrong: whether there is one, and after which delay (language 7.4, language 9.3).

use super::{ToolError, ToolErrorKind, ids};
use crate::state::{PendingCall, RetryRecord};

/// The instructions of an error about another attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Trying {
    /// True if there is no other attempt.
    pub(super) is_final: bool,
    /// Milliseconds before which one makes no sense.
    pub(super) after: u64,
}

impl Trying {
    pub(super) fn of(error: &ToolError) -> Self {
        Self { is_final: error.is_final, after: error.after.unwrap_or(0) }
    }
}

/// Returns whether a policy tries a call once more after this error.
pub(super) fn retries(retry: Option<&RetryRecord>, attempt: u32, error: &ToolError) -> bool {
    retry.filter(|_| !error.is_final).is_some_and(|retry| {
        let covered = if error.kind == ToolErrorKind::Timeout { retry.on_timeout } else { retry.on_error };
        covered && attempt < retry.max
    })
}

/// The attempt that follows one, after the larger of the delays that its policy and its error ask for.
pub(super) fn next_attempt(left: &PendingCall, retry: Option<&RetryRecord>, trying: Trying) -> PendingCall {
    let attempt = left.attempt.saturating_add(1);
    PendingCall { id: ids::call(&left.idempotency_key, attempt), attempt, delay: next_delay(retry, left.attempt, trying), ..left.clone() }
}

/// Milliseconds between the failed attempt `attempt` and the next one.
pub(super) fn next_delay(retry: Option<&RetryRecord>, attempt: u32, trying: Trying) -> u64 {
    retry.map_or(0, |retry| delay(retry, attempt)).max(trying.after)
}

/// Milliseconds after the failed attempt `attempt`: `base * factor^(attempt - 1)`, at most `cap`.
///
/// Multiplied step by step, because `powi` may round differently from platform to platform.
fn delay(retry: &RetryRecord, attempt: u32) -> u64 {
    /// The number of multiplications after which a factor that is not 1 has reached any cap that matters.
    const STEPS: u32 = 10_000;
    #[expect(clippy::cast_precision_loss, reason = "delays far below 2^53 ms are exact, longer ones need not be")]
    let (mut delay, cap) = (retry.base as f64, retry.cap as f64);
    for _ in 1..attempt.min(STEPS) {
        if delay >= cap {
            break;
        }
        delay *= retry.factor;
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a float saturates")]
    let delay = delay as u64;
    delay.min(retry.cap)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_grow_by_the_factor_up_to_the_cap() {
        let retry = RetryRecord { max: 9, base: 200, factor: 2.0, cap: 1_000, on_error: true, on_timeout: true };
        let delays: Vec<_> = (1..=5).map(|attempt| delay(&retry, attempt)).collect();
        assert_eq!(delays, [200, 400, 800, 1_000, 1_000]);
        assert_eq!(delay(&RetryRecord { factor: 1.0, ..retry.clone() }, u32::MAX), 200);
        assert_eq!(delay(&RetryRecord { base: 5_000, ..retry.clone() }, 1), 1_000);
        let after = |after| next_delay(Some(&retry), 1, Trying { is_final: false, after });
        assert_eq!((after(100), after(90_000)), (200, 90_000), "the cap bounds the policy, not what the error asks for");
    }
}

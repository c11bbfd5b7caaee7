//! Rate limits of a provider: how long to wait before the next request.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use crate::channel::{ChannelError, Reach};

/// The name for all chats of a provider.
pub(super) const ALL: &str = "";

/// The earliest times of the next requests: for all chats, and for single ones.
#[derive(Debug, Default)]
pub(super) struct Pace(Mutex<BTreeMap<String, Instant>>);

impl Pace {
    /// Sends nothing to a chat, or to [`ALL`] of them, for a while.
    pub(super) fn hold(&self, chat: &str, wait: Duration) {
        let Some(until) = Instant::now().checked_add(wait) else { return };
        let mut holds = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        holds.retain(|_, until| *until > Instant::now());
        let held = holds.entry(chat.to_owned()).or_insert(until);
        *held = until.max(*held);
    }

    /// Checks that something may be sent to a chat now.
    ///
    /// # Errors
    /// It may not, and nothing was sent; with the remaining wait.
    pub(super) fn permit(&self, chat: &str) -> Result<(), ChannelError> {
        let holds = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let until = [ALL, chat].iter().filter_map(|chat| holds.get(*chat)).max();
        match until.map(|until| until.saturating_duration_since(Instant::now())).filter(|wait| !wait.is_zero()) {
            None => Ok(()),
            Some(wait) => Err(ChannelError::new("paused", "the provider wants to be left alone").after(wait).reaching(Reach::Unsent)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // orchestrator 4: `Retry-After` rules the pace of all chats together, a bucket that of one
    #[test]
    fn a_hold_of_all_holds_every_chat() {
        let pace = Pace::default();
        pace.hold("a", Duration::from_secs(600));
        assert_eq!((pace.permit("a").is_err(), pace.permit("b")), (true, Ok(())));
        pace.hold(ALL, Duration::from_secs(60));
        let error = pace.permit("b").expect_err("it waits");
        assert!(error.reach == Reach::Unsent && error.after.is_some_and(|wait| wait <= Duration::from_secs(60)), "{error:?}");
        pace.hold("a", Duration::ZERO);
        assert!(pace.permit("a").expect_err("it waits").after.is_some_and(|wait| wait > Duration::from_secs(60)));
    }
}

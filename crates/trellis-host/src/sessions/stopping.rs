//! The end of a host: nothing new is taken, turns end, the rest is stored.

use std::{
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use super::{
    SendError, Sessions,
    persistence::KeepPoint,
    slot::{PanicSafeLock, Slot},
};

/// The unfinished work of a host when it stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stopped {
    /// Turns that did not end within the grace period and were broken off. Their sessions stay where they are stored: a call that was pending is made
    /// again, under the same key.
    pub broken_off: usize,
    /// Sessions that could not be stored: their steps since they were stored last did not happen.
    pub unstored: usize,
    /// Hooks that were not told everything in time.
    pub dropped: usize,
}

impl Sessions {
    /// Stops: refuses new work, gives current turns `grace` to come to their stops, interrupts the rest, stores every session, and waits until all
    /// events were reported to hooks. Later inputs are refused as [`SendError::Stopping`], and [`Sessions::drive`] returns.
    pub async fn stop(&self, grace: Duration) -> Stopped {
        self.is_stopping.store(true, Ordering::Release);
        self.sooner.notify_one();
        let slots: Vec<_> = self.slots.locked().values().map(Arc::clone).collect();
        let mut stopped = Stopped::default();
        let began = Instant::now();
        let mut late = Vec::new();
        for slot in slots {
            let is_late = match tokio::time::timeout(grace.saturating_sub(began.elapsed()), slot.driving.lock()).await {
                Ok(_driving) => {
                    stopped.unstored += usize::from(self.keep(&slot, &KeepPoint::Left).await.is_err());
                    false
                }
                Err(_) => true,
            };
            late.extend(is_late.then_some(slot));
        }
        stopped.broken_off = late.len();
        late.iter().for_each(|slot| slot.pause());
        for slot in late {
            stopped.unstored += usize::from(!self.broken_off(&slot).await);
        }
        stopped.dropped = self.flush().await;
        stopped
    }

    /// Waits for a session that was told to pause: a tool has its own grace period, a function is dropped. Returns whether all of it is stored then.
    async fn broken_off(&self, slot: &Slot) -> bool {
        let driving = tokio::time::timeout(BREAKING, slot.driving.lock()).await;
        driving.is_ok() && self.keep(slot, &KeepPoint::Left).await.is_ok()
    }

    /// Waits until all events so far were reported to every hook; returns the number of hooks that were late.
    pub(super) async fn flush(&self) -> usize {
        let mut late = 0;
        for hook in &self.hooks {
            late += usize::from(!hook.flush().await);
        }
        late
    }

    /// Checks that new work may be taken.
    pub(super) fn admit(&self) -> Result<(), SendError> {
        if self.is_stopping() { Err(SendError::Stopping) } else { Ok(()) }
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Acquire)
    }
}

/// The time that interrupting a turn may take.
const BREAKING: Duration = Duration::from_secs(10);

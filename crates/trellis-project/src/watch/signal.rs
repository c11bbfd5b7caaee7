//! The channel between the system's thread, which reports events, and the caller that waits for them.
//!
//! **Invariant:** events without a waiting caller take up no room, however many there are.

use std::{
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use super::scope::{Concern, Scope};
use crate::Extent;

/// Shared by the two.
#[derive(Debug, Default)]
pub(super) struct ChangeSignal {
    state: Mutex<State>,
    rung: Condvar,
}

#[derive(Debug, Default)]
struct State {
    scope: Arc<Scope>,
    stir: Option<Burst>,
    closed: bool,
}

/// The events since the last look.
#[derive(Clone, Debug)]
pub(super) struct Burst {
    pub(super) concern: Concern,
    pub(super) extent: Extent,
    first: Instant,
    last: Instant,
}

/// The outcome of a wait.
pub(super) enum Heard {
    Stir,
    Nothing,
    Closed,
}

impl ChangeSignal {
    /// Takes an event, or the news that some were lost.
    pub(super) fn event(&self, event: &notify::Result<notify::Event>) {
        // A statement of its own, so that the lock is free while the file is examined.
        let scope = Arc::clone(&self.lock().scope);
        let concern = event.as_ref().map_or(Some((Concern::Lost, Extent::Anything)), |event| scope.concern(event));
        if let Some((concern, extent)) = concern {
            self.stir(concern, extent);
        }
    }

    /// Reports that anything may have changed.
    pub(super) fn ring(&self, concern: Concern) {
        self.stir(concern, Extent::Anything);
    }

    fn stir(&self, concern: Concern, extent: Extent) {
        let now = Instant::now();
        let mut state = self.lock();
        let before = state.stir.take();
        let is_first = before.is_none();
        state.stir = Some(match before {
            None => Burst { concern, extent, first: now, last: now },
            Some(since) => Burst { concern: since.concern.max(concern), extent: since.extent.and(extent), last: now, ..since },
        });
        drop(state);
        // A caller that waits for the end of a burst looks by the clock; only the first event wakes one.
        if is_first {
            self.rung.notify_all();
        }
    }

    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.rung.notify_all();
    }

    /// From now on events are judged by this scope.
    pub(super) fn listen_for(&self, scope: Arc<Scope>) {
        self.lock().scope = scope;
    }

    /// Waits until something happened, at most so long.
    pub(super) fn wait(&self, patience: Duration) -> Heard {
        let still = |state: &mut State| state.stir.is_none() && !state.closed;
        let (state, _) = self.rung.wait_timeout_while(self.lock(), patience, still).unwrap_or_else(PoisonError::into_inner);
        match (state.closed, &state.stir) {
            (true, _) => Heard::Closed,
            (false, Some(_)) => Heard::Stir,
            (false, None) => Heard::Nothing,
        }
    }

    /// Waits until there was no event for `quiet`, or `most` has passed since the first; takes the events. `None` if it is closed, or there
    /// was no event.
    pub(super) fn settle(&self, quiet: Duration, most: Duration) -> Option<Burst> {
        loop {
            let left = {
                let mut state = self.lock();
                let stir = state.stir.as_ref().filter(|_| !state.closed)?;
                let until = (stir.last + quiet).min(stir.first + most);
                let left = until.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    return state.stir.take();
                }
                left
            };
            thread::sleep(left);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

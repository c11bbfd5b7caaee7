//! Where the system's thread says that something happened, and where the one who watches waits for it.
//!
//! **Invariant:** however much happens while nobody waits, it takes no room.

use std::{
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use super::scope::{Concern, Scope};

/// Shared by the two.
#[derive(Debug, Default)]
pub(super) struct Bell {
    state: Mutex<State>,
    rung: Condvar,
}

#[derive(Debug, Default)]
struct State {
    scope: Arc<Scope>,
    stir: Option<Stir>,
    closed: bool,
}

/// What happened since somebody looked.
#[derive(Clone, Copy, Debug)]
struct Stir {
    concern: Concern,
    first: Instant,
    last: Instant,
}

/// What a wait came to.
pub(super) enum Heard {
    Stir,
    Nothing,
    Closed,
}

impl Bell {
    /// Takes an event, or the news that some were lost.
    pub(super) fn event(&self, event: &notify::Result<notify::Event>) {
        // A statement of its own, so that the lock is free while the file is looked at.
        let scope = Arc::clone(&self.lock().scope);
        let concern = event.as_ref().map_or(Some(Concern::Lost), |event| scope.concern(event));
        if let Some(concern) = concern {
            self.ring(concern);
        }
    }

    pub(super) fn ring(&self, concern: Concern) {
        let now = Instant::now();
        let mut state = self.lock();
        let before = state.stir;
        let since = before.unwrap_or(Stir { concern, first: now, last: now });
        state.stir = Some(Stir { concern: since.concern.max(concern), last: now, ..since });
        drop(state);
        // Whoever waits for the end of a burst looks by the clock; only the first event wakes somebody.
        if before.is_none() {
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
        match (state.closed, state.stir) {
            (true, _) => Heard::Closed,
            (false, Some(_)) => Heard::Stir,
            (false, None) => Heard::Nothing,
        }
    }

    /// Waits until nothing more has happened for `quiet`, or `most` has passed since the first; takes what
    /// happened. Nothing where it is closed, or nothing happened.
    pub(super) fn settle(&self, quiet: Duration, most: Duration) -> Option<Concern> {
        loop {
            let left = {
                let mut state = self.lock();
                let stir = state.stir.filter(|_| !state.closed)?;
                let until = (stir.last + quiet).min(stir.first + most);
                let left = until.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    state.stir = None;
                    return Some(stir.concern);
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

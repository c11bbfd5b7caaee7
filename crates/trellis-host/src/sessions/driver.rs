//! The futures that drive sessions here: a detached session without one waits for another process.

use std::sync::atomic::Ordering;

use super::{SessionEvent, Sessions, slot::Slot};

/// A future that drives sessions, until it is dropped.
pub(super) struct Driver<'s>(&'s Sessions);

impl<'s> Driver<'s> {
    pub(super) fn of(sessions: &'s Sessions) -> Self {
        sessions.drivers.fetch_add(1, Ordering::Relaxed);
        Self(sessions)
    }
}

impl Drop for Driver<'_> {
    fn drop(&mut self) {
        self.0.drivers.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Sessions {
    /// Reports once that a session works by itself while nothing here drives it.
    pub(super) fn warn_undriven(&self, slot: &Slot) {
        if self.drivers.load(Ordering::Relaxed) == 0 && !self.is_warned.swap(true, Ordering::Relaxed) {
            let why = "the session is left to a driver, and nothing here drives sessions: run `Sessions::drive` in this process or in another one";
            self.tell(slot, &SessionEvent::Trouble("not-driven", why.into()));
        }
    }
}

//! Sessions in memory: those that are in use, and, of a store's, those that were used last.
//!
//! **Invariant:** a session that the store has not, or has not all of, stays; looking for one that is nowhere leaves nothing.

use std::sync::{Arc, atomic::Ordering};

use trellis_core::SessionId;

use super::{
    SendError, Sessions,
    slot::{PanicSafeLock, RunningSession, Slot, SlotState},
};
use crate::store::check_name;

impl Sessions {
    /// The place of a session in memory.
    pub(super) fn found(&self, id: &SessionId) -> Option<Arc<Slot>> {
        self.slots.locked().get(id).map(Arc::clone)
    }

    /// Returns the slot of a session: one that is not in memory may be in the store. The caller gives it back by [`Sessions::leave`].
    pub(super) fn slot(&self, id: &SessionId) -> Result<Arc<Slot>, SendError> {
        let mut slots = self.slots.locked();
        if let Some(slot) = slots.get(id) {
            return Ok(Arc::clone(slot));
        }
        if self.persistence.is_none() || check_name(id.as_str()).is_err() {
            return Err(SendError::Unknown(id.clone()));
        }
        let slot = Arc::new(Slot::new(id.clone(), SlotState::Away));
        slots.insert(id.clone(), Arc::clone(&slot));
        Ok(slot)
    }

    /// Ends the use of a session: one that has ended, or is not in memory anyway, is dropped, and of the others those that were used last
    /// stay in memory.
    pub(super) fn leave(&self, slot: Arc<Slot>) {
        if self.persistence.is_none() || self.in_memory == usize::MAX {
            return;
        }
        slot.used.store(self.uses.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        let is_over = match &*slot.place.locked() {
            SlotState::Running(running) => running.session.state().ended.is_some(),
            SlotState::Away | SlotState::Gone => true,
            SlotState::Beginning(_) => false,
        };
        let id = slot.id.clone();
        drop(slot);
        if is_over {
            self.release(&id);
        }
        self.thin_out();
    }

    /// Ends the use of a session by its driver: one with values that no store has stays as one that was used last, since the question that its turn handed
    /// out could not be asked without them. Any other is dropped.
    pub(super) fn leave_driven(&self, id: &SessionId) {
        match self.found(id) {
            Some(slot) if slot.place.locked().running().is_some_and(RunningSession::has_redacted) => self.leave(slot),
            found => {
                drop(found);
                self.release(id);
            }
        }
    }

    /// Forgets those that were not used for the longest time, once there are a quarter more than there may be.
    fn thin_out(&self) {
        let slots = self.slots.locked();
        if slots.len() <= self.in_memory + self.in_memory / 4 {
            return;
        }
        let mut by_use: Vec<_> = slots.values().map(|slot| (slot.used.load(Ordering::Relaxed), slot.id.clone())).collect();
        drop(slots);
        let surplus = by_use.len() - self.in_memory;
        by_use.select_nth_unstable(surplus - 1);
        by_use.truncate(surplus);
        by_use.iter().for_each(|(_, id)| self.release(id));
    }

    /// Drops a session that the store has, unless it is in use: it is loaded when it is needed.
    pub fn release(&self, id: &SessionId) {
        let mut slots = self.slots.locked();
        let Some(slot) = slots.get(id).filter(|slot| self.persistence.is_some() && Arc::strong_count(slot) == 1) else { return };
        let is_stored = match &*slot.place.locked() {
            SlotState::Running(running) => running.is_whole_in_store(),
            SlotState::Away | SlotState::Gone => true,
            SlotState::Beginning(_) => false,
        };
        if is_stored {
            slots.remove(id);
        }
    }
}

impl RunningSession {
    /// Returns whether a session of its tree has a value that its graph redacts: the store has none of these.
    fn has_redacted(&self) -> bool {
        let (here, program) = (self.session.here(), self.session.engine().inspect());
        let mut states = std::iter::once(&here.state).chain(here.children.values().map(|child| &child.here.state));
        states.any(|state| program.redacted().any(|path| state.has(path)))
    }

    /// Returns whether the store has all of it: nothing is lost when it is dropped.
    fn is_whole_in_store(&self) -> bool {
        let is_written = self.is_stored && !self.is_ahead && self.session.journal().records().is_empty();
        is_written && self.said.is_empty() && !self.session.holds_input()
    }
}

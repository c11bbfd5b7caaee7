//! Observers: functions that see events of sessions as they occur.

use std::sync::{Arc, PoisonError, atomic::Ordering};

use trellis_core::SessionId;

use super::{
    MAX_HAPPENED, SessionEvent, Sessions,
    slot::{PanicSafeLock, Slot},
};
use crate::guard::guarded;

pub(super) type Observer = Arc<dyn Fn(&SessionId, &SessionEvent) + Send + Sync>;

impl Sessions {
    /// Shows events to `observe`, as they occur. It is called between steps, so it must be quick: a channel's sender is. A panic in it is counted
    /// ([`Sessions::dropped`]) and stops nothing.
    pub fn observe(&self, observe: impl Fn(&SessionId, &SessionEvent) + Send + Sync + 'static) {
        self.observers.write().unwrap_or_else(PoisonError::into_inner).push(Arc::new(observe));
    }

    /// Returns whether there is an observer.
    pub(super) fn is_observed(&self) -> bool {
        !self.observers.read().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    pub(super) fn tell(&self, slot: &Slot, event: &SessionEvent) {
        if event.is_for_a_turn() {
            slot.happened([event.clone()]);
        }
        self.observed(&slot.id)(event);
    }

    /// Reports an event of a session of a tree.
    pub(super) fn tell_in(&self, slot: &Slot, child: Option<&SessionId>, event: SessionEvent) {
        self.tell(slot, &event.of_child(child));
    }

    /// Returns a function that reports events of a session of a tree to its observers.
    pub(super) fn teller(&self, session: &SessionId, child: Option<&SessionId>) -> impl Fn(SessionEvent) + Send + Sync + use<> {
        let (tell, child) = (self.observed(session), child.cloned());
        move |event| tell(&event.of_child(child.as_ref()))
    }

    fn observed(&self, session: &SessionId) -> impl Fn(&SessionEvent) + Send + Sync + use<> {
        let (session, observers, dropped) = (session.clone(), Arc::clone(&self.observers), Arc::clone(&self.dropped));
        move |event| {
            for observe in observers.read().unwrap_or_else(PoisonError::into_inner).iter() {
                if guarded(|| observe(&session, event)).is_err() {
                    dropped.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
    }
}

impl Slot {
    /// Stores events for the next turn.
    pub(super) fn happened(&self, events: impl IntoIterator<Item = SessionEvent>) {
        let mut happened = self.happened.locked();
        happened.extend(events);
        // One more shows that there were more.
        let surplus = happened.len().saturating_sub(MAX_HAPPENED + 1);
        happened.drain(..surplus);
    }

    /// Returns the events since the last turn, and whether there were more.
    pub(super) fn take_happened(&self) -> (Vec<SessionEvent>, bool) {
        let mut happened = std::mem::take(&mut *self.happened.locked());
        let has_more = happened.len() > MAX_HAPPENED;
        happened.drain(..usize::from(has_more));
        (happened, has_more)
    }
}

impl SessionEvent {
    /// Returns whether a turn has it: pieces of values that also come whole are for observers.
    fn is_for_a_turn(&self) -> bool {
        !matches!(self.split().1, Self::Recorded(_) | Self::Progress(..) | Self::Delta(..) | Self::Sleeping(_))
    }
}

//! Beginnings: a session of a new name, or the one of that name that the store has.

use std::{collections::btree_map::Entry, sync::Arc};

use trellis_core::{SessionId, Start};

use super::{
    SendError, Sessions, Turn,
    slot::{PanicSafeLock, Slot, SlotState},
};
use crate::{
    journal::RequestKey,
    store::{StoreError, check_name},
};

/// Takes a session out that has not begun, unless it may still begin: its start failed, or was dropped, and may be repeated.
struct Unbegun<'s> {
    sessions: &'s Sessions,
    slot: &'s Arc<Slot>,
    /// True if its client is asked something first, or somebody told it to stop.
    may_begin: bool,
}

impl Drop for Unbegun<'_> {
    fn drop(&mut self) {
        let has_begun = !matches!(*self.slot.place.locked(), SlotState::Beginning(_));
        if self.may_begin || has_begun {
            return;
        }
        let mut slots = self.sessions.slots.locked();
        if slots.get(&self.slot.id).is_some_and(|slot| Arc::ptr_eq(slot, self.slot)) {
            slots.remove(&self.slot.id);
        }
    }
}

impl Sessions {
    /// Begins a session and continues to its first stop. A start without a name is `local`.
    ///
    /// # Errors
    /// The start is refused, or there is a session of that name; [`SendError::OtherGraph`] if that walks another graph of the store.
    pub async fn start(&self, start: Start) -> Result<Turn, SendError> {
        self.begun(start, None).await
    }

    /// Begins a session for a request, which is stored with the first record.
    ///
    /// # Errors
    /// As [`Sessions::start`]. [`SendError::Repeated`]: this request began the session.
    pub async fn start_by(&self, start: Start, request: RequestKey) -> Result<Turn, SendError> {
        match self.begun(start, Some(request.clone())).await {
            Err(SendError::Exists(id)) => Err(self.repeated_start(&id, &request).await?.unwrap_or(SendError::Exists(id))),
            turn => turn,
        }
    }

    async fn begun(&self, start: Start, request: Option<RequestKey>) -> Result<Turn, SendError> {
        self.admit()?;
        let id = start.session.clone().unwrap_or_else(|| SessionId::from("local"));
        check_name(id.as_str())?;
        if let Some(persistence) = &self.persistence {
            match self.loaded_once(persistence, &id).await {
                // Somebody may have removed the one that is in memory.
                Err(SendError::Unknown(_)) => self.release(&id),
                // Of another graph too.
                stored => return Err(stored.err().unwrap_or(SendError::Exists(id))),
            }
        }
        let start = Start { session: Some(id.clone()), seed: (self.draw)()?, ..start };
        let slot = Arc::new(Slot::new(id.clone(), SlotState::beginning(start, request)));
        match self.slots.locked().entry(id.clone()) {
            Entry::Occupied(_) => return Err(SendError::Exists(id)),
            Entry::Vacant(place) => drop(place.insert(Arc::clone(&slot))),
        }
        // A pause was that of one that is removed.
        self.end_pause(&id);
        let driven = {
            let mut unbegun = Unbegun { sessions: self, slot: &slot, may_begin: false };
            let driven = self.driven(&slot).await;
            unbegun.may_begin = matches!(driven, Ok(_) | Err(SendError::Stopped));
            driven
        };
        let turn = match driven {
            // Another process has a session of that name in the store.
            Err(SendError::Store(StoreError::Conflict { expected: 0, .. })) => {
                self.slots.locked().remove(&id);
                Err(SendError::Exists(id))
            }
            Err(refused @ (SendError::Start(_) | SendError::Store(_))) => {
                self.slots.locked().remove(&id);
                Err(refused)
            }
            turn => turn,
        };
        self.leave(slot);
        turn
    }

    /// Begins a session, or resumes the stored one of that name.
    ///
    /// # Errors
    /// As for [`Sessions::start`]; [`SendError::Exists`] if there is one, and the start has more than its name.
    pub async fn start_or_resume(&self, start: Start) -> Result<Turn, SendError> {
        let is_bare = start.context.is_empty() && start.at.is_none();
        match self.start(start).await {
            Err(SendError::Exists(id)) if is_bare && self.persistence.is_some() => self.resume(&id).await,
            turn => turn,
        }
    }
}

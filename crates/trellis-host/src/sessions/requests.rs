//! Requests: an input that a client sends twice under one name is taken once.
//!
//! **Invariant:** the name of a request is part of the record that it made, in the same append; a refused one made none, and is judged again.

use trellis_core::SessionId;

use super::{
    Reply, SendError, Sent, Sessions, Turn,
    slot::{PanicSafeLock, RunningSession, Slot},
};
use crate::{
    journal::{RequestKey, TakenRequests},
    store::Snapshot,
};

impl Sessions {
    /// As [`Sessions::send`], for a request, which is noted with the record that it makes.
    ///
    /// # Errors
    /// As [`Sessions::send`]. [`SendError::Repeated`]: the request was taken before, and nothing was done; with where the session is now.
    /// [`SendError::KeyReused`]: another request of that name was.
    pub async fn send_by(&self, id: &SessionId, sent: impl Into<Sent>, request: RequestKey) -> Result<Turn, SendError> {
        self.admit()?;
        let slot = self.slot(id)?;
        let turn = self.sent(&slot, sent.into(), Some(request)).await;
        self.leave(slot);
        turn
    }

    /// Returns whether the session took this request before.
    ///
    /// # Errors
    /// [`SendError::KeyReused`]: it took another one of that name. There is no such session, or it cannot be read.
    pub async fn has_taken(&self, id: &SessionId, request: &RequestKey) -> Result<bool, SendError> {
        let here = self.found(id).and_then(|slot| slot.place.locked().running().map(|running| running.taken(request)));
        let taken = match (here, &self.persistence) {
            (Some(taken), _) => taken,
            (None, Some(persistence)) => Snapshot::of(&self.loaded_once(persistence, id).await?)?.requests.find(request).cloned(),
            (None, None) => return Err(SendError::Unknown(id.clone())),
        };
        match taken {
            Some(taken) if !request.is_repeated(&taken) => Err(SendError::KeyReused(id.clone())),
            taken => Ok(taken.is_some()),
        }
    }

    /// Refuses a request that the session took before.
    pub(super) async fn admit_once(&self, slot: &Slot, request: Option<&RequestKey>) -> Result<(), SendError> {
        let Some(request) = request else { return Ok(()) };
        let taken = slot.place.locked().running().and_then(|running| running.taken(request));
        match taken {
            None => Ok(()),
            Some(taken) if request.is_repeated(&taken) => Err(SendError::Repeated(Box::new(self.present(slot).await?))),
            Some(_) => Err(SendError::KeyReused(slot.id.clone())),
        }
    }

    /// Takes an input of a client, and stores the requester with the record that it makes.
    pub(super) fn take_by(&self, slot: &Slot, to: Option<&SessionId>, reply: Reply, request: Option<RequestKey>) -> Result<(), SendError> {
        if let Some(request) = request {
            let noted = slot.place.locked().running_mut().map(|running| running.asked_by(Some(request.clone())));
            self.take(slot, to, reply).inspect_err(|_| {
                if let (Some(seq), Some(running)) = (noted, slot.place.locked().running_mut()) {
                    running.requests.retain(|waiting| *waiting != (seq, request.clone()));
                }
            })?;
        } else {
            self.take(slot, to, reply)?;
        }
        self.end_pause(&slot.id);
        Ok(())
    }

    /// Returns whether an existing session was begun by this request.
    pub(super) async fn repeated_start(&self, id: &SessionId, request: &RequestKey) -> Result<Option<SendError>, SendError> {
        let slot = self.slot(id)?;
        let refused = match self.arrived(&slot).await {
            Ok(()) => match self.wait_to_drive(&slot, |running| running.judge_request(Some(request))).await {
                Ok(_driving) => self.admit_once(&slot, Some(request)).await.err(),
                Err(refusal) => Some(refusal),
            },
            Err(error) => Some(error),
        };
        self.leave(slot);
        Ok(refused)
    }
}

impl RunningSession {
    /// The request of this name that was taken, stored or not.
    pub(super) fn taken(&self, request: &RequestKey) -> Option<RequestKey> {
        let stored = self.session.here().requests.find(request).cloned();
        let mut waiting = TakenRequests::default();
        self.requests.iter().for_each(|(_, request)| waiting.remember(Some(request)));
        stored.or_else(|| waiting.find(request).cloned())
    }

    /// Adds the requesters to the present records.
    pub(super) fn attribute(&mut self) {
        for (seq, request) in std::mem::take(&mut self.requests) {
            if !self.session.attribute(seq, &request) && seq >= self.session.journal().next_seq() {
                // Its step waits for a predicate.
                self.requests.push((seq, request));
            }
        }
    }

    /// Stores the requester of the next record, and returns the number of that record.
    pub(super) fn asked_by(&mut self, request: Option<RequestKey>) -> u64 {
        let next = self.session.journal().next_seq();
        self.requests.extend(request.map(|request| (next, request)));
        next
    }
}

//! Signals: taken at once, even while another caller advances the session, and acknowledged when they are stored.

use std::sync::Arc;

use tokio::sync::oneshot;
use trellis_core::{SessionId, SignalName};

use super::{
    SendError, Sessions, Turn,
    overheard::Overheard,
    persistence::KeepPoint,
    slot::{PanicSafeLock, Slot, SlotState},
};
use crate::{journal::RequestKey, store::StoreError};

/// A signal that the session took: its pending storage, and the first turn after it, if another caller gets that.
pub(super) struct Promise {
    stored: Option<oneshot::Receiver<Result<(), StoreError>>>,
    missed: Arc<Overheard>,
}

impl Promise {
    /// Takes what another caller got, for the caller that advances the session now.
    pub(super) fn overheard(&self) -> impl FnOnce(Turn) -> Turn + use<> {
        self.missed.take()
    }

    /// Waits until the session took the signal, and runs a call that it led to.
    pub(super) async fn runs_on(&self) {
        self.missed.running().await;
    }

    /// Returns its outcome, as far as it is known.
    pub(super) fn checked(&mut self) -> Result<(), SendError> {
        match self.stored.as_mut().map(oneshot::Receiver::try_recv) {
            Some(Ok(Err(error))) => Err(error.into()),
            _ => Ok(()),
        }
    }
}

impl Sessions {
    /// Hands the session a signal.
    pub(super) fn raise(
        &self,
        slot: &Slot,
        to: Option<&SessionId>,
        signal: &SignalName,
        request: Option<RequestKey>,
    ) -> Result<Promise, SendError> {
        let mut place = slot.place.locked();
        let missed = Arc::<Overheard>::default();
        let stored = match &mut *place {
            SlotState::Running(running) => {
                let to = to.filter(|to| **to != slot.id);
                if let Some(gone) = to.filter(|to| running.session.here_in(Some(to)).is_none()) {
                    return Err(SendError::UnknownChild(gone.clone()));
                }
                let before = running.requests.len();
                running.asked_by(request);
                running.session.raise(to, signal).inspect_err(|_| running.requests.truncate(before))?;
                running.overhearing.retain(|waiting| waiting.strong_count() > 0);
                running.overhearing.push(Arc::downgrade(&missed));
                let is_promised = self.persistence.is_some() && !running.session.holds_input();
                is_promised.then(|| {
                    let (sender, receiver) = oneshot::channel();
                    running.promised.push(sender);
                    receiver
                })
            }
            SlotState::Beginning(_) => return Err(SendError::NotBegun(signal.clone())),
            SlotState::Away | SlotState::Gone => return Err(SendError::Unknown(slot.id.clone())),
        };
        // Before the place is unlocked: whoever advances the session either has the signal, or knows that it was disturbed.
        slot.disturb();
        drop(place);
        self.end_pause(&slot.id);
        Ok(Promise { stored, missed })
    }

    /// Waits until a signal is stored: by the caller that advances the session, or here.
    pub(super) async fn durable(&self, slot: &Slot, promise: Promise) -> Result<(), SendError> {
        let Some(mut promise) = promise.stored else { return Ok(()) };
        let durable = tokio::select! {
            biased;
            durable = &mut promise => durable,
            _driving = slot.driving.lock() => {
                self.keep(slot, &KeepPoint::Left).await?;
                promise.await
            }
        };
        match durable {
            Ok(stored) => Ok(stored?),
            // The session was removed meanwhile; its new holder has the signal.
            Err(_) => Err(SendError::Unknown(slot.id.clone())),
        }
    }
}

//! Signals: taken at once, even while another caller advances the session, and acknowledged when they are stored.

use tokio::sync::oneshot;
use trellis_core::{SessionId, SignalName};

use super::{
    SendError, Sessions,
    persistence::KeepPoint,
    slot::{PanicSafeLock, Slot, SlotState},
};
use crate::{journal::RequestKey, store::StoreError};

/// The pending storage of a signal that the session took.
pub(super) struct Promise(Option<oneshot::Receiver<Result<(), StoreError>>>);

impl Promise {
    /// Returns its outcome, as far as it is known.
    pub(super) fn checked(&mut self) -> Result<(), SendError> {
        match self.0.as_mut().map(oneshot::Receiver::try_recv) {
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
        let promise = match &mut *place {
            SlotState::Running(running) => {
                let to = to.filter(|to| **to != slot.id);
                if let Some(gone) = to.filter(|to| running.session.here_in(Some(to)).is_none()) {
                    return Err(SendError::UnknownChild(gone.clone()));
                }
                let before = running.requests.len();
                running.asked_by(request);
                running.session.raise(to, signal).inspect_err(|_| running.requests.truncate(before))?;
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
        slot.disturb();
        Ok(Promise(promise))
    }

    /// Waits until a signal is stored: by the caller that advances the session, or here.
    pub(super) async fn durable(&self, slot: &Slot, promise: Promise) -> Result<(), SendError> {
        let Promise(Some(mut promise)) = promise else { return Ok(()) };
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

//! Signals, and results that settle calls by hand: taken at once, even while another caller advances the session, and acknowledged when they are
//! stored.

use std::sync::Arc;

use tokio::sync::oneshot;
use trellis_core::{SessionId, SignalName};

use super::{
    SendError, Sessions, Turn,
    overheard::Overheard,
    persistence::KeepPoint,
    slot::{PanicSafeLock, RunningSession, Slot, SlotState},
};
use crate::{journal::RequestKey, store::StoreError};

/// Something that the session took at once: its pending storage, and the first turn after it, if another caller gets that.
pub(super) struct Promise {
    stored: Option<oneshot::Receiver<Result<(), StoreError>>>,
    missed: Arc<Overheard>,
}

impl Promise {
    /// Takes what another caller got, for the caller that advances the session now.
    pub(super) fn overheard(&self) -> impl FnOnce(Turn) -> Turn + use<> {
        self.missed.take()
    }

    /// Waits until the session took it, and runs a call that it led to.
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
    /// Hands the session something that it takes at once: a signal, a result that settles a call by hand. `unbegun` refuses it before the session
    /// began.
    pub(super) fn hand_in(
        &self,
        slot: &Slot,
        request: Option<RequestKey>,
        unbegun: SendError,
        act: impl FnOnce(&mut RunningSession) -> Result<(), SendError>,
    ) -> Result<Promise, SendError> {
        let mut place = slot.place.locked();
        let missed = Arc::<Overheard>::default();
        let stored = match &mut *place {
            SlotState::Running(running) => {
                let before = running.requests.len();
                running.asked_by(request);
                act(running).inspect_err(|_| running.requests.truncate(before))?;
                running.overhearing.retain(|waiting| waiting.strong_count() > 0);
                running.overhearing.push(Arc::downgrade(&missed));
                let is_promised = self.persistence.is_some() && !running.session.holds_input();
                is_promised.then(|| {
                    let (sender, receiver) = oneshot::channel();
                    running.promised.push(sender);
                    receiver
                })
            }
            SlotState::Beginning(_) => return Err(unbegun),
            SlotState::Away | SlotState::Gone => return Err(SendError::Unknown(slot.id.clone())),
        };
        // Before the place is unlocked: whoever advances the session either has it, or knows that it was disturbed.
        slot.disturb();
        drop(place);
        self.end_pause(&slot.id);
        Ok(Promise { stored, missed })
    }

    /// Waits until it is stored: by the caller that advances the session, or here.
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

/// Raises a signal in the session, or in the named session of its tree.
///
/// # Errors
/// No handler takes it, or there is no such child.
pub(super) fn raise(running: &mut RunningSession, root: &SessionId, to: Option<&SessionId>, signal: &SignalName) -> Result<(), SendError> {
    let to = to.filter(|to| *to != root);
    if let Some(gone) = to.filter(|to| running.session.here_in(Some(to)).is_none()) {
        return Err(SendError::UnknownChild(gone.clone()));
    }
    Ok(running.session.raise(to, signal)?)
}

//! What others do to a session that this process has in memory: another process, or an operator, appends to its journal.
//!
//! Nobody asks the store before each step: an append that comes second is a conflict, and then the session is loaded anew. What a client sent is
//! taken again where the session still shows what the client saw; else the client hears of the conflict.
//!
//! **Invariant:** no answer is taken to another question than the one that it was given to.

use trellis_core::State;

use super::{
    CONFLICTS, Reply, SendError, Sessions, Stop, Turn,
    slot::{Lock, Running, Slot},
};
use crate::store::{Approved, StoreError};

/// Where a session stood when a client answered.
struct Saw {
    /// The number of the first record that was not stored then.
    next: u64,
    version: u64,
    state: State,
    approved: Option<Approved>,
}

impl Saw {
    fn of(running: &Running) -> Self {
        let here = running.session.here();
        Self { next: running.stored_to(), version: running.version, state: here.state.clone(), approved: here.approved.clone() }
    }

    /// Whether a session that was loaded anew shows the same.
    fn is_shown_by(&self, running: &Running) -> bool {
        let (here, engine) = (running.session.here(), running.session.engine());
        let is_same = self.version == running.version && self.state.step == here.state.step && self.approved == here.approved;
        is_same && engine.render(&self.state).is_ok_and(|saw| engine.render(&here.state).is_ok_and(|shows| saw == shows))
    }
}

impl Sessions {
    /// Takes a reply, and goes on to the next stop. For one who holds `driving`.
    pub(super) async fn handed(&self, slot: &Slot, reply: Reply) -> Result<Turn, SendError> {
        let Some(mut saw) = self.saw(slot) else {
            self.take(slot, reply)?;
            return self.onward(slot).await;
        };
        self.take(slot, reply.clone())?;
        let stop = slot.place.locked().running_mut().and_then(|running| running.stop.take());
        for _ in 0..CONFLICTS {
            let turn = self.onward(slot).await;
            let Err(SendError::Store(StoreError::Conflict { expected, .. })) = &turn else { return turn };
            self.awake(slot).await?;
            // The reply is stored, what followed is not: it goes on from wherever others put it.
            if *expected > saw.next {
                continue;
            }
            if !self.shows_again(slot, &saw, stop.clone()) {
                return turn;
            }
            saw.next = self.saw(slot).map_or(saw.next, |saw| saw.next);
            self.take(slot, reply.clone())?;
        }
        self.onward(slot).await
    }

    /// Where a stored session stands.
    fn saw(&self, slot: &Slot) -> Option<Saw> {
        self.keeping.as_ref()?;
        slot.place.locked().running().map(Saw::of)
    }

    /// Lets a session that was loaded anew wait for what it waited for, if it shows what it showed.
    fn shows_again(&self, slot: &Slot, saw: &Saw, stop: Option<Stop>) -> bool {
        let mut place = slot.place.locked();
        let Some(running) = place.running_mut().filter(|running| saw.is_shown_by(running)) else { return false };
        running.stop = stop;
        true
    }

    /// Goes on until somebody else is needed; from what the store has, if that is more.
    pub(super) async fn renewed(&self, slot: &Slot) -> Result<Turn, SendError> {
        let _driving = slot.driving.lock().await;
        let next = slot.place.locked().running().filter(|running| running.is_stored).map(Running::stored_to);
        if let (Some(keeping), Some(next)) = (&self.keeping, next)
            // A store that does not answer says so when there is something to append.
            && keeping.store.records(&slot.id, next, 1).await.is_ok_and(|rows| !rows.is_empty())
        {
            slot.outdated(next + 1);
        }
        self.awake(slot).await?;
        self.onward(slot).await
    }
}

//! The first turn after a signal, for whoever raised it, where the turn goes to the caller that advanced the session.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::{MAX_HAPPENED, Said, SessionEvent, Turn};

/// The content and events of the first turn after a signal, if it went to the caller that advanced the session.
#[derive(Default)]
pub(super) struct Overheard {
    turn: Mutex<Option<FirstTurn>>,
    /// Wakes whoever raised the signal: there is no turn yet, since a call runs.
    runs: Notify,
}

#[derive(PartialEq)]
struct FirstTurn {
    said: Vec<Said>,
    happened: Vec<SessionEvent>,
    has_more: bool,
}

impl FirstTurn {
    fn of(turn: &Turn) -> Self {
        Self { said: turn.said.clone(), happened: turn.happened.clone(), has_more: turn.has_more }
    }
}

impl Overheard {
    fn lock(&self) -> MutexGuard<'_, Option<FirstTurn>> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes what another caller got: it is told before the turn of the one that advances the session now.
    pub(super) fn take(&self) -> impl FnOnce(Turn) -> Turn + use<> {
        let missed = self.lock().take();
        move |mut turn| {
            let Some(missed) = missed else { return turn };
            turn.said.splice(0..0, missed.said);
            turn.happened.splice(0..0, missed.happened);
            let surplus = turn.happened.len().saturating_sub(MAX_HAPPENED);
            turn.happened.drain(..surplus);
            turn.has_more |= surplus > 0 || missed.has_more;
            turn
        }
    }

    /// Stores what a turn tells, if it is the first.
    pub(super) fn hear(&self, turn: &Turn) {
        self.lock().get_or_insert_with(|| FirstTurn::of(turn));
    }

    /// Tells whoever raised the signal that the session took it, and runs a call.
    pub(super) fn hear_of_a_call(&self) {
        self.runs.notify_one();
    }

    /// Waits until the session runs a call after the signal.
    pub(super) async fn running(&self) {
        self.runs.notified().await;
    }

    /// Forgets a turn that nobody gets.
    pub(super) fn unhear(&self, turn: &Turn) {
        self.lock().take_if(|missed| *missed == FirstTurn::of(turn));
    }
}

//! ConnectionSlots of connections, up to a bound. While all are taken, a new connection gets the slot of the one that has waited longest for a request.
//!
//! **Invariant:** no connection loses its slot while a request of its is being answered.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::socket::HeaderWait;

/// The time after which a connection is looked for again: the one that was found may have begun a request, or still take its last answer.
const AGAIN: Duration = Duration::from_millis(50);

/// The slots of all connections.
#[derive(Debug)]
pub(crate) struct ConnectionSlots {
    free: Arc<Semaphore>,
    taken: Mutex<Vec<HeaderWait>>,
}

/// The slot of one connection.
#[derive(Debug)]
pub(crate) struct ConnectionSlot {
    /// The header that the connection waits for.
    pub(crate) wait: HeaderWait,
    slots: Arc<ConnectionSlots>,
    _permit: OwnedSemaphorePermit,
}

impl ConnectionSlots {
    pub(crate) fn new(count: usize) -> Self {
        Self { free: Arc::new(Semaphore::new(count)), taken: Mutex::default() }
    }

    /// Waits for a slot, and takes it.
    pub(crate) async fn take(self: &Arc<Self>) -> ConnectionSlot {
        loop {
            if self.free.available_permits() == 0 {
                self.free_longest();
            }
            if let Ok(Ok(permit)) = tokio::time::timeout(AGAIN, Arc::clone(&self.free).acquire_owned()).await {
                let wait = HeaderWait::default();
                self.taken.lock().unwrap_or_else(PoisonError::into_inner).push(wait.clone());
                return ConnectionSlot { wait, slots: Arc::clone(self), _permit: permit };
            }
        }
    }

    /// Ends the connection that has waited longest for a request, if one waits.
    fn free_longest(&self) {
        let taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(longest) = taken.iter().filter(|wait| wait.is_waiting()).min_by_key(|wait| wait.number()) {
            longest.give_up();
        }
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.slots.taken.lock().unwrap_or_else(PoisonError::into_inner).retain(|wait| !wait.is_same(&self.wait));
    }
}

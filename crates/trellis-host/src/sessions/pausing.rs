//! Pauses: a session that rests in this process until it is resumed.
//!
//! A pause is no record: another process with the store may advance the session.

use trellis_core::SessionId;

use super::{SendError, Sessions, slot::PanicSafeLock};

impl Sessions {
    /// Stops the work of a session here; it stays where it is, and a call that was under way stays pending under its key. A caller that waits for the
    /// turn gets [`SendError::Stopped`]. [`Sessions::drive`] leaves the session alone until [`Sessions::resume`], an answer or a signal.
    ///
    /// # Errors
    /// There is no such session in memory, so nothing of it runs here.
    pub fn pause(&self, id: &SessionId) -> Result<(), SendError> {
        let slot = self.found(id).ok_or_else(|| SendError::Unknown(id.clone()))?;
        self.paused.locked().insert(id.clone());
        slot.pause();
        Ok(())
    }

    /// Pauses a session like [`Sessions::pause`], also one that only the store has: this process does not resume it.
    ///
    /// # Errors
    /// There is no such session.
    pub async fn pause_stored(&self, id: &SessionId) -> Result<(), SendError> {
        if self.pause(id).is_ok() {
            return Ok(());
        }
        if !self.is_stored(id).await? {
            return Err(SendError::Unknown(id.clone()));
        }
        self.paused.locked().insert(id.clone());
        // It may have been loaded meanwhile.
        self.found(id).iter().for_each(|slot| slot.pause());
        Ok(())
    }

    /// Returns whether a session is paused here.
    pub fn is_paused(&self, id: &SessionId) -> bool {
        self.paused.locked().contains(id)
    }

    /// Ends the pause of a session that is resumed, or took an answer or a signal: a refused one changes nothing.
    pub(super) fn end_pause(&self, id: &SessionId) {
        if self.paused.locked().remove(id) {
            self.sooner.notify_one();
        }
    }
}

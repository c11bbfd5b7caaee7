//! The present errors of channels, for display.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

/// The errors of channels, by name. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct ChannelTroubles(Arc<Mutex<BTreeMap<String, String>>>);

impl ChannelTroubles {
    /// Sets the present error of a channel; `None` if all is well.
    pub fn set(&self, channel: &str, trouble: Option<String>) {
        let mut troubles = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match trouble {
            Some(trouble) => drop(troubles.insert(channel.to_owned(), trouble)),
            None => drop(troubles.remove(channel)),
        }
    }

    /// Returns the present error of a channel.
    pub fn of(&self, channel: &str) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(channel).cloned()
    }
}

//! What is wrong with channels now, for whoever looks.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

/// The troubles of channels, by name. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct ChannelTroubles(Arc<Mutex<BTreeMap<String, String>>>);

impl ChannelTroubles {
    /// Notes what is wrong with a channel now; nothing where all is well.
    pub fn set(&self, channel: &str, trouble: Option<String>) {
        let mut troubles = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match trouble {
            Some(trouble) => drop(troubles.insert(channel.to_owned(), trouble)),
            None => drop(troubles.remove(channel)),
        }
    }

    /// What is wrong with a channel now.
    pub fn of(&self, channel: &str) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(channel).cloned()
    }
}

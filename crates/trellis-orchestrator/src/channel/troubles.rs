//! The present errors of channels: for display, and to tell somebody of those that do not work at all.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

/// The error of a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelTrouble {
    /// Its words.
    pub why: String,
    /// The time since which the channel does not work at all, in milliseconds since 1970; `None` where only a part of it fails, such as one chat.
    pub since: Option<u64>,
}

/// The errors of channels, by name. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct ChannelTroubles(Arc<Mutex<BTreeMap<String, ChannelTrouble>>>);

impl ChannelTroubles {
    /// Notes that a channel works, but for a part of it that has this error; `None` if all is well.
    pub fn work(&self, channel: &str, but: Option<String>) {
        let mut troubles = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match but {
            Some(why) => drop(troubles.insert(channel.to_owned(), ChannelTrouble { why, since: None })),
            None => drop(troubles.remove(channel)),
        }
    }

    /// Notes that a channel does not work, at a time in milliseconds since 1970.
    pub fn fail(&self, channel: &str, why: String, now: u64) {
        let mut troubles = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let since = troubles.get(channel).and_then(|known| known.since).unwrap_or(now);
        troubles.insert(channel.to_owned(), ChannelTrouble { why, since: Some(since) });
    }

    /// Returns the present error of a channel.
    pub fn of(&self, channel: &str) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(channel).map(|trouble| trouble.why.clone())
    }

    /// The channels that do not work at all, by name.
    pub fn broken(&self) -> Vec<(String, ChannelTrouble)> {
        let troubles = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        troubles.iter().filter(|(_, trouble)| trouble.since.is_some()).map(|(name, trouble)| (name.clone(), trouble.clone())).collect()
    }
}

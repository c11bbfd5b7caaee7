//! Messages whose reactions are awaited, for a provider that has to be asked about each.

use std::sync::{Mutex, PoisonError};

use crate::message::ChatPlace;

/// Messages that are asked about in one look, so that a provider is not asked too much.
const EACH_LOOK: usize = 3;

/// Messages, a few of which are asked about in each look.
#[derive(Debug, Default)]
pub(super) struct Watched(Mutex<(Vec<(ChatPlace, String)>, usize)>);

impl Watched {
    pub(super) fn set(&self, messages: Vec<(ChatPlace, String)>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).0 = messages;
    }

    /// The messages of this look: those that were asked about longest ago.
    pub(super) fn next_few(&self) -> Vec<(ChatPlace, String)> {
        let mut watched = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (messages, next) = &mut *watched;
        let few = (0..messages.len().min(EACH_LOOK)).map(|offset| messages[(*next + offset) % messages.len()].clone()).collect();
        *next = (*next + EACH_LOOK) % messages.len().max(1);
        few
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_message_has_its_turn() {
        let watched = Watched::default();
        assert!(watched.next_few().is_empty());
        watched.set((0..4).map(|number| (ChatPlace::new("slack", "C1"), number.to_string())).collect());
        let looks: Vec<String> = (0..2).map(|_| watched.next_few().into_iter().map(|(_, name)| name).collect()).collect();
        assert_eq!(looks, ["012", "301"]);
        watched.set(vec![(ChatPlace::new("slack", "C1"), "9".to_owned())]);
        assert_eq!(watched.next_few().len(), 1);
    }
}

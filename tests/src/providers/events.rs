//! Moments of a provider, told to a test that waits for one.

use std::sync::mpsc::Sender;

use super::{FakeProvider, State};

/// Something that a provider is about to answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProviderEvent {
    /// A read that hands out so many messages.
    Read(usize),
    /// A message of the bot, and whether it is taken.
    Sent(bool),
}

impl FakeProvider {
    /// Tells `listener` what happens, right before it is answered: reads and messages of Slack, reads of Telegram.
    pub fn tell(&self, listener: Sender<ProviderEvent>) {
        self.state.lock().listener = Some(listener);
    }
}

impl State {
    pub(super) fn happens(&self, event: ProviderEvent) {
        if let Some(listener) = &self.listener {
            // Nobody listens any more.
            let _ = listener.send(event);
        }
    }
}

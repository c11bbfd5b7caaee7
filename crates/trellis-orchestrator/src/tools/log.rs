//! Where functions say what fails, which neither the model nor the chat is told in full.

use std::{
    fmt,
    sync::{Arc, OnceLock},
};

type Line = Arc<dyn Fn(&str) + Send + Sync>;

/// Takes lines about what fails, once something takes them.
#[derive(Default)]
pub struct HandsLog(OnceLock<Line>);

impl HandsLog {
    /// Hands lines to this from now on; the first one that is named gets them.
    pub fn open(&self, line: Line) {
        self.0.get_or_init(|| line);
    }

    /// Says something, if something listens.
    pub fn say(&self, line: &str) {
        if let Some(say) = self.0.get() {
            say(line);
        }
    }
}

impl fmt::Debug for HandsLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HandsLog").field(&self.0.get().is_some()).finish()
    }
}

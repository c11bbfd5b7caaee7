//! A graph that waits for its next edit.

use std::time::Duration;

use super::{Edit, Live};
use crate::{Wake, Watch};

/// The outcome of waiting for an edit.
#[derive(Clone, Debug)]
pub enum Waited {
    /// A file was saved.
    Edit(Edit),
    /// The time is over, and no file changed.
    Elapsed,
    /// The watch was closed.
    Closed,
}

impl Live {
    /// Waits for the next edit, at most `timeout`; without one for as long as it takes.
    pub fn next(&mut self, watch: &mut Watch, timeout: Option<Duration>) -> Waited {
        watch.also(self.scripts.files());
        loop {
            match watch.next(timeout) {
                Wake::Changed => {
                    if let Some(edit) = self.look_at(watch.extent()) {
                        return Waited::Edit(edit);
                    }
                }
                Wake::Elapsed => return Waited::Elapsed,
                Wake::Closed => return Waited::Closed,
            }
        }
    }
}

//! Bounds of a case.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

/// The bounds of the duration of a case.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Steps of all its sessions.
    pub steps: u64,
    /// The deadline.
    pub until: Option<Instant>,
    /// Set when nobody waits for it any more.
    pub interrupt: Arc<AtomicBool>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { steps: 10_000, until: None, interrupt: Arc::default() }
    }
}

impl Limits {
    /// The limit that was reached, if one was.
    pub(crate) fn reached(&self, steps: u64) -> Option<String> {
        let is_late = self.until.is_some_and(|until| Instant::now() > until);
        if steps >= self.steps {
            Some(format!("it took more than {} steps", self.steps))
        } else if self.interrupt.load(Ordering::Relaxed) {
            Some("it was interrupted".to_owned())
        } else {
            is_late.then(|| "it took longer than `--timeout` allows".to_owned())
        }
    }
}

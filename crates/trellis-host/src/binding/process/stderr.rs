//! Standard error of a process: masked first; then its lines are reported, and its end is stored for the message of a failure.

use tokio::time::Instant;

use super::super::{Progress, output::OutputTail, progress::ProgressLines};
use crate::secrets::{Mask, Masker, StreamEnd};

/// The standard error of a process.
pub(super) struct ErrorStream {
    masker: Masker,
    taken: Taken,
    read: u64,
    /// The number of bytes that are accepted.
    limit: u64,
}

/// The masked text: its end, and its lines.
#[derive(Default)]
struct Taken {
    tail: OutputTail,
    lines: ProgressLines,
}

impl Taken {
    fn take<'t>(&'t mut self, progress: Progress<'t>) -> impl FnMut(&[u8]) + 't {
        let now = Instant::now();
        move |part| {
            self.tail.push(part);
            self.lines.push(part, now, progress);
        }
    }
}

impl ErrorStream {
    pub(super) fn new(mask: Mask, limit: u64) -> Self {
        Self { masker: Masker::new(mask), taken: Taken::default(), read: 0, limit }
    }

    /// Takes the next bytes. Those beyond the bound are discarded.
    pub(super) fn push(&mut self, bytes: &[u8], progress: Progress<'_>) {
        let room = usize::try_from(self.limit.saturating_sub(self.read)).unwrap_or(usize::MAX);
        self.read += bytes.len() as u64;
        if room > 0 {
            self.masker.push(&bytes[..bytes.len().min(room)], &mut self.taken.take(progress));
        }
    }

    /// The bytes that are taken.
    pub(super) fn limit(&self) -> u64 {
        self.limit
    }

    /// Returns whether there was more than its bound.
    pub(super) fn is_over(&self) -> bool {
        self.read > self.limit
    }

    /// Passes retained text on; `is_whole` if all of it was read.
    pub(super) fn finish(&mut self, is_whole: bool, progress: Progress<'_>) {
        let end = if is_whole && !self.is_over() { StreamEnd::Whole } else { StreamEnd::Cut };
        self.masker.finish(end, &mut self.taken.take(progress));
        self.taken.lines.finish(Instant::now(), progress);
    }

    /// Its end, as a message.
    pub(super) fn message(&self) -> Option<String> {
        self.taken.tail.message()
    }
}

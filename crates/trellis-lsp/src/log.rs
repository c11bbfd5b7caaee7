//! The log of the server: warnings on standard error, and in a file also its links and refusals.

use std::{
    fs::File,
    io::Write as _,
    time::{SystemTime, UNIX_EPOCH},
};

/// The place where it goes.
#[derive(Debug, Default)]
pub(crate) struct Log(Option<File>);

impl Log {
    /// A log that is appended to a file, or that goes to standard error.
    pub(crate) fn new(file: Option<File>) -> Self {
        Self(file)
    }

    /// Notes what a person was told.
    pub(crate) fn warning(&mut self, message: &str) {
        if self.0.is_none() {
            let _ = writeln!(std::io::stderr(), "trellis lsp: {message}");
        }
        self.note(message);
    }

    /// Notes something that nobody needs to be told. A file that cannot be written is left alone.
    pub(crate) fn note(&mut self, message: &str) {
        if let Some(file) = &mut self.0 {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            let _ = writeln!(file, "{}.{:03} {message}", now.as_secs(), now.subsec_millis());
        }
    }
}

//! The browser of the person at this machine.

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::Duration,
};

/// The program that opens a file as its user wants it opened.
const OPENER: &str = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
/// Time that a browser has to read the file.
const READ_TIME: Duration = Duration::from_secs(60);

/// A file that leads the browser to an address with a token: arguments of programs are seen by everybody on a machine. It goes after a minute.
#[derive(Debug)]
pub(crate) struct LeadingPage(PathBuf);

impl LeadingPage {
    /// Writes the page into `file`, which is private and at `path`, and opens it.
    ///
    /// # Errors
    /// It cannot be written, or there is nothing that opens it.
    pub(crate) fn open(mut file: fs::File, path: &Path, address: &str) -> io::Result<Self> {
        let page = Self(path.to_owned());
        write!(
            file,
            "<!doctype html><title>Trellis</title><meta http-equiv=\"refresh\" content=\"0; url={address}\">\n<a href=\"{address}\">Trellis</a>\n"
        )?;
        drop(file);
        let mut opener = Command::new(OPENER);
        let mut child = opener.arg(path).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let path = path.to_owned();
        thread::spawn(move || {
            // The user sees whether it was opened.
            drop(child.wait());
            thread::sleep(READ_TIME);
            drop(fs::remove_file(path));
        });
        Ok(page)
    }
}

impl Drop for LeadingPage {
    fn drop(&mut self) {
        // It may be gone already.
        drop(fs::remove_file(&self.0));
    }
}

//! Somebody who sits at a terminal with any program: types, and waits for what it shows.

use std::{ffi::OsStr, num::NonZeroU16, path::Path};

use portable_pty::CommandBuilder;

use super::{
    look::{Detail, lines},
    terminal::{Size, Terminal},
};

/// A person with a program.
#[expect(missing_debug_implementations, reason = "a terminal has nothing to say but its screen")]
pub struct Person {
    terminal: Terminal,
    /// The folder as text, which no two runs share.
    place: String,
}

impl Person {
    /// Starts a program in a folder, on a terminal of 120 columns and 30 rows.
    ///
    /// # Panics
    /// There is no such program.
    pub fn start<A: AsRef<OsStr>>(program: &Path, args: &[A], folder: &Path, environment: &[(&str, &OsStr)]) -> Self {
        let mut command = CommandBuilder::new(program);
        command.args(args);
        command.cwd(folder);
        environment.iter().for_each(|(name, value)| command.env(name, value));
        let size = |cells: u16| NonZeroU16::new(cells).unwrap_or(NonZeroU16::MIN);
        let terminal = Terminal::start(command, Size { columns: size(120), rows: size(30) });
        Self { terminal, place: folder.to_string_lossy().into_owned() }
    }

    /// Types keys.
    pub fn types(&self, keys: &str) {
        self.terminal.send(keys.as_bytes());
    }

    /// Waits until the screen is as wanted.
    ///
    /// # Panics
    /// It never is.
    pub fn sees(&self, what: &str, wanted: impl Fn(&str) -> bool) {
        let look = |screen: &vt100::Screen| lines(screen, Detail { plain: true }, &self.place);
        if self.terminal.until(|screen| wanted(&look(screen)).then_some(())).is_none() {
            panic!("{what} never shows; the screen is\n{}", self.terminal.screen(look));
        }
    }
}

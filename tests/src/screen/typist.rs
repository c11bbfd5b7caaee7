//! Somebody who types at a program of others and looks at its screen.

use std::{num::NonZeroU16, path::Path};

use portable_pty::CommandBuilder;

use super::terminal::{Size, Terminal};

/// Somebody at a terminal, on which a program runs.
#[expect(missing_debug_implementations, reason = "a terminal has nothing to show but its screen")]
pub struct Typist(Terminal);

impl Typist {
    /// Starts a program with its arguments in a folder, on a window of 100 columns and 30 rows.
    ///
    /// # Panics
    /// There is no such program.
    pub fn start<'e>(program: &Path, args: &[&str], folder: &Path, variables: impl IntoIterator<Item = (&'e str, &'e Path)>) -> Self {
        let mut command = CommandBuilder::new(program);
        command.args(args);
        command.cwd(folder);
        command.env("TERM", "xterm-256color");
        variables.into_iter().for_each(|(name, value)| command.env(name, value));
        let side = |length| NonZeroU16::new(length).unwrap_or(NonZeroU16::MIN);
        Self(Terminal::start(command, Size { columns: side(100), rows: side(30) }))
    }

    /// Types; control characters are keys.
    pub fn type_keys(&self, keys: &str) {
        self.0.send(keys.as_bytes());
    }

    /// Waits until the screen shows a text.
    ///
    /// # Panics
    /// It never does.
    pub fn wait(&self, text: &str) {
        let shown = self.0.until(|screen| screen.contents().contains(text).then_some(()));
        assert!(shown.is_some(), "nothing shows {text:?}:\n{}", self.screen());
    }

    /// Waits until the screen shows a text no more.
    ///
    /// # Panics
    /// It always does.
    pub fn wait_without(&self, text: &str) {
        let gone = self.0.until(|screen| (!screen.contents().contains(text)).then_some(()));
        assert!(gone.is_some(), "{text:?} stays:\n{}", self.screen());
    }

    /// The screen as text.
    pub fn screen(&self) -> String {
        self.0.screen(|screen| screen.contents())
    }
}

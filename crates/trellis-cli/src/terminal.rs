//! Standard output and standard error: styled on a terminal, plain otherwise.
//!
//! `NO_COLOR`, `CLICOLOR`, `CLICOLOR_FORCE` and `TERM=dumb` are respected by anstream.
//!
//! **Invariant:** if standard output is closed, the program ends without a message and not with success ([`Closed`]).

use std::{
    env,
    io::{self, IsTerminal, Write},
};

use anstream::{AutoStream, ColorChoice};
use anstyle::Style;
use trellis_host::controls::escaped;

use crate::columns::wrapped;

/// Nobody reads standard output any more.
#[derive(Debug, thiserror::Error)]
#[error("standard output was closed")]
pub(crate) struct Closed;

/// The style of secondary text.
pub(crate) const QUIET: Style = Style::new().dimmed();
/// The style of the searched text.
pub(crate) const BOLD: Style = Style::new().bold();

/// Columns where the terminal does not say, or there is none.
const WIDTH: usize = 100;
/// Rows, likewise.
const HEIGHT: usize = 24;

/// Writes to standard output. What turns the text around it stands there as `\u202e`, which in JSON is the same text.
///
/// # Errors
/// [`Closed`], or an error of the system.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    let mut stream = AutoStream::auto(io::stdout());
    let written = stream.write_all(escaped(text).as_bytes()).and_then(|()| stream.flush());
    written.map_err(unwritten)
}

/// Returns the error of standard output that could not be written, with a remedy; [`Closed`] if nobody reads it any more.
pub(crate) fn unwritten(error: io::Error) -> anyhow::Error {
    match error.kind() {
        io::ErrorKind::BrokenPipe => Closed.into(),
        io::ErrorKind::StorageFull => {
            anyhow::anyhow!("standard output cannot be written: the disk is full\nmake room, or send it elsewhere")
        }
        _ => anyhow::Error::new(error).context("standard output cannot be written"),
    }
}

/// Writes to standard error, and ignores errors.
pub(crate) fn print_error(text: &str) {
    let mut stream = AutoStream::auto(io::stderr());
    let _ = stream.write_all(escaped(text).as_bytes()).and_then(|()| stream.flush());
}

/// Writes a line to standard error, broken at words on a terminal, and ignores errors.
pub(crate) fn print_note(line: &str) {
    let Width { columns, folds } = Width::of(&io::stderr());
    let lines = if folds { wrapped(line, columns) } else { vec![line.to_owned()] };
    print_error(&(lines.join("\n") + "\n"));
}

/// Returns whether standard output is closed, as far as that is known without writing.
pub(crate) fn is_closed() -> bool {
    #[cfg(unix)]
    {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let out = io::stdout();
        let mut asked = [PollFd::new(&out, PollFlags::empty())];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut asked, Some(&now)).is_ok_and(|answers| answers > 0) && asked[0].revents().intersects(PollFlags::ERR | PollFlags::HUP)
    }
    #[cfg(not(unix))]
    false
}

/// Returns whether standard output shows styles: a terminal, or one that the environment asks to be taken for.
pub(crate) fn is_styled() -> bool {
    let stdout = io::stdout();
    AutoStream::choice(&stdout) != ColorChoice::Never || stdout.is_terminal()
}

/// The abilities of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Look {
    /// True if styles are wanted. Without them marks say the same.
    pub(crate) styled: bool,
    /// True if its characters are more than ASCII.
    pub(crate) unicode: bool,
}

impl Look {
    /// Returns the look of standard output.
    pub(crate) fn of_stdout() -> Self {
        Self { styled: AutoStream::choice(&io::stdout()) != ColorChoice::Never, unicode: is_unicode(|name| env::var(name).ok()) }
    }

    /// Returns the first text if the terminal shows more than ASCII, otherwise the second.
    pub(crate) fn pick(self, unicode: &'static str, ascii: &'static str) -> &'static str {
        if self.unicode { unicode } else { ascii }
    }
}

/// Returns whether the locale says UTF-8, as the system reads it: the first of these variables that says anything. Where none does, nothing
/// was chosen, and terminals of today show it.
fn is_unicode(variable: impl Fn(&str) -> Option<String>) -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().filter_map(variable).find(|locale| !locale.is_empty());
    locale.is_none_or(|locale| locale.to_lowercase().replace('-', "").contains("utf8"))
}

/// Text for a writer that takes it as it is: without styles where standard output wants none.
pub(crate) fn adapted(text: String) -> String {
    match AutoStream::choice(&io::stdout()) {
        ColorChoice::Never => anstream::adapter::strip_str(&text).to_string(),
        _ => text,
    }
}

/// The local time of day of a moment, in milliseconds since 1970: `14:02:10`.
pub(crate) fn clock_time(moment: u64) -> String {
    let moment = i64::try_from(moment).ok().and_then(|moment| jiff::Timestamp::from_millisecond(moment).ok());
    moment.map_or_else(
        || "an unknown time".to_owned(),
        |moment| moment.to_zoned(jiff::tz::TimeZone::system()).strftime("%H:%M:%S").to_string(),
    )
}

/// Switches the echo of standard input on or off, if it is a terminal.
pub(crate) fn hide_typing(hidden: bool) {
    #[cfg(unix)]
    if let Ok(mut mode) = rustix::termios::tcgetattr(io::stdin()) {
        mode.local_modes.set(rustix::termios::LocalModes::ECHO, !hidden);
        let _ = rustix::termios::tcsetattr(io::stdin(), rustix::termios::OptionalActions::Now, &mode);
    }
    #[cfg(not(unix))]
    let _ = hidden;
}

/// The mode in which the terminal was found, while it hands on each key.
#[cfg(unix)]
static FOUND: std::sync::Mutex<Option<rustix::termios::Termios>> = std::sync::Mutex::new(None);

/// Returns true if the terminal on standard input is ours: a program in the background that reads from it is stopped.
#[cfg(unix)]
pub(crate) fn is_in_foreground() -> bool {
    rustix::termios::tcgetpgrp(io::stdin()).is_ok_and(|group| group == rustix::process::getpgrp())
}

/// Makes the terminal on standard input hand on each key without Enter, and show none. Ctrl-C and Ctrl-Z stay what they are.
#[cfg(unix)]
pub(crate) fn begin_keys() -> io::Result<()> {
    use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, tcgetattr, tcsetattr};
    let found = tcgetattr(io::stdin())?;
    let mut ours = found.clone();
    ours.local_modes -= LocalModes::ICANON | LocalModes::ECHO | LocalModes::ECHONL;
    ours.special_codes[SpecialCodeIndex::VMIN] = 1;
    ours.special_codes[SpecialCodeIndex::VTIME] = 0;
    if let Ok(mut stored) = FOUND.lock() {
        stored.get_or_insert(found);
    }
    Ok(tcsetattr(io::stdin(), OptionalActions::Now, &ours)?)
}

/// Puts the terminal back into the mode in which [`begin_keys`] found it.
pub(crate) fn end_keys() {
    #[cfg(unix)]
    if let Some(found) = FOUND.lock().ok().and_then(|mut stored| stored.take())
        && is_in_foreground()
    {
        let _ = rustix::termios::tcsetattr(io::stdin(), rustix::termios::OptionalActions::Now, &found);
    }
}

/// Columns of the terminal, within reason.
pub(crate) fn width() -> usize {
    let width = terminal_size::terminal_size().map_or(WIDTH, |(width, _)| usize::from(width.0));
    width.clamp(40, 160)
}

/// The width of a stream, and whether longer lines wrap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Width {
    pub(crate) columns: usize,
    /// On a terminal only: elsewhere a program may read line by line.
    pub(crate) folds: bool,
}

impl Width {
    /// Returns the width of a stream.
    pub(crate) fn of(stream: &impl IsTerminal) -> Self {
        Self { columns: width(), folds: stream.is_terminal() }
    }
}

/// Columns and rows of the terminal.
pub(crate) fn size() -> (usize, usize) {
    terminal_size::terminal_size().map_or((WIDTH, HEIGHT), |(columns, rows)| (usize::from(columns.0), usize::from(rows.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_beyond_all_calendars_is_no_panic() {
        assert_eq!(clock_time(u64::MAX), "an unknown time");
        assert_eq!(clock_time(0).len(), "14:02:10".len());
    }

    #[test]
    fn the_first_variable_that_says_anything_names_the_locale() {
        let with = |values: &'static [(&str, &str)]| {
            is_unicode(|name| values.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()))
        };
        assert!(with(&[]) && with(&[("LANG", "pt_PT.UTF-8")]) && with(&[("LC_ALL", ""), ("LC_CTYPE", "C.utf8"), ("LANG", "C")]));
        assert!(!with(&[("LC_ALL", "C"), ("LANG", "en_US.UTF-8")]) && !with(&[("LANG", "de_DE.ISO-8859-1")]));
    }
}

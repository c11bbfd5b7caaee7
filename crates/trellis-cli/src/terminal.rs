//! The program's two streams: styled where a person looks, plain elsewhere.
//!
//! `NO_COLOR`, `CLICOLOR`, `CLICOLOR_FORCE` and `TERM=dumb` are respected by anstream.
//!
//! **Invariant:** a reader that stops reading standard output ends the program without a word ([`Closed`]).

use std::io::{self, IsTerminal, Write};

use anstream::{AutoStream, ColorChoice};

/// Nobody reads standard output any more.
#[derive(Debug, thiserror::Error)]
#[error("standard output was closed")]
pub(crate) struct Closed;

/// Columns where the terminal does not say, or there is none.
const WIDTH: usize = 100;
/// Rows, likewise.
const HEIGHT: usize = 24;

/// Writes to standard output.
///
/// # Errors
/// [`Closed`], or what the system says.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    let mut stream = AutoStream::auto(io::stdout());
    let written = stream.write_all(text.as_bytes()).and_then(|()| stream.flush());
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(Closed.into()),
        other => Ok(other?),
    }
}

/// Writes to standard error; if nobody reads it, there is nobody to tell.
pub(crate) fn print_error(text: &str) {
    let mut stream = AutoStream::auto(io::stderr());
    let _ = stream.write_all(text.as_bytes()).and_then(|()| stream.flush());
}

/// Whether nobody reads standard output any more, as far as that can be known without writing.
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

/// Whether standard output shows styles: a terminal, or one that the environment asks to be taken for.
pub(crate) fn is_styled() -> bool {
    let stdout = io::stdout();
    AutoStream::choice(&stdout) != ColorChoice::Never || stdout.is_terminal()
}

/// Text for a writer that takes it as it is: without styles where standard output wants none.
pub(crate) fn adapted(text: String) -> String {
    match AutoStream::choice(&io::stdout()) {
        ColorChoice::Never => anstream::adapter::strip_str(&text).to_string(),
        _ => text,
    }
}

/// Columns of the terminal, within reason.
pub(crate) fn width() -> usize {
    let width = terminal_size::terminal_size().map_or(WIDTH, |(width, _)| usize::from(width.0));
    width.clamp(40, 160)
}

/// Columns and rows of the terminal.
pub(crate) fn size() -> (usize, usize) {
    terminal_size::terminal_size().map_or((WIDTH, HEIGHT), |(columns, rows)| (usize::from(columns.0), usize::from(rows.0)))
}

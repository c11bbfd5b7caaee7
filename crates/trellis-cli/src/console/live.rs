//! The live rows on the real terminal: the rows that it shows, its size, and its events.
//!
//! **Invariant:** once a terminal is closed, nothing is written to it or read from it; that is the end of input, not an error.

use std::{io, time::Duration};

use rustix::process::{Signal, kill_current_process_group};
use tokio::signal::unix::{self, SignalKind};

use super::{
    frame::Frame,
    keys::{Decoder, Key},
    rows::Window,
    tty::{self, Tty},
};
use crate::terminal::Look;

pub(super) struct Live {
    tty: Option<Tty>,
    look: Look,
    decoder: Decoder,
    /// The shown rows.
    frame: Frame,
    size: (usize, usize),
    gone: bool,
    /// True if the terminal rewraps its rows when its width changes.
    wraps_again: bool,
    signals: Signals,
}

struct Signals {
    resized: unix::Signal,
    continued: unix::Signal,
    hung_up: unix::Signal,
    terminated: unix::Signal,
}

/// An event of the terminal.
pub(super) enum Event {
    Keys(Vec<Key>),
    /// The window, or the time.
    Changed,
    /// The program was asked to end.
    Terminated,
}

impl Live {
    pub(super) fn new(mut tty: Tty, look: Look) -> io::Result<Self> {
        let signals = Signals {
            resized: unix::signal(SignalKind::window_change())?,
            continued: unix::signal(SignalKind::from_raw(Signal::CONT.as_raw()))?,
            hung_up: unix::signal(SignalKind::hangup())?,
            terminated: unix::signal(SignalKind::terminate())?,
        };
        Tty::enter()?;
        tty.listen()?;
        Ok(Self {
            tty: Some(tty),
            look,
            decoder: Decoder::default(),
            frame: Frame::default(),
            size: Tty::size(),
            gone: false,
            wraps_again: std::env::var_os("XTERM_VERSION").is_none(),
            signals,
        })
    }

    /// Gives the terminal back.
    pub(super) fn close(mut self) -> Option<Tty> {
        self.tty.take()
    }

    pub(super) fn is_gone(&self) -> bool {
        self.gone
    }

    pub(super) fn window(&self) -> Window {
        Window { room: self.size.0.saturating_sub(1).max(1), height: self.size.1, look: self.look }
    }

    /// Writes lines above the rows, and then these rows.
    pub(super) fn say(&mut self, text: &str, frame: &Frame) {
        let (text, frame) = (self.adapted(text), self.adapted_frame(frame));
        let change = self.frame.turned_into(&frame, &text);
        self.write(&change);
        self.frame = frame;
    }

    /// Draws rows.
    pub(super) fn draw(&mut self, frame: &Frame) {
        self.say("", frame);
    }

    /// Begins at the top of an empty screen.
    pub(super) fn clear(&mut self) {
        self.write("\x1b[H\x1b[2J");
        self.frame = Frame::default();
    }

    /// Suspends the program until the shell returns the terminal.
    pub(super) fn suspend(&mut self) {
        self.draw(&Frame::default());
        Tty::leave();
        let _ = kill_current_process_group(Signal::TSTP);
        self.resume();
    }

    fn resume(&mut self) {
        if Tty::enter().is_err() {
            self.gone = true;
        }
        self.size = Tty::size();
        // The shell has written over the rows since.
        self.frame = Frame::default();
    }

    /// Keys that were typed until now.
    pub(super) fn typed(&mut self) -> Vec<Key> {
        let mut keys = Vec::new();
        while let Some(bytes) = self.tty.as_mut().and_then(Tty::ready) {
            keys.extend(self.decoder.take(&bytes));
        }
        keys
    }

    /// Waits for the next event, or until this time is over. May be dropped: nothing is lost then.
    pub(super) async fn event(&mut self, after: Option<Duration>) -> Event {
        let Some(tty) = self.tty.as_mut().filter(|_| !self.gone) else { return std::future::pending().await };
        let time = async {
            match after {
                Some(after) => tokio::time::sleep(after).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            _ = self.signals.hung_up.recv() => self.gone = true,
            _ = self.signals.terminated.recv() => return Event::Terminated,
            _ = self.signals.resized.recv() => self.resized(),
            _ = self.signals.continued.recv() => {
                // After a stop of our own the rows stand already.
                self.draw(&Frame::default());
                self.resume();
            }
            bytes = tty.next() => match bytes {
                Some(bytes) => {
                    let mut keys = self.decoder.take(&bytes);
                    keys.extend(self.typed());
                    return Event::Keys(keys);
                }
                None => self.gone = true,
            },
            () = time => {}
        }
        Event::Changed
    }

    fn resized(&mut self) {
        // Also where the size is what it was: in between it may have been another, and what stood there is lost.
        self.size = Tty::size();
        // Xterm cuts rows that are too long now; others make more of them.
        let columns = if self.wraps_again { self.size.0 } else { usize::MAX };
        let removed = self.frame.removed(columns);
        self.write(&removed);
        self.frame = Frame::default();
    }

    fn write(&mut self, text: &str) {
        if !self.gone && !text.is_empty() && tty::write(text).is_err() {
            self.gone = true;
        }
    }

    fn adapted(&self, text: &str) -> String {
        if self.look.styled { text.to_owned() } else { anstream::adapter::strip_str(text).to_string() }
    }

    fn adapted_frame(&self, frame: &Frame) -> Frame {
        let row = |row: &String| match self.look.unicode {
            true => self.adapted(row),
            false => self.adapted(row).replace('…', "~"),
        };
        Frame { rows: frame.rows.iter().map(row).collect(), cursor: frame.cursor }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.draw(&Frame::default());
        Tty::leave();
    }
}

//! The keys of `trellis test --watch`, taken as they are pressed.
//!
//! **Invariant:** the terminal's mode is restored when the watch ends.

use std::sync::mpsc::Receiver;

use trellis_project::WatchHandle;

use crate::terminal;

/// A key that means something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WatchKey {
    /// Plays all cases.
    All,
    /// Plays the cases that failed.
    Failed,
    /// Writes what is shown.
    Accept,
    /// Plays the same cases again.
    Again,
    /// Ends the watch.
    Quit,
}

impl WatchKey {
    fn of(byte: u8) -> Option<Self> {
        match byte {
            b'a' => Some(Self::All),
            b'f' => Some(Self::Failed),
            b'u' => Some(Self::Accept),
            b'\n' | b'\r' => Some(Self::Again),
            // Ctrl-D, too.
            b'q' | 0x04 => Some(Self::Quit),
            _ => None,
        }
    }
}

/// The keys of a person at a terminal.
pub(super) struct Keys(Receiver<WatchKey>);

impl Keys {
    /// Begins to take keys, and rings at each; `None` where nobody sits at the terminal.
    ///
    /// # Errors
    /// The mode of the terminal cannot be changed.
    #[cfg(unix)]
    pub(super) fn listen(watch: WatchHandle) -> anyhow::Result<Option<Self>> {
        use std::io::{IsTerminal as _, stdin, stdout};
        if !stdin().is_terminal() || !stdout().is_terminal() || !terminal::is_in_foreground() {
            return Ok(None);
        }
        let (sender, pressed) = std::sync::mpsc::channel();
        terminal::begin_keys()?;
        let keys = Self(pressed);
        let take = move |byte| match WatchKey::of(byte) {
            Some(key) if sender.send(key).is_err() => false,
            Some(_) => {
                watch.wake();
                true
            }
            None => true,
        };
        std::thread::Builder::new().name("keys".to_owned()).spawn(move || read(take))?;
        Ok(Some(keys))
    }

    /// Takes no keys: elsewhere a terminal hands on only whole lines.
    ///
    /// # Errors
    /// None.
    #[cfg(not(unix))]
    #[expect(clippy::unnecessary_wraps, reason = "on Unix it fails")]
    pub(super) fn listen(_: WatchHandle) -> anyhow::Result<Option<Self>> {
        Ok(None)
    }

    /// The next key that was pressed, without waiting.
    pub(super) fn next(&self) -> Option<WatchKey> {
        self.0.try_recv().ok()
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        terminal::end_keys();
    }
}

/// Reads bytes of the terminal until one is not wanted, or the terminal is gone.
#[cfg(unix)]
pub(super) fn read(mut take: impl FnMut(u8) -> bool) {
    use rustix::{
        event::{PollFd, PollFlags, Timespec, poll},
        io::Errno,
    };
    /// The time after which a program in the background looks whether it is in the foreground again.
    const PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };
    let stdin = std::io::stdin();
    let mut byte = [0];
    loop {
        // Whoever reads in the background is stopped.
        match poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&PAUSE)) {
            Ok(0) | Err(Errno::INTR) => continue,
            Ok(_) if !terminal::is_in_foreground() => std::thread::sleep(std::time::Duration::from_millis(200)),
            Ok(_) => match rustix::io::read(&stdin, &mut byte) {
                Ok(1) if take(byte[0]) => {}
                Err(Errno::INTR | Errno::AGAIN) => {}
                _ => return,
            },
            Err(_) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_means_one_thing_or_nothing() {
        assert_eq!(
            [b'a', b'f', b'u', b'\r', b'\n', b'q'].map(WatchKey::of),
            [
                Some(WatchKey::All),
                Some(WatchKey::Failed),
                Some(WatchKey::Accept),
                Some(WatchKey::Again),
                Some(WatchKey::Again),
                Some(WatchKey::Quit)
            ]
        );
        assert!([b'x', b' ', 0x1b].map(WatchKey::of).iter().all(Option::is_none));
    }
}

//! The terminal itself: its mode, its bytes, its size.
//!
//! No library sets the mode: the output of a tool or of a panic keeps its line breaks, and Enter differs from Ctrl-J.
//! Nor does one read: a closed terminal must end a run, where the readers of libraries retry for ever.
//!
//! **Invariant:** the terminal's mode is restored when the program ends or is suspended: after a return, an error, a panic or a signal.

use std::{
    io::{self, IsTerminal, Write},
    sync::{Mutex, Once},
    time::Duration,
};

use rustix::termios::{InputModes, LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};
use tokio::sync::mpsc;

/// Bracketed paste on and off; the cursor is shown again.
const BEGIN: &str = "\x1b[?2004h";
const END: &str = "\x1b[?2004l\x1b[?25h";
/// Bytes that are read at once.
const CHUNK: usize = 1 << 16;
/// The time to wait for a terminal that is busy.
const PAUSE: Duration = Duration::from_millis(5);

/// The original mode of the terminal, stored while ours is on.
static FOUND: Mutex<Option<Termios>> = Mutex::new(None);

/// A terminal on standard input and output.
pub(crate) struct Tty {
    /// Bytes that were typed; closed when the terminal is gone. Nothing is read before somebody is asked: it may be meant for the shell.
    bytes: Option<mpsc::Receiver<Vec<u8>>>,
}

impl Tty {
    /// The terminal, if a person sits at one that understands more than lines.
    pub(crate) fn open() -> Option<Self> {
        let is_able = std::env::var_os("TERM").is_some_and(|term| !term.is_empty() && term != "dumb");
        if !is_able || !io::stdin().is_terminal() || !io::stdout().is_terminal() {
            return None;
        }
        tcgetattr(io::stdin()).ok().map(|_| Self { bytes: None })
    }

    /// The next bytes; `None` if the terminal is gone. May be dropped: nothing is lost then.
    pub(super) async fn next(&mut self) -> Option<Vec<u8>> {
        match &mut self.bytes {
            Some(bytes) => bytes.recv().await,
            None => None,
        }
    }

    /// Returns the bytes that are available.
    pub(super) fn ready(&mut self) -> Option<Vec<u8>> {
        self.bytes.as_mut().and_then(|bytes| bytes.try_recv().ok())
    }

    /// Begins to read.
    pub(super) fn listen(&mut self) -> io::Result<()> {
        if self.bytes.is_none() {
            let (sender, bytes) = mpsc::channel(16);
            std::thread::Builder::new().name("keyboard".to_owned()).spawn(move || read(&sender))?;
            self.bytes = Some(bytes);
        }
        Ok(())
    }

    /// Takes every key as it comes.
    pub(super) fn enter() -> io::Result<()> {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let before = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                Self::leave();
                before(panic);
            }));
        });
        let found = tcgetattr(io::stdin())?;
        let mut ours = found.clone();
        ours.local_modes -= LocalModes::ICANON | LocalModes::ECHO | LocalModes::ECHONL | LocalModes::ISIG | LocalModes::IEXTEN;
        ours.input_modes -= InputModes::ICRNL | InputModes::INLCR | InputModes::IGNCR | InputModes::IXON | InputModes::ISTRIP;
        ours.input_modes -= InputModes::IGNBRK | InputModes::BRKINT | InputModes::PARMRK;
        ours.special_codes[SpecialCodeIndex::VMIN] = 1;
        ours.special_codes[SpecialCodeIndex::VTIME] = 0;
        if let Ok(mut stored) = FOUND.lock() {
            stored.get_or_insert(found);
        }
        tcsetattr(io::stdin(), OptionalActions::Now, &ours)?;
        write(BEGIN)
    }

    /// Puts the terminal back into the mode that it was found in, if ours is on.
    pub(super) fn leave() {
        let found = FOUND.lock().ok().and_then(|mut stored| stored.take());
        if let Some(found) = found {
            let _ = write(END);
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, &found);
        }
    }

    /// Columns and rows, at least 1 of each.
    pub(super) fn size() -> (usize, usize) {
        let size = terminal_size::terminal_size().map(|(width, height)| (usize::from(width.0), usize::from(height.0)));
        size.filter(|(width, height)| *width > 0 && *height > 0).unwrap_or((80, 24))
    }
}

/// Writes to the terminal.
pub(super) fn write(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let mut rest = text.as_bytes();
    while !rest.is_empty() {
        match out.write(rest) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => rest = &rest[count..],
            Err(error) if is_passing(error.kind()) => std::thread::sleep(PAUSE),
            Err(error) => return Err(error),
        }
    }
    loop {
        match out.flush() {
            Err(error) if is_passing(error.kind()) => std::thread::sleep(PAUSE),
            other => return other,
        }
    }
}

/// Returns whether the terminal is only busy: another program may have set it to non-blocking.
fn is_passing(kind: io::ErrorKind) -> bool {
    matches!(kind, io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

/// Reads until the terminal is closed, or the receiver is dropped.
fn read(sender: &mpsc::Sender<Vec<u8>>) {
    let mut bytes = vec![0; CHUNK];
    loop {
        match rustix::io::read(io::stdin(), &mut bytes) {
            Ok(0) => return,
            Ok(count) => {
                if sender.blocking_send(bytes[..count].to_vec()).is_err() {
                    return;
                }
            }
            Err(error) if is_passing(error.kind()) => std::thread::sleep(PAUSE),
            Err(_) => return,
        }
    }
}

//! A pseudo-terminal with a program on it and an emulator that draws what the program prints.
//!
//! **Invariant:** whatever the program does, no call here blocks for longer than [`PATIENCE`]; dropping the terminal ends the program.

use std::{
    fs::OpenOptions,
    io::{Read, Write},
    num::NonZeroU16,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        mpsc::{Sender, channel},
    },
    thread,
    time::{Duration, Instant},
};

use filedescriptor::FileDescriptor;
use portable_pty::{Child, CommandBuilder, ExitStatus, MasterPty, PtySize, native_pty_system};
use vt100::{Callbacks, Parser, Screen};

/// After so long without what is awaited, it never comes.
pub(super) const PATIENCE: Duration = Duration::from_secs(120);

/// Columns and rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Size {
    /// Columns.
    pub(super) columns: NonZeroU16,
    /// Rows.
    pub(super) rows: NonZeroU16,
}

impl Size {
    fn of_pty(self) -> PtySize {
        PtySize { rows: self.rows.get(), cols: self.columns.get(), pixel_width: 0, pixel_height: 0 }
    }
}

/// A program on a terminal.
pub(super) struct Terminal {
    /// Nothing once it was hung up.
    master: Option<Box<dyn MasterPty + Send>>,
    child: Box<dyn Child + Send + Sync>,
    /// Typed bytes on their way.
    typed: Option<Sender<Vec<u8>>>,
    shown: Arc<(Mutex<Shown>, Condvar)>,
}

/// The drawing of the emulator.
struct Shown {
    parser: Parser<Replies>,
    /// Grows with every chunk.
    chunks: u64,
    /// No more output will come.
    is_over: bool,
    /// The reader shall let go of the terminal.
    is_hung_up: bool,
}

/// The answers of a terminal to programs that ask it something.
#[derive(Default)]
struct Replies(Vec<u8>);

impl Callbacks for Replies {
    fn unhandled_csi(&mut self, screen: &mut Screen, first: Option<u8>, _: Option<u8>, params: &[&[u16]], kind: char) {
        match (first, params.first().and_then(|param| param.first()), kind) {
            (None, Some(6), 'n') => {
                let (row, column) = screen.cursor_position();
                self.0.extend(format!("\x1b[{};{}R", row + 1, column + 1).bytes());
            }
            (None, _, 'c') => self.0.extend(b"\x1b[?1;2c"),
            _ => {}
        }
    }
}

impl Terminal {
    /// Starts a program on a terminal of that size.
    ///
    /// # Panics
    /// There is no pseudo-terminal, or no such program.
    pub(super) fn start(command: CommandBuilder, size: Size) -> Self {
        let pair = native_pty_system().openpty(size.of_pty()).expect("a pseudo-terminal");
        let mut reader = pair.master.try_clone_reader().expect("its output");
        // Not the writer of the master: when that goes it types a line break and an end of input, which a program that hangs up may still read.
        let mut writer = pair.master.as_raw_fd().and_then(|master| FileDescriptor::dup(&master).ok()).expect("its input");
        let child = pair.slave.spawn_command(command).expect("the program starts");
        drop(pair.slave);
        let parser = Parser::new_with_callbacks(size.rows, size.columns, 0, Replies::default());
        let shown = Arc::new((Mutex::new(Shown { parser, chunks: 0, is_over: false, is_hung_up: false }), Condvar::new()));
        let (typed, keys) = channel::<Vec<u8>>();
        thread::spawn(move || keys.iter().try_for_each(|bytes| writer.write_all(&bytes).and_then(|()| writer.flush())));
        let (drawn, replies) = (Arc::clone(&shown), typed.clone());
        thread::spawn(move || {
            let mut chunk = [0; 65536];
            loop {
                let length = reader.read(&mut chunk).unwrap_or(0);
                let mut shown = lock(&drawn.0);
                shown.parser.process(&chunk[..length]);
                shown.chunks += 1;
                shown.is_over = length == 0 || shown.is_hung_up;
                let reply = std::mem::take(&mut shown.parser.callbacks_mut().0);
                if !reply.is_empty() {
                    let _ = replies.send(reply);
                }
                drawn.1.notify_all();
                if shown.is_over {
                    return;
                }
            }
        });
        Self { master: Some(pair.master), child, typed: Some(typed), shown }
    }

    /// Types bytes; they go in as the program takes them.
    pub(super) fn send(&self, bytes: impl Into<Vec<u8>>) {
        if let Some(typed) = &self.typed {
            let _ = typed.send(bytes.into());
        }
    }

    /// Returns whether the program asks for marks around pasted text.
    pub(super) fn brackets_paste(&self) -> bool {
        lock(&self.shown.0).parser.screen().bracketed_paste()
    }

    /// Changes the size of the window.
    ///
    /// # Panics
    /// The terminal was hung up.
    pub(super) fn resize(&self, size: Size) {
        lock(&self.shown.0).parser.set_size(size.rows, size.columns);
        self.master.as_ref().expect("an open terminal").resize(size.of_pty()).expect("the window can be resized");
    }

    /// The process on the terminal.
    pub(super) fn process(&self) -> Option<u32> {
        self.child.process_id()
    }

    /// The window is closed: the terminal is gone, which the system tells by SIGHUP.
    pub(super) fn hang_up(&mut self) {
        lock(&self.shown.0).is_hung_up = true;
        // The reader waits for output and would hold the terminal open: something must come.
        if let Some(tty) = self.master.as_ref().and_then(|master| master.tty_name()) {
            let _ = OpenOptions::new().write(true).open(tty).and_then(|mut tty| tty.write_all(b"\n"));
        }
        self.wait(|shown| shown.is_over.then_some(()), PATIENCE);
        self.typed = None;
        self.master = None;
    }

    /// Waits until the screen is as `look` wants it, which then says something; nothing when it never is.
    pub(super) fn until<T>(&self, mut look: impl FnMut(&Screen) -> Option<T>) -> Option<T> {
        self.wait(|shown| look(shown.parser.screen()), PATIENCE)
    }

    /// The screen now.
    pub(super) fn screen<T>(&self, look: impl FnOnce(&Screen) -> T) -> T {
        look(lock(&self.shown.0).parser.screen())
    }

    /// The screen when nothing was printed for a while, for writing down what nobody knows yet. A spinner never rests: then it is the screen of that moment.
    pub(super) fn at_rest<T>(&self, look: impl FnOnce(&Screen) -> T) -> T {
        const REST: Duration = Duration::from_millis(500);
        let deadline = Instant::now() + 4 * REST;
        while Instant::now() < deadline {
            let before = lock(&self.shown.0).chunks;
            if self.wait(|shown| (shown.chunks != before && !shown.is_over).then_some(()), REST).is_none() {
                break;
            }
        }
        self.screen(look)
    }

    /// Waits for the end of the program and of its output; nothing when it goes on.
    pub(super) fn end(&mut self) -> Option<ExitStatus> {
        if self.master.is_some() {
            self.wait(|shown| shown.is_over.then_some(()), PATIENCE)?;
        }
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Some(status);
            }
            thread::sleep(Duration::from_millis(2));
        }
        None
    }

    fn wait<T>(&self, mut look: impl FnMut(&Shown) -> Option<T>, patience: Duration) -> Option<T> {
        let deadline = Instant::now() + patience;
        let mut shown = lock(&self.shown.0);
        loop {
            if let Some(seen) = look(&shown) {
                return Some(seen);
            }
            let left = deadline.checked_duration_since(Instant::now())?;
            shown = self.shown.1.wait_timeout(shown, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn lock(shown: &Mutex<Shown>) -> MutexGuard<'_, Shown> {
    shown.lock().unwrap_or_else(PoisonError::into_inner)
}

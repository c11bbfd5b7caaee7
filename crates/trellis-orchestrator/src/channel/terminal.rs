//! A chat in the terminal: each line is a message.

use std::{fmt, io, time::Duration};

use async_trait::async_trait;
use tokio::{
    io::{AsyncBufRead, AsyncBufReadExt as _},
    sync::Mutex,
};

use super::{Batch, Channel, ChannelError, Rendering};
use crate::message::{ChatPlace, Incoming, Outgoing, now};

/// The name of the channel, and of its one chat.
const NAME: &str = "terminal";
/// Lines that were pasted together come one right after the other.
const PASTED: Duration = Duration::from_millis(80);
/// Bytes of a line.
const MAX_LINE: usize = 1 << 20;

type Write = dyn Fn(&str, Rendering) -> io::Result<()> + Send + Sync;

/// The two ends of a terminal.
pub struct TerminalIo {
    /// The source of lines.
    pub reader: Box<dyn AsyncBufRead + Send + Unpin>,
    /// Shows a text.
    pub write: Box<Write>,
}

impl fmt::Debug for TerminalIo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TerminalIo")
    }
}

/// The channel of a terminal.
#[derive(Debug)]
pub struct Terminal {
    lines: Mutex<Lines>,
    write: WriteEnd,
}

#[derive(Debug)]
struct Lines {
    reader: ReadEnd,
    count: u64,
    began: u64,
}

struct ReadEnd(Box<dyn AsyncBufRead + Send + Unpin>);
struct WriteEnd(Box<Write>);

impl fmt::Debug for ReadEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ReadEnd")
    }
}

impl fmt::Debug for WriteEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WriteEnd")
    }
}

impl Terminal {
    /// The chat of a terminal.
    pub fn new(io: TerminalIo) -> Self {
        let lines = Lines { reader: ReadEnd(io.reader), count: 0, began: now() };
        Self { lines: Mutex::new(lines), write: WriteEnd(io.write) }
    }

    /// Returns its only chat.
    pub fn place() -> ChatPlace {
        ChatPlace::new(NAME, NAME)
    }
}

#[async_trait]
impl Channel for Terminal {
    fn name(&self) -> &str {
        NAME
    }

    fn grouping(&self) -> Duration {
        PASTED
    }

    async fn read(&self, _: Option<&str>) -> Result<Batch, ChannelError> {
        let mut lines = self.lines.lock().await;
        let mut line = Vec::new();
        let read = lines.reader.0.read_until(b'\n', &mut line).await;
        let length = read.map_err(|error| ChannelError::new("io", error.to_string()).finally())?;
        if length == 0 {
            return Ok(Batch { is_over: true, ..Batch::default() });
        }
        line.truncate(MAX_LINE);
        let text = String::from_utf8_lossy(&line).trim().to_owned();
        if text.is_empty() {
            return Ok(Batch::default());
        }
        lines.count += 1;
        // The moment at which this process began tells its lines from those of another one.
        let id = format!("{}-{}", lines.began, lines.count);
        let (sender, sender_name) = (NAME.to_owned(), NAME.to_owned());
        let message = Incoming { place: Self::place(), id, sender, sender_name, text, at: now(), files: Vec::new() };
        Ok(Batch { messages: vec![message], ..Batch::default() })
    }

    async fn send(&self, message: &Outgoing, rendering: Rendering) -> Result<String, ChannelError> {
        (self.write.0)(&message.text, rendering).map_err(|error| ChannelError::new("io", error.to_string()).finally())?;
        Ok(String::new())
    }
}

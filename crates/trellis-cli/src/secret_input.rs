//! Reads a secret from a terminal or a pipe: never echoed, never an argument.
//!
//! **Invariant:** the terminal's mode is restored, also after Ctrl-C.

use std::io::{self, IsTerminal, Read};

use anyhow::{Context as _, bail};
use trellis_host::secrets::{MAX_VALUE, SecretText};
use zeroize::Zeroizing;

use crate::terminal;

/// The outcome of asking.
pub(crate) enum SecretInput {
    Value(SecretText),
    Interrupted,
}

/// Asks at a terminal; elsewhere reads standard input to its end, without one line break there.
///
/// # Errors
/// Standard input cannot be read, is too long, empty, or no UTF-8.
pub(crate) fn read(prompt: &str) -> anyhow::Result<SecretInput> {
    let stdin = io::stdin();
    let mut bytes = Zeroizing::new(Vec::with_capacity(MAX_VALUE + 3));
    if stdin.is_terminal() {
        terminal::print_error(prompt);
        let typed = typed(&mut bytes);
        terminal::print_error("\n");
        if !typed.context("the terminal cannot be read")? {
            return Ok(SecretInput::Interrupted);
        }
    } else {
        stdin.lock().take(MAX_VALUE as u64 + 3).read_to_end(&mut bytes).context("standard input cannot be read")?;
        let end = if bytes.ends_with(b"\r\n") { 2 } else { usize::from(bytes.ends_with(b"\n")) };
        let length = bytes.len() - end;
        bytes.truncate(length);
    }
    match std::str::from_utf8(&bytes) {
        _ if bytes.is_empty() => bail!("the value is empty\ntype it, or send it to standard input"),
        _ if bytes.len() > MAX_VALUE => bail!("the value has more than {MAX_VALUE} bytes"),
        Ok(text) => Ok(SecretInput::Value(SecretText::new(text.to_owned()))),
        Err(_) => bail!("the value is not UTF-8\nencode it, for example in Base64"),
    }
}

/// Reads a line without its end; returns false if Ctrl-C ended it.
#[cfg(unix)]
fn typed(bytes: &mut Vec<u8>) -> io::Result<bool> {
    let _hidden = Hidden::begin()?;
    let mut byte = [0];
    loop {
        // One at a time: what is typed ahead is meant for the shell.
        if rustix::io::read(io::stdin(), &mut byte)? == 0 {
            return Ok(true);
        }
        match byte[0] {
            b'\n' | b'\r' => return Ok(true),
            0x03 => return Ok(false),
            0x04 if bytes.is_empty() => return Ok(true),
            0x04 => {}
            0x15 => bytes.clear(),
            0x7f | 0x08 => while bytes.pop().is_some_and(|last| last & 0xc0 == 0x80) {},
            other if bytes.len() <= MAX_VALUE => bytes.push(other),
            _ => {}
        }
    }
}

#[cfg(not(unix))]
fn typed(_: &mut Vec<u8>) -> io::Result<bool> {
    Err(io::Error::other("what is typed would be seen here; send the value to standard input"))
}

/// A terminal that hands on each key and shows none, until it is dropped.
#[cfg(unix)]
struct Hidden(rustix::termios::Termios);

#[cfg(unix)]
impl Hidden {
    fn begin() -> io::Result<Self> {
        use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
        let found = tcgetattr(io::stdin())?;
        let mut ours = found.clone();
        ours.local_modes -= LocalModes::ICANON | LocalModes::ECHO | LocalModes::ECHONL | LocalModes::ISIG | LocalModes::IEXTEN;
        tcsetattr(io::stdin(), OptionalActions::Flush, &ours)?;
        Ok(Self(found))
    }
}

#[cfg(unix)]
impl Drop for Hidden {
    fn drop(&mut self) {
        let _ = rustix::termios::tcsetattr(io::stdin(), rustix::termios::OptionalActions::Now, &self.0);
    }
}

//! Decodes the bytes of a terminal into keys.
//!
//! In: bytes as they arrive, in chunks of any size. Out: keys, typed text, pastes.
//!
//! **Invariant:** a dropped byte is reported by a key, and only the text itself grows with the input.

use std::str;

/// A key, or text that was typed or pasted in one piece.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Key {
    /// Letters, without control characters.
    Text(String),
    /// A bracketed paste, as it came.
    Paste(String),
    /// So many bytes that are no UTF-8.
    Junk(usize),
    Enter,
    /// A line break that belongs to the text: Alt-Enter.
    Break,
    Tab,
    Backspace,
    Delete,
    Left,
    Right,
    WordLeft,
    WordRight,
    Up,
    Down,
    PageUp,
    PageDown,
    Home,
    End,
    /// Removes to the end of the line, to its beginning, or the word before; what was removed last comes back with `Yank`.
    KillEnd,
    KillStart,
    KillWord,
    Yank,
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-D: the end of input on an empty line, else as `Delete`.
    Eof,
    /// Ctrl-Z.
    Suspend,
    /// Ctrl-L.
    Redraw,
}

/// Bytes of an escape sequence before it is given up.
const LONGEST_SEQUENCE: usize = 64;
const PASTE_BEGIN: &[u8] = b"\x1b[200~";
const PASTE_END: &[u8] = b"\x1b[201~";
const INTERRUPT: u8 = 0x03;

/// Bytes of a paste that are handed on at once.
const PASTE_PART: usize = 1 << 20;

/// Keys from bytes.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    /// Bytes that are no whole key yet.
    rest: Vec<u8>,
    /// True if they belong to a paste.
    pasting: bool,
    /// The number of them that were searched for the end of the paste.
    searched: usize,
}

/// The sequence at the beginning of some bytes.
enum Found {
    Key(Option<Key>, usize),
    /// More bytes are needed.
    Open,
}

impl Decoder {
    /// The keys that these bytes complete.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Vec<Key> {
        if self.pasting && bytes == [INTERRUPT] {
            // A paste whose end was lost must not swallow the way out.
            *self = Self::default();
            return vec![Key::Interrupt];
        }
        self.rest.extend_from_slice(bytes);
        let rest = std::mem::take(&mut self.rest);
        let mut keys = Vec::new();
        let mut at = 0;
        while at < rest.len() {
            let found = if self.pasting { self.paste(&rest[at..]) } else { key(&rest[at..]) };
            let Found::Key(key, length) = found else { break };
            if !self.pasting && rest[at..at + length] == *PASTE_BEGIN {
                self.pasting = true;
            }
            at += length;
            keys.extend(key);
        }
        self.rest = rest;
        self.rest.drain(..at);
        keys
    }

    fn paste(&mut self, bytes: &[u8]) -> Found {
        let end = bytes[self.searched..].windows(PASTE_END.len()).position(|part| part == PASTE_END);
        if let Some(end) = end {
            let end = self.searched + end;
            (self.searched, self.pasting) = (0, false);
            let text = String::from_utf8_lossy(&bytes[..end]).into_owned();
            return Found::Key(Some(Key::Paste(text)).filter(|_| end > 0), end + PASTE_END.len());
        }
        // The mark may be cut in two.
        self.searched = bytes.len().saturating_sub(PASTE_END.len());
        if self.searched < PASTE_PART {
            return Found::Open;
        }
        let whole = (self.searched - 4..=self.searched).rev().find(|&at| bytes[at] & 0xc0 != 0x80).unwrap_or(self.searched);
        self.searched = 0;
        Found::Key(Some(Key::Paste(String::from_utf8_lossy(&bytes[..whole]).into_owned())), whole)
    }
}

fn key(bytes: &[u8]) -> Found {
    match bytes[0] {
        0x1b => escape(bytes),
        byte @ (0..0x20 | 0x7f) => Found::Key(control(byte), 1),
        _ => text(bytes),
    }
}

fn control(byte: u8) -> Option<Key> {
    Some(match byte {
        b'\r' | b'\n' => Key::Enter,
        b'\t' => Key::Tab,
        0x7f | 0x08 => Key::Backspace,
        0x01 => Key::Home,
        0x02 => Key::Left,
        INTERRUPT => Key::Interrupt,
        0x04 => Key::Eof,
        0x05 => Key::End,
        0x06 => Key::Right,
        0x0b => Key::KillEnd,
        0x0c => Key::Redraw,
        0x0e => Key::Down,
        0x10 => Key::Up,
        0x15 => Key::KillStart,
        0x17 => Key::KillWord,
        0x19 => Key::Yank,
        0x1a => Key::Suspend,
        _ => return None,
    })
}

/// Letters up to the next control character; a character that is cut off waits for its end.
fn text(bytes: &[u8]) -> Found {
    let end = bytes.iter().position(|&byte| byte < 0x20 || byte == 0x7f).unwrap_or(bytes.len());
    match str::from_utf8(&bytes[..end]) {
        Ok(text) => Found::Key(Some(Key::Text(text.to_owned())), end),
        Err(error) if error.valid_up_to() > 0 => {
            let text = String::from_utf8_lossy(&bytes[..error.valid_up_to()]).into_owned();
            Found::Key(Some(Key::Text(text)), error.valid_up_to())
        }
        Err(error) => match error.error_len() {
            None if end == bytes.len() => Found::Open,
            length => {
                let length = length.unwrap_or(end);
                Found::Key(Some(Key::Junk(length)), length)
            }
        },
    }
}

fn escape(bytes: &[u8]) -> Found {
    match bytes.get(1) {
        None => Found::Open,
        Some(0x1b) => Found::Key(None, 1),
        Some(b'[') => sequence(bytes),
        Some(b'O') => match bytes.get(2) {
            None => Found::Open,
            Some(&last) => Found::Key(named(last, "", false), 3),
        },
        Some(b'\r' | b'\n') => Found::Key(Some(Key::Break), 2),
        Some(b'b') => Found::Key(Some(Key::WordLeft), 2),
        Some(b'f') => Found::Key(Some(Key::WordRight), 2),
        Some(0x7f | 0x08) => Found::Key(Some(Key::KillWord), 2),
        // Escape by itself means nothing, and takes nothing from what follows it.
        Some(_) => Found::Key(None, 1),
    }
}

/// `ESC [`, parameters, a last byte.
fn sequence(bytes: &[u8]) -> Found {
    let end = bytes[2..].iter().position(|byte| !matches!(byte, 0x20..=0x3f));
    match end.map(|end| end + 2) {
        Some(end) if bytes[end] < 0x40 || bytes[end] > 0x7e => Found::Key(None, end),
        Some(end) => {
            let parameters = str::from_utf8(&bytes[2..end]).unwrap_or_default();
            let modified = parameters.split_once(';').is_some_and(|(_, modifier)| matches!(modifier, "3" | "5" | "7" | "9"));
            Found::Key(named(bytes[end], parameters, modified), end + 1)
        }
        None if bytes.len() > LONGEST_SEQUENCE => Found::Key(None, bytes.len()),
        None => Found::Open,
    }
}

fn named(last: u8, parameters: &str, modified: bool) -> Option<Key> {
    Some(match (last, parameters.split(';').next().unwrap_or_default(), modified) {
        (b'A', ..) => Key::Up,
        (b'B', ..) => Key::Down,
        (b'C', _, true) => Key::WordRight,
        (b'D', _, true) => Key::WordLeft,
        (b'C', ..) => Key::Right,
        (b'D', ..) => Key::Left,
        (b'H', ..) | (b'~', "1" | "7", _) => Key::Home,
        (b'F', ..) | (b'~', "4" | "8", _) => Key::End,
        (b'~', "3", _) => Key::Delete,
        (b'~', "5", _) => Key::PageUp,
        (b'~', "6", _) => Key::PageDown,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(bytes: &[u8]) -> Vec<Key> {
        Decoder::default().take(bytes)
    }

    fn typed(text: &str) -> Key {
        Key::Text(text.into())
    }

    #[test]
    fn keys_are_known_by_their_bytes() {
        assert_eq!(keys(b"ab\x1b[A\x1bOB\x1b[1;5C\x1b[3~\r"), [typed("ab"), Key::Up, Key::Down, Key::WordRight, Key::Delete, Key::Enter]);
        assert_eq!(keys("é日\u{3}".as_bytes()), [typed("é日"), Key::Interrupt]);
        assert_eq!(keys(b"\x1b\rx"), [Key::Break, typed("x")]);
        assert_eq!(keys(b"\x1bx\x1b[?1;2cy"), [typed("x"), typed("y")], "what is not known takes nothing with it");
    }

    #[test]
    fn a_paste_is_one_key_whatever_it_holds() {
        assert_eq!(keys(b"\x1b[200~a\r\n\x1b[31m\x03\x1b[201~b"), [Key::Paste("a\r\n\x1b[31m\x03".into()), typed("b")]);
    }

    #[test]
    fn a_long_paste_comes_in_parts_and_one_without_end_leaves_the_way_out() {
        let text = "é".repeat(PASTE_PART);
        let mut decoder = Decoder::default();
        let mut parts = String::new();
        for chunk in ["\x1b[200~", &text, "\x1b[201~\r"].concat().as_bytes().chunks(65_537) {
            for key in decoder.take(chunk) {
                match key {
                    Key::Paste(part) => parts.push_str(&part),
                    key => assert_eq!(key, Key::Enter),
                }
            }
        }
        assert!(parts == text);
        assert_eq!(decoder.take(b"\x1b[200~never ended"), []);
        assert_eq!((decoder.take(b"\x03"), decoder.take(b"x")), (vec![Key::Interrupt], vec![typed("x")]));
    }

    #[test]
    fn bytes_may_be_cut_anywhere() {
        let bytes = "x\u{1b}[A日本\u{1b}[200~a\u{1b}[20\u{1b}[201~é\r\u{1b}[5~".as_bytes();
        let (mut decoder, mut found) = (Decoder::default(), Vec::new());
        for byte in bytes {
            found.extend(decoder.take(&[*byte]));
        }
        let whole = [typed("x"), Key::Up, typed("日"), typed("本"), Key::Paste("a\u{1b}[20".into()), typed("é"), Key::Enter, Key::PageUp];
        assert_eq!(found, whole);
    }

    #[test]
    fn what_is_no_utf8_is_counted_and_the_rest_is_kept() {
        assert_eq!(keys(b"a\xff\xfeb\xc3"), [typed("a"), Key::Junk(1), Key::Junk(1), typed("b")]);
        assert_eq!(keys(b"\xc3\r"), [Key::Junk(1), Key::Enter]);
        assert_eq!(keys(b"\xe6\x97a"), [Key::Junk(2), typed("a")]);
    }

    #[test]
    fn an_escape_without_end_is_given_up() {
        let mut decoder = Decoder::default();
        assert_eq!(decoder.take(&[b"\x1b[".as_slice(), &[b'1'; 1000]].concat()), []);
        assert_eq!(decoder.take(b"ok\r"), [typed("ok"), Key::Enter]);
    }

    #[test]
    fn junk_never_stops_the_decoder() {
        let mut state = 7_u32;
        let mut decoder = Decoder::default();
        for _ in 0..2000 {
            let bytes = std::iter::repeat_with(|| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                if state >> 30 == 0 { 0x1b } else { (state >> 24) as u8 }
            });
            decoder.take(&bytes.take(16).collect::<Vec<_>>());
        }
        decoder.take(b"\x1b[201~");
        assert!(decoder.take(b"\r").contains(&Key::Enter));
    }
}

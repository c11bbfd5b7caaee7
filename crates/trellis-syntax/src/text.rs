//! From bytes to text: a file that is not UTF-8, or holds control characters, is reported with the place and goes no further.
//!
//! **Invariant:** an accepted text holds no control characters but tabs and line breaks.

use std::sync::Arc;

use trellis_base::{
    diagnostic::{Code, Report},
    span::Span,
};

/// The content of a file that a loader could read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Bytes {
    /// All of it.
    Read(Arc<[u8]>),
    /// No content, because the file is larger than `limit`; `size` is its size.
    TooLarge {
        /// Bytes of the file.
        size: u64,
        /// The bound.
        limit: u64,
    },
}

/// The text of a file.
///
/// # Errors
/// Reads a text. The error, which was reported, is the part of the text to show the place in, or an empty one.
pub(super) fn read(bytes: &Bytes, report: &mut Report) -> Result<Arc<str>, Arc<str>> {
    let bytes = match bytes {
        Bytes::Read(bytes) => bytes,
        Bytes::TooLarge { size, limit } => {
            let message = format!("the file has {size} bytes, more than the {limit} a file of a graph may have");
            report.add(Code::FileTooLarge, Span::at(0), message).help = Some("split it, or move data into a tool".into());
            return Err(Arc::default());
        }
    };
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let at = error.valid_up_to();
            not_utf8(bytes, at, report);
            return Err(std::str::from_utf8(&bytes[..at]).unwrap_or_default().into());
        }
    };
    if let Some(at) = first_control(bytes) {
        let message = format!("control character U+{:04X} in byte {at}, line {}: the file is no text", bytes[at], line(bytes, at));
        let found = report.add(Code::NotUtf8, Span::new(at, at + 1), message);
        found.help = Some("remove the character, or keep binary files out of the graph".into());
        return Err(text.into());
    }
    Ok(text.into())
}

/// The beginning of a text, for messages: at most one line of sixty characters.
pub(super) fn shown(text: &str) -> &str {
    let line = text.lines().next().unwrap_or_default();
    line.char_indices().nth(60).map_or(line, |(end, _)| &line[..end])
}

/// Returns the first control character. Each block is scanned without an early exit, which compilers turn into vector instructions: every byte of
/// a graph is read here.
fn first_control(bytes: &[u8]) -> Option<usize> {
    let suspect = bytes.chunks(256).any(|block| block.iter().fold(false, |found, &byte| found | is_control(byte)));
    if suspect { bytes.iter().position(|&byte| is_control(byte)) } else { None }
}

/// Returns whether a byte shows that a file is no text file.
fn is_control(byte: u8) -> bool {
    (byte < b' ' && !matches!(byte, b'\t' | b'\n' | b'\r')) || byte == 0x7f
}

fn not_utf8(bytes: &[u8], at: usize, report: &mut Report) {
    let utf16 = matches!(bytes, [0xff, 0xfe, ..] | [0xfe, 0xff, ..]);
    let message = if utf16 {
        "the file is UTF-16, not UTF-8".into()
    } else {
        format!("byte 0x{:02X} in byte {at}, line {}, is not UTF-8", bytes[at], line(bytes, at))
    };
    report.add(Code::NotUtf8, Span::at(at), message).help = Some("save the file as UTF-8".into());
}

fn line(bytes: &[u8], at: usize) -> usize {
    bytes[..at].iter().filter(|&&byte| byte == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(bytes: Bytes) -> String {
        let mut report = Report::new(&"a.md".into());
        assert!(read(&bytes, &mut report).is_err());
        assert_eq!(report.diagnostics.len(), 1);
        report.diagnostics[0].message.clone()
    }

    #[test]
    fn names_byte_and_line_of_what_is_no_text() {
        assert_eq!(message(Bytes::Read(b"a\nb\xffc".as_slice().into())), "byte 0xFF in byte 3, line 2, is not UTF-8");
        assert!(message(Bytes::Read(b"a\n\0c".as_slice().into())).starts_with("control character U+0000 in byte 2, line 2"));
        assert_eq!(message(Bytes::Read(b"\xff\xfea\0".as_slice().into())), "the file is UTF-16, not UTF-8");
        assert!(message(Bytes::TooLarge { size: 20, limit: 10 }).contains("20 bytes, more than the 10"));
    }

    #[test]
    fn tabs_line_breaks_and_letters_of_all_kinds_are_text() {
        let mut report = Report::new(&"a.md".into());
        assert!(read(&Bytes::Read("\u{feff}é\t\r\n😀".as_bytes().into()), &mut report).is_ok());
    }
}

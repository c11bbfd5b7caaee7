//! The text of one file, its lines, and positions in the client's encoding.

use std::{ops::Range, sync::Arc};

use trellis_core::span::Span;

use crate::{
    carry::Replaced,
    wire::{self, Position},
};

/// The unit in which a client counts the columns of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// Bytes.
    Utf8,
    /// Units of UTF-16, which every client knows.
    #[default]
    Utf16,
}

/// A text and the offsets of its lines.
#[derive(Clone, Debug)]
pub(crate) struct Text {
    text: Arc<str>,
    starts: Vec<u32>,
}

impl Text {
    pub(crate) fn new(text: impl Into<Arc<str>>) -> Self {
        let text = text.into();
        let starts = starts(&text);
        Self { text, starts }
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the offset of a position. A position after the end of its line or of the text means that end.
    pub(crate) fn offset(&self, position: Position, encoding: Encoding) -> usize {
        let Some(line) = self.line(position.line as usize) else { return self.text.len() };
        let text = &self.text[line.clone()];
        let mut left = position.character as usize;
        if encoding == Encoding::Utf8 {
            return line.start + text.floor_char_boundary(left);
        }
        let mut at = line.start;
        for char in text.chars() {
            let width = char.len_utf16();
            if left < width {
                break;
            }
            left -= width;
            at += char.len_utf8();
        }
        at
    }

    /// Returns the place of an offset.
    pub(crate) fn position(&self, offset: usize, encoding: Encoding) -> Position {
        let offset = self.text.floor_char_boundary(offset);
        let line = self.starts.partition_point(|start| *start as usize <= offset).max(1) - 1;
        let start = self.starts[line] as usize;
        let before = &self.text[start..offset];
        let character = match encoding {
            Encoding::Utf8 => before.len(),
            Encoding::Utf16 => before.chars().map(char::len_utf16).sum(),
        };
        Position { line: to_u32(line), character: to_u32(character) }
    }

    /// Returns the range of a span.
    pub(crate) fn range(&self, span: Span, encoding: Encoding) -> wire::Range {
        wire::Range { start: self.position(span.start as usize, encoding), end: self.position(span.end as usize, encoding) }
    }

    /// Returns the span of a range; a range whose end precedes its start is empty.
    pub(crate) fn span(&self, range: wire::Range, encoding: Encoding) -> Span {
        let (start, end) = (self.offset(range.start, encoding), self.offset(range.end, encoding));
        Span::new(start, end.max(start))
    }

    /// Replaces a range, or the whole text, and returns the change.
    pub(crate) fn replace(&mut self, range: Option<wire::Range>, text: &str, encoding: Encoding) -> Replaced {
        let span = range.map_or(Span::new(0, self.text.len()), |range| self.span(range, encoding));
        let Range { start, end } = span.range();
        let mut whole = String::with_capacity(self.text.len() + text.len() - (end - start));
        whole.extend([&self.text[..start], text, &self.text[end..]]);
        let before = std::mem::replace(self, Self::new(whole));
        match range {
            Some(_) => Replaced { start: span.start, end: span.end, length: to_u32(text.len()) },
            // A client that sends whole texts has most often changed one place in them.
            None => Replaced::between(before.as_str(), text),
        }
    }

    /// Returns the bytes of a line without its line break; `None` after the last line.
    pub(crate) fn line(&self, line: usize) -> Option<Range<usize>> {
        let start = *self.starts.get(line)? as usize;
        let end = self.starts.get(line + 1).map_or(self.text.len(), |end| *end as usize);
        let text = self.text[start..end].trim_end_matches(['\n', '\r']);
        Some(start..start + text.len())
    }

    /// Returns the number of lines.
    pub(crate) fn lines(&self) -> usize {
        self.starts.len()
    }
}

fn starts(text: &str) -> Vec<u32> {
    let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| to_u32(at + 1));
    std::iter::once(0).chain(breaks).collect()
}

pub(crate) fn to_u32(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(line: u32, character: u32) -> Position {
        Position { line, character }
    }

    #[test]
    fn columns_are_counted_as_the_client_does() {
        let text = Text::new("\u{feff}a😀b\r\nünd\n");
        assert_eq!(text.position(text.as_str().find('b').unwrap(), Encoding::Utf16), at(0, 4));
        assert_eq!(text.position(text.as_str().find('b').unwrap(), Encoding::Utf8), at(0, 8));
        assert_eq!(text.offset(at(0, 4), Encoding::Utf16), 8);
        for encoding in [Encoding::Utf8, Encoding::Utf16] {
            for offset in (0..=text.as_str().len()).filter(|at| text.as_str().is_char_boundary(*at)) {
                let position = text.position(offset, encoding);
                let back = text.offset(position, encoding);
                assert!(back == offset || text.as_str()[back..offset].trim_end().is_empty(), "{offset} {back}");
            }
        }
    }

    #[test]
    fn places_behind_the_end_mean_the_end() {
        let text = Text::new("one\r\ntwo");
        assert_eq!(text.offset(at(0, 99), Encoding::Utf16), 3);
        assert_eq!(text.offset(at(9, 0), Encoding::Utf16), 8);
        assert_eq!(text.span(wire::Range { start: at(1, 2), end: at(0, 1) }, Encoding::Utf16), Span::new(7, 7));
    }

    #[test]
    fn a_change_replaces_a_range() {
        let mut text = Text::new("a😀b\nc");
        let range = wire::Range { start: at(0, 1), end: at(0, 3) };
        assert_eq!(text.replace(Some(range), "xy", Encoding::Utf16), Replaced { start: 1, end: 5, length: 2 });
        assert_eq!((text.as_str(), text.lines()), ("axyb\nc", 2));
        text.replace(None, "", Encoding::Utf16);
        assert_eq!((text.as_str(), text.lines()), ("", 1));
    }
}

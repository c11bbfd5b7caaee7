//! The YAML that nearly every file of a graph is written in: block mappings and lists, values on one line.
//!
//! A file of that kind is read here in one pass over its bytes; everything else, every mistake among it, is left to the whole parser.
//!
//! **Invariant:** a value read here equals that of [`super::build`] for the same bytes, without a finding. Uncertain cases are not read.

use std::{borrow::Cow, ops::Range};

use super::{YamlData, YamlEntry, YamlNode};
use crate::scalar::{Plain, Style};
use trellis_base::span::Span;

/// The depth to which values may nest here.
const MAX_FAST_DEPTH: usize = 16;

/// The number of entries that a mapping may have here; each key is compared with those before it.
const WIDTH: usize = 32;

/// The length that a key may have here. YAML bounds it too.
const MAX_KEY_LENGTH: usize = 128;

/// Reads the document at `range` of `text`; `None` if it is not simple enough.
pub(super) fn read(text: &str, range: Range<usize>) -> Option<YamlNode<'_>> {
    let bytes = &text.as_bytes()[..range.end];
    if bytes[range.clone()].iter().fold(false, |found, &byte| found | !is_simple(byte)) {
        return None;
    }
    let mut quick = Quick { text, bytes, at: range.start, line: range.start, depth: 0 };
    quick.next_line();
    let root = quick.block()?;
    quick.is_over().then_some(root)
}

/// Returns whether a byte has no invisible meaning: `0xC2`, `0xE2` and `0xEF` begin characters that break lines or are not printed.
fn is_simple(byte: u8) -> bool {
    matches!(byte, b'\n' | b' '..=b'~' | 0x80..=0xc1 | 0xc3..=0xe1 | 0xe3..=0xee | 0xf0..)
}

struct Quick<'t> {
    text: &'t str,
    /// The bytes of `text` up to where the document ends.
    bytes: &'t [u8],
    /// The byte that is next.
    at: usize,
    /// The begin of its line.
    line: usize,
    depth: usize,
}

impl<'t> Quick<'t> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn is_over(&self) -> bool {
        self.at == self.bytes.len()
    }

    fn column(&self) -> usize {
        self.at - self.line
    }

    fn skip(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.at += 1)
    }

    fn skip_blanks(&mut self) {
        while self.peek() == Some(b' ') {
            self.at += 1;
        }
    }

    /// Goes to the first byte of the next line that holds anything, from where a line begins.
    fn next_line(&mut self) {
        loop {
            self.line = self.at;
            self.skip_blanks();
            match self.peek() {
                Some(b'#') => self.at = self.end_of_line(),
                Some(b'\n') | None => {}
                Some(_) => return,
            }
            if self.skip(b'\n').is_none() {
                self.line = self.at;
                return;
            }
        }
    }

    fn end_of_line(&self) -> usize {
        let rest = &self.bytes[self.at..];
        rest.iter().position(|&byte| byte == b'\n').map_or(self.bytes.len(), |length| self.at + length)
    }

    /// Moves past the end of a value, where only a comment may follow on the line.
    fn end_line(&mut self) -> Option<()> {
        let end = self.at;
        self.skip_blanks();
        match self.peek() {
            Some(b'#') if self.at > end => self.at = self.end_of_line(),
            Some(b'\n') | None => {}
            Some(_) => return None,
        }
        self.at = (self.at + 1).min(self.bytes.len());
        self.next_line();
        Some(())
    }

    /// A mapping or list that begins here.
    fn block(&mut self) -> Option<YamlNode<'t>> {
        if self.depth == MAX_FAST_DEPTH {
            return None;
        }
        self.depth += 1;
        let node = if self.is_item() { self.list() } else { self.mapping() };
        self.depth -= 1;
        node
    }

    /// Returns whether a `- ` follows.
    fn is_item(&self) -> bool {
        self.bytes[self.at..].starts_with(b"- ")
    }

    fn mapping(&mut self) -> Option<YamlNode<'t>> {
        let (start, column) = (self.at, self.column());
        let mut entries = Vec::new();
        loop {
            let (key, span) = self.key(&entries)?;
            let value = self.value(column)?;
            entries.push(YamlEntry { key, span, value, bare: false });
            if self.is_over() || self.column() < column {
                let end = entries.last()?.value.span.end as usize;
                return Some(YamlNode { data: YamlData::Map(entries), span: Span::new(start, end) });
            }
            // A deeper line belongs to a value of several lines.
            if self.column() > column {
                return None;
            }
        }
    }

    fn list(&mut self) -> Option<YamlNode<'t>> {
        let (start, column) = (self.at, self.column());
        let mut items: Vec<YamlNode<'t>> = Vec::new();
        while !self.is_over() && self.column() == column && self.is_item() {
            self.at += 1;
            self.skip_blanks();
            let item = if self.is_item() {
                return None;
            } else if self.key_end().is_some() {
                self.block()?
            } else {
                self.line_value()?
            };
            items.push(item);
            if !self.is_over() && self.column() > column {
                return None;
            }
        }
        let end = items.last()?.span.end as usize;
        Some(YamlNode { data: YamlData::List(items), span: Span::new(start, end) })
    }

    /// Returns the end of a key that begins here, before its `:`.
    fn key_end(&self) -> Option<usize> {
        let rest = &self.bytes[self.at..];
        let length = rest.iter().position(|&byte| !(byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')))?;
        let is_key = rest[0].is_ascii_alphabetic() && length <= MAX_KEY_LENGTH && rest[length] == b':';
        (is_key && matches!(rest.get(length + 1), Some(b' ' | b'\n') | None)).then_some(self.at + length)
    }

    /// A key that is not there yet, and its `:`.
    fn key(&mut self, before: &[YamlEntry<'t>]) -> Option<(Cow<'t, str>, Span)> {
        let span = Span::new(self.at, self.key_end()?);
        let key = &self.text[span.range()];
        if before.len() == WIDTH || Plain::of(key) != Plain::Text || before.iter().any(|entry| entry.key == key) {
            return None;
        }
        self.at = span.end as usize + 1;
        Some((Cow::Borrowed(key), span))
    }

    /// Reads the value of a key in `column`, on its line or below.
    fn value(&mut self, column: usize) -> Option<YamlNode<'t>> {
        let colon = self.at;
        self.skip_blanks();
        if !matches!(self.peek(), Some(b'\n' | b'#') | None) {
            return self.line_value();
        }
        self.at = colon;
        self.end_line()?;
        // A list need not be deeper than its key.
        (!self.is_over() && (self.column() > column || self.column() == column && self.is_item())).then(|| self.block())?
    }

    /// A value that fills the rest of a line.
    fn line_value(&mut self) -> Option<YamlNode<'t>> {
        let node = match self.peek()? {
            quote @ (b'"' | b'\'') => self.quoted(quote)?,
            b'{' | b'[' => self.flow()?,
            _ => self.plain(false)?,
        };
        self.end_line()?;
        Some(node)
    }

    /// Reads a text in quotes, without any escape.
    fn quoted(&mut self, quote: u8) -> Option<YamlNode<'t>> {
        self.at += 1;
        let start = self.at;
        while self.peek()? != quote {
            if matches!(self.peek()?, b'\n' | b'\\') {
                return None;
            }
            self.at += 1;
        }
        let span = Span::new(start, self.at);
        self.at += 1;
        // `''` is an escaped quote.
        if self.peek() == Some(quote) {
            return None;
        }
        let style = if quote == b'"' { Style::Double } else { Style::Single };
        Some(YamlNode { data: YamlData::Scalar(Cow::Borrowed(&self.text[span.range()]), style), span })
    }

    /// `{ … }` or `[ … ]` on one line.
    fn flow(&mut self) -> Option<YamlNode<'t>> {
        if self.depth == MAX_FAST_DEPTH {
            return None;
        }
        self.depth += 1;
        let start = self.at;
        let is_mapping = self.peek()? == b'{';
        let close = if is_mapping { b'}' } else { b']' };
        let (mut entries, mut items) = (Vec::new(), Vec::new());
        self.at += 1;
        self.skip_blanks();
        if self.skip(close).is_none() {
            loop {
                if is_mapping {
                    let (key, span) = self.key(&entries)?;
                    self.skip_blanks();
                    entries.push(YamlEntry { key, span, value: self.flow_value()?, bare: false });
                } else {
                    items.push(self.flow_value()?);
                }
                self.skip_blanks();
                if self.skip(close).is_some() {
                    break;
                }
                self.skip(b',')?;
                self.skip_blanks();
            }
        }
        self.depth -= 1;
        let data = if is_mapping { YamlData::Map(entries) } else { YamlData::List(items) };
        Some(YamlNode { data, span: Span::new(start, self.at) })
    }

    fn flow_value(&mut self) -> Option<YamlNode<'t>> {
        match self.peek()? {
            quote @ (b'"' | b'\'') => self.quoted(quote),
            b'{' | b'[' => self.flow(),
            _ => self.plain(true),
        }
    }

    /// A text without quotes, up to the end of its line, a comment, or the mark that ends it `in_flow`.
    fn plain(&mut self, in_flow: bool) -> Option<YamlNode<'t>> {
        let start = self.at;
        let is_start = match self.peek()? {
            b'-' => self.bytes.get(start + 1).is_some_and(u8::is_ascii_alphanumeric),
            byte => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'/' | b'.' | b'(' | b'$' | b'+' | b'~' | 0x80..),
        };
        if !is_start {
            return None;
        }
        let mut end = start;
        while let Some(byte) = self.peek() {
            match byte {
                b'\n' => break,
                b',' | b']' | b'}' if in_flow => break,
                b'[' | b'{' | b':' | b'#' if in_flow => return None,
                b'#' if self.at > end => break,
                b':' if matches!(self.bytes.get(self.at + 1), Some(b' ' | b'\n') | None) => return None,
                b' ' => {}
                _ => end = self.at + 1,
            }
            self.at += 1;
        }
        self.at = end;
        let span = Span::new(start, end);
        Some(YamlNode { data: YamlData::Scalar(Cow::Borrowed(&self.text[span.range()]), Style::Plain), span })
    }
}

#[cfg(test)]
mod tests;

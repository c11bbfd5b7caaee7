//! Places in an author's file: byte ranges, and values that remember where they were written.
//!
//! **Invariant:** a span counts bytes of the file as the author saved it, byte order mark and carriage returns included.

use serde::Serialize;

use crate::index::to_u32;

/// A byte range in one file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The range `start..end`; files are bounded far below 4 GiB, larger offsets saturate.
    pub fn new(start: usize, end: usize) -> Self {
        Self { start: to_u32(start), end: to_u32(end.max(start)) }
    }

    /// The empty range at `at`.
    pub fn at(at: usize) -> Self {
        Self::new(at, at)
    }

    /// The smallest range that covers both.
    #[must_use]
    pub fn to(self, other: Self) -> Self {
        Self { start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// The range as `usize`, for slicing.
    pub fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// A value and where it was written.
#[derive(Clone, Debug, PartialEq)]
pub struct Spanned<T> {
    /// The value.
    pub value: T,
    /// Its place in the file that holds it.
    pub span: Span,
}

impl<T> Spanned<T> {
    /// `value`, written at `span`.
    pub fn new(value: T, span: Span) -> Self {
        Self { value, span }
    }

    /// Returns another value at the same place.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Spanned<U> {
        Spanned { value: f(self.value), span: self.span }
    }
}

/// Turns byte offsets of one text into lines and columns.
#[derive(Clone, Debug)]
pub struct LineIndex<'t> {
    text: &'t str,
    starts: Vec<u32>,
    /// Character counts at some bytes of long lines, so that none is counted from its beginning each time.
    marks: Vec<(u32, u32)>,
}

/// Bytes between two marks of a long line.
const STRIDE: usize = 4096;

/// A place as an editor shows it: both numbers from 1, the column in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LineColumn {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}

impl<'t> LineIndex<'t> {
    /// Indexes the lines of `text`.
    pub fn new(text: &'t str) -> Self {
        let breaks = text.bytes().enumerate().filter(|&(_, byte)| byte == b'\n');
        let starts = std::iter::once(0).chain(breaks.map(|(at, _)| to_u32(at + 1)));
        let mut index = Self { text, starts: starts.collect(), marks: Vec::new() };
        for line in 1..=index.starts.len() {
            let (mut from, mut before) = (index.start(line), 0);
            let end = index.start(line + 1);
            while end - from > STRIDE {
                let to = text.floor_char_boundary(from + STRIDE);
                before += width(&text[from..to]);
                from = to;
                index.marks.push((to_u32(from), to_u32(before)));
            }
        }
        index
    }

    /// The line and column of a byte offset; offsets past the end mean the end, a byte order mark takes no column.
    pub fn locate(&self, offset: u32) -> LineColumn {
        let offset = (offset as usize).min(self.text.len());
        let line = self.starts.partition_point(|&start| start as usize <= offset);
        let start = self.starts[line - 1] as usize;
        let marks = self.marks.partition_point(|&(at, _)| at as usize <= offset);
        let mark = self.marks[..marks].last().filter(|(at, _)| *at as usize >= start);
        let (from, before) = mark.map_or((start, 0), |&(at, before)| (at as usize, before as usize));
        LineColumn { line, column: before + self.text.get(from..offset).map_or(0, width) + 1 }
    }

    /// The first byte of a line (from 1); the end of the text for lines that it does not have.
    pub fn start(&self, line: usize) -> usize {
        self.starts.get(line.saturating_sub(1)).map_or(self.text.len(), |&start| start as usize)
    }

    /// The text of a line (from 1), without its line break.
    pub fn line(&self, line: usize) -> &'t str {
        let start = self.starts.get(line - 1).map_or(self.text.len(), |&start| start as usize);
        let end = self.starts.get(line).map_or(self.text.len(), |&start| start as usize);
        self.text[start..end].trim_end_matches(['\n', '\r'])
    }
}

/// The columns that a text takes.
fn width(text: &str) -> usize {
    text.chars().filter(|&char| char != '\u{feff}').count()
}

/// The places in the file of the bytes of a decoded text (a YAML scalar without its quotes and indentation).
#[derive(Clone, Debug)]
pub enum SourceMap {
    /// The text is a slice of the file that begins here: plain scalars, bodies, quoted scalars without escapes.
    Slice(u32),
    /// Each piece of the text that begins at `.0` is a slice of the file that begins at `.1`; sorted: block scalars.
    Pieces(Vec<(u32, u32)>),
    /// The text was rewritten by escapes or folding: the place of every part is the whole scalar.
    Whole(Span),
}

impl SourceMap {
    /// The place of `range` of the decoded text.
    pub fn span(&self, range: std::ops::Range<usize>) -> Span {
        match self {
            Self::Slice(start) => Span::new(*start as usize + range.start, *start as usize + range.end),
            Self::Pieces(pieces) => Span::new(locate(pieces, range.start), locate(pieces, range.end.max(1) - 1) + 1),
            Self::Whole(span) => *span,
        }
    }
}

/// Returns the place in the file of the decoded byte `at`.
fn locate(pieces: &[(u32, u32)], at: usize) -> usize {
    let before = pieces.partition_point(|&(decoded, _)| decoded as usize <= at);
    let (decoded, file) = pieces[before.max(1) - 1];
    file as usize + at - decoded as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_long_lines_are_counted_in_characters() {
        let text = format!("\u{feff}a\n{}\n{}é", "aé😀\u{feff}".repeat(3 * STRIDE / 10), "b".repeat(STRIDE));
        let index = LineIndex::new(&text);
        for at in (0..=text.len()).filter(|at| text.is_char_boundary(*at)) {
            let line = text[..at].matches('\n').count() + 1;
            let column = text[..at].rsplit('\n').next().map_or(0, |line| line.chars().filter(|char| *char != '\u{feff}').count()) + 1;
            assert_eq!(index.locate(u32::try_from(at).expect("a short text")), LineColumn { line, column });
        }
    }
}

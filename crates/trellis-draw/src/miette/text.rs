//! The text of a file as it may be shown on a terminal, and parts of it.
//!
//! **Invariant:** a shown text has the bytes of its file at the same places, but for those that a terminal would obey.

use std::sync::{Arc, OnceLock};

use self_cell::self_cell;

use super::{MAX_EXCERPT_LINES, MAX_LINE_LENGTH};
use trellis_base::{
    diagnostic::is_shown,
    span::{LineIndex, Span},
};
use trellis_syntax::document::Document;

/// A file's text, made harmless and indexed when it is first shown.
#[derive(Debug, Default)]
pub(super) struct Text {
    source: Option<Arc<str>>,
    lines: OnceLock<Lines>,
}

self_cell! {
    struct Lines {
        owner: Arc<str>,
        #[covariant]
        dependent: LineIndex,
    }

    impl { Debug }
}

/// A part of a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Excerpt<'t> {
    pub(super) text: &'t str,
    /// Its first byte.
    pub(super) from: usize,
    /// Its first line, from 1.
    pub(super) line: usize,
    /// The number of its lines.
    pub(super) lines: usize,
    /// The column of the place that it is about, from 1.
    pub(super) column: usize,
}

impl Text {
    pub(super) fn of(document: &Document) -> Self {
        Self { source: Some(Arc::clone(&document.text)), lines: OnceLock::new() }
    }

    fn index(&self) -> &LineIndex<'_> {
        let lines = self.lines.get_or_init(|| {
            let source = self.source.clone().unwrap_or_default();
            let is_fine = |(at, char): (usize, char)| is_shown(char) || is_break(&source[at..]);
            let shown = if source.char_indices().all(is_fine) { Arc::clone(&source) } else { same_length(&source).into() };
            Lines::new(shown, |text| LineIndex::new(text))
        });
        lines.borrow_dependent()
    }

    fn text(&self) -> &str {
        self.index();
        self.lines.get().map_or("", |lines| lines.borrow_owner())
    }

    /// The nearest place that the text has.
    pub(super) fn clip(&self, span: Span) -> Span {
        let text = self.text();
        let at = |offset: u32| text.floor_char_boundary(offset as usize);
        Span::new(at(span.start), at(span.end))
    }

    /// Returns the lines of a place that the text has, and the given numbers of lines around them.
    pub(super) fn excerpt(&self, place: Span, before: usize, after: usize) -> Excerpt<'_> {
        let (index, text) = (self.index(), self.text());
        let at = index.locate(place.start);
        let last = index.locate(place.end.max(place.start + 1) - 1).line.clamp(at.line, at.line + MAX_EXCERPT_LINES - 1);
        let (mut line, mut from, mut to) = (at.line, index.start(at.line), index.start(last + 1));
        let mut lines = last + 1 - line;
        if place.start as usize - from > MAX_LINE_LENGTH || to - (place.start as usize) > MAX_LINE_LENGTH * lines {
            from = from.max(text.floor_char_boundary((place.start as usize).saturating_sub(MAX_LINE_LENGTH)));
            to = to.min(text.floor_char_boundary(place.start as usize + MAX_LINE_LENGTH));
            lines = text[from..to].lines().count().max(1);
            return Excerpt { text: &text[from..to], from, line, lines, column: at.column };
        }
        for _ in 0..before {
            if line == 1 || from - index.start(line - 1) > MAX_LINE_LENGTH {
                break;
            }
            line -= 1;
            lines += 1;
            from = index.start(line);
        }
        for _ in 0..after {
            let end = index.start(line + lines + 1);
            if end == to || end - to > MAX_LINE_LENGTH {
                break;
            }
            lines += 1;
            to = end;
        }
        Excerpt { text: &text[from..to], from, line, lines, column: at.column }
    }
}

/// Like [`harmless`](trellis_base::diagnostic::harmless), for the text of a file: each character keeps its number of bytes.
fn same_length(text: &str) -> String {
    let shown = |(at, char): (usize, char)| match char.len_utf8() {
        _ if is_shown(char) || is_break(&text[at..]) => char,
        1 => '?',
        2 => '\u{bf}',
        _ => char::REPLACEMENT_CHARACTER,
    };
    text.char_indices().map(shown).collect()
}

/// Returns whether a line breaks here.
fn is_break(text: &str) -> bool {
    text.starts_with('\n') || text.starts_with("\r\n")
}

//! Places of findings, for programs that read them: paths, lines and columns.

use std::{cell::OnceCell, collections::BTreeMap, fmt, sync::Arc};

use trellis_core::{
    Document,
    diagnostic::Place,
    span::{LineColumn, LineIndex, Span},
};

/// The places of one graph. The lines of a file are counted when the first finding in it is looked for.
pub struct Places<'d> {
    below: &'d str,
    files: BTreeMap<&'d str, Lines<'d>>,
}

/// A file's text and its lines.
struct Lines<'d> {
    text: &'d str,
    index: OnceCell<LineIndex<'d>>,
}

/// A range as editors count: lines and columns from 1, the end behind the last character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// The first character.
    pub start: LineColumn,
    /// The one behind the last character.
    pub end: LineColumn,
}

impl<'d> Places<'d> {
    /// The places of a graph whose paths are below `below`: empty, or a folder with a `/` at its end.
    pub fn new(documents: &'d [Arc<Document>], below: &'d str) -> Self {
        let lines = |document: &'d Arc<Document>| Lines { text: &document.text, index: OnceCell::new() };
        Self { below, files: documents.iter().map(|document| (&*document.path, lines(document))).collect() }
    }

    /// The path of a place.
    pub fn path(&self, place: &Place) -> String {
        format!("{}{}", self.below, place.path)
    }

    /// The lines and columns of a place; those of an empty file where the graph has no such file.
    pub fn region(&self, place: &Place) -> Region {
        let Span { start, end } = place.span;
        let first = LineColumn { line: 1, column: 1 };
        let lines = self.files.get(&*place.path).map(|file| file.index.get_or_init(|| LineIndex::new(file.text)));
        let locate = |offset| lines.map_or(first, |lines| lines.locate(offset));
        Region { start: locate(start), end: locate(end) }
    }
}

impl fmt::Debug for Places<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Places").field("below", &self.below).field("files", &self.files.keys()).finish()
    }
}

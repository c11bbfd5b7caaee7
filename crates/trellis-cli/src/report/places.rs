//! Where findings stand, for programs that read them.

use trellis_core::{
    diagnostic::Place,
    span::{LineColumn, Span},
};

use super::{Checked, Files};

/// Where the places of one graph are.
pub(super) struct Places<'c> {
    /// What stands before its paths.
    below: &'c str,
    files: Files<'c>,
}

/// A range as editors count: lines and columns from 1, the end behind the last character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Region {
    pub(super) start: LineColumn,
    pub(super) end: LineColumn,
}

impl<'c> Places<'c> {
    /// The places of a graph whose paths stand below `below`.
    pub(super) fn new(graph: &'c Checked, below: &'c str) -> Self {
        Self { below, files: Files::new(graph) }
    }

    /// The path of a place.
    pub(super) fn path(&self, place: &Place) -> String {
        format!("{}{}", self.below, place.path)
    }

    /// The lines and columns of a place.
    pub(super) fn region(&self, place: &Place) -> Region {
        let Span { start, end } = place.span;
        let first = LineColumn { line: 1, column: 1 };
        let locate = |offset| self.files.lines(&place.path).map_or(first, |lines| lines.locate(offset));
        Region { start: locate(start), end: locate(end) }
    }
}

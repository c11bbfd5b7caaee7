//! A file of sheets in which a change renames something.

use std::ops::Range;

use trellis_core::diagnostic::FilePath;

/// A sheet, or a file beside one, that names what a change renames.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenamedSheet {
    /// Its path below the root of the graph.
    pub path: FilePath,
    /// Its text before the change.
    pub text: String,
    /// The places that change, in order, with their new texts.
    pub edits: Vec<(Range<usize>, String)>,
}

impl RenamedSheet {
    /// Returns its text after the change.
    pub fn changed(&self) -> String {
        let mut text = self.text.clone();
        self.edits.iter().rev().for_each(|(range, new)| text.replace_range(range.clone(), new));
        text
    }
}

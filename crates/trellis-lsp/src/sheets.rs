//! Test sheets. They are no nodes, but their mistakes are findings, and a rename changes them too, in the text of the editor where they are open.

use std::path::Path;

use trellis_project::sheet::TESTS;

use crate::{
    revisions::Revisions,
    text::{Encoding, Text},
    wire::{DidChangeTextDocumentParams, Uri},
};

/// A sheet as the editor has it.
#[derive(Debug)]
pub(crate) struct OpenSheet {
    /// Its address, as its client names it.
    pub(crate) uri: Uri,
    pub(crate) revisions: Revisions,
    pub(crate) text: Text,
    /// Its cases, as the last text had them that could be read.
    pub(crate) cases: Vec<serde_json::Value>,
    /// True if a case changes the graph or names parts of it: an edit of that may make a mistake of the sheet.
    pub(crate) needs_graph: bool,
}

impl OpenSheet {
    /// Applies edits; returns whether they fit the present text.
    pub(crate) fn edited(&mut self, params: &DidChangeTextDocumentParams, encoding: Encoding) -> bool {
        let edited = self.revisions.edited(&self.text, params, encoding);
        edited.map(|(text, _)| self.text = text).is_ok()
    }
}

/// Returns whether a file is a sheet, by its path alone.
pub(crate) fn is_sheet(path: &Path) -> bool {
    is_in_tests(path) && path.extension().is_some_and(|extension| extension == "md")
}

/// Returns whether a file lies in a folder of sheets.
pub(crate) fn is_in_tests(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str() == TESTS)
}

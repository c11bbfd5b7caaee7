//! Test sheets that are open in the editor. They are no nodes, but a rename changes them too, in the editor's text.

use std::path::Path;

use trellis_project::sheet::TESTS;

use crate::{
    text::{Encoding, Text},
    wire::{DidChangeTextDocumentParams, TextDocumentContentChangeEvent, Uri},
};

/// A sheet as the editor has it.
#[derive(Debug)]
pub(crate) struct OpenSheet {
    /// Its address, as its client names it.
    pub(crate) uri: Uri,
    pub(crate) version: i32,
    pub(crate) text: Text,
    /// Its cases, as the last text had them that could be read.
    pub(crate) cases: Vec<serde_json::Value>,
}

impl OpenSheet {
    /// Applies edits; returns whether they fit the present text.
    pub(crate) fn edited(&mut self, params: &DidChangeTextDocumentParams, encoding: Encoding) -> bool {
        if params.text_document.version <= self.version {
            return false;
        }
        self.version = params.text_document.version;
        for change in &params.content_changes {
            let (range, new) = match change {
                TextDocumentContentChangeEvent::TextDocumentContentChangePartial(change) => (Some(change.range), &change.text),
                TextDocumentContentChangeEvent::TextDocumentContentChangeWholeDocument(change) => (None, &change.text),
            };
            if range.is_some_and(|range| (range.end.line, range.end.character) < (range.start.line, range.start.character)) {
                return false;
            }
            self.text.replace(range, new, encoding);
        }
        true
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

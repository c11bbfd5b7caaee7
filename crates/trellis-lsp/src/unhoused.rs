//! Open files that belong to no graph.

use crate::{
    revisions::Revisions,
    text::{Encoding, Text},
    wire::{DidChangeTextDocumentParams, Uri},
};

/// An open file that no graph holds.
#[derive(Debug)]
pub(crate) struct UnhousedFile {
    /// Its address, as its client names it.
    pub(crate) uri: Uri,
    pub(crate) revisions: Revisions,
    pub(crate) text: Text,
    /// True if its folder cannot be served, which is known until the file is opened again.
    pub(crate) is_refused: bool,
}

impl UnhousedFile {
    /// Applies edits; returns whether they fit the present text.
    pub(crate) fn apply(&mut self, params: &DidChangeTextDocumentParams, encoding: Encoding) -> bool {
        let edited = self.revisions.edited(&self.text, params, encoding);
        edited.map(|(text, _)| self.text = text).is_ok()
    }
}

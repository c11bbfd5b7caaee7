//! Collecting the findings of one file.

use super::{Code, Diagnostic, FilePath};
use crate::span::Span;

/// The findings of one file so far.
#[derive(Debug)]
pub struct Report {
    /// The file.
    pub path: FilePath,
    /// The findings, in the order of their discovery.
    pub diagnostics: Vec<Diagnostic>,
}

impl Report {
    /// Creates an empty report about `path`.
    pub fn new(path: &FilePath) -> Self {
        Self { path: FilePath::clone(path), diagnostics: Vec::new() }
    }

    /// Adds a finding and returns it, so that help and labels can be added.
    pub fn add(&mut self, code: Code, span: Span, message: impl Into<String>) -> &mut Diagnostic {
        self.push(Diagnostic::new(code, &self.path, span, message))
    }

    /// Adds a finished finding.
    pub fn push(&mut self, diagnostic: Diagnostic) -> &mut Diagnostic {
        let at = self.diagnostics.len();
        self.diagnostics.push(diagnostic);
        &mut self.diagnostics[at]
    }
}

//! A transcript with the graph that it is valid for: a sheet of the suite, which runs unchanged.

use std::{fmt::Write as _, sync::Arc};

use trellis_core::{Diagnostic, Document, span::LineIndex};

use super::Transcript;

impl Transcript {
    /// Returns the sheet: the files of the graph, the findings of the compiler, and the transcript.
    pub fn sheet(&self, title: &str, documents: &[Arc<Document>], found: &[Diagnostic]) -> String {
        let mut out = format!("# {}\n", title.replace(['\n', '\r', '`'], " "));
        for document in documents {
            block(&mut out, &info(document), &document.text);
        }
        if !found.is_empty() {
            block(&mut out, "finds", &places(found, documents));
        }
        block(&mut out, "transcript", &self.text);
        out
    }
}

/// Adds a fenced block that holds this text byte for byte.
fn block(out: &mut String, info: &str, text: &str) {
    let longest = text.lines().map(|line| line.chars().take_while(|mark| *mark == '`').count()).max().unwrap_or(0);
    let fence = "`".repeat(3.max(longest + 1));
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    let _ = write!(out, "\n{fence}{info}\n{text}{end}{fence}\n");
}

/// A language and a path; `bare` for a file whose last line is not ended.
fn info(document: &Document) -> String {
    let language = match document.path.rsplit_once('.').map(|(_, extension)| extension) {
        Some("md") => "markdown",
        Some("json") => "json",
        _ => "yaml",
    };
    let bare = if document.text.is_empty() || document.text.ends_with('\n') { "" } else { " bare" };
    format!("{language} {}{bare}", document.path)
}

/// `path:line:column code` of each finding.
fn places(found: &[Diagnostic], documents: &[Arc<Document>]) -> String {
    let line = |found: &Diagnostic| match &found.place {
        Some(place) => {
            let text = documents.iter().find(|document| document.path == place.path).map_or("", |document| &document.text);
            let at = LineIndex::new(text).locate(place.span.start);
            format!("{}:{}:{} {}\n", place.path, at.line, at.column, found.code)
        }
        None => format!("graph {}\n", found.code),
    };
    found.iter().map(line).collect()
}

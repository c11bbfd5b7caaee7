//! Findings as the blocks of a sheet hold them: place, severity, code and message, then help, fix and labels.

use std::{collections::BTreeMap, fmt::Write as _, sync::Arc};

use trellis_core::{
    Document,
    diagnostic::{Diagnostic, FilePath, Place},
    span::LineIndex,
};

/// The texts of a graph by path.
pub type Texts = BTreeMap<FilePath, Arc<str>>;

/// The texts of documents by path.
pub fn texts(documents: &[Arc<Document>]) -> Texts {
    documents.iter().map(|document| (Arc::clone(&document.path), Arc::clone(&document.text))).collect()
}

/// All diagnostics, in the compiler's order.
pub fn print(diagnostics: &[Diagnostic], texts: &Texts) -> String {
    let mut out = String::new();
    for diagnostic in diagnostics {
        let place = diagnostic.place.as_ref().map_or_else(|| "graph".to_owned(), |place| locate(place, texts));
        let _ = writeln!(out, "{place} {}[{}] {}", diagnostic.severity, diagnostic.code, diagnostic.message);
        for label in &diagnostic.labels {
            let _ = writeln!(out, "  label {} {}", locate(&label.place, texts), label.message);
        }
        if let Some(help) = &diagnostic.help {
            let _ = writeln!(out, "  help: {help}");
        }
        if let Some(fix) = &diagnostic.fix {
            let _ = writeln!(out, "  fix: {}", fix.title);
        }
    }
    out
}

/// The place and code of each finding alone: `path:line:column code`.
pub fn places(diagnostics: &[Diagnostic], texts: &Texts) -> String {
    let line = |found: &Diagnostic| match &found.place {
        Some(place) => format!("{} {}\n", locate(place, texts), found.code),
        None => format!("graph {}\n", found.code),
    };
    diagnostics.iter().map(line).collect()
}

/// `path:line:column` of a place.
fn locate(place: &Place, texts: &Texts) -> String {
    let text = texts.get(&place.path).map_or("", |text| text);
    let at = LineIndex::new(text).locate(place.span.start);
    format!("{}:{}:{}", place.path, at.line, at.column)
}

//! Diagnostics as a suite prints them: place, severity, code and message, then help, fix and labels.

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

/// Only where each stands, and its code: `path:line:column code`.
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

/// What breaks the house rules for diagnostics: spans that are no text, messages that are no single plain line.
pub fn flaws(diagnostics: &[Diagnostic], texts: &Texts) -> Vec<String> {
    let mut flaws = Vec::new();
    for diagnostic in diagnostics {
        let labels = diagnostic.labels.iter().map(|label| (&label.place, &*label.message));
        let edits = diagnostic.fix.iter().flat_map(|fix| &fix.edits).map(|edit| (&edit.place, "fix"));
        for (place, what) in diagnostic.place.iter().map(|place| (place, &*diagnostic.message)).chain(labels).chain(edits) {
            match texts.get(&place.path) {
                None => flaws.push(format!("`{what}` points into `{}`, which is no file of the graph", place.path)),
                Some(text) if !text.is_empty() && text.get(place.span.range()).is_none() => {
                    flaws.push(format!("`{what}` points at {:?}, which is no text of `{}`", place.span, place.path));
                }
                Some(_) => {}
            }
        }
        let message = &diagnostic.message;
        if message.is_empty() || message.contains('\n') || message.ends_with('.') || message.starts_with(char::is_uppercase) {
            flaws.push(format!("`{message}` is not one plain line in lower case without a full stop"));
        }
    }
    flaws
}

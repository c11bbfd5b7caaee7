//! The rules for every finding.

use trellis_core::diagnostic::Diagnostic;
pub use trellis_project::sheet::findings::{Texts, places, print, texts};

/// Returns breaches of the house rules for diagnostics: spans that are no text, messages that are no single plain line.
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

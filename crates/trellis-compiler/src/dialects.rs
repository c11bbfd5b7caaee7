//! Templates of another dialect than that of their graph: reported once for each graph.
//!
//! In: the findings of the documents. Out: the same, with one for all Go templates of a graph, which sets the dialect where that fixes them all.

use std::{collections::BTreeMap, sync::Arc};

use trellis_base::{
    diagnostic::{Code, Diagnostic, FilePath, Place, TextEdit},
    span::Span,
    template::{Dialect, GO_TEMPLATE, GO_TEMPLATES},
};
use trellis_syntax::{
    document::Document,
    migrate::{self, Settings},
};

/// Keeps the first finding of each graph about a Go template: one setting fixes them all.
pub(super) fn say_once(parsed: &mut Vec<Diagnostic>, documents: &[Arc<Document>], owners: &[u32]) {
    let is_go = |found: &Diagnostic| found.code == Code::TemplateSyntax && found.message == GO_TEMPLATE;
    if !parsed.iter().any(is_go) {
        return;
    }
    parsed.sort_by(|a, b| a.order().cmp(&b.order()));
    let owner = |found: &Diagnostic| {
        let path = &found.place.as_ref()?.path;
        let at = documents.binary_search_by(|document| document.path.cmp(path)).ok()?;
        owners.get(at).copied()
    };
    let mut first: BTreeMap<Option<u32>, usize> = BTreeMap::new();
    let mut reported: Vec<Diagnostic> = Vec::with_capacity(parsed.len());
    for found in parsed.drain(..) {
        match first.get(&owner(&found)).filter(|_| is_go(&found)) {
            Some(&at) => reported[at].message = GO_TEMPLATES.into(),
            None => {
                if is_go(&found) {
                    first.insert(owner(&found), reported.len());
                }
                reported.push(found);
            }
        }
    }
    for (graph, at) in first {
        let found = reported[at].clone();
        reported[at] = graph
            .and_then(|graph| setting(documents, owners, graph))
            .into_iter()
            .fold(found, |found, (path, edits)| fixed(found, &path, edits));
    }
    *parsed = reported;
}

/// The edits of the project file of a graph that name the dialect, if all of its templates are Go's.
fn setting(documents: &[Arc<Document>], owners: &[u32], graph: u32) -> Option<(FilePath, Vec<(Span, String)>)> {
    let own = || documents.iter().zip(owners).filter(|(_, owner)| **owner == graph).map(|(document, _)| document);
    if !own().all(|document| migrate::is_all_go(document)) {
        return None;
    }
    let project = own().find(|document| is_project(&document.path))?;
    let wanted = Settings { templates: Some(Dialect::Go), ..Settings::default() };
    let changes = migrate::settings(&project.path, &project.text, &wanted)?;
    Some((FilePath::clone(&project.path), changes.into_iter().flat_map(|change| change.edits).collect()))
}

fn is_project(path: &str) -> bool {
    path.rsplit('/').next() == Some("trellis.yaml")
}

fn fixed(found: Diagnostic, path: &FilePath, edits: Vec<(Span, String)>) -> Diagnostic {
    let edits = edits.into_iter().map(|(span, text)| TextEdit { place: Place::new(path, span), text }).collect();
    found.fix_all("set `templates: go`", edits)
}

//! Templates of another dialect than their graph's: said once for each graph.
//!
//! In: the findings of the documents. Out: the same, with one for all Go templates of a graph.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    diagnostic::{Code, Diagnostic},
    syntax::document::Document,
    template::{GO_TEMPLATE, GO_TEMPLATES},
};

/// Keeps the first finding of each graph that something is a Go template: one setting mends them all.
pub(super) fn say_once(parsed: &mut Vec<Diagnostic>, documents: &[Arc<Document>], owners: &[u32]) {
    let is_go = |found: &Diagnostic| found.code == Code::TemplateSyntax && found.message == GO_TEMPLATE;
    if parsed.iter().filter(|found| is_go(found)).count() < 2 {
        return;
    }
    parsed.sort_by(|a, b| a.order().cmp(&b.order()));
    let owner = |found: &Diagnostic| {
        let path = &found.place.as_ref()?.path;
        let at = documents.binary_search_by(|document| document.path.cmp(path)).ok()?;
        owners.get(at).copied()
    };
    let mut first: BTreeMap<Option<u32>, usize> = BTreeMap::new();
    let mut kept: Vec<Diagnostic> = Vec::with_capacity(parsed.len());
    for found in parsed.drain(..) {
        match first.get(&owner(&found)).filter(|_| is_go(&found)) {
            Some(&at) => kept[at].message = GO_TEMPLATES.into(),
            None => {
                if is_go(&found) {
                    first.insert(owner(&found), kept.len());
                }
                kept.push(found);
            }
        }
    }
    *parsed = kept;
}

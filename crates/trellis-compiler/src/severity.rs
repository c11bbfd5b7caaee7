//! Severities that graphs assign: `severity:` in `trellis.yaml`, and `# trellis: allow(code)` for a single finding.
//!
//! **Invariant:** a code that cannot be tolerated remains an error.

use std::{collections::BTreeMap, sync::Arc};

use rustc_hash::FxHashMap;

use super::{document_index::DocumentIndex, graphs::GraphSyntax, names::at_path, split::GraphSplit};
use trellis_base::{
    diagnostic::{Code, Diagnostic, Place, Severity, near},
    span::{Span, Spanned},
};
use trellis_syntax::{
    document::{Allow, Document},
    removal::removal,
};

/// Codes of findings that are made after compilation: until then, it is unknown if a comment about them is needed.
const LATE: [Code; 4] = [Code::UnboundTool, Code::UncheckedRead, Code::MissingFile, Code::SqlSyntax];

/// Applies the severities and comments in `documents` to findings that were made after compilation, by a host for example. Findings that
/// are allowed or turned off are removed.
pub fn apply_severities(documents: &[Arc<Document>], found: &mut Vec<Diagnostic>) {
    let documents = &super::in_order(documents)[..];
    let (split, index) = (GraphSplit::new(documents), DocumentIndex::new(documents));
    Severities::new(documents, &split, &GraphSyntax::all(&split, documents), &index).apply(found);
}

/// Severities and comments of all graphs.
pub(super) struct Severities<'d> {
    /// Severities by graph; a nested graph has its own.
    severities: Vec<BTreeMap<Code, Option<Severity>>>,
    documents: &'d [Arc<Document>],
    split: &'d GraphSplit,
    index: &'d DocumentIndex,
}

impl<'d> Severities<'d> {
    pub(super) fn new(documents: &'d [Arc<Document>], split: &'d GraphSplit, graphs: &[GraphSyntax<'_>], index: &'d DocumentIndex) -> Self {
        let severity = |graph: &GraphSyntax<'_>| {
            let all = graph.projects.iter().flat_map(|(_, _, project)| &project.severity);
            all.map(|(code, severity)| (code.value, *severity)).collect::<BTreeMap<_, _>>()
        };
        Self { severities: graphs.iter().map(severity).collect(), documents, split, index }
    }

    /// Returns the diagnostics of parsing.
    pub(super) fn parsed(&self) -> impl Iterator<Item = &'d Diagnostic> {
        let documents = self.documents;
        self.index.marked.iter().flat_map(move |&at| &documents[at as usize].diagnostics)
    }

    /// Returns true if a finding is an error here.
    pub(super) fn is_error(&self, found: &Diagnostic) -> bool {
        self.severity(found) == Some(Severity::Error)
    }

    /// Returns the severity of a finding in its graph; `None` if it is suppressed.
    fn severity(&self, found: &Diagnostic) -> Option<Severity> {
        if self.allow(found).is_some() {
            return None;
        }
        let of = |place: &Place| at_path(self.documents, &place.path).map(|at| self.split.owner[at as usize]);
        let graph = found.place.as_ref().map_or(Some(0), of);
        let severity = graph.and_then(|graph| self.severities.get(graph as usize)).and_then(|severity| severity.get(&found.code));
        match severity {
            Some(severity) if found.code.is_tolerable() => *severity,
            _ => Some(found.severity),
        }
    }

    /// Returns the span of the code in a comment that allows a finding; `None` if there is none.
    fn allow(&self, found: &Diagnostic) -> Option<Span> {
        let Place { path, span, .. } = found.place.as_ref().filter(|_| found.code.is_tolerable())?;
        let allows = &self.documents[at_path(self.documents, path)? as usize].allows;
        let holds = |allow: &&Allow| allow.covers.is_none_or(|covers| covers.start <= span.start && span.start <= covers.end);
        let words = allows.iter().filter(holds).flat_map(|allow| &allow.codes);
        // Of several comments, the nearest counts.
        words.filter(|code| *code.value == *found.code.as_str()).map(|code| code.span).next_back()
    }

    /// Sets the severity of findings and removes those that are not wanted. Returns the codes in comments that were needed, by file.
    pub(super) fn apply(&self, found: &mut Vec<Diagnostic>) -> FxHashMap<Arc<str>, Vec<Span>> {
        let mut needed: FxHashMap<Arc<str>, Vec<Span>> = FxHashMap::default();
        if self.index.allowing.is_empty() && self.severities.iter().all(BTreeMap::is_empty) {
            return needed;
        }
        found.retain_mut(|diagnostic| {
            if let (Some(place), Some(word)) = (&diagnostic.place, self.allow(diagnostic)) {
                needed.entry(Arc::clone(&place.path)).or_default().push(word);
            }
            let severity = self.severity(diagnostic);
            diagnostic.severity = severity.unwrap_or(diagnostic.severity);
            severity.is_some()
        });
        needed
    }

    /// Reports `unused-allow` for comments that allow nothing. Unless `is_whole`, some checks did not run, and a comment may be needed
    /// after all.
    pub(super) fn unused(&self, needed: &FxHashMap<Arc<str>, Vec<Span>>, is_whole: bool, found: &mut Vec<Diagnostic>) {
        for document in self.index.allowing.iter().map(|&at| &self.documents[at as usize]) {
            let needed = needed.get(&document.path).map_or(&[][..], Vec::as_slice);
            for allow in &document.allows {
                if allow.codes.is_empty() {
                    let unread = Diagnostic::new(Code::UnusedAllow, &document.path, allow.comment, "this comment allows nothing");
                    found.push(unread.help("write `# trellis: allow(code)`, or several codes with commas"));
                }
                for code in &allow.codes {
                    found.extend(unneeded(document, allow, code, needed, is_whole));
                }
            }
        }
    }
}

/// Returns the mistake of one code in a comment, if it has one.
fn unneeded(document: &Document, allow: &Allow, code: &Spanned<Arc<str>>, needed: &[Span], is_whole: bool) -> Option<Diagnostic> {
    let found = |message: String| Diagnostic::new(Code::UnusedAllow, &document.path, code.span, message);
    let Some(known) = Code::named(&code.value) else {
        let near = near(&code.value, Code::ALL.iter().filter(|code| code.is_tolerable()).map(|code| code.as_str()));
        return Some(
            found(format!("`{}` is no code of a diagnostic", code.value)).meant(code.span, near, || "`trellis explain` lists them".into()),
        );
    };
    let without = |found: Diagnostic| match removed(document, allow, code) {
        Some((title, span, text)) => found.fix(title, span, text),
        None => found,
    };
    if !known.is_tolerable() {
        let help = format!("`trellis explain {known}` says how to fix it");
        return Some(without(found(format!("`{known}` cannot be allowed: with it there is nothing that could run")).help(help)));
    }
    let is_unneeded = is_whole && !LATE.contains(&known) && !needed.contains(&code.span);
    is_unneeded.then(|| without(found(format!("`{known}` is allowed here, and nothing here needs that")).help("remove it")))
}

/// Returns the fix that removes one code from a comment: its title, its span, the new text. The whole comment is removed with its only
/// code. `None` if the comment has further text.
fn removed(document: &Document, allow: &Allow, code: &Spanned<Arc<str>>) -> Option<(&'static str, Span, String)> {
    let text = &*document.text;
    // A comment with further text is left to its author.
    if !text.get(allow.comment.range())?.ends_with(')') {
        return None;
    }
    let others: Vec<&str> = allow.codes.iter().filter(|other| other.span != code.span).map(|code| &*code.value).collect();
    if !others.is_empty() {
        return Some(("take it out of the comment", allow.comment, format!("# trellis: allow({})", others.join(", "))));
    }
    let start = allow.comment.start as usize;
    let before = text.get(..start)?.trim_end_matches(' ');
    let is_alone = before.is_empty() || before.ends_with(['\n', '\u{feff}']);
    let whole = if is_alone { removal(text, allow.comment)? } else { Span::new(before.len(), allow.comment.end as usize) };
    Some(("remove the comment", whole, String::new()))
}

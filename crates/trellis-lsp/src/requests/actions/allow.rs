//! "Allow here": the comment by which an author says that a finding is intended.

use serde_json::{Value as Json, json};
use trellis_core::{
    Diagnostic, Document, Source,
    diagnostic::{FilePath, Place, TextEdit},
    span::Span,
};

use super::FIX;
use crate::{client::Client, graph::Graph, requests::edits::plain_edit};

/// Returns the action that allows a finding where it stands, if it can be allowed.
pub(super) fn offer(graph: &mut Graph, path: &FilePath, found: &Diagnostic, client: &Client) -> Option<Json> {
    let place = found.place.as_ref().filter(|_| found.code.is_tolerable())?;
    let document = graph.document(path)?;
    let edit = comments(&document.text, place.span, found.code.as_str())
        .into_iter()
        .find(|(at, text)| holds(document, *at, text, place.span, found.code.as_str()))?;
    let edit = TextEdit { place: Place::new(path, Span::at(edit.0)), text: edit.1 };
    Some(json!({ "title": format!("allow `{}` here", found.code), "kind": FIX, "edit": plain_edit(graph, &[edit], client) }))
}

/// Returns the comments that could do it, the closest first, each with its place.
fn comments(text: &str, place: Span, code: &str) -> Vec<(usize, String)> {
    let comment = format!("# trellis: allow({code})");
    let at = place.start as usize;
    let start = text[..at].rfind('\n').map_or(0, |at| at + 1);
    let end = text[at..].find('\n').map_or(text.len(), |end| at + end);
    let written = text[start..end].trim_end_matches('\r');
    let indent = &written[..written.len() - written.trim_start().len()];
    let mut comments = vec![(start + written.len(), format!(" {comment}")), (start, format!("{indent}{comment}\n"))];
    comments.push(match text.strip_prefix("---\n").map(|_| 4).or_else(|| text.strip_prefix("---\r\n").map(|_| 5)) {
        Some(first) => (first, format!("{comment}\n")),
        None => (0, format!("---\n{comment}\n---\n")),
    });
    comments
}

/// Returns whether a comment is one and covers the finding.
fn holds(document: &Document, at: usize, comment: &str, place: Span, code: &str) -> bool {
    let mut text = document.text.to_string();
    text.insert_str(at, comment);
    let parsed = Document::parse(
        &Source::text(FilePath::clone(&document.path), &text),
        document.dialect().map(|named| named.value).unwrap_or_default(),
    );
    let moved = if at <= place.start as usize { place.start as usize + comment.len() } else { place.start as usize };
    let names = |allow: &trellis_core::syntax::document::Allow| allow.codes.iter().any(|own| *own.value == *code);
    let covers = |allow: &trellis_core::syntax::document::Allow| {
        allow.covers.is_none_or(|span| span.start as usize <= moved && moved < span.end.max(span.start + 1) as usize)
    };
    parsed.allows.iter().any(|allow| names(allow) && covers(allow))
}

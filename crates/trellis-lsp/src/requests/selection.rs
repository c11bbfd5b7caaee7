//! Selections that grow: the word, the tag, the value, the entry with what is below it, the frontmatter or the section, the file.

use serde_json::{Value as Json, json};
use trellis_core::span::Span;

use super::{
    hover::word,
    outline::{Section, outline, parts},
};
use crate::{
    state::ServerState,
    text::{Encoding, Text},
    wire::SelectionRangeParams,
};

/// Returns for each position the ranges around it, the innermost first.
pub(super) fn select(state: &mut ServerState, params: &SelectionRangeParams) -> Option<Vec<Json>> {
    let encoding = state.encoding();
    let (graph, path) = state.graph(&params.text_document.uri)?;
    let text = graph.text(&path)?.clone();
    let sections = outline(&path, &text);
    let is_markdown = path.to_ascii_lowercase().ends_with(".md");
    let at = |position| nested(&around(&text, &sections, is_markdown, text.offset(position, encoding)), &text, encoding);
    Some(params.positions.iter().map(|position| at(*position)).collect())
}

/// Returns the spans around an offset, each larger than the one before it.
fn around(text: &Text, sections: &[Section], is_markdown: bool, offset: usize) -> Vec<Span> {
    let whole = text.as_str();
    let mut spans = Vec::new();
    spans.extend(word(whole, offset));
    spans.extend(tag(whole, offset));
    let line = whole[..offset].rfind('\n').map_or(0, |at| at + 1)..whole[offset..].find('\n').map_or(whole.len(), |at| offset + at);
    let written = whole[line.clone()].trim_end_matches('\r');
    if let Some((key, value)) = written.split_once(": ") {
        let start = line.start + key.len() + 2 + (value.len() - value.trim_start().len());
        spans.push(Span::new(start, line.start + written.trim_end().len().max(start - line.start)));
    }
    let indent = written.len() - written.trim_start().len();
    spans.push(Span::new(line.start + indent, line.start + written.trim_end().len().max(indent)));
    let mut inner = Vec::new();
    containing(sections, offset, &mut inner);
    spans.extend(inner.into_iter().rev());
    if is_markdown {
        let (yaml, body) = parts(text);
        for lines in [yaml, body] {
            let start = text.line(lines.start).map_or(whole.len(), |line| line.start);
            let end = text.line(lines.end).map_or(whole.len(), |line| line.start);
            spans.push(Span::new(start, end.max(start)));
        }
    }
    spans.push(Span::new(0, whole.len()));
    let holds = |span: &Span| span.start as usize <= offset && offset <= span.end as usize;
    let mut grown: Vec<Span> = Vec::new();
    for span in spans.into_iter().filter(holds) {
        let is_larger = grown.last().is_none_or(|last| span.start <= last.start && last.end <= span.end && span != *last);
        if is_larger {
            grown.push(span);
        }
    }
    grown
}

/// Returns the tag of a template around an offset, with its braces.
fn tag(text: &str, offset: usize) -> Option<Span> {
    let open = text[..offset].rfind("{{").max(text[..offset].rfind("{%"))?;
    let closing = if text[open..].starts_with("{{") { "}}" } else { "%}" };
    let end = open + text[open..].find(closing)? + 2;
    (offset <= end).then(|| Span::new(open, end))
}

/// Adds the sections around an offset, the outermost first.
fn containing(sections: &[Section], offset: usize, spans: &mut Vec<Span>) {
    for section in sections.iter().filter(|section| section.span.start as usize <= offset && offset <= section.span.end as usize) {
        spans.push(section.span);
        containing(&section.below, offset, spans);
    }
}

/// Returns spans as the protocol nests them.
fn nested(spans: &[Span], text: &Text, encoding: Encoding) -> Json {
    let mut out = Json::Null;
    for span in spans.iter().rev() {
        let range = text.range(*span, encoding);
        out = if out.is_null() { json!({ "range": range }) } else { json!({ "range": range, "parent": out }) };
    }
    out
}

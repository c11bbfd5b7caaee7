//! Completion in an empty file: the skeletons of nodes.

use trellis_core::span::Span;

use super::Offer;
use crate::wire::CompletionItemKind;

/// Beginnings of nodes: a label, a few words, and its text with places to fill in. Each label begins with the dashes that are typed.
const SKELETONS: [(&str, &str, &str); 4] = [
    ("---", "frontmatter, then the text", "---\n$1\n---\n$0\n"),
    (
        "--- question",
        "asks, and saves the answer",
        "---\ninput_type: ${1:text}\nsave_to: ${2:answer}\nto: ${3:next}\n---\n${0:What is it?}\n",
    ),
    (
        "--- choice",
        "asks for one of several options",
        "---\noptions: [${1:yes, no}]\nsave_to: ${2:answer}\nto: ${3:next}\n---\n${0:Which one?}\n",
    ),
    (
        "--- call",
        "calls a tool",
        "---\ndo: { name: ${1:tool}, args: {} }\nsave_to: ${2:result}\non_error: ${3:fail}\nto: ${4:next}\n---\n$0\n",
    ),
];

/// Returns the skeletons where a Markdown file says nothing yet, and the span that they replace.
pub(super) fn offers(path: &str, text: &str, offset: usize) -> Option<(Vec<Offer>, Span)> {
    let said = text.trim_start_matches('\u{feff}').trim();
    let is_empty = said.len() <= 3 && said.bytes().all(|byte| byte == b'-');
    let start = text.find('-').unwrap_or(offset).min(offset);
    if !is_empty || !path.ends_with(".md") || text[start..offset].contains('\n') {
        return None;
    }
    let offer = |(rank, (label, detail, text)): (usize, &(&str, &str, &str))| Offer {
        insert: Some((*text).to_owned()),
        is_snippet: true,
        ..Offer::new(*label, CompletionItemKind::Snippet).detail(*detail).rank(rank)
    };
    let end = text[offset..].find(|char| char != '-').map_or(text.len(), |at| offset + at);
    Some((SKELETONS.iter().enumerate().map(offer).collect(), Span::new(start, end)))
}

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

/// A JSON Schema of a mapping, with places to fill in.
const SCHEMA: (&str, &str, &str) = (
    "{ type: object, properties: … }",
    "a JSON Schema",
    "{ type: object, properties: { ${1:name}: { type: ${2:string} } }, required: [${1:name}] }",
);

/// The same in lines of its own, behind the name of a key.
pub(super) const SCHEMA_LINES: &str = ":\n  type: object\n  properties:\n    ${1:name}: { type: ${2:string} }\n  required: [${1:name}]";

/// The forms of `approve` that are no words.
const APPROVALS: [(&str, &str, &str); 2] = [
    ("\"…\"", "the question", "\"${1:Go on?}\""),
    ("{ ask: …, expires: … }", "the question, and how long it stands", "{ ask: \"${1:Go on?}\", expires: ${2:1h} }"),
];

/// The ways to carry out a tool.
const BINDINGS: [(&str, &str, &str); 6] = [
    ("{ process: […] }", "a program and its arguments", "{ process: [${1:./bin/tool.sh}] }"),
    ("{ http: … }", "a request", "{ http: { ${1:get}: ${2:https://example.org} } }"),
    ("{ mcp: … }", "a tool of an MCP server of `servers`", "{ mcp: ${1:server}/${2:tool} }"),
    ("{ model: … }", "a language model, by its role", "{ model: { role: ${1:planner} } }"),
    ("{ builtin: … }", "a tool that needs no server", "{ builtin: ${1:name} }"),
    ("{ compute: … }", "a template of the result", "{ compute: ${1:./tool.json} }"),
];

/// Returns the forms that the value of a key can begin with, beside its words.
pub(super) fn values(key: &str, is_binding: bool) -> impl Iterator<Item = Offer> {
    let forms: &[(&str, &str, &str)] = match key {
        _ if is_binding => &BINDINGS,
        "approve" => &APPROVALS,
        _ => &[SCHEMA],
    };
    forms.iter().enumerate().map(|(rank, (label, detail, text))| Offer {
        insert: Some((*text).to_owned()),
        is_snippet: true,
        // Behind the words.
        ..Offer::new(*label, CompletionItemKind::Snippet).detail(*detail).rank(FORMS + rank)
    })
}

/// The rank of the first form.
const FORMS: usize = 100;

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

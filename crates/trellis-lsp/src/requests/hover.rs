//! Hover: documentation of the word under the cursor.

use std::fmt::Write as _;

use trellis_core::{
    Code,
    diagnostic::FilePath,
    program::Role,
    query::{NodeEntry, Occurrence, OccurrenceKind, Symbol},
    span::Span,
    syntax::{
        cursor::{CursorPlace, cursor_context},
        vocabulary::keys_at,
    },
};

use super::{RequestPlace, place};
use crate::{
    graph::Graph,
    state::ServerState,
    text::to_u32,
    wire::{Contents, Hover, HoverParams, MarkupContent, MarkupKind},
};

/// Lines of a body that a hover shows.
const SHOWN_LINES: usize = 5;

/// Returns the documentation of the name or the key at a place.
pub(super) fn hover(state: &mut ServerState, params: &HoverParams) -> Option<Hover> {
    let (encoding, is_markdown) = (state.encoding(), state.client.hover_markdown);
    let (value, range) = if let Some(mut place) = super::sheets::names::place(state, &params.text_document_position_params) {
        let one = place.name()?;
        let text = about(place.graph, &FilePath::from(""), one.span.start, &one)?;
        (text, place.text.range(one.span, encoding))
    } else {
        let mut place = place(state, &params.text_document_position_params)?;
        let (value, span) =
            of_symbol(&mut place).or_else(|| of_key(&place)).or_else(|| of_code(&place)).or_else(|| of_condition(&mut place))?;
        (value, place.text.range(span, encoding))
    };
    let (kind, value) = if is_markdown { (MarkupKind::Markdown, value) } else { (MarkupKind::PlainText, value.replace(['`', '*'], "")) };
    Some(Hover { contents: Contents::MarkupContent(MarkupContent { kind, value }), range: Some(range) })
}

fn of_symbol(place: &mut RequestPlace<'_>) -> Option<(String, Span)> {
    let (path, offset) = (place.path.clone(), to_u32(place.offset));
    let one = place.graph.index().at(&path, offset)?;
    Some((about(place.graph, &path, offset, &one)?, one.span))
}

/// Returns what is known of a name that stands at an offset of a file.
fn about(graph: &mut Graph, path: &FilePath, offset: u32, one: &Occurrence) -> Option<String> {
    Some(match &one.symbol {
        Symbol::Node(id) => {
            let node = graph.index().node(id)?;
            about_node(graph, &node)
        }
        Symbol::Key(_, key) => {
            let here = graph.index().node_around(path, offset);
            let types = graph.types().zip(here.as_ref()).map(|(types, node)| types.at(&node.id)).unwrap_or_default();
            let mut text = format!("**key** `{key}`\n");
            if let Some(known) = types.iter().find(|known| known.key == *key) {
                let certain = if known.certain { "set on every path" } else { "perhaps not set" };
                let _ = writeln!(text, "\nhere: {}, {certain}", known.kind);
            }
            text.push_str(&asked(graph, path, one).unwrap_or_default());
            let writers = graph.index().occurrences(&one.symbol);
            let writers: Vec<String> =
                writers.iter().filter(|one| one.kind == OccurrenceKind::Writes).map(|one| format!("`{}`", one.path)).collect();
            match writers.len() {
                0 => text.push_str("\nset nowhere in this graph\n"),
                1..=4 => text.push_str(&format!("\nset in {}\n", writers.join(", "))),
                more => text.push_str(&format!("\nset in {} and {} more\n", writers[..3].join(", "), more - 3)),
            }
            text
        }
        Symbol::Tool(name) => {
            let mut text = format!("**tool** `{name}`\n");
            let index = graph.index();
            if let Some(tool) = index.tool(name) {
                tool.description.iter().for_each(|about| text.push_str(&format!("\n{about}\n")));
                if let Some(effect) = &tool.effect {
                    let _ = writeln!(text, "\neffect: `{}`", format!("{:?}", effect.value).to_lowercase());
                }
                for (name, schema) in [("parameters", &tool.parameters), ("returns", &tool.returns)] {
                    schema.iter().for_each(|schema| text.push_str(&format!("\n{name}: `{}`\n", schema.value.to_json())));
                }
            }
            let bound = index.occurrences(&one.symbol).into_iter().find(|one| one.kind == OccurrenceKind::Defines);
            bound.iter().for_each(|one| text.push_str(&format!("\ndefined in `{}`\n", one.path)));
            text
        }
        Symbol::Predicate(_, name) => {
            let before = asked(graph, path, one).unwrap_or_default();
            format!("**predicate** `{name}`\n\nThe host, a schema or a tool answers it.\n{before}")
        }
        Symbol::Signal(name) => format!("**signal** `{name}`\n"),
        Symbol::Option(node, value) => format!("**option** `{value}` of `{node}`\n"),
    })
}

/// Returns what is known of a condition beside its subject: the values that it may have, and the conditions that were asked before it.
fn of_condition(place: &mut RequestPlace<'_>) -> Option<(String, Span)> {
    let (condition, before) = conditions(place.graph, &place.path, to_u32(place.offset))?;
    let text = &place.text.as_str()[condition.range()];
    Some((format!("**condition** `{text}`\n{}", listed(&before, place.text.as_str())), condition))
}

/// Returns the conditions that are asked before the one that an occurrence stands in, as Markdown.
fn asked(graph: &mut Graph, path: &FilePath, one: &Occurrence) -> Option<String> {
    let (_, before) = conditions(graph, path, one.span.start)?;
    let text = std::sync::Arc::clone(&graph.document(path)?.text);
    Some(listed(&before, &text))
}

fn listed(before: &[Span], text: &str) -> String {
    let asked: Vec<String> = before.iter().filter_map(|span| text.get(span.range())).map(|text| format!("`{text}`")).collect();
    if asked.is_empty() { String::new() } else { format!("\nasked before: {}\n", asked.join(", ")) }
}

/// Returns the condition of a transition at an offset, and those of the transitions above it.
fn conditions(graph: &mut Graph, path: &FilePath, offset: u32) -> Option<(Span, Vec<Span>)> {
    let node = graph.index().node_around(path, offset)?;
    let document = graph.document(path)?;
    let syntax = trellis_core::query::node_of(document, node.ordinal)?;
    let all: Vec<Span> = syntax.transitions.iter().filter_map(|transition| Some(transition.condition.as_ref()?.span)).collect();
    let at = all.iter().position(|span| span.start <= offset && offset <= span.end)?;
    Some((all[at], all[..at].to_vec()))
}

/// Returns the first lines of a node and the number of its transitions.
pub(super) fn about_node(graph: &mut Graph, node: &NodeEntry) -> String {
    let mut text = format!("**node** `{}` in `{}`\n", node.id, node.path);
    if let Some(document) = graph.document(&node.path) {
        let body = trellis_core::query::body_of(document, node.ordinal);
        let lines: Vec<&str> = body.trim().lines().take(SHOWN_LINES).collect();
        if !lines.is_empty() {
            let _ = writeln!(text, "\n{}", lines.iter().map(|line| format!("> {line}")).collect::<Vec<_>>().join("\n"));
        }
    }
    if let Some(program) = graph.program()
        && let Some(index) = program.find(&node.id)
    {
        let known = program.node(index);
        let into = program.in_edges(index).count();
        let out = program.out_edges(known.body).count();
        let role = match &known.role {
            Role::Act(_) => "calls a tool or a graph",
            Role::Listen(_) => "waits for an answer",
            Role::Pass => "passes on",
        };
        let _ = writeln!(text, "\n{role}; {into} transitions in, {out} out");
    }
    text
}

/// Returns the meaning of the key at a place.
fn of_key(place: &RequestPlace<'_>) -> Option<(String, Span)> {
    let span = word(place.text.as_str(), place.offset)?;
    let context = cursor_context(&place.path, place.text.as_str(), span.end as usize);
    if context.place != CursorPlace::Key {
        return None;
    }
    let written = &place.text.as_str()[span.range()];
    let key = keys_at(&context).into_iter().find(|key| key.name == written)?;
    let words = key.words();
    let words = if words.is_empty() { String::new() } else { format!("\n\none of `{}`", words.join("`, `")) };
    Some((format!("**{}**\n\n{}{words}\n", key.name, key.about), span))
}

/// Returns the title of the code at a place.
fn of_code(place: &RequestPlace<'_>) -> Option<(String, Span)> {
    let span = word(place.text.as_str(), place.offset)?;
    let code = Code::named(&place.text.as_str()[span.range()])?;
    let page = code.page();
    let title = page.split("\n\n").nth(1).unwrap_or(page);
    Some((format!("**{code}** ({})\n\n{title}\n", code.severity()), span))
}

/// Returns the word around an offset.
pub(super) fn word(text: &str, offset: usize) -> Option<Span> {
    let is_part = |char: char| char.is_alphanumeric() || matches!(char, '_' | '-');
    let start = text[..offset].rfind(|char| !is_part(char)).map_or(0, |at| at + text[at..].chars().next().map_or(1, char::len_utf8));
    let end = text[offset..].find(|char| !is_part(char)).map_or(text.len(), |at| offset + at);
    let trimmed = text[start..end].trim_start_matches('-');
    (!trimmed.is_empty()).then(|| Span::new(end - trimmed.len(), end))
}

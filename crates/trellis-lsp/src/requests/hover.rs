//! Hover: documentation of the word under the cursor.

use std::fmt::Write as _;

use trellis_core::{
    Code,
    diagnostic::FilePath,
    program::{Reason, Role, Target},
    query::{NodeEntry, Occurrence, OccurrenceKind, Symbol, TARGETS},
    span::Span,
    syntax::{
        cursor::{CursorPlace, cursor_context},
        vocabulary::{keys_at, words_at},
    },
};

use super::{
    RequestPlace,
    parts::parts_of,
    place,
    values::values_of,
    words::{ENDINGS, ROOTS, SYSTEM, meaning},
};
use crate::{
    graph::Graph,
    state::ServerState,
    text::to_u32,
    wire::{Contents, Hover, HoverParams, MarkupContent, MarkupKind},
};

/// Lines of a body that a hover shows.
const SHOWN_LINES: usize = 5;
/// Values of a path that it shows.
const SHOWN_VALUES: usize = 8;

/// Returns the documentation of the name or the key at a place.
pub(super) fn hover(state: &mut ServerState, params: &HoverParams) -> Option<Hover> {
    let (encoding, is_markdown) = (state.encoding(), state.client.hover_markdown);
    let (value, range) = if let Some(mut place) = super::sheets::names::place(state, &params.text_document_position_params) {
        let (text, span) = match place.case() {
            Some((case, span)) => {
                (format!("**case** `{}` in line {}\n\nIts author lines are played first.\n", case.title, case.line), span)
            }
            None => {
                let one = place.name()?;
                (about(place.graph, &FilePath::from(""), one.span.start, &one)?, one.span)
            }
        };
        (text, place.text.range(span, encoding))
    } else {
        let mut place = place(state, &params.text_document_position_params)?;
        let (value, span) = of_part(&mut place)
            .or_else(|| of_symbol(&mut place))
            .or_else(|| of_value(&place))
            .or_else(|| of_word(&place))
            .or_else(|| of_key(&place))
            .or_else(|| of_code(&place))
            .or_else(|| of_condition(&mut place))?;
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

/// Returns the type of a part of a key's value; `None` elsewhere, and where it is not known.
fn of_part(place: &mut RequestPlace<'_>) -> Option<(String, Span)> {
    let (file, offset) = (place.path.clone(), to_u32(place.offset));
    let one = place.graph.index().at(&file, offset)?;
    if !matches!(one.symbol, Symbol::Key(..)) || !one.is_exact || offset <= one.span.end || offset > one.whole.end {
        return None;
    }
    let span = word(place.text.as_str(), place.offset)?;
    let path = place.text.as_str().get(one.span.start as usize..span.end as usize).filter(|path| dotted(path) == *path)?;
    let (above, name) = path.rsplit_once('.')?;
    let kind = parts_of(place.graph, &file, offset, above).remove(name).filter(|kind| !kind.is_empty())?;
    let (can_be, before) = (compared(place.graph, &file, &one), asked(place.graph, &file, &one));
    Some((format!("**path** `{path}`\n\nhere: {kind}\n{}{}", can_be.unwrap_or_default(), before.unwrap_or_default()), span))
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
            text.push_str(&compared(graph, path, one).unwrap_or_default());
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
    let text = place.text.as_str();
    let written = &text[condition.range()];
    let unquoted = |mark: char| written.strip_prefix(mark)?.strip_suffix(mark);
    let written = unquoted('"').or_else(|| unquoted('\'')).unwrap_or(written);
    let subject = dotted(written.strip_prefix("not ").unwrap_or(written));
    let values = possible(place.graph, &place.path, condition.start, subject);
    Some((format!("**condition** `{written}`\n{values}{}", listed(&before, text)), condition))
}

/// Returns the values that a path of a condition can have, as Markdown; `None` for an occurrence elsewhere.
fn compared(graph: &mut Graph, path: &FilePath, one: &Occurrence) -> Option<String> {
    conditions(graph, path, one.span.start)?;
    let text = std::sync::Arc::clone(&graph.document(path)?.text);
    Some(possible(graph, path, one.span.start, dotted(text.get(one.span.start as usize..)?)))
}

fn possible(graph: &mut Graph, path: &FilePath, offset: u32, subject: &str) -> String {
    let values = values_of(graph, path, offset, subject);
    let shown: Vec<String> = values.iter().take(SHOWN_VALUES).map(|value| format!("`{}`", value.to_json())).collect();
    match (shown.is_empty(), values.len().checked_sub(SHOWN_VALUES)) {
        (true, _) => String::new(),
        (_, Some(more)) if more > 0 => format!("\n`{subject}` can be {} or {more} others\n", shown.join(", ")),
        _ => format!("\n`{subject}` can be {}\n", shown.join(", ")),
    }
}

/// Returns the path with which a text begins.
fn dotted(text: &str) -> &str {
    &text[..text.find(|char: char| !char.is_alphanumeric() && !matches!(char, '_' | '.')).unwrap_or(text.len())]
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
        let mut ends = program.out_edges(known.body).map(|out| &out.edge.to);
        let ends = match (ends.next(), ends.next()) {
            (Some(Target::End(reason)), None) => Some(reason),
            _ => None,
        };
        let counted = |count: usize| if count == 1 { "1 transition".to_owned() } else { format!("{count} transitions") };
        let role = match (&known.role, ends) {
            (Role::Pass, Some(Reason::Finished)) => "ends the session",
            (Role::Pass, Some(_)) => "ends the session as failed",
            (Role::Act(_), _) => "calls a tool or a graph",
            (Role::Listen(_), _) => "waits for an answer",
            (Role::Pass, None) => "passes on",
        };
        let out = if matches!((&known.role, ends), (Role::Pass, Some(_))) { String::new() } else { format!(", {out} out") };
        let _ = writeln!(text, "\n{role}; {} in{out}", counted(into));
    }
    text
}

/// Returns the meaning of a word that is no name of the author's: a target that is no node, what is below `sys`.
fn of_word(place: &RequestPlace<'_>) -> Option<(String, Span)> {
    let text = place.text.as_str();
    let span = word(text, place.offset)?;
    let context = cursor_context(&place.path, text, span.end as usize);
    let (key, written) = (context.key().unwrap_or_default(), &text[span.range()]);
    let is_signal = context.keys().rev().nth(1).is_some_and(|above| above.starts_with("on_signal"));
    if context.place == CursorPlace::Value && context.template.is_none() && (TARGETS.contains(&key) || is_signal) {
        let about = meaning(&ENDINGS, written)?;
        return Some((format!("**target** `{written}`\n\n{about}\n"), span));
    }
    if context.template.is_none() && !matches!(key, "condition" | "assert" | "if") {
        return None;
    }
    let before = text[..span.start as usize].rfind(|char: char| !char.is_alphanumeric() && !matches!(char, '_' | '.'));
    let start = before.map_or(0, |at| at + text[at..].chars().next().map_or(1, char::len_utf8));
    // In the dialect of Go every path begins with a dot.
    let path = text[start..span.end as usize].trim_start_matches('.');
    let mut parts = path.split('.');
    let about = match (parts.next()?, parts.next()) {
        ("sys", Some(part)) => meaning(&SYSTEM, part)?,
        (root, _) => meaning(&ROOTS, root)?,
    };
    Some((format!("**path** `{path}`\n\n{about}\n"), span))
}

/// Returns the meaning of a word that the key at a place takes: `irreversible`, `choice`.
fn of_value(place: &RequestPlace<'_>) -> Option<(String, Span)> {
    let span = word(place.text.as_str(), place.offset)?;
    let context = cursor_context(&place.path, place.text.as_str(), span.end as usize);
    let written = &place.text.as_str()[span.range()];
    if context.place != CursorPlace::Value || context.prefix != written {
        return None;
    }
    let word = words_at(&context).into_iter().find(|word| word.word == written && !word.about.is_empty())?;
    Some((format!("**{}** `{written}`\n\n{}\n", context.key().unwrap_or_default(), word.about), span))
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
    let words: Vec<String> = key.words().into_iter().map(|word| word.word).collect();
    let lead = if key.is_closed() { "one of" } else { "such as" };
    let words = if words.is_empty() { String::new() } else { format!("\n\n{lead} `{}`", words.join("`, `")) };
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

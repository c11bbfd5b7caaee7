//! Completion of the names of the graph: targets, context keys with their types, tools, and the names that templates can use.

use std::collections::BTreeSet;

use trellis_core::{
    Document,
    query::{NodeEntry, Symbol},
    span::Span,
    syntax::{cursor::CursorPlace, document::Content},
    template::builtins::{self, Builtin},
};

use super::{Desk, Offer, compared, holds, paths};
use crate::{
    requests::words::{ENDINGS, ROOTS, TAGS, closing_tags, open_names},
    wire::CompletionItemKind,
};

/// Returns the targets as they would be written here, the nearest first.
pub(super) fn targets(desk: &mut Desk<'_>, is_call: bool) -> Vec<Offer> {
    let (folder, graph) = desk.scope();
    let index = desk.graph.index();
    let mut offers = Vec::new();
    let typed = desk.context.prefix.rsplit('/').next().unwrap_or_default().to_lowercase();
    let seen = |node: &NodeEntry| (is_call || node.graph == graph) && holds(node.id.as_str(), &typed);
    let mut near: Vec<NodeEntry> = index.nodes().into_iter().filter(seen).collect();
    near.sort_by_cached_key(|node| (node.id.folder() != folder, node.id.as_str().len()));
    near.truncate(super::MAX_COMPLETIONS);
    let nodes: Vec<(String, NodeEntry)> =
        near.into_iter().filter_map(|node| Some((index.shortest(&node, &folder, graph, is_call)?, node))).collect();
    for (name, node) in nodes {
        let far = if node.id.folder() == folder { 0 } else { 1 + name.matches('/').count() };
        let body = desk
            .graph
            .document(&node.path)
            .map(|document| first_line(trellis_core::query::body_of(document, node.ordinal)))
            .unwrap_or_default();
        let kind = if node.id.is_start() { CompletionItemKind::Module } else { CompletionItemKind::Reference };
        let offer = Offer::new(name, kind).detail(node.path.to_string()).about(body).rank(far);
        offers.push(Offer { node: Some(node.id), ..offer });
    }
    if !is_call {
        offers.extend(ENDINGS.map(|(name, about)| Offer::new(name, CompletionItemKind::Keyword).detail(about).rank(usize::MAX)));
    }
    offers
}

fn first_line(body: &str) -> String {
    body.trim().lines().next().unwrap_or_default().to_owned()
}

/// Returns the context keys that may be read: those that are set here first, with their types, then those that something else writes or declares.
pub(super) fn keys(desk: &mut Desk<'_>) -> Vec<Offer> {
    let (path, offset) = (desk.path.clone(), desk.offset);
    let index = desk.graph.index();
    let graph = index.graph_of(&path);
    let given = index.given_keys(graph, &path, offset);
    let here = index.node_around(&path, offset);
    // What is being typed is no name, though the last link may have met it.
    let typed = index.at(&path, offset).map(|one| one.symbol);
    let is_typed = |key: &str| matches!(&typed, Some(Symbol::Key(_, typed)) if **typed == *key) && !given.contains(key);
    let types = desk.graph.types().zip(here).map(|(types, node)| types.at(&node.id)).unwrap_or_default();
    let known = types.iter().filter(|known| !known.key.starts_with("sys.") && !is_typed(&known.key)).map(|known| {
        let detail = if known.certain { known.kind.clone() } else { format!("{}, perhaps not set", known.kind) };
        Offer::new(&*known.key, CompletionItemKind::Variable).detail(detail).rank(usize::from(!known.certain))
    });
    let mut offers: Vec<Offer> = known.collect();
    for key in given {
        if !offers.iter().any(|offer| offer.label == *key) {
            offers.push(Offer::new(&*key, CompletionItemKind::Variable).rank(2));
        }
    }
    offers
}

/// Returns the context keys that may be read in a template here: without those that are set on no path to the node.
fn shown_keys(desk: &mut Desk<'_>) -> Vec<Offer> {
    let mut offers = keys(desk);
    // Elsewhere the node itself may have set them before.
    let is_on_entering = desk.context.place == CursorPlace::Body || matches!(desk.context.keys().next(), Some("content" | "do"));
    // What a file that cannot be understood sets is not known.
    let is_broken = |document: &std::sync::Arc<Document>| document.path != desk.path && matches!(document.content, Content::Broken);
    if !is_on_entering || desk.graph.documents().iter().any(is_broken) {
        return offers;
    }
    let (path, offset) = (desk.path.clone(), desk.offset);
    let here = desk.graph.index().node_around(&path, offset);
    if let Some((types, node)) = desk.graph.types().zip(here) {
        let absent: BTreeSet<&str> = types.absent_at(&node.id).collect();
        offers.retain(|offer| !absent.contains(offer.label.as_str()));
    }
    offers
}

/// Returns the context keys that may be written or declared: also those that other places only read.
pub(super) fn written_keys(desk: &mut Desk<'_>) -> Vec<Offer> {
    let (path, offset) = (desk.path.clone(), desk.offset);
    let mut offers = keys(desk);
    let index = desk.graph.index();
    let graph = index.graph_of(&path);
    for symbol in index.symbols_beside(&path, offset) {
        if let Symbol::Key(of, key) = symbol
            && of == graph
            && !offers.iter().any(|offer| offer.label == *key)
        {
            offers.push(Offer::new(&*key, CompletionItemKind::Variable).rank(2));
        }
    }
    offers
}

/// Returns the tools that some file defines or names, each with its required arguments.
pub(super) fn tools(desk: &mut Desk<'_>) -> Vec<Offer> {
    let (path, offset) = (desk.path.clone(), desk.offset);
    let index = desk.graph.index();
    let names = index.symbols_beside(&path, offset).into_iter().filter_map(|symbol| match symbol {
        Symbol::Tool(name) => Some(name),
        _ => None,
    });
    let offer = |name: std::sync::Arc<str>| {
        let about = index.tool(&name).and_then(|tool| tool.description.as_deref()).unwrap_or_default();
        Offer::new(&*name, CompletionItemKind::Function).about(about)
    };
    names.map(offer).collect()
}

/// Returns the tools as they are called here: with the arguments that they require, where those have no place yet.
pub(super) fn called_tools(desk: &mut Desk<'_>, line: &str) -> Vec<Offer> {
    let has_args = desk.context.present.iter().any(|key| key == "args");
    let in_braces = line.matches('{').count() > line.matches('}').count();
    let is_bare = desk.context.key() != Some("name");
    let mut offers = tools(desk);
    for offer in &mut offers {
        let required = desk.graph.index().tool(&offer.label).map(required_arguments).unwrap_or_default();
        if required.is_empty() || has_args || !(is_bare || in_braces) {
            continue;
        }
        let places: Vec<String> = required.iter().enumerate().map(|(at, name)| format!("{name}: ${{{}}}", at + 1)).collect();
        let args = format!("args: {{ {} }}", places.join(", "));
        let call = if is_bare { format!("{{ name: {}, {args} }}", offer.label) } else { format!("{}, {args}", offer.label) };
        (offer.insert, offer.is_snippet) = (Some(call), true);
        offer.detail = format!("needs {}", required.join(", "));
    }
    offers
}

/// Returns the arguments that a tool requires, in its order.
fn required_arguments(tool: &trellis_core::syntax::node::ToolSyntax) -> Vec<String> {
    let schema = tool.parameters.as_ref().map(|schema| &schema.value);
    let required = schema.and_then(|schema| schema.get("required")?.as_list());
    required.into_iter().flatten().filter_map(|name| name.as_str().map(str::to_owned)).collect()
}

/// Returns the builtins, with their effects and arguments.
pub(super) fn builtins() -> Vec<Offer> {
    let offer = |builtin: &trellis_core::builtin::BuiltinTool| {
        let effect = format!("{:?}", builtin.effect).to_lowercase();
        let about = builtin.parameters().map(|schema| format!("arguments: `{}`", schema.to_json())).unwrap_or_default();
        Offer::new(builtin.name, CompletionItemKind::Function).detail(effect).about(about)
    };
    trellis_core::builtin::BUILTINS.iter().map(offer).collect()
}

/// Returns the values of the options of the node at the cursor.
pub(super) fn own_options(desk: &mut Desk<'_>) -> Vec<Offer> {
    let (path, offset) = (desk.path.clone(), desk.offset);
    let Some(node) = desk.index().node_around(&path, offset) else { return Vec::new() };
    let symbols = desk.index().of_file(&path).into_iter();
    let values = symbols.filter_map(|one| match one.symbol {
        Symbol::Option(of, value) if of == node.id => Some(value),
        _ => None,
    });
    values.enumerate().map(|(rank, value)| Offer::new(&*value, CompletionItemKind::EnumMember).rank(rank)).collect()
}

/// Returns the tags that may stand behind `{%`, with the part of them that is typed; `None` behind the name of a tag, and behind `{{`.
pub(super) fn tags(text: &str, template: &str, offset: usize) -> Option<(Vec<Offer>, Span)> {
    let typed = template.trim_start();
    let before = text[..offset - template.len()].trim_end_matches(['-', '+']).strip_suffix("{%")?;
    if typed.contains(|char: char| !char.is_alphanumeric()) {
        return None;
    }
    let offer = |rank| move |(name, about)| Offer::new(name, CompletionItemKind::Keyword).about(about).rank(rank);
    let closing = closing_tags(before).into_iter().map(offer(0));
    Some((closing.chain(TAGS.into_iter().map(offer(1))).collect(), Span::new(offset - typed.len(), offset)))
}

/// Returns the text before an open tag.
fn text_of_tag<'t>(text: &'t str, template: &str, offset: usize) -> &'t str {
    text.get(..offset.saturating_sub(template.len())).unwrap_or_default()
}

/// Returns what may stand in an open tag of a template, and the span that it replaces.
pub(super) fn in_template(desk: &mut Desk<'_>, text: &str, template: &str, offset: usize) -> (Vec<Offer>, Span) {
    if let Some((path, typed)) = compared::compared(template) {
        let found = compared::values(desk, path, typed, offset);
        if !found.0.is_empty() {
            return found;
        }
    }
    let typed_at = template
        .rfind(|char: char| !char.is_alphanumeric() && char != '_')
        .map_or(0, |at| at + template[at..].chars().next().map_or(1, char::len_utf8));
    let typed = &template[typed_at..];
    let before = template[..typed_at].trim_end();
    let span = Span::new(offset - typed.len(), offset);
    let words = |all: &[Builtin]| all.iter().map(|one| Offer::new(one.name, CompletionItemKind::Function).about(one.about)).collect();
    if before.ends_with('|') {
        return (words(builtins::FILTERS), span);
    }
    if before.ends_with(" is") || before.ends_with(" is not") {
        return (words(builtins::TESTS), span);
    }
    if let Some(before) = before.strip_suffix('.') {
        let start = before.rfind(|char: char| !char.is_alphanumeric() && !matches!(char, '_' | '.')).map_or(0, |at| at + 1);
        // In the dialect of Go every path begins with a dot.
        let path = before.get(start..).unwrap_or_default().trim_start_matches('.');
        return (if path.is_empty() { shown_keys(desk) } else { paths::parts(desk, path) }, span);
    }
    let mut offers = shown_keys(desk);
    offers.extend(open_names(text_of_tag(text, template, offset)).into_iter().map(|name| Offer::new(name, CompletionItemKind::Variable)));
    offers.extend(ROOTS.map(|(name, about)| Offer::new(name, CompletionItemKind::Keyword).about(about).rank(3)));
    (offers, span)
}

//! Names of the graph: targets, context keys with their types, tools, and what templates know.

use trellis_core::{
    query::{NodeEntry, Symbol},
    span::Span,
    template::builtins::{self, Builtin},
};

use super::{Desk, Offer, holds};
use crate::wire::CompletionItemKind;

/// Returns the targets as they would be written here, the nearest first.
pub(super) fn targets(desk: &mut Desk<'_>, is_call: bool) -> Vec<Offer> {
    let (folder, graph) = desk.scope();
    let index = desk.graph.index();
    let mut offers = Vec::new();
    let typed = desk.context.prefix.rsplit('/').next().unwrap_or_default().to_lowercase();
    let seen = |node: &NodeEntry| (is_call || node.graph == graph) && holds(node.id.as_str(), &typed);
    let mut near: Vec<NodeEntry> = index.nodes().into_iter().filter(seen).collect();
    near.sort_by_cached_key(|node| (node.id.folder() != folder, node.id.as_str().len()));
    near.truncate(super::MOST);
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
        offers.push(Offer::new(name, kind).detail(node.path.to_string()).about(body).rank(far));
    }
    if !is_call {
        let endings = [("rollback", "undo what was done, newest first, then end"), ("fail", "end the session as failed")];
        offers.extend(endings.map(|(name, about)| Offer::new(name, CompletionItemKind::Keyword).detail(about).rank(usize::MAX)));
    }
    offers
}

fn first_line(body: &str) -> String {
    body.trim().lines().next().unwrap_or_default().to_owned()
}

/// Returns the context keys of the graph: those that are set here first, with their types.
pub(super) fn keys(desk: &mut Desk<'_>) -> Vec<Offer> {
    let (path, offset) = (desk.path.clone(), desk.offset);
    let index = desk.graph.index();
    let graph = index.graph_of(&path);
    let symbols = index.symbols();
    let here = index.node_around(&path, offset);
    let types = desk.graph.types().zip(here).map(|(types, node)| types.at(&node.id)).unwrap_or_default();
    let known = types.iter().filter(|known| !known.key.starts_with("sys.")).map(|known| {
        let detail = if known.certain { known.kind.clone() } else { format!("{}, perhaps not set", known.kind) };
        Offer::new(&*known.key, CompletionItemKind::Variable).detail(detail).rank(usize::from(!known.certain))
    });
    let mut offers: Vec<Offer> = known.collect();
    for symbol in symbols {
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
    let index = desk.graph.index();
    let names = index.symbols().into_iter().filter_map(|symbol| match symbol {
        Symbol::Tool(name) => Some(name),
        _ => None,
    });
    let offer = |name: std::sync::Arc<str>| {
        let about = index.tool(&name).and_then(|tool| tool.description.as_deref()).unwrap_or_default();
        Offer::new(&*name, CompletionItemKind::Function).about(about)
    };
    names.map(offer).collect()
}

/// Returns what may stand in an open tag of a template, and the span that it replaces.
pub(super) fn in_template(desk: &mut Desk<'_>, template: &str, offset: usize) -> (Vec<Offer>, Span) {
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
    // Parts of a value are known as far as its type is.
    if before.ends_with('.') {
        return (Vec::new(), span);
    }
    let mut offers = keys(desk);
    let system = [
        ("sys", "the session: `sys.ans`, `sys.error`, `sys.node`"),
        ("input", "what was just answered"),
        ("tool_result", "what the call returned"),
    ];
    offers.extend(system.map(|(name, about)| Offer::new(name, CompletionItemKind::Keyword).about(about).rank(3)));
    (offers, span)
}

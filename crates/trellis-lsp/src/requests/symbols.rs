//! Symbols of a document and of the workspace.

use serde_json::{Value as Json, json};
use trellis_core::query::Symbol;

use super::outline::{Section, outline};
use crate::{
    state::ServerState,
    text::{Encoding, Text},
    wire::{DocumentSymbol, DocumentSymbolParams, Location, SymbolKind, Uri, WorkspaceSymbolParams},
};

/// Symbols of a workspace that are sent at most.
const MAX_SYMBOLS: usize = 200;

/// Returns the outline of a file, as a tree where the client takes one.
#[expect(deprecated, reason = "the protocol's type has the field")]
pub(super) fn of_document(state: &mut ServerState, params: &DocumentSymbolParams) -> Option<Json> {
    fn symbol(section: Section, text: &Text, encoding: Encoding) -> DocumentSymbol {
        let below: Vec<_> = section.below.into_iter().map(|below| symbol(below, text, encoding)).collect();
        DocumentSymbol {
            name: if section.name.is_empty() { "-".into() } else { section.name },
            detail: None,
            kind: if section.is_heading { SymbolKind::String } else { SymbolKind::Field },
            tags: None,
            deprecated: None,
            range: text.range(section.span, encoding),
            selection_range: text.range(section.place, encoding),
            children: (!below.is_empty()).then_some(below),
        }
    }
    fn flat(symbols: &[DocumentSymbol], uri: &Uri, out: &mut Vec<Json>) {
        for symbol in symbols {
            out.push(json!({ "name": symbol.name, "kind": symbol.kind, "location": { "uri": uri, "range": symbol.range } }));
            symbol.children.iter().for_each(|below| flat(below, uri, out));
        }
    }
    let (encoding, is_tree) = (state.encoding(), state.client.symbol_tree);
    let (graph, path) = state.graph(&params.text_document.uri)?;
    let text = graph.text(&path)?.clone();
    let symbols: Vec<_> = outline(&path, &text).into_iter().map(|section| symbol(section, &text, encoding)).collect();
    if is_tree {
        return serde_json::to_value(symbols).ok();
    }
    let mut out = Vec::new();
    flat(&symbols, &params.text_document.uri, &mut out);
    Some(Json::Array(out))
}

/// Returns the nodes, keys, tools and predicates whose names hold the letters of a query in order.
pub(super) fn of_workspace(state: &mut ServerState, params: &WorkspaceSymbolParams) -> Vec<Json> {
    let encoding = state.encoding();
    let query = params.query.to_lowercase();
    let mut found = Vec::new();
    for graph in &mut state.workspace.graphs {
        let nodes = graph.index().nodes();
        for node in nodes.into_iter().filter(|node| holds(node.id.as_str(), &query)) {
            let location = Location { range: graph.range(&node.path, node.place, encoding), uri: graph.uri(&node.path) };
            found.push((node.id.as_str().len(), json!({ "name": node.id.as_str(), "kind": SymbolKind::Class, "location": location })));
        }
        for symbol in graph.index().symbols() {
            let (name, kind) = match &symbol {
                Symbol::Key(_, name) => (name.clone(), SymbolKind::Variable),
                Symbol::Tool(name) => (name.clone(), SymbolKind::Function),
                Symbol::Predicate(_, name) => (name.clone(), SymbolKind::Boolean),
                Symbol::Signal(name) => (name.clone(), SymbolKind::Event),
                Symbol::Node(_) | Symbol::Option(..) => continue,
            };
            if holds(&name, &query)
                && let Some(one) = graph.index().occurrences(&symbol).into_iter().min_by_key(|one| one.kind)
            {
                let location = Location { range: graph.range(&one.path, one.span, encoding), uri: graph.uri(&one.path) };
                found.push((name.len(), json!({ "name": &*name, "kind": kind, "location": location })));
            }
        }
    }
    // The closest names first.
    found.sort_by_key(|(length, _)| *length);
    found.into_iter().map(|(_, symbol)| symbol).take(MAX_SYMBOLS).collect()
}

/// Returns true if a name has the letters of a query, in order.
fn holds(name: &str, query: &str) -> bool {
    let name = name.to_lowercase();
    let mut letters = name.chars();
    query.chars().all(|wanted| letters.any(|letter| letter == wanted))
}

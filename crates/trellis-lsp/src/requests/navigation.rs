//! Definition, references and highlights: the index knows every name, also in a file with syntax errors.

use trellis_core::{
    query::{Occurrence, OccurrenceKind, Symbol},
    span::Span,
};

use super::{place, sheets};
use crate::{
    graph::Graph,
    sheets::is_sheet,
    state::ServerState,
    text::{Encoding, to_u32},
    uri,
    wire::{
        DefinitionParams, DocumentHighlight, DocumentHighlightKind, DocumentHighlightParams, Location, ReferenceParams,
        TextDocumentPositionParams,
    },
};

/// Returns where a name is defined: a node's file, the writers of a key, the definition of a tool or a predicate.
pub(super) fn definition(state: &mut ServerState, params: &DefinitionParams) -> Option<Vec<Location>> {
    let encoding = state.encoding();
    if let Some(case) = case(state, &params.text_document_position_params) {
        return Some(vec![case]);
    }
    let (graph, symbol) = symbol(state, &params.text_document_position_params)?;
    Some(definitions(graph, &symbol, encoding))
}

/// Returns the heading of the case that a line of a sheet comes after.
fn case(state: &mut ServerState, params: &TextDocumentPositionParams) -> Option<Location> {
    let encoding = state.encoding();
    let place = sheets::names::place(state, params)?;
    let (case, _) = place.case()?;
    let line = place.text.line(case.line.saturating_sub(1))?;
    Some(Location { uri: params.text_document.uri.clone(), range: place.text.range(Span::new(line.start, line.end), encoding) })
}

/// Returns what a place names, in a file of a graph or in a sheet about it.
fn symbol<'s>(state: &'s mut ServerState, params: &TextDocumentPositionParams) -> Option<(&'s mut Graph, Symbol)> {
    if uri::to_path(&params.text_document.uri).is_some_and(|file| is_sheet(&file)) {
        let mut place = sheets::names::place(state, params)?;
        let symbol = place.name()?.symbol;
        return Some((place.graph, symbol));
    }
    let place = place(state, params)?;
    let symbol = place.graph.index().at(&place.path, to_u32(place.offset))?.symbol;
    Some((place.graph, symbol))
}

/// Returns the node of a file whose first line a place is in: nothing there names it, unless it has an `id:`.
fn node_of_first_line(state: &mut ServerState, params: &TextDocumentPositionParams) -> Option<Symbol> {
    let place = place(state, params)?;
    let node = place.graph.index().node_around(&place.path, to_u32(place.offset))?;
    (params.position.line == 0).then_some(Symbol::Node(node.id))
}

/// Returns the graph that a file belongs to, or that a sheet is about.
fn graph_of<'s>(state: &'s mut ServerState, params: &TextDocumentPositionParams) -> Option<&'s mut Graph> {
    let file = uri::to_path(&params.text_document.uri)?;
    let (at, _) = state.workspace.above(&file)?;
    state.workspace.graphs.get_mut(at)
}

/// Returns the places that define a symbol.
fn definitions(graph: &mut Graph, symbol: &Symbol, encoding: Encoding) -> Vec<Location> {
    if let Symbol::Node(id) = symbol {
        let Some(node) = graph.index().node(id) else { return Vec::new() };
        let range = graph.range(&node.path, node.place, encoding);
        return vec![Location { uri: graph.uri(&node.path), range }];
    }
    let all = graph.index().occurrences(symbol);
    let defines = |kind| matches!(kind, OccurrenceKind::Defines | OccurrenceKind::Writes);
    let defining: Vec<_> = all.iter().filter(|one| defines(one.kind)).cloned().collect();
    let chosen = if defining.is_empty() { all.into_iter().take(1).collect() } else { defining };
    locations(graph, &chosen, encoding)
}

/// Returns all references to the symbol at a place.
pub(super) fn references(state: &mut ServerState, params: &ReferenceParams) -> Option<Vec<Location>> {
    let encoding = state.encoding();
    let position = &params.text_document_position_params;
    let known = symbol(state, position).map(|(_, symbol)| symbol);
    let symbol = known.or_else(|| node_of_first_line(state, position))?;
    let graph = graph_of(state, position)?;
    let with_definition = params.context.include_declaration;
    let all: Vec<_> =
        graph.index().occurrences(&symbol).into_iter().filter(|one| with_definition || one.kind != OccurrenceKind::Defines).collect();
    let mut found = locations(graph, &all, encoding);
    if with_definition && matches!(symbol, Symbol::Node(_)) {
        found.extend(definitions(graph, &symbol, encoding));
    }
    found.dedup();
    Some(found)
}

/// Returns the references in one file to the symbol at a place.
pub(super) fn highlight(state: &mut ServerState, params: &DocumentHighlightParams) -> Option<Vec<DocumentHighlight>> {
    let encoding = state.encoding();
    let place = place(state, &params.text_document_position_params)?;
    let (graph, path, offset) = (place.graph, place.path, to_u32(place.offset));
    let symbol = graph.index().at(&path, offset)?.symbol;
    let here: Vec<_> = graph.index().of_file(&path).into_iter().filter(|one| one.symbol == symbol).collect();
    let highlight = |one: &Occurrence| DocumentHighlight {
        range: place.text.range(one.span, encoding),
        kind: Some(match one.kind {
            OccurrenceKind::Writes | OccurrenceKind::Defines => DocumentHighlightKind::Write,
            OccurrenceKind::Reads => DocumentHighlightKind::Read,
            OccurrenceKind::Refers => DocumentHighlightKind::Text,
        }),
    };
    Some(here.iter().map(highlight).collect())
}

fn locations(graph: &mut Graph, all: &[Occurrence], encoding: Encoding) -> Vec<Location> {
    all.iter().map(|one| Location { range: graph.range(&one.path, one.span, encoding), uri: graph.uri(&one.path) }).collect()
}

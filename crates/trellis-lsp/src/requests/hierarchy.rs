//! Call hierarchies: the edges into a node and out of it, with the graphs that it calls.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};
use trellis_core::{
    NodeId,
    diagnostic::FilePath,
    draw,
    program::{Node, NodeIndex, OutEdge, Program, Role, Target},
    query::{OccurrenceKind, Symbol},
    span::Span,
};

use super::place;
use crate::{
    graph::Graph,
    state::ServerState,
    text::{Encoding, to_u32},
    wire::{CallHierarchyIncomingCallsParams, CallHierarchyItem, CallHierarchyOutgoingCallsParams, CallHierarchyPrepareParams, SymbolKind},
};

/// Returns the node at a place: the one that it names, or else the one that it is in.
pub(super) fn prepare(state: &mut ServerState, params: &CallHierarchyPrepareParams) -> Option<Vec<Json>> {
    let encoding = state.encoding();
    let place = place(state, &params.text_document_position_params)?;
    let (graph, path, offset) = (place.graph, place.path, to_u32(place.offset));
    let named = graph.index().at(&path, offset).and_then(|one| match one.symbol {
        Symbol::Node(id) => Some(id),
        _ => None,
    });
    let id = named.or_else(|| graph.index().node_around(&path, offset).map(|node| node.id))?;
    Some(vec![item(graph, &id, None, encoding)?])
}

/// Returns the nodes that lead to a node.
pub(super) fn incoming(state: &mut ServerState, params: &CallHierarchyIncomingCallsParams) -> Option<Vec<Json>> {
    answered(state, &params.item, "from", |program, node| {
        let edges = program.in_edges(node.index).map(|(from, edge)| (program.point(from).node, Some(edge)));
        let callers = program.nodes().iter().filter(|caller| calls(caller).contains(&node.index)).map(|caller| (caller.index, None));
        edges.chain(callers).collect()
    })
}

/// Returns the nodes that a node leads to.
pub(super) fn outgoing(state: &mut ServerState, params: &CallHierarchyOutgoingCallsParams) -> Option<Vec<Json>> {
    answered(state, &params.item, "to", |program, node| {
        let points = node.gate.into_iter().chain([node.body]);
        let edges = points.flat_map(|point| program.out_edges(point)).filter_map(|edge| match edge.edge.to {
            Target::Point(to) => Some((program.point(to).node, Some(edge))),
            _ => None,
        });
        edges.chain(calls(node).into_iter().map(|to| (to, None))).collect()
    })
}

/// The edges of one answer by the node at their other end: the words for them, and their places.
type EdgesByNode = BTreeMap<NodeId, (Vec<String>, Vec<Span>)>;

/// Returns the answer for a node of the last link. One without an edge is a call.
fn answered(
    state: &mut ServerState,
    item: &CallHierarchyItem,
    side: &str,
    edges: impl for<'p> Fn(&'p Program, &'p Node) -> Vec<(NodeIndex, Option<OutEdge<'p>>)>,
) -> Option<Vec<Json>> {
    let encoding = state.encoding();
    let (graph, _) = state.graph(&item.uri)?;
    let id = NodeId::from(item.data.as_ref()?.as_str()?);
    let program = std::sync::Arc::clone(graph.program()?);
    let node = program.node(program.find(&id)?);
    let mut found = EdgesByNode::new();
    for (other, edge) in edges(&program, node) {
        let other = program.node(other);
        // Places are those in the file of the node that leads on.
        let from = if side == "from" { other } else { node };
        let path = program.path_of(from);
        let (words, spans) = found.entry(other.id.clone()).or_default();
        match edge {
            Some(edge) => {
                words.push(described(&program, edge));
                let origin = edge.edge.origin.filter(|origin| origin.document == from.document);
                spans.extend(origin.and_then(|origin| graph.carried(path, origin.span)));
            }
            None => {
                words.push("call".to_owned());
                let to = if side == "from" { &id } else { &other.id };
                spans.extend(named(graph, path, to));
            }
        }
    }
    let mut answers = Vec::new();
    for (other, (mut words, mut spans)) in found {
        words.dedup();
        spans.sort();
        spans.dedup();
        let file = if side == "from" { graph.index().node(&other).map(|node| node.path) } else { Some(program.path_of(node).clone()) };
        let Some(item) = self::item(graph, &other, Some(words.join(", ")), encoding) else { continue };
        let ranges: Vec<_> =
            file.iter().flat_map(|file| spans.iter().map(|span| graph.range(file, *span, encoding)).collect::<Vec<_>>()).collect();
        answers.push(json!({ side: item, "fromRanges": ranges }));
    }
    Some(answers)
}

/// Returns the nodes that a node calls as children, in branches and undo calls too.
fn calls(node: &Node) -> Vec<NodeIndex> {
    if let Role::Act(call) = &node.role { call.starts().collect() } else { Vec::new() }
}

/// Returns the places of a file that name a node.
fn named(graph: &mut Graph, path: &FilePath, id: &NodeId) -> Vec<Span> {
    let symbol = Symbol::Node(id.clone());
    let all = graph.index().of_file(path);
    all.into_iter().filter(|one| one.symbol == symbol && one.kind == OccurrenceKind::Refers).map(|one| one.span).collect()
}

/// Returns the words for an edge: its outcome and its condition.
fn described(program: &Program, edge: OutEdge<'_>) -> String {
    let outcome = draw::outcome(&edge.reply.on);
    match draw::condition(program, &edge.edge.when) {
        Some(condition) => format!("{outcome}, {condition}"),
        None => outcome,
    }
}

fn item(graph: &mut Graph, id: &NodeId, detail: Option<String>, encoding: Encoding) -> Option<Json> {
    let node = graph.index().node(id)?;
    let range = graph.range(&node.path, node.place, encoding);
    let mut item = json!({
        "name": id.as_str(), "kind": SymbolKind::Class, "uri": graph.uri(&node.path), "range": range, "selectionRange": range, "data": id.as_str(),
    });
    item["detail"] = detail.unwrap_or_else(|| node.path.to_string()).into();
    Some(item)
}

/// Returns a node and every node that is reached through it alone.
pub(super) fn reached_through(program: &Program, entry: NodeIndex) -> Vec<NodeIndex> {
    let next = |index: NodeIndex| {
        let node = program.node(index);
        let points = node.gate.into_iter().chain([node.body]);
        let edges = points.flat_map(|point| program.out_edges(point)).filter_map(|edge| match edge.edge.to {
            Target::Point(to) => Some(program.point(to).node),
            _ => None,
        });
        edges.chain(calls(node)).collect::<Vec<_>>()
    };
    let from = |starts: &[NodeIndex], without: Option<NodeIndex>| {
        let mut seen: std::collections::BTreeSet<NodeIndex> = starts.iter().copied().filter(|start| Some(*start) != without).collect();
        let mut open: Vec<NodeIndex> = seen.iter().copied().collect();
        while let Some(index) = open.pop() {
            open.extend(next(index).into_iter().filter(|index| Some(*index) != without && seen.insert(*index)).collect::<Vec<_>>());
        }
        seen
    };
    let graph = program.node(entry).graph;
    let mut starts = vec![program.entry().index];
    starts.extend(program.edges_after_rollback(graph).filter_map(|edge| match edge.edge.to {
        Target::Point(to) => Some(program.point(to).node),
        _ => None,
    }));
    let (all, others) = (from(&[entry], None), from(&starts, Some(entry)));
    all.difference(&others).copied().collect()
}

//! JSON: `{nodes: [{id, kind, does, entry, terminal, path, line, graph}], edges: [{from, to, outcome, condition, why, path, line}]}`. With a path,
//! nodes and edges on it have `walked`, the numbers of the hops from 1, and `hops` holds those without an edge: `{from, to, put, walked}`.

use serde::Serialize;

use super::{Drawing, Path, label};
use trellis_engine::program::{Outcome, Provenance};

#[derive(Serialize)]
struct Wire<'d> {
    nodes: Vec<WireNode<'d>>,
    edges: Vec<WireEdge<'d>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hops: Option<Vec<WireHop<'d>>>,
}

#[derive(Serialize)]
struct WireHop<'d> {
    from: &'d str,
    to: &'d str,
    put: bool,
    walked: &'d [usize],
}

#[derive(Serialize)]
struct WireNode<'d> {
    id: &'d str,
    kind: &'static str,
    does: &'d str,
    entry: bool,
    terminal: bool,
    path: Option<&'d str>,
    line: Option<usize>,
    graph: Option<&'d str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    walked: Option<&'d [usize]>,
}

#[derive(Serialize)]
struct WireEdge<'d> {
    from: &'d str,
    to: &'d str,
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    signal: Option<&'d str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    before_each: bool,
    condition: Option<&'d str>,
    why: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    option: Option<&'d str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<&'static str>,
    path: Option<&'d str>,
    line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    walked: Option<&'d [usize]>,
}

/// The drawing as one JSON object, ended by a newline.
pub(super) fn spell(drawing: &Drawing<'_>, path: Option<&Path>) -> String {
    let nodes = drawing.spots.iter().enumerate().map(|(at, spot)| WireNode {
        id: &spot.id,
        kind: spot.kind.as_str(),
        does: &spot.does,
        entry: spot.entry,
        terminal: spot.terminal,
        path: spot.at.map(|(path, _)| &**path),
        line: spot.at.map(|(_, line)| line),
        graph: spot.graph,
        walked: path.and_then(|path| path.spots.get(&at)).map(Vec::as_slice),
    });
    let edges = drawing.arrows.iter().enumerate().map(|(at, arrow)| WireEdge {
        from: &drawing.spots[arrow.from].id,
        to: &drawing.spots[arrow.to].id,
        outcome: label::outcome_name(arrow.outcome),
        signal: match arrow.outcome {
            Outcome::Signal(name) => Some(name.as_str()),
            _ => None,
        },
        before_each: arrow.gate,
        condition: arrow.condition.as_deref(),
        why: label::why(arrow.why),
        option: match arrow.why {
            Provenance::Option(text) => Some(text),
            _ => None,
        },
        failure: arrow.failure,
        path: arrow.at.map(|(path, _)| &**path),
        line: arrow.at.map(|(_, line)| line),
        walked: path.and_then(|path| path.arrows.get(&at)).map(Vec::as_slice),
    });
    let id = |at: usize| &*drawing.spots[at].id;
    let hops = path.map(|path| {
        let hops = path.others.iter().map(|((from, to, put), walked)| WireHop { from: id(*from), to: id(*to), put: *put, walked });
        hops.collect()
    });
    let wire = Wire { nodes: nodes.collect(), edges: edges.collect(), hops };
    let mut text = serde_json::to_string_pretty(&wire).unwrap_or_else(|_| unreachable!("names and numbers are always JSON"));
    text.push('\n');
    text
}

//! Inlay hints: the types of saved values, and the ends of failed calls that a node does not handle.

use serde_json::{Value as Json, json};
use trellis_core::{
    Document, Program,
    program::{Node, Outcome, Role, Target},
    span::Span,
};

use crate::{graph::Graph, state::ServerState, wire::InlayHintParams};

/// Returns the hints of a range that the settings ask for; none while the newest text is not linked.
pub(super) fn hints(state: &mut ServerState, params: &InlayHintParams) -> Option<Vec<Json>> {
    let (encoding, settings) = (state.encoding(), state.settings.hints);
    let (graph, path) = state.graph(&params.text_document.uri)?;
    if !graph.is_linked() || !settings.types && !settings.endings {
        return Some(Vec::new());
    }
    let text = graph.text(&path)?.clone();
    let part = text.span(params.range, encoding);
    let program = std::sync::Arc::clone(graph.program()?);
    let document = std::sync::Arc::clone(graph.document(&path)?);
    let mut found: Vec<(usize, String)> = Vec::new();
    for node in graph.index().nodes_of(&path) {
        let Some(compiled) = program.find(&node.id).map(|index| program.node(index)) else { continue };
        if settings.types {
            found.extend(saved(graph, &program, &document, node.ordinal, compiled));
        }
        if settings.endings {
            found.extend(ending(&program, &document, node.ordinal, compiled));
        }
    }
    found.retain(|(at, _)| part.start as usize <= *at && *at <= part.end as usize);
    let hint =
        |(at, label): (usize, String)| json!({ "position": text.range(Span::at(at), encoding).start, "label": label, "paddingLeft": true });
    Some(found.into_iter().map(hint).collect())
}

/// Returns the type of the value that `save_to` of a node writes, as the nodes behind it find it.
fn saved(graph: &Graph, program: &Program, document: &Document, ordinal: u32, node: &Node) -> Option<(usize, String)> {
    let path = trellis_core::query::node_of(document, ordinal)?.save_to.as_ref()?;
    let types = graph.types()?;
    let behind = program.out_edges(node.body).filter(|out| matches!(out.reply.on, Outcome::Answer | Outcome::Success | Outcome::Pass));
    let mut kinds: Vec<String> = Vec::new();
    for out in behind {
        let Target::Point(to) = out.edge.to else { continue };
        let known = types.at(&program.node(program.point(to).node).id);
        let kind = known.into_iter().find(|known| known.key == *path.value.root())?.kind;
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    // If the paths behind it disagree, something else writes it too.
    let [kind] = &kinds[..] else { return None };
    Some((path.span.end as usize, kind.clone()))
}

/// Returns the end of a failed call if the node does not name one.
fn ending(program: &Program, document: &Document, ordinal: u32, node: &Node) -> Option<(usize, String)> {
    let Role::Act(_) = &node.role else { return None };
    let call = trellis_core::query::node_of(document, ordinal)?.call.as_ref()?;
    let out = program.out_edges(node.body).filter(|out| out.reply.on == Outcome::Error).last()?;
    let own = out.edge.origin.is_some_and(|origin| origin.document == node.document && node.span.start <= origin.span.start);
    let comes_to = match out.edge.to {
        _ if own => return None,
        Target::Point(to) | Target::Proceed(to) => format!("to `{}`", program.node(program.point(to).node).id),
        Target::Rollback => "rollback".to_owned(),
        Target::End(_) => "ends as failed".to_owned(),
        Target::Again => return None,
    };
    let line = document.text[call.key.start as usize..].find('\n').map_or(document.text.len(), |at| call.key.start as usize + at);
    Some((line, format!("on error: {comes_to}")))
}

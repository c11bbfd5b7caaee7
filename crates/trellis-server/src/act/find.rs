//! A node of a graph: its text, its transitions, and the possible types of the context there.

use serde::Serialize;
use trellis_core::{NodeId, context_types::ContextTypes, draw, program::Speech, span::LineIndex};
use trellis_project::wire::{Diagnostic, Places};

use crate::{
    served::ServedGraph,
    trouble::{Code, Trouble},
};

/// A node.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct GraphNode {
    id: String,
    /// `pass`, `listen`, `act`.
    kind: String,
    path: String,
    line: usize,
    /// The text of its file.
    pub(crate) source: String,
    /// Its content as its author wrote it; of several texts, each.
    #[serde(skip)]
    pub(crate) content: String,
    /// The edges out of it, as `trellis graph --format json` has them.
    ways: Vec<serde_json::Value>,
    keys: Vec<ContextKey>,
    diagnostics: Vec<Diagnostic>,
}

/// The possible types of a key of the context at a node.
#[derive(Clone, Debug, Serialize)]
struct ContextKey {
    key: String,
    /// True if it is set on every path.
    certain: bool,
    kind: String,
}

/// Returns a node of the running program; its source is the text that was compiled.
///
/// # Errors
/// There is none.
pub(crate) fn node(graph: &ServedGraph, id: &str) -> Result<GraphNode, Trouble> {
    let program = graph.program()?;
    let node_id = NodeId::from(id);
    let Some(index) = program.find(&node_id) else {
        let near = trellis_core::diagnostic::did_you_mean(id, program.nodes().iter().map(|node| node.id.as_str()));
        let near = near.map(|near| format!("; {near}")).unwrap_or_default();
        return Err(Trouble::new(Code::UnknownNode, format!("the graph has no node `{id}`{near}")));
    };
    let node = program.node(index);
    let document = &program.documents()[node.document as usize];
    let drawn: serde_json::Value = serde_json::from_str(&draw::draw(&program, draw::Format::Json)).unwrap_or_default();
    let edges = drawn["edges"].as_array().cloned().unwrap_or_default();
    let kind = drawn["nodes"].as_array().into_iter().flatten().find(|drawn| drawn["id"] == id);
    let keys = ContextTypes::of(&program).at(&node.id).into_iter();
    let now = graph.now();
    let places = Places::new(&now.documents, "");
    let here = now.findings.iter().filter(|found| found.place.as_ref().is_some_and(|place| *place.path == *document.path));
    let texts = node.content.iter().flat_map(Speech::texts);
    let content = texts.map(|text| text.text().trim_end_matches('\n')).collect::<Vec<_>>().join("\n\n");
    Ok(GraphNode {
        id: id.to_owned(),
        kind: kind.and_then(|kind| kind["kind"].as_str()).unwrap_or_default().to_owned(),
        path: document.path.to_string(),
        line: LineIndex::new(&document.text).locate(node.span.start).line,
        source: document.text.to_string(),
        content,
        ways: edges.into_iter().filter(|edge| edge["from"] == id).collect(),
        keys: keys.map(|key| ContextKey { key: key.key.to_string(), certain: key.certain, kind: key.kind }).collect(),
        diagnostics: here.map(|found| Diagnostic::new(found, &places)).collect(),
    })
}

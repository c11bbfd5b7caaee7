//! The secrets that files name, each with its place.

use std::sync::Arc;

use trellis_core::{
    Document,
    diagnostic::Place,
    syntax::{
        document::Content,
        node::{CallSyntax, CalleeSyntax, NodeSyntax},
    },
};

/// The secrets that the calls and bindings of a file name.
pub fn named_in(document: &Document) -> Vec<(Arc<str>, Place)> {
    let project = match &document.content {
        Content::Nodes(_, project) | Content::Project(project) => Some(project),
        Content::Node(_) | Content::Library(_) | Content::Broken => None,
    };
    let of_calls = calls_in(document).into_iter().filter_map(|call| Some(&call.args.as_ref()?.value));
    let bindings = project.into_iter().flat_map(|project| &project.bindings);
    let of_bindings = bindings.flat_map(|binding| binding.config.shapes.values()).map(|shape| &shape.value);
    let named = of_calls.chain(of_bindings).flat_map(|shape| shape.secrets());
    named.map(|(name, span)| (name.into(), Place::new(&document.path, span))).collect()
}

/// The calls that a file writes, with those in branches and their undos.
pub(crate) fn calls_in(document: &Document) -> Vec<&CallSyntax> {
    let (nodes, project): (&[NodeSyntax], _) = match &document.content {
        Content::Node(node) => (std::slice::from_ref(node), None),
        Content::Nodes(nodes, project) => (nodes, Some(project)),
        Content::Project(project) => (&[], Some(project)),
        Content::Library(_) | Content::Broken => (&[], None),
    };
    let of_nodes = nodes.iter().flat_map(|node| {
        let before = node.defaults.as_ref().and_then(|defaults| defaults.before_each.as_deref());
        node.call.as_deref().into_iter().chain(node.undo.as_deref()).chain(before)
    });
    let mut open: Vec<&CallSyntax> = of_nodes.chain(project.and_then(|project| project.defaults.before_each.as_deref())).collect();
    let mut calls = Vec::new();
    while let Some(call) = open.pop() {
        if let CalleeSyntax::Parallel(branches, _) = &call.callee {
            open.extend(branches.iter().map(|(_, call)| call));
        }
        open.extend(call.undo.as_deref());
        calls.push(call);
    }
    calls
}

/// The secrets that the servers and models of a file name.
pub fn named_by_host(document: &Document) -> Vec<(Arc<str>, Place)> {
    let project = match &document.content {
        Content::Project(project) | Content::Nodes(_, project) => project,
        _ => return Vec::new(),
    };
    let named = project.host.shapes.values().flat_map(|shape| shape.value.secrets());
    named.map(|(name, span)| (name.into(), Place::new(&document.path, span))).collect()
}

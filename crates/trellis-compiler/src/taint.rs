//! Taint: the nodes whose behaviour a mistake may have changed, so that later checks neither trust nor report them.
//!
//! Each error is classified by its code and place. Most taint nothing: an error in a text changes no value, and an error in one edge leaves
//! the other edges as they are. So independent mistakes are reported together.
//!
//! **Soundness.** A code that is not listed taints its whole node. An error that may concern every node gives up: the data analysis does
//! not run.
//!
//! **Example.** A misspelt target loses an edge: no point is tainted, but `is_lossy` is true, since a condition that never holds on the
//! other paths may hold on this one.

use super::names::at_path;
use trellis_base::{
    diagnostic::{Code, Diagnostic},
    span::Span,
};
use trellis_engine::program::{Node, Program};
use trellis_syntax::{
    document::Content,
    node::{CallSyntax, CalleeSyntax, NodeSyntax},
};

/// Points that mistakes taint.
pub(super) struct Taint {
    /// True for each point whose behaviour is not trusted.
    pub(super) points: Vec<bool>,
    /// True if an edge may be missing, so that nothing may be concluded from the absence of paths.
    pub(super) is_lossy: bool,
    /// Documents with mistakes, by index.
    pub(super) faulty: Vec<u32>,
}

/// Extent of the taint of a mistake.
enum TaintKind {
    /// No part.
    None,
    /// An edge is missing; all others are as written.
    Edge,
    /// The behaviour of a node.
    Node,
}

impl Taint {
    /// Returns `None` where a mistake may concern every node. Findings that the author tolerates do not count.
    pub(super) fn new<'f>(
        program: &Program,
        found: impl Iterator<Item = &'f Diagnostic>,
        is_error: impl Fn(&Diagnostic) -> bool,
    ) -> Option<Self> {
        let mut tainted = Self { points: vec![false; program.points.len()], is_lossy: false, faulty: Vec::new() };
        let mut broken: Vec<(u32, Span)> = Vec::new();
        for diagnostic in found.filter(|found| is_error(found)) {
            let place = diagnostic.place.as_ref()?;
            let at = at_path(&program.documents, &place.path)?;
            let document = &program.documents[at as usize];
            tainted.faulty.push(at);
            let harm = match &document.content {
                Content::Node(syntax) => of_node(diagnostic.code, syntax, place.span),
                Content::Nodes(nodes, _) => {
                    // Nodes are in file order.
                    let after = nodes.partition_point(|node| node.span.start <= place.span.start);
                    let around = nodes[..after].last().filter(|node| place.span.end <= node.span.end);
                    of_node(diagnostic.code, around?, place.span)
                }
                Content::Project(_) if is_inert(&document.text, place.span) => TaintKind::None,
                // An edge for the whole graph, or its call.
                Content::Project(_) if matches!(diagnostic.code, Code::UnknownTarget | Code::UnknownModule | Code::WrongCase) => {
                    TaintKind::Edge
                }
                Content::Project(_) if matches!(diagnostic.code, Code::UnknownTool | Code::UnboundTool) => TaintKind::None,
                Content::Project(_) => return None,
                // The results of a tool that could not be read are unknown anyway.
                Content::Library(_) => TaintKind::None,
                Content::Broken if document.path.ends_with("trellis.yaml") || document.path.ends_with("tools.yaml") => return None,
                // Its edges, writes and reads are unknown.
                Content::Broken => TaintKind::Node,
            };
            match harm {
                TaintKind::None => {}
                TaintKind::Edge => tainted.is_lossy = true,
                TaintKind::Node => broken.push((at, place.span)),
            }
        }
        tainted.is_lossy |= !broken.is_empty();
        if !broken.is_empty() {
            broken.sort_unstable();
            let is_broken = |node: &Node| {
                let of_file = &broken[broken.partition_point(|(document, _)| *document < node.document)..];
                let of_file = &of_file[..of_file.partition_point(|(document, _)| *document == node.document)];
                let is_alone = !matches!(program.documents[node.document as usize].content, Content::Nodes(..));
                let first = of_file.partition_point(|(_, span)| !is_alone && span.start < node.span.start);
                of_file.get(first).is_some_and(|(_, span)| is_alone || span.start < node.span.end)
            };
            let nodes: Vec<bool> = program.nodes.iter().map(|node| is_broken(node)).collect();
            tainted.points = program.points.iter().map(|point| nodes[point.node.0 as usize]).collect();
        }
        Some(tainted)
    }
}

fn of_node(code: Code, node: &NodeSyntax, span: Span) -> TaintKind {
    match code {
        // Such a target is lowered to a failing end.
        Code::UnknownTarget | Code::UnknownModule | Code::WrongCase | Code::ShadowedTransition => TaintKind::Edge,
        Code::NeverTrue | Code::NonExhaustive | Code::UnreachableNode | Code::EndlessLoop | Code::NoWayOut | Code::DuplicateOption => {
            TaintKind::None
        }
        Code::UnknownTool
        | Code::ToolCycle
        | Code::MissingToolLibrary
        | Code::NamelessTool
        | Code::InvalidToolSchema
        | Code::UnsetRequiredContext
        | Code::UndefinedVariable
        | Code::MaybeUndefined
        | Code::FailedAssert => TaintKind::None,
        // The node accepts any answer instead; only the edge of a `no` may be missing.
        Code::WrongType if key_at(node, span) == Some("input_type") => TaintKind::Edge,
        // The arguments of a child would be unknown.
        Code::BadToolArgs if calls_tools(node) => TaintKind::None,
        Code::TemplateSyntax | Code::UnknownFilter | Code::SecretExposed | Code::WrongType | Code::MissingValue if is_said(node, span) => {
            TaintKind::None
        }
        _ => TaintKind::Node,
    }
}

fn calls_tools(node: &NodeSyntax) -> bool {
    let is_tool = |call: &CallSyntax| matches!(call.callee, CalleeSyntax::Tool(_) | CalleeSyntax::Each(..));
    node.call.iter().chain(&node.undo).all(|call| match &call.callee {
        CalleeSyntax::Parallel(branches, _) => {
            branches.iter().all(|(_, branch)| is_tool(branch) && branch.undo.as_deref().is_none_or(is_tool))
        }
        _ => is_tool(call),
    })
}

/// Returns true if a place is in a text of a node, which changes no behaviour.
fn is_said(node: &NodeSyntax, span: Span) -> bool {
    if span.start >= node.span.end {
        return true;
    }
    matches!(key_at(node, span), Some("content" | "text" | "message" | "messages" | "metadata"))
}

/// Returns the key of a node that a place belongs to.
fn key_at(node: &NodeSyntax, span: Span) -> Option<&'static str> {
    let before = node.keys.iter().filter(|(_, key)| key.start <= span.start);
    before.max_by_key(|(_, key)| key.start).map(|(key, _)| *key)
}

/// Returns true if a place of a project file is below a key that changes no behaviour. The keys themselves do not count: one may be
/// misspelt for another.
fn is_inert(text: &str, span: Span) -> bool {
    let before = text.get(..span.start as usize + 1).unwrap_or_default();
    let key = before.lines().rev().find(|line| line.starts_with(|first: char| first.is_ascii_alphabetic()));
    let key = key.and_then(|line| line.split_once(':')).map(|(key, _)| key);
    matches!(key, Some("name" | "description" | "bindings" | "limits" | "redact" | "severity" | "retry"))
}

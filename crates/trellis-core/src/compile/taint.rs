//! What mistakes leave unknown: which nodes do something else than what was read of them.
//!
//! A mistake that only takes a way away leaves the others as they are, and what is said about a value does not change what is there. So most
//! mistakes hide nothing behind them, and independent ones are found together.

use super::names::at_path;
use crate::{
    diagnostic::{Code, Diagnostic},
    program::{Node, Program},
    span::Span,
    syntax::{
        document::Content,
        node::{CallSyntax, CalleeSyntax, NodeSyntax},
    },
};

/// Where the meaning of nodes is not known.
pub(super) struct Taint {
    /// By point: what happens there is not known.
    pub(super) points: Vec<bool>,
    /// Whether some way may be lost: what is never so on the others may be so on it.
    pub(super) is_lossy: bool,
    /// The documents with mistakes.
    pub(super) faulty: Vec<u32>,
}

/// What a mistake leaves unknown.
enum TaintKind {
    /// Nothing.
    None,
    /// A way is missing; all others are as they were written.
    Way,
    /// What a node does.
    Node,
}

impl Taint {
    /// Nothing where a mistake may concern every node. What its author tolerates does not stand in the way.
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
                    // They stand in the order of the file.
                    let after = nodes.partition_point(|node| node.span.start <= place.span.start);
                    let around = nodes[..after].last().filter(|node| place.span.end <= node.span.end);
                    of_node(diagnostic.code, around?, place.span)
                }
                Content::Project(_) if is_aside(&document.text, place.span) => TaintKind::None,
                // A way that is written for the whole graph, or its call.
                Content::Project(_) if matches!(diagnostic.code, Code::UnknownTarget | Code::UnknownModule | Code::WrongCase) => {
                    TaintKind::Way
                }
                Content::Project(_) if matches!(diagnostic.code, Code::UnknownTool | Code::UnboundTool) => TaintKind::None,
                Content::Project(_) => return None,
                // Of the results of a tool that could not be read nothing is known.
                Content::Library(_) => TaintKind::None,
                Content::Broken if document.path.ends_with("trellis.yaml") || document.path.ends_with("tools.yaml") => return None,
                Content::Broken => TaintKind::Way,
            };
            match harm {
                TaintKind::None => {}
                TaintKind::Way => tainted.is_lossy = true,
                TaintKind::Node => broken.push((at, place.span)),
            }
        }
        tainted.is_lossy |= !broken.is_empty();
        if !broken.is_empty() {
            broken.sort_unstable();
            let is_broken = |node: &Node| {
                let of_file = &broken[broken.partition_point(|(document, _)| *document < node.document)..];
                let of_file = &of_file[..of_file.partition_point(|(document, _)| *document == node.document)];
                let is_alone = matches!(program.documents[node.document as usize].content, Content::Node(_));
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
        // Such a target ends as failed, whatever leads there.
        Code::UnknownTarget | Code::UnknownModule | Code::WrongCase | Code::ShadowedTransition => TaintKind::Way,
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
        // It listens all the same, to anything; only a `no` may be lost.
        Code::WrongType if key_at(node, span) == Some("input_type") => TaintKind::Way,
        // What a child begins with is not known then.
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
        CalleeSyntax::Parallel(branches, _) => branches.iter().all(|(_, branch)| is_tool(branch)),
        _ => is_tool(call),
    })
}

/// Whether a place of a node is about what it says, which changes nothing that happens.
fn is_said(node: &NodeSyntax, span: Span) -> bool {
    if span.start >= node.span.end {
        return true;
    }
    matches!(key_at(node, span), Some("content" | "text" | "message" | "messages" | "metadata"))
}

/// The key of a node that a place belongs to.
fn key_at(node: &NodeSyntax, span: Span) -> Option<&'static str> {
    let before = node.keys.iter().filter(|(_, key)| key.start <= span.start);
    before.max_by_key(|(_, key)| key.start).map(|(key, _)| *key)
}

/// Whether a place of a project file stands below a key that changes nothing that happens in the context. A key itself may have been meant for another.
fn is_aside(text: &str, span: Span) -> bool {
    let before = text.get(..span.start as usize + 1).unwrap_or_default();
    let key = before.lines().rev().find(|line| line.starts_with(|first: char| first.is_ascii_alphabetic()));
    let key = key.and_then(|line| line.split_once(':')).map(|(key, _)| key);
    matches!(key, Some("name" | "description" | "bindings" | "limits" | "redact" | "severity" | "retry"))
}

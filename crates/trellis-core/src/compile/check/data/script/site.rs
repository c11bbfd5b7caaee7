//! A place in the author's files where something is read.

use super::*;

/// A place in the author's files where something is read.
#[derive(Clone, Copy)]
pub(in super::super) struct Site<'p> {
    pub(in super::super) path: &'p KeyPath,
    pub(in super::super) document: u32,
    pub(in super::super) kind: Kind<'p>,
}

/// What reads.
#[derive(Clone, Copy)]
pub(in super::super) enum Kind<'p> {
    /// A template; the flag says that it is met in some locales only.
    Template(Used<'p>, bool),
    /// `required_context`, by its place in that list.
    Required(NodeIndex, u32),
    /// A condition of an edge.
    Edge(NodeIndex, u32),
    /// A condition of `assert`, by its place in that list.
    Assert(NodeIndex, u32),
    /// `each`.
    List(NodeIndex),
}

impl<'p> Site<'p> {
    /// What decides whether it is met.
    pub(in super::super) fn when(&self) -> &'p [crate::template::Test] {
        if let Kind::Template(used, _) = self.kind { used.when } else { &[] }
    }

    /// Whether it is met on every way past its place.
    pub(in super::super) fn is_certain(&self) -> bool {
        self.when().is_empty() && !self.is_opaque()
    }

    /// Whether something decides about it that is not followed.
    pub(in super::super) fn is_opaque(&self) -> bool {
        matches!(self.kind, Kind::Template(used, localised) if localised || used.when.contains(&crate::template::Test::Opaque))
    }

    /// Whether it goes on below the path into the unknown.
    pub(in super::super) fn is_deep(&self) -> bool {
        self.path.segments().len() > FOLLOWED
            || matches!(self.kind, Kind::Template(used, _) if used.deep)
            || self.path.segments().iter().any(|segment| matches!(segment, Segment::Index(_)))
    }

    /// What its value must be, beside being there.
    pub(in super::super) fn demand(&self) -> Option<Demand> {
        if let Kind::Template(used, _) = self.kind { used.demand } else { None }
    }

    pub(in super::super) fn span(&self, program: &Program) -> Span {
        match self.kind {
            Kind::Template(used, _) => used.span(),
            Kind::Edge(node, edge) => edge_span(program, program.node(node), edge),
            Kind::Required(node, at) => {
                let node = program.node(node);
                let syntax = super::super::super::syntax_of(program, node);
                syntax.and_then(|syntax| syntax.required_context.get(at as usize)).map_or(node.span, |path| path.span)
            }
            Kind::Assert(node, at) => assert_span(program, node, at),
            Kind::List(node) => {
                let node = program.node(node);
                super::super::super::syntax_of(program, node).and_then(|syntax| syntax.call.as_ref()).map_or(node.span, |call| match &call
                    .callee
                {
                    crate::syntax::node::CalleeSyntax::Each(list, _) => list.span,
                    _ => call.span,
                })
            }
        }
    }
}

/// Where an edge's condition is written; its target where it has none.
pub(in super::super) fn edge_span(program: &Program, node: &Node, edge: u32) -> Span {
    let edge = &program.edges[edge as usize];
    let written = super::super::super::never::condition(program, node, edge).map(|condition| condition.span);
    written.or(edge.origin.map(|origin| origin.span)).unwrap_or(node.span)
}

/// Where a condition of `assert` is written.
pub(in super::super) fn assert_span(program: &Program, node: NodeIndex, at: u32) -> Span {
    let node = program.node(node);
    let syntax = super::super::super::syntax_of(program, node);
    syntax.and_then(|syntax| syntax.asserts.get(at as usize)).map_or(node.span, |condition| condition.span)
}

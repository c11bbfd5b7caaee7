//! The source of a lowered program: a node and a condition as their author wrote them, and the places of findings about a node.

use trellis_base::span::{Span, Spanned};
use trellis_engine::program::{Edge, Node, Program};
use trellis_syntax::{
    condition::Condition,
    node::{NodeSyntax, TransitionSyntax},
};

/// The node as its author wrote it.
pub(crate) fn syntax_of<'p>(program: &'p Program, node: &Node) -> Option<&'p NodeSyntax> {
    program.documents.get(node.document as usize)?.node(node.ordinal)
}

/// The condition of an edge as it is written.
pub(crate) fn condition<'p>(program: &'p Program, node: &Node, edge: &Edge) -> Option<&'p Spanned<Condition>> {
    let origin = edge.origin?;
    let transitions = &syntax_of(program, node)?.transitions;
    let is_it = |transition: &&TransitionSyntax| transition.target.as_ref().is_some_and(|target| target.name.span == origin.span);
    // They are in order, unless an alias brought one from elsewhere.
    let after = transitions.partition_point(|transition| transition.span.start <= origin.span.start);
    let near = transitions[..after].last().filter(is_it);
    near.or_else(|| transitions.iter().find(is_it))?.condition.as_ref()
}

/// The first line of a node, the place of findings about the node as a whole.
pub(crate) fn place(node: &Node) -> Span {
    Span::at(node.span.start as usize)
}

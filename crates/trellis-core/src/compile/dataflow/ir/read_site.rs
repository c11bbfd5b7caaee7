//! A place in the author's files where something is read.

use super::*;
use crate::template::Calculation;

/// A place in the author's files where something is read.
#[derive(Clone, Copy)]
pub(crate) struct ReadSite<'p> {
    pub(crate) path: &'p KeyPath,
    pub(crate) document: u32,
    pub(crate) kind: ReadKind<'p>,
}

/// In which locales a template is met.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum LocaleScope<'p> {
    Everywhere,
    /// Where no words of a locale take its place.
    Elsewhere,
    /// In this locale.
    In(&'p str),
}

/// What reads.
#[derive(Clone, Copy)]
pub(crate) enum ReadKind<'p> {
    /// A template, where it is met, and the condition of the part that it is.
    Template(Used<'p>, LocaleScope<'p>, Option<&'p Guard>),
    /// A condition of a part of what is said.
    Part(LocaleScope<'p>, Span),
    /// `required_context`, by its place in that list.
    Required(NodeIndex, u32),
    /// A condition of an edge.
    Edge(NodeIndex, u32),
    /// A condition of `assert`, by its place in that list.
    Assert(NodeIndex, u32),
    /// `each`.
    List(NodeIndex),
}

impl<'p> ReadSite<'p> {
    /// What decides whether it is met.
    pub(crate) fn when(&self) -> &'p [crate::template::Test] {
        if let ReadKind::Template(used, ..) = self.kind { used.when } else { &[] }
    }

    /// The condition of the part of what is said that it stands in.
    pub(crate) fn guard(&self) -> Option<&'p Guard> {
        if let ReadKind::Template(_, _, guard) = self.kind { guard } else { None }
    }

    /// Whether its path is followed.
    pub(crate) fn is_followed(&self) -> bool {
        !matches!(self.kind, ReadKind::Template(Used { blind: true, .. }, ..)) && split(self.path).is_some()
    }

    /// Whether it is met on every way past its place.
    pub(crate) fn is_certain(&self) -> bool {
        self.when().is_empty() && self.guard().is_none() && !self.is_local()
    }

    /// Whether something decides about it that is not followed.
    pub(crate) fn is_opaque(&self) -> bool {
        matches!(self.kind, ReadKind::Template(used, ..) if used.when.contains(&crate::template::Test::Opaque))
    }

    /// Whether it is met in some locales only.
    pub(crate) fn is_local(&self) -> bool {
        matches!(self.kind, ReadKind::Template(_, spoken, _) | ReadKind::Part(spoken, _) if spoken != LocaleScope::Everywhere)
    }

    /// The locale in which it is met.
    pub(crate) fn locale(&self) -> Option<&'p str> {
        match self.kind {
            ReadKind::Template(_, LocaleScope::In(locale), _) | ReadKind::Part(LocaleScope::In(locale), _) => Some(locale),
            _ => None,
        }
    }

    /// Whether it goes on below the path into the unknown.
    pub(crate) fn is_deep(&self) -> bool {
        self.path.segments().len() > MAX_PATH_SEGMENTS
            || matches!(self.kind, ReadKind::Template(used, ..) if used.deep)
            || self.path.segments().iter().any(|segment| matches!(segment, Segment::Index(_)))
    }

    /// Steps from the path into what it holds.
    pub(crate) fn inside(&self) -> &'p [Step] {
        if let ReadKind::Template(used, ..) = self.kind { used.inside } else { &[] }
    }

    /// The calculation that it is, whose parts have to go together.
    pub(crate) fn calculation(&self) -> Option<&'p Arc<Calculation>> {
        if let ReadKind::Template(used, ..) = self.kind { used.calculation } else { None }
    }

    /// Whether it is `sys.visits`.
    pub(crate) fn is_count(&self) -> bool {
        &**self.path.root() == "sys" && matches!(self.path.rest().first(), Some(Segment::Key(key)) if &**key == "visits")
    }

    /// How its author names it.
    pub(crate) fn name(&self, program: &Program) -> String {
        if self.inside().is_empty() && self.calculation().is_none() { self.path.to_string() } else { self.written(program) }
    }

    /// What stands in the file, in one line.
    pub(crate) fn written(&self, program: &Program) -> String {
        let written = program.documents[self.document as usize].text.get(self.span(program).range()).unwrap_or_default();
        written.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// What its value must be, beside being there.
    pub(crate) fn demand(&self) -> Option<Demand> {
        match self.kind {
            ReadKind::Template(used, ..) => used.demand,
            ReadKind::List(_) => Some(KindSet::LIST),
            ReadKind::Required(..) | ReadKind::Edge(..) | ReadKind::Assert(..) | ReadKind::Part(..) => None,
        }
    }

    pub(crate) fn span(&self, program: &Program) -> Span {
        match self.kind {
            ReadKind::Template(used, ..) => used.span(),
            ReadKind::Part(_, span) => span,
            ReadKind::Edge(node, edge) => edge_span(program, program.node(node), edge),
            ReadKind::Required(node, at) => {
                let node = program.node(node);
                let syntax = crate::compile::check::syntax_of(program, node);
                syntax.and_then(|syntax| syntax.required_context.get(at as usize)).map_or(node.span, |path| path.span)
            }
            ReadKind::Assert(node, at) => assert_span(program, node, at),
            ReadKind::List(node) => {
                let node = program.node(node);
                crate::compile::check::syntax_of(program, node).and_then(|syntax| syntax.call.as_ref()).map_or(
                    node.span,
                    |call| match &call.callee {
                        crate::syntax::node::CalleeSyntax::Each(list, _) => list.span,
                        _ => call.span,
                    },
                )
            }
        }
    }
}

/// Where an edge's condition is written; its target where it has none.
pub(crate) fn edge_span(program: &Program, node: &Node, edge: u32) -> Span {
    let edge = &program.edges[edge as usize];
    let written = crate::compile::check::never_true::condition(program, node, edge).map(|condition| condition.span);
    written.or(edge.origin.map(|origin| origin.span)).unwrap_or(node.span)
}

/// Where a condition of `assert` is written.
pub(crate) fn assert_span(program: &Program, node: NodeIndex, at: u32) -> Span {
    let node = program.node(node);
    let syntax = crate::compile::check::syntax_of(program, node);
    syntax.and_then(|syntax| syntax.asserts.get(at as usize)).map_or(node.span, |condition| condition.span)
}

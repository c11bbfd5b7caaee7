//! Sites: places in the author's files that read a path.

use super::*;
use crate::source_lookup::{condition, syntax_of};
use trellis_base::{diagnostic::Place, template::Calculation};

/// Bytes of an expression that a message shows.
const MAX_SHOWN: usize = 80;

/// Site: a place in the author's files that reads a path.
#[derive(Clone, Copy)]
pub(crate) struct ReadSite<'p> {
    pub(crate) path: &'p KeyPath,
    pub(crate) document: u32,
    pub(crate) kind: ReadKind<'p>,
}

/// Locales in which a template is rendered.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum LocaleScope<'p> {
    /// Every locale.
    Everywhere,
    /// Locales without a translation of their own.
    Elsewhere,
    /// This locale.
    In(&'p str),
}

/// Construct that reads.
#[derive(Clone, Copy)]
pub(crate) enum ReadKind<'p> {
    /// Template: the use of the path, its locales, and the condition of the part of the content that contains it.
    Template(Used<'p>, LocaleScope<'p>, Option<&'p Guard>),
    /// Condition of a part of the content.
    Part(LocaleScope<'p>, Span),
    /// Entry of `required_context`, by its index.
    Required(NodeIndex, u32),
    /// Condition of an edge.
    Edge(NodeIndex, u32),
    /// Entry of `assert`, by its index.
    Assert(NodeIndex, u32),
    /// List that `each` iterates over.
    List(NodeIndex),
    /// Schema of a predicate, where it names the key.
    Schema(Span, LocaleScope<'p>),
}

impl<'p> ReadSite<'p> {
    /// Its place in a file.
    pub(crate) fn place(&self, program: &Program) -> Place {
        Place::new(&program.documents[self.document as usize].path, self.span(program))
    }

    /// The guards that decide whether the site is reached.
    pub(crate) fn when(&self) -> &'p [trellis_base::template::GuardedTest] {
        if let ReadKind::Template(used, ..) = self.kind { used.when } else { &[] }
    }

    /// Returns the condition of the part of the content that contains this read.
    pub(crate) fn guard(&self) -> Option<&'p Guard> {
        if let ReadKind::Template(_, _, guard) = self.kind { guard } else { None }
    }

    /// Returns true if the analysis follows the path.
    pub(crate) fn is_followed(&self) -> bool {
        !matches!(self.kind, ReadKind::Template(Used { blind: true, .. }, ..)) && split(self.path).is_some()
    }

    /// Returns true if every session that passes this place reads it: no test, no condition and no locale guards it.
    pub(crate) fn is_certain(&self) -> bool {
        self.when().is_empty() && self.guard().is_none() && !self.is_local()
    }

    /// Returns true if a guard of this read is an expression that is not followed.
    pub(crate) fn is_opaque(&self) -> bool {
        matches!(self.kind, ReadKind::Template(used, ..) if used.when.contains(&trellis_base::template::GuardedTest::Opaque))
    }

    /// Returns true if only some locales read it.
    pub(crate) fn is_local(&self) -> bool {
        matches!(
            self.kind,
            ReadKind::Template(_, locales, _) | ReadKind::Part(locales, _) | ReadKind::Schema(_, locales)
                if locales != LocaleScope::Everywhere
        )
    }

    /// Returns the only locale that reads it; `None` if there are more.
    pub(crate) fn locale(&self) -> Option<&'p str> {
        match self.kind {
            ReadKind::Template(_, LocaleScope::In(locale), _)
            | ReadKind::Part(LocaleScope::In(locale), _)
            | ReadKind::Schema(_, LocaleScope::In(locale)) => Some(locale),
            _ => None,
        }
    }

    /// Returns true if the read continues below the tracked part of the path: by an index, a computed key or too many segments.
    pub(crate) fn is_deep(&self) -> bool {
        self.path.segments().len() > MAX_PATH_SEGMENTS
            || matches!(self.kind, ReadKind::Template(used, ..) if used.deep)
            || self.path.segments().iter().any(|segment| matches!(segment, Segment::Index(_)))
    }

    /// Returns the steps from the path into the elements of its value.
    pub(crate) fn inside(&self) -> &'p [ElementStep] {
        if let ReadKind::Template(used, ..) = self.kind { used.inside } else { &[] }
    }

    /// Returns the calculation that this read is, if it is one: its operands must fit each other.
    pub(crate) fn calculation(&self) -> Option<&'p Arc<Calculation>> {
        if let ReadKind::Template(used, ..) = self.kind { used.calculation } else { None }
    }

    /// Returns true if it reads `sys.visits`.
    pub(crate) fn is_count(&self) -> bool {
        &**self.path.root() == "sys" && matches!(self.path.rest().first(), Some(Segment::Key(key)) if &**key == "visits")
    }

    /// Returns the path, or the source text if the read is more than a path.
    pub(crate) fn name(&self, program: &Program) -> String {
        if self.inside().is_empty() && self.calculation().is_none() { self.path.to_string() } else { self.written(program) }
    }

    /// Returns the source text of a read that is more than its path, if it is short.
    pub(crate) fn expression(&self, program: &Program) -> Option<String> {
        let ReadKind::Template(used, ..) = self.kind else { return None };
        let is_more = used.blind || used.calculation.is_some() || !used.inside.is_empty();
        // The whole text of a template stands for a place in it that is not exact.
        let is_shown =
            |text: &String| text.len() <= MAX_SHOWN && !text.is_empty() && !text.contains("{{") && *text != self.path.to_string();
        is_more.then(|| self.written(program)).filter(is_shown)
    }

    /// Returns the source text of the read, in one line.
    pub(crate) fn written(&self, program: &Program) -> String {
        let written = program.documents[self.document as usize].text.get(self.span(program).range()).unwrap_or_default();
        written.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Returns the kinds that the value must have beside being present; `None` if any will do.
    pub(crate) fn demand(&self) -> Option<Demand> {
        match self.kind {
            ReadKind::Template(used, ..) => used.demand,
            ReadKind::List(_) => Some(KindSet::LIST),
            ReadKind::Required(..) | ReadKind::Edge(..) | ReadKind::Assert(..) | ReadKind::Part(..) | ReadKind::Schema(..) => None,
        }
    }

    /// Returns the span of the read in its document.
    pub(crate) fn span(&self, program: &Program) -> Span {
        match self.kind {
            ReadKind::Template(used, ..) => used.span(),
            ReadKind::Part(_, span) | ReadKind::Schema(span, _) => span,
            ReadKind::Edge(node, edge) => edge_span(program, program.node(node), edge),
            ReadKind::Required(node, at) => {
                let node = program.node(node);
                let syntax = syntax_of(program, node);
                syntax.and_then(|syntax| syntax.required_context.get(at as usize)).map_or(node.span, |path| path.span)
            }
            ReadKind::Assert(node, at) => assert_span(program, node, at),
            ReadKind::List(node) => {
                let node = program.node(node);
                syntax_of(program, node).and_then(|syntax| syntax.call.as_ref()).map_or(node.span, |call| match &call.callee {
                    trellis_syntax::node::CalleeSyntax::Each(list, _) => list.span,
                    _ => call.span,
                })
            }
        }
    }
}

/// Returns the span of the condition of an edge, or of its target if it has no condition.
pub(crate) fn edge_span(program: &Program, node: &Node, edge: u32) -> Span {
    let edge = &program.edges[edge as usize];
    let written = condition(program, node, edge).map(|condition| condition.span);
    written.or(edge.origin.map(|origin| origin.span)).unwrap_or(node.span)
}

/// Returns the span of an entry of `assert`.
pub(crate) fn assert_span(program: &Program, node: NodeIndex, at: u32) -> Span {
    let node = program.node(node);
    let syntax = syntax_of(program, node);
    syntax.and_then(|syntax| syntax.asserts.get(at as usize)).map_or(node.span, |condition| condition.span)
}

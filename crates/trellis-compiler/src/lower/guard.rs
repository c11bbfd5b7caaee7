//! Conditions become guards: a bare name is a declared predicate, else a key (language 6.1, 6.2).

use super::{Here, Lowering};
use trellis_base::{
    diagnostic::{Code, Diagnostic, Near, near},
    path::KeyPath,
    span::{Span, Spanned},
    value::Key,
};
use trellis_engine::program::{Guard, Operand, Root};
use trellis_syntax::condition::{Condition, Test};

/// A bare name in a condition that is no predicate: it must be a key.
#[derive(Clone, Debug)]
pub(crate) struct BareName {
    document: u32,
    graph: u32,
    name: Key,
    /// The place of the name.
    subject: Span,
    condition: Span,
}

impl Lowering<'_> {
    /// The guard of a condition. A bare name that is no predicate reads a key, and is listed to be looked up.
    pub(super) fn guard(&mut self, here: Here<'_>, condition: &Spanned<Condition>) -> Guard {
        let Condition { subject, test, negated, .. } = &condition.value;
        let graph = &self.graphs[here.graph as usize];
        let yes = !negated;
        if *test == Test::Truth && subject.is_key() {
            if let Some(&predicate) = graph.predicates.get(subject.root()) {
                return Guard::Predicate(predicate, yes);
            }
            if root_of(subject) == Root::Context {
                self.bare_names.push(BareName {
                    document: here.document,
                    graph: here.graph,
                    name: subject.root().clone(),
                    subject: condition.value.subject_span,
                    condition: condition.span,
                });
            }
        }
        let operand = operand(subject);
        match test {
            Test::Truth => Guard::Truth(operand, yes),
            Test::Is(literal) => Guard::Is(operand, yes, literal.clone()),
            Test::In(literals) => Guard::In(operand, yes, literals.clone()),
            Test::Set => Guard::Set(operand, yes),
            Test::Empty => Guard::Empty(operand, yes),
        }
    }

    /// Reports the bare names that are neither a predicate nor a key that is ever set or declared in their graph. It is asked once all
    /// nodes are lowered, so that an edit of the keys of one node needs no other node lowered again.
    pub(crate) fn unknown_predicates<'b>(&mut self, bare_names: impl Iterator<Item = &'b BareName>) {
        for bare in bare_names {
            if !self.keys(bare.graph).contains(&*bare.name) {
                let found = self.unknown_predicate(bare);
                self.push(found);
            }
        }
    }

    fn unknown_predicate(&self, bare: &BareName) -> Diagnostic {
        let (name, path) = (&bare.name, &self.documents[bare.document as usize].path);
        let graph = &self.graphs[bare.graph as usize];
        let mut candidates: Vec<&str> = graph.predicates.keys().map(|name| &**name).chain(self.keys(bare.graph).iter().copied()).collect();
        candidates.sort_unstable();
        let near = near(name, candidates);
        let declare = || format!("declare it in `trellis.yaml` (`predicates: [{name}]`), or set a key of that name somewhere");
        let message = format!("`{name}` is neither a predicate nor a key that is ever set");
        let found = Diagnostic::new(Code::UnknownPredicate, path, bare.condition, message);
        match bare.subject {
            // The span is as long as the name, so the text is the name itself.
            span if span.range().len() == name.len() => found.meant(span, near, declare),
            _ => found.help(near.map_or_else(declare, Near::question)),
        }
    }
}

/// The operand of a path.
pub(super) fn operand(path: &KeyPath) -> Operand {
    Operand { root: root_of(path), path: path.clone() }
}

fn root_of(path: &KeyPath) -> Root {
    match &**path.root() {
        "input" => Root::Input,
        "tool_result" => Root::Result,
        "sys" => Root::Sys,
        _ => Root::Context,
    }
}

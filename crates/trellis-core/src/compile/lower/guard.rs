//! Conditions become guards: a bare name is a declared predicate, else a key (language 6.1, 6.2).

use super::{Here, Lowering};
use crate::{
    diagnostic::{Code, Diagnostic, Near, near},
    path::KeyPath,
    program::{Guard, Operand, Root},
    span::Spanned,
    syntax::condition::{Condition, Test},
};

impl Lowering<'_> {
    /// The guard of a condition. An unknown name is reported and becomes a guard that reads an absent key.
    pub(super) fn guard(&mut self, here: Here<'_>, condition: &Spanned<Condition>) -> Guard {
        let Condition { subject, test, negated, .. } = &condition.value;
        let graph = &self.graphs[here.graph as usize];
        let yes = !negated;
        if *test == Test::Truth && subject.is_key() {
            if let Some(&predicate) = graph.predicates.get(subject.root()) {
                return Guard::Predicate(predicate, yes);
            }
            let name = &**subject.root();
            // What could not be read might set it.
            if !self.unread && root_of(subject) == Root::Context && !self.keys(here.graph).contains(name) {
                self.unknown_predicate(here, condition);
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

    fn unknown_predicate(&mut self, here: Here<'_>, condition: &Spanned<Condition>) {
        let name = condition.value.subject.root().clone();
        let graph = &self.graphs[here.graph as usize];
        let mut candidates: Vec<&str> = graph.predicates.keys().map(|name| &**name).chain(self.keys(here.graph).iter().copied()).collect();
        candidates.sort_unstable();
        let near = near(&name, candidates);
        let declare = || format!("declare it in `trellis.yaml` (`predicates: [{name}]`), or set a key of that name somewhere");
        let message = format!("`{name}` is neither a predicate nor a key that is ever set");
        let mut found = Diagnostic::new(Code::UnknownPredicate, here.path, condition.span, message);
        found = match condition.value.subject_span {
            // As long as the name: it stands there as it is.
            span if span.range().len() == name.len() => found.meant(span, near, declare),
            _ => found.help(near.map_or_else(declare, Near::question)),
        };
        self.push(found);
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

//! Conditions become guards: a bare name is a declared predicate, else a key (language 6.1, 6.2).

use super::{Here, Lowering};
use crate::{
    diagnostic::{Code, nearest},
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
            if root_of(subject) == Root::Context && !self.keys(here.graph).contains(name) {
                self.unknown_predicate(here, condition);
            }
        }
        let operand = operand(subject);
        match test {
            Test::Truth => Guard::Truth(operand, yes),
            Test::Is(literal) => Guard::Is(operand, yes, literal.clone()),
            Test::In(literals) => Guard::In(operand, yes, literals.clone().into()),
            Test::Set => Guard::Set(operand, yes),
            Test::Empty => Guard::Empty(operand, yes),
        }
    }

    fn unknown_predicate(&mut self, here: Here<'_>, condition: &Spanned<Condition>) {
        let name = condition.value.subject.root().clone();
        let graph = &self.graphs[here.graph as usize];
        let mut candidates: Vec<&str> = graph.predicates.keys().map(|name| &**name).chain(self.keys(here.graph).iter().copied()).collect();
        candidates.sort_unstable();
        let near = nearest(&name, candidates).map(str::to_owned);
        let help = near.as_ref().map_or_else(
            || format!("declare it in `trellis.yaml` (`predicates: [{name}]`), or set a key of that name somewhere"),
            |near| format!("did you mean `{near}`?"),
        );
        let message = format!("`{name}` is neither a predicate nor a key that is ever set");
        self.report(here, Code::UnknownPredicate, condition.span, message).help = Some(help);
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

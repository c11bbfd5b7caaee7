//! A session that is searched: where it waits, and what it knows of values that are chosen last.

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use super::{
    script::FOLLOWED,
    symbols::{self, Found, Sym, Vars},
};
use crate::{
    path::KeyPath,
    program::{Guard, NodeIndex, PointIndex, Root, Truth},
    template::{Shape, Test},
    value::Key,
};

/// A session that is searched: where it waits, and what it knows.
#[derive(Clone)]
pub(super) struct Scene {
    pub(super) point: PointIndex,
    pub(super) context: Rc<BTreeMap<Key, Sym>>,
    pub(super) ans: Option<Sym>,
    pub(super) error: Option<Sym>,
    pub(super) unwound: bool,
    pub(super) vars: Vars,
    pub(super) input: Option<Sym>,
    pub(super) result: Option<Sym>,
    /// The kind of the failure that is taken.
    pub(super) failed: &'static str,
    /// Of nodes that admit so many entries and no more.
    pub(super) visits: BTreeMap<NodeIndex, u32>,
    /// Paths of which it was forgotten what is known: such a way may not exist.
    pub(super) pretended: Rc<BTreeSet<KeyPath>>,
}

impl Scene {
    /// What is at a path; `wanted` takes what may be absent for absent.
    pub(super) fn look(&mut self, path: &KeyPath, wanted: bool) -> Found {
        if path.segments().len() > FOLLOWED {
            return Found::There(self.vars.made());
        }
        let root = match (&**path.root(), path.rest()) {
            ("input", rest) => (self.input.clone(), rest),
            ("tool_result", rest) => (self.result.clone(), rest),
            ("sys", [crate::path::Segment::Key(key), rest @ ..]) => match &**key {
                "ans" => (self.ans.clone(), rest),
                "error" => (self.error.clone(), rest),
                "rollback" if !self.unwound => (None, rest),
                "rollback" | "session" | "node" | "step" | "visits" => return Found::There(self.vars.made()),
                _ => return Found::Absent,
            },
            ("sys", []) => return Found::There(self.vars.made()),
            (key, rest) => (self.context.get(key).cloned(), rest),
        };
        match root {
            (Some(root), rest) => self.vars.below(&root, rest, wanted),
            (None, _) => Found::Absent,
        }
    }

    /// `sys.error`, as a failure that the search brings about leaves it: without a code and data.
    pub(super) fn failure(&mut self) -> Sym {
        let words = ["tool", "node", "message"].map(|name| (Key::from(name), self.vars.words()));
        let kind = (Key::from("kind"), Sym::Known(crate::value::Value::text(self.failed)));
        Sym::Map(Rc::new(words.into_iter().chain([kind]).collect()))
    }

    /// Forgets what is known of a path: something may be there.
    pub(super) fn forget(&mut self, path: &KeyPath) {
        Rc::make_mut(&mut self.pretended).insert(path.clone());
        let anything = self.vars.made();
        match (&**path.root(), path.rest().first()) {
            ("input", _) => self.input = Some(anything),
            ("tool_result", _) => self.result = Some(anything),
            ("sys", Some(crate::path::Segment::Key(key))) if &**key == "ans" => self.ans = Some(anything),
            ("sys", Some(crate::path::Segment::Key(key))) if &**key == "error" => self.error = Some(anything),
            ("sys", _) => self.unwound = true,
            (root, _) => {
                let context = Rc::make_mut(&mut self.context);
                if !symbols::write(context, path, anything.clone()) {
                    context.insert(root.into(), anything);
                }
            }
        }
    }

    /// The names that are set, those inside of known mappings too.
    pub(super) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = ["ans", "error", "session", "node", "step"].map(|name| format!("sys.{name}")).to_vec();
        self.context.iter().for_each(|(key, sym)| self.vars.names(key, sym, &mut names));
        names
    }

    pub(super) fn meets(&mut self, test: &Test) -> bool {
        match test {
            Test::Opaque => false,
            Test::Set(path, yes) => matches!(self.look(path, !yes), Found::There(_)) == *yes,
            Test::Truthy(path, yes) => {
                let found = match self.look(path, !yes) {
                    Found::There(sym) => Some(sym),
                    Found::Absent => None,
                };
                self.vars.take_for(found.as_ref(), *yes)
            }
            Test::Is(path, yes, value) => {
                let Found::There(sym) = self.look(path, false) else { return false };
                let operand = crate::program::Operand { root: Root::Context, path: path.clone() };
                self.vars.assume(&Guard::Is(operand, *yes, value.clone()), Some(&sym), true)
            }
        }
    }

    /// Narrows to where a guard comes to `truth`; false where it cannot.
    pub(super) fn assume(&mut self, guard: &Guard, truth: bool, answers: &mut BTreeMap<u32, bool>) -> bool {
        match guard {
            Guard::Always => truth,
            Guard::Attempts(_) => true,
            Guard::Predicate(index, wanted) => *answers.entry(*index).or_insert(*wanted == truth) == (*wanted == truth),
            guard => {
                let Some(operand) = guard.operand() else { return true };
                // A question about presence may be answered by the other side of what is open.
                let wanted =
                    matches!(guard, Guard::Set(_, wanted) | Guard::Empty(_, wanted) if *wanted != truth) && matches!(guard, Guard::Set(..));
                let found = match self.look(&operand.path, wanted) {
                    Found::There(sym) => Some(sym),
                    Found::Absent => None,
                };
                if found.is_none() && matches!(guard, Guard::Is(..) | Guard::In(..) | Guard::Truth(..)) {
                    return false;
                }
                self.vars.assume(guard, found.as_ref(), truth)
                    && self.vars.decide(guard, found.as_ref()) != if truth { Truth::No } else { Truth::Yes }
            }
        }
    }

    /// What a shape comes to; nothing where it leaves its key out.
    pub(super) fn evaluate(&mut self, shape: &Shape) -> Option<Sym> {
        match shape {
            Shape::Literal(value) => Some(Sym::Known(value.clone())),
            Shape::Map(entries) => {
                let mut parts = BTreeMap::new();
                for (key, shape) in entries {
                    if let Some(sym) = self.evaluate(&shape.value) {
                        parts.insert(key.value.clone(), sym);
                    }
                }
                Some(Sym::Map(Rc::new(parts)))
            }
            Shape::Expression(expression) => match expression.path() {
                Some((path, optional)) => match self.look(path, optional) {
                    Found::There(sym) => Some(sym),
                    Found::Absent => None,
                },
                None => Some(self.vars.made()),
            },
            Shape::Text(_) => Some(self.vars.words()),
            Shape::List(items) => {
                let items = items.iter().map(|item| self.evaluate(&item.value)?.known());
                Some(match items.collect::<Option<Vec<_>>>() {
                    Some(items) => Sym::Known(items.into()),
                    None => self.vars.made(),
                })
            }
        }
    }
}

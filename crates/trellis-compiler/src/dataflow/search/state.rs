//! Symbolic states: the point where a session waits, and symbolic values for its context.
//!
//! A value is chosen only in the end, when a path is replayed; until then conditions narrow it.

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use crate::dataflow::{
    domain::external,
    ir::MAX_PATH_SEGMENTS,
    symbolic::{Constraints, Lookup, SymValue},
};
use trellis_base::{
    path::{KeyPath, Segment},
    template::{GuardedTest, Shape},
    value::Key,
};
use trellis_engine::program::{Call, Guard, NodeIndex, Operand, Outcome, PointIndex, Root, Truth};

/// A symbolic state of a session.
#[derive(Clone)]
pub(crate) struct SymState {
    pub(crate) point: PointIndex,
    pub(crate) context: Rc<BTreeMap<Key, SymValue>>,
    pub(crate) ans: Option<SymValue>,
    pub(crate) error: Option<SymValue>,
    /// `sys.rollback`, once a rollback is over.
    pub(crate) rollback: Option<SymValue>,
    pub(crate) constraints: Constraints,
    pub(crate) input: Option<SymValue>,
    pub(crate) result: Option<SymValue>,
    /// `sys.error` of the failure that is taken.
    pub(crate) failure: Option<SymValue>,
    /// Entries of the nodes with `max_visits`.
    pub(crate) visits: BTreeMap<NodeIndex, u32>,
    /// The paths whose values were havocked: if there is one, the path to this state may not exist.
    pub(crate) havocked: Rc<BTreeSet<KeyPath>>,
}

impl SymState {
    /// Splits a path into the value of its root, if there is one, and the rest. Returns `None` for a path that the search does not follow.
    fn root<'k>(&self, path: &'k KeyPath) -> Option<(Option<SymValue>, &'k [Segment])> {
        if path.segments().len() > MAX_PATH_SEGMENTS {
            return None;
        }
        Some(match (&**path.root(), path.rest()) {
            // Once its absence was reported, the search assumes that it is present.
            ("input", rest) => (self.input.as_ref().or(self.context.get("input")).cloned(), rest),
            ("tool_result", rest) => (self.result.as_ref().or(self.context.get("tool_result")).cloned(), rest),
            ("sys", [Segment::Key(key), rest @ ..]) => match &**key {
                "ans" => (self.ans.clone(), rest),
                "error" => (self.error.clone(), rest),
                "rollback" => (self.rollback.clone(), rest),
                "session" | "node" | "step" | "visits" => return None,
                _ => (None, rest),
            },
            ("sys", []) => return None,
            (key, rest) => (self.context.get(key).cloned(), rest),
        })
    }

    /// Returns the value at a path. A path that the search does not follow has some value.
    pub(crate) fn lookup(&mut self, path: &KeyPath) -> Lookup {
        match self.root(path) {
            None => Lookup::Present(self.constraints.fresh_rendered()),
            Some((None, _)) => Lookup::Absent,
            Some((Some(root), rest)) => self.constraints.below(&root, rest),
        }
    }

    /// Assumes that a value is at a path, or that none is; `false` if the state contradicts it.
    pub(crate) fn assume_presence(&mut self, path: &KeyPath, is_present: bool) -> bool {
        match self.root(path) {
            None => is_present,
            Some((None, _)) => !is_present,
            Some((Some(root), rest)) if is_present => self.constraints.assume_present_below(&root, rest),
            Some((Some(root), rest)) => self.constraints.assume_absent_below(&root, rest),
        }
    }

    /// Returns the root value of a path, for its fingerprint.
    pub(crate) fn root_of<'k>(&self, path: &'k KeyPath) -> Option<(Option<SymValue>, &'k [Segment])> {
        self.root(path)
    }

    /// Sets the symbolic `sys.error` of a failure (language 4.2): a denial has no code and no data.
    pub(crate) fn fail(&mut self, on: &Outcome) {
        let kinds: &[&str] = match on {
            Outcome::Timeout => &["timeout"],
            Outcome::Denied => &["denied"],
            _ => &["error", "schema"],
        };
        let mut entries: BTreeMap<Key, SymValue> = ["tool", "node"].map(|name| (Key::from(name), self.constraints.fresh_text())).into();
        entries.insert("message".into(), self.constraints.text());
        entries.insert("kind".into(), self.constraints.one_of(kinds));
        if *on != Outcome::Denied {
            entries.insert("code".into(), self.constraints.fresh_optional(&[]));
            entries.insert("data".into(), self.constraints.fresh_optional(&[]));
        }
        self.failure = Some(SymValue::Map(Rc::new(entries)));
    }

    /// Ends a rollback, and sets `sys.rollback` (language 7.7).
    pub(crate) fn roll_back(&mut self) {
        let of = self.constraints.types(external::rollback);
        self.rollback = Some(self.constraints.of_type(of, false));
    }

    /// Replaces the value at a path by one without constraints.
    pub(crate) fn havoc(&mut self, path: &KeyPath) {
        Rc::make_mut(&mut self.havocked).insert(path.clone());
        let anything = self.constraints.havoc();
        match (&**path.root(), path.rest().first()) {
            ("input", _) => self.input = Some(anything),
            ("tool_result", _) => self.result = Some(anything),
            ("sys", Some(Segment::Key(key))) if &**key == "ans" => self.ans = Some(anything),
            ("sys", Some(Segment::Key(key))) if &**key == "error" => self.error = Some(anything),
            ("sys", _) => self.roll_back(),
            (root, _) => {
                let context = Rc::make_mut(&mut self.context);
                if !self.constraints.write(context, path, anything.clone()) {
                    context.insert(root.into(), anything);
                }
            }
        }
    }

    /// Returns the names that are set, also those inside of mappings.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = ["ans", "error", "session", "node", "step"].map(|name| format!("sys.{name}")).to_vec();
        self.context.iter().for_each(|(key, sym)| self.constraints.names(key, sym, &mut names));
        names
    }

    /// Assumes that a test of a template holds; `false` if the state contradicts it.
    pub(crate) fn meets(&mut self, test: &GuardedTest) -> bool {
        match test {
            GuardedTest::Opaque => false,
            GuardedTest::Set(path, yes) => self.assume_presence(path, *yes),
            GuardedTest::Truthy(path, yes) => match self.lookup(path) {
                Lookup::Absent => !yes,
                Lookup::Present(sym) => self.constraints.assume_truth(&sym, *yes),
                // An absent value is not true either.
                Lookup::MaybePresent(sym) if !yes => self.constraints.assume_truth(&sym, false) || self.assume_presence(path, false),
                Lookup::MaybePresent(sym) => self.assume_presence(path, true) && self.constraints.assume_truth(&sym, true),
            },
            GuardedTest::Is(path, yes, value) => {
                let operand = Operand { root: Root::Context, path: path.clone() };
                let guard = Guard::Is(operand, *yes, value.clone());
                match self.lookup(path) {
                    Lookup::Absent => !yes,
                    Lookup::Present(sym) => self.constraints.assume(&guard, &sym, true),
                    Lookup::MaybePresent(sym) if !yes => self.constraints.assume(&guard, &sym, true) || self.assume_presence(path, false),
                    Lookup::MaybePresent(sym) => self.assume_presence(path, true) && self.constraints.assume(&guard, &sym, true),
                }
            }
        }
    }

    /// Assumes that a guard evaluates to `truth`; `false` if the state contradicts it.
    pub(crate) fn assume(&mut self, guard: &Guard, truth: bool, answers: &mut BTreeMap<u32, bool>) -> bool {
        let path = match guard {
            Guard::Always => return truth,
            Guard::Attempts(_) => return true,
            Guard::Predicate(index, wanted) => return *answers.entry(*index).or_insert(*wanted == truth) == (*wanted == truth),
            Guard::Set(operand, wanted) => return self.assume_presence(&operand.path, *wanted == truth),
            Guard::Is(operand, ..) | Guard::In(operand, ..) | Guard::Truth(operand, _) | Guard::Empty(operand, _) => &operand.path,
        };
        // An absent value is empty; no other guard holds for it (language 6.1).
        let absent = matches!(guard, Guard::Empty(_, wanted) if *wanted == truth);
        let sym = match self.lookup(path) {
            Lookup::Absent => return absent,
            Lookup::Present(sym) => sym,
            Lookup::MaybePresent(sym) if absent => return self.constraints.assume(guard, &sym, truth) || self.assume_presence(path, false),
            Lookup::MaybePresent(sym) if self.assume_presence(path, true) => sym,
            Lookup::MaybePresent(_) => return false,
        };
        self.constraints.assume(guard, &sym, truth) && self.constraints.decide(guard, &sym) != if truth { Truth::No } else { Truth::Yes }
    }

    /// Returns the arguments of a call, with the one that the node's body fills, or `None` if the call has none.
    pub(crate) fn arguments(&mut self, call: &Call) -> Option<SymValue> {
        let written = call.args.as_ref().map(|args| self.evaluate(args));
        let Some(body) = &call.body else { return written? };
        match written.unwrap_or_else(|| Some(SymValue::Map(Rc::default())))? {
            SymValue::Map(mut entries) => {
                Rc::make_mut(&mut entries).insert(body.clone(), self.constraints.fresh_text());
                Some(SymValue::Map(entries))
            }
            other => Some(other),
        }
    }

    /// Evaluates a shape; `None` if it leaves its key out.
    pub(crate) fn evaluate(&mut self, shape: &Shape) -> Option<SymValue> {
        match shape {
            Shape::Literal(value) => Some(SymValue::Known(value.clone())),
            Shape::Map(entries) => {
                let mut parts = BTreeMap::new();
                for (key, shape) in entries {
                    if let Some(sym) = self.evaluate(&shape.value) {
                        parts.insert(key.value.clone(), sym);
                    }
                }
                Some(SymValue::Map(Rc::new(parts)))
            }
            Shape::Expression(expression) => match expression.path() {
                Some((path, optional)) => match self.lookup(path) {
                    Lookup::Present(sym) => Some(self.constraints.copied(&sym)),
                    Lookup::MaybePresent(sym) if optional => Some(self.constraints.copied(&sym)),
                    Lookup::MaybePresent(sym) => self.assume_presence(path, true).then(|| self.constraints.copied(&sym)),
                    Lookup::Absent => None,
                },
                None => Some(self.make(expression)),
            },
            Shape::Text(_) => Some(self.constraints.fresh_text()),
            Shape::List(items) => {
                let items = items.iter().filter_map(|item| self.evaluate(&item.value)).collect();
                Some(self.constraints.list(items))
            }
        }
    }
}

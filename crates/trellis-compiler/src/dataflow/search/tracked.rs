//! Tracked paths and state keys: the abstraction of the visited set.
//!
//! Two states with the same [`StateKey`] are one for the search. A key covers the point, the counted visits, whether values were havocked, and the
//! fingerprint of the values at the tracked paths. Values at other paths may differ between two states of one key: where a condition contradicts
//! them, they are havocked and the path continues, so that a state represents all states of its key.

use std::{
    collections::BTreeSet,
    hash::{DefaultHasher, Hash, Hasher},
};

use super::{SearchInput, state::SymState};
use crate::dataflow::{fixpoint::violation::Violation, ir::Instr, symbolic::Fingerprinter};
use trellis_base::{
    path::{KeyPath, Segment},
    template::{GuardedTest, Shape},
    value::{Key, Mapping, Value},
};
use trellis_engine::program::{Guard, PredicateSource, WriteTarget};

/// A 128-bit hash of the parts that distinguish states.
///
/// A collision would drop a state, and so could refute an alarm wrongly. Among a hundred thousand states its probability is below 2⁻⁹⁰.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct StateKey([u64; 2]);

impl StateKey {
    fn of(identity: &impl Hash) -> Self {
        Self([0_u8, 1].map(|half| {
            let mut hasher = DefaultHasher::new();
            hasher.write_u8(half);
            identity.hash(&mut hasher);
            hasher.finish()
        }))
    }
}

impl SearchInput<'_, '_> {
    /// Returns the paths that the first round tracks: those of the violation, and those of the conditions that decide whether it is met.
    pub(super) fn initially_tracked(&self) -> BTreeSet<KeyPath> {
        let mut asked: BTreeSet<KeyPath> = self.subjects().into_iter().collect();
        match self.alarm.violation {
            Violation::Missing(site) | Violation::Truth(site) | Violation::Operand(site) => {
                let tests = self.ir.sites[site.index()].when();
                asked.extend(tests.iter().filter_map(GuardedTest::path).cloned());
                asked.extend(self.ir.sites[site.index()].guard().into_iter().flat_map(|guard| self.asked_by(guard)));
            }
            Violation::NoMatch(on) => {
                let edges = self.program.edges_of(&self.program.replies[on.index()]);
                asked.extend(edges.iter().flat_map(|edge| self.asked_by(&edge.when)));
            }
            _ => {}
        }
        asked
    }

    /// Returns the paths that the violation is about.
    pub(super) fn subjects(&self) -> Vec<KeyPath> {
        match self.alarm.violation {
            Violation::Missing(site) | Violation::Truth(site) | Violation::Operand(site) => {
                let site = &self.ir.sites[site.index()];
                site.calculation().map_or_else(|| vec![site.path.clone()], |calculation| calculation.paths.to_vec())
            }
            Violation::NoMatch(_) => Vec::new(),
            Violation::Unfit(op) | Violation::Fails(op) | Violation::Write(op) | Violation::Args(op) => match &self.ir.ops[op.index()] {
                Instr::Fit { node, index, .. } => {
                    self.program.node(*node).entry.types.get(*index as usize).and_then(|(key, _)| key_path(key)).into_iter().collect()
                }
                Instr::Assert { guard, .. } => self.asked_by(guard),
                Instr::Write { write, .. } => match &write.to {
                    WriteTarget::Path(path) | WriteTarget::Append(path) => vec![path.clone()],
                    _ => Vec::new(),
                },
                Instr::Args { call } => {
                    let mut paths = Vec::new();
                    call.args.iter().for_each(|args| args.each_use(&mut |used| paths.push(used.path.clone())));
                    call.args.iter().for_each(|args| each_path(args, &mut |path, _| paths.push(path.clone())));
                    paths
                }
                Instr::Read(_) | Instr::Ask { .. } | Instr::Undo { .. } => Vec::new(),
            },
        }
    }

    /// Returns the paths that decide a guard; of a schema predicate, the keys that its schema names (language 6.2).
    pub(super) fn asked_by(&self, guard: &Guard) -> Vec<KeyPath> {
        if let Some(operand) = guard.operand() {
            return vec![operand.path.clone()];
        }
        let Guard::Predicate(index, _) = guard else { return Vec::new() };
        let PredicateSource::Schema(schema) = &self.program.predicates()[*index as usize].source else { return Vec::new() };
        let map = schema.source().as_map();
        let named = map.and_then(|map| map.get("properties")).and_then(Value::as_map).into_iter().flat_map(Mapping::keys).cloned();
        let required = map.and_then(|map| map.get("required")).and_then(Value::as_list).into_iter().flatten();
        let required = required.filter_map(Value::as_str).map(Key::from);
        let keys: BTreeSet<Key> = named.chain(required).collect();
        keys.into_iter().filter_map(|key| KeyPath::new(vec![Segment::Key(key)])).collect()
    }

    /// Returns the key of a state, with these paths tracked.
    pub(super) fn state_key(&self, state: &SymState, asked: &BTreeSet<KeyPath>) -> StateKey {
        let mut sketcher = Fingerprinter::new(&state.constraints);
        for path in asked {
            if let Some((root, rest)) = state.root_of(path) {
                sketcher.path(root.as_ref(), rest);
            }
        }
        let known = sketcher.done(state.context.iter().filter(|(key, _)| self.reads.contains(*key)));
        StateKey::of(&(state.point, state.havocked.is_empty(), &state.visits, known))
    }
}

/// Calls `see` with every path that a shape takes a value from, and whether the shape may leave its key out.
pub(crate) fn each_path(shape: &Shape, see: &mut impl FnMut(&KeyPath, bool)) {
    match shape {
        Shape::Expression(expression) => {
            if let Some((path, optional)) = expression.path() {
                see(path, optional);
            }
            expression.term().each_path(&mut |path| see(path, false));
        }
        Shape::List(items) => items.iter().for_each(|item| each_path(&item.value, see)),
        Shape::Map(entries) => entries.iter().for_each(|(_, shape)| each_path(&shape.value, see)),
        Shape::Literal(_) | Shape::Text(_) => {}
    }
}

/// Returns the path of a key.
pub(crate) fn key_path(key: &Key) -> Option<KeyPath> {
    KeyPath::new(vec![Segment::Key(key.clone())])
}

//! Interned operands of type operations: sub-paths, guards and element paths. Equal operands have equal ids, which are the keys of the memo
//! tables.

use std::{
    hash::{Hash, Hasher},
    sync::Arc,
};

use rustc_hash::{FxHashMap, FxHasher};

use super::{
    TypeId, TypeTable,
    hash_consing::{is_same_value, of_value},
};
use crate::dataflow::index::to_u32;
use trellis_base::{path::Segment, template::ElementStep, value::Value};
use trellis_engine::program::Guard;

/// Interned segments of a path below its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SubPathId(u32);

impl SubPathId {
    /// The empty path: the key itself.
    pub(crate) const NONE: Self = Self(0);
}

/// Interned guard without its operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct GuardId(u32);

/// Interned steps from a value into its elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ElementPathId(u32);

impl ElementPathId {
    /// No steps: the value itself.
    pub(crate) const NONE: Self = Self(0);
}

/// Tables of interned operands.
#[derive(Clone, Debug)]
pub(crate) struct OperandTable {
    rests: Vec<Arc<[Segment]>>,
    by_segments: FxHashMap<Arc<[Segment]>, SubPathId>,
    insides: Vec<Arc<[ElementStep]>>,
    guards: Vec<Arc<Guard>>,
    by_hash: FxHashMap<u64, Vec<GuardId>>,
}

impl Default for OperandTable {
    fn default() -> Self {
        Self {
            rests: vec![Arc::default()],
            by_segments: FxHashMap::default(),
            insides: vec![Arc::default()],
            guards: Vec::new(),
            by_hash: FxHashMap::default(),
        }
    }
}

impl OperandTable {
    pub(crate) fn rest(&self, rest: SubPathId) -> Arc<[Segment]> {
        Arc::clone(&self.rests[rest.0 as usize])
    }

    pub(crate) fn guard(&self, guard_id: GuardId) -> Arc<Guard> {
        Arc::clone(&self.guards[guard_id.0 as usize])
    }
}

impl TypeTable {
    /// Interns the segments of a path below its key.
    pub(crate) fn rest(&mut self, segments: &[Segment]) -> SubPathId {
        if segments.is_empty() {
            return SubPathId::NONE;
        }
        let questions = &mut self.questions;
        if let Some(known) = questions.by_segments.get(segments) {
            return *known;
        }
        let rest = SubPathId(to_u32(questions.rests.len()));
        let segments: Arc<[Segment]> = segments.into();
        questions.rests.push(Arc::clone(&segments));
        questions.by_segments.insert(segments, rest);
        rest
    }

    /// Interns steps from a value into its elements.
    pub(crate) fn steps(&mut self, steps: &[ElementStep]) -> ElementPathId {
        let insides = &mut self.questions.insides;
        let at = insides.iter().position(|known| **known == *steps).unwrap_or_else(|| {
            insides.push(steps.into());
            insides.len() - 1
        });
        ElementPathId(to_u32(at))
    }

    /// Returns the type of the elements that interned steps reach from a value.
    pub(crate) fn element_type(&mut self, id: TypeId, inside: ElementPathId) -> TypeId {
        if inside == ElementPathId::NONE {
            return id;
        }
        let steps = Arc::clone(&self.questions.insides[inside.0 as usize]);
        self.inside(id, &steps)
    }

    /// Interns a guard, without its operand.
    pub(crate) fn intern_guard(&mut self, guard: &Guard) -> GuardId {
        let mut hasher = FxHasher::default();
        std::mem::discriminant(guard).hash(&mut hasher);
        let (yes, values) = asked(guard);
        (yes, values.len()).hash(&mut hasher);
        values.iter().for_each(|value| of_value(value, &mut hasher));
        let questions = &mut self.questions;
        let alike = questions.by_hash.entry(hasher.finish()).or_default();
        if let Some(known) = alike.iter().find(|known| is_same(&questions.guards[known.0 as usize], guard)) {
            return *known;
        }
        let guard_id = GuardId(to_u32(questions.guards.len()));
        questions.guards.push(Arc::new(guard.clone()));
        alike.push(guard_id);
        guard_id
    }

    /// Returns an interned guard, with the operand that it was first interned with.
    pub(crate) fn guard(&self, guard_id: GuardId) -> &Guard {
        &self.questions.guards[guard_id.0 as usize]
    }

    /// Returns the number of types, operands and schemas: a measure of memory.
    pub(crate) fn size(&self) -> usize {
        self.types.len() + self.questions.rests.len() + self.questions.guards.len() + self.questions.insides.len() + self.contracts.count()
    }
}

fn asked(guard: &Guard) -> (bool, &[Value]) {
    match guard {
        Guard::Is(_, yes, value) => (*yes, std::slice::from_ref(value)),
        Guard::In(_, yes, values) => (*yes, values),
        Guard::Truth(_, yes) | Guard::Set(_, yes) | Guard::Empty(_, yes) => (*yes, &[]),
        Guard::Always | Guard::Predicate(..) | Guard::Attempts(_) => (true, &[]),
    }
}

/// Returns true if two guards differ at most in their operand. All guards of a variant without a value are equal.
fn is_same(a: &Guard, b: &Guard) -> bool {
    let ((a_yes, a_values), (b_yes, b_values)) = (asked(a), asked(b));
    std::mem::discriminant(a) == std::mem::discriminant(b)
        && a_yes == b_yes
        && a_values.len() == b_values.len()
        && a_values.iter().zip(b_values).all(|(a, b)| is_same_value(a, b))
}

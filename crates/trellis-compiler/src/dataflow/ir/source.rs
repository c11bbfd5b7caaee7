//! Expressions whose values are written, returned or passed to calls, interned.

use rustc_hash::FxHashMap;

use super::keys::InternedPath;
use crate::dataflow::{domain::TypeId, index::to_u32};
use trellis_base::value::Key;

/// Index of an expression in [`SourceTable`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SourceId(u32);

/// Expression over paths and constants, as far as its type can be computed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum SourceExpr {
    /// Input, or result of the call, that the node receives.
    Brought,
    /// Result of this branch of the call that the node makes; absent if the branch did not succeed.
    Branch(Key),
    /// Expression of a type that does not depend on the environment.
    Known(TypeId),
    /// Value at a path; `true` if it may be absent.
    Path(InternedPath, bool),
    List(Box<[SourceId]>),
    Map(Box<[(Key, SourceId)]>),
    /// Number computed from these; `true` if the operator maps integers to integers.
    Number(Box<[SourceId]>, bool),
    Sum(SourceId, SourceId),
    Product(SourceId, SourceId),
    /// First operand if it is present, else the second; `true` if a falsy first one counts as absent.
    Default(SourceId, SourceId, bool),
    Either(SourceId, SourceId),
    /// Operand that must be present: rendering fails if it is absent.
    There(SourceId),
}

/// Interned expressions: equal ones have one id.
#[derive(Debug, Default)]
pub(crate) struct SourceTable {
    made: Vec<SourceExpr>,
    known: FxHashMap<SourceExpr, SourceId>,
}

impl SourceTable {
    pub(crate) fn put(&mut self, made: SourceExpr) -> SourceId {
        if let Some(known) = self.known.get(&made) {
            return *known;
        }
        let source = SourceId(to_u32(self.made.len()));
        self.made.push(made.clone());
        self.known.insert(made, source);
        source
    }

    pub(crate) fn get(&self, source: SourceId) -> &SourceExpr {
        &self.made[source.0 as usize]
    }

    pub(crate) fn len(&self) -> usize {
        self.made.len()
    }
}

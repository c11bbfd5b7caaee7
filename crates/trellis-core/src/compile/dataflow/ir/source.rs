//! What writes put at their places, and what calls are given.

use rustc_hash::FxHashMap;

use super::interned::InternedPath;
use crate::{
    compile::dataflow::{domain::TypeId, index::to_u32},
    value::Key,
};

/// One of [`Sources`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SourceId(u32);

/// What it is made of.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum SourceExpr {
    /// What the node gets from outside.
    Brought,
    /// The same at all times.
    Known(TypeId),
    /// What stands at a path; `true`: or nothing.
    Path(InternedPath, bool),
    List(Box<[SourceId]>),
    Map(Box<[(Key, SourceId)]>),
    /// A number made of these; `true`: by an operator that keeps integers.
    Number(Box<[SourceId]>, bool),
    Sum(SourceId, SourceId),
    Product(SourceId, SourceId),
    /// The first where it is there, else the second; `true`: also where the first counts as false.
    Default(SourceId, SourceId, bool),
    Either(SourceId, SourceId),
    /// Something that fails where nothing is there.
    There(SourceId),
}

/// Everything that is written somewhere, each once.
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

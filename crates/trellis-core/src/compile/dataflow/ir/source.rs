//! What writes put at their places, and what calls are given.

use rustc_hash::FxHashMap;

use super::interned::Path;
use crate::{compile::dataflow::domain::TypeId, value::Key};

/// One of [`Sources`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Source(u32);

/// What it is made of.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Made {
    /// What the node gets from outside.
    Brought,
    /// The same at all times.
    Known(TypeId),
    /// What stands at a path; `true`: or nothing.
    Path(Path, bool),
    List(Box<[Source]>),
    Map(Box<[(Key, Source)]>),
    /// A number made of these; `true`: by an operator that keeps integers.
    Number(Box<[Source]>, bool),
    Sum(Source, Source),
    Product(Source, Source),
    /// The first where it is there, else the second; `true`: also where the first counts as false.
    Default(Source, Source, bool),
    Either(Source, Source),
    /// Something that fails where nothing is there.
    There(Source),
}

/// Everything that is written somewhere, each once.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    made: Vec<Made>,
    known: FxHashMap<Made, Source>,
}

impl Sources {
    pub(crate) fn put(&mut self, made: Made) -> Source {
        if let Some(known) = self.known.get(&made) {
            return *known;
        }
        let source = Source(u32::try_from(self.made.len()).unwrap_or(u32::MAX));
        self.made.push(made.clone());
        self.known.insert(made, source);
        source
    }

    pub(crate) fn get(&self, source: Source) -> &Made {
        &self.made[source.0 as usize]
    }

    pub(crate) fn len(&self) -> usize {
        self.made.len()
    }
}

//! Indices into the tables of the analysis, which store them in 32 bits.

pub(crate) use trellis_base::index::to_u32;

/// The index of a read site: in [`Ir::sites`](super::ir::Ir::sites), or from the first of its point where the program is not at hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SiteIndex(pub(crate) u32);

impl SiteIndex {
    /// Returns the place in the list of sites.
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }

    /// Returns the index that counts from `first`, of one that counts from the first site of its point.
    pub(crate) fn after(self, first: Self) -> Self {
        Self(first.0 + self.0)
    }
}

/// The index of an instruction: in [`Ir::ops`](super::ir::Ir::ops), or from the first of its point where the program is not at hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct OpIndex(pub(crate) u32);

impl OpIndex {
    /// Returns the place in the list of instructions.
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }

    /// Returns the index that counts from `first`, of one that counts from the first instruction of its point.
    pub(crate) fn after(self, first: Self) -> Self {
        Self(first.0 + self.0)
    }
}

/// The index of a reply in [`Program::replies`](trellis_engine::program::Program::replies).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ReplyIndex(pub(crate) u32);

impl ReplyIndex {
    /// Returns the index that counts from `first`, of one that counts from the first reply of its point.
    pub(crate) fn after(self, first: Self) -> Self {
        Self(first.0 + self.0)
    }

    /// Returns the place in [`Program::replies`](trellis_engine::program::Program::replies).
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// The index of an edge in [`Program::edges`](trellis_engine::program::Program::edges).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct EdgeIndex(pub(crate) u32);

impl EdgeIndex {
    /// Returns the index that counts from `first`, of one that counts from the first edge of its point.
    pub(crate) fn after(self, first: Self) -> Self {
        Self(first.0 + self.0)
    }

    /// Returns the place in [`Program::edges`](trellis_engine::program::Program::edges).
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

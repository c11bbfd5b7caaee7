//! What can go wrong at a point because of data, by the place in the script where it would.

use crate::{
    compile::dataflow::{domain::TypeId, index::ReplyIndex, ir::FirstIndices},
    program::PointIndex,
};

/// What goes wrong, and where: sites and operations are those of the script.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Violation {
    /// A site reads something that is not there.
    Missing(u32),
    /// A site takes for a truth what is none (language 6.1).
    Truth(u32),
    /// A site calculates with what is no number, or loops over what has no items.
    Operand(u32),
    /// A key does not fit its `context_schema`.
    Unfit(u32),
    /// An `assert` does not hold.
    Fails(u32),
    /// A write finds something that is no mapping, or no list (language 4.1).
    Write(u32),
    /// Arguments do not fit what the tool takes.
    Args(u32),
    /// A reply has no way on.
    NoMatch(ReplyIndex),
}

/// Something that may go wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Alarm {
    pub(crate) point: PointIndex,
    pub(crate) violation: Violation,
    /// Whether it goes wrong on every way.
    pub(crate) never: bool,
    /// What can be there where it goes wrong.
    pub(crate) seen: TypeId,
}

impl Violation {
    /// The same in numbers of the script, where those of a point begin with these.
    pub(crate) fn of_point(self, FirstIndices { op, site }: FirstIndices, reply: u32) -> Self {
        match self {
            Self::Missing(at) => Self::Missing(at + site),
            Self::Truth(at) => Self::Truth(at + site),
            Self::Operand(at) => Self::Operand(at + site),
            Self::Unfit(at) => Self::Unfit(at + op),
            Self::Fails(at) => Self::Fails(at + op),
            Self::Write(at) => Self::Write(at + op),
            Self::Args(at) => Self::Args(at + op),
            Self::NoMatch(at) => Self::NoMatch(ReplyIndex(at.0 + reply)),
        }
    }
}

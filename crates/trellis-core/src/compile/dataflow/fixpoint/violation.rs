//! Violations of data rules, and alarms: violations that the fixpoint could not rule out.

use crate::{
    compile::dataflow::{domain::TypeId, index::ReplyIndex, ir::FirstIndices},
    program::PointIndex,
};

/// Violation and its place: the index of a site, an instruction or a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Violation {
    /// A site reads an absent path.
    Missing(u32),
    /// A site uses a value as a truth value that is none (language 6.1).
    Truth(u32),
    /// A site calculates with a value of a wrong kind, or iterates over one without items.
    Operand(u32),
    /// A key violates its `context_schema`.
    Unfit(u32),
    /// An `assert` fails.
    Fails(u32),
    /// A write meets a value that is no mapping, or no list (language 4.1).
    Write(u32),
    /// Arguments violate the parameters of their tool.
    Args(u32),
    /// No edge of a reply holds.
    NoMatch(ReplyIndex),
}

/// Alarm: a violation that may happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Alarm {
    pub(crate) point: PointIndex,
    pub(crate) violation: Violation,
    /// True if it happens on every path to the point.
    pub(crate) never: bool,
    /// Type of the value that causes it.
    pub(crate) seen: TypeId,
}

impl Violation {
    /// Returns the violation counted over the whole program, given the first instruction and site, and the first reply, of its point.
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

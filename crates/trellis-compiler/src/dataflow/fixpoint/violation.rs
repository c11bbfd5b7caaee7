//! Violations of data rules, and alarms: violations that the fixpoint could not rule out.

use crate::dataflow::{
    domain::TypeId,
    index::{OpIndex, ReplyIndex, SiteIndex},
    ir::FirstIndices,
};
use trellis_engine::program::PointIndex;

/// Violation and its place: the index of a site, an instruction or a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Violation {
    /// A site reads an absent path.
    Missing(SiteIndex),
    /// A site uses a value as a truth value that is none (language 6.1).
    Truth(SiteIndex),
    /// A site calculates with a value of a wrong kind, or iterates over one without items.
    Operand(SiteIndex),
    /// A key violates its `context_schema`.
    Unfit(OpIndex),
    /// An `assert` fails.
    Fails(OpIndex),
    /// A write meets a value that is no mapping, or no list (language 4.1).
    Write(OpIndex),
    /// Arguments violate the parameters of their tool.
    Args(OpIndex),
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
    pub(crate) fn of_point(self, FirstIndices { op, site }: FirstIndices, reply: ReplyIndex) -> Self {
        match self {
            Self::Missing(at) => Self::Missing(at.after(site)),
            Self::Truth(at) => Self::Truth(at.after(site)),
            Self::Operand(at) => Self::Operand(at.after(site)),
            Self::Unfit(at) => Self::Unfit(at.after(op)),
            Self::Fails(at) => Self::Fails(at.after(op)),
            Self::Write(at) => Self::Write(at.after(op)),
            Self::Args(at) => Self::Args(at.after(op)),
            Self::NoMatch(at) => Self::NoMatch(at.after(reply)),
        }
    }
}

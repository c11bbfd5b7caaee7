//! The IR with interned operands, detached from the program.
//!
//! Names, guards, schemas, expressions and types are numbers, so two points with equal operations have equal transfer functions: from equal
//! environments they compute equal environments, independent of the source text and its place. The incremental analysis decides by this
//! comparison whether an edit needs any work.
//!
//! **Invariant:** operations and reads of a point have the order of the instructions and sites of [`PointIr`](super::PointIr).
//!
//! **Example.** Rewording a question changes no operation, so the edited point is executed once, to renew its diagnostics, and no other is.

mod guard_set;

use std::ops::Range;

pub(crate) use self::guard_set::{GuardSetId, GuardSetTable};
use super::{
    arithmetic::ArithmeticId,
    keys::{InternedPath, KeyId},
    source::SourceId,
};
use crate::dataflow::{
    domain::{ElementPathId, GuardId, SchemaId, TypeId, TypeTable, external},
    index::{EdgeIndex, OpIndex, ReplyIndex, SiteIndex},
};
use trellis_base::{language::OnBranchError, template::Demand, value::Key};
use trellis_engine::program::{Call, Callee, NodeIndex, PointIndex};

/// A range of a point's own marks or steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct OpRange(pub(in crate::dataflow) u32, pub(in crate::dataflow) u32);

impl OpRange {
    pub(crate) fn of(range: &Range<u32>) -> Self {
        Self(range.start, range.end)
    }

    pub(crate) fn iter(self) -> Range<u32> {
        self.0..self.1
    }
}

/// One operation. A [`SiteIndex`], and a number in `reads`, is the place of a [`ReadOp`] among those of the point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    /// Reads a site.
    Read(SiteIndex),
    /// Writes a value, after it read its `reads`. `to` is `None` if the target is not followed.
    Write { to: Option<InternedPath>, how: WriteMode, source: SourceId, reads: OpRange },
    /// Checks a key against a schema, if it is present. `index` counts the node's list.
    Fit { name: KeyId, schema_id: SchemaId, index: u32 },
    /// Evaluates the condition of a part of the content; `read_op` is the read without which it cannot be evaluated.
    Ask { guard_id: GuardId, read_op: Option<SiteIndex>, path: Option<InternedPath> },
    /// Checks an `assert`.
    Assert { guard_id: GuardId, path: Option<InternedPath>, is_predicate: bool },
    /// Calls a tool or a child with arguments; `takes` is the schema of the arguments it accepts.
    Args { args: Option<SourceId>, child: Option<NodeIndex>, takes: Option<SchemaId> },
}

/// Effect of a write on the value before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriteMode {
    /// Replaces it.
    Set,
    /// Appends to it.
    Append,
    /// Writes only if it is absent.
    Default,
}

/// Interned site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReadOp {
    /// Path that is read; `None` if it is not followed.
    pub(crate) path: Option<InternedPath>,
    /// Steps from the path into the elements of its value.
    pub(crate) inside: ElementPathId,
    /// Kinds that the value must have; `None` if any will do.
    pub(crate) demand: Option<Demand>,
    /// True if every session that passes this place reads it.
    pub(crate) is_certain: bool,
    /// Guards of this read, as far as they are followed.
    pub(crate) tests: GuardSetId,
    /// True if a guard of this read is not followed.
    pub(crate) is_opaque: bool,
    /// True if the read continues below the tracked part of the path.
    pub(crate) is_deep: bool,
    /// Calculation that this read is; its operands must fit each other.
    pub(crate) calculated: Option<ArithmeticId>,
}

/// Value that a reply binds to `input` and `tool_result`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReplyInput {
    /// An input.
    Input,
    /// An option that is an outcome of its own, by the type of its value.
    Chosen(TypeId),
    /// The result of a call.
    Result,
    /// No value, and the node was not entered: `max_visits` is exhausted.
    Exhausted,
    /// No value.
    Nothing,
}

/// One reply: the value that it binds, its operations, and the branches that it tries in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReplyOps {
    pub(crate) input: ReplyInput,
    pub(crate) ops: OpRange,
    pub(crate) branches: OpRange,
}

/// One edge that a reply tries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Branch {
    /// Condition; `None` if the edge always holds.
    pub(crate) guard_id: Option<GuardId>,
    /// Operand of the condition, if it is followed.
    pub(crate) path: Option<InternedPath>,
    /// True if the condition compares a value, so that a constant result deserves a finding.
    pub(crate) compares: bool,
    pub(crate) reads: OpRange,
    pub(crate) to: BranchTarget,
    /// True if the edge is a default of the graph, which children of the same graph do not take (language 5.4).
    pub(crate) is_graph_wide: bool,
}

/// Target of a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BranchTarget {
    Point(PointIndex),
    /// The same point, which continues to wait.
    Again,
    /// Rollback of this graph.
    Rollback(u32),
    /// The end of the session. `is_own` if the author of a terminal wrote it, `returns` if a child returns its output there.
    End {
        is_own: bool,
        returns: bool,
    },
    /// No edge held.
    NoMatch,
}

/// Type of the input, or of the result, that a node receives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Incoming {
    Known(TypeId),
    /// Output of a child, met with all of these types.
    Child(NodeIndex, Box<[TypeId]>),
    /// Results of calls side by side.
    Parallel(Box<ParallelResults>),
}

/// Results of the branches of a `parallel`, among them those of children.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ParallelResults {
    pub(crate) branches: Box<[(Key, Incoming)]>,
    /// True if a branch may have no result, since one success is enough.
    pub(crate) any: bool,
    /// True if an error may take the place of each result.
    pub(crate) collects: bool,
    /// The types that the whole must have.
    pub(crate) fitting: Box<[TypeId]>,
}

impl Incoming {
    /// Returns the successful result of a call.
    pub(crate) fn of_call(types: &mut TypeTable, call: &Call) -> Self {
        let mut fitting = || call.returns.iter().map(|schema| types.declared(schema)).collect();
        match &call.callee {
            Callee::Graph(child) => Self::Child(*child, fitting()),
            Callee::Parallel(branches, how) => {
                let fitting = fitting();
                let branches = branches.iter().map(|(name, branch)| (name.clone(), Self::of_call(types, branch))).collect();
                let collects = how.on_error != OnBranchError::Fail;
                Self::Parallel(Box::new(ParallelResults { branches, any: how.any, collects, fitting }))
            }
            Callee::Tool(_) | Callee::Each(..) => Self::Known(external::returned(types, call)),
        }
    }
}

/// Operations of one point, as ranges of the tables.
#[derive(Clone, Debug)]
pub(crate) struct PointOps {
    pub(crate) ops: Range<u32>,
    pub(crate) reads: Range<u32>,
    pub(crate) replies: Range<u32>,
    pub(crate) branches: Range<u32>,
    pub(crate) tracked_keys: Range<u32>,
    pub(crate) entering: OpRange,
    pub(crate) ending: OpRange,
    pub(crate) incoming: Incoming,
    /// Output of a child that ends here; `None` if the node is no terminal.
    pub(crate) output: Option<SourceId>,
    /// True if the node has `max_visits`, so that the engine counts its entries.
    pub(crate) counts: bool,
}

/// Operations of all points. An edit appends new ones and leaves the old ones unused.
#[derive(Debug, Default)]
pub(crate) struct OpTable {
    points: Vec<PointOps>,
    pub(crate) ops: Vec<Op>,
    pub(crate) reads: Vec<ReadOp>,
    pub(crate) replies: Vec<ReplyOps>,
    pub(crate) branches: Vec<Branch>,
    /// Keys that each point reads, with repetition.
    pub(crate) tracked_keys: Vec<KeyId>,
    /// Number of entries that no point refers to any more.
    unused: usize,
}

impl OpTable {
    pub(crate) fn point_ops(&self, point: PointIndex) -> &PointOps {
        &self.points[point.0 as usize]
    }

    pub(crate) fn points(&self) -> impl Iterator<Item = PointIndex> + use<> {
        (0..self.points.len()).map(PointIndex::from_usize)
    }

    pub(crate) fn op(&self, point_ops: &PointOps, at: OpIndex) -> Op {
        self.ops[at.after(OpIndex(point_ops.ops.start)).index()]
    }

    pub(crate) fn read_op(&self, point_ops: &PointOps, at: SiteIndex) -> ReadOp {
        self.reads[at.after(SiteIndex(point_ops.reads.start)).index()]
    }

    pub(crate) fn replies(&self, point_ops: &PointOps) -> Range<u32> {
        0..point_ops.replies.end - point_ops.replies.start
    }

    pub(crate) fn reply(&self, point_ops: &PointOps, at: ReplyIndex) -> ReplyOps {
        self.replies[at.after(ReplyIndex(point_ops.replies.start)).index()]
    }

    pub(crate) fn branch(&self, point_ops: &PointOps, at: EdgeIndex) -> Branch {
        self.branches[at.after(EdgeIndex(point_ops.branches.start)).index()]
    }

    /// Returns the keys that a point reads, with repetition.
    pub(crate) fn tracked_keys(&self, point_ops: &PointOps) -> &[KeyId] {
        &self.tracked_keys[range(&point_ops.tracked_keys)]
    }

    /// Returns the keys that a point reads, writes or checks against a schema.
    pub(crate) fn names(&self, point_ops: &PointOps) -> impl Iterator<Item = KeyId> {
        let written = self.ops(point_ops).iter().filter_map(|op| match op {
            Op::Write { to, .. } => to.map(|to| to.name),
            Op::Fit { name, .. } => Some(*name),
            Op::Read(_) | Op::Ask { .. } | Op::Assert { .. } | Op::Args { .. } => None,
        });
        self.tracked_keys(point_ops).iter().copied().chain(written)
    }

    /// Returns the keys that the conditions of a point's edges test.
    pub(crate) fn tested_keys(&self, point_ops: &PointOps) -> impl Iterator<Item = KeyId> {
        self.branches[range(&point_ops.branches)].iter().filter_map(|branch| branch.path.map(|path| path.name))
    }

    pub(crate) fn ops(&self, point_ops: &PointOps) -> &[Op] {
        &self.ops[range(&point_ops.ops)]
    }

    /// Reserves memory for the replies and branches of a program.
    pub(crate) fn expect(&mut self, replies: usize, branches: usize) {
        self.replies.reserve(replies);
        self.branches.reserve(branches);
    }

    /// Reserves memory for `more` points that resemble the `read` ones.
    pub(crate) fn expect_more(&mut self, read: usize, more: usize) {
        let like = |read_steps: usize| (read_steps * more).div_ceil(read.max(1)) * 17 / 16;
        self.ops.reserve(like(self.ops.len()));
        self.reads.reserve(like(self.reads.len()));
        self.tracked_keys.reserve(like(self.tracked_keys.len()));
    }

    /// Installs the operations of all points, in their order.
    pub(crate) fn set_points(&mut self, points: Vec<PointOps>) {
        self.points = points;
    }

    /// Replaces the operations of a point.
    pub(crate) fn replace(&mut self, point: PointIndex, point_ops: PointOps) {
        let old = std::mem::replace(&mut self.points[point.0 as usize], point_ops);
        self.unused += old.ops.len() + old.branches.len();
    }

    /// Returns true if unused entries dominate, so that a new table is worth building.
    pub(crate) fn is_worn(&self) -> bool {
        self.unused > self.ops.len() / 2 + 1_000
    }

    /// Returns true if two points have equal operations and reads.
    pub(crate) fn are_alike(&self, a: &PointOps, b: &PointOps) -> bool {
        self.is_same_but_for_reads(a, b) && self.ops(a) == self.ops(b) && self.reads[range(&a.reads)] == self.reads[range(&b.reads)]
    }

    /// Returns true if two points differ at most in their reads on entering, replying and ending, outside of writes and edges.
    pub(crate) fn is_same_but_for_reads(&self, a: &PointOps, b: &PointOps) -> bool {
        let happens = |point_ops: &PointOps, span: OpRange| {
            let ops = self.ops(point_ops)[span.0 as usize..span.1 as usize].iter();
            ops.filter(|op| !matches!(op, Op::Read(_) | Op::Ask { .. })).map(|op| self.plain(point_ops, *op)).collect::<Vec<_>>()
        };
        let reads = |point_ops: &PointOps, span: OpRange| self.reads[range(&point_ops.reads)][span.0 as usize..span.1 as usize].to_vec();
        let replies = |point_ops: &PointOps| {
            let replies = self.replies[range(&point_ops.replies)].iter();
            replies.map(|reply| (reply.input, reply.branches, happens(point_ops, reply.ops))).collect::<Vec<_>>()
        };
        let branches = |point_ops: &PointOps| {
            let branches = self.branches[range(&point_ops.branches)].iter();
            branches.map(|branch| (Branch { reads: OpRange::default(), ..*branch }, reads(point_ops, branch.reads))).collect::<Vec<_>>()
        };
        a.incoming == b.incoming
            && a.output == b.output
            && a.counts == b.counts
            && happens(a, a.entering) == happens(b, b.entering)
            && happens(a, a.ending) == happens(b, b.ending)
            && replies(a) == replies(b)
            && branches(a) == branches(b)
    }

    /// Returns true if two points have the same targets, and both return an output or neither does.
    pub(crate) fn lead_alike(&self, a: &PointOps, b: &PointOps) -> bool {
        let leads = |point_ops: &PointOps| {
            self.branches[range(&point_ops.branches)].iter().map(|branch| (branch.to, branch.is_graph_wide)).collect::<Vec<_>>()
        };
        a.output.is_some() == b.output.is_some() && leads(a) == leads(b)
    }

    /// Returns true if two points call the same children, in the same order.
    pub(crate) fn call_alike(&self, a: &PointOps, b: &PointOps) -> bool {
        let calls = |point_ops| self.ops(point_ops).iter().filter_map(|op| if let Op::Args { child, .. } = op { *child } else { None });
        calls(a).eq(calls(b))
    }

    /// Returns an operation with the reads of a write by content instead of by index.
    fn plain(&self, point_ops: &PointOps, op: Op) -> (Op, Vec<ReadOp>) {
        match op {
            Op::Write { to, how, source, reads } => {
                let reads = self.reads[range(&point_ops.reads)][reads.0 as usize..reads.1 as usize].to_vec();
                (Op::Write { to, how, source, reads: OpRange::default() }, reads)
            }
            op => (op, Vec::new()),
        }
    }

    /// Returns true if the transfer function of a point depends on whether one of these keys is followed: the point reads, writes or checks
    /// it, or calls a child.
    pub(crate) fn depends_on(&self, point_ops: &PointOps, names: &[KeyId]) -> bool {
        let is_one = |name: &KeyId| names.contains(name);
        self.tracked_keys(point_ops).iter().any(is_one)
            || self.ops(point_ops).iter().any(|op| match op {
                Op::Write { to, .. } => to.is_some_and(|to| is_one(&to.name)),
                Op::Fit { name, .. } => is_one(name),
                Op::Args { child, .. } => child.is_some(),
                Op::Read(_) | Op::Ask { .. } | Op::Assert { .. } => false,
            })
    }
}

fn range(of: &Range<u32>) -> Range<usize> {
    of.start as usize..of.end as usize
}

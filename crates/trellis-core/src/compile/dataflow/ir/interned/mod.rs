//! What happens at each point as the analysis needs it: small steps over names and numbers, without the program.
//!
//! Read off the script passage by passage. Two passages with equal steps come to the same from the same facts, whatever their author wrote and
//! wherever it stands; so after an edit the steps say whether anything has to be worked out anew.
//!
//! **Invariant:** steps and marks of a point stand in the order of the script's operations and sites.

mod tests;

use std::ops::Range;

pub(crate) use self::tests::{GuardSetId, GuardSetTable};
use super::keys::KeyId;
pub(crate) use super::{
    arithmetic::{ArithmeticId, ArithmeticTable, choices},
    intern::Interner,
    source::{SourceExpr, SourceId, SourceTable},
};
use crate::{
    compile::dataflow::domain::{ElementPathId, GuardId, SchemaId, SubPathId, TypeId},
    program::{NodeIndex, PointIndex},
    template::Demand,
};

/// A path as it is followed: the key and what stands below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct InternedPath {
    pub(crate) name: KeyId,
    pub(crate) rest: SubPathId,
}

/// A range of a point's own marks or steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct OpRange(pub(in crate::compile::dataflow) u32, pub(in crate::compile::dataflow) u32);

impl OpRange {
    pub(crate) fn of(range: &Range<u32>) -> Self {
        Self(range.start, range.end)
    }

    pub(crate) fn iter(self) -> Range<u32> {
        self.0..self.1
    }
}

/// One thing that happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    /// A mark is read.
    Read(u32),
    /// Something is written, after what it reads. Nothing follows what has no path.
    Write { to: Option<InternedPath>, how: WriteMode, source: SourceId, reads: OpRange },
    /// A key, where it is there, must fit; and its place in the node's list.
    Fit { name: KeyId, schema_id: SchemaId, index: u32 },
    /// A condition is asked; a mark is read for it.
    Ask { guard_id: GuardId, mark: Option<u32>, path: Option<InternedPath> },
    /// A condition must hold.
    Assert { guard_id: GuardId, path: Option<InternedPath>, is_predicate: bool },
    /// A tool, or a child, is called with arguments; and what the tool takes.
    Args { args: Option<SourceId>, child: Option<NodeIndex>, takes: Option<SchemaId> },
}

/// How something is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriteMode {
    Set,
    Append,
    /// Only where nothing is.
    Default,
}

/// A place where something is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReadOp {
    /// Nothing for what the engine always knows.
    pub(crate) path: Option<InternedPath>,
    /// Where it leads from there into what the path holds.
    pub(crate) inside: ElementPathId,
    pub(crate) demand: Option<Demand>,
    /// Whether it is met on every way past its place.
    pub(crate) is_certain: bool,
    /// What decides about it, as far as that is followed.
    pub(crate) tests: GuardSetId,
    /// Whether something decides about it that is not followed.
    pub(crate) is_opaque: bool,
    /// Whether it goes on below the path into the unknown.
    pub(crate) is_deep: bool,
    /// The calculation that it is, whose parts have to go together.
    pub(crate) calculated: Option<ArithmeticId>,
}

/// What a reply gives to its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReplyInput {
    /// An input.
    Input,
    /// An option that is an outcome of its own, by its type.
    Chosen(TypeId),
    /// The result of a call.
    Result,
    /// Nothing, and nothing was entered.
    Exhausted,
    /// Nothing.
    Nothing,
}

/// One reply: what it gives, what happens, and between what it chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReplyOps {
    pub(crate) given: ReplyInput,
    pub(crate) steps: OpRange,
    pub(crate) choices: OpRange,
}

/// One way that a reply may choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Branch {
    /// Nothing for what always holds.
    pub(crate) guard_id: Option<GuardId>,
    /// What it asks about, if that is followed.
    pub(crate) path: Option<InternedPath>,
    /// Whether it compares something: where that is the same at all times, it may be meant otherwise.
    pub(crate) compares: bool,
    pub(crate) marks: OpRange,
    pub(crate) to: BranchTarget,
    /// Whether a session that is a child can go there: of the graph-wide keys none applies to it (language 5.4).
    pub(crate) is_for_children: bool,
}

/// Where a choice leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BranchTarget {
    Point(PointIndex),
    /// The same point.
    Again,
    /// Of this graph.
    Rollback(u32),
    /// The end: a terminal's own, and whether it returns something.
    End {
        is_own: bool,
        returns: bool,
    },
    /// Nothing else led on.
    NoMatch,
}

/// What a node gets from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Incoming {
    Known(TypeId),
    /// What a child returns, as far as it fits all of these.
    Child(NodeIndex, Box<[TypeId]>),
}

/// One point: ranges of all steps.
#[derive(Clone, Debug)]
pub(crate) struct PointOps {
    pub(crate) steps: Range<u32>,
    pub(crate) marks: Range<u32>,
    pub(crate) answers: Range<u32>,
    pub(crate) choices: Range<u32>,
    pub(crate) follows: Range<u32>,
    pub(crate) entering: OpRange,
    pub(crate) ending: OpRange,
    pub(crate) brought: Incoming,
    /// What a child that ends here returns; nothing where none does.
    pub(crate) output: Option<SourceId>,
    /// Whether the engine counts how often the node is entered.
    pub(crate) counts: bool,
}

/// Steps of most points.
const EXPECTED_OPS_PER_POINT: usize = 6;

/// All steps, by point.
#[derive(Debug, Default)]
pub(crate) struct OpTable {
    seats: Vec<PointOps>,
    pub(crate) steps: Vec<Op>,
    pub(crate) marks: Vec<ReadOp>,
    pub(crate) answers: Vec<ReplyOps>,
    pub(crate) choices: Vec<Branch>,
    /// The keys that each point reads, as often as it does.
    pub(crate) follows: Vec<KeyId>,
    /// Steps that are no point's any more.
    lost: usize,
}

impl OpTable {
    pub(crate) fn point_ops(&self, point: PointIndex) -> &PointOps {
        &self.seats[point.0 as usize]
    }

    pub(crate) fn points(&self) -> impl Iterator<Item = PointIndex> + use<> {
        (0..self.seats.len()).map(PointIndex::from_usize)
    }

    pub(crate) fn step(&self, point_ops: &PointOps, at: u32) -> Op {
        self.steps[(point_ops.steps.start + at) as usize]
    }

    pub(crate) fn mark(&self, point_ops: &PointOps, at: u32) -> ReadOp {
        self.marks[(point_ops.marks.start + at) as usize]
    }

    pub(crate) fn answers(&self, point_ops: &PointOps) -> Range<u32> {
        0..point_ops.answers.end - point_ops.answers.start
    }

    pub(crate) fn answer(&self, point_ops: &PointOps, at: u32) -> ReplyOps {
        self.answers[(point_ops.answers.start + at) as usize]
    }

    pub(crate) fn choice(&self, point_ops: &PointOps, at: u32) -> Branch {
        self.choices[(point_ops.choices.start + at) as usize]
    }

    /// The keys that a point reads.
    pub(crate) fn follows(&self, point_ops: &PointOps) -> &[KeyId] {
        &self.follows[range(&point_ops.follows)]
    }

    /// The keys that a point reads, writes or holds to something.
    pub(crate) fn names(&self, point_ops: &PointOps) -> impl Iterator<Item = KeyId> {
        let written = self.steps(point_ops).iter().filter_map(|step| match step {
            Op::Write { to, .. } => to.map(|to| to.name),
            Op::Fit { name, .. } => Some(*name),
            Op::Read(_) | Op::Ask { .. } | Op::Assert { .. } | Op::Args { .. } => None,
        });
        self.follows(point_ops).iter().copied().chain(written)
    }

    /// The keys that decide which way leads on from a point.
    pub(crate) fn asked(&self, point_ops: &PointOps) -> impl Iterator<Item = KeyId> {
        self.choices[range(&point_ops.choices)].iter().filter_map(|choice| choice.path.map(|path| path.name))
    }

    pub(crate) fn steps(&self, point_ops: &PointOps) -> &[Op] {
        &self.steps[range(&point_ops.steps)]
    }

    /// Makes room for the steps of a program: moving them again and again would cost more than reading them.
    pub(crate) fn expect(&mut self, points: usize, replies: usize, choices: usize) {
        self.answers.reserve(replies);
        self.choices.reserve(choices);
        self.steps.reserve(points * EXPECTED_OPS_PER_POINT);
        self.marks.reserve(points * EXPECTED_OPS_PER_POINT);
        self.follows.reserve(points * EXPECTED_OPS_PER_POINT);
    }

    /// The points, in their order.
    pub(crate) fn seat_all(&mut self, seats: Vec<PointOps>) {
        self.seats = seats;
    }

    /// Puts what was read in the place of what a point was before.
    pub(crate) fn replace(&mut self, point: PointIndex, point_ops: PointOps) {
        let old = std::mem::replace(&mut self.seats[point.0 as usize], point_ops);
        self.lost += old.steps.len() + old.choices.len();
    }

    /// Whether most of it is lost.
    pub(crate) fn is_worn(&self) -> bool {
        self.lost > self.steps.len() / 2 + 1_000
    }

    /// Whether the same happens at two points.
    pub(crate) fn are_alike(&self, a: &PointOps, b: &PointOps) -> bool {
        self.is_same_but_for_reads(a, b) && self.steps(a) == self.steps(b) && self.marks[range(&a.marks)] == self.marks[range(&b.marks)]
    }

    /// Whether two points differ in nothing but what they read on entering or ending.
    pub(crate) fn is_same_but_for_reads(&self, a: &PointOps, b: &PointOps) -> bool {
        let happens = |point_ops: &PointOps, span: OpRange| {
            let steps = self.steps(point_ops)[span.0 as usize..span.1 as usize].iter();
            steps.filter(|step| !matches!(step, Op::Read(_) | Op::Ask { .. })).map(|step| self.plain(point_ops, *step)).collect::<Vec<_>>()
        };
        let marks = |point_ops: &PointOps, span: OpRange| self.marks[range(&point_ops.marks)][span.0 as usize..span.1 as usize].to_vec();
        let answers = |point_ops: &PointOps| {
            let answers = self.answers[range(&point_ops.answers)].iter();
            answers.map(|answer| (answer.given, answer.choices, happens(point_ops, answer.steps))).collect::<Vec<_>>()
        };
        let choices = |point_ops: &PointOps| {
            let choices = self.choices[range(&point_ops.choices)].iter();
            choices.map(|choice| (Branch { marks: OpRange::default(), ..*choice }, marks(point_ops, choice.marks))).collect::<Vec<_>>()
        };
        a.brought == b.brought
            && a.output == b.output
            && a.counts == b.counts
            && happens(a, a.entering) == happens(b, b.entering)
            && happens(a, a.ending) == happens(b, b.ending)
            && answers(a) == answers(b)
            && choices(a) == choices(b)
    }

    /// Whether two points lead to the same ones, and return alike.
    pub(crate) fn lead_alike(&self, a: &PointOps, b: &PointOps) -> bool {
        let leads = |point_ops: &PointOps| {
            self.choices[range(&point_ops.choices)].iter().map(|choice| (choice.to, choice.is_for_children)).collect::<Vec<_>>()
        };
        a.output.is_some() == b.output.is_some() && leads(a) == leads(b)
    }

    /// Whether two points call the same children.
    pub(crate) fn call_alike(&self, a: &PointOps, b: &PointOps) -> bool {
        let calls =
            |point_ops| self.steps(point_ops).iter().filter_map(|step| if let Op::Args { child, .. } = step { *child } else { None });
        calls(a).eq(calls(b))
    }

    /// A step with what it reads instead of where that stands.
    fn plain(&self, point_ops: &PointOps, step: Op) -> (Op, Vec<ReadOp>) {
        match step {
            Op::Write { to, how, source, reads } => {
                let marks = self.marks[range(&point_ops.marks)][reads.0 as usize..reads.1 as usize].to_vec();
                (Op::Write { to, how, source, reads: OpRange::default() }, marks)
            }
            step => (step, Vec::new()),
        }
    }

    /// The keys that a point writes, fits or begins a child with: what happens there depends on whether they are followed.
    pub(crate) fn depends_on(&self, point_ops: &PointOps, names: &[KeyId]) -> bool {
        let is_one = |name: &KeyId| names.contains(name);
        self.follows(point_ops).iter().any(is_one)
            || self.steps(point_ops).iter().any(|step| match step {
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

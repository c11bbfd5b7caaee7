//! Tables of the interned IR: keys, expressions, operations, calculations, guards.

use std::collections::BTreeMap;

use super::{
    PointIr,
    intern::Interner,
    interned::{ArithmeticTable, GuardSetTable, Op, OpTable, PointOps, SourceTable, WriteMode},
    keys::{KeyId, KeyTable},
};
use crate::{
    compile::dataflow::domain::{GuardId, SchemaId, TypeId, TypeTable, external},
    path::{KeyPath, Segment},
    program::{Guard, NodeIndex, Operand, PointIndex, Program, Root},
};

/// Number of points that are read before the memory of all of them is estimated.
const SAMPLE: usize = 512;

/// Tables that the operations of a graph refer to. They outlive the program that they were read from.
#[derive(Debug)]
pub(crate) struct IrTables {
    pub(crate) keys: KeyTable,
    pub(crate) sources: SourceTable,
    pub(crate) steps: OpTable,
    pub(crate) calculations: ArithmeticTable,
    pub(crate) tests: GuardSetTable,
    /// Type of `sys.error`.
    pub(crate) error: TypeId,
    /// Schema of the arguments that each child accepts, by its node.
    pub(crate) taken: BTreeMap<NodeIndex, Option<SchemaId>>,
    /// Guard `is set`, which is true of every present value.
    pub(crate) is_set: GuardId,
}

impl IrTables {
    pub(crate) fn new(types: &mut TypeTable) -> Self {
        let error = external::error(types);
        let path = KeyPath::new(vec![Segment::Key("input".into())]).unwrap_or_else(|| unreachable!("`input` is a path"));
        let is_set = types.intern_guard(&Guard::Set(Operand { root: Root::Input, path }, true));
        let (sources, steps, calculations) = (SourceTable::default(), OpTable::default(), ArithmeticTable::default());
        let tests = GuardSetTable::default();
        Self { keys: KeyTable::new(), sources, steps, calculations, tests, error, taken: BTreeMap::new(), is_set }
    }

    /// Interns all points of a program.
    pub(crate) fn read(&mut self, program: &Program, types: &mut TypeTable) {
        self.steps.expect(program.replies.len(), program.edges.len());
        let mut reader = Interner { passage: PointIr::new(program), types, tables: self };
        let count = program.points.len();
        let points = 0..u32::try_from(count).unwrap_or(u32::MAX);
        let mut seats: Vec<PointOps> = Vec::with_capacity(count);
        for point in points {
            if seats.len() == SAMPLE {
                reader.tables.steps.expect_more(SAMPLE, count - SAMPLE);
            }
            seats.push(reader.read(PointIndex(point)));
        }
        for point_ops in &seats {
            self.count(point_ops, &mut Vec::new());
        }
        self.steps.seat_all(seats);
        self.keys.make_room();
    }

    /// Retains the keys that a point reads and has defaults for. Appends to `turned` those that no point read before.
    pub(crate) fn count(&mut self, point_ops: &PointOps, turned: &mut Vec<KeyId>) {
        turned.extend(self.steps.follows(point_ops).iter().filter(|name| self.keys.retain(**name)));
        defaults(&self.steps, point_ops).for_each(|name| self.keys.defaults(name, true));
    }

    /// Releases the keys that a point reads and has defaults for. Appends to `turned` those that no point reads any more.
    pub(crate) fn discount(&mut self, point_ops: &PointOps, turned: &mut Vec<KeyId>) {
        turned.extend(self.steps.follows(point_ops).iter().filter(|name| self.keys.release(**name)));
        defaults(&self.steps, point_ops).for_each(|name| self.keys.defaults(name, false));
    }
}

fn defaults(steps: &OpTable, point_ops: &PointOps) -> impl Iterator<Item = KeyId> {
    steps.steps(point_ops).iter().filter_map(|step| match step {
        Op::Write { to, how: WriteMode::Default, .. } => to.map(|to| to.name),
        _ => None,
    })
}

//! What the analysis of a graph speaks of: its keys, what is written, and the steps of its points.

use std::collections::BTreeMap;

use super::{
    PointIr,
    intern::Interner,
    interned::{ArithmeticTable, GuardSetTable, Op, OpTable, PointOps, SourceTable, WriteMode},
    keys::{KeyId, KeyTable},
};
use crate::{
    compile::dataflow::{
        domain::{GuardId, SchemaId, TypeId, TypeTable, external},
        index::to_u32,
    },
    path::{KeyPath, Segment},
    program::{Guard, NodeIndex, Operand, PointIndex, Program, Root},
};

/// Keys, sources and steps; they outlive the program that they were read from.
#[derive(Debug)]
pub(crate) struct IrTables {
    pub(crate) keys: KeyTable,
    pub(crate) sources: SourceTable,
    pub(crate) steps: OpTable,
    pub(crate) calculations: ArithmeticTable,
    pub(crate) tests: GuardSetTable,
    /// `sys.error`.
    pub(crate) error: TypeId,
    /// What children take, by their nodes.
    pub(crate) taken: BTreeMap<NodeIndex, Option<SchemaId>>,
    /// Whether something is there.
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

    /// Reads all points.
    pub(crate) fn read(&mut self, program: &Program, types: &mut TypeTable) {
        self.steps.expect(program.points.len(), program.replies.len(), program.edges.len());
        let mut reader = Interner { passage: PointIr::new(program), types, tables: self };
        let points = 0..to_u32(program.points.len());
        let seats: Vec<PointOps> = points.map(|point| reader.read(PointIndex(point))).collect();
        for point_ops in &seats {
            self.count(point_ops, &mut Vec::new());
        }
        self.steps.seat_all(seats);
        self.keys.make_room();
    }

    /// Notes which keys a point reads and has defaults for; adds those that nothing read before.
    pub(crate) fn count(&mut self, point_ops: &PointOps, turned: &mut Vec<KeyId>) {
        turned.extend(self.steps.follows(point_ops).iter().filter(|name| self.keys.retain(**name)));
        defaults(&self.steps, point_ops).for_each(|name| self.keys.defaults(name, true));
    }

    /// Takes that back; adds those that nothing reads any more.
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

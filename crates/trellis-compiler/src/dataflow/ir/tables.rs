//! Tables of the interned IR: keys, expressions, operations, calculations, guards.

use std::collections::BTreeMap;

use super::{
    arithmetic::ArithmeticTable,
    interned::{GuardSetTable, Op, OpTable, PointOps, WriteMode},
    keys::{KeyId, KeyTable},
    source::SourceTable,
};
use crate::dataflow::domain::{GuardId, SchemaId, TypeId, TypeTable, external};
use trellis_base::path::{KeyPath, Segment};
use trellis_engine::program::{Guard, NodeIndex, Operand, Root};

/// Tables that the operations of a graph refer to. They outlive the program that they were read from.
#[derive(Debug)]
pub(crate) struct IrTables {
    pub(crate) keys: KeyTable,
    pub(crate) sources: SourceTable,
    pub(crate) ops: OpTable,
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
        let (sources, ops, calculations) = (SourceTable::default(), OpTable::default(), ArithmeticTable::default());
        let tests = GuardSetTable::default();
        Self { keys: KeyTable::new(), sources, ops, calculations, tests, error, taken: BTreeMap::new(), is_set }
    }

    /// Notes which keys a point reads and has defaults for; adds those that nothing read before.
    pub(crate) fn count(&mut self, point_ops: &PointOps, turned: &mut Vec<KeyId>) {
        turned.extend(self.ops.tracked_keys(point_ops).iter().filter(|name| self.keys.retain(**name)));
        defaults(&self.ops, point_ops).for_each(|name| self.keys.defaults(name, true));
    }

    /// Releases the keys that a point reads and has defaults for. Appends to `turned` those that no point reads any more.
    pub(crate) fn discount(&mut self, point_ops: &PointOps, turned: &mut Vec<KeyId>) {
        turned.extend(self.ops.tracked_keys(point_ops).iter().filter(|name| self.keys.release(**name)));
        defaults(&self.ops, point_ops).for_each(|name| self.keys.defaults(name, false));
    }
}

fn defaults(ops: &OpTable, point_ops: &PointOps) -> impl Iterator<Item = KeyId> {
    ops.ops(point_ops).iter().filter_map(|op| match op {
        Op::Write { to, how: WriteMode::Default, .. } => to.map(|to| to.name),
        _ => None,
    })
}

//! Transfer functions of operations, and the alarms that they raise.
//!
//! Each operation maps an environment to the one that sessions have if they pass it. If the claimed part of a type includes a value with
//! which the operation fails, it raises an alarm; if an unknown part is used, it notes an unchecked read. Alarms are path-insensitive: they
//! see the environment of the point and nothing else.
//!
//! **Soundness.** Assignments are strong updates, since a key is one location. A value that may be absent is written as a weak update: the
//! old type is joined. A failed check refines as if it had held, because no session continues after a failure.
//!
//! **Example.** `Read(name)` with `name: {absent, text}` raises `Missing` and leaves `name: text`.

use super::*;
use crate::dataflow::index::{OpIndex, SiteIndex};
use trellis_base::template::KindSet;

/// The sorts whose items a filter may fail on.
const CONTAINERS: KindSet = KindSet::LIST.or(KindSet::MAPPING);

/// A write of an abstract value: what is written, how, and where.
#[derive(Clone, Copy)]
struct AbstractWrite {
    how: WriteMode,
    source: SourceId,
    slot: Slot,
    rest: SubPathId,
}

impl Analysis<'_, '_> {
    /// Executes operations on `env`. Returns false if no session gets past them.
    pub(crate) fn transfer(&mut self, point_ops: &PointOps, env: &mut Env, ops: OpRange, now: &mut PointResult) -> bool {
        for at in ops.iter().map(OpIndex) {
            match self.tables.ops.op(point_ops, at) {
                Op::Read(read_op) => self.read(point_ops, env, read_op, None, now),
                Op::Ask { guard_id, read_op, .. } => {
                    read_op.into_iter().for_each(|read_op| self.read(point_ops, env, read_op, Some(guard_id), now));
                }
                Op::Write { to, how, source, reads } => {
                    let to = to.and_then(|to| Some((self.slot(to)?, to.rest)));
                    if how == WriteMode::Default {
                        let known = to.map(|(slot, _)| env.get(slot, &mut self.types));
                        if known.is_some_and(|known| !self.types.may_be_absent(known) && !self.types.get(known).dynamic) {
                            continue;
                        }
                        // A default is evaluated only if the key is absent, so its reads refine a copy.
                        let mut after = env.clone();
                        reads.iter().map(SiteIndex).for_each(|read_op| self.read(point_ops, &mut after, read_op, None, now));
                    } else {
                        reads.iter().map(SiteIndex).for_each(|read_op| self.read(point_ops, env, read_op, None, now));
                    }
                    if let Some((slot, rest)) = to
                        && !self.write(point_ops, at, env, AbstractWrite { how, source, slot, rest }, now)
                    {
                        return false;
                    }
                }
                Op::Fit { name, schema_id, .. } => {
                    let Some(slot) = self.tables.keys.slot(name) else { continue };
                    let known = env.get(slot, &mut self.types);
                    if self.types.may_violate(known, schema_id, true) {
                        now.suspect(Violation::Unfit(at), false, known);
                    }
                    if self.is_unknown(known) || self.types.is_unsure_of(known, schema_id) {
                        now.notes.push(Observation::UnknownOp(at));
                    }
                    let declared = self.types.agreed(schema_id);
                    let of = self.types.get(known);
                    let may_be_absent = of.absent || of.dynamic;
                    let there = self.types.present(known);
                    let mut left = if there == TypeId::NEVER { there } else { self.types.meet(there, declared) };
                    if may_be_absent {
                        left = self.types.join(left, TypeId::ABSENT);
                    }
                    env.set(slot, if left == TypeId::NEVER { declared } else { left }, &mut self.types);
                }
                Op::Assert { guard_id, path, is_predicate } => {
                    if is_predicate {
                        now.notes.push(Observation::UnknownOp(at));
                    }
                    let Some((slot, rest)) = path.and_then(|path| Some((self.slot(path)?, path.rest))) else { continue };
                    let known = self.below(env, slot, rest);
                    if self.is_unknown(known) {
                        now.notes.push(Observation::UnknownOp(at));
                    }
                    let known = self.types.without_unknown(known);
                    if known != TypeId::NEVER && self.types.refine(known, SubPathId::NONE, guard_id, false) != TypeId::NEVER {
                        now.suspect(Violation::Fails(at), false, known);
                    }
                    let whole = env.get(slot, &mut self.types);
                    let left = self.types.refine(whole, rest, guard_id, true);
                    if left != TypeId::NEVER {
                        env.set(slot, left, &mut self.types);
                    }
                }
                Op::Args { args, child, takes } => {
                    let given = args.map_or(TypeId::NEVER, |args| self.source(point_ops, env, args));
                    if let (Some(takes), Some(_)) = (takes, args)
                        && self.types.may_violate(given, takes, false)
                    {
                        now.suspect(Violation::Args(at), false, given);
                    }
                    if let Some(child) = child {
                        let node = self.program.node(child);
                        let entry = node.gate.unwrap_or(node.body);
                        now.notes.push(Observation::Called { entry, args: given });
                        let begins = self.begin_child(node, given);
                        now.onward.push((entry, begins));
                    }
                }
            }
        }
        true
    }

    /// Executes a read; `asked` is the guard that reads, if a condition does.
    pub(crate) fn read(&mut self, point_ops: &PointOps, env: &mut Env, at: SiteIndex, asked: Option<GuardId>, now: &mut PointResult) {
        let read_op = self.tables.ops.read_op(point_ops, at);
        if let Some(calculated) = read_op.calculated {
            return self.calculate(env, at, calculated, now);
        }
        let Some((slot, rest)) = read_op.path.and_then(|path| Some((self.slot(path)?, path.rest))) else {
            if read_op.is_deep {
                now.notes.push(Observation::UnknownSite(at, Unknown::Presence));
            }
            return;
        };
        let mut known = self.below(env, slot, rest);
        if read_op.tests != GuardSetId::NONE && self.types.may_lack(known) {
            let Some(tested) = self.tested(env, read_op.tests) else { return };
            known = self.below(&tested, slot, rest);
        }
        let known = self.types.element_type(known, read_op.inside);
        let of = self.types.get(known);
        let (is_absent, any, open) = (of.absent, of.unknown, of.dynamic);
        let is_there = !is_absent && !open;
        if is_there && asked.is_none() && read_op.demand.is_none() && !read_op.is_deep {
            return;
        }
        let guard = asked.map(|guard_id| self.types.guard(guard_id));
        let is_typed = matches!(guard, Some(Guard::Truth(..)));
        let is_no_truth = guard.is_some_and(|guard| self.types.may_fail(known, guard));
        let is_unsure = read_op.demand.is_some_and(|demand| !self.types.meets(known, demand));
        if is_unsure && read_op.demand.is_some_and(|demand| self.types.may_fall_short(known, demand)) {
            now.suspect(Violation::Operand(at), false, known);
        }
        let never = is_absent && !self.types.may_be_there(known);
        if never || (is_absent && !read_op.is_opaque) {
            now.suspect(Violation::Missing(at), never, known);
        }
        if is_no_truth {
            now.suspect(Violation::Truth(at), false, known);
        }
        if read_op.is_deep || open || (read_op.is_opaque && is_absent) || (is_typed && any) || is_unsure {
            let unknown = match is_there && !read_op.is_deep {
                true if any => Unknown::Kind,
                true if self.types.sorts(known).meet(CONTAINERS) => Unknown::Items,
                true => Unknown::Use,
                false if read_op.inside != ElementPathId::NONE || is_there => Unknown::Part,
                false => Unknown::Presence,
            };
            now.notes.push(Observation::UnknownSite(at, unknown));
        }
        // After a certain read the path is present. If it never is, the analysis continues as if the mistake were corrected.
        if !is_there && read_op.is_certain && read_op.inside == ElementPathId::NONE {
            now.learned = true;
            self.be_set(env, slot, rest);
        }
    }

    /// The environment at a read that tests guard; `None` if it never happens.
    fn tested(&mut self, env: &Env, tests: GuardSetId) -> Option<Env> {
        let mut env = env.clone();
        for (path, guard_id, yes) in self.tables.tests.get(tests).to_vec() {
            let Some(slot) = self.slot(path) else { continue };
            let known = env.get(slot, &mut self.types);
            let left = self.types.refine(known, path.rest, guard_id, yes);
            if left == TypeId::NEVER {
                return None;
            }
            env.set(slot, left, &mut self.types);
        }
        Some(env)
    }

    /// Executes a calculation over the kinds of its operands.
    fn calculate(&mut self, env: &Env, at: SiteIndex, calculated: ArithmeticId, now: &mut PointResult) {
        let (mut sorts, mut seen, mut is_known) = (Vec::new(), TypeId::NEVER, true);
        for part in self.tables.calculations.parts(calculated).iter() {
            // An operand that is not followed is unknown.
            let known = part.and_then(|part| Some(self.below(env, self.slot(part)?, part.rest))).unwrap_or(TypeId::UNKNOWN);
            let of = self.types.get(known);
            is_known &= (!of.unknown || of.numeric) && !of.dynamic;
            let numeric = if of.numeric { KindSet::NUMBER } else { KindSet::NONE };
            let absent = if of.absent { KindSet::UNSET } else { KindSet::NONE }.or(numeric);
            sorts.push(self.types.sorts(known).or(absent));
            seen = if sorts.len() == 1 { known } else { seen };
        }
        let (fails, works) = self.tables.calculations.asked(calculated, &sorts);
        if fails {
            now.suspect(Violation::Operand(at), false, seen);
        }
        if !is_known || !works {
            let of_items = sorts.iter().any(|sort| sort.meet(CONTAINERS));
            let unknown = match is_known {
                false => Unknown::Operands,
                true if of_items => Unknown::Items,
                true => Unknown::Use,
            };
            now.notes.push(Observation::UnknownSite(at, unknown));
        }
    }

    /// Executes a write. Returns false if no session gets past it.
    fn write(
        &mut self,
        point_ops: &PointOps,
        at: OpIndex,
        env: &mut Env,
        AbstractWrite { how, source, slot, rest }: AbstractWrite,
        now: &mut PointResult,
    ) -> bool {
        let known = env.get(slot, &mut self.types);
        let source = self.source(point_ops, env, source);
        if self.is_unknown(known) && (rest != SubPathId::NONE || how == WriteMode::Append) {
            now.notes.push(Observation::UnknownOp(at));
        }
        let new = match how {
            WriteMode::Append => {
                let list = self.types.select(known, rest);
                let list = if self.types.get(list).dynamic { self.types.join(list, TypeId::ABSENT) } else { list };
                if self.types.may_be_no_list(list) || self.types.may_block(known, rest) {
                    now.suspect(Violation::Write(at), false, list);
                }
                let (may_not_come, source) = (self.types.may_be_absent(source), self.types.present(source));
                let list = if source == TypeId::NEVER { source } else { self.types.appended(list, source) };
                let written = if list == TypeId::NEVER { list } else { self.types.assign(known, rest, list) };
                // An absent source leaves the old value.
                if may_not_come { self.types.join(known, written) } else { written }
            }
            WriteMode::Default => {
                let present = self.types.present(known);
                self.types.join(present, source)
            }
            WriteMode::Set => {
                if self.types.may_block(known, rest) {
                    now.suspect(Violation::Write(at), false, known);
                }
                if self.types.may_be_absent(source) {
                    // An absent source leaves the old value.
                    let there = self.types.present(source);
                    let written = if there == TypeId::NEVER { there } else { self.types.assign(known, rest, there) };
                    self.types.join(known, written)
                } else {
                    self.types.assign(known, rest, source)
                }
            }
        };
        env.set(slot, new, &mut self.types);
        new != TypeId::NEVER
    }

    fn is_unknown(&self, of: TypeId) -> bool {
        let of = self.types.get(of);
        of.unknown || of.dynamic
    }
}

//! Execution of one point: entering it, each reply, and the choice among its edges.
//!
//! The edges of a reply are tried in order, as in the engine. With `e` the environment before an edge and `g` its guard, the target
//! receives `e` refined by `g`, and the next edge `e` refined by `¬g`. If that is bottom for the operand, no later edge is reached. The
//! last edge always holds, so every session takes one.
//!
//! **Example.** Edges `x == 1 → a`, `→ b` with `x: {1, 2}`: `a` gets `x: {1}`, `b` gets `x: {2}`.

use super::*;
use crate::{
    cfg,
    dataflow::index::{EdgeIndex, OpIndex, ReplyIndex, SiteIndex},
};

impl Analysis<'_, '_> {
    /// Executes a point on an environment. Returns its outgoing environments and observations.
    pub(crate) fn look(&mut self, point: PointIndex, point_ops: &PointOps, mut incoming: Env) -> PointResult {
        let mut now = PointResult::default();
        if self.tainted[point.index()] {
            let nothing = Env::open(self.tables.keys.room());
            cfg::neighbours(self.program, point, &mut |to| now.onward.push((to, nothing.clone())));
            return now;
        }
        self.count(point_ops, &mut incoming);
        let mut env = incoming.clone();
        let lives = self.enter(point_ops, &mut env, &mut now);
        for on in self.tables.ops.replies(point_ops).map(ReplyIndex) {
            let reply = self.tables.ops.reply(point_ops, on);
            let is_exhausted = reply.input == ReplyInput::Exhausted;
            if !lives && !is_exhausted {
                continue;
            }
            let mut env = if is_exhausted { incoming.clone() } else { env.clone() };
            self.bring(point_ops, reply.input, &mut env);
            if self.transfer(point_ops, &mut env, reply.ops, &mut now) {
                self.choose(point_ops, on, reply.branches, env, &mut now);
            }
        }
        now
    }

    /// Binds the input and the result that a reply brings.
    fn bring(&mut self, point_ops: &PointOps, input: ReplyInput, env: &mut Env) {
        let of = match input {
            ReplyInput::Input | ReplyInput::Result => self.answer(point_ops),
            ReplyInput::Chosen(of) => of,
            ReplyInput::Exhausted | ReplyInput::Nothing => return,
        };
        env.set(INPUT, of, &mut self.types);
        if input == ReplyInput::Result {
            env.set(RESULT, of, &mut self.types);
        }
    }

    /// Follows the writes of a reply, which counts from the first of its point. `see` gets the type of what each writes, in order. Returns the
    /// environment before the choice of an edge; `None` if no session gets there.
    pub(crate) fn reply_at(&mut self, point: PointIndex, on: u32, see: &mut dyn FnMut(WrittenType)) -> Option<Env> {
        let mut env = self.env_at(point)?;
        let point_ops = self.tables.ops.point_ops(point).clone();
        let reply = self.tables.ops.reply(&point_ops, ReplyIndex(on));
        self.bring(&point_ops, reply.input, &mut env);
        let mut now = PointResult::default();
        for at in reply.ops.0..reply.ops.1 {
            if let Op::Write { source, .. } = self.tables.ops.op(&point_ops, OpIndex(at)) {
                see(self.written_type(&point_ops, &env, source));
            }
            if !self.transfer(&point_ops, &mut env, OpRange(at, at + 1), &mut now) {
                return None;
            }
        }
        Some(env)
    }

    /// Enters a point: the environment becomes the one in which its replies come. Returns whether a session can wait there.
    pub(crate) fn enter(&mut self, point_ops: &PointOps, env: &mut Env, now: &mut PointResult) -> bool {
        let lives = self.transfer(point_ops, env, point_ops.entering, now);
        if lives {
            self.try_again(point_ops, env);
        }
        lives
    }

    /// Joins the `sys.error` that attempts leave which are tried again (language 7.4): every reply of the call may come after one.
    fn try_again(&mut self, point_ops: &PointOps, env: &mut Env) {
        let Some(slot) = self.tables.keys.slot_of("sys.error") else { return };
        for on in self.tables.ops.replies(point_ops).map(ReplyIndex) {
            let reply = self.tables.ops.reply(point_ops, on);
            let mut branches = reply.branches.iter().map(EdgeIndex);
            if !branches.any(|at| self.tables.ops.branch(point_ops, at).to == BranchTarget::Again) {
                continue;
            }
            let mut again = env.clone();
            if self.transfer(point_ops, &mut again, reply.ops, &mut PointResult::default()) {
                let (left, known) = (again.get(slot, &mut self.types), env.get(slot, &mut self.types));
                let either = self.types.join(known, left);
                env.set(slot, either, &mut self.types);
            }
        }
    }

    /// Sets `sys.visits`, which the engine counts on nodes with `max_visits`.
    pub(crate) fn count(&mut self, point_ops: &PointOps, env: &mut Env) {
        if let Some(slot) = self.tables.keys.slot_of(VISITS) {
            let counts = if point_ops.counts { self.types.integer() } else { TypeId::ABSENT };
            env.set(slot, counts, &mut self.types);
        }
    }

    /// Tries the edges of a reply in order, each with the environment that the ones before it left.
    fn choose(&mut self, point_ops: &PointOps, on: ReplyIndex, branches: OpRange, mut env: Env, now: &mut PointResult) {
        let before = env.clone();
        now.onward.reserve(branches.iter().len());
        for at in branches.iter().map(EdgeIndex) {
            let branch = self.tables.ops.branch(point_ops, at);
            if branch.to == BranchTarget::NoMatch {
                now.suspect(Violation::NoMatch(on), false, TypeId::NEVER);
                now.notes.push(Observation::Gap { on, env: before.clone() });
            }
            let Some(guard_id) = branch.guard_id else {
                self.follow(point_ops, branch.to, env, now);
                return;
            };
            let operand = branch.path.and_then(|path| Some((self.slot(path)?, path.rest)));
            if let (true, Some((slot, rest))) = (branch.compares, operand) {
                // Decided over the environment before the first edge, so that an earlier edge does not make a condition look as if it never
                // held.
                let whole = before.get(slot, &mut self.types);
                let known = self.types.select(whole, rest);
                let holds = self.types.refine(whole, rest, guard_id, true) != TypeId::NEVER;
                // With `in`, single values may be impossible although the condition can hold.
                let holds = holds && !matches!(self.types.guard(guard_id), Guard::In(_, true, _));
                now.ask(at, holds, known, &mut self.types);
            }
            for read_op in branch.reads.iter().map(SiteIndex) {
                self.read(point_ops, &mut env, read_op, Some(guard_id), now);
            }
            let Some((slot, rest)) = operand else {
                self.follow(point_ops, branch.to, env.clone(), now);
                continue;
            };
            let known = env.get(slot, &mut self.types);
            let taken = self.types.refine(known, rest, guard_id, true);
            let left = self.types.refine(known, rest, guard_id, false);
            if taken != TypeId::NEVER {
                let mut env = env.clone();
                env.set(slot, taken, &mut self.types);
                self.follow(point_ops, branch.to, env, now);
            }
            if left == TypeId::NEVER {
                return;
            }
            if left != known {
                env.set(slot, left, &mut self.types);
            }
        }
    }

    /// Passes an environment along an edge: to a point, to the targets of a rollback, or to the end of a child, whose output is joined.
    fn follow(&mut self, point_ops: &PointOps, to: BranchTarget, mut env: Env, now: &mut PointResult) {
        env.set(INPUT, TypeId::ABSENT, &mut self.types);
        env.set(RESULT, TypeId::ABSENT, &mut self.types);
        match to {
            BranchTarget::Point(to) => now.onward.push((to, env)),
            BranchTarget::Again | BranchTarget::NoMatch => {}
            BranchTarget::Rollback(graph) => {
                if let Some(slot) = self.tables.keys.slot_of("sys.rollback") {
                    let rollback = external::rollback(&mut self.types);
                    env.set(slot, rollback, &mut self.types);
                }
                now.onward.extend(self.program.after_rollback(graph).map(|to| (to, env)));
            }
            BranchTarget::End { is_own, returns } => {
                let span = if is_own { point_ops.ending } else { OpRange::default() };
                if self.transfer(point_ops, &mut env, span, now) && returns {
                    let output = point_ops.output.map_or(TypeId::NEVER, |output| self.source(point_ops, &env, output));
                    let output = self.types.present(output);
                    let known = now.returned.unwrap_or(TypeId::NEVER);
                    now.returned = Some(self.types.join(known, output));
                }
            }
        }
    }

    /// Refines a path to present, after a read that fails without it.
    pub(crate) fn be_set(&mut self, env: &mut Env, slot: Slot, rest: SubPathId) {
        let known = env.get(slot, &mut self.types);
        let is_set = self.tables.is_set;
        let left = self.types.refine(known, rest, is_set, true);
        env.set(slot, if left == TypeId::NEVER { TypeId::UNKNOWN } else { left }, &mut self.types);
    }
}

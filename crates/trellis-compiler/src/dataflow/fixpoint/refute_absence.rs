//! Refutation of a missing key by correlated keys.
//!
//! The fixpoint is not relational: after `if means == "phone" { number := … }` it knows both keys, but not that `number` is absent only if
//! `means` is not `"phone"`. This module recovers that relation for one alarm.
//!
//! **Algorithm.** A forward analysis under the assumption that the key stays absent: edges on which it is certainly present are cut, and
//! the type of one other key is tracked on the rest. The other keys are those that conditions near the goal test, nearest first. Each run
//! starts from the results of the earlier ones, so their relations accumulate. If the goal is unreachable in one run, the alarm is refuted.
//! At last the edges into the nearest point that tests something are tried one at a time.
//!
//! **State.** [`Left`]: the type of the tracked key at each point, `None` where it is unreachable under the assumption. **Termination.**
//! Types only grow, at most [`MAX_CORRELATED_KEYS`] keys are tracked, and every execution costs budget; without budget the answer is *may*.
//!
//! **Soundness.** A cut edge cannot be taken while the key is absent. The caller guarantees that nothing removes the key again, so a
//! session that arrives without it never had it.
//!
//! **Invariant:** if the result is that no session reaches the point without the key, then none does.
//!
//! **Example.** `close` branches on `means == "phone"` again and reads `number` there. Without `number`, `means` is `{"letter"}` at
//! `close`, the edge is bottom, and the alarm is refuted.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::*;
use crate::dataflow::budget::{Budget, Cost, MAX_ASKING_POINTS, MAX_CORRELATED_KEYS, MAX_POINTS_BEFORE_GOAL};

/// Result of one run: the type of the tracked key on entering each point; `None` if the point is unreachable under the assumption.
type Left = (Slot, Vec<Option<TypeId>>);

/// One run: `other` is tracked while `slot` is absent. `only` restricts the edges into one point to one edge.
struct AbsenceQuery {
    slot: Slot,
    other: Slot,
    only: Option<(u32, u32)>,
}

/// The results of the passes so far, and the points at which something happens to each key.
#[derive(Clone, Copy)]
struct Refuted<'l> {
    all: &'l [Left],
    touching: &'l FxHashMap<Slot, Vec<u32>>,
}

impl Analysis<'_, '_> {
    /// Returns false if no session reaches `goal` without the key. True if one may, and if the budget is spent.
    pub(crate) fn may_reach_without(&mut self, goal: PointIndex, slot: Slot, budget: &mut Budget) -> bool {
        // A child starts with an environment of its own.
        if !self.solved.children.is_empty() {
            return true;
        }
        let touching = self.touching.take().unwrap_or_else(|| self.touched_by());
        let mut all: Vec<Left> = Vec::new();
        let mut comes = true;
        for other in self.asked_before(goal, slot) {
            if !budget.charge(Cost::AbsencePass { points: self.solved.at.len() }) {
                break;
            }
            let is_touched = self.touched(&touching, [slot, other]);
            let Some(left) = self.left(AbsenceQuery { slot, other, only: None }, &all, &is_touched, budget) else { break };
            comes = left[goal.index()].is_some();
            if !comes {
                break;
            }
            all.push((other, left));
        }
        comes = comes && self.may_come_by_some_edge(goal, slot, Refuted { all: &all, touching: &touching }, budget);
        self.touching = Some(touching);
        comes
    }

    /// Repeats the test for each edge into the nearest point before the goal that tests something: each edge may be refuted by another key.
    fn may_come_by_some_edge(&mut self, goal: PointIndex, slot: Slot, Refuted { all, touching }: Refuted<'_>, budget: &mut Budget) -> bool {
        let Some(asking) = self.asking_before(goal) else { return true };
        let mut from: Vec<u32> = self.solved.edges.backward.of(asking).collect();
        from.sort_unstable();
        from.dedup();
        // A session that passes the point more than once may use several edges.
        let is_passed_once = self.solved.parts.of(asking).is_some_and(|part| self.solved.parts.members(part).len() == 1);
        if !is_passed_once || from.contains(&asking) || !(2..=MAX_CORRELATED_KEYS).contains(&from.len()) {
            return true;
        }
        from.into_iter().any(|from| {
            // Keys that are tested at the source of the edge are the most likely to be correlated.
            let asked = self.slots_asked(from).into_iter().chain(self.slots_asked(asking)).filter(|other| *other != slot);
            let asked: Vec<Slot> = asked.take(MAX_ASKING_POINTS).collect();
            !asked.into_iter().any(|other| {
                let is_touched = self.touched(touching, [slot, other]);
                let left = budget
                    .charge(Cost::AbsencePass { points: self.solved.at.len() })
                    .then(|| self.left(AbsenceQuery { slot, other, only: Some((from, asking)) }, all, &is_touched, budget))
                    .flatten();
                left.is_some_and(|left| left[goal.index()].is_none())
            })
        })
    }

    /// Returns the nearest point before the goal whose edges test something.
    fn asking_before(&self, goal: PointIndex) -> Option<u32> {
        let mut seen = vec![false; self.solved.at.len()];
        let mut queue = VecDeque::from([goal.0]);
        for _ in 0..MAX_POINTS_BEFORE_GOAL {
            let point = queue.pop_front()?;
            for before in self.solved.edges.backward.of(point) {
                if !self.slots_asked(before).is_empty() {
                    return Some(before);
                }
                if !std::mem::replace(&mut seen[before as usize], true) {
                    queue.push_back(before);
                }
            }
        }
        None
    }

    /// Returns the keys that the edges of a point test, without those that the engine writes.
    fn slots_asked(&self, point: u32) -> Vec<Slot> {
        let own = [VISITS, "sys.rollback"].map(|name| self.tables.keys.slot_of(name));
        let asked = self.tables.ops.tested_keys(self.tables.ops.point_ops(PointIndex(point)));
        asked.filter_map(|name| self.tables.keys.slot(name)).filter(|slot| !own.contains(&Some(*slot))).collect()
    }

    /// Returns the points whose operations concern one of two keys, and all tainted points.
    fn touched(&self, touching: &FxHashMap<Slot, Vec<u32>>, keys: [Slot; 2]) -> Vec<bool> {
        let mut is_touched = self.tainted.to_vec();
        keys.iter().filter_map(|key| touching.get(key)).flatten().for_each(|point| is_touched[*point as usize] = true);
        is_touched
    }

    /// Returns the points whose operations concern each key.
    fn touched_by(&self) -> FxHashMap<Slot, Vec<u32>> {
        let mut touching: FxHashMap<Slot, Vec<u32>> = FxHashMap::default();
        for point in self.tables.ops.points() {
            for name in self.tables.ops.names(self.tables.ops.point_ops(point)) {
                if let Some(slot) = self.tables.keys.slot(name) {
                    touching.entry(slot).or_default().push(point.0);
                }
            }
        }
        touching
    }

    /// Returns the keys that are tested before a point, nearest first.
    fn asked_before(&self, goal: PointIndex, but: Slot) -> Vec<Slot> {
        let (mut others, mut asking) = (Vec::new(), 0);
        let mut seen = vec![false; self.solved.at.len()];
        let mut queue = VecDeque::from([goal.0]);
        seen[goal.index()] = true;
        for _ in 0..MAX_POINTS_BEFORE_GOAL {
            let Some(point) = queue.pop_front() else { break };
            for before in self.solved.edges.backward.of(point) {
                if std::mem::replace(&mut seen[before as usize], true) {
                    continue;
                }
                queue.push_back(before);
                let known = others.len();
                for slot in self.slots_asked(before).into_iter().filter(|slot| *slot != but) {
                    if others.len() < MAX_CORRELATED_KEYS && !others.contains(&slot) {
                        others.push(slot);
                    }
                }
                asking += usize::from(others.len() > known);
                if asking == MAX_ASKING_POINTS {
                    return others;
                }
            }
        }
        others
    }

    /// Runs the analysis once: tracks `other` while the key is absent. `only` restricts the edges into one point to one edge. `None` if the
    /// budget is spent.
    fn left(
        &mut self,
        AbsenceQuery { slot, other, only }: AbsenceQuery,
        all: &[Left],
        is_touched: &[bool],
        budget: &mut Budget,
    ) -> Option<Vec<Option<TypeId>>> {
        let mut at: Vec<Option<TypeId>> = vec![None; self.solved.at.len()];
        let mut queue = VecDeque::new();
        let mut waits = vec![false; at.len()];
        let begun = self.solved.begun.clone();
        let mut onward: Vec<(u32, TypeId)> = Vec::new();
        onward.extend(begun.may_lack(slot, &self.types).then(|| (self.first().0, begun.get(other, &mut self.types))));
        loop {
            for (to, of) in onward.drain(..) {
                let joined = at[to as usize].map_or(of, |known| self.types.join(known, of));
                if at[to as usize] != Some(joined) {
                    at[to as usize] = Some(joined);
                    if !std::mem::replace(&mut waits[to as usize], true) {
                        queue.push_back(to);
                    }
                }
            }
            let Some(point) = queue.pop_front() else { return Some(at) };
            waits[point as usize] = false;
            let of = at[point as usize].unwrap_or(TypeId::NEVER);
            let may = |to: PointIndex| only.is_none_or(|(from, into)| to.0 != into || from == point);
            let (Some(env), true) = (&self.solved.at[point as usize], all.iter().all(|(_, left)| left[point as usize].is_some())) else {
                continue;
            };
            if !is_touched[point as usize] {
                let leads = self.solved.onward[point as usize].iter().filter(|(to, env)| may(*to) && env.may_lack(slot, &self.types));
                onward.extend(leads.map(|(to, _)| (to.0, of)));
                continue;
            }
            if !budget.charge(Cost::AbsenceTransfer) {
                return None;
            }
            let mut env = env.clone();
            env.set(slot, TypeId::ABSENT, &mut self.types);
            for (known, left) in all {
                env.set(*known, left[point as usize].unwrap_or(TypeId::NEVER), &mut self.types);
            }
            env.set(other, of, &mut self.types);
            let point_ops = self.tables.ops.point_ops(PointIndex(point)).clone();
            let now = self.look(PointIndex(point), &point_ops, env);
            for (to, env) in &now.onward {
                if may(*to) && env.may_lack(slot, &self.types) {
                    onward.push((to.0, env.get(other, &mut self.types)));
                }
            }
        }
    }
}

//! Whether a session can come to a point while nothing is at a key, by what is known of a few other keys in just those sessions.
//!
//! The fixed point joins what all ways leave. Here only those ways count on which the key stays absent; so a key that was chosen where the other
//! was set tells of it later. Keys are taken one after the other, nearest first, and each run goes by what those before it left.
//!
//! **Invariant:** no session comes where this says that none does.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::*;
use crate::compile::dataflow::budget::{Budget, Cost, MAX_ASKING_POINTS, MAX_CORRELATED_KEYS, MAX_POINTS_BEFORE_GOAL};

/// What one run left: what can be at a key on entering each point; nothing where no session comes.
type Left = (Slot, Vec<Option<TypeId>>);

/// One pass: `other` is followed where `slot` is absent; into the point of `only` leads that edge alone.
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
    /// Whether a session may come to a point without a key; it may where the budget is spent.
    pub(crate) fn may_reach_without(&mut self, goal: PointIndex, slot: Slot, budget: &Budget) -> bool {
        // A child begins with keys of its own.
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
        comes = comes && self.comes_by_some(goal, slot, Refuted { all: &all, touching: &touching }, budget);
        self.touching = Some(touching);
        comes
    }

    /// The same, way by way into the nearest point that asks something: what is so on each of them may be so of another key on each.
    fn comes_by_some(&mut self, goal: PointIndex, slot: Slot, Refuted { all, touching }: Refuted<'_>, budget: &Budget) -> bool {
        let Some(asking) = self.asking_before(goal) else { return true };
        let mut from: Vec<u32> = self.solved.ways.backward.of(asking).collect();
        from.sort_unstable();
        from.dedup();
        // A session that comes there more than once may come by several.
        let is_passed_once = self.solved.parts.of(asking).is_some_and(|part| self.solved.parts.members(part).len() == 1);
        if !is_passed_once || from.contains(&asking) || !(2..=MAX_CORRELATED_KEYS).contains(&from.len()) {
            return true;
        }
        from.into_iter().any(|from| {
            // What is asked on the way there tells most.
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

    /// The nearest point before another that asks something.
    fn asking_before(&self, goal: PointIndex) -> Option<u32> {
        let mut seen = vec![false; self.solved.at.len()];
        let mut queue = VecDeque::from([goal.0]);
        for _ in 0..MAX_POINTS_BEFORE_GOAL {
            let point = queue.pop_front()?;
            for before in self.solved.ways.backward.of(point) {
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

    /// The keys that decide which way leads on from a point; without those that the engine writes where no step says so.
    fn slots_asked(&self, point: u32) -> Vec<Slot> {
        let own = [VISITS, "sys.rollback"].map(|name| self.tables.keys.slot_of(name));
        let asked = self.tables.steps.asked(self.tables.steps.point_ops(PointIndex(point)));
        asked.filter_map(|name| self.tables.keys.slot(name)).filter(|slot| !own.contains(&Some(*slot))).collect()
    }

    /// The points at which something happens to one of these.
    fn touched(&self, touching: &FxHashMap<Slot, Vec<u32>>, keys: [Slot; 2]) -> Vec<bool> {
        let mut is_touched = self.tainted.to_vec();
        keys.iter().filter_map(|key| touching.get(key)).flatten().for_each(|point| is_touched[*point as usize] = true);
        is_touched
    }

    /// The points at which something happens to a key, or depends on it.
    fn touched_by(&self) -> FxHashMap<Slot, Vec<u32>> {
        let mut touching: FxHashMap<Slot, Vec<u32>> = FxHashMap::default();
        for point in self.tables.steps.points() {
            for name in self.tables.steps.names(self.tables.steps.point_ops(point)) {
                if let Some(slot) = self.tables.keys.slot(name) {
                    touching.entry(slot).or_default().push(point.0);
                }
            }
        }
        touching
    }

    /// The keys that are asked about before a point, nearest first.
    fn asked_before(&self, goal: PointIndex, but: Slot) -> Vec<Slot> {
        let (mut others, mut asking) = (Vec::new(), 0);
        let mut seen = vec![false; self.solved.at.len()];
        let mut queue = VecDeque::from([goal.0]);
        seen[goal.index()] = true;
        for _ in 0..MAX_POINTS_BEFORE_GOAL {
            let Some(point) = queue.pop_front() else { break };
            for before in self.solved.ways.backward.of(point) {
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

    /// One run: what can be at `other` where nothing is at `slot`; nothing where the budget is spent. Into one point only one way may lead.
    fn left(
        &mut self,
        AbsenceQuery { slot, other, only }: AbsenceQuery,
        all: &[Left],
        is_touched: &[bool],
        budget: &Budget,
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
            let point_ops = self.tables.steps.point_ops(PointIndex(point)).clone();
            let now = self.look(PointIndex(point), &point_ops, env);
            for (to, env) in &now.onward {
                if may(*to) && env.may_lack(slot, &self.types) {
                    onward.push((to.0, env.get(other, &mut self.types)));
                }
            }
        }
    }
}

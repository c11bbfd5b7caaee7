//! Whether a session can come to a point while nothing is at a key, by what is known of a few other keys in just those sessions.
//!
//! The fixed point joins what all ways leave. Here only those ways count on which the key stays absent; so a key that was chosen where the other
//! was set tells of it later. Keys are taken one after the other, nearest first, and each run goes by what those before it left.
//!
//! **Invariant:** no session comes where this says that none does.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::*;

/// Points before the goal that are looked at for what is asked there, and of those that ask something.
const BEFORE: usize = 256;
const ASKING: usize = 4;

/// Keys that are gone through.
const OTHERS: usize = 80;

/// What it costs to look at a point.
const LOOK: usize = 20;

/// What one run left: what can be at a key on entering each point; nothing where no session comes.
type Left = (Slot, Vec<Option<TypeId>>);

impl Knowledge<'_, '_> {
    /// Whether a session may come to a point without a key; it may where the budget is spent.
    pub(in super::super) fn may_come_without(&mut self, goal: PointIndex, slot: Slot, spend: &dyn Fn(usize) -> bool) -> bool {
        // A child begins with keys of its own.
        if !self.solved.children.is_empty() {
            return true;
        }
        let touching = self.touching.take().unwrap_or_else(|| self.touched_by());
        let mut all: Vec<Left> = Vec::new();
        let mut comes = true;
        for other in self.asked_before(goal, slot) {
            if !spend(self.solved.at.len() / 16) {
                break;
            }
            let mut is_touched = self.wild.to_vec();
            for key in [slot, other] {
                touching.get(&key).into_iter().flatten().for_each(|point| is_touched[*point as usize] = true);
            }
            let Some(left) = self.left(slot, other, &all, &is_touched, spend) else { break };
            comes = left[goal.0 as usize].is_some();
            if !comes {
                break;
            }
            all.push((other, left));
        }
        self.touching = Some(touching);
        comes
    }

    /// The points at which something happens to a key, or depends on it.
    fn touched_by(&self) -> FxHashMap<Slot, Vec<u32>> {
        let mut touching: FxHashMap<Slot, Vec<u32>> = FxHashMap::default();
        for point in self.terms.steps.points() {
            for name in self.terms.steps.names(self.terms.steps.seat(point)) {
                if let Some(slot) = self.terms.keys.slot(name) {
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
        seen[goal.0 as usize] = true;
        for _ in 0..BEFORE {
            let Some(point) = queue.pop_front() else { break };
            for before in self.solved.ways.backward.of(point) {
                if std::mem::replace(&mut seen[before as usize], true) {
                    continue;
                }
                queue.push_back(before);
                let asked = self.terms.steps.asked(self.terms.steps.seat(PointIndex(before)));
                let known = others.len();
                for slot in asked.filter_map(|name| self.terms.keys.slot(name)).filter(|slot| *slot != but) {
                    if others.len() < OTHERS && !others.contains(&slot) {
                        others.push(slot);
                    }
                }
                asking += usize::from(others.len() > known);
                if asking == ASKING {
                    return others;
                }
            }
        }
        others
    }

    /// One run: what can be at `other` where nothing is at `slot`; nothing where the budget is spent.
    fn left(
        &mut self,
        slot: Slot,
        other: Slot,
        all: &[Left],
        is_touched: &[bool],
        spend: &dyn Fn(usize) -> bool,
    ) -> Option<Vec<Option<TypeId>>> {
        let mut at: Vec<Option<TypeId>> = vec![None; self.solved.at.len()];
        let mut queue = VecDeque::new();
        let mut waits = vec![false; at.len()];
        let begun = self.solved.begun.clone();
        let mut onward: Vec<(u32, TypeId)> = Vec::new();
        onward.extend(self.lacks(&begun, slot).then(|| (self.first().0, begun.get(other))));
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
            let (Some(facts), true) = (&self.solved.at[point as usize], all.iter().all(|(_, left)| left[point as usize].is_some())) else {
                continue;
            };
            if !is_touched[point as usize] {
                let leads = self.solved.onward[point as usize].iter().filter(|(_, facts)| self.lacks(facts, slot));
                onward.extend(leads.map(|(to, _)| (to.0, of)));
                continue;
            }
            if !spend(LOOK) {
                return None;
            }
            let mut facts = facts.clone();
            facts.set(slot, TypeId::ABSENT);
            all.iter().for_each(|(known, left)| facts.set(*known, left[point as usize].unwrap_or(TypeId::NEVER)));
            facts.set(other, of);
            let seat = self.terms.steps.seat(PointIndex(point)).clone();
            let now = self.look(PointIndex(point), &seat, &facts);
            onward.extend(now.onward.iter().filter(|(_, facts)| self.lacks(facts, slot)).map(|(to, facts)| (to.0, facts.get(other))));
        }
    }

    /// Whether nothing may be at a key.
    fn lacks(&self, facts: &Facts, slot: Slot) -> bool {
        let of = self.types.get(facts.get(slot));
        of.absent || of.open
    }
}

//! Choosing a way, and what is left of what is known behind it.

use super::*;

impl<'p> Knowledge<'_, 'p> {
    pub(super) fn choose(&mut self, point: PointIndex, on: u32, mut facts: Facts, onward: &mut Vec<(PointIndex, Facts)>) {
        let program = self.program;
        let before = facts.clone();
        for at in program.replies[on as usize].edges.clone() {
            let edge: &Edge = &program.edges[at as usize];
            if edge.to == Target::End(Reason::Failed(Failure::NoMatch)) && self.gathered.is_some() && !self.is_own(point, on) {
                self.suspect(point, Accident::NoMatch(on), false, TypeId::NEVER);
                self.gathered.iter_mut().for_each(|gathered| drop(gathered.replies.insert(on, before.clone())));
            }
            if edge.when == Guard::Always {
                self.follow(point, edge, facts, onward);
                return;
            }
            let operand = self.script.operand(at);
            self.look(point, at, &edge.when, operand, &before);
            for site in self.script.guarded(at) {
                self.read(point, &mut facts, site, Some(&edge.when));
            }
            if let Some(taken) = self.assumed_at(&facts, &edge.when, operand, true) {
                self.follow(point, edge, taken, onward);
            }
            match self.assumed_at(&facts, &edge.when, operand, false) {
                Some(left) => facts = left,
                None => return,
            }
        }
    }

    /// Whether a reply asks about nothing that came from elsewhere: its gaps were looked for already.
    fn is_own(&self, point: PointIndex, on: u32) -> bool {
        let program = self.program;
        super::super::super::exhaustive::is_own(program, program.node(program.point(point).node), &program.replies[on as usize])
    }

    pub(super) fn follow(&mut self, point: PointIndex, edge: &'p Edge, mut facts: Facts, onward: &mut Vec<(PointIndex, Facts)>) {
        let program = self.program;
        let node = program.node(program.point(point).node);
        if self.script.reads_input {
            facts.set(INPUT, TypeId::ABSENT);
            facts.set(RESULT, TypeId::ABSENT);
        }
        match &edge.to {
            Target::Point(to) | Target::Proceed(to) => onward.push((*to, facts)),
            Target::Again => {}
            Target::Rollback => {
                if let Some(slot) = self.script.slot("sys.rollback") {
                    facts.set(slot, TypeId::ANY);
                }
                for way in program.unwound_ways(node.graph) {
                    if let Target::Point(to) = way.edge.to {
                        onward.push((to, facts.clone()));
                    }
                }
            }
            Target::End(reason) => {
                let lives = self.happen(point, &mut facts, self.script.ending(point, &edge.to), onward);
                if lives && node.terminal && *reason == Reason::Finished {
                    self.return_from(point, &facts);
                }
            }
        }
    }

    /// What a condition comes to wherever it is asked, whatever stood before it: over what was there when the node began to choose.
    pub(super) fn look(&mut self, point: PointIndex, at: u32, guard: &Guard, operand: Option<At<'_>>, facts: &Facts) {
        if self.gathered.is_none() {
            return;
        }
        let (Guard::Is(..) | Guard::In(..) | Guard::Truth(..), Some((slot, rest))) = (guard, operand) else { return };
        let known = self.types.below(facts.get(slot), rest);
        let holds = self.types.narrowed_below(facts.get(slot), rest, guard, true) != TypeId::NEVER;
        if let Some(gathered) = &mut self.gathered {
            let seen = gathered.edges.entry(at).or_insert(EdgeSeen { point, holds: false, operand: TypeId::NEVER });
            seen.holds |= holds;
            seen.operand = self.types.join(seen.operand, known);
        }
    }

    /// What stands at a path; nothing for what the engine always knows.
    pub(in super::super) fn known(&mut self, facts: &Facts, path: &KeyPath) -> Option<TypeId> {
        let (slot, rest) = self.script.at(path)?;
        Some(self.types.below(facts.get(slot), rest))
    }

    /// What is left when a guard comes to `truth`; nothing where it cannot.
    pub(in super::super) fn assumed(&mut self, facts: &Facts, guard: &Guard, truth: bool) -> Option<Facts> {
        let operand = guard.operand().and_then(|operand| self.script.at(&operand.path));
        self.assumed_at(facts, guard, operand, truth)
    }

    /// The same where it is known already what the guard asks about.
    fn assumed_at(&mut self, facts: &Facts, guard: &Guard, operand: Option<At<'_>>, truth: bool) -> Option<Facts> {
        let Some((slot, rest)) = operand else {
            return (*guard != Guard::Always || truth).then(|| facts.clone());
        };
        let left = self.types.narrowed_below(facts.get(slot), rest, guard, truth);
        if left == TypeId::NEVER {
            return None;
        }
        let mut facts = facts.clone();
        facts.set(slot, left);
        Some(facts)
    }

    /// What is read is there from then on.
    pub(super) fn be_set(&mut self, facts: &mut Facts, slot: Slot, rest: &[Segment]) {
        let known = facts.get(slot);
        let left = self.types.narrowed_below(known, rest, &self.is_set, true);
        facts.set(slot, if left == TypeId::NEVER { TypeId::ANY } else { left });
    }
}

//! Looking at a point: entering it, each reply, and the choice between its ways.

use super::*;

impl Analysis<'_, '_> {
    /// Everything that leads on from a point, and what is noticed on the way.
    pub(crate) fn look(&mut self, point: PointIndex, seat: &PointOps, mut incoming: Env) -> PointResult {
        let mut now = PointResult::default();
        if self.wild[point.0 as usize] {
            let nothing = Env::open(self.terms.keys.room());
            crate::compile::dataflow::successors(self.program, point, &mut |to| now.onward.push((to, nothing.clone())));
            return now;
        }
        self.count(seat, &mut incoming);
        let mut facts = incoming.clone();
        let lives = self.transfer(seat, &mut facts, seat.entering, &mut now);
        for on in self.terms.steps.answers(seat) {
            let answer = self.terms.steps.answer(seat, on);
            let is_exhausted = answer.given == ReplyInput::Exhausted;
            if !lives && !is_exhausted {
                continue;
            }
            let mut facts = if is_exhausted { incoming.clone() } else { facts.clone() };
            match answer.given {
                ReplyInput::Input => {
                    let of = self.answer(seat);
                    facts.set(INPUT, of, &mut self.types);
                }
                ReplyInput::Result => {
                    let of = self.answer(seat);
                    facts.set(INPUT, of, &mut self.types);
                    facts.set(RESULT, of, &mut self.types);
                }
                ReplyInput::Chosen(of) => facts.set(INPUT, of, &mut self.types),
                ReplyInput::Exhausted | ReplyInput::Nothing => {}
            }
            if self.transfer(seat, &mut facts, answer.steps, &mut now) {
                self.choose(seat, on, answer.choices, facts, &mut now);
            }
        }
        now
    }

    /// The engine counts the entries of nodes that admit so many.
    pub(crate) fn count(&mut self, seat: &PointOps, facts: &mut Env) {
        if let Some(slot) = self.terms.keys.slot_of(VISITS) {
            let counts = if seat.counts { self.types.integer() } else { TypeId::ABSENT };
            facts.set(slot, counts, &mut self.types);
        }
    }

    fn choose(&mut self, seat: &PointOps, on: u32, choices: OpRange, mut facts: Env, now: &mut PointResult) {
        let before = facts.clone();
        now.onward.reserve(choices.iter().len());
        for at in choices.iter() {
            let choice = self.terms.steps.choice(seat, at);
            if choice.to == BranchTarget::NoMatch {
                now.suspect(Violation::NoMatch(on), false, TypeId::NEVER);
                now.notes.push(Observation::Gap { on, facts: before.clone() });
            }
            let Some(question) = choice.question else {
                self.follow(seat, choice.to, facts, now);
                return;
            };
            let operand = choice.path.and_then(|path| Some((self.slot(path)?, path.rest)));
            if let (true, Some((slot, rest))) = (choice.compares, operand) {
                // What it comes to wherever it is asked, whatever stood before it: over what was there when the node began to choose.
                let whole = before.get(slot, &mut self.types);
                let known = self.types.select(whole, rest);
                let holds = self.types.refine(whole, rest, question, true) != TypeId::NEVER;
                // Of several values one may be asked for in vain.
                let holds = holds && !matches!(self.types.guard(question), Guard::In(_, true, _));
                now.ask(at, holds, known, &mut self.types);
            }
            for mark in choice.marks.iter() {
                self.read(seat, &mut facts, mark, Some(question), now);
            }
            let Some((slot, rest)) = operand else {
                self.follow(seat, choice.to, facts.clone(), now);
                continue;
            };
            let known = facts.get(slot, &mut self.types);
            let taken = self.types.refine(known, rest, question, true);
            let left = self.types.refine(known, rest, question, false);
            if taken != TypeId::NEVER {
                let mut facts = facts.clone();
                facts.set(slot, taken, &mut self.types);
                self.follow(seat, choice.to, facts, now);
            }
            if left == TypeId::NEVER {
                return;
            }
            if left != known {
                facts.set(slot, left, &mut self.types);
            }
        }
    }

    fn follow(&mut self, seat: &PointOps, to: BranchTarget, mut facts: Env, now: &mut PointResult) {
        facts.set(INPUT, TypeId::ABSENT, &mut self.types);
        facts.set(RESULT, TypeId::ABSENT, &mut self.types);
        match to {
            BranchTarget::Point(to) => now.onward.push((to, facts)),
            BranchTarget::Again | BranchTarget::NoMatch => {}
            BranchTarget::Rollback(graph) => {
                if let Some(slot) = self.terms.keys.slot_of("sys.rollback") {
                    let rollback = external::rollback(&mut self.types);
                    facts.set(slot, rollback, &mut self.types);
                }
                let unwound = &self.unwound[graph as usize];
                now.onward.extend(unwound.iter().map(|to| (*to, facts.clone())));
            }
            BranchTarget::End { is_own, returns } => {
                let span = if is_own { seat.ending } else { OpRange::default() };
                if self.transfer(seat, &mut facts, span, now) && returns {
                    let output = seat.output.map_or(TypeId::NEVER, |output| self.source(seat, &facts, output));
                    let output = self.types.present(output);
                    let known = now.returned.unwrap_or(TypeId::NEVER);
                    now.returned = Some(self.types.join(known, output));
                }
            }
        }
    }

    /// What is read is there from then on.
    pub(crate) fn be_set(&mut self, facts: &mut Env, slot: Slot, rest: SubPathId) {
        let known = facts.get(slot, &mut self.types);
        let is_set = self.terms.is_set;
        let left = self.types.refine(known, rest, is_set, true);
        facts.set(slot, if left == TypeId::NEVER { TypeId::UNKNOWN } else { left }, &mut self.types);
    }
}

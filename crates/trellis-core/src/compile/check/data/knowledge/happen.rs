//! What happens at a point, over types: reads, writes, what must hold; and what may go wrong with it.

use super::*;

impl<'p> Knowledge<'_, 'p> {
    /// Whether a session can come past what happens.
    pub(super) fn happen(
        &mut self,
        point: PointIndex,
        facts: &mut Facts,
        ops: std::ops::Range<u32>,
        onward: &mut Vec<(PointIndex, Facts)>,
    ) -> bool {
        let script = self.script;
        for at in ops {
            let lives = match &script.ops[at as usize] {
                Op::Read(site) => {
                    self.read(point, facts, *site, None);
                    true
                }
                Op::Write { write, at: to, reads } => {
                    let is_default = matches!(write.to, Place::Absent(_));
                    let known = to.map(|(slot, _)| facts.get(slot));
                    if is_default && known.is_some_and(|known| !self.types.may_be_absent(known) && !self.types.get(known).open) {
                        continue;
                    }
                    // What a default reads, it reads only where the key is absent: nothing is known to be there behind it.
                    let mut behind = facts.clone();
                    for site in reads.clone() {
                        self.read(point, if is_default { &mut behind } else { &mut *facts }, site, None);
                    }
                    to.is_none_or(|to| self.write(point, at, facts, write, to))
                }
                Op::Fit { slot, schema, .. } => {
                    let known = facts.get(*slot);
                    if self.gathered.is_some() && self.types.breaks(known, schema, true) {
                        self.suspect(point, Accident::Unfit(at), false, known);
                    }
                    if self.is_unknown(known) {
                        self.unknown(Unknown::Op(at, point));
                    }
                    let declared = self.types.declared(schema);
                    let of = self.types.get(known).clone();
                    let there = self.types.present(known);
                    let mut left = if there == TypeId::NEVER { there } else { self.types.met(there, declared) };
                    if of.absent || of.open {
                        left = self.types.join(left, TypeId::ABSENT);
                    }
                    facts.set(*slot, if left == TypeId::NEVER { declared } else { left });
                    true
                }
                Op::Assert { guard, .. } => {
                    if matches!(guard, Guard::Predicate(..)) {
                        self.unknown(Unknown::Op(at, point));
                    }
                    if self.gathered.is_some()
                        && let Some(operand) = guard.operand()
                        && let Some(known) = self.known(facts, &operand.path)
                    {
                        if self.is_unknown(known) {
                            self.unknown(Unknown::Op(at, point));
                        }
                        let known = self.types.without_unknown(known);
                        if known != TypeId::NEVER && self.types.narrowed(known, guard, false) != TypeId::NEVER {
                            self.suspect(point, Accident::Fails(at), false, known);
                        }
                    }
                    if let Some(left) = self.assumed(facts, guard, true) {
                        *facts = left;
                    }
                    true
                }
                Op::Args { call } => {
                    self.call(point, at, facts, call, onward);
                    true
                }
            };
            if !lives {
                return false;
            }
        }
        true
    }

    pub(super) fn read(&mut self, point: PointIndex, facts: &mut Facts, site: u32, guard: Option<&Guard>) {
        let of = &self.script.sites[site as usize];
        let Some((slot, rest)) = of.at else {
            if of.is_deep() {
                self.unknown(Unknown::Site(site));
            }
            return;
        };
        let mut known = self.types.below(facts.get(slot), rest);
        if !of.inside().is_empty() {
            known = self.types.inside(known, of.inside());
        }
        let is_absent = self.types.may_be_absent(known);
        let is_there = !is_absent && !self.types.get(known).open;
        if is_there && guard.is_none() && of.demand().is_none() && !of.is_deep() {
            return;
        }
        if self.gathered.is_some() {
            let (any, open) = (self.types.get(known).any, self.types.get(known).open);
            let is_typed = matches!(guard, Some(Guard::Truth(..)));
            let is_opaque = of.is_opaque();
            let demand = of.demand();
            let is_unsure = demand.is_some_and(|demand| !self.types.meets(known, demand));
            if is_unsure && demand.is_some_and(|demand| self.types.may_fall_short(known, demand)) {
                self.suspect(point, Accident::Operand(site), false, known);
            }
            if is_absent && !is_opaque {
                let never = !self.types.may_be_there(known);
                self.suspect(point, Accident::Missing(site), never, known);
            }
            if let Some(guard) = guard
                && self.types.may_fail(known, guard)
            {
                self.suspect(point, Accident::Truth(site), false, known);
            }
            if of.is_deep() || open || (is_opaque && is_absent) || (is_typed && any) || is_unsure {
                self.unknown(Unknown::Site(site));
            }
        }
        // Behind it the path is there. Where it never is, the rest is looked at as if somebody had mended that.
        if !is_there && of.is_certain() && of.inside().is_empty() {
            self.be_set(facts, slot, rest);
        }
    }

    pub(super) fn write(
        &mut self,
        point: PointIndex,
        op: u32,
        facts: &mut Facts,
        write: &'p crate::program::Write,
        to: (Slot, &[Segment]),
    ) -> bool {
        let (slot, rest) = to;
        let known = facts.get(slot);
        let is_cut = matches!(&write.to, Place::Path(path) | Place::Append(path) if path.segments().len() > FOLLOWED);
        let source = if is_cut { TypeId::ANY } else { self.source(point, facts, write) };
        if self.is_unknown(known) && (!rest.is_empty() || matches!(write.to, Place::Append(_))) {
            self.unknown(Unknown::Op(op, point));
        }
        let new = match &write.to {
            Place::Append(_) => {
                let list = self.types.below(known, rest);
                let list = if self.types.get(list).open { self.types.join(list, TypeId::ABSENT) } else { list };
                if self.types.may_be_no_list(list) || self.types.may_block(known, rest) {
                    self.suspect(point, Accident::Write(op), false, list);
                }
                let list = self.types.appended(list, source);
                if list == TypeId::NEVER { list } else { self.types.written(known, rest, list) }
            }
            Place::Absent(_) => {
                let kept = self.types.present(known);
                self.types.join(kept, source)
            }
            _ => {
                if self.types.may_block(known, rest) {
                    self.suspect(point, Accident::Write(op), false, known);
                }
                if self.types.may_be_absent(source) {
                    // A value that may not come at all leaves what was there.
                    let there = self.types.present(source);
                    let written = if there == TypeId::NEVER { there } else { self.types.written(known, rest, there) };
                    self.types.join(known, written)
                } else {
                    self.types.written(known, rest, source)
                }
            }
        };
        facts.set(slot, new);
        new != TypeId::NEVER
    }

    pub(super) fn unknown(&mut self, place: Unknown) {
        self.gathered.iter_mut().for_each(|gathered| gathered.unchecked.push(place));
    }

    pub(super) fn is_unknown(&self, of: TypeId) -> bool {
        let of = self.types.get(of);
        of.any || of.open
    }

    pub(super) fn suspect(&mut self, point: PointIndex, accident: Accident, never: bool, seen: TypeId) {
        if let Some(gathered) = &mut self.gathered {
            gathered.candidates.push(Candidate { point, accident, never, seen });
        }
    }
}

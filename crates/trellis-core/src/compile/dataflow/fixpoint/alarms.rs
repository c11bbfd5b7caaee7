//! What is noticed at a point while it is looked at: what may go wrong there, and of what nothing is known.
//!
//! Notes count operations, sites, replies and edges from the first of their point, so that they stay true when nodes before it are edited.

use std::collections::BTreeMap;

use super::{violation::Alarm, *};
use crate::compile::dataflow::{
    index::ReplyIndex,
    ir::{Ir, PointIr, edges_of},
    report,
};

/// Something that was noticed.
#[derive(Clone, Debug)]
pub(crate) enum Observation {
    /// Something may go wrong.
    Suspect { violation: Violation, never: bool, seen: TypeId },
    /// Of what a site reads this is not known.
    UnknownSite(u32, Unknown),
    /// Of what an operation is about nothing is known.
    UnknownOp(u32),
    /// A condition that never holds, and what its operand can be.
    Never { edge: u32, operand: TypeId },
    /// What was there when a reply began to choose that may find no way.
    Gap { on: u32, env: Env },
    /// A child that is called with arguments.
    Called { entry: PointIndex, args: TypeId },
}

/// One look at a point.
#[derive(Default)]
pub(crate) struct PointResult {
    pub(crate) onward: Vec<(PointIndex, Env)>,
    pub(crate) notes: Vec<Observation>,
    /// Conditions that were looked at, in the order of edges: the edge, whether it can hold, and what its operand can be.
    pub(crate) asked: Vec<(u32, bool, TypeId)>,
    /// What a child that ends here returns.
    pub(crate) returned: Option<TypeId>,
    /// Whether something became known by being read.
    pub(crate) learned: bool,
}

impl PointResult {
    pub(crate) fn suspect(&mut self, violation: Violation, never: bool, seen: TypeId) {
        self.notes.push(Observation::Suspect { violation, never, seen });
    }

    /// A condition was looked at; replies may share it.
    pub(crate) fn ask(&mut self, edge: u32, holds: bool, operand: TypeId, types: &mut TypeTable) {
        // The first reply asks in their order.
        if self.asked.last().is_none_or(|(last, ..)| *last < edge) {
            self.asked.push((edge, holds, operand));
            return;
        }
        match self.asked.binary_search_by_key(&edge, |(known, ..)| *known) {
            Ok(at) => {
                let (_, known, of) = &mut self.asked[at];
                (*known, *of) = (*known | holds, types.join(*of, operand));
            }
            Err(at) => self.asked.insert(at, (edge, holds, operand)),
        }
    }

    /// The notes, once all was looked at.
    pub(crate) fn noted(&mut self) -> Box<[Observation]> {
        let never = self.asked.drain(..).filter(|(_, holds, _)| !holds);
        self.notes.extend(never.map(|(edge, _, operand)| Observation::Never { edge, operand }));
        std::mem::take(&mut self.notes).into()
    }
}

/// What the search goes on with, in numbers of the script.
#[derive(Default)]
pub(crate) struct Alarms {
    pub(crate) alarms: Vec<Alarm>,
    /// What was there when a reply began to choose, of those that may find no way.
    pub(crate) replies: BTreeMap<ReplyIndex, Env>,
    /// Nodes that are called as children, with their arguments.
    pub(crate) called: Vec<(PointIndex, TypeId)>,
}

/// A condition that never holds.
pub(crate) struct DeadBranch {
    pub(crate) point: PointIndex,
    pub(crate) edge: u32,
    /// What its operand can be.
    pub(crate) operand: TypeId,
}

impl Analysis<'_, '_> {
    fn notes(&self) -> impl Iterator<Item = (PointIndex, &Observation)> {
        (0..).map(PointIndex).zip(&self.solved.notes).flat_map(|(point, notes)| notes.iter().map(move |note| (point, note)))
    }

    /// Whether anything may go wrong.
    pub(crate) fn suspects(&self) -> bool {
        self.notes().any(|(_, note)| matches!(note, Observation::Suspect { .. }))
    }

    /// All that may go wrong.
    pub(crate) fn gathered(&self, ir: &Ir<'_>) -> Alarms {
        let mut gathered = Alarms::default();
        for (point, note) in self.notes() {
            let first_reply = self.program.point(point).replies.start;
            match note {
                Observation::Suspect { violation, never, seen } => {
                    let violation = violation.of_point(ir.firsts(point), first_reply);
                    gathered.alarms.push(Alarm { point, violation, never: *never, seen: *seen });
                }
                Observation::Gap { on, env } => drop(gathered.replies.insert(ReplyIndex(first_reply + on), env.clone())),
                Observation::Called { entry, args } => gathered.called.push((*entry, *args)),
                Observation::UnknownSite(..) | Observation::UnknownOp(_) | Observation::Never { .. } => {}
            }
        }
        gathered.alarms.sort_by_key(|alarm| (alarm.point, alarm.violation, alarm.never));
        gathered.alarms.dedup();
        gathered
    }

    /// The conditions that never hold, in their order.
    pub(crate) fn never(&self) -> Vec<DeadBranch> {
        let never = self.notes().filter_map(|(point, note)| match note {
            Observation::Never { edge, operand } => {
                let first = edges_of(self.program.replies(&self.program.point(point).replies)).start;
                Some(DeadBranch { point, edge: first + edge, operand: *operand })
            }
            _ => None,
        });
        let mut never: Vec<DeadBranch> = never.collect();
        never.sort_by_key(|seen| seen.edge);
        never
    }

    /// The reads of which nothing is known, by their points; of points that were not looked at this time they stand as they stood.
    pub(crate) fn unchecked(&mut self) -> Vec<(u32, UncheckedRead)> {
        let program = self.program;
        self.touched.sort_unstable();
        self.touched.dedup();
        let mut unchecked = std::mem::take(&mut self.solved.unchecked);
        unchecked.retain(|(point, _)| self.touched.binary_search(point).is_err());
        let mut passage = PointIr::new(program);
        for at in self.touched.iter().copied() {
            let point = PointIndex(at);
            let notes = &self.solved.notes[at as usize];
            let is_unknown = |note: &Observation| matches!(note, Observation::UnknownSite(..) | Observation::UnknownOp(_));
            if !notes.iter().any(is_unknown) {
                continue;
            }
            passage.read(point);
            unchecked.extend(notes.iter().filter_map(|note| match note {
                Observation::UnknownSite(site, unknown) => {
                    Some((at, report::unknown_site(program, &passage.sites[*site as usize], *unknown)))
                }
                Observation::UnknownOp(op) => Some((at, report::unknown_op(program, point, &passage.ops[*op as usize])?)),
                _ => None,
            }));
        }
        self.solved.unchecked.clone_from(&unchecked);
        unchecked
    }
}

//! Observations of the fixpoint: alarms, unchecked reads, conditions that never hold.
//!
//! Observations count operations, sites, replies and edges from the first of their point, so they remain valid if nodes before it are
//! edited.

use std::collections::BTreeMap;

use super::{violation::Alarm, *};
use crate::dataflow::{
    index::{EdgeIndex, OpIndex, ReplyIndex, SiteIndex},
    ir::{Ir, edges_of},
};

/// Observation at a point.
#[derive(Clone, Debug)]
pub(crate) enum Observation {
    /// Alarm: an operation can fail.
    Suspect { violation: Violation, never: bool, seen: TypeId },
    /// Unchecked read of a site.
    UnknownSite(SiteIndex, Unknown),
    /// Unchecked use of an unknown value by an operation.
    UnknownOp(OpIndex),
    /// Condition that never holds, and the type of its operand.
    Never { edge: EdgeIndex, operand: TypeId },
    /// Environment before the edges of a reply none of which may hold.
    Gap { on: ReplyIndex, env: Env },
    /// Call of a child, with the type of its arguments.
    Called { entry: PointIndex, args: TypeId },
}

/// Something that is not known at a point, by the site or operation that is about it; both are counted from the first of the point.
#[derive(Clone, Copy)]
pub(crate) enum UnknownAt {
    /// Something is not known of the value that a site reads.
    Site { site: SiteIndex, kind: Unknown },
    /// The value of an operation is unknown.
    Op(OpIndex),
}

/// The result of one visit of a point.
#[derive(Default)]
pub(crate) struct PointResult {
    pub(crate) onward: Vec<(PointIndex, Env)>,
    pub(crate) notes: Vec<Observation>,
    /// Conditions that were evaluated, by edge: whether it can hold, and the type of its operand.
    pub(crate) asked: Vec<(EdgeIndex, bool, TypeId)>,
    /// Output of a child that ends here.
    pub(crate) returned: Option<TypeId>,
    /// True if a read refined the environment.
    pub(crate) learned: bool,
}

impl PointResult {
    /// Notes an alarm.
    pub(crate) fn suspect(&mut self, violation: Violation, never: bool, seen: TypeId) {
        self.notes.push(Observation::Suspect { violation, never, seen });
    }

    /// Notes that the condition of an edge was evaluated; the results of replies that share the edge are joined.
    pub(crate) fn ask(&mut self, edge: EdgeIndex, holds: bool, operand: TypeId, types: &mut TypeTable) {
        // The first reply evaluates edges in order.
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

    /// Takes the observations, after all replies were executed.
    pub(crate) fn noted(&mut self) -> Box<[Observation]> {
        let never = self.asked.drain(..).filter(|(_, holds, _)| !holds);
        self.notes.extend(never.map(|(edge, _, operand)| Observation::Never { edge, operand }));
        std::mem::take(&mut self.notes).into()
    }
}

/// Alarms with all that the search needs, counted over the whole program.
#[derive(Default)]
pub(crate) struct Alarms {
    pub(crate) alarms: Vec<Alarm>,
    /// Environments before the edges of the replies of which none may hold.
    pub(crate) replies: BTreeMap<ReplyIndex, Env>,
    /// Entry points of children, with the types of their arguments.
    pub(crate) called: Vec<(PointIndex, TypeId)>,
}

/// Condition that never holds.
pub(crate) struct DeadBranch {
    pub(crate) point: PointIndex,
    pub(crate) edge: EdgeIndex,
    /// Type of its operand.
    pub(crate) operand: TypeId,
}

impl Analysis<'_, '_> {
    fn notes(&self) -> impl Iterator<Item = (PointIndex, &Observation)> {
        (0..).map(PointIndex).zip(&self.solved.notes).flat_map(|(point, notes)| notes.iter().map(move |note| (point, note)))
    }

    /// Returns true if there is any alarm.
    pub(crate) fn suspects(&self) -> bool {
        self.notes().any(|(_, note)| matches!(note, Observation::Suspect { .. }))
    }

    /// Returns all alarms, sorted by point.
    pub(crate) fn gathered(&self, ir: &Ir<'_>) -> Alarms {
        let mut gathered = Alarms::default();
        for (point, note) in self.notes() {
            let first_reply = ReplyIndex(self.program.point(point).replies.start);
            match note {
                Observation::Suspect { violation, never, seen } => {
                    let violation = violation.of_point(ir.firsts(point), first_reply);
                    gathered.alarms.push(Alarm { point, violation, never: *never, seen: *seen });
                }
                Observation::Gap { on, env } => drop(gathered.replies.insert(on.after(first_reply), env.clone())),
                Observation::Called { entry, args } => gathered.called.push((*entry, *args)),
                Observation::UnknownSite(..) | Observation::UnknownOp(_) | Observation::Never { .. } => {}
            }
        }
        gathered.alarms.sort_by_key(|alarm| (alarm.point, alarm.violation, alarm.never));
        gathered.alarms.dedup();
        gathered
    }

    /// Returns the conditions that never hold, in the order of edges.
    pub(crate) fn never(&self) -> Vec<DeadBranch> {
        let never = self.notes().filter_map(|(point, note)| match note {
            Observation::Never { edge, operand } => {
                let first = EdgeIndex(edges_of(self.program.replies(&self.program.point(point).replies)).start);
                Some(DeadBranch { point, edge: edge.after(first), operand: *operand })
            }
            _ => None,
        });
        let mut never: Vec<DeadBranch> = never.collect();
        never.sort_by_key(|seen| seen.edge);
        never
    }

    /// Returns the points that were visited this time, sorted.
    pub(crate) fn visited(&mut self) -> &[u32] {
        self.touched.sort_unstable();
        self.touched.dedup();
        &self.touched
    }

    /// Everything that is not known at a point.
    pub(crate) fn unknown_at(&self, point: u32) -> impl Iterator<Item = UnknownAt> {
        self.solved.notes[point as usize].iter().filter_map(|note| match note {
            Observation::UnknownSite(site, kind) => Some(UnknownAt::Site { site: *site, kind: *kind }),
            Observation::UnknownOp(op) => Some(UnknownAt::Op(*op)),
            _ => None,
        })
    }
}

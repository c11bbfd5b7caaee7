//! What the analysis of a graph speaks of: its keys, what is written, and the steps of its points.

use std::collections::BTreeMap;

use super::{
    Passage,
    intern::Reader,
    interned::{AllTests, Calculations, How, Seat, Sources, Step, Steps},
    keys::{Keys, Name},
};
use crate::{
    compile::dataflow::domain::{Contract, Question, TypeId, Types, external},
    path::{KeyPath, Segment},
    program::{Guard, NodeIndex, Operand, PointIndex, Program, Root},
};

/// Keys, sources and steps; they outlive the program that they were read from.
#[derive(Debug)]
pub(crate) struct Terms {
    pub(crate) keys: Keys,
    pub(crate) sources: Sources,
    pub(crate) steps: Steps,
    pub(crate) calculations: Calculations,
    pub(crate) tests: AllTests,
    /// `sys.error`.
    pub(crate) error: TypeId,
    /// What children take, by their nodes.
    pub(crate) taken: BTreeMap<NodeIndex, Option<Contract>>,
    /// Whether something is there.
    pub(crate) is_set: Question,
}

impl Terms {
    pub(crate) fn new(types: &mut Types) -> Self {
        let error = external::error(types);
        let path = KeyPath::new(vec![Segment::Key("input".into())]).unwrap_or_else(|| unreachable!("`input` is a path"));
        let is_set = types.question(&Guard::Set(Operand { root: Root::Input, path }, true));
        let (sources, steps, calculations) = (Sources::default(), Steps::default(), Calculations::default());
        let tests = AllTests::default();
        Self { keys: Keys::new(), sources, steps, calculations, tests, error, taken: BTreeMap::new(), is_set }
    }

    /// Reads all points.
    pub(crate) fn read(&mut self, program: &Program, types: &mut Types) {
        self.steps.expect(program.points.len(), program.replies.len(), program.edges.len());
        let mut reader = Reader { passage: Passage::new(program), types, terms: self };
        let points = 0..u32::try_from(program.points.len()).unwrap_or(u32::MAX);
        let seats: Vec<Seat> = points.map(|point| reader.read(PointIndex(point))).collect();
        for seat in &seats {
            self.count(seat, &mut Vec::new());
        }
        self.steps.seat_all(seats);
        self.keys.make_room();
    }

    /// Notes which keys a point reads and has defaults for; adds those that nothing read before.
    pub(crate) fn count(&mut self, seat: &Seat, turned: &mut Vec<Name>) {
        turned.extend(self.steps.follows(seat).iter().filter(|name| self.keys.follow(**name)));
        defaults(&self.steps, seat).for_each(|name| self.keys.defaults(name, true));
    }

    /// Takes that back; adds those that nothing reads any more.
    pub(crate) fn discount(&mut self, seat: &Seat, turned: &mut Vec<Name>) {
        turned.extend(self.steps.follows(seat).iter().filter(|name| self.keys.leave(**name)));
        defaults(&self.steps, seat).for_each(|name| self.keys.defaults(name, false));
    }
}

fn defaults(steps: &Steps, seat: &Seat) -> impl Iterator<Item = Name> {
    steps.steps(seat).iter().filter_map(|step| match step {
        Step::Write { to, how: How::Default, .. } => to.map(|to| to.name),
        _ => None,
    })
}

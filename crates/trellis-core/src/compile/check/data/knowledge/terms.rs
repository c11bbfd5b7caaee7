//! What the analysis of a graph speaks of: its keys, what is written, and the steps of its points.

use std::collections::BTreeMap;

use super::{
    super::{
        keys::Keys,
        script::Passage,
        steps::{AllTests, Calculations, Sources, Step},
        types::{Contract, Question},
    },
    *,
};
use crate::{
    path::Segment,
    program::{Operand, Root},
};

/// Points after which it is guessed how much all of them come to.
const SAMPLE: usize = 512;

/// Keys, sources and steps; they outlive the program that they were read from.
#[derive(Debug)]
pub(in super::super) struct Terms {
    pub(in super::super) keys: Keys,
    pub(in super::super) sources: Sources,
    pub(in super::super) steps: Steps,
    pub(in super::super) calculations: Calculations,
    pub(in super::super) tests: AllTests,
    /// `sys.error`.
    pub(in super::super) error: TypeId,
    /// What children take, by their nodes.
    pub(in super::super) taken: BTreeMap<NodeIndex, Option<Contract>>,
    /// Whether something is there.
    pub(in super::super) is_set: Question,
}

impl Terms {
    pub(super) fn new(types: &mut Types) -> Self {
        let error = shapes::error(types);
        let path = KeyPath::new(vec![Segment::Key("input".into())]).unwrap_or_else(|| unreachable!("`input` is a path"));
        let is_set = types.question(&Guard::Set(Operand { root: Root::Input, path }, true));
        let (sources, steps, calculations) = (Sources::default(), Steps::default(), Calculations::default());
        let tests = AllTests::default();
        Self { keys: Keys::new(), sources, steps, calculations, tests, error, taken: BTreeMap::new(), is_set }
    }

    /// Reads all points.
    pub(super) fn read(&mut self, program: &Program, types: &mut Types) {
        self.steps.expect(program.replies.len(), program.edges.len());
        let mut reader = Reader { passage: Passage::new(program), types, terms: self };
        let count = program.points.len();
        let points = 0..u32::try_from(count).unwrap_or(u32::MAX);
        let mut seats: Vec<Seat> = Vec::with_capacity(count);
        for point in points {
            if seats.len() == SAMPLE {
                reader.terms.steps.expect_more(SAMPLE, count - SAMPLE);
            }
            seats.push(reader.read(PointIndex(point)));
        }
        for seat in &seats {
            self.count(seat, &mut Vec::new());
        }
        self.steps.seat_all(seats);
        self.keys.make_room();
    }

    /// Notes which keys a point reads and has defaults for; adds those that nothing read before.
    pub(super) fn count(&mut self, seat: &Seat, turned: &mut Vec<Name>) {
        turned.extend(self.steps.follows(seat).iter().filter(|name| self.keys.follow(**name)));
        defaults(&self.steps, seat).for_each(|name| self.keys.defaults(name, true));
    }

    /// Takes that back; adds those that nothing reads any more.
    pub(super) fn discount(&mut self, seat: &Seat, turned: &mut Vec<Name>) {
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

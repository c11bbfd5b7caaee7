//! What happens at each point as the analysis needs it: small steps over names and numbers, without the program.
//!
//! Read off the script passage by passage. Two passages with equal steps come to the same from the same facts, whatever their author wrote and
//! wherever it stands; so after an edit the steps say whether anything has to be worked out anew.
//!
//! **Invariant:** steps and marks of a point stand in the order of the script's operations and sites.

mod calculations;
mod read;
mod source;
mod tests;

use std::ops::Range;

pub(super) use self::{
    calculations::{Calculated, Calculations, choices},
    read::Reader,
    source::{Made, Source, Sources},
    tests::{AllTests, Tests},
};
use super::{
    keys::Name,
    types::{Contract, Inside, Question, Rest, TypeId},
};
use crate::{
    program::{NodeIndex, PointIndex},
    template::Demand,
};

/// A path as it is followed: the key and what stands below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Path {
    pub(super) name: Name,
    pub(super) rest: Rest,
}

/// A range of a point's own marks or steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Span(pub(super) u32, pub(super) u32);

impl Span {
    pub(super) fn of(range: &Range<u32>) -> Self {
        Self(range.start, range.end)
    }

    pub(super) fn iter(self) -> Range<u32> {
        self.0..self.1
    }
}

/// One thing that happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// A mark is read.
    Read(u32),
    /// Something is written, after what it reads. Nothing follows what has no path.
    Write { to: Option<Path>, how: How, source: Source, reads: Span },
    /// A key, where it is there, must fit; and its place in the node's list.
    Fit { name: Name, contract: Contract, index: u32 },
    /// A condition is asked; a mark is read for it.
    Ask { question: Question, mark: Option<u32>, path: Option<Path> },
    /// A condition must hold.
    Assert { question: Question, path: Option<Path>, is_predicate: bool },
    /// A tool, or a child, is called with arguments; and what the tool takes.
    Args { args: Option<Source>, child: Option<NodeIndex>, takes: Option<Contract> },
}

/// How something is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    Set,
    Append,
    /// Only where nothing is.
    Default,
}

/// A place where something is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    /// Nothing for what the engine always knows.
    pub(super) path: Option<Path>,
    /// Where it leads from there into what the path holds.
    pub(super) inside: Inside,
    pub(super) demand: Option<Demand>,
    /// Whether it is met on every way past its place.
    pub(super) is_certain: bool,
    /// What decides about it, as far as that is followed.
    pub(super) tests: Tests,
    /// Whether something decides about it that is not followed.
    pub(super) is_opaque: bool,
    /// Whether it goes on below the path into the unknown.
    pub(super) is_deep: bool,
    /// The calculation that it is, whose parts have to go together.
    pub(super) calculated: Option<Calculated>,
}

/// What a reply gives to its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Given {
    /// An input.
    Input,
    /// An option that is an outcome of its own, by its type.
    Chosen(TypeId),
    /// The result of a call.
    Result,
    /// Nothing, and nothing was entered.
    Exhausted,
    /// Nothing.
    Nothing,
}

/// One reply: what it gives, what happens, and between what it chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) given: Given,
    pub(super) steps: Span,
    pub(super) choices: Span,
}

/// One way that a reply may choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Choice {
    /// Nothing for what always holds.
    pub(super) question: Option<Question>,
    /// What it asks about, if that is followed.
    pub(super) path: Option<Path>,
    /// Whether it compares something: where that is the same at all times, it may be meant otherwise.
    pub(super) compares: bool,
    pub(super) marks: Span,
    pub(super) to: To,
    /// Whether a session that is a child can go there: of the graph-wide keys none applies to it (language 5.4).
    pub(super) is_for_children: bool,
}

/// Where a choice leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum To {
    Point(PointIndex),
    /// The same point.
    Again,
    /// Of this graph.
    Rollback(u32),
    /// The end: a terminal's own, and whether it returns something.
    End {
        is_own: bool,
        returns: bool,
    },
    /// Nothing else led on.
    NoMatch,
}

/// What a node gets from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Brought {
    Known(TypeId),
    /// What a child returns, as far as it fits all of these.
    Child(NodeIndex, Box<[TypeId]>),
}

/// One point: ranges of all steps.
#[derive(Clone, Debug)]
pub(super) struct Seat {
    steps: Range<u32>,
    marks: Range<u32>,
    answers: Range<u32>,
    choices: Range<u32>,
    follows: Range<u32>,
    pub(super) entering: Span,
    pub(super) ending: Span,
    pub(super) brought: Brought,
    /// What a child that ends here returns; nothing where none does.
    pub(super) output: Option<Source>,
    /// Whether the engine counts how often the node is entered.
    pub(super) counts: bool,
}

/// All steps, by point.
#[derive(Debug, Default)]
pub(super) struct Steps {
    seats: Vec<Seat>,
    steps: Vec<Step>,
    marks: Vec<Mark>,
    answers: Vec<Answer>,
    choices: Vec<Choice>,
    /// The keys that each point reads, as often as it does.
    follows: Vec<Name>,
    /// Steps that are no point's any more.
    lost: usize,
}

impl Steps {
    pub(super) fn seat(&self, point: PointIndex) -> &Seat {
        &self.seats[point.0 as usize]
    }

    pub(super) fn points(&self) -> impl Iterator<Item = PointIndex> + use<> {
        (0..u32::try_from(self.seats.len()).unwrap_or(u32::MAX)).map(PointIndex)
    }

    pub(super) fn step(&self, seat: &Seat, at: u32) -> Step {
        self.steps[(seat.steps.start + at) as usize]
    }

    pub(super) fn mark(&self, seat: &Seat, at: u32) -> Mark {
        self.marks[(seat.marks.start + at) as usize]
    }

    pub(super) fn answers(&self, seat: &Seat) -> Range<u32> {
        0..seat.answers.end - seat.answers.start
    }

    pub(super) fn answer(&self, seat: &Seat, at: u32) -> Answer {
        self.answers[(seat.answers.start + at) as usize]
    }

    pub(super) fn choice(&self, seat: &Seat, at: u32) -> Choice {
        self.choices[(seat.choices.start + at) as usize]
    }

    /// The keys that a point reads.
    pub(super) fn follows(&self, seat: &Seat) -> &[Name] {
        &self.follows[range(&seat.follows)]
    }

    /// The keys that a point reads, writes or holds to something.
    pub(super) fn names(&self, seat: &Seat) -> impl Iterator<Item = Name> {
        let written = self.steps(seat).iter().filter_map(|step| match step {
            Step::Write { to, .. } => to.map(|to| to.name),
            Step::Fit { name, .. } => Some(*name),
            Step::Read(_) | Step::Ask { .. } | Step::Assert { .. } | Step::Args { .. } => None,
        });
        self.follows(seat).iter().copied().chain(written)
    }

    /// The keys that decide which way leads on from a point.
    pub(super) fn asked(&self, seat: &Seat) -> impl Iterator<Item = Name> {
        self.choices[range(&seat.choices)].iter().filter_map(|choice| choice.path.map(|path| path.name))
    }

    pub(super) fn steps(&self, seat: &Seat) -> &[Step] {
        &self.steps[range(&seat.steps)]
    }

    /// Makes room for the replies and choices of a program: moving them again and again would cost more than reading them.
    pub(super) fn expect(&mut self, replies: usize, choices: usize) {
        self.answers.reserve(replies);
        self.choices.reserve(choices);
    }

    /// Makes room for what so many points more come to, where they are like those that were read.
    pub(super) fn expect_more(&mut self, read: usize, more: usize) {
        let like = |read_steps: usize| (read_steps * more).div_ceil(read.max(1)) * 17 / 16;
        self.steps.reserve(like(self.steps.len()));
        self.marks.reserve(like(self.marks.len()));
        self.follows.reserve(like(self.follows.len()));
    }

    /// The points, in their order.
    pub(super) fn seat_all(&mut self, seats: Vec<Seat>) {
        self.seats = seats;
    }

    /// Puts what was read in the place of what a point was before.
    pub(super) fn replace(&mut self, point: PointIndex, seat: Seat) {
        let old = std::mem::replace(&mut self.seats[point.0 as usize], seat);
        self.lost += old.steps.len() + old.choices.len();
    }

    /// Whether most of it is lost.
    pub(super) fn is_worn(&self) -> bool {
        self.lost > self.steps.len() / 2 + 1_000
    }

    /// Whether the same happens at two points.
    pub(super) fn are_alike(&self, a: &Seat, b: &Seat) -> bool {
        self.is_same_but_for_reads(a, b) && self.steps(a) == self.steps(b) && self.marks[range(&a.marks)] == self.marks[range(&b.marks)]
    }

    /// Whether two points differ in nothing but what they read on entering or ending.
    pub(super) fn is_same_but_for_reads(&self, a: &Seat, b: &Seat) -> bool {
        let happens = |seat: &Seat, span: Span| {
            let steps = self.steps(seat)[span.0 as usize..span.1 as usize].iter();
            steps.filter(|step| !matches!(step, Step::Read(_) | Step::Ask { .. })).map(|step| self.plain(seat, *step)).collect::<Vec<_>>()
        };
        let marks = |seat: &Seat, span: Span| self.marks[range(&seat.marks)][span.0 as usize..span.1 as usize].to_vec();
        let answers = |seat: &Seat| {
            let answers = self.answers[range(&seat.answers)].iter();
            answers.map(|answer| (answer.given, answer.choices, happens(seat, answer.steps))).collect::<Vec<_>>()
        };
        let choices = |seat: &Seat| {
            let choices = self.choices[range(&seat.choices)].iter();
            choices.map(|choice| (Choice { marks: Span::default(), ..*choice }, marks(seat, choice.marks))).collect::<Vec<_>>()
        };
        a.brought == b.brought
            && a.output == b.output
            && a.counts == b.counts
            && happens(a, a.entering) == happens(b, b.entering)
            && happens(a, a.ending) == happens(b, b.ending)
            && answers(a) == answers(b)
            && choices(a) == choices(b)
    }

    /// Whether two points lead to the same ones, and return alike.
    pub(super) fn lead_alike(&self, a: &Seat, b: &Seat) -> bool {
        let leads =
            |seat: &Seat| self.choices[range(&seat.choices)].iter().map(|choice| (choice.to, choice.is_for_children)).collect::<Vec<_>>();
        a.output.is_some() == b.output.is_some() && leads(a) == leads(b)
    }

    /// Whether two points call the same children.
    pub(super) fn call_alike(&self, a: &Seat, b: &Seat) -> bool {
        let calls = |seat| self.steps(seat).iter().filter_map(|step| if let Step::Args { child, .. } = step { *child } else { None });
        calls(a).eq(calls(b))
    }

    /// A step with what it reads instead of where that stands.
    fn plain(&self, seat: &Seat, step: Step) -> (Step, Vec<Mark>) {
        match step {
            Step::Write { to, how, source, reads } => {
                let marks = self.marks[range(&seat.marks)][reads.0 as usize..reads.1 as usize].to_vec();
                (Step::Write { to, how, source, reads: Span::default() }, marks)
            }
            step => (step, Vec::new()),
        }
    }

    /// The keys that a point writes, fits or begins a child with: what happens there depends on whether they are followed.
    pub(super) fn depends_on(&self, seat: &Seat, names: &[Name]) -> bool {
        let is_one = |name: &Name| names.contains(name);
        self.follows(seat).iter().any(is_one)
            || self.steps(seat).iter().any(|step| match step {
                Step::Write { to, .. } => to.is_some_and(|to| is_one(&to.name)),
                Step::Fit { name, .. } => is_one(name),
                Step::Args { child, .. } => child.is_some(),
                Step::Read(_) | Step::Ask { .. } | Step::Assert { .. } => false,
            })
    }
}

fn range(of: &Range<u32>) -> Range<usize> {
    of.start as usize..of.end as usize
}

//! What each point reads and writes, in order, as far as it can be reached from where a search begins.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use crate::{
    path::KeyPath,
    program::{
        Call, Callee, Edge, Failure, From, Guard, Node, Outcome, Part, Place, PointIndex, Program, Reason, Role, Root, Target, Why, Write,
    },
    scope::RESERVED,
    template::{Read, Shape, Test},
};

/// Where a search begins.
#[derive(Clone, Copy, Debug)]
pub(super) enum Begin {
    /// A point that is entered.
    Entering(PointIndex),
    /// A point that was entered, and waits.
    Waiting(PointIndex),
}

/// One thing that happens to the context. Paths are numbers, in the order in which they were met.
#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    /// A path is read, whatever holds.
    Read(u32),
    /// A path is read on some way.
    MayRead(u32),
    /// A path is written.
    Write(u32),
}

/// A point: what entering it does, and what can follow.
#[derive(Debug, Default)]
pub(super) struct Spot {
    pub(super) enter: Vec<Event>,
    /// What follows instead of entering when it was entered too often (`max_visits`).
    pub(super) exhausted: Option<Answer>,
    pub(super) replies: Vec<Answer>,
}

/// One outcome.
#[derive(Debug)]
pub(super) struct Answer {
    /// Whether nothing went wrong.
    pub(super) is_normal: bool,
    pub(super) update: Vec<Event>,
    pub(super) edges: Vec<Onward>,
}

/// One way on.
#[derive(Debug)]
pub(super) struct Onward {
    /// What its guard reads.
    pub(super) read: Option<u32>,
    /// The path that is certainly there when it is taken, and when it is not.
    pub(super) taken: Option<u32>,
    pub(super) passed: Option<u32>,
    pub(super) end: Vec<Event>,
    pub(super) to: Onto,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Onto {
    Spot(u32),
    /// The same point once more, or a failure because no way held: nothing is read behind it, and nothing goes well.
    Nowhere,
    End,
}

/// Everything behind the beginning, which is the first spot.
#[derive(Debug, Default)]
pub(super) struct Locals {
    pub(super) spots: Vec<Spot>,
    pub(super) paths: Vec<KeyPath>,
    /// A number for the first name of each path.
    pub(super) roots: Vec<u32>,
    numbers: FxHashMap<KeyPath, u32>,
    root_numbers: FxHashMap<crate::value::Key, u32>,
}

impl Locals {
    pub(super) fn of(program: &Program, begin: Begin) -> Self {
        let mut locals = Self::default();
        let (Begin::Entering(first) | Begin::Waiting(first)) = begin;
        let mut spot_of: FxHashMap<PointIndex, u32> = FxHashMap::default();
        let mut open = VecDeque::from([first]);
        let mut count = 1;
        // A session that waits did not enter here: what leads back enters its point like any other.
        if matches!(begin, Begin::Entering(_)) {
            spot_of.insert(first, 0);
        }
        while let Some(point) = open.pop_front() {
            let waits = matches!(begin, Begin::Waiting(_)) && locals.spots.is_empty();
            let mut see = |point: PointIndex| {
                Onto::Spot(*spot_of.entry(point).or_insert_with(|| {
                    open.push_back(point);
                    count += 1;
                    count - 1
                }))
            };
            let enter = locals.enter(program, point, waits);
            let mut replies = Vec::new();
            for reply in program.replies(&program.point(point).replies) {
                let mut update: Vec<_> = reply.update.iter().flat_map(|write| locals.write(write)).collect();
                let node = program.node(program.point(point).node);
                if let (Outcome::Success, Part::Body, Role::Act(call)) = (&reply.on, program.point(point).part, &node.role)
                    && let Some(undo) = &call.undo
                {
                    update.extend(locals.call(undo));
                }
                let edges = program.edges_of(reply).iter().map(|edge| locals.edge(program, point, edge, node, &mut see)).collect();
                let is_normal = matches!(reply.on, Outcome::Pass | Outcome::Answer | Outcome::Success);
                replies.push(Answer { is_normal, update, edges });
            }
            let at = program.replies(&program.point(point).replies).iter().position(|reply| reply.on == Outcome::Exhausted);
            let exhausted = at.map(|at| replies.remove(at)).filter(|_| !waits);
            locals.spots.push(Spot { enter, exhausted, replies });
        }
        locals
    }

    fn number(&mut self, path: &KeyPath) -> Option<u32> {
        if RESERVED.contains(&&**path.root()) {
            return None;
        }
        if let Some(number) = self.numbers.get(path) {
            return Some(*number);
        }
        let number = u32::try_from(self.paths.len()).ok()?;
        let next_root = u32::try_from(self.root_numbers.len()).ok()?;
        let root = *self.root_numbers.entry(path.root().clone()).or_insert(next_root);
        self.numbers.insert(path.clone(), number);
        self.paths.push(path.clone());
        self.roots.push(root);
        Some(number)
    }

    /// What entering a point does (language 7.1); of a point that waits, what is looked at again.
    fn enter(&mut self, program: &Program, point: PointIndex, waits: bool) -> Vec<Event> {
        let node = program.node(program.point(point).node);
        let mut events = Vec::new();
        if !waits {
            events.extend(node.entry.defaults.iter().flat_map(|write| self.write(write)).collect::<Vec<_>>());
        }
        if program.point(point).part == Part::Gate {
            if let Some(call) = program.graph_of(node).before_each.as_ref().filter(|_| !waits) {
                events.extend(self.call(call));
            }
            return events;
        }
        events.extend(node.entry.required.iter().filter_map(|path| self.number(path)).map(Event::Read));
        if !waits {
            let keys = node.entry.types.iter().filter_map(|(key, _)| KeyPath::parse(key));
            // At run time a type is held against what is there; the key itself is not asked for.
            events.extend(keys.filter_map(|path| self.number(&path)).map(Event::MayRead));
            for (guard, _) in &node.entry.asserts {
                events.extend(self.guard(guard).map(Event::Read));
            }
        }
        self.words(node, &mut events);
        match &node.role {
            Role::Act(call) if !waits => events.extend(self.call(call)),
            Role::Listen(_) => events.extend(self.shapes(node.metadata.iter())),
            Role::Act(_) | Role::Pass => {}
        }
        events
    }

    /// What a node says: its own words, or those of a locale.
    fn words(&mut self, node: &Node, events: &mut Vec<Event>) {
        let reads = node.content.iter().flat_map(|content| content.reads());
        let localised = node.localised.iter().filter_map(|(_, words)| words.content.as_ref()).flat_map(|content| content.reads());
        let is_certain = node.localised.is_empty();
        for read in reads.chain(localised).collect::<Vec<_>>() {
            let event = self.read(&read);
            events.extend(event.map(|event| match event {
                Event::Read(path) if !is_certain => Event::MayRead(path),
                event => event,
            }));
        }
    }

    fn read(&mut self, read: &Read) -> Option<Event> {
        let about = |test: &Test| match test {
            Test::Truthy(path, _) | Test::Set(path, _) | Test::Is(path, ..) => read.path.segments().starts_with(path.segments()),
            Test::Opaque => false,
        };
        if read.when.iter().any(about) {
            return None;
        }
        let path = self.number(&read.path)?;
        Some(if read.when.is_empty() { Event::Read(path) } else { Event::MayRead(path) })
    }

    fn shapes<'s>(&mut self, shapes: impl Iterator<Item = &'s Shape>) -> Vec<Event> {
        shapes.flat_map(Shape::reads).filter_map(|read| self.read(&read)).collect()
    }

    fn write(&mut self, write: &Write) -> Vec<Event> {
        let mut events = match &write.value {
            From::Shape(shape) => self.shapes(std::iter::once(shape)),
            From::Input | From::Error => Vec::new(),
        };
        let to = match &write.to {
            Place::Path(path) | Place::Append(path) => self.number(path),
            Place::Absent(key) => {
                // A default whose key is there is not evaluated.
                events.iter_mut().for_each(|event| {
                    if let Event::Read(path) = *event {
                        *event = Event::MayRead(path)
                    }
                });
                KeyPath::parse(key).and_then(|path| self.number(&path))
            }
            Place::Input | Place::Ans | Place::Error => None,
        };
        events.extend(to.map(Event::Write));
        events
    }

    fn call(&mut self, call: &Call) -> Vec<Event> {
        let mut events = self.shapes(call.args.iter().chain(&call.metadata));
        let asked = call.approve.iter().filter_map(|approve| approve.ask.as_ref()).flat_map(|ask| ask.reads());
        events.extend(asked.collect::<Vec<_>>().iter().filter_map(|read| self.read(read)));
        match &call.callee {
            Callee::Tool(_) | Callee::Graph(_) => {}
            Callee::Parallel(branches, _) => branches.iter().for_each(|(_, branch)| events.extend(self.call(branch))),
            Callee::Each(list, _) => events.extend(self.number(list).map(Event::Read)),
        }
        events
    }

    /// The path that a guard cannot do without.
    fn guard(&mut self, guard: &Guard) -> Option<u32> {
        match guard {
            Guard::Is(operand, ..) | Guard::In(operand, ..) | Guard::Truth(operand, _) if operand.root == Root::Context => {
                self.number(&operand.path)
            }
            _ => None,
        }
    }

    fn edge(&mut self, program: &Program, from: PointIndex, edge: &Edge, node: &Node, see: &mut impl FnMut(PointIndex) -> Onto) -> Onward {
        let (mut taken, mut passed) = (None, None);
        if let Guard::Set(operand, wanted) | Guard::Empty(operand, wanted) = &edge.when
            && operand.root == Root::Context
        {
            let is_there = *wanted != matches!(edge.when, Guard::Empty(..));
            let side = if is_there { &mut taken } else { &mut passed };
            *side = self.number(&operand.path);
        }
        let to = match &edge.to {
            Target::Point(point) | Target::Proceed(point) => see(*point),
            Target::Again | Target::End(Reason::Failed(Failure::NoMatch)) => Onto::Nowhere,
            Target::Rollback => program.unwound_from(from).map_or(Onto::End, see),
            Target::End(_) => Onto::End,
        };
        let end = if edge.why == Why::Terminal { self.shapes(node.output.iter()) } else { Vec::new() };
        Onward { read: self.guard(&edge.when), taken, passed, end, to }
    }
}

//! The reads and writes of each point, in order, as far as it can be reached from the begin of a search.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::route::{Onto, RouteStep, is_normal, onto};
use crate::program::{
    Call, Callee, Edge, Guard, ITEM, Listen, Node, Outcome, Part, PointIndex, Program, Provenance, Reply, Role, Root, Speech, Write,
    WriteSource, WriteTarget,
};
use trellis_base::{
    path::{KeyPath, Segment},
    schema::Schema,
    scope::RESERVED,
    template::{GuardedTest, KindSet, LOOPED, RECKONED, Read, Shape, Template},
    value::Value,
};

/// The begin of a search.
#[derive(Clone, Copy, Debug)]
pub(super) enum Begin {
    /// A point that is entered.
    Entering(PointIndex),
    /// A point that was entered, and waits.
    Waiting(PointIndex),
}

/// One thing that happens to the context. Paths are numbers, in the order in which they were met.
#[derive(Clone, Copy, Debug)]
pub(super) enum ContextEvent {
    /// A path is read, unconditionally.
    Read(u32),
    /// A key path is read on some path of edges, not on all.
    MayRead(u32),
    /// A path is written.
    Write(u32),
}

/// A point: the events of entering it, and its replies.
#[derive(Debug, Default)]
pub(super) struct LocalPoint {
    pub(super) enter: Vec<ContextEvent>,
    /// The reply that replaces entering if it was entered too often (`max_visits`).
    pub(super) exhausted: Option<LocalReply>,
    pub(super) replies: Vec<LocalReply>,
}

/// One outcome.
#[derive(Debug)]
pub(super) struct LocalReply {
    /// True if it is no failure.
    pub(super) is_normal: bool,
    pub(super) update: Vec<ContextEvent>,
    pub(super) edges: Vec<LocalEdge>,
}

/// An edge.
#[derive(Debug)]
pub(super) struct LocalEdge {
    /// The path that its guard reads.
    pub(super) read: Option<u32>,
    /// The same path, with the kind that it must have.
    pub(super) kind: Option<u32>,
    /// The path that is certainly there when it is taken, and when it is not.
    pub(super) taken: Option<u32>,
    pub(super) passed: Option<u32>,
    pub(super) end: Vec<ContextEvent>,
    pub(super) to: Onto,
}

/// Everything behind the beginning, which is the first spot.
#[derive(Debug, Default)]
pub(super) struct Locals {
    pub(super) spots: Vec<LocalPoint>,
    /// The paths: each once for its presence, and once for each kind that it must have.
    pub(super) paths: Vec<KeyPath>,
    pub(super) kinds: Vec<Option<Schema>>,
    /// A number for the first name of each path.
    pub(super) roots: Vec<u32>,
    numbers: FxHashMap<(KeyPath, Option<String>), u32>,
    root_numbers: FxHashMap<trellis_base::value::Key, u32>,
}

impl Locals {
    pub(super) fn of(program: &Program, begin: Begin) -> Self {
        let mut locals = Self::default();
        let (Begin::Entering(first) | Begin::Waiting(first)) = begin;
        let mut spot_of: FxHashMap<PointIndex, u32> = FxHashMap::default();
        let mut open = VecDeque::from([first]);
        let mut count = 1;
        // A session that waits did not enter here: edges that lead back enter its point like any other.
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
                let update = locals.update(program, point, reply);
                let edges = program.edges_of(reply).iter().map(|edge| locals.edge(program, point, edge, &mut see)).collect();
                replies.push(LocalReply { is_normal: is_normal(reply), update, edges });
            }
            let at = program.replies(&program.point(point).replies).iter().position(|reply| reply.on == Outcome::Exhausted);
            let exhausted = at.map(|at| replies.remove(at)).filter(|_| !waits);
            locals.spots.push(LocalPoint { enter, exhausted, replies });
        }
        locals
    }

    /// Collects the events along one path to an end, as if there were no other: a spot for each hop, of which the first waits.
    pub(super) fn along(program: &Program, route: &[RouteStep]) -> Self {
        let mut locals = Self::default();
        for (at, hop) in (0..).zip(route) {
            let enter = locals.enter(program, hop.point, at == 0);
            let update = locals.update(program, hop.point, hop.reply);
            let tried = &program.edges_of(hop.reply)[..=hop.edge];
            let mut edges: Vec<_> = tried.iter().map(|edge| locals.edge(program, hop.point, edge, &mut |_| Onto::Nowhere)).collect();
            if let Some(taken) = edges.last_mut() {
                taken.to = if at as usize + 1 == route.len() { Onto::End } else { Onto::Spot(at + 1) };
            }
            locals.spots.push(LocalPoint { enter, exhausted: None, replies: vec![LocalReply { is_normal: true, update, edges }] });
        }
        locals
    }

    /// Lists the writes of an outcome, and the reads of its undos.
    fn update(&mut self, program: &Program, point: PointIndex, reply: &Reply) -> Vec<ContextEvent> {
        let writes = reply.update.iter();
        let point = program.point(point);
        let (Part::Body, Role::Act(call)) = (point.part, &program.node(point.node).role) else {
            return writes.flat_map(|write| self.write(write)).collect();
        };
        let mut update = self.undos_of_branches(call, &reply.on);
        update.extend(writes.flat_map(|write| self.write(write)));
        let undo = call.undo.as_ref().filter(|_| reply.on == Outcome::Success);
        update.extend(undo.into_iter().flat_map(|undo| self.call(undo)));
        update
    }

    fn number(&mut self, path: &KeyPath) -> Option<u32> {
        self.numbered(path, None)
    }

    /// The number of a path that must be of a kind.
    fn of_kind(&mut self, path: &KeyPath, kind: &Value) -> Option<ContextEvent> {
        let schema = Schema::new(kind).ok()?;
        self.numbered(path, Some(schema)).map(ContextEvent::Read)
    }

    fn numbered(&mut self, path: &KeyPath, kind: Option<Schema>) -> Option<u32> {
        let is_given = match (&**path.root(), path.rest().first()) {
            // Keys of `sys` that the engine writes after the start.
            ("sys", Some(Segment::Key(key))) => matches!(&**key, "ans" | "error") && kind.is_none(),
            (root, _) => !RESERVED.contains(&root),
        };
        if !is_given {
            return None;
        }
        let key = (path.clone(), kind.as_ref().map(|kind| kind.source().to_json()));
        if let Some(number) = self.numbers.get(&key) {
            return Some(*number);
        }
        let number = u32::try_from(self.paths.len()).ok()?;
        let next_root = u32::try_from(self.root_numbers.len()).ok()?;
        let root = *self.root_numbers.entry(path.root().clone()).or_insert(next_root);
        self.numbers.insert(key, number);
        self.paths.push(path.clone());
        self.kinds.push(kind);
        self.roots.push(root);
        Some(number)
    }

    /// Lists the events of entering a point (language 7.1); for a point that waits, only those of reading again.
    fn enter(&mut self, program: &Program, point: PointIndex, waits: bool) -> Vec<ContextEvent> {
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
        events.extend(node.entry.required.iter().filter_map(|path| self.number(path)).map(ContextEvent::Read));
        if !waits {
            let keys = node.entry.types.iter().filter_map(|(key, _)| KeyPath::parse(key));
            // At run time a type is checked against a present value; the key itself is not required.
            events.extend(keys.filter_map(|path| self.number(&path)).map(ContextEvent::MayRead));
            for (key, schema) in &node.entry.types {
                events.extend(KeyPath::parse(key).and_then(|path| self.of_kind(&path, schema.source())));
            }
            for (guard, _) in &node.entry.asserts {
                events.extend(self.guard(guard).map(ContextEvent::Read));
                events.extend(self.truth(guard));
            }
        }
        self.words(node, &mut events);
        match &node.role {
            Role::Act(call) if !waits => events.extend(self.call(call)),
            Role::Listen(listen) => {
                self.options(node, listen, &mut events);
                events.extend(self.shapes(node.metadata.as_deref().into_iter()));
            }
            Role::Act(_) | Role::Pass => {}
        }
        events
    }

    /// Adds the reads of the content of a node: its own, or those of a locale.
    fn words(&mut self, node: &Node, events: &mut Vec<ContextEvent>) {
        let speeches = || node.content.iter().chain(node.localised.iter().filter_map(|(_, words)| words.content.as_ref()));
        let whole = |speech: &Speech| if let Speech::Text(text) = speech { text.reads() } else { Vec::new() };
        let is_certain = node.localised.is_empty();
        for part in speeches().flat_map(Speech::parts) {
            let (asked, is_asked) = (self.guard(&part.when), is_certain);
            events.extend(asked.map(|path| if is_asked { ContextEvent::Read(path) } else { ContextEvent::MayRead(path) }));
            events.extend(self.truth(&part.when).filter(|_| is_asked));
            // The reads of a part are needed only where its condition holds; the path that the condition tests is not needed at all.
            let about = part.when.operand().map(|operand| operand.path.segments());
            let reads = part.text.reads().into_iter().filter(|read| about.is_none_or(|about| !read.path.segments().starts_with(about)));
            for read in reads.collect::<Vec<_>>() {
                events.extend(self.read(&read).map(|event| match event {
                    ContextEvent::Read(path) if !is_certain || part.when != Guard::Always => ContextEvent::MayRead(path),
                    event => event,
                }));
            }
        }
        for read in speeches().flat_map(whole).collect::<Vec<_>>() {
            events.extend(self.read(&read).map(|event| match event {
                ContextEvent::Read(path) if !is_certain => ContextEvent::MayRead(path),
                event => event,
            }));
            events.extend(self.demand(&read).filter(|_| is_certain));
        }
    }

    /// Adds the reads of the options: their own words, or those of a locale.
    fn options(&mut self, node: &Node, listen: &Listen, events: &mut Vec<ContextEvent>) {
        let own = listen.options.iter().map(|choice| &choice.text);
        let localised = node.localised.iter().flat_map(|(_, words)| &words.options).map(|(_, text)| text);
        let is_certain = node.localised.is_empty();
        for read in own.chain(localised).flat_map(Template::reads).collect::<Vec<_>>() {
            events.extend(self.read(&read).map(|event| match event {
                ContextEvent::Read(path) if !is_certain => ContextEvent::MayRead(path),
                event => event,
            }));
            events.extend(self.demand(&read).filter(|_| is_certain));
        }
    }

    fn read(&mut self, read: &Read) -> Option<ContextEvent> {
        let about = |test: &GuardedTest| match test {
            GuardedTest::Truthy(path, _) | GuardedTest::Set(path, _) | GuardedTest::Is(path, ..) => {
                read.path.segments().starts_with(path.segments())
            }
            GuardedTest::Opaque => false,
        };
        if read.when.iter().any(about) {
            return None;
        }
        let path = self.number(&read.path)?;
        Some(if read.when.is_empty() { ContextEvent::Read(path) } else { ContextEvent::MayRead(path) })
    }

    /// The kind that a read cannot do without: of the others some values may do. A truth counts as one or none where it is calculated with, and a text
    /// is repeated where it is multiplied.
    fn demand(&mut self, read: &Read) -> Option<ContextEvent> {
        let demand = match read.demand? {
            KindSet::NUMBER => KindSet::NUMBER.or(KindSet::TRUTH).or(KindSet::TEXT),
            demand @ (LOOPED | RECKONED | KindSet::MAPPING) => demand,
            _ => return None,
        };
        self.of_kind(&read.path, &kind_of(&demand.types())).filter(|_| read.when.is_empty())
    }

    fn shapes<'s>(&mut self, shapes: impl Iterator<Item = &'s Shape>) -> Vec<ContextEvent> {
        let reads: Vec<Read> = shapes.flat_map(Shape::reads).collect();
        reads.iter().flat_map(|read| [self.read(read), self.demand(read)]).flatten().collect()
    }

    pub(super) fn write(&mut self, write: &Write) -> Vec<ContextEvent> {
        let mut events = match &write.value {
            WriteSource::Shape(shape) => self.shapes(std::iter::once(shape)),
            WriteSource::Input | WriteSource::Error | WriteSource::Branch(_) => Vec::new(),
        };
        let to = match &write.to {
            WriteTarget::Path(path) | WriteTarget::Append(path) => self.number(path),
            WriteTarget::Absent(key) => {
                // A default whose key is present is not evaluated.
                events.iter_mut().for_each(|event| {
                    if let ContextEvent::Read(path) = *event {
                        *event = ContextEvent::MayRead(path)
                    }
                });
                KeyPath::parse(key).and_then(|path| self.number(&path))
            }
            WriteTarget::Ans => KeyPath::parse("sys.ans").and_then(|path| self.number(&path)),
            WriteTarget::Error => KeyPath::parse("sys.error").and_then(|path| self.number(&path)),
            WriteTarget::Input => None,
        };
        events.extend(to.map(ContextEvent::Write));
        events
    }

    pub(super) fn call(&mut self, call: &Call) -> Vec<ContextEvent> {
        let mut events = self.shapes(call.args.iter().chain(&call.metadata));
        if let Some(approve) = &call.approve {
            let asked = approve.ask.iter().chain(approve.messages.iter().map(|(_, ask)| ask)).flat_map(Template::reads);
            let asked = asked.filter(|read| !matches!(call.callee, Callee::Each(..)) || &**read.path.root() != ITEM);
            let is_certain = approve.messages.is_empty();
            events.extend(asked.collect::<Vec<_>>().iter().filter_map(|read| self.read(read)).map(|event| match event {
                ContextEvent::Read(path) if !is_certain => ContextEvent::MayRead(path),
                event => event,
            }));
        }
        match &call.callee {
            Callee::Tool(tool) => events.extend(self.arguments(call, tool.parameters.as_ref())),
            Callee::Graph(_) => {}
            Callee::Parallel(branches, _) => branches.iter().for_each(|(_, branch)| events.extend(self.call(branch))),
            Callee::Each(list, _) => {
                events.extend(self.number(list).map(ContextEvent::Read));
                events.extend(self.of_kind(list, &kind_of(&["array"])));
            }
        }
        events
    }

    /// Lists the requirements of a tool on the arguments that are bare paths.
    fn arguments(&mut self, call: &Call, takes: Option<&Schema>) -> Vec<ContextEvent> {
        let properties = takes.and_then(|takes| takes.source().as_map()?.get("properties")?.as_map());
        let (Some(properties), Some(Shape::Map(entries))) = (properties, &call.args) else { return Vec::new() };
        let given = entries.iter().filter_map(|(key, shape)| match &shape.value {
            Shape::Expression(expression) => Some((expression.path()?, properties.get(&key.value)?)),
            _ => None,
        });
        given.filter_map(|((path, _), kind)| self.of_kind(path, kind)).collect()
    }

    /// The kind of a path that a guard takes for a truth (language 6.1).
    fn truth(&mut self, guard: &Guard) -> Option<ContextEvent> {
        match guard {
            Guard::Truth(operand, _) if operand.root == Root::Context => self.of_kind(&operand.path, &kind_of(&["boolean"])),
            _ => None,
        }
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

    fn edge(&mut self, program: &Program, from: PointIndex, edge: &Edge, see: &mut impl FnMut(PointIndex) -> Onto) -> LocalEdge {
        let node = program.node(program.point(from).node);
        let (mut taken, mut passed) = (None, None);
        if let Guard::Set(operand, wanted) | Guard::Empty(operand, wanted) = &edge.when
            && operand.root == Root::Context
        {
            let is_there = *wanted != matches!(edge.when, Guard::Empty(..));
            let side = if is_there { &mut taken } else { &mut passed };
            *side = self.number(&operand.path);
        }
        let to = onto(program, from, edge, see);
        let mut end = if edge.why == Provenance::Terminal { self.shapes(node.output.as_deref().into_iter()) } else { Vec::new() };
        if edge.why == Provenance::Terminal {
            let reason: Vec<Read> = node.reason.iter().flat_map(Template::reads).collect();
            end.extend(reason.iter().flat_map(|read| [self.read(read), self.demand(read)]).flatten());
        }
        let kind = self.truth(&edge.when).and_then(|event| if let ContextEvent::Read(path) = event { Some(path) } else { None });
        LocalEdge { read: self.guard(&edge.when), kind, taken, passed, end, to }
    }
}

/// The schema of values of some types.
fn kind_of(types: &[&str]) -> Value {
    Value::map([("type", Value::list(types.iter().map(|name| Value::text(*name))))])
}

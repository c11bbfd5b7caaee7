//! What can be at each point: a forward fixed point over the ways (language 8.1, 8.2).
//!
//! Each point holds a type for each key that anything reads. The guards and writes are those that the engine takes; types stand for values.
//!
//! **Invariant:** each concrete state of a session at a point is among what is possible there.

use rustc_hash::FxHashMap;

use super::{
    accident::{Accident, Candidate},
    facts::{Facts, INPUT, RESULT, Slot},
    script::{FOLLOWED, Op, Script},
    shapes,
    types::{TypeId, Types},
};
use crate::{
    path::{KeyPath, Segment},
    program::{
        Call, Callee, Edge, Failure, From, Guard, NodeIndex, Operand, Outcome, Place, PointIndex, Program, Reason, Role, Root, Target,
    },
    template::Shape,
};

/// What is known, point by point.
pub(super) struct Knowledge<'a, 'p> {
    pub(super) program: &'p Program,
    pub(super) script: &'a Script<'p>,
    pub(super) types: Types,
    at: Vec<Option<Facts>>,
    /// Points whose file has mistakes: what they do is not known.
    wild: &'a [bool],
    /// What each node returns when it is called as a child, and where it may end.
    children: std::collections::BTreeMap<NodeIndex, Child>,
    answers: FxHashMap<PointIndex, TypeId>,
    literals: FxHashMap<*const Shape, TypeId>,
    error: TypeId,
    is_set: Guard,
    changed: Vec<u32>,
    gathered: Option<Gathered>,
}

/// A node that is called as a child (language 5.4).
pub(super) struct Child {
    /// What it was seen to return.
    output: TypeId,
    /// Who calls it.
    callers: Vec<u32>,
    /// The points that a session of its own can reach.
    inside: Vec<bool>,
}

/// What a last look over the fixed point gathers.
#[derive(Default)]
pub(super) struct Gathered {
    pub(super) candidates: Vec<Candidate>,
    /// Places of whose values nothing is known.
    pub(super) unchecked: Vec<Unknown>,
    /// Conditions that were looked at.
    pub(super) edges: std::collections::BTreeMap<u32, EdgeSeen>,
    /// What was there when a reply began to choose, of those that may find no way.
    pub(super) replies: std::collections::BTreeMap<u32, Facts>,
    /// Nodes that are called as children, with their arguments.
    pub(super) called: Vec<(PointIndex, TypeId)>,
}

/// A place of whose value nothing is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Unknown {
    Site(u32),
    Op(u32, PointIndex),
}

/// What was seen of a condition.
pub(super) struct EdgeSeen {
    pub(super) point: PointIndex,
    pub(super) holds: bool,
    /// What its operand can be.
    pub(super) operand: TypeId,
}

impl<'a, 'p> Knowledge<'a, 'p> {
    pub(super) fn new(script: &'a Script<'p>, wild: &'a [bool]) -> Self {
        let program = script.program;
        let mut types = Types::new();
        let error = shapes::error(&mut types);
        let path = KeyPath::new(vec![Segment::Key("input".into())]).unwrap_or_else(|| unreachable!("`input` is a path"));
        let mut known = Self {
            program,
            script,
            types,
            at: vec![None; program.points.len()],
            wild,
            children: std::collections::BTreeMap::new(),
            answers: FxHashMap::default(),
            literals: FxHashMap::default(),
            error,
            is_set: Guard::Set(Operand { root: Root::Input, path }, true),
            changed: Vec::new(),
            gathered: None,
        };
        known.solve();
        known
    }

    /// What is known on entering a point; nothing where no session comes.
    pub(super) fn at(&self, point: PointIndex) -> Option<&Facts> {
        self.at[point.0 as usize].as_ref()
    }

    /// What is known while a session stands at a point: behind all that entering it does.
    pub(super) fn standing(&mut self, point: PointIndex) -> Option<Facts> {
        let mut facts = self.at(point)?.clone();
        let lives = self.happen(point, &mut facts, self.script.entering(point), &mut Vec::new());
        lives.then_some(facts)
    }

    /// What a node returns when it is called as a child.
    pub(super) fn output(&self, node: NodeIndex) -> TypeId {
        self.children.get(&node).map_or(TypeId::NEVER, |child| child.output)
    }

    /// Looks once more over everything that is known, and gives what may go wrong.
    pub(super) fn gather(&mut self) -> Gathered {
        self.gathered = Some(Gathered::default());
        for point in 0..self.at.len() {
            if self.at[point].is_some() && !self.wild[point] {
                self.flow(PointIndex(u32::try_from(point).unwrap_or(u32::MAX)));
            }
        }
        self.gathered.take().unwrap_or_default()
    }

    /// Runs to the fixed point, in sweeps over the points in the order in which they were first reached.
    fn solve(&mut self) {
        let entry = self.program.entry();
        let facts = self.begin(entry.index);
        let mut queue = std::collections::VecDeque::from([entry.gate.unwrap_or(entry.body).0]);
        self.meet(entry.gate.unwrap_or(entry.body), &facts);
        let mut queued = vec![false; self.at.len()];
        while let Some(point) = queue.pop_front() {
            queued[point as usize] = false;
            for (to, facts) in self.flow(PointIndex(point)) {
                if self.meet(to, &facts) && !std::mem::replace(&mut queued[to.0 as usize], true) {
                    queue.push_back(to.0);
                }
            }
            for caller in std::mem::take(&mut self.changed) {
                if !std::mem::replace(&mut queued[caller as usize], true) {
                    queue.push_back(caller);
                }
            }
        }
    }

    fn meet(&mut self, point: PointIndex, facts: &Facts) -> bool {
        match &mut self.at[point.0 as usize] {
            Some(known) => known.join(facts, &mut self.types),
            unknown => {
                *unknown = Some(facts.clone());
                true
            }
        }
    }

    /// What a session begins with: the inputs of the graph, and what its entry declares (language 7.1).
    fn begin(&mut self, entry: NodeIndex) -> Facts {
        let program = self.program;
        let mut facts = Facts::all(TypeId::ABSENT, self.script.slots());
        let node = program.node(entry);
        // A host may give what has a default; nobody else brings what nothing declares.
        for write in program.nodes.iter().flat_map(|node| &node.entry.defaults) {
            if let Place::Absent(key) = &write.to
                && let Some(slot) = self.script.slot(key)
            {
                facts.set(slot, TypeId::EITHER);
            }
        }
        if let Some(schema) = &program.graph_of(node).inputs {
            let whole = self.types.of_schema(schema.source());
            let of = self.types.get(whole).fields.clone();
            for (key, of) in of.into_iter().flat_map(|fields| fields.named) {
                if let Some(slot) = self.script.slot(&key) {
                    facts.set(slot, of);
                }
            }
        }
        self.declared(node, &mut facts);
        facts
    }

    /// Declared inputs are there: a start without them is refused.
    fn declared(&mut self, node: &'p crate::program::Node, facts: &mut Facts) {
        for (key, schema) in &node.entry.types {
            if let Some(slot) = self.script.slot(key) {
                let (known, declared) = (facts.get(slot), self.types.of_schema(schema.source()));
                let known = self.types.present(known);
                let known = if known == TypeId::NEVER { declared } else { self.types.met(known, declared) };
                facts.set(slot, known);
            }
        }
        for path in &node.entry.required {
            if let Some((slot, rest)) = self.script.at(path) {
                let known = self.types.present(facts.get(slot));
                let known = if known == TypeId::NEVER { TypeId::ANY } else { known };
                facts.set(slot, known);
                self.be_set(facts, slot, rest);
            }
        }
    }

    /// Everything that leads on from a point, with what is known there.
    fn flow(&mut self, point: PointIndex) -> Vec<(PointIndex, Facts)> {
        let mut onward = Vec::new();
        let Some(incoming) = self.at[point.0 as usize].clone() else { return onward };
        let program = self.program;
        if self.wild[point.0 as usize] {
            let nothing = Facts::all(TypeId::OPEN, self.script.slots());
            super::successors(program, point, &mut |to| onward.push((to, nothing.clone())));
            return onward;
        }
        let mut facts = incoming.clone();
        let lives = self.happen(point, &mut facts, self.script.entering(point), &mut onward);
        for on in program.point(point).replies.clone() {
            let reply = &program.replies[on as usize];
            let mut facts = if reply.on == Outcome::Exhausted { incoming.clone() } else { facts.clone() };
            if !lives && reply.on != Outcome::Exhausted {
                continue;
            }
            self.answered(point, &reply.on, &mut facts);
            if self.happen(point, &mut facts, self.script.replying(on), &mut onward) {
                self.choose(point, on, facts, &mut onward);
            }
        }
        onward
    }

    fn choose(&mut self, point: PointIndex, on: u32, mut facts: Facts, onward: &mut Vec<(PointIndex, Facts)>) {
        let program = self.program;
        let before = facts.clone();
        for at in program.replies[on as usize].edges.clone() {
            let edge: &Edge = &program.edges[at as usize];
            if edge.to == Target::End(Reason::Failed(Failure::NoMatch)) {
                self.suspect(point, Accident::NoMatch(on), false, TypeId::NEVER);
                self.gathered.iter_mut().for_each(|gathered| drop(gathered.replies.insert(on, before.clone())));
            }
            if edge.when == Guard::Always {
                self.follow(point, edge, facts, onward);
                return;
            }
            self.look(point, at, &edge.when, &before);
            for site in self.script.guarded(at) {
                self.read(point, &mut facts, site, Some(&edge.when));
            }
            if let Some(taken) = self.assumed(&facts, &edge.when, true) {
                self.follow(point, edge, taken, onward);
            }
            match self.assumed(&facts, &edge.when, false) {
                Some(left) => facts = left,
                None => return,
            }
        }
    }

    fn follow(&mut self, point: PointIndex, edge: &'p Edge, mut facts: Facts, onward: &mut Vec<(PointIndex, Facts)>) {
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
    fn look(&mut self, point: PointIndex, at: u32, guard: &Guard, facts: &Facts) {
        if self.gathered.is_none() {
            return;
        }
        let (Guard::Is(operand, ..) | Guard::In(operand, ..) | Guard::Truth(operand, _)) = guard else { return };
        let Some(known) = self.known(facts, &operand.path) else { return };
        let holds = self.assumed(facts, guard, true).is_some();
        if let Some(gathered) = &mut self.gathered {
            let seen = gathered.edges.entry(at).or_insert(EdgeSeen { point, holds: false, operand: TypeId::NEVER });
            seen.holds |= holds;
            seen.operand = self.types.join(seen.operand, known);
        }
    }

    /// What stands at a path; nothing for what the engine always knows.
    pub(super) fn known(&mut self, facts: &Facts, path: &KeyPath) -> Option<TypeId> {
        let (slot, rest) = self.script.at(path)?;
        Some(self.types.below(facts.get(slot), rest))
    }

    /// What is left when a guard comes to `truth`; nothing where it cannot.
    pub(super) fn assumed(&mut self, facts: &Facts, guard: &Guard, truth: bool) -> Option<Facts> {
        let Some(operand) = guard.operand() else {
            return (*guard != Guard::Always || truth).then(|| facts.clone());
        };
        let Some((slot, rest)) = self.script.at(&operand.path) else { return Some(facts.clone()) };
        let known = facts.get(slot);
        let left = self.types.narrowed_below(known, rest, guard, truth);
        if left == TypeId::NEVER {
            return None;
        }
        let mut facts = facts.clone();
        facts.set(slot, left);
        Some(facts)
    }

    /// What is read is there from then on.
    fn be_set(&mut self, facts: &mut Facts, slot: Slot, rest: &[Segment]) {
        let known = facts.get(slot);
        let left = self.types.narrowed_below(known, rest, &self.is_set, true);
        facts.set(slot, if left == TypeId::NEVER { TypeId::ANY } else { left });
    }

    /// Whether a session can come past what happens.
    fn happen(&mut self, point: PointIndex, facts: &mut Facts, ops: std::ops::Range<u32>, onward: &mut Vec<(PointIndex, Facts)>) -> bool {
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
                    if self.types.breaks(known, schema, true) {
                        self.suspect(point, Accident::Unfit(at), false, known);
                    }
                    if self.is_unknown(known) {
                        self.unknown(Unknown::Op(at, point));
                    }
                    let declared = self.types.of_schema(schema.source());
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
                    if let Some(operand) = guard.operand()
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

    /// Arguments are checked against what is called; a child begins with them.
    fn call(&mut self, point: PointIndex, at: u32, facts: &Facts, call: &'p Call, onward: &mut Vec<(PointIndex, Facts)>) {
        let args = call.args.as_ref().map_or(TypeId::NEVER, |args| self.shape(facts, args));
        match &call.callee {
            Callee::Tool(tool) => {
                if let Some(schema) = tool.parameters.as_ref().filter(|_| self.gathered.is_some() && call.args.is_some())
                    && self.types.breaks(args, schema, false)
                {
                    self.suspect(point, Accident::Args(at), false, args);
                }
            }
            Callee::Graph(node) => {
                let node = self.program.node(*node);
                let mut begins = Facts::all(TypeId::ABSENT, self.script.slots());
                let fields = self.types.get(args).fields.clone();
                for (key, of) in fields.into_iter().flat_map(|fields| fields.named) {
                    if let Some(slot) = self.script.slot(&key) {
                        begins.set(slot, of);
                    }
                }
                self.declared(node, &mut begins);
                let entry = node.gate.unwrap_or(node.body);
                if let Some(gathered) = &mut self.gathered {
                    gathered.called.push((entry, args));
                }
                self.calls(node.index, entry, point);
                onward.push((entry, begins));
            }
            Callee::Parallel(..) | Callee::Each(..) => {}
        }
    }

    /// Remembers who calls a child; where it may end is looked at again with the child in mind.
    fn calls(&mut self, child: NodeIndex, entry: PointIndex, caller: PointIndex) {
        let (program, at) = (self.program, &self.at);
        let changed = &mut self.changed;
        let child = self.children.entry(child).or_insert_with(|| {
            let inside = super::inside(program, entry);
            let ends = (0..).zip(&inside).filter(|(point, inside)| **inside && at[*point as usize].is_some());
            changed.extend(ends.map(|(point, _)| point));
            Child { output: TypeId::NEVER, callers: Vec::new(), inside }
        });
        if !child.callers.contains(&caller.0) {
            child.callers.push(caller.0);
        }
    }

    /// A terminal was reached: whoever called a child that may end here gets its output.
    fn return_from(&mut self, point: PointIndex, facts: &Facts) {
        if self.children.is_empty() {
            return;
        }
        let node = self.program.node(self.program.point(point).node);
        let output = match &node.output {
            Some(shape) => self.shape(facts, shape),
            None => self.types.of_value(&crate::value::Value::Null),
        };
        let output = self.types.present(output);
        for child in self.children.values_mut().filter(|child| child.inside[point.0 as usize]) {
            let joined = self.types.join(child.output, output);
            if joined != child.output {
                child.output = joined;
                self.changed.extend(&child.callers);
            }
        }
    }

    fn read(&mut self, point: PointIndex, facts: &mut Facts, site: u32, guard: Option<&Guard>) {
        let of = &self.script.sites[site as usize];
        let Some((slot, rest)) = of.at else {
            if of.is_deep() {
                self.unknown(Unknown::Site(site));
            }
            return;
        };
        let known = self.types.below(facts.get(slot), rest);
        let is_absent = self.types.may_be_absent(known);
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
        if of.is_certain() {
            self.be_set(facts, slot, rest);
        }
    }

    fn write(&mut self, point: PointIndex, op: u32, facts: &mut Facts, write: &'p crate::program::Write, to: (Slot, &[Segment])) -> bool {
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

    /// What a write puts at its place.
    fn source(&mut self, point: PointIndex, facts: &Facts, write: &'p crate::program::Write) -> TypeId {
        match &write.value {
            From::Shape(shape) => self.shape(facts, shape),
            From::Error => self.error,
            From::Input => self.answer(point),
        }
    }

    /// What a shape comes to.
    fn shape(&mut self, facts: &Facts, shape: &'p Shape) -> TypeId {
        match shape {
            Shape::Literal(value) => {
                if let Some(known) = self.literals.get(&std::ptr::from_ref(shape)) {
                    return *known;
                }
                let of = self.types.of_value(value);
                self.literals.insert(std::ptr::from_ref(shape), of);
                of
            }
            Shape::Text(_) => self.types.text(),
            Shape::List(items) => {
                let items = items.iter().fold(TypeId::NEVER, |known, item| {
                    let item = self.shape(facts, &item.value);
                    let item = self.types.present(item);
                    self.types.join(known, item)
                });
                self.types.list(items)
            }
            Shape::Map(entries) => {
                let entries: Vec<_> = entries.iter().map(|(key, shape)| (key.value.clone(), self.shape(facts, &shape.value))).collect();
                self.types.mapping(entries)
            }
            Shape::Expression(expression) => match expression.path() {
                Some((path, optional)) => {
                    let Some(known) = self.known(facts, path) else { return TypeId::ANY };
                    match optional {
                        true if self.types.get(known).open => TypeId::EITHER,
                        true => known,
                        false => self.types.present(known),
                    }
                }
                None if expression.is_optional() => TypeId::EITHER,
                None => TypeId::ANY,
            },
        }
    }

    /// An accepted input, or a successful result, at a point.
    fn answer(&mut self, point: PointIndex) -> TypeId {
        let node = self.program.node(self.program.point(point).node);
        let call = shapes::call_at(self.program, point);
        if let Some(Callee::Graph(child)) = call.map(|call| &call.callee) {
            let output = self.output(*child);
            return call.into_iter().flat_map(|call| &call.returns).fold(output, |known, schema| {
                let declared = self.types.of_schema(schema.source());
                self.types.met(known, declared)
            });
        }
        if let Some(known) = self.answers.get(&point) {
            return *known;
        }
        let of = match (&node.role, call) {
            (_, Some(call)) => shapes::returned(&mut self.types, call),
            (Role::Listen(listen), None) => shapes::input(&mut self.types, listen),
            _ => TypeId::ANY,
        };
        self.answers.insert(point, of);
        of
    }

    fn answered(&mut self, point: PointIndex, on: &Outcome, facts: &mut Facts) {
        if !self.script.reads_input {
            return;
        }
        let node = self.program.node(self.program.point(point).node);
        match (on, &node.role) {
            (Outcome::Answer, Role::Listen(listen)) if listen.sleep.is_none() => {
                let of = self.answer(point);
                facts.set(INPUT, of);
            }
            (Outcome::Success, _) => {
                let of = self.answer(point);
                facts.set(INPUT, of);
                facts.set(RESULT, of);
            }
            _ => {}
        }
    }

    fn unknown(&mut self, place: Unknown) {
        self.gathered.iter_mut().for_each(|gathered| gathered.unchecked.push(place));
    }

    fn is_unknown(&self, of: TypeId) -> bool {
        let of = self.types.get(of);
        of.any || of.open
    }

    fn suspect(&mut self, point: PointIndex, accident: Accident, never: bool, seen: TypeId) {
        if let Some(gathered) = &mut self.gathered {
            gathered.candidates.push(Candidate { point, accident, never, seen });
        }
    }
}

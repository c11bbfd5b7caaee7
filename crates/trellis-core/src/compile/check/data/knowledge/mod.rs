//! What can be at each point: a forward fixed point over the ways (language 8.1, 8.2).
//!
//! Each point holds a type for each key that anything reads. The guards and writes are those that the engine takes; types stand for values.
//!
//! **Invariant:** each concrete state of a session at a point is among what is possible there.

mod choose;
mod happen;
mod values;

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use super::super::flow::Flow;
use super::{
    accident::{Accident, Candidate},
    facts::{Facts, INPUT, RESULT, Slot},
    script::{At, FOLLOWED, Op, Script, VISITS},
    shapes,
    types::{TypeId, Types},
};
use crate::{
    path::{KeyPath, Segment},
    program::{
        Call, Callee, Edge, Failure, From, Guard, Node, NodeIndex, Operand, Outcome, Place, PointIndex, Program, Reason, Role, Root, Target,
    },
    schema::Schema,
    template::Shape,
    value::Value,
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
    children: BTreeMap<NodeIndex, Child>,
    answers: FxHashMap<PointIndex, TypeId>,
    literals: FxHashMap<*const Shape, TypeId>,
    error: TypeId,
    /// Kept where it is, so that what it narrows is remembered.
    is_set: Box<Guard>,
    changed: Vec<u32>,
    gathered: Option<Gathered>,
}

/// Says of a schema that every value it leaves is made from its parts: where none fits, there is none.
pub(super) const ALL_OF_IT: &str = "x-all-of-it";

/// A node that is called as a child (language 5.4).
pub(super) struct Child {
    /// What it was seen to return, all in all and end by end.
    output: TypeId,
    ends: BTreeMap<PointIndex, TypeId>,
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
    pub(super) edges: BTreeMap<u32, EdgeSeen>,
    /// What was there when a reply began to choose, of those that may find no way.
    pub(super) replies: BTreeMap<u32, Facts>,
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
    pub(super) fn new(script: &'a Script<'p>, wild: &'a [bool], flow: &Flow<'_>) -> Self {
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
            children: BTreeMap::new(),
            answers: FxHashMap::default(),
            literals: FxHashMap::default(),
            error,
            is_set: Box::new(Guard::Set(Operand { root: Root::Input, path }, true)),
            changed: Vec::new(),
            gathered: None,
        };
        known.solve(flow);
        known
    }

    /// What is known on entering a point; nothing where no session comes.
    pub(super) fn at(&self, point: PointIndex) -> Option<&Facts> {
        self.at[point.0 as usize].as_ref()
    }

    /// What is known while a session stands at a point: behind all that entering it does.
    pub(super) fn standing(&mut self, point: PointIndex) -> Option<Facts> {
        let mut facts = self.at(point)?.clone();
        self.count(point, &mut facts);
        let lives = self.happen(point, &mut facts, self.script.entering(point), &mut Vec::new());
        lives.then_some(facts)
    }

    /// What a node returns when it is called as a child.
    pub(super) fn output(&self, node: NodeIndex) -> TypeId {
        self.children.get(&node).map_or(TypeId::NEVER, |child| child.output)
    }

    /// The same as a schema: what one end returns and what another does are not mixed.
    pub(super) fn output_schema(&self, node: NodeIndex) -> Value {
        let ends = self.children.get(&node).map(|child| child.ends.values().collect::<BTreeSet<_>>()).unwrap_or_default();
        match ends.len() {
            0 | 1 => self.types.to_schema(self.output(node)),
            _ => {
                Value::map([("anyOf", Value::list(ends.into_iter().map(|end| self.types.to_schema(*end)))), (ALL_OF_IT, Value::Bool(true))])
            }
        }
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

    /// Runs to the fixed point, in sweeps over the points in an order in which, but for loops, each comes behind all that lead to it.
    fn solve(&mut self, flow: &Flow<'_>) {
        let entry = self.program.entry();
        let first = entry.gate.unwrap_or(entry.body);
        let facts = self.begin(entry.index);
        self.meet(first, &facts);
        let order = flow.order(first.0);
        let mut waiting = vec![false; self.at.len()];
        waiting[first.0 as usize] = true;
        let mut left = 1_usize;
        while left > 0 {
            for point in &order {
                if !std::mem::replace(&mut waiting[*point as usize], false) {
                    continue;
                }
                left -= 1;
                for (to, facts) in self.flow(PointIndex(*point)) {
                    if self.meet(to, &facts) && !std::mem::replace(&mut waiting[to.0 as usize], true) {
                        left += 1;
                    }
                }
                for caller in std::mem::take(&mut self.changed) {
                    left += usize::from(!std::mem::replace(&mut waiting[caller as usize], true));
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
            let whole = self.types.declared(schema);
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

    /// Declared inputs are there: a start without them is refused, unless entering the node brings them.
    fn declared(&mut self, node: &'p Node, facts: &mut Facts) {
        let graph = self.program.graph_of(node);
        for (key, schema) in &node.entry.types {
            if let Some(slot) = self.script.slot(key) {
                let (given, declared) = (facts.get(slot), self.types.declared(schema));
                let given = self.types.present(given);
                let known = if given == TypeId::NEVER { declared } else { self.types.met(given, declared) };
                let known = if node.brings(graph, key) { self.types.join(known, TypeId::ABSENT) } else { known };
                facts.set(slot, known);
            }
        }
        for path in node.entry.required.iter().filter(|path| !node.brings(graph, path.root())) {
            if let Some((slot, rest)) = self.script.at(path) {
                let known = self.types.present(facts.get(slot));
                let known = if known == TypeId::NEVER { TypeId::ANY } else { known };
                facts.set(slot, known);
                self.be_set(facts, slot, rest);
            }
        }
    }

    /// The engine counts the entries of nodes that admit so many.
    fn count(&mut self, point: PointIndex, facts: &mut Facts) {
        if let Some(slot) = self.script.slot(VISITS) {
            let counts = self.program.node(self.program.point(point).node).entry.max_visits.is_some();
            facts.set(slot, if counts { self.types.integer() } else { TypeId::ABSENT });
        }
    }

    /// Everything that leads on from a point, with what is known there.
    fn flow(&mut self, point: PointIndex) -> Vec<(PointIndex, Facts)> {
        let mut onward = Vec::new();
        let Some(mut incoming) = self.at[point.0 as usize].clone() else { return onward };
        let program = self.program;
        self.count(point, &mut incoming);
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
}

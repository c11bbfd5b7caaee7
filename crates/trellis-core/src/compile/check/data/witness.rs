//! The shortest way to an accident, searched over values that are chosen last (language 8.3).
//!
//! The fixed point only nominates. A candidate is searched breadth first from where contexts begin; a way that the engine then really walks into the
//! accident is its witness.
//!
//! **Invariant:** no way is given that the engine did not walk.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    rc::Rc,
    sync::Arc,
};

use super::{
    paths::names,
    presence::{Candidate, Given, Origin},
    replay,
    script::{self, Op, Site},
    shapes,
    symbols::{self, Found, Sym, Vars},
};
use crate::{
    id::SignalName,
    path::KeyPath,
    program::{Edge, From, Guard, Outcome, Place, PointIndex, Program, Reply, Role, Root, Target, Truth, Way, Write},
    template::{Shape, Test},
    value::Key,
};

/// States that one search looks at, and all searches of a compilation together.
const BUDGET: usize = 2_000;
pub(super) const BUDGET_OF_ALL: usize = 20_000;

/// Ways that are tried on the engine.
const TRIES: usize = 8;

/// What a search came to.
pub(super) enum Verdict {
    /// The engine walked this way into the accident.
    Proved(Vec<Hop>),
    /// There is no such way.
    Refuted,
    /// The budget was spent, or no way that was found could be walked.
    Open,
}

/// One step of a way: the reply that was taken at a point, and the edge.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hop {
    pub(super) point: PointIndex,
    pub(super) on: u32,
    pub(super) edge: u32,
}

/// What is handed in for a step.
#[derive(Clone, Debug)]
pub(super) enum Given1 {
    Pass,
    Answer(Sym),
    Success(Sym),
    Invalid,
    Error,
    Timeout,
    Denied,
    Signal(SignalName),
}

/// One step of a way, as the engine will be asked to take it.
#[derive(Clone, Debug)]
pub(super) struct Move {
    pub(super) given: Given1,
    /// What predicates answer.
    pub(super) answers: BTreeMap<u32, bool>,
}

/// How a way begins.
#[derive(Clone)]
pub(super) struct Beginning {
    pub(super) point: PointIndex,
    pub(super) is_entry: bool,
    pub(super) context: BTreeMap<Key, Sym>,
}

/// A session that is searched: where it waits, and what it knows.
#[derive(Clone)]
struct Scene {
    point: PointIndex,
    context: Rc<BTreeMap<Key, Sym>>,
    ans: Option<Sym>,
    error: Option<Sym>,
    unwound: bool,
    vars: Vars,
    input: Option<Sym>,
    result: Option<Sym>,
}

/// A scene with how it was reached.
struct Reached {
    scene: Scene,
    from: Option<(usize, Hop, Move)>,
    beginning: usize,
}

/// What became of doing something in a scene.
enum Done {
    On,
    /// The session ends otherwise: no way leads through here.
    Dead,
    Accident,
}

pub(super) struct Search<'s, 'p> {
    pub(super) program: &'p Arc<Program>,
    pub(super) origins: &'s [Origin<'p>],
    pub(super) entering: &'s [Vec<Op<'p>>],
    pub(super) candidate: &'s Candidate,
    /// Whether the path may still be absent at a point from which the accident can be reached.
    pub(super) leads: &'s dyn Fn(PointIndex) -> bool,
    /// Paths that guards ask about: what is known of others tells no ways apart.
    pub(super) asked: &'s BTreeSet<KeyPath>,
}

impl Search<'_, '_> {
    /// Searches; takes the states that it looks at from `budget`.
    pub(super) fn run(&self, budget: &mut usize) -> Verdict {
        let mut reached: Vec<Reached> = Vec::new();
        let mut beginnings = Vec::new();
        let mut queue = VecDeque::new();
        let mut seen = BTreeSet::new();
        let mut tries = 0;
        for origin in self.origins {
            if !(self.leads)(origin.point) {
                continue;
            }
            let (scene, beginning) = self.begin(origin);
            beginnings.push(beginning);
            let mut scene = scene;
            match self.enter(&mut scene, origin.point) {
                Done::On => {
                    if seen.insert(self.sketch(&scene)) {
                        queue.push_back(reached.len());
                        reached.push(Reached { scene, from: None, beginning: beginnings.len() - 1 });
                    }
                }
                Done::Dead => {}
                Done::Accident => {
                    tries += 1;
                    if let Some(beginning) = beginnings.last()
                        && replay::walks(self.program, self.candidate, beginning, &[], &scene.vars)
                    {
                        return Verdict::Proved(Vec::new());
                    }
                }
            }
        }
        let mut looked = 0;
        while let Some(at) = queue.pop_front() {
            looked += 1;
            if looked > BUDGET || *budget == 0 {
                return Verdict::Open;
            }
            *budget -= 1;
            for (mut next, hop, step, done) in self.steps(&reached[at].scene) {
                // An accident before the edge was taken is none of the edge's.
                let followed = matches!(done, Done::On);
                let done = match done {
                    Done::On => match self.target(&mut next, hop) {
                        Some(done) => done,
                        None => continue,
                    },
                    other => other,
                };
                match done {
                    Done::Dead => {}
                    Done::On => {
                        if (self.leads)(next.point) && seen.insert(self.sketch(&next)) {
                            queue.push_back(reached.len());
                            let beginning = reached[at].beginning;
                            reached.push(Reached { scene: next, from: Some((at, hop, step)), beginning });
                        }
                    }
                    Done::Accident => {
                        tries += 1;
                        let (mut hops, mut moves) = (if followed { vec![hop] } else { Vec::new() }, vec![step]);
                        let mut back = at;
                        while let Some((before, hop, step)) = &reached[back].from {
                            hops.push(*hop);
                            moves.push(step.clone());
                            back = *before;
                        }
                        hops.reverse();
                        moves.reverse();
                        if replay::walks(self.program, self.candidate, &beginnings[reached[at].beginning], &moves, &next.vars) {
                            return Verdict::Proved(hops);
                        }
                        if tries >= TRIES {
                            return Verdict::Open;
                        }
                    }
                }
            }
        }
        if tries > 0 { Verdict::Open } else { Verdict::Refuted }
    }

    fn begin(&self, origin: &Origin<'_>) -> (Scene, Beginning) {
        let program = self.program;
        let mut vars = Vars::default();
        let mut context = BTreeMap::new();
        let node = program.node(program.point(origin.point).node);
        match origin.given {
            Given::Inputs => {
                let inputs = program.root().inputs.as_ref().map(|schema| schema.source());
                for (key, part) in inputs.map(shapes::properties).into_iter().flatten() {
                    let is_wanted = names(&self.candidate.site.path).0.first().is_some_and(|root| root == key);
                    if part.presence().absent && is_wanted {
                        continue;
                    }
                    let schema = match part {
                        shapes::Part::Schema(schema) | shapes::Part::Optional(schema) => crate::schema::Schema::new(schema).ok(),
                        _ => None,
                    };
                    context.insert(Key::from(key), vars.fitting(schema.as_slice()));
                }
            }
            Given::Args(Some(Shape::Map(entries))) => {
                for (key, shape) in entries {
                    let sym = match &shape.value {
                        Shape::Literal(value) => Sym::Known(value.clone()),
                        _ => vars.fitting(&[]),
                    };
                    let is_wanted = names(&self.candidate.site.path).0 == [key.value.to_string()];
                    if !(shapes::Part::of_shape(&shape.value).presence().absent && is_wanted) {
                        context.insert(key.value.clone(), sym);
                    }
                }
            }
            Given::Args(Some(Shape::Literal(crate::value::Value::Map(entries)))) => {
                context.extend(entries.iter().map(|(key, value)| (key.clone(), Sym::Known(value.clone()))));
            }
            Given::Args(_) => {}
        }
        for (key, schema) in &node.entry.types {
            let sym = vars.fitting(std::slice::from_ref(schema));
            context.entry(key.clone()).or_insert(sym);
        }
        for path in &node.entry.required {
            if !context.contains_key(path.root()) {
                let sym = vars.fitting(&[]);
                symbols::write(&mut context, path, sym);
            }
        }
        let is_entry = matches!(origin.given, Given::Inputs);
        let scene = Scene {
            point: origin.point,
            context: Rc::new(context.clone()),
            ans: None,
            error: None,
            unwound: false,
            vars,
            input: None,
            result: None,
        };
        (scene, Beginning { point: origin.point, is_entry, context })
    }

    /// What is told apart: the point, and what is known of the paths that matter.
    fn sketch(&self, scene: &Scene) -> (u32, Vec<String>) {
        let mut scene = scene.clone();
        let paths = self.asked.iter().chain([&self.candidate.site.path]);
        let known = paths.map(|path| match scene.look(path, false) {
            Found::There(sym) => scene.vars.sketch(&sym),
            Found::Absent => "-".to_owned(),
        });
        let known = known.collect();
        (scene.point.0, known)
    }

    fn is_goal(&self, point: PointIndex, site: &Site) -> bool {
        point == self.candidate.point && *site == self.candidate.site
    }

    fn enter(&self, scene: &mut Scene, point: PointIndex) -> Done {
        scene.point = point;
        (scene.input, scene.result) = (None, None);
        self.all(scene, point, &self.entering[point.0 as usize])
    }

    fn all(&self, scene: &mut Scene, point: PointIndex, ops: &[Op<'_>]) -> Done {
        for op in ops {
            match self.happen(scene, point, op) {
                Done::On => {}
                done => return done,
            }
        }
        Done::On
    }

    fn happen(&self, scene: &mut Scene, point: PointIndex, op: &Op<'_>) -> Done {
        match op {
            Op::Read(site) => self.read(scene, point, site),
            Op::Write(write) => self.write(scene, point, write),
            Op::Assert(guard) => match scene.assume(guard, true, &mut BTreeMap::new()) {
                true => Done::On,
                false => Done::Dead,
            },
        }
    }

    fn read(&self, scene: &mut Scene, point: PointIndex, site: &Site) -> Done {
        let is_goal = self.is_goal(point, site);
        if is_goal {
            let mut met = scene.clone();
            if site.when.iter().all(|test| met.meets(test)) && matches!(met.look(&site.path, true), Found::Absent) {
                *scene = met;
                return Done::Accident;
            }
        }
        match scene.look(&site.path, false) {
            Found::There(_) => Done::On,
            // Where it depends on something, the engine will say.
            Found::Absent if site.when.is_empty() => Done::Dead,
            Found::Absent => Done::On,
        }
    }

    fn write(&self, scene: &mut Scene, point: PointIndex, write: &Write) -> Done {
        if let Place::Absent(key) = &write.to
            && scene.context.contains_key(key)
        {
            return Done::On;
        }
        let value = match &write.value {
            From::Input => match &scene.input {
                Some(sym) => sym.clone(),
                None => return Done::On,
            },
            From::Error => scene.vars.made(),
            From::Shape(shape) => {
                let node = self.program.node(self.program.point(point).node);
                for crate::template::Read { path, span, when, deep } in shape.reads() {
                    let site = Site { path, document: node.document, span, kind: script::Kind::Template, when, deep };
                    match self.read(scene, point, &site) {
                        Done::On => {}
                        done => return done,
                    }
                }
                match scene.evaluate(shape) {
                    Some(sym) => sym,
                    None => return Done::On,
                }
            }
        };
        let done = match &write.to {
            Place::Input => {
                scene.input = Some(value);
                true
            }
            Place::Ans => {
                scene.ans = Some(value);
                true
            }
            Place::Error => {
                scene.error = Some(value);
                true
            }
            Place::Absent(key) => {
                Rc::make_mut(&mut scene.context).insert(key.clone(), value);
                true
            }
            Place::Path(path) => symbols::write(Rc::make_mut(&mut scene.context), path, value),
            Place::Append(path) => {
                let list = scene.vars.made();
                symbols::write(Rc::make_mut(&mut scene.context), path, list)
            }
        };
        if done { Done::On } else { Done::Dead }
    }

    /// Every step that a waiting session can take, up to the choice of the target.
    fn steps(&self, from: &Scene) -> Vec<(Scene, Hop, Move, Done)> {
        let program: &Program = self.program;
        let point = from.point;
        let node = program.node(program.point(point).node);
        let range = program.point(point).replies.clone();
        let mut found = Vec::new();
        for on in range {
            let reply = &program.replies[on as usize];
            let mut scene = from.clone();
            let Some(given) = self.given(&mut scene, node, point, reply) else { continue };
            let ops = script::replying(program, point, reply);
            let before = Hop { point, on, edge: reply.edges.start };
            match self.all(&mut scene, point, &ops) {
                Done::On => self.choose(scene, node, point, reply, on, &given, &mut found),
                Done::Dead => {}
                Done::Accident => found.push((scene, before, Move { given, answers: BTreeMap::new() }, Done::Accident)),
            }
        }
        found
    }

    /// What is handed in for a reply; nothing for those that no host brings about at will.
    fn given(&self, scene: &mut Scene, node: &crate::program::Node, point: PointIndex, reply: &Reply) -> Option<Given1> {
        let program: &Program = self.program;
        Some(match &reply.on {
            Outcome::Pass => Given1::Pass,
            Outcome::Answer => match &node.role {
                Role::Listen(listen) if listen.sleep.is_none() => {
                    let sym = scene.vars.input(listen);
                    scene.input = Some(sym.clone());
                    Given1::Answer(sym)
                }
                _ => Given1::Pass,
            },
            Outcome::Success => {
                let call = if node.gate == Some(point) {
                    program.graph_of(node).before_each.as_deref()
                } else if let Role::Act(call) = &node.role {
                    Some(&**call)
                } else {
                    None
                };
                let sym = scene.vars.fitting(call.map_or(&[], |call| &call.returns));
                (scene.input, scene.result) = (Some(sym.clone()), Some(sym.clone()));
                Given1::Success(sym)
            }
            Outcome::Invalid => Given1::Invalid,
            Outcome::Error => Given1::Error,
            Outcome::Timeout => Given1::Timeout,
            Outcome::Denied => Given1::Denied,
            Outcome::Signal(name) => Given1::Signal(name.clone()),
            Outcome::AnySignal => Given1::Signal(SignalName::new("any")),
            Outcome::Exhausted | Outcome::Unwound => return None,
        })
    }

    #[expect(clippy::too_many_arguments, reason = "one place, with all that it hands on")]
    fn choose(
        &self,
        mut scene: Scene,
        node: &crate::program::Node,
        point: PointIndex,
        reply: &Reply,
        on: u32,
        given: &Given1,
        found: &mut Vec<(Scene, Hop, Move, Done)>,
    ) {
        let program: &Program = self.program;
        let mut answers = BTreeMap::new();
        for at in reply.edges.clone() {
            let edge: &Edge = &program.edges[at as usize];
            let hop = Hop { point, on, edge: at };
            if let Some(site) = script::guarded(program, node, &edge.when, super::span_of(program, node, edge)) {
                match self.read(&mut scene, point, &site) {
                    Done::On => {}
                    Done::Dead => return,
                    Done::Accident => {
                        found.push((scene, hop, Move { given: given.clone(), answers }, Done::Accident));
                        return;
                    }
                }
            }
            let (mut taken, mut said) = (scene.clone(), answers.clone());
            if taken.assume(&edge.when, true, &mut said) && edge.to != Target::Again {
                let done = match &edge.to {
                    Target::End(_) => match self.all(&mut taken, point, &script::ending(program, point, &edge.to)) {
                        Done::On => Done::Dead,
                        done => done,
                    },
                    _ => Done::On,
                };
                found.push((taken, hop, Move { given: given.clone(), answers: said }, done));
            }
            if !scene.assume(&edge.when, false, &mut answers) {
                return;
            }
        }
    }

    /// Follows the edge of a hop.
    fn target(&self, scene: &mut Scene, hop: Hop) -> Option<Done> {
        let program: &Program = self.program;
        let node = program.node(program.point(hop.point).node);
        match &program.edges[hop.edge as usize].to {
            Target::Point(to) | Target::Proceed(to) => Some(self.enter(scene, *to)),
            Target::Rollback => {
                scene.unwound = true;
                let to = program.unwound_ways(node.graph).find_map(|Way { edge, .. }| match edge.to {
                    Target::Point(to) => Some(to),
                    _ => None,
                })?;
                Some(self.enter(scene, to))
            }
            Target::Again | Target::End(_) => None,
        }
    }
}

impl Scene {
    /// What is at a path; `wanted` takes what may be absent for absent.
    fn look(&mut self, path: &KeyPath, wanted: bool) -> Found {
        let root = match (&**path.root(), path.rest()) {
            ("input", rest) => (self.input.clone(), rest),
            ("tool_result", rest) => (self.result.clone(), rest),
            ("sys", [crate::path::Segment::Key(key), rest @ ..]) => match &**key {
                "ans" => (self.ans.clone(), rest),
                "error" => (self.error.clone(), rest),
                "rollback" if !self.unwound => (None, rest),
                _ => return Found::There(self.vars.made()),
            },
            ("sys", []) => return Found::There(self.vars.made()),
            (key, rest) => (self.context.get(key).cloned(), rest),
        };
        match root {
            (Some(root), rest) => self.vars.below(&root, rest, wanted),
            (None, _) => Found::Absent,
        }
    }

    fn meets(&mut self, test: &Test) -> bool {
        match test {
            Test::Opaque => false,
            Test::Set(path, yes) => matches!(self.look(path, !yes), Found::There(_)) == *yes,
            Test::Truthy(path, yes) => {
                let found = match self.look(path, !yes) {
                    Found::There(sym) => Some(sym),
                    Found::Absent => None,
                };
                self.vars.take_for(found.as_ref(), *yes)
            }
            Test::Is(path, yes, value) => {
                let Found::There(sym) = self.look(path, false) else { return false };
                let operand = crate::program::Operand { root: Root::Context, path: path.clone() };
                self.vars.assume(&Guard::Is(operand, *yes, value.clone()), Some(&sym), true)
            }
        }
    }

    /// Narrows to where a guard comes to `truth`; false where it cannot.
    fn assume(&mut self, guard: &Guard, truth: bool, answers: &mut BTreeMap<u32, bool>) -> bool {
        match guard {
            Guard::Always => truth,
            Guard::Attempts(_) => true,
            Guard::Predicate(index, wanted) => *answers.entry(*index).or_insert(*wanted == truth) == (*wanted == truth),
            guard => {
                let Some(operand) = guard.operand() else { return true };
                // A question about presence may be answered by the other side of what is open.
                let wanted =
                    matches!(guard, Guard::Set(_, wanted) | Guard::Empty(_, wanted) if *wanted != truth) && matches!(guard, Guard::Set(..));
                let found = match self.look(&operand.path, wanted) {
                    Found::There(sym) => Some(sym),
                    Found::Absent => None,
                };
                if found.is_none() && matches!(guard, Guard::Is(..) | Guard::In(..) | Guard::Truth(..)) {
                    return false;
                }
                self.vars.assume(guard, found.as_ref(), truth)
                    && self.vars.decide(guard, found.as_ref()) != if truth { Truth::No } else { Truth::Yes }
            }
        }
    }

    /// What a shape comes to; nothing where it leaves its key out.
    fn evaluate(&mut self, shape: &Shape) -> Option<Sym> {
        match shape {
            Shape::Literal(value) => Some(Sym::Known(value.clone())),
            Shape::Map(entries) => {
                let mut parts = BTreeMap::new();
                for (key, shape) in entries {
                    if let Some(sym) = self.evaluate(&shape.value) {
                        parts.insert(key.value.clone(), sym);
                    }
                }
                Some(Sym::Map(Rc::new(parts)))
            }
            Shape::Expression(expression) => match expression.path() {
                Some((path, optional)) => match self.look(&path, optional) {
                    Found::There(sym) => Some(sym),
                    Found::Absent => None,
                },
                None => Some(self.vars.made()),
            },
            Shape::Text(_) | Shape::List(_) => Some(self.vars.made()),
        }
    }
}

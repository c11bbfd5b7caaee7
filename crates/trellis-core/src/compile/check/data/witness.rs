//! The shortest way to an accident, searched over values that are chosen last (language 8.3).
//!
//! The fixed point only nominates. A candidate is searched breadth first from where contexts begin; a way that the engine then really walks into the
//! accident is its witness.
//!
//! **Invariant:** no way is given that the engine did not walk.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
};

use super::{
    origins::Origin,
    presence::Candidate,
    replay,
    scene::Scene,
    script::{self, Op},
    shapes,
    symbols::Sym,
};
use crate::{
    id::SignalName,
    path::KeyPath,
    program::{Edge, Outcome, PointIndex, Program, Reply, Role, Target, Way},
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
pub(super) enum Brought {
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
    pub(super) given: Brought,
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

/// A scene with how it was reached.
struct Reached {
    scene: Scene,
    from: Option<(usize, Hop, Move)>,
    beginning: usize,
}

/// What became of doing something in a scene.
pub(super) enum Done {
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
    fn given(&self, scene: &mut Scene, node: &crate::program::Node, point: PointIndex, reply: &Reply) -> Option<Brought> {
        let program: &Program = self.program;
        Some(match &reply.on {
            Outcome::Pass => Brought::Pass,
            Outcome::Answer => match &node.role {
                Role::Listen(listen) if listen.sleep.is_none() => {
                    let sym = scene.vars.input(listen);
                    scene.input = Some(sym.clone());
                    Brought::Answer(sym)
                }
                _ => Brought::Pass,
            },
            Outcome::Success => {
                let call = shapes::call_at(program, point);
                let sym = scene.vars.fitting(call.map_or(&[], |call| &call.returns));
                (scene.input, scene.result) = (Some(sym.clone()), Some(sym.clone()));
                Brought::Success(sym)
            }
            Outcome::Invalid => Brought::Invalid,
            Outcome::Error => Brought::Error,
            Outcome::Timeout => Brought::Timeout,
            Outcome::Denied => Brought::Denied,
            Outcome::Signal(name) => Brought::Signal(name.clone()),
            Outcome::AnySignal => Brought::Signal(SignalName::new("any")),
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
        given: &Brought,
        found: &mut Vec<(Scene, Hop, Move, Done)>,
    ) {
        let program: &Program = self.program;
        let mut answers = BTreeMap::new();
        for at in reply.edges.clone() {
            let edge: &Edge = &program.edges[at as usize];
            let hop = Hop { point, on, edge: at };
            if let Some(site) = script::guarded(node, &edge.when, super::span_of(program, node, edge)) {
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

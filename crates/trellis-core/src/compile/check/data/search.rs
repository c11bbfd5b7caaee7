//! The shortest way to an accident (language 8.3).
//!
//! The fixed point only nominates. First the shortest way there is tried, whatever is asked on it; where values do not let it pass, every way is
//! tried, breadth first, apart as far as what is known of the values differs. A way that the engine then really walks into the accident is the
//! witness.
//!
//! **Invariant:** no way is given that the engine did not walk.

use std::collections::{BTreeSet, VecDeque};

use super::{
    accident::Accident,
    origins::Origin,
    replay,
    scene::Scene,
    witness::{Beginning, Done, Hop, Met, Move, Search, Verdict},
};
use crate::{
    path::KeyPath,
    program::{Outcome, PointIndex, Program, Target},
};

/// States that one search looks at, and all searches of a compilation together.
const BUDGET: usize = 2_000;
pub(super) const BUDGET_OF_ALL: usize = 60_000;

/// Ways that are tried on the engine.
const TRIES: usize = 8;

/// The shortest way to each point from where contexts begin.
pub(super) struct Tree {
    /// The origin, or the hop that led there.
    from: Vec<Option<Result<Hop, usize>>>,
}

impl Tree {
    /// Grows over the points that `may` be stood at.
    pub(super) fn new(program: &Program, origins: &[Origin], may: impl Fn(PointIndex) -> bool) -> Self {
        let mut tree = Self { from: vec![None; program.points.len()] };
        let mut queue = VecDeque::new();
        for (at, origin) in origins.iter().enumerate() {
            if may(origin.point) && tree.from[origin.point.0 as usize].is_none() {
                tree.from[origin.point.0 as usize] = Some(Err(at));
                queue.push_back(origin.point);
            }
        }
        while let Some(point) = queue.pop_front() {
            let mut see = |to: PointIndex, hop: Hop| {
                if may(to) && tree.from[to.0 as usize].is_none() {
                    tree.from[to.0 as usize] = Some(Ok(hop));
                    queue.push_back(to);
                }
            };
            for on in program.point(point).replies.clone() {
                let reply = &program.replies[on as usize];
                for edge in reply.edges.clone().filter(|_| reply.on != Outcome::Exhausted) {
                    let hop = Hop { point, on, edge };
                    match program.edges[edge as usize].to {
                        Target::Point(to) | Target::Proceed(to) => see(to, hop),
                        Target::Rollback => {
                            let graph = program.node(program.point(point).node).graph;
                            for way in program.unwound_ways(graph) {
                                if let Target::Point(to) = way.edge.to {
                                    see(to, hop);
                                }
                            }
                        }
                        Target::Again | Target::End(_) => {}
                    }
                }
            }
        }
        tree
    }

    /// The way to a point: its origin, and the hops.
    fn way(&self, to: PointIndex) -> Option<(usize, Vec<Hop>)> {
        let mut hops = Vec::new();
        let mut at = to;
        loop {
            match self.from[at.0 as usize]? {
                Ok(hop) => {
                    hops.push(hop);
                    at = hop.point;
                }
                Err(origin) => {
                    hops.reverse();
                    return Some((origin, hops));
                }
            }
        }
    }
}

/// A scene with how it was reached.
struct Reached {
    scene: Scene,
    from: Option<(usize, Vec<Hop>, Move)>,
    beginning: usize,
}

impl Search<'_, '_> {
    /// Searches; takes the steps that it tries from `budget`.
    pub(super) fn run(&self, budget: &mut usize) -> Verdict {
        match self.straight(budget) {
            Some(verdict) => verdict,
            None => self.wide(budget),
        }
    }

    /// Tries the shortest way there is.
    fn straight(&self, budget: &mut usize) -> Option<Verdict> {
        let goal = self.candidate.point;
        let own = match self.absent {
            Some(absent) if !self.candidate.never => Some(Tree::new(self.program, self.origins, |point| absent[point.0 as usize])),
            _ => None,
        };
        let (origin, way) = own.as_ref().unwrap_or(self.shortest).way(goal)?;
        if way.len() > *budget {
            *budget = 0;
            return Some(Verdict::Open);
        }
        *budget -= way.len();
        let (mut scene, beginning) = self.begin(&self.origins[origin]);
        let (mut hops, mut moves) = (Vec::new(), Vec::new());
        let mut done = self.enter(&mut scene, self.origins[origin].point, &mut hops);
        for hop in way {
            if !matches!(done, Done::On) || scene.point != hop.point {
                break;
            }
            let step = self
                .steps(&scene)
                .into_iter()
                .find(|(_, taken, _, done)| taken.edge == hop.edge && taken.on == hop.on && matches!(done, Done::On));
            let Some((next, _, step, _)) = step else { return None };
            scene = next;
            moves.push(step);
            hops.push(hop);
            done = self.target(&mut scene, hop, &mut hops)?;
        }
        let ends = match done {
            Done::Accident => vec![(scene, None)],
            Done::On if scene.point == goal => {
                let steps = self.steps(&scene).into_iter().filter(|(.., done)| matches!(done, Done::Accident));
                steps.map(|(scene, _, step, _)| (scene, Some(step))).collect()
            }
            Done::On | Done::Dead => return None,
        };
        for (scene, last) in ends {
            let moves: Vec<Move> = moves.iter().cloned().chain(last).collect();
            if let Some(said) = replay::walks(self, &beginning, &moves, &scene.vars) {
                return Some(Verdict::Proved(hops, Met { there: scene.names(), said }));
            }
        }
        None
    }

    /// Tries every way, breadth first.
    fn wide(&self, budget: &mut usize) -> Verdict {
        let behind = self.flow.leading_to(self.candidate.point.0);
        let leads = |point: PointIndex| behind[point.0 as usize] && self.absent.is_none_or(|absent| absent[point.0 as usize]);
        let asked = self.asked(&behind);
        let mut reached: Vec<Reached> = Vec::new();
        let mut beginnings: Vec<Beginning> = Vec::new();
        let mut queue = VecDeque::new();
        let mut seen = BTreeSet::new();
        let mut tries = 0;
        for origin in self.origins.iter().filter(|origin| leads(origin.point)) {
            let (mut scene, beginning) = self.begin(origin);
            match self.enter(&mut scene, origin.point, &mut Vec::new()) {
                Done::On if seen.insert(self.sketch(&scene, &asked)) => {
                    queue.push_back(reached.len());
                    reached.push(Reached { scene, from: None, beginning: beginnings.len() });
                }
                Done::On | Done::Dead => {}
                Done::Accident => {
                    tries += 1;
                    if let Some(said) = replay::walks(self, &beginning, &[], &scene.vars) {
                        return Verdict::Proved(Vec::new(), Met { there: scene.names(), said });
                    }
                }
            }
            beginnings.push(beginning);
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
                let mut hops = if matches!(done, Done::On) { vec![hop] } else { Vec::new() };
                let done = match done {
                    Done::On => match self.target(&mut next, hop, &mut hops) {
                        Some(done) => done,
                        None => continue,
                    },
                    other => other,
                };
                match done {
                    Done::Dead => {}
                    Done::On => {
                        if leads(next.point) && seen.insert(self.sketch(&next, &asked)) {
                            queue.push_back(reached.len());
                            let beginning = reached[at].beginning;
                            reached.push(Reached { scene: next, from: Some((at, hops, step)), beginning });
                        }
                    }
                    Done::Accident => {
                        tries += 1;
                        let (hops, moves) = way(&reached, at, hops, step);
                        if let Some(said) = replay::walks(self, &beginnings[reached[at].beginning], &moves, &next.vars) {
                            return Verdict::Proved(hops, Met { there: next.names(), said });
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

    /// What guards and tests ask about on ways to the accident: what is known of other paths tells no ways apart.
    fn asked(&self, behind: &[bool]) -> BTreeSet<KeyPath> {
        let program: &Program = self.program;
        let points = (0..).zip(&program.points).filter(|(at, _)| behind[*at]);
        let edges = points.flat_map(|(_, point)| program.replies(&point.replies)).flat_map(|reply| program.edges_of(reply));
        let mut asked: BTreeSet<KeyPath> = edges.filter_map(|edge| edge.when.operand()).map(|operand| operand.path.clone()).collect();
        asked.extend(self.subject());
        if let Accident::Missing(site) = self.candidate.accident {
            let tests = self.script.sites[site as usize].when();
            asked.extend(tests.iter().filter_map(crate::template::Test::path).cloned());
        }
        asked
    }
}

/// The whole way to a step, from its beginning.
fn way(reached: &[Reached], at: usize, last: Vec<Hop>, step: Move) -> (Vec<Hop>, Vec<Move>) {
    let (mut parts, mut moves) = (vec![last], vec![step]);
    let mut back = at;
    while let Some((before, hops, step)) = &reached[back].from {
        parts.push(hops.clone());
        moves.push(step.clone());
        back = *before;
    }
    moves.reverse();
    (parts.into_iter().rev().flatten().collect(), moves)
}

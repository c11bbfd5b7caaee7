//! The shortest way to an accident (language 8.3).
//!
//! The fixed point only nominates. First the shortest way there is tried, whatever is asked on it; where values do not let it pass, every way is
//! tried, breadth first, apart as far as what is known of the values differs. A way that the engine then really walks into the accident is the
//! witness.
//!
//! **Invariant:** no way is given that the engine did not walk.

use std::{
    collections::{BTreeSet, VecDeque},
    sync::Arc,
};

use rustc_hash::FxHashSet;

use super::{
    ExecResult, Hop, HostMove, InitialState, Search, Verdict, WitnessDetails, entry::EntryState, execute::ForkTrail, replay,
    state::SymState,
};
use crate::{
    compile::dataflow::fixpoint::violation::Violation,
    path::KeyPath,
    program::{Outcome, PointIndex, Program, Target},
};

/// States that one search looks at, and more for each point of the graph: a way may lead past all of them.
const BUDGET: usize = 2_000;
const BUDGET_OF_POINT: usize = 2;

/// Operations and conditions that all searches of a compilation try together.
pub(crate) const BUDGET_OF_ALL: usize = 10_000_000;

/// What a step on the engine costs, and a name that is set where it ends.
const WALKED: usize = 40;
const NAME: usize = 4;

/// What looking at a state costs beside what happens there.
const STATE: usize = 50;

/// How often a search begins again and tells more ways apart.
const ROUNDS: usize = 16;

/// Ways that are tried on the engine.
const TRIES: usize = 8;

/// The shortest way to each point from where contexts begin.
pub(crate) struct ShortestPaths {
    /// The origin, or the hop that led there.
    from: Vec<Option<Result<Hop, usize>>>,
}

impl ShortestPaths {
    /// Grows over the points that `may` be stood at.
    pub(crate) fn new(program: &Program, origins: &[EntryState], may: impl Fn(PointIndex) -> bool) -> Self {
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
struct Visited {
    scene: SymState,
    from: Option<(usize, Vec<Hop>, HostMove)>,
    beginning: usize,
}

impl Search<'_, '_> {
    /// Tries the shortest way there is.
    pub(crate) fn try_shortest(&self) -> Option<Verdict> {
        if self.budget.get() == 0 {
            return Some(Verdict::Open);
        }
        let goal = self.candidate.point;
        let own = match self.absent {
            Some(absent) if !self.candidate.never => Some(ShortestPaths::new(self.program, self.origins, |point| absent[point.0 as usize])),
            _ => None,
        };
        let (origin, way) = own.as_ref().unwrap_or(self.shortest).way(goal)?;
        let (mut scene, beginning) = self.begin(&self.origins[origin]);
        let (mut hops, mut moves) = (Vec::new(), Vec::new());
        *self.forks.borrow_mut() = ForkTrail::default();
        let mut done = self.enter(&mut scene, self.origins[origin].point, &mut hops);
        for hop in way {
            if !matches!(done, ExecResult::On) || scene.point != hop.point {
                break;
            }
            let (next, step) = self.along(scene, hop)?;
            scene = next;
            moves.push(step);
            hops.push(hop);
            done = self.target(&mut scene, hop, &mut hops)?;
        }
        let ends = match done {
            ExecResult::Accident => vec![(scene, None)],
            ExecResult::On if scene.point == goal => {
                let steps = self.successors(&scene, true).into_iter().filter(|(.., done)| matches!(done, ExecResult::Accident));
                steps.map(|(scene, _, step, _)| (scene, Some(step))).collect()
            }
            ExecResult::On | ExecResult::Dead => return None,
        };
        for (scene, last) in ends.into_iter().filter(|(scene, _)| !scene.vars.is_impossible()) {
            let moves: Vec<HostMove> = moves.iter().cloned().chain(last).collect();
            if let Some(met) = self.walks(&beginning, &moves, &scene) {
                return Some(Verdict::Proved(hops, met));
            }
        }
        None
    }

    /// The names that are set in a scene, without what it was only helped with.
    fn there(&self, scene: &SymState) -> Vec<String> {
        let mut names = scene.names();
        self.spend(NAME * names.len());
        let helped: BTreeSet<&str> = self.assumed_set.iter().map(|path| &**path.root()).collect();
        names.retain(|name| !helped.contains(name.split('.').next().unwrap_or(name)));
        names
    }

    fn walks(&self, beginning: &InitialState, moves: &[HostMove], scene: &SymState) -> Option<WitnessDetails> {
        self.spend(WALKED * (1 + moves.len()));
        self.is_masked.set(false);
        let walked = replay::replay(self, beginning, moves, &scene.vars);
        self.is_astray.set(self.is_astray.get() || (walked.is_none() && !self.is_masked.get()));
        let walked = walked?;
        Some(WitnessDetails { there: self.there(scene), said: walked.said, sorts: walked.sorts, witness: walked.witness.map(Arc::new) })
    }

    /// Tries every way, breadth first. Ways are told apart by what is known of few paths, at first only that of the accident; of others nothing is
    /// relied on. Where the accident is only found by that, those paths are told apart too, and it begins again.
    pub(crate) fn explore(&self) -> Verdict {
        let verdict = self.rounds();
        // What was not looked at is not refuted.
        if matches!(verdict, Verdict::Refuted) && self.budget.get() == 0 { Verdict::Open } else { verdict }
    }

    /// Whether ways were told apart by what is known of one of these paths.
    pub(crate) fn told_apart_by(&self, paths: &[KeyPath]) -> bool {
        self.tracked.borrow().as_ref().is_some_and(|asked| paths.iter().any(|path| asked.contains(path)))
    }

    /// What was found neither way was left open.
    fn rounds(&self) -> Verdict {
        let behind = self.flow.reaching(self.candidate.point.0);
        self.spend(behind.len() / 64);
        let leads = |point: PointIndex| behind[point.0 as usize] && self.absent.is_none_or(|absent| absent[point.0 as usize]);
        let mut asked = self.asked();
        for _ in 0..ROUNDS {
            match self.refine_round(&asked, &leads) {
                Ok(verdict) => return verdict,
                Err(more) => asked.extend(more),
            }
        }
        Verdict::Open
    }

    /// One round of the search: a verdict, or the paths by which ways have to be told apart as well.
    fn refine_round(&self, asked: &BTreeSet<KeyPath>, leads: &dyn Fn(PointIndex) -> bool) -> Result<Verdict, BTreeSet<KeyPath>> {
        *self.tracked.borrow_mut() = Some(asked.clone());
        self.incomplete.set(false);
        *self.imprecise.borrow_mut() = None;
        let mut reached: Vec<Visited> = Vec::new();
        let mut beginnings: Vec<InitialState> = Vec::new();
        let mut queue = VecDeque::new();
        let mut seen = FxHashSet::default();
        let mut pretended: Option<BTreeSet<KeyPath>> = None;
        let mut tries = 0;
        for origin in self.origins.iter().filter(|origin| leads(origin.point)) {
            let (first, beginning) = self.begin(origin);
            let mut entered = Vec::new();
            self.for_each_branch(|| {
                let mut scene = first.clone();
                let done = self.enter(&mut scene, origin.point, &mut Vec::new());
                entered.push((scene, done));
            });
            for (scene, done) in entered {
                match done {
                    ExecResult::On if seen.insert(self.state_key(&scene, asked)) => {
                        queue.push_back(reached.len());
                        reached.push(Visited { scene, from: None, beginning: beginnings.len() });
                    }
                    ExecResult::On | ExecResult::Dead => {}
                    ExecResult::Accident if !scene.havocked.is_empty() => {
                        pretended.get_or_insert_with(|| (*scene.havocked).clone());
                    }
                    ExecResult::Accident if scene.vars.is_impossible() => {}
                    ExecResult::Accident => {
                        tries += 1;
                        if let Some(met) = self.walks(&beginning, &[], &scene) {
                            return Ok(Verdict::Proved(Vec::new(), met));
                        }
                    }
                }
            }
            beginnings.push(beginning);
        }
        let mut looked = 0;
        while let Some(at) = queue.pop_front() {
            looked += 1;
            if looked > BUDGET + BUDGET_OF_POINT * self.program.points.len() || !self.spend(STATE) {
                return Ok(Verdict::Open);
            }
            for (next, hops, step, done) in self.onward(&reached[at].scene) {
                match done {
                    ExecResult::Dead => {}
                    ExecResult::On => {
                        if leads(next.point) && seen.insert(self.state_key(&next, asked)) {
                            queue.push_back(reached.len());
                            let beginning = reached[at].beginning;
                            reached.push(Visited { scene: next, from: Some((at, hops, step)), beginning });
                        }
                    }
                    ExecResult::Accident if !next.havocked.is_empty() => {
                        pretended.get_or_insert_with(|| (*next.havocked).clone());
                    }
                    ExecResult::Accident if next.vars.is_impossible() => {}
                    ExecResult::Accident => {
                        tries += 1;
                        let (hops, moves) = way(&reached, at, hops, step);
                        if let Some(met) = self.walks(&beginnings[reached[at].beginning], &moves, &next) {
                            return Ok(Verdict::Proved(hops, met));
                        }
                        if tries >= TRIES {
                            return Ok(self.unwalked());
                        }
                    }
                }
            }
        }
        match pretended.or_else(|| self.imprecise.borrow().clone()) {
            Some(more) => Err(more),
            None if self.incomplete.get() => Ok(Verdict::Open),
            None if tries > 0 => Ok(self.unwalked()),
            None => Ok(Verdict::Refuted),
        }
    }

    /// What is said where no way that was found could be walked.
    fn unwalked(&self) -> Verdict {
        if self.is_astray.get() { Verdict::Open } else { Verdict::Hidden }
    }

    /// Every step of a session that waits, with the hops to where it waits then; ends are left out.
    fn onward(&self, from: &SymState) -> Vec<(SymState, Vec<Hop>, HostMove, ExecResult)> {
        let mut onward = Vec::new();
        for (scene, hop, step, done) in self.successors(from, false) {
            // An accident before the edge was taken is none of the edge's.
            if !matches!(done, ExecResult::On) {
                onward.push((scene, Vec::new(), step, done));
                continue;
            }
            self.for_each_branch(|| {
                let (mut next, mut hops) = (scene.clone(), vec![hop]);
                if let Some(done) = self.target(&mut next, hop, &mut hops) {
                    onward.push((next, hops, step.clone(), done));
                }
            });
        }
        onward
    }

    /// What ways are told apart by at first: the path that the accident is about, and those that decide whether it is met.
    fn asked(&self) -> BTreeSet<KeyPath> {
        let mut asked: BTreeSet<KeyPath> = self.subjects().into_iter().collect();
        match self.candidate.accident {
            Violation::Missing(site) | Violation::Truth(site) | Violation::Operand(site) => {
                let tests = self.script.sites[site as usize].when();
                asked.extend(tests.iter().filter_map(crate::template::Test::path).cloned());
                asked.extend(self.script.sites[site as usize].guard().into_iter().flat_map(|guard| self.asked_by(guard)));
            }
            Violation::NoMatch(on) => {
                let edges = self.program.edges_of(&self.program.replies[on as usize]);
                asked.extend(edges.iter().flat_map(|edge| self.asked_by(&edge.when)));
            }
            _ => {}
        }
        asked
    }
}

/// The whole way to a step, from its beginning.
fn way(reached: &[Visited], at: usize, last: Vec<Hop>, step: HostMove) -> (Vec<Hop>, Vec<HostMove>) {
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

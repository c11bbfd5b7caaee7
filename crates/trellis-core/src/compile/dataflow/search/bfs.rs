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
    compile::{cfg::Cfg, dataflow::fixpoint::violation::Violation},
    path::KeyPath,
    program::{Outcome, PointIndex, Program},
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
    pub(crate) fn new(program: &Program, entry_states: &[EntryState], may: impl Fn(PointIndex) -> bool) -> Self {
        let mut tree = Self { from: vec![None; program.points.len()] };
        let mut queue = VecDeque::new();
        for (at, entry_state) in entry_states.iter().enumerate() {
            if may(entry_state.point) && tree.from[entry_state.point.0 as usize].is_none() {
                tree.from[entry_state.point.0 as usize] = Some(Err(at));
                queue.push_back(entry_state.point);
            }
        }
        while let Some(point) = queue.pop_front() {
            for next in Cfg::successors(program, point) {
                let is_new = may(next.to) && tree.from[next.to.0 as usize].is_none();
                if is_new && program.replies[next.on as usize].on != Outcome::Exhausted {
                    tree.from[next.to.0 as usize] = Some(Ok(Hop { point, on: next.on, edge: next.edge }));
                    queue.push_back(next.to);
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
                Err(entry_state) => {
                    hops.reverse();
                    return Some((entry_state, hops));
                }
            }
        }
    }
}

/// A scene with how it was reached.
struct Visited {
    state: SymState,
    from: Option<(usize, Vec<Hop>, HostMove)>,
    beginning: usize,
}

impl Search<'_, '_> {
    /// Tries the shortest way there is.
    pub(crate) fn try_shortest(&self) -> Option<Verdict> {
        if self.budget.get() == 0 {
            return Some(Verdict::Open);
        }
        let goal = self.alarm.point;
        let own = match self.absent {
            Some(absent) if !self.alarm.never => {
                Some(ShortestPaths::new(self.program, self.entry_states, |point| absent[point.0 as usize]))
            }
            _ => None,
        };
        let (entry_state, way) = own.as_ref().unwrap_or(self.shortest).way(goal)?;
        let (mut state, beginning) = self.begin(&self.entry_states[entry_state]);
        let (mut hops, mut moves) = (Vec::new(), Vec::new());
        *self.forks.borrow_mut() = ForkTrail::default();
        let mut done = self.enter(&mut state, self.entry_states[entry_state].point, &mut hops);
        for hop in way {
            if !matches!(done, ExecResult::On) || state.point != hop.point {
                break;
            }
            let (next, step) = self.along(state, hop)?;
            state = next;
            moves.push(step);
            hops.push(hop);
            done = self.target(&mut state, hop, &mut hops)?;
        }
        let ends = match done {
            ExecResult::Accident => vec![(state, None)],
            ExecResult::On if state.point == goal => {
                let steps = self.successors(&state, true).into_iter().filter(|(.., done)| matches!(done, ExecResult::Accident));
                steps.map(|(state, _, step, _)| (state, Some(step))).collect()
            }
            ExecResult::On | ExecResult::Dead => return None,
        };
        for (state, last) in ends.into_iter().filter(|(state, _)| !state.constraints.is_impossible()) {
            let moves: Vec<HostMove> = moves.iter().cloned().chain(last).collect();
            if let Some(details) = self.walks(&beginning, &moves, &state) {
                return Some(Verdict::Proved(hops, details));
            }
        }
        None
    }

    /// The names that are set in a scene, without what it was only helped with.
    fn there(&self, state: &SymState) -> Vec<String> {
        let mut names = state.names();
        self.spend(NAME * names.len());
        let helped: BTreeSet<&str> = self.assumed_set.iter().map(|path| &**path.root()).collect();
        names.retain(|name| !helped.contains(name.split('.').next().unwrap_or(name)));
        names
    }

    fn walks(&self, beginning: &InitialState, moves: &[HostMove], state: &SymState) -> Option<WitnessDetails> {
        self.spend(WALKED * (1 + moves.len()));
        self.is_masked.set(false);
        let walked = replay::replay(self, beginning, moves, &state.constraints);
        self.is_astray.set(self.is_astray.get() || (walked.is_none() && !self.is_masked.get()));
        let walked = walked?;
        Some(WitnessDetails { there: self.there(state), said: walked.said, sorts: walked.sorts, witness: walked.witness.map(Arc::new) })
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
        let behind = self.cfg.reaching(self.alarm.point.0);
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
        for entry_state in self.entry_states.iter().filter(|entry_state| leads(entry_state.point)) {
            let (first, beginning) = self.begin(entry_state);
            let mut entered = Vec::new();
            self.for_each_branch(|| {
                let mut state = first.clone();
                let done = self.enter(&mut state, entry_state.point, &mut Vec::new());
                entered.push((state, done));
            });
            for (state, done) in entered {
                match done {
                    ExecResult::On if seen.insert(self.state_key(&state, asked)) => {
                        queue.push_back(reached.len());
                        reached.push(Visited { state, from: None, beginning: beginnings.len() });
                    }
                    ExecResult::On | ExecResult::Dead => {}
                    ExecResult::Accident if !state.havocked.is_empty() => {
                        pretended.get_or_insert_with(|| (*state.havocked).clone());
                    }
                    ExecResult::Accident if state.constraints.is_impossible() => {}
                    ExecResult::Accident => {
                        tries += 1;
                        if let Some(details) = self.walks(&beginning, &[], &state) {
                            return Ok(Verdict::Proved(Vec::new(), details));
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
            for (next, hops, step, done) in self.onward(&reached[at].state) {
                match done {
                    ExecResult::Dead => {}
                    ExecResult::On => {
                        if leads(next.point) && seen.insert(self.state_key(&next, asked)) {
                            queue.push_back(reached.len());
                            let beginning = reached[at].beginning;
                            reached.push(Visited { state: next, from: Some((at, hops, step)), beginning });
                        }
                    }
                    ExecResult::Accident if !next.havocked.is_empty() => {
                        pretended.get_or_insert_with(|| (*next.havocked).clone());
                    }
                    ExecResult::Accident if next.constraints.is_impossible() => {}
                    ExecResult::Accident => {
                        tries += 1;
                        let (hops, moves) = way(&reached, at, hops, step);
                        if let Some(details) = self.walks(&beginnings[reached[at].beginning], &moves, &next) {
                            return Ok(Verdict::Proved(hops, details));
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
        for (state, hop, step, done) in self.successors(from, false) {
            // An accident before the edge was taken is none of the edge's.
            if !matches!(done, ExecResult::On) {
                onward.push((state, Vec::new(), step, done));
                continue;
            }
            self.for_each_branch(|| {
                let (mut next, mut hops) = (state.clone(), vec![hop]);
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
        match self.alarm.violation {
            Violation::Missing(site) | Violation::Truth(site) | Violation::Operand(site) => {
                let tests = self.ir.sites[site as usize].when();
                asked.extend(tests.iter().filter_map(crate::template::GuardedTest::path).cloned());
                asked.extend(self.ir.sites[site as usize].guard().into_iter().flat_map(|guard| self.asked_by(guard)));
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

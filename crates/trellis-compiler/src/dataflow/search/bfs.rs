//! Breadth-first search with counterexample-guided abstraction refinement (language 8.3).
//!
//! The state is a queue of symbolic states and the set of visited [`StateKey`](super::tracked::StateKey)s. A round tracks a few paths. Where a
//! condition stops a state, values at untracked paths are havocked and the state continues, since a subsumed state may have other values there. If
//! a violation is found only after havocking, it is spurious as far as the search knows: the next round tracks the havocked paths too.
//!
//! **It terminates:** each round visits at most [`max_states`] states and replays at most [`MAX_REPLAYS`] paths, and at most
//! [`MAX_REFINEMENT_ROUNDS`] rounds are made. **It is sound:** a path counts as a witness only if the engine ran it into the violation, and an alarm
//! is refuted only by a round in which nothing was incomplete and no violation was found.
//!
//! **Example:** `ask` sets `kind`; only the edge for `kind == "gift"` leads to a read of `note`, and only that node sets it. The first round tracks
//! `note`. Two states at the edge have the same key, so the second is dropped, and `kind` is havocked where the first does not pass. The violation
//! found there is spurious; the second round tracks `kind` as well and refutes it.

use std::collections::{BTreeSet, VecDeque};

use rustc_hash::FxHashSet;

use super::{
    Precision, SearchRun,
    path::{ExecResult, Hop, HostMove, InitialState, Successor, Verdict, WitnessDetails},
    replay::{self, ReplayOutcome, ViolatingSession},
    shortest_paths::ShortestPaths,
    state::SymState,
};
use crate::dataflow::budget::{Cost, MAX_REFINEMENT_ROUNDS, MAX_REPLAYS, max_states};
use trellis_base::path::KeyPath;
use trellis_engine::program::PointIndex;

/// A state after one step: it waits at the next point, or the step ended it.
struct Arrival {
    state: SymState,
    hops: Vec<Hop>,
    host_move: HostMove,
    result: ExecResult,
}

/// A visited state, and the step that reached it.
struct Visited {
    state: SymState,
    from: Option<(usize, Vec<Hop>, HostMove)>,
    initial: usize,
}

impl SearchRun<'_, '_> {
    /// Tries the shortest path to the goal alone; `None` if it decides nothing.
    pub(crate) fn try_shortest(&mut self) -> Option<Verdict> {
        if self.budget.is_spent() {
            return Some(Verdict::Undecided);
        }
        let goal = self.input.alarm.point;
        let own = match self.input.absent {
            Some(absent) if !self.input.alarm.never => {
                Some(ShortestPaths::new(self.input.program, self.input.entry_states, |point| absent[point.index()]))
            }
            _ => None,
        };
        let (entry_state, path) = own.as_ref().unwrap_or(self.input.shortest).path_to(goal)?;
        let (mut state, initial) = self.begin(&self.input.entry_states[entry_state]);
        let (mut hops, mut moves) = (Vec::new(), Vec::new());
        self.take_first_branches();
        let mut done = self.enter(&mut state, self.input.entry_states[entry_state].point, &mut hops);
        for hop in path {
            if !matches!(done, ExecResult::Continue) || state.point != hop.point {
                break;
            }
            let (next, step) = self.along(state, hop)?;
            state = next;
            moves.push(step);
            hops.push(hop);
            done = self.target(&mut state, hop, &mut hops)?;
        }
        let ends = match done {
            ExecResult::Violates => vec![(state, None)],
            ExecResult::Continue if state.point == goal => {
                let steps = self.successors(&state, true).into_iter().filter(|step| matches!(step.result, ExecResult::Violates));
                steps.map(|step| (step.state, Some(step.host_move))).collect()
            }
            ExecResult::Continue | ExecResult::Infeasible => return None,
        };
        for (state, last) in ends.into_iter().filter(|(state, _)| !state.constraints.is_impossible()) {
            let moves: Vec<HostMove> = moves.iter().cloned().chain(last).collect();
            if let Some(details) = self.replays(&initial, &moves, &state) {
                return Some(Verdict::Witnessed(hops, details));
            }
        }
        None
    }

    /// Returns the names that are set in a state, without those that the search assumes.
    fn set_names(&mut self, state: &SymState) -> Vec<String> {
        let mut names = state.names();
        self.budget.charge(Cost::Names(names.len()));
        let helped: BTreeSet<&str> = self.assumed_set.iter().map(|path| &**path.root()).collect();
        names.retain(|name| !helped.contains(name.split('.').next().unwrap_or(name)));
        names
    }

    fn replays(&mut self, initial: &InitialState, moves: &[HostMove], state: &SymState) -> Option<WitnessDetails> {
        self.budget.charge(Cost::Replay { steps: moves.len() });
        match replay::replay(self.input, initial, moves, &state.constraints) {
            ReplayOutcome::Violates(ViolatingSession { witness, message, sorts }) => {
                Some(WitnessDetails { set_names: self.set_names(state), message, sorts, witness })
            }
            ReplayOutcome::Masked => None,
            ReplayOutcome::Astray => {
                self.is_astray = true;
                None
            }
        }
    }

    /// Searches all paths, breadth first, and refines the tracked paths until the alarm is decided.
    pub(crate) fn explore(&mut self) -> Verdict {
        let verdict = self.refine();
        // A spent budget refutes nothing.
        if matches!(verdict, Verdict::Refuted) && self.budget.is_spent() { Verdict::Undecided } else { verdict }
    }

    /// Returns whether the last round tracked one of these paths.
    pub(crate) fn has_tracked(&self, paths: &[KeyPath]) -> bool {
        self.precision.tracked.as_ref().is_some_and(|asked| paths.iter().any(|path| asked.contains(path)))
    }

    /// Counterexample-guided refinement: each round also tracks the paths by which the last one found a spurious violation.
    fn refine(&mut self) -> Verdict {
        let reaching = self.input.cfg.reaching(self.input.alarm.point.0);
        self.budget.charge(Cost::ReachingPoints(reaching.len()));
        let leads = |point: PointIndex| reaching[point.index()] && self.input.absent.is_none_or(|absent| absent[point.index()]);
        let mut asked = self.input.initially_tracked();
        for _ in 0..MAX_REFINEMENT_ROUNDS {
            match self.refine_round(&asked, &leads) {
                Ok(verdict) => return verdict,
                Err(more) => asked.extend(more),
            }
        }
        Verdict::Undecided
    }

    /// Searches with these tracked paths. Returns a verdict, or the paths that the next round must track as well.
    fn refine_round(&mut self, asked: &BTreeSet<KeyPath>, leads: &dyn Fn(PointIndex) -> bool) -> Result<Verdict, BTreeSet<KeyPath>> {
        self.precision = Precision { tracked: Some(asked.clone()), ..Precision::default() };
        let mut reached: Vec<Visited> = Vec::new();
        let mut initial_states: Vec<InitialState> = Vec::new();
        let mut queue = VecDeque::new();
        let mut seen = FxHashSet::default();
        let mut spurious: Option<BTreeSet<KeyPath>> = None;
        let mut tries = 0;
        for entry_state in self.input.entry_states.iter().filter(|entry_state| leads(entry_state.point)) {
            let (first, initial) = self.begin(entry_state);
            let mut entered = Vec::new();
            self.for_each_branch(|run| {
                let mut state = first.clone();
                let done = run.enter(&mut state, entry_state.point, &mut Vec::new());
                entered.push((state, done));
            });
            for (state, done) in entered {
                match done {
                    ExecResult::Continue if seen.insert(self.input.state_key(&state, asked)) => {
                        queue.push_back(reached.len());
                        reached.push(Visited { state, from: None, initial: initial_states.len() });
                    }
                    ExecResult::Continue | ExecResult::Infeasible => {}
                    ExecResult::Violates if !state.havocked.is_empty() => {
                        spurious.get_or_insert_with(|| (*state.havocked).clone());
                    }
                    ExecResult::Violates if state.constraints.is_impossible() => {}
                    ExecResult::Violates => {
                        tries += 1;
                        if let Some(details) = self.replays(&initial, &[], &state) {
                            return Ok(Verdict::Witnessed(Vec::new(), details));
                        }
                    }
                }
            }
            initial_states.push(initial);
        }
        let mut looked = 0;
        while let Some(at) = queue.pop_front() {
            looked += 1;
            if looked > max_states(self.input.program.points.len()) || !self.budget.charge(Cost::State) {
                return Ok(Verdict::Undecided);
            }
            for Arrival { state: next, hops, host_move, result } in self.onward(&reached[at].state) {
                match result {
                    ExecResult::Infeasible => {}
                    ExecResult::Continue => {
                        if leads(next.point) && seen.insert(self.input.state_key(&next, asked)) {
                            queue.push_back(reached.len());
                            let initial = reached[at].initial;
                            reached.push(Visited { state: next, from: Some((at, hops, host_move)), initial });
                        }
                    }
                    ExecResult::Violates if !next.havocked.is_empty() => {
                        spurious.get_or_insert_with(|| (*next.havocked).clone());
                    }
                    ExecResult::Violates if next.constraints.is_impossible() => {}
                    ExecResult::Violates => {
                        tries += 1;
                        let (hops, moves) = path_to(&reached, at, hops, host_move);
                        if let Some(details) = self.replays(&initial_states[reached[at].initial], &moves, &next) {
                            return Ok(Verdict::Witnessed(hops, details));
                        }
                        if tries >= MAX_REPLAYS {
                            return Ok(self.unexplored());
                        }
                    }
                }
            }
        }
        match spurious.or_else(|| self.precision.imprecise.take()) {
            Some(more) => Err(more),
            None if self.precision.incomplete => Ok(Verdict::Undecided),
            None if tries > 0 => Ok(self.unexplored()),
            None => Ok(Verdict::Refuted),
        }
    }

    /// Returns the verdict if violations were found, but the engine reproduced none.
    fn unexplored(&self) -> Verdict {
        if self.is_astray { Verdict::Undecided } else { Verdict::Masked }
    }

    /// Every step of a session that waits, with the hops to where it waits then; ends are left out.
    fn onward(&mut self, from: &SymState) -> Vec<Arrival> {
        let mut onward = Vec::new();
        for Successor { state, hop, host_move, result } in self.successors(from, false) {
            // A step that ended before its edge was taken has no hop.
            if !matches!(result, ExecResult::Continue) {
                onward.push(Arrival { state, hops: Vec::new(), host_move, result });
                continue;
            }
            self.for_each_branch(|run| {
                let (mut next, mut hops) = (state.clone(), vec![hop]);
                if let Some(result) = run.target(&mut next, hop, &mut hops) {
                    onward.push(Arrival { state: next, hops, host_move: host_move.clone(), result });
                }
            });
        }
        onward
    }
}

/// Returns the hops and moves of the whole path to a step.
fn path_to(reached: &[Visited], at: usize, last: Vec<Hop>, step: HostMove) -> (Vec<Hop>, Vec<HostMove>) {
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

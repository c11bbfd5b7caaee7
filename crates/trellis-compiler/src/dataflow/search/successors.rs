//! Successors of a symbolic state: each input that a host can give, each reply to it, and each edge whose condition can hold.
//!
//! Edges are tried in order, and each that is not taken adds the negation of its condition. A condition that the state contradicts is havocked,
//! if its paths are not tracked: another state of the same key may pass it.
//!
//! **Example:** a `listen` node with edges `x == 1` and otherwise yields two states, one with `x = 1` and one with `x ≠ 1`.

use std::{collections::BTreeMap, rc::Rc};

use super::{
    SearchRun,
    path::{ExecResult, Hop, HostInput, HostMove, Successor},
    state::SymState,
};
use crate::dataflow::{
    budget::{Cost, MAX_PASSED_NODES},
    fixpoint::violation::Violation,
    index::{EdgeIndex, ReplyIndex},
    symbolic::{CanViolate, SymValue},
};
use trellis_base::{id::SignalName, path::KeyPath};
use trellis_engine::program::{
    Edge, Failure, Guard, Outcome, PointIndex, PredicateSource, Program, Provenance, Reason, Reply, Role, Target, Write, WriteSource,
};

impl SearchRun<'_, '_> {
    /// Returns the steps that a waiting session can take, before their targets are entered; with `ends`, only those that end before.
    pub(crate) fn successors(&mut self, from: &SymState, ends: bool) -> Vec<Successor> {
        let program: &Program = self.input.program;
        let point = from.point;
        let node = program.node(program.point(point).node);
        let mut steps = Vec::new();
        for on in program.point(point).replies.clone() {
            let reply = &program.replies[on as usize];
            self.for_each_branch(|run| {
                let mut state = from.clone();
                let Some(before) = run.attempted(&mut state, point, reply) else { return };
                let Some(given) = run.given(&mut state, node, point, reply) else { return };
                let hop = Hop { point, reply: ReplyIndex(on), edge: EdgeIndex(reply.edges.start) };
                match run.all(&mut state, point, run.input.ir.replying(ReplyIndex(on))) {
                    ExecResult::Continue => run.choose(state, hop, (before, given), ends, &mut steps),
                    ExecResult::Infeasible => {}
                    result @ ExecResult::Violates => {
                        let host_move = HostMove { before, given, answers: BTreeMap::new() };
                        steps.push(Successor { state, hop, host_move, result });
                    }
                }
            });
        }
        steps
    }

    /// Takes one hop; `None` if it is infeasible. Its own condition is assumed first, since it decides most of those before it.
    pub(crate) fn along(&mut self, mut state: SymState, hop: Hop) -> Option<(SymState, HostMove)> {
        let program: &Program = self.input.program;
        let node = program.node(program.point(hop.point).node);
        let reply = &program.replies[hop.reply.index()];
        let given = self.given(&mut state, node, hop.point, reply)?;
        let continues = |done: ExecResult| matches!(done, ExecResult::Continue);
        let mut answers = BTreeMap::new();
        continues(self.all(&mut state, hop.point, self.input.ir.replying(hop.reply))).then_some(())?;
        self.assume(&mut state, &program.edges[hop.edge.index()].when, true, &mut answers).then_some(())?;
        for at in (reply.edges.start..=hop.edge.0).map(EdgeIndex) {
            self.budget.charge(Cost::DirectEdge { variables: state.constraints.width() }).then_some(())?;
            for site in self.input.ir.guarded(at) {
                continues(self.read(&mut state, hop.point, site)).then_some(())?;
            }
            if at < hop.edge {
                self.assume(&mut state, &program.edges[at.index()].when, false, &mut answers).then_some(())?;
            }
        }
        Some((state, HostMove { before: None, given, answers }))
    }

    /// Forks whether an attempt that is tried again came before a reply, and returns its failure, which stays in `sys.error` (language 7.4); `None` if
    /// the path ends there. Nothing else shows that there was one.
    fn attempted(&mut self, state: &mut SymState, point: PointIndex, reply: &Reply) -> Option<Option<HostInput>> {
        let program: &Program = self.input.program;
        let is_again = |on: &u32| program.edges_of(&program.replies[*on as usize]).iter().any(|edge| edge.why == Provenance::Retry);
        let is_failure = matches!(reply.on, Outcome::Error | Outcome::Timeout);
        let Some(on) = program.point(point).replies.clone().find(is_again).filter(|_| !is_failure && self.input.reads_errors()) else {
            return Some(None);
        };
        if !self.fork() {
            return Some(None);
        }
        state.fail(&program.replies[on as usize].on);
        let failure = state.failure.clone()?;
        let done = self.all(state, point, self.input.ir.replying(ReplyIndex(on)));
        matches!(done, ExecResult::Continue).then_some(Some(HostInput::Error(failure)))
    }

    /// Returns the input that leads to a reply, or `None` if no host can cause it at will.
    fn given(&self, state: &mut SymState, node: &trellis_engine::program::Node, point: PointIndex, reply: &Reply) -> Option<HostInput> {
        state.failure = None;
        let tells = |write: &Write| matches!(write.value, WriteSource::Error);
        if matches!(reply.on, Outcome::Error | Outcome::Timeout | Outcome::Denied) || reply.update.iter().any(tells) {
            state.fail(&reply.on);
        }
        let failure = state.failure.clone();
        Some(match &reply.on {
            Outcome::Pass => HostInput::Pass,
            Outcome::Answer => match &node.role {
                Role::Listen(listen) if listen.sleep.is_none() => {
                    let sym = state.constraints.input(listen);
                    state.input = Some(sym.clone());
                    HostInput::Answer(sym)
                }
                _ => HostInput::Pass,
            },
            Outcome::Chosen(_) => {
                let Role::Listen(listen) = &node.role else { return None };
                let sym = SymValue::Known(listen.chosen(&reply.on)?.clone());
                state.input = Some(sym.clone());
                HostInput::Answer(sym)
            }
            Outcome::Success => {
                let sym = state.constraints.fresh_fitting(&(self.input.returns)(point));
                (state.input, state.result) = (Some(sym.clone()), Some(sym.clone()));
                HostInput::Success(sym)
            }
            Outcome::Invalid => HostInput::Invalid,
            Outcome::Error | Outcome::Timeout => HostInput::Error(failure?),
            Outcome::Denied => HostInput::Denied(failure?),
            Outcome::Signal(name) => HostInput::Signal(name.clone()),
            Outcome::AnySignal => HostInput::Signal(SignalName::new("any")),
            Outcome::Exhausted | Outcome::RolledBack => return None,
        })
    }

    /// Adds a successor for each edge of the reply of a hop, in order.
    fn choose(
        &mut self,
        mut state: SymState,
        hop: Hop,
        (before, given): (Option<HostInput>, HostInput),
        ends: bool,
        steps: &mut Vec<Successor>,
    ) {
        let program: &Program = self.input.program;
        let reply = &program.replies[hop.reply.index()];
        let mut answers = BTreeMap::new();
        for at in reply.edges.clone().map(EdgeIndex) {
            let edge: &Edge = &program.edges[at.index()];
            let hop = Hop { edge: at, ..hop };
            let variables = state.constraints.width();
            if !self.budget.charge(if ends { Cost::DirectEdge { variables } } else { Cost::Edge { variables } }) {
                return;
            }
            let host_move = |answers| HostMove { before: before.clone(), given: given.clone(), answers };
            if edge.to == Target::End(Reason::Failed(Failure::NoMatch)) && self.input.is_goal(hop.point, Violation::NoMatch(hop.reply)) {
                steps.push(Successor { state, hop, host_move: host_move(answers), result: ExecResult::Violates });
                return;
            }
            for site in self.input.ir.guarded(at) {
                match self.read(&mut state, hop.point, site) {
                    ExecResult::Continue => {}
                    ExecResult::Infeasible => return,
                    result @ ExecResult::Violates => {
                        steps.push(Successor { state, hop, host_move: host_move(answers), result });
                        return;
                    }
                }
            }
            if matches!(edge.to, Target::End(_)) || !(ends || edge.to == Target::Again) {
                let (mut taken, mut assumed) = (state.clone(), answers.clone());
                if self.assume(&mut taken, &edge.when, true, &mut assumed) || self.havocs(&mut taken, &edge.when) {
                    let result = match &edge.to {
                        Target::End(_) => match self.all(&mut taken, hop.point, self.input.ir.ending(hop.point, &edge.to)) {
                            ExecResult::Continue => ExecResult::Infeasible,
                            result => result,
                        },
                        _ => ExecResult::Continue,
                    };
                    steps.push(Successor { state: taken, hop, host_move: host_move(assumed), result });
                }
            }
            if edge.when == Guard::Always
                || !(self.assume(&mut state, &edge.when, false, &mut answers) || self.havocs(&mut state, &edge.when))
            {
                return;
            }
        }
    }

    /// Havocs the untracked paths of a guard that the state contradicts: another state of the same key may have other values there.
    fn havocs(&self, state: &mut SymState, guard: &Guard) -> bool {
        self.havoc(state, &self.input.asked_by(guard))
    }

    /// Havocs the untracked ones of these paths, and returns whether there were any. A violation that is found after it may be spurious.
    pub(crate) fn havoc(&self, state: &mut SymState, paths: &[KeyPath]) -> bool {
        let Some(asked) = &self.precision.tracked else { return false };
        let mut is_coarse = false;
        for path in paths.iter().filter(|path| !asked.contains(*path)) {
            is_coarse = true;
            state.havoc(path);
        }
        is_coarse
    }

    /// Assumes that a guard evaluates to `truth`; `false` if the state contradicts it. A schema predicate is evaluated over the context
    /// (language 6.2).
    pub(crate) fn assume(&self, state: &mut SymState, guard: &Guard, truth: bool, answers: &mut BTreeMap<u32, bool>) -> bool {
        if !state.assume(guard, truth, answers) {
            return false;
        }
        let Guard::Predicate(index, wanted) = guard else { return true };
        let PredicateSource::Schema(schema) = &self.input.program.predicates()[*index as usize].source else { return true };
        let context = SymValue::Map(Rc::clone(&state.context));
        if *wanted == truth {
            state.constraints.assume_fits(&context, schema)
        } else {
            state.constraints.assume_differs(&context, schema) != CanViolate::No
        }
    }

    /// Enters the target of a hop, and adds the hops that follow without an input; `None` if the edge has no target to enter.
    pub(crate) fn target(&mut self, state: &mut SymState, hop: Hop, hops: &mut Vec<Hop>) -> Option<ExecResult> {
        let program: &Program = self.input.program;
        let node = program.node(program.point(hop.point).node);
        match &program.edges[hop.edge.index()].to {
            Target::Point(to) => Some(self.enter(state, *to, hops)),
            Target::Proceed(to) => Some(self.arrive(state, *to)),
            Target::Rollback => {
                state.roll_back();
                Some(self.enter(state, program.after_rollback(node.graph)?, hops))
            }
            Target::Again | Target::End(_) => None,
        }
    }

    /// Enters a node; a node without entries left is passed by (language 7.1).
    pub(crate) fn enter(&mut self, state: &mut SymState, mut point: PointIndex, hops: &mut Vec<Hop>) -> ExecResult {
        let program: &Program = self.input.program;
        for _ in 0..MAX_PASSED_NODES {
            let node = program.node(program.point(point).node);
            let Some(limit) = node.entry.max_visits else { return self.arrive(state, point) };
            let visits = state.visits.entry(node.index).or_insert(0);
            if *visits < limit {
                *visits += 1;
                return self.arrive(state, point);
            }
            let points = [point, node.body, node.gate.unwrap_or(node.body)];
            let exhausted = points.into_iter().find_map(|at| {
                let reply = program
                    .point(at)
                    .replies
                    .clone()
                    .map(ReplyIndex)
                    .find(|reply| program.replies[reply.index()].on == Outcome::Exhausted)?;
                Some((at, reply, EdgeIndex(program.replies[reply.index()].edges.start)))
            });
            let Some((at, reply, edge)) = exhausted else { return ExecResult::Infeasible };
            hops.push(Hop { point: at, reply, edge });
            match program.edges[edge.index()].to {
                Target::Point(to) => point = to,
                _ => return ExecResult::Infeasible,
            }
        }
        self.mark_undecided(state);
        ExecResult::Infeasible
    }
}

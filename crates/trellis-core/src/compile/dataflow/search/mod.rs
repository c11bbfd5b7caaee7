//! The steps of a session whose values are chosen last: what can be handed in where it waits, and where that leads.

pub(super) mod bfs;
pub(super) mod entry;
pub(super) mod execute;
pub(super) mod outcome;
pub(super) mod prune;
pub(super) mod replay;
pub(super) mod state;

use std::{
    cell::{Cell, OnceCell, RefCell},
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
    sync::Arc,
};

use self::{bfs::ShortestPaths, entry::EntryState, execute::ForkTrail, state::SymState};
use super::{
    fixpoint::violation::{Alarm, Violation},
    ir::Ir,
    symbolic::{CanViolate, SchemaCache, SymValue},
};
use crate::{
    compile::cfg::Cfg,
    id::SignalName,
    path::KeyPath,
    program::{
        Edge, Failure, Guard, NodeIndex, Outcome, PointIndex, PredicateSource, Program, Reason, Reply, Role, Target, Write, WriteSource,
    },
    schema::Schema,
    template::{CalculationOutcome as Came, KindSet},
    value::Key,
    witness::Witness,
};

/// What a search came to.
pub(crate) enum Verdict {
    /// The engine walked this way into the accident.
    Proved(Vec<Hop>, WitnessDetails),
    /// There is no such way.
    Refuted,
    /// Every way that was found comes to grief before, where that was told.
    Hidden,
    /// The budget was spent, or no way that was found could be walked.
    Open,
}

/// What was met where it went wrong.
#[derive(Default)]
pub(crate) struct WitnessDetails {
    /// The names that are set there.
    pub(crate) there: Vec<String>,
    /// What the engine said.
    pub(crate) said: Option<String>,
    /// Of what sorts the parts of a calculation were, where it is about one.
    pub(crate) sorts: Vec<KindSet>,
    /// The session that was walked; nothing where another mistake stands before it in the same text.
    pub(crate) witness: Option<Arc<Witness>>,
}

/// One step of a way: the reply that was taken at a point, and the edge.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hop {
    pub(crate) point: PointIndex,
    pub(crate) on: u32,
    pub(crate) edge: u32,
}

/// What is handed in for a step.
#[derive(Clone, Debug)]
pub(crate) enum HostInput {
    Pass,
    Answer(SymValue),
    Success(SymValue),
    Invalid,
    /// With what stands in `sys.error` then.
    Error(SymValue),
    Denied(SymValue),
    Signal(SignalName),
}

/// One step of a way, as the engine will be asked to take it.
#[derive(Clone, Debug)]
pub(crate) struct HostMove {
    pub(crate) given: HostInput,
    /// What predicates answer.
    pub(crate) answers: BTreeMap<u32, bool>,
}

/// How a way begins.
#[derive(Clone)]
pub(crate) struct InitialState {
    pub(crate) point: PointIndex,
    pub(crate) is_entry: bool,
    pub(crate) context: BTreeMap<Key, SymValue>,
}

/// What became of doing something in a scene.
pub(crate) enum ExecResult {
    On,
    /// The session ends otherwise: no way leads through here.
    Dead,
    Accident,
}

pub(crate) struct Search<'s, 'p> {
    pub(crate) program: &'p Arc<Program>,
    pub(crate) ir: &'s Ir<'p>,
    pub(crate) entry_states: &'s [EntryState],
    pub(crate) alarm: &'s Alarm,
    /// Points of which nothing is known.
    pub(crate) tainted: &'s [bool],
    /// Where the missing path may be absent; nothing where that does not matter.
    pub(crate) absent: Option<&'s [bool]>,
    /// The shortest ways to every point, whatever is written on them.
    pub(crate) shortest: &'s ShortestPaths,
    pub(crate) cfg: &'s Cfg<'p>,
    /// Paths that were found missing already: a search goes on as if somebody had mended that.
    pub(crate) assumed_set: &'s [KeyPath],
    /// What may still be done: operations and conditions, of all searches together.
    pub(crate) budget: &'s Cell<usize>,
    /// Paths by which ways are told apart, while they are: what is known of others is not relied on.
    pub(crate) tracked: RefCell<Option<BTreeSet<KeyPath>>>,
    /// What successful calls return.
    pub(crate) returns: &'s dyn Fn(PointIndex) -> Vec<Schema>,
    /// What is known of schemas.
    pub(crate) cache: &'s Rc<RefCell<SchemaCache>>,
    /// The keys that something reads.
    pub(crate) reads: &'s BTreeSet<Key>,
    /// The schema that the accident breaks.
    pub(crate) breaks: OnceCell<Option<Schema>>,
    /// What the calculation that the accident is about comes to, by the sorts of its parts.
    pub(crate) outcomes: RefCell<BTreeMap<Vec<KindSet>, Came>>,
    /// Nodes where a session was found to come to grief: none comes past that.
    pub(crate) failing_nodes: &'s BTreeSet<NodeIndex>,
    /// Whether the way that was walked last came to grief there.
    pub(crate) is_masked: Cell<bool>,
    /// Whether a way could not be walked for another reason.
    pub(crate) is_astray: Cell<bool>,
    /// Which ways on are taken where a step has several.
    pub(crate) forks: RefCell<ForkTrail>,
    /// Whether something could neither be found nor ruled out.
    pub(crate) incomplete: Cell<bool>,
    /// The same on a way on which something was forgotten: what that was.
    pub(crate) imprecise: RefCell<Option<BTreeSet<KeyPath>>>,
}

/// One step that was taken: where it leads to, before its target is entered.
pub(crate) type Successor = (SymState, Hop, HostMove, ExecResult);

impl Search<'_, '_> {
    /// Takes from the budget; false where it is spent.
    pub(crate) fn spend(&self, work: usize) -> bool {
        let left = self.budget.get().saturating_sub(work);
        self.budget.set(left);
        left > 0
    }

    /// Every step that a waiting session can take, up to the choice of the target; `ends` for those only that end before it.
    pub(crate) fn successors(&self, from: &SymState, ends: bool) -> Vec<Successor> {
        let program: &Program = self.program;
        let point = from.point;
        let node = program.node(program.point(point).node);
        let mut steps = Vec::new();
        for on in program.point(point).replies.clone() {
            let reply = &program.replies[on as usize];
            self.for_each_branch(|| {
                let mut state = from.clone();
                let Some(given) = self.given(&mut state, node, point, reply) else { return };
                let before = Hop { point, on, edge: reply.edges.start };
                match self.all(&mut state, point, self.ir.replying(on)) {
                    ExecResult::On => self.choose(state, before, given, ends, &mut steps),
                    ExecResult::Dead => {}
                    ExecResult::Accident => steps.push((state, before, HostMove { given, answers: BTreeMap::new() }, ExecResult::Accident)),
                }
            });
        }
        steps
    }

    /// The one step that takes a hop; nothing where it cannot be taken. Its own condition comes first: that decides most of those before it.
    pub(crate) fn along(&self, mut state: SymState, hop: Hop) -> Option<(SymState, HostMove)> {
        let program: &Program = self.program;
        let node = program.node(program.point(hop.point).node);
        let reply = &program.replies[hop.on as usize];
        let given = self.given(&mut state, node, hop.point, reply)?;
        let is_on = |done: ExecResult| matches!(done, ExecResult::On);
        let mut answers = BTreeMap::new();
        is_on(self.all(&mut state, hop.point, self.ir.replying(hop.on))).then_some(())?;
        self.assume(&mut state, &program.edges[hop.edge as usize].when, true, &mut answers).then_some(())?;
        for at in reply.edges.start..=hop.edge {
            self.spend(EDGE + state.constraints.width() / 512).then_some(())?;
            for site in self.ir.guarded(at) {
                is_on(self.read(&mut state, hop.point, site)).then_some(())?;
            }
            if at < hop.edge {
                self.assume(&mut state, &program.edges[at as usize].when, false, &mut answers).then_some(())?;
            }
        }
        Some((state, HostMove { given, answers }))
    }

    /// What is handed in for a reply; nothing for those that no host brings about at will.
    fn given(&self, state: &mut SymState, node: &crate::program::Node, point: PointIndex, reply: &Reply) -> Option<HostInput> {
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
                let sym = state.constraints.fresh_fitting(&(self.returns)(point));
                (state.input, state.result) = (Some(sym.clone()), Some(sym.clone()));
                HostInput::Success(sym)
            }
            Outcome::Invalid => HostInput::Invalid,
            Outcome::Error | Outcome::Timeout => HostInput::Error(failure?),
            Outcome::Denied => HostInput::Denied(failure?),
            Outcome::Signal(name) => HostInput::Signal(name.clone()),
            Outcome::AnySignal => HostInput::Signal(SignalName::new("any")),
            Outcome::Exhausted | Outcome::Unwound => return None,
        })
    }

    /// Every way of the reply of a hop, in order.
    fn choose(&self, mut state: SymState, hop: Hop, given: HostInput, ends: bool, steps: &mut Vec<Successor>) {
        let program: &Program = self.program;
        let reply = &program.replies[hop.on as usize];
        let mut answers = BTreeMap::new();
        for at in reply.edges.clone() {
            let edge: &Edge = &program.edges[at as usize];
            let hop = Hop { edge: at, ..hop };
            if !self.spend(if ends { EDGE } else { 1 } + state.constraints.width() / 512) {
                return;
            }
            let step = |answers| HostMove { given: given.clone(), answers };
            if edge.to == Target::End(Reason::Failed(Failure::NoMatch)) && self.is_goal(hop.point, Violation::NoMatch(hop.on)) {
                steps.push((state, hop, step(answers), ExecResult::Accident));
                return;
            }
            for site in self.ir.guarded(at) {
                match self.read(&mut state, hop.point, site) {
                    ExecResult::On => {}
                    ExecResult::Dead => return,
                    ExecResult::Accident => {
                        steps.push((state, hop, step(answers), ExecResult::Accident));
                        return;
                    }
                }
            }
            if matches!(edge.to, Target::End(_)) || !(ends || edge.to == Target::Again) {
                let (mut taken, mut said) = (state.clone(), answers.clone());
                if self.assume(&mut taken, &edge.when, true, &mut said) || self.havocs(&mut taken, &edge.when) {
                    let done = match &edge.to {
                        Target::End(_) => match self.all(&mut taken, hop.point, self.ir.ending(hop.point, &edge.to)) {
                            ExecResult::On => ExecResult::Dead,
                            done => done,
                        },
                        _ => ExecResult::On,
                    };
                    steps.push((taken, hop, step(said), done));
                }
            }
            if edge.when == Guard::Always
                || !(self.assume(&mut state, &edge.when, false, &mut answers) || self.havocs(&mut state, &edge.when))
            {
                return;
            }
        }
    }

    /// Goes on where a guard does not let pass, as if nothing were known of its path: another way may come here with something else there.
    fn havocs(&self, state: &mut SymState, guard: &Guard) -> bool {
        self.havoc(state, &self.asked_by(guard))
    }

    /// Forgets what is known of paths, except of those that ways are told apart by. What is found behind it is not proved.
    pub(crate) fn havoc(&self, state: &mut SymState, paths: &[KeyPath]) -> bool {
        let asked = self.tracked.borrow();
        let Some(asked) = asked.as_ref() else { return false };
        let mut is_coarse = false;
        for path in paths.iter().filter(|path| !asked.contains(*path)) {
            is_coarse = true;
            state.havoc(path);
        }
        is_coarse
    }

    /// Narrows a scene to where a guard comes to `truth`; false where it cannot. A predicate of the core's own is asked over the context
    /// (language 6.2).
    pub(crate) fn assume(&self, state: &mut SymState, guard: &Guard, truth: bool, answers: &mut BTreeMap<u32, bool>) -> bool {
        if !state.assume(guard, truth, answers) {
            return false;
        }
        let Guard::Predicate(index, wanted) = guard else { return true };
        let PredicateSource::Schema(schema) = &self.program.predicates()[*index as usize].source else { return true };
        let context = SymValue::Map(Rc::clone(&state.context));
        if *wanted == truth {
            state.constraints.assume_fits(&context, schema)
        } else {
            state.constraints.assume_differs(&context, schema) != CanViolate::No
        }
    }

    /// Follows the edge of a hop; hops that follow at once are added.
    pub(crate) fn target(&self, state: &mut SymState, hop: Hop, hops: &mut Vec<Hop>) -> Option<ExecResult> {
        let program: &Program = self.program;
        let node = program.node(program.point(hop.point).node);
        match &program.edges[hop.edge as usize].to {
            Target::Point(to) => Some(self.enter(state, *to, hops)),
            Target::Proceed(to) => Some(self.arrive(state, *to)),
            Target::Rollback => {
                state.unwind();
                Some(self.enter(state, program.after_rollback(node.graph)?, hops))
            }
            Target::Again | Target::End(_) => None,
        }
    }

    /// Enters a node; one that admits no more entries is passed by (language 7.1).
    pub(crate) fn enter(&self, state: &mut SymState, mut point: PointIndex, hops: &mut Vec<Hop>) -> ExecResult {
        let program: &Program = self.program;
        for _ in 0..PASSED {
            let node = program.node(program.point(point).node);
            let Some(limit) = node.entry.max_visits else { return self.arrive(state, point) };
            let visits = state.visits.entry(node.index).or_insert(0);
            if *visits < limit {
                *visits += 1;
                return self.arrive(state, point);
            }
            let points = [point, node.body, node.gate.unwrap_or(node.body)];
            let exhausted = points.into_iter().find_map(|at| {
                let on = program.point(at).replies.clone().find(|on| program.replies[*on as usize].on == Outcome::Exhausted)?;
                Some((at, on, program.replies[on as usize].edges.start))
            });
            let Some((at, on, edge)) = exhausted else { return ExecResult::Dead };
            hops.push(Hop { point: at, on, edge });
            match program.edges[edge as usize].to {
                Target::Point(to) => point = to,
                _ => return ExecResult::Dead,
            }
        }
        self.leave_open(state);
        ExecResult::Dead
    }
}

/// What an edge costs on a way that is known, where little is done for a state.
const EDGE: usize = 3;

/// Nodes that are passed by in one step.
const PASSED: usize = 100;

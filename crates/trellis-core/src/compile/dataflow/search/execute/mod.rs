//! What happens in a scene: how a context begins, entering a point, reading and writing, in the order of the script.

mod arithmetic;
mod expression;
mod write;

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
    rc::Rc,
};

use super::{ExecResult, InitialState, Search, entry::EntryState, state::SymState};
use crate::{
    compile::dataflow::{
        domain::{external, having},
        fixpoint::violation::Violation,
        ir::{Instr, ReadSite},
        symbolic::{CanViolate, Constraints, Fingerprinter, Lookup},
    },
    path::{KeyPath, Segment},
    program::{Guard, NodeIndex, PointIndex, PredicateSource, WriteTarget},
    schema::Schema,
    template::Shape,
    value::{Key, Mapping, Value},
};

/// What tells ways apart: the point, whether all of it is so, the visits that are counted, and what is known of some paths.
pub(crate) type StateKey = (u32, bool, Vec<(NodeIndex, u32)>, String);

impl Search<'_, '_> {
    pub(crate) fn begin(&self, entry_state: &EntryState) -> (SymState, InitialState) {
        let program = self.program;
        let mut constraints = Constraints::new(self.cache);
        let mut context = BTreeMap::new();
        let node = program.node(program.point(entry_state.point).node);
        let wanted = self.wanted().map(|path| path.root());
        self.spend(GIVEN * (entry_state.given.len() + self.assumed_set.len()));
        for given in &entry_state.given {
            let schemas = given.fits.as_slice();
            let sym = if given.may_be_absent { constraints.fresh_optional(schemas) } else { constraints.fresh_fitting(schemas) };
            context.insert(given.key.clone(), sym);
        }
        let graph = program.graph_of(node);
        for (key, schema) in &node.entry.types {
            let schemas = std::slice::from_ref(schema);
            let sym = if node.brings(graph, key) { constraints.fresh_optional(schemas) } else { constraints.fresh_fitting(schemas) };
            context.entry(key.clone()).or_insert(sym);
        }
        let required = node.entry.required.iter().filter(|path| !node.brings(graph, path.root()));
        let required = required.filter(|path| entry_state.is_entry || wanted != Some(path.root()));
        for path in required.chain(self.assumed_set.iter().filter(|path| wanted != Some(path.root()))) {
            let there = context.get(path.root()).cloned();
            if there.is_none_or(|there| !constraints.assume_present_below(&there, path.rest())) {
                let sym = constraints.fresh_fitting(&[]);
                constraints.write(&mut context, path, sym);
            }
        }
        let state = SymState {
            point: entry_state.point,
            context: Rc::new(context.clone()),
            ans: None,
            error: None,
            rollback: None,
            constraints,
            input: None,
            result: None,
            failure: None,
            visits: BTreeMap::new(),
            havocked: Rc::default(),
        };
        (state, InitialState { point: entry_state.point, is_entry: entry_state.is_entry, context })
    }

    /// The path whose absence is looked for.
    pub(crate) fn wanted(&self) -> Option<&KeyPath> {
        match self.alarm.violation {
            Violation::Missing(site) => Some(self.ir.sites[site as usize].path),
            _ => None,
        }
    }

    /// The paths that the accident is about: ways that know the same of them are one.
    pub(crate) fn subjects(&self) -> Vec<KeyPath> {
        match self.alarm.violation {
            Violation::Missing(site) | Violation::Truth(site) | Violation::Operand(site) => {
                let site = &self.ir.sites[site as usize];
                site.calculation().map_or_else(|| vec![site.path.clone()], |calculation| calculation.paths.to_vec())
            }
            Violation::NoMatch(_) => Vec::new(),
            Violation::Unfit(op) | Violation::Fails(op) | Violation::Write(op) | Violation::Args(op) => match &self.ir.ops[op as usize] {
                Instr::Fit { node, index, .. } => {
                    self.program.node(*node).entry.types.get(*index as usize).and_then(|(key, _)| own(key)).into_iter().collect()
                }
                Instr::Assert { guard, .. } => self.asked_by(guard),
                Instr::Write { write, .. } => match &write.to {
                    WriteTarget::Path(path) | WriteTarget::Append(path) => vec![path.clone()],
                    _ => Vec::new(),
                },
                Instr::Args { call } => {
                    let mut paths = Vec::new();
                    call.args.iter().for_each(|args| args.each_use(&mut |used| paths.push(used.path.clone())));
                    call.args.iter().for_each(|args| each_path(args, &mut |path, _| paths.push(path.clone())));
                    paths
                }
                Instr::Read(_) | Instr::Ask { .. } => Vec::new(),
            },
        }
    }

    /// What decides a guard; for a predicate of the core's own, what its schema speaks of (language 6.2).
    pub(crate) fn asked_by(&self, guard: &Guard) -> Vec<KeyPath> {
        if let Some(operand) = guard.operand() {
            return vec![operand.path.clone()];
        }
        let Guard::Predicate(index, _) = guard else { return Vec::new() };
        let PredicateSource::Schema(schema) = &self.program.predicates()[*index as usize].source else { return Vec::new() };
        let map = schema.source().as_map();
        let named = map.and_then(|map| map.get("properties")).and_then(Value::as_map).into_iter().flat_map(Mapping::keys).cloned();
        let required = map.and_then(|map| map.get("required")).and_then(Value::as_list).into_iter().flatten();
        let required = required.filter_map(Value::as_str).map(Key::from);
        let keys: BTreeSet<Key> = named.chain(required).collect();
        keys.into_iter().filter_map(|key| KeyPath::new(vec![Segment::Key(key)])).collect()
    }

    /// What is told apart: the point, the visits that are counted, and what is known of the paths that matter.
    pub(crate) fn state_key(&self, state: &SymState, asked: &BTreeSet<KeyPath>) -> StateKey {
        let mut sketcher = Fingerprinter::new(&state.constraints);
        for path in asked {
            if let Some((root, rest)) = state.root_of(path) {
                sketcher.path(root.as_ref(), rest);
            }
        }
        let known = sketcher.done(state.context.iter().filter(|(key, _)| self.reads.contains(*key)));
        let visits = state.visits.iter().map(|(node, count)| (*node, *count)).collect();
        (state.point.0, state.havocked.is_empty(), visits, known)
    }

    /// Takes one of two ways on where either may be; each is taken in its turn.
    pub(crate) fn fork(&self) -> bool {
        let mut forks = self.forks.borrow_mut();
        let at = forks.at;
        forks.at += 1;
        if at == forks.taken.len() {
            forks.taken.push(false);
        }
        forks.taken[at]
    }

    /// Does something as often as there are ways on in it.
    pub(crate) fn for_each_branch(&self, mut run: impl FnMut()) {
        *self.forks.borrow_mut() = ForkTrail::default();
        for _ in 0..FORKS {
            self.forks.borrow_mut().at = 0;
            run();
            let mut forks = self.forks.borrow_mut();
            while forks.taken.last() == Some(&true) {
                forks.taken.pop();
            }
            match forks.taken.last_mut() {
                Some(last) => *last = true,
                None => return,
            }
        }
        self.incomplete.set(true);
    }

    /// Something was neither found nor ruled out. Where it was looked at as if less were known, it is looked at again.
    pub(crate) fn leave_open(&self, state: &SymState) {
        if state.havocked.is_empty() {
            self.incomplete.set(true);
        } else {
            self.imprecise.borrow_mut().get_or_insert_with(|| (*state.havocked).clone());
        }
    }

    /// Arrives at a point, up to what it waits for.
    pub(crate) fn arrive(&self, state: &mut SymState, point: PointIndex) -> ExecResult {
        state.point = point;
        (state.input, state.result) = (None, None);
        if self.tainted[point.0 as usize] {
            return ExecResult::Dead;
        }
        self.all(state, point, self.ir.entering(point))
    }

    pub(crate) fn all(&self, state: &mut SymState, point: PointIndex, ops: Range<u32>) -> ExecResult {
        if !self.spend(1 + ops.len()) {
            return ExecResult::Dead;
        }
        for op in ops {
            match self.happen(state, point, op) {
                ExecResult::On => {}
                done => return done,
            }
        }
        ExecResult::On
    }

    pub(crate) fn is_goal(&self, point: PointIndex, violation: Violation) -> bool {
        self.alarm.point == point && self.alarm.violation == violation
    }

    fn happen(&self, state: &mut SymState, point: PointIndex, at: u32) -> ExecResult {
        match &self.ir.ops[at as usize] {
            Instr::Read(site) => self.read(state, point, *site),
            Instr::Ask { site, .. } => site.map_or(ExecResult::On, |site| self.read(state, point, site)),
            Instr::Write { write, reads, .. } => self.write(state, point, at, write, reads.clone()),
            Instr::Assert { guard, .. } => self.assert(state, point, at, guard),
            Instr::Fit { schema, node, index, .. } => {
                let Some((key, _)) = self.program.node(*node).entry.types.get(*index as usize) else { return ExecResult::On };
                let Some(sym) = state.context.get(key).cloned() else { return ExecResult::On };
                let (Lookup::Present(sym) | Lookup::MaybePresent(sym)) = state.constraints.below(&sym, &[]) else { return ExecResult::On };
                if self.is_goal(point, Violation::Unfit(at))
                    && self.tried(state, |constraints| {
                        if constraints.assume_present(&sym, true) { constraints.assume_violates(&sym, schema) } else { CanViolate::No }
                    })
                {
                    return ExecResult::Accident;
                }
                // What may be absent fits, or is absent.
                let fits = state.constraints.assume_fits(&sym, schema)
                    || (state.constraints.presence(&sym).is_none() && state.constraints.assume_present(&sym, false));
                if fits { ExecResult::On } else { own(key).map_or(ExecResult::Dead, |path| self.doubt(state, &[path])) }
            }
            Instr::Args { call } => {
                if self.is_goal(point, Violation::Args(at))
                    && let Some(schema) = self.wanted_schema(|| external::taken(self.program, call).map(Value::from))
                {
                    call.args.iter().for_each(|args| self.settle(state, args));
                    if let Some(sym) = state.arguments(call)
                        && self.tried(state, |constraints| constraints.assume_violates(&sym, &schema))
                    {
                        return ExecResult::Accident;
                    }
                }
                ExecResult::On
            }
        }
    }

    /// The schema that the accident breaks, made once.
    fn wanted_schema(&self, make: impl FnOnce() -> Option<Value>) -> Option<Schema> {
        self.breaks.get_or_init(|| Schema::new(&make()?).ok()).clone()
    }

    fn assert(&self, state: &mut SymState, point: PointIndex, at: u32, guard: &Guard) -> ExecResult {
        if self.is_goal(point, Violation::Fails(at)) {
            let mut details = state.clone();
            let is_known = guard.operand().is_some_and(|operand| match details.look(&operand.path) {
                Lookup::Present(sym) => details.constraints.is_known(&sym),
                Lookup::MaybePresent(_) | Lookup::Absent => true,
            });
            if is_known && self.assume(&mut details, guard, false, &mut BTreeMap::new()) {
                *state = details;
                return ExecResult::Accident;
            }
        }
        if self.assume(state, guard, true, &mut BTreeMap::new()) { ExecResult::On } else { self.doubt(state, &self.asked_by(guard)) }
    }

    /// A way ends because of what is at some paths, if that is what is there.
    pub(crate) fn doubt(&self, state: &mut SymState, paths: &[KeyPath]) -> ExecResult {
        if self.havoc(state, paths) { ExecResult::On } else { ExecResult::Dead }
    }

    /// Keeps what was narrowed if it could be.
    pub(crate) fn tried(&self, state: &mut SymState, narrow: impl FnOnce(&mut Constraints) -> CanViolate) -> bool {
        let mut constraints = state.constraints.clone();
        match narrow(&mut constraints) {
            CanViolate::Yes => {
                state.constraints = constraints;
                true
            }
            CanViolate::Unknown => {
                self.leave_open(state);
                false
            }
            CanViolate::No => false,
        }
    }

    pub(crate) fn read(&self, state: &mut SymState, point: PointIndex, at: u32) -> ExecResult {
        let site = &self.ir.sites[at as usize];
        if let Some(calculation) = site.calculation() {
            return if self.is_goal(point, Violation::Operand(at)) { self.calculate(state, site, calculation) } else { ExecResult::On };
        }
        if !site.is_followed() {
            return ExecResult::On;
        }
        let is_wanted = self.is_goal(point, Violation::Missing(at));
        let is_uncounted = site.is_count() && self.program.node(self.program.point(point).node).entry.max_visits.is_none();
        if is_uncounted {
            return if is_wanted && self.meets(state, site) { ExecResult::Accident } else { ExecResult::On };
        }
        if is_wanted && site.inside().is_empty() {
            let mut details = state.clone();
            if self.meets(&mut details, site) && self.lacks(&mut details, site.path) {
                *state = details;
                return ExecResult::Accident;
            }
        }
        let (sym, is_there) = match state.look(site.path) {
            Lookup::Present(sym) => (sym, true),
            Lookup::MaybePresent(sym) => (sym, false),
            // Where it depends on something, the engine will say.
            Lookup::Absent if site.is_certain() => return self.doubt(state, std::slice::from_ref(site.path)),
            Lookup::Absent => return ExecResult::On,
        };
        if site.is_deep() {
            state.constraints.assume_filled(&sym);
        }
        let demand = match site.demand() {
            _ if is_wanted && !site.inside().is_empty() => Some(having(site.inside())),
            _ if self.is_goal(point, Violation::Truth(at)) => Some(of_types(&["boolean"])),
            Some(demand) if self.is_goal(point, Violation::Operand(at)) && site.inside().is_empty() => Some(of_types(&demand.types())),
            _ => None,
        };
        if let Some(schema) = demand.and_then(|demand| self.wanted_schema(|| Some(demand))) {
            let mut details = state.clone();
            let is_met = self.meets(&mut details, site) && (is_there || details.decide(site.path, true));
            if is_met && self.tried(&mut details, |constraints| constraints.assume_violates(&sym, &schema)) {
                *state = details;
                return ExecResult::Accident;
            }
        }
        if !is_there && site.is_certain() && !state.decide(site.path, true) {
            return self.doubt(state, std::slice::from_ref(site.path));
        }
        ExecResult::On
    }

    /// Narrows to where a site is met; false where it cannot be.
    fn meets(&self, state: &mut SymState, site: &ReadSite<'_>) -> bool {
        site.when().iter().all(|test| state.meets(test))
            && site.guard().is_none_or(|guard| self.assume(state, guard, true, &mut BTreeMap::new()))
    }

    /// Narrows to where nothing is at a path; false where something is, or where nothing is claimed of it.
    fn lacks(&self, state: &mut SymState, path: &KeyPath) -> bool {
        match state.look(path) {
            Lookup::Absent => true,
            Lookup::Present(_) => false,
            Lookup::MaybePresent(sym) => !state.constraints.is_rendered(&sym) && state.decide(path, false),
        }
    }
}

/// Every path that a shape takes a value from, and whether it may leave its key out.
pub(crate) fn each_path(shape: &Shape, see: &mut impl FnMut(&KeyPath, bool)) {
    match shape {
        Shape::Expression(expression) => {
            if let Some((path, optional)) = expression.path() {
                see(path, optional);
            }
            expression.made().each_path(&mut |path| see(path, false));
        }
        Shape::List(items) => items.iter().for_each(|item| each_path(&item.value, see)),
        Shape::Map(entries) => entries.iter().for_each(|(_, shape)| each_path(&shape.value, see)),
        Shape::Literal(_) | Shape::Text(_) => {}
    }
}

/// What a key costs that a way begins with.
const GIVEN: usize = 10;

/// Ways on that one step may take.
const FORKS: usize = 64;

/// Which of two ways on is taken, each time there are two.
#[derive(Debug, Default)]
pub(crate) struct ForkTrail {
    taken: Vec<bool>,
    at: usize,
}

/// The schema of a kind of values.
pub(crate) fn typed(kind: &str) -> Option<Schema> {
    Schema::new(&of_types(&[kind])).ok()
}

fn of_types(names: &[&str]) -> Value {
    Value::map([("type", Value::list(names.iter().map(|name| Value::text(*name))))])
}

/// The path that is a key.
pub(crate) fn own(key: &Key) -> Option<KeyPath> {
    KeyPath::new(vec![Segment::Key(key.clone())])
}

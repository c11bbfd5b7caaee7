//! Symbolic execution of the IR: each operation of a point narrows the state, ends its path, or produces the violation of the alarm.
//!
//! At the alarm's own operation the state is narrowed to values that violate it, if there are any; at every other operation to values that do not.
//! If it cannot decide, the round is marked as incomplete, so no violation is missed silently.
//!
//! **Example:** a read of `name` narrows an optional `name` to present; at the alarm `Missing(name)` the same read narrows it to absent.

mod arithmetic;
mod expression;
mod write;

use std::{collections::BTreeMap, ops::Range, rc::Rc};

use super::{
    SearchRun,
    entry::EntryState,
    path::{ExecResult, InitialState},
    state::SymState,
    tracked::key_path,
};
use crate::dataflow::{
    budget::Cost,
    domain::{external, having},
    fixpoint::violation::Violation,
    index::{OpIndex, SiteIndex},
    ir::{Instr, ReadSite},
    symbolic::{CanViolate, Constraints, Lookup},
};
use trellis_base::{path::KeyPath, schema::Schema, value::Value};
use trellis_engine::program::{Guard, PointIndex};

impl SearchRun<'_, '_> {
    pub(crate) fn begin(&mut self, entry_state: &EntryState) -> (SymState, InitialState) {
        let program = self.input.program;
        let mut constraints = Constraints::new(self.cache);
        let mut context = BTreeMap::new();
        let node = program.node(program.point(entry_state.point).node);
        let wanted = self.input.wanted().map(|path| path.root());
        self.budget.charge(Cost::EntryKeys(entry_state.given.len() + self.assumed_set.len()));
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
            let known = context.get(path.root()).cloned();
            if known.is_none_or(|known| !constraints.assume_present_below(&known, path.rest())) {
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

    /// Executes the operations of entering a point, until the session waits.
    pub(crate) fn arrive(&mut self, state: &mut SymState, point: PointIndex) -> ExecResult {
        state.point = point;
        (state.input, state.result) = (None, None);
        if self.input.tainted[point.index()] {
            return ExecResult::Infeasible;
        }
        self.all(state, point, self.input.ir.entering(point))
    }

    pub(crate) fn all(&mut self, state: &mut SymState, point: PointIndex, ops: Range<u32>) -> ExecResult {
        if !self.budget.charge(Cost::Operations(ops.len())) {
            return ExecResult::Infeasible;
        }
        for op in ops.map(OpIndex) {
            match self.execute(state, point, op) {
                ExecResult::Continue => {}
                done => return done,
            }
        }
        ExecResult::Continue
    }

    fn execute(&mut self, state: &mut SymState, point: PointIndex, at: OpIndex) -> ExecResult {
        match &self.input.ir.ops[at.index()] {
            Instr::Read(site) => self.read(state, point, *site),
            Instr::Ask { site, .. } => site.map_or(ExecResult::Continue, |site| self.read(state, point, site)),
            Instr::Write { write, reads, .. } => self.write(state, point, at, write, reads.clone()),
            Instr::Assert { guard, .. } => self.assert(state, point, at, guard),
            Instr::Fit { schema, node, index, .. } => {
                let Some((key, _)) = self.input.program.node(*node).entry.types.get(*index as usize) else { return ExecResult::Continue };
                let Some(sym) = state.context.get(key).cloned() else { return ExecResult::Continue };
                let (Lookup::Present(sym) | Lookup::MaybePresent(sym)) = state.constraints.below(&sym, &[]) else {
                    return ExecResult::Continue;
                };
                if self.input.is_goal(point, Violation::Unfit(at))
                    && self.try_violation(state, |constraints| {
                        if constraints.assume_present(&sym, true) { constraints.assume_violates(&sym, schema) } else { CanViolate::No }
                    })
                {
                    return ExecResult::Violates;
                }
                // An optional value fits, or is absent.
                let fits = state.constraints.assume_fits(&sym, schema)
                    || (state.constraints.presence(&sym).is_none() && state.constraints.assume_present(&sym, false));
                if fits {
                    ExecResult::Continue
                } else {
                    key_path(key).map_or(ExecResult::Infeasible, |path| self.end_unless_havocked(state, &[path]))
                }
            }
            Instr::Undo { .. } => ExecResult::Continue,
            Instr::Args { call } => {
                if self.input.is_goal(point, Violation::Args(at))
                    && let Some(schema) = self.wanted_schema(|| external::taken(self.input.program, call).map(Value::from))
                {
                    call.args.iter().for_each(|args| self.settle(state, args));
                    if let Some(sym) = state.arguments(call)
                        && self.try_violation(state, |constraints| constraints.assume_violates(&sym, &schema))
                    {
                        return ExecResult::Violates;
                    }
                }
                ExecResult::Continue
            }
        }
    }

    /// Returns the schema that the violation breaks, made once.
    fn wanted_schema(&mut self, make: impl FnOnce() -> Option<Value>) -> Option<Schema> {
        self.violated.get_or_insert_with(|| Schema::new(&make()?).ok()).clone()
    }

    fn assert(&mut self, state: &mut SymState, point: PointIndex, at: OpIndex, guard: &Guard) -> ExecResult {
        if self.input.is_goal(point, Violation::Fails(at)) {
            let mut details = state.clone();
            let is_known = guard.operand().is_some_and(|operand| match details.lookup(&operand.path) {
                Lookup::Present(sym) => details.constraints.is_known(&sym),
                Lookup::MaybePresent(_) | Lookup::Absent => true,
            });
            if is_known && self.assume(&mut details, guard, false, &mut BTreeMap::new()) {
                *state = details;
                return ExecResult::Violates;
            }
        }
        if self.assume(state, guard, true, &mut BTreeMap::new()) {
            ExecResult::Continue
        } else {
            self.end_unless_havocked(state, &self.input.asked_by(guard))
        }
    }

    /// Ends a path because of the values at these paths, unless they are untracked: then they are havocked.
    pub(crate) fn end_unless_havocked(&self, state: &mut SymState, paths: &[KeyPath]) -> ExecResult {
        if self.havoc(state, paths) { ExecResult::Continue } else { ExecResult::Infeasible }
    }

    /// Narrows the constraints, if a violation is possible. An unknown result marks the round as incomplete.
    pub(crate) fn try_violation(&mut self, state: &mut SymState, narrow: impl FnOnce(&mut Constraints) -> CanViolate) -> bool {
        let mut constraints = state.constraints.clone();
        match narrow(&mut constraints) {
            CanViolate::Yes => {
                state.constraints = constraints;
                true
            }
            CanViolate::Unknown => {
                self.mark_undecided(state);
                false
            }
            CanViolate::No => false,
        }
    }

    pub(crate) fn read(&mut self, state: &mut SymState, point: PointIndex, at: SiteIndex) -> ExecResult {
        let site = &self.input.ir.sites[at.index()];
        if let Some(calculation) = site.calculation() {
            return if self.input.is_goal(point, Violation::Operand(at)) {
                self.calculate(state, site, calculation)
            } else {
                ExecResult::Continue
            };
        }
        if !site.is_followed() {
            return ExecResult::Continue;
        }
        let is_wanted = self.input.is_goal(point, Violation::Missing(at));
        let is_uncounted = site.is_count() && self.input.program.node(self.input.program.point(point).node).entry.max_visits.is_none();
        if is_uncounted {
            return if is_wanted && self.meets(state, site) { ExecResult::Violates } else { ExecResult::Continue };
        }
        if is_wanted && site.inside().is_empty() {
            let mut details = state.clone();
            if self.meets(&mut details, site) && self.lacks(&mut details, site.path) {
                *state = details;
                return ExecResult::Violates;
            }
        }
        let (sym, is_there) = match state.lookup(site.path) {
            Lookup::Present(sym) => (sym, true),
            Lookup::MaybePresent(sym) => (sym, false),
            // The replay decides whether a conditional read fails.
            Lookup::Absent if site.is_certain() => return self.end_unless_havocked(state, std::slice::from_ref(site.path)),
            Lookup::Absent => return ExecResult::Continue,
        };
        if site.is_deep() {
            state.constraints.assume_filled(&sym);
        }
        let demand = match site.demand() {
            _ if is_wanted && !site.inside().is_empty() => Some(having(site.inside())),
            _ if self.input.is_goal(point, Violation::Truth(at)) => Some(of_types(&["boolean"])),
            Some(demand) if self.input.is_goal(point, Violation::Operand(at)) && site.inside().is_empty() => {
                Some(of_types(&demand.types()))
            }
            _ => None,
        };
        if let Some(schema) = demand.and_then(|demand| self.wanted_schema(|| Some(demand))) {
            let mut details = state.clone();
            let is_met = self.meets(&mut details, site) && (is_there || details.assume_presence(site.path, true));
            if is_met && self.try_violation(&mut details, |constraints| constraints.assume_violates(&sym, &schema)) {
                *state = details;
                return ExecResult::Violates;
            }
        }
        if !is_there && site.is_certain() && !state.assume_presence(site.path, true) {
            return self.end_unless_havocked(state, std::slice::from_ref(site.path));
        }
        ExecResult::Continue
    }

    /// Assumes that a read site is reached; `false` if the state contradicts it.
    fn meets(&self, state: &mut SymState, site: &ReadSite<'_>) -> bool {
        site.when().iter().all(|test| state.meets(test))
            && site.guard().is_none_or(|guard| self.assume(state, guard, true, &mut BTreeMap::new()))
    }

    /// Assumes that a path is absent; `false` if it is present, or is rendered by a template, about which nothing is claimed.
    fn lacks(&self, state: &mut SymState, path: &KeyPath) -> bool {
        match state.lookup(path) {
            Lookup::Absent => true,
            Lookup::Present(_) => false,
            Lookup::MaybePresent(sym) => !state.constraints.is_rendered(&sym) && state.assume_presence(path, false),
        }
    }
}

/// Returns the schema of a kind of values.
pub(crate) fn typed(kind: &str) -> Option<Schema> {
    Schema::new(&of_types(&[kind])).ok()
}

fn of_types(names: &[&str]) -> Value {
    Value::map([("type", Value::list(names.iter().map(|name| Value::text(*name))))])
}

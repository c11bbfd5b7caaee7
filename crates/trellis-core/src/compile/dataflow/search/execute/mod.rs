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
    program::{Guard, NodeIndex, Place, PointIndex, PredicateSource},
    schema::Schema,
    template::Shape,
    value::{Key, Mapping, Value},
};

/// What tells ways apart: the point, whether all of it is so, the visits that are counted, and what is known of some paths.
pub(crate) type StateKey = (u32, bool, Vec<(NodeIndex, u32)>, String);

impl Search<'_, '_> {
    pub(crate) fn begin(&self, origin: &EntryState) -> (SymState, InitialState) {
        let program = self.program;
        let mut vars = Constraints::new(self.lore);
        let mut context = BTreeMap::new();
        let node = program.node(program.point(origin.point).node);
        let wanted = self.wanted().map(|path| path.root());
        self.spend(GIVEN * (origin.given.len() + self.assumed_set.len()));
        for given in &origin.given {
            let schemas = given.fits.as_slice();
            let sym = if given.may_be_absent { vars.fresh_optional(schemas) } else { vars.fresh_fitting(schemas) };
            context.insert(given.key.clone(), sym);
        }
        let graph = program.graph_of(node);
        for (key, schema) in &node.entry.types {
            let schemas = std::slice::from_ref(schema);
            let sym = if node.brings(graph, key) { vars.fresh_optional(schemas) } else { vars.fresh_fitting(schemas) };
            context.entry(key.clone()).or_insert(sym);
        }
        let required = node.entry.required.iter().filter(|path| !node.brings(graph, path.root()));
        let required = required.filter(|path| origin.is_entry || wanted != Some(path.root()));
        for path in required.chain(self.assumed_set.iter().filter(|path| wanted != Some(path.root()))) {
            let there = context.get(path.root()).cloned();
            if there.is_none_or(|there| !vars.assume_present_below(&there, path.rest())) {
                let sym = vars.fresh_fitting(&[]);
                vars.write(&mut context, path, sym);
            }
        }
        let scene = SymState {
            point: origin.point,
            context: Rc::new(context.clone()),
            ans: None,
            error: None,
            rollback: None,
            vars,
            input: None,
            result: None,
            failure: None,
            visits: BTreeMap::new(),
            havocked: Rc::default(),
        };
        (scene, InitialState { point: origin.point, is_entry: origin.is_entry, context })
    }

    /// The path whose absence is looked for.
    pub(crate) fn wanted(&self) -> Option<&KeyPath> {
        match self.candidate.accident {
            Violation::Missing(site) => Some(self.script.sites[site as usize].path),
            _ => None,
        }
    }

    /// The paths that the accident is about: ways that know the same of them are one.
    pub(crate) fn subjects(&self) -> Vec<KeyPath> {
        match self.candidate.accident {
            Violation::Missing(site) | Violation::Truth(site) | Violation::Operand(site) => {
                let site = &self.script.sites[site as usize];
                site.calculation().map_or_else(|| vec![site.path.clone()], |calculation| calculation.paths.to_vec())
            }
            Violation::NoMatch(_) => Vec::new(),
            Violation::Unfit(op) | Violation::Fails(op) | Violation::Write(op) | Violation::Args(op) => match &self.script.ops[op as usize]
            {
                Instr::Fit { node, index, .. } => {
                    self.program.node(*node).entry.types.get(*index as usize).and_then(|(key, _)| own(key)).into_iter().collect()
                }
                Instr::Assert { guard, .. } => self.asked_by(guard),
                Instr::Write { write, .. } => match &write.to {
                    Place::Path(path) | Place::Append(path) => vec![path.clone()],
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
    pub(crate) fn state_key(&self, scene: &SymState, asked: &BTreeSet<KeyPath>) -> StateKey {
        let mut sketcher = Fingerprinter::new(&scene.vars);
        for path in asked {
            if let Some((root, rest)) = scene.root_of(path) {
                sketcher.path(root.as_ref(), rest);
            }
        }
        let known = sketcher.done(scene.context.iter().filter(|(key, _)| self.reads.contains(*key)));
        let visits = scene.visits.iter().map(|(node, count)| (*node, *count)).collect();
        (scene.point.0, scene.havocked.is_empty(), visits, known)
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
    pub(crate) fn leave_open(&self, scene: &SymState) {
        if scene.havocked.is_empty() {
            self.incomplete.set(true);
        } else {
            self.imprecise.borrow_mut().get_or_insert_with(|| (*scene.havocked).clone());
        }
    }

    /// Arrives at a point, up to what it waits for.
    pub(crate) fn arrive(&self, scene: &mut SymState, point: PointIndex) -> ExecResult {
        scene.point = point;
        (scene.input, scene.result) = (None, None);
        if self.wild[point.0 as usize] {
            return ExecResult::Dead;
        }
        self.all(scene, point, self.script.entering(point))
    }

    pub(crate) fn all(&self, scene: &mut SymState, point: PointIndex, ops: Range<u32>) -> ExecResult {
        if !self.spend(1 + ops.len()) {
            return ExecResult::Dead;
        }
        for op in ops {
            match self.happen(scene, point, op) {
                ExecResult::On => {}
                done => return done,
            }
        }
        ExecResult::On
    }

    pub(crate) fn is_goal(&self, point: PointIndex, accident: Violation) -> bool {
        self.candidate.point == point && self.candidate.accident == accident
    }

    fn happen(&self, scene: &mut SymState, point: PointIndex, at: u32) -> ExecResult {
        match &self.script.ops[at as usize] {
            Instr::Read(site) => self.read(scene, point, *site),
            Instr::Ask { site, .. } => site.map_or(ExecResult::On, |site| self.read(scene, point, site)),
            Instr::Write { write, reads, .. } => self.write(scene, point, at, write, reads.clone()),
            Instr::Assert { guard, .. } => self.assert(scene, point, at, guard),
            Instr::Fit { schema, node, index, .. } => {
                let Some((key, _)) = self.program.node(*node).entry.types.get(*index as usize) else { return ExecResult::On };
                let Some(sym) = scene.context.get(key).cloned() else { return ExecResult::On };
                let (Lookup::Present(sym) | Lookup::MaybePresent(sym)) = scene.vars.below(&sym, &[]) else { return ExecResult::On };
                if self.is_goal(point, Violation::Unfit(at))
                    && self.tried(
                        scene,
                        |vars| if vars.assume_present(&sym, true) { vars.assume_violates(&sym, schema) } else { CanViolate::No },
                    )
                {
                    return ExecResult::Accident;
                }
                // What may be absent fits, or is absent.
                let fits =
                    scene.vars.assume_fits(&sym, schema) || (scene.vars.presence(&sym).is_none() && scene.vars.assume_present(&sym, false));
                if fits { ExecResult::On } else { own(key).map_or(ExecResult::Dead, |path| self.doubt(scene, &[path])) }
            }
            Instr::Args { call } => {
                if self.is_goal(point, Violation::Args(at))
                    && let Some(schema) = self.wanted_schema(|| external::taken(self.program, call).map(Value::from))
                {
                    call.args.iter().for_each(|args| self.settle(scene, args));
                    if let Some(sym) = scene.arguments(call)
                        && self.tried(scene, |vars| vars.assume_violates(&sym, &schema))
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

    fn assert(&self, scene: &mut SymState, point: PointIndex, at: u32, guard: &Guard) -> ExecResult {
        if self.is_goal(point, Violation::Fails(at)) {
            let mut met = scene.clone();
            let is_known = guard.operand().is_some_and(|operand| match met.look(&operand.path) {
                Lookup::Present(sym) => met.vars.is_known(&sym),
                Lookup::MaybePresent(_) | Lookup::Absent => true,
            });
            if is_known && self.assume(&mut met, guard, false, &mut BTreeMap::new()) {
                *scene = met;
                return ExecResult::Accident;
            }
        }
        if self.assume(scene, guard, true, &mut BTreeMap::new()) { ExecResult::On } else { self.doubt(scene, &self.asked_by(guard)) }
    }

    /// A way ends because of what is at some paths, if that is what is there.
    pub(crate) fn doubt(&self, scene: &mut SymState, paths: &[KeyPath]) -> ExecResult {
        if self.havoc(scene, paths) { ExecResult::On } else { ExecResult::Dead }
    }

    /// Keeps what was narrowed if it could be.
    pub(crate) fn tried(&self, scene: &mut SymState, narrow: impl FnOnce(&mut Constraints) -> CanViolate) -> bool {
        let mut vars = scene.vars.clone();
        match narrow(&mut vars) {
            CanViolate::Yes => {
                scene.vars = vars;
                true
            }
            CanViolate::Unknown => {
                self.leave_open(scene);
                false
            }
            CanViolate::No => false,
        }
    }

    pub(crate) fn read(&self, scene: &mut SymState, point: PointIndex, at: u32) -> ExecResult {
        let site = &self.script.sites[at as usize];
        if let Some(calculation) = site.calculation() {
            return if self.is_goal(point, Violation::Operand(at)) { self.calculate(scene, site, calculation) } else { ExecResult::On };
        }
        if !site.is_followed() {
            return ExecResult::On;
        }
        let is_wanted = self.is_goal(point, Violation::Missing(at));
        let is_uncounted = site.is_count() && self.program.node(self.program.point(point).node).entry.max_visits.is_none();
        if is_uncounted {
            return if is_wanted && self.meets(scene, site) { ExecResult::Accident } else { ExecResult::On };
        }
        if is_wanted && site.inside().is_empty() {
            let mut met = scene.clone();
            if self.meets(&mut met, site) && self.lacks(&mut met, site.path) {
                *scene = met;
                return ExecResult::Accident;
            }
        }
        let (sym, is_there) = match scene.look(site.path) {
            Lookup::Present(sym) => (sym, true),
            Lookup::MaybePresent(sym) => (sym, false),
            // Where it depends on something, the engine will say.
            Lookup::Absent if site.is_certain() => return self.doubt(scene, std::slice::from_ref(site.path)),
            Lookup::Absent => return ExecResult::On,
        };
        if site.is_deep() {
            scene.vars.assume_filled(&sym);
        }
        let demand = match site.demand() {
            _ if is_wanted && !site.inside().is_empty() => Some(having(site.inside())),
            _ if self.is_goal(point, Violation::Truth(at)) => Some(of_types(&["boolean"])),
            Some(demand) if self.is_goal(point, Violation::Operand(at)) && site.inside().is_empty() => Some(of_types(&demand.types())),
            _ => None,
        };
        if let Some(schema) = demand.and_then(|demand| self.wanted_schema(|| Some(demand))) {
            let mut met = scene.clone();
            let is_met = self.meets(&mut met, site) && (is_there || met.decide(site.path, true));
            if is_met && self.tried(&mut met, |vars| vars.assume_violates(&sym, &schema)) {
                *scene = met;
                return ExecResult::Accident;
            }
        }
        if !is_there && site.is_certain() && !scene.decide(site.path, true) {
            return self.doubt(scene, std::slice::from_ref(site.path));
        }
        ExecResult::On
    }

    /// Narrows to where a site is met; false where it cannot be.
    fn meets(&self, scene: &mut SymState, site: &ReadSite<'_>) -> bool {
        site.when().iter().all(|test| scene.meets(test))
            && site.guard().is_none_or(|guard| self.assume(scene, guard, true, &mut BTreeMap::new()))
    }

    /// Narrows to where nothing is at a path; false where something is, or where nothing is claimed of it.
    fn lacks(&self, scene: &mut SymState, path: &KeyPath) -> bool {
        match scene.look(path) {
            Lookup::Absent => true,
            Lookup::Present(_) => false,
            Lookup::MaybePresent(sym) => !scene.vars.is_rendered(&sym) && scene.decide(path, false),
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

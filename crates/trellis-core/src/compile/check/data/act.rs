//! What happens in a scene: how a context begins, entering a point, reading and writing, in the order of the script.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
    rc::Rc,
};

use super::{
    accident::Accident,
    origins::Origin,
    scene::Scene,
    script::Op,
    shapes,
    symbols::{self, Found, Sym, Vars},
    types::having,
    witness::{Beginning, Done, Search},
};
use crate::{
    path::{KeyPath, Segment},
    program::{From, Guard, Place, PointIndex, Write},
    schema::Schema,
    value::{Key, Value},
};

/// What tells ways apart: the point, whether all of it is so, the visits that are counted, and what is known of some paths.
pub(super) type Sketch = (u32, bool, Vec<u32>, Vec<String>);

impl Search<'_, '_> {
    pub(super) fn begin(&self, origin: &Origin) -> (Scene, Beginning) {
        let program = self.program;
        let mut vars = Vars::default();
        let mut context = BTreeMap::new();
        let node = program.node(program.point(origin.point).node);
        let wanted = self.wanted().map(|path| path.root());
        self.spend(origin.given.len() + self.mended.len());
        for given in &origin.given {
            if given.may_be_absent && wanted == Some(&given.key) {
                continue;
            }
            context.insert(given.key.clone(), vars.fitting(given.fits.as_slice()));
        }
        let graph = program.graph_of(node);
        for (key, schema) in node.entry.types.iter().filter(|(key, _)| !node.brings(graph, key)) {
            let sym = vars.fitting(std::slice::from_ref(schema));
            context.entry(key.clone()).or_insert(sym);
        }
        let required = node.entry.required.iter().filter(|path| !node.brings(graph, path.root()));
        for path in required.chain(self.mended) {
            if !context.contains_key(path.root()) && wanted != Some(path.root()) {
                let sym = vars.fitting(&[]);
                symbols::write(&mut context, path, sym);
            }
        }
        let scene = Scene {
            point: origin.point,
            context: Rc::new(context.clone()),
            ans: None,
            error: None,
            unwound: false,
            vars,
            input: None,
            result: None,
            failed: "error",
            visits: BTreeMap::new(),
            pretended: Rc::default(),
        };
        (scene, Beginning { point: origin.point, is_entry: origin.is_entry, context })
    }

    /// The path whose absence is looked for.
    pub(super) fn wanted(&self) -> Option<&KeyPath> {
        match self.candidate.accident {
            Accident::Missing(site) => Some(self.script.sites[site as usize].path),
            _ => None,
        }
    }

    /// The path that the accident is about: ways that know the same of it are one.
    pub(super) fn subject(&self) -> Option<KeyPath> {
        match self.candidate.accident {
            Accident::Missing(site) | Accident::Truth(site) | Accident::Operand(site) => {
                Some(self.script.sites[site as usize].path.clone())
            }
            Accident::NoMatch(_) => None,
            Accident::Unfit(op) | Accident::Fails(op) | Accident::Write(op) | Accident::Args(op) => match &self.script.ops[op as usize] {
                Op::Fit { node, index, .. } => {
                    let (key, _) = self.program.node(*node).entry.types.get(*index as usize)?;
                    KeyPath::new(vec![Segment::Key(key.clone())])
                }
                Op::Assert { guard, .. } => Some(guard.operand()?.path.clone()),
                Op::Write { write, .. } => match &write.to {
                    Place::Path(path) | Place::Append(path) => Some(path.clone()),
                    _ => None,
                },
                Op::Read(_) | Op::Args { .. } => None,
            },
        }
    }

    /// What is told apart: the point, the visits that are counted, and what is known of the paths that matter.
    pub(super) fn sketch(&self, scene: &Scene, asked: &BTreeSet<KeyPath>) -> Sketch {
        let mut scene = scene.clone();
        let known = asked.iter().map(|path| match scene.look(path, false) {
            Found::There(sym) => scene.vars.sketch(&sym),
            Found::Absent => "-".to_owned(),
        });
        let known = known.collect();
        (scene.point.0, scene.pretended.is_empty(), scene.visits.values().copied().collect(), known)
    }

    /// Arrives at a point, up to what it waits for.
    pub(super) fn arrive(&self, scene: &mut Scene, point: PointIndex) -> Done {
        scene.point = point;
        (scene.input, scene.result) = (None, None);
        if self.wild[point.0 as usize] {
            return Done::Dead;
        }
        self.all(scene, point, self.script.entering(point))
    }

    pub(super) fn all(&self, scene: &mut Scene, point: PointIndex, ops: Range<u32>) -> Done {
        if !self.spend(1 + ops.len()) {
            return Done::Dead;
        }
        for op in ops {
            match self.happen(scene, point, op) {
                Done::On => {}
                done => return done,
            }
        }
        Done::On
    }

    pub(super) fn is_goal(&self, point: PointIndex, accident: Accident) -> bool {
        self.candidate.point == point && self.candidate.accident == accident
    }

    fn happen(&self, scene: &mut Scene, point: PointIndex, at: u32) -> Done {
        match &self.script.ops[at as usize] {
            Op::Read(site) => self.read(scene, point, *site),
            Op::Write { write, reads, .. } => self.write(scene, point, at, write, reads.clone()),
            Op::Assert { guard, .. } => self.assert(scene, point, at, guard),
            Op::Fit { schema, node, index, .. } => {
                let Some((key, _)) = self.program.node(*node).entry.types.get(*index as usize) else { return Done::On };
                let Some(sym) = scene.context.get(key).cloned() else { return Done::On };
                if self.is_goal(point, Accident::Unfit(at)) && self.tried(scene, |vars| vars.break_(&sym, schema)) {
                    return Done::Accident;
                }
                if scene.vars.fit(&sym, schema) {
                    Done::On
                } else {
                    KeyPath::new(vec![Segment::Key(key.clone())]).map_or(Done::Dead, |path| self.doubt(scene, &path))
                }
            }
            Op::Args { call } => {
                if self.is_goal(point, Accident::Args(at))
                    && let Some(args) = &call.args
                    && let Some(schema) = shapes::taken(self.program, call).and_then(|schema| Schema::new(&schema.into()).ok())
                    && let Some(sym) = scene.evaluate(args)
                    && self.tried(scene, |vars| vars.break_(&sym, &schema))
                {
                    return Done::Accident;
                }
                Done::On
            }
        }
    }

    fn assert(&self, scene: &mut Scene, point: PointIndex, at: u32, guard: &Guard) -> Done {
        if self.is_goal(point, Accident::Fails(at)) {
            let mut met = scene.clone();
            let operand = guard.operand().map(|operand| met.look(&operand.path, false));
            let is_known = matches!(&operand, Some(Found::There(sym)) if met.vars.is_known(sym)) || matches!(operand, Some(Found::Absent));
            if is_known && self.suppose(&mut met, guard, false, &mut BTreeMap::new()) {
                *scene = met;
                return Done::Accident;
            }
        }
        if self.suppose(scene, guard, true, &mut BTreeMap::new()) {
            Done::On
        } else {
            guard.operand().map_or(Done::Dead, |operand| self.doubt(scene, &operand.path))
        }
    }

    /// A way ends because of what is at a path, if that is what is there.
    fn doubt(&self, scene: &mut Scene, path: &KeyPath) -> Done {
        if self.pretend(scene, path) { Done::On } else { Done::Dead }
    }

    /// Keeps what was narrowed if it could be.
    fn tried(&self, scene: &mut Scene, narrow: impl FnOnce(&mut Vars) -> bool) -> bool {
        let mut vars = scene.vars.clone();
        let done = narrow(&mut vars);
        if done {
            scene.vars = vars;
        }
        done
    }

    pub(super) fn read(&self, scene: &mut Scene, point: PointIndex, at: u32) -> Done {
        let site = &self.script.sites[at as usize];
        if !site.is_followed() {
            return Done::On;
        }
        let is_wanted = self.is_goal(point, Accident::Missing(at));
        let is_uncounted = site.is_count() && self.program.node(self.program.point(point).node).entry.max_visits.is_none();
        if is_uncounted {
            return if is_wanted && site.when().iter().all(|test| scene.meets(test)) { Done::Accident } else { Done::On };
        }
        if is_wanted && site.inside().is_empty() {
            let mut met = scene.clone();
            if site.when().iter().all(|test| met.meets(test)) && matches!(met.look(site.path, true), Found::Absent) {
                *scene = met;
                return Done::Accident;
            }
        }
        match scene.look(site.path, false) {
            Found::There(sym) => {
                let wanted = match site.demand() {
                    _ if is_wanted && !site.inside().is_empty() => having(site.inside()),
                    _ if self.is_goal(point, Accident::Truth(at)) => of_types(&["boolean"]),
                    Some(demand) if self.is_goal(point, Accident::Operand(at)) && site.inside().is_empty() => of_types(&demand.types()),
                    _ => return Done::On,
                };
                let Ok(schema) = Schema::new(&wanted) else { return Done::On };
                let met = site.when().iter().all(|test| scene.meets(test));
                if met && self.tried(scene, |vars| vars.break_(&sym, &schema)) { Done::Accident } else { Done::On }
            }
            // Where it depends on something, the engine will say.
            Found::Absent if site.is_certain() => self.doubt(scene, site.path),
            Found::Absent => Done::On,
        }
    }

    fn write(&self, scene: &mut Scene, point: PointIndex, at: u32, write: &Write, reads: Range<u32>) -> Done {
        if let Place::Absent(key) = &write.to
            && scene.context.contains_key(key)
        {
            return Done::On;
        }
        for site in reads {
            match self.read(scene, point, site) {
                Done::On => {}
                done => return done,
            }
        }
        if self.is_goal(point, Accident::Write(at)) && self.blocked(scene, &write.to) {
            return Done::Accident;
        }
        let value = match &write.value {
            From::Input => match &scene.input {
                Some(sym) => sym.clone(),
                None => return Done::On,
            },
            From::Error => scene.failure(),
            From::Shape(shape) => match scene.evaluate(shape) {
                Some(sym) => sym,
                None => return Done::On,
            },
        };
        match (put(scene, &write.to, value), &write.to) {
            (true, _) => Done::On,
            (false, Place::Path(path) | Place::Append(path)) => self.doubt(scene, path),
            (false, _) => Done::Dead,
        }
    }

    /// Whether a write can find something in its way.
    fn blocked(&self, scene: &mut Scene, to: &Place) -> bool {
        let (path, is_list) = match to {
            Place::Path(path) => (path, false),
            Place::Append(path) => (path, true),
            _ => return false,
        };
        let (Some(mapping), Some(list)) = (typed("object"), typed("array")) else { return false };
        for length in 1..=path.segments().len() {
            let Some(part) = KeyPath::new(path.segments()[..length].to_vec()) else { return false };
            let Found::There(sym) = scene.look(&part, false) else { return false };
            let wanted = match (length == path.segments().len(), is_list) {
                (true, false) => return false,
                (true, true) => &list,
                (false, _) => &mapping,
            };
            if self.tried(scene, |vars| vars.break_(&sym, wanted)) {
                return true;
            }
        }
        false
    }
}

/// The schema of a kind of values.
fn typed(kind: &str) -> Option<Schema> {
    Schema::new(&of_types(&[kind])).ok()
}

fn of_types(names: &[&str]) -> Value {
    Value::map([("type", Value::list(names.iter().map(|name| Value::text(*name))))])
}

/// False where the place cannot be written.
fn put(scene: &mut Scene, to: &Place, value: Sym) -> bool {
    match to {
        Place::Input => scene.input = Some(value),
        Place::Ans => scene.ans = Some(value),
        Place::Error => scene.error = Some(value),
        Place::Absent(key) => drop(Rc::make_mut(&mut scene.context).insert(Key::clone(key), value)),
        Place::Path(path) => return symbols::write(Rc::make_mut(&mut scene.context), path, value),
        Place::Append(path) => {
            let list = scene.vars.made();
            return symbols::write(Rc::make_mut(&mut scene.context), path, list);
        }
    }
    true
}

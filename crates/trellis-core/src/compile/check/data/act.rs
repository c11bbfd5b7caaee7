//! What happens in a scene: how a context begins, entering a point, reading and writing, in the order of the script.

use std::{collections::BTreeMap, rc::Rc};

use super::{
    origins::{Given, Origin},
    paths::names,
    scene::Scene,
    script::{self, Op, Site},
    shapes,
    symbols::{self, Found, Sym, Vars},
    witness::{Beginning, Done, Search},
};
use crate::{
    program::{From, Place, PointIndex, Write},
    template::Shape,
    value::Key,
};

impl Search<'_, '_> {
    pub(super) fn begin(&self, origin: &Origin<'_>) -> (Scene, Beginning) {
        let program = self.program;
        let mut vars = Vars::default();
        let mut context = BTreeMap::new();
        let node = program.node(program.point(origin.point).node);
        match origin.given {
            Given::Inputs => {
                let inputs = program.root().inputs.as_ref().map(|schema| schema.source());
                for (key, part) in inputs.map(shapes::properties).into_iter().flatten() {
                    let is_wanted = names(&self.candidate.site.path).0.first().is_some_and(|root| root == key);
                    if part.presence().absent && is_wanted {
                        continue;
                    }
                    let schema = match part {
                        shapes::Part::Schema(schema) | shapes::Part::Optional(schema) => crate::schema::Schema::new(schema).ok(),
                        _ => None,
                    };
                    context.insert(Key::from(key), vars.fitting(schema.as_slice()));
                }
            }
            Given::Args(Some(Shape::Map(entries))) => {
                for (key, shape) in entries {
                    let sym = match &shape.value {
                        Shape::Literal(value) => Sym::Known(value.clone()),
                        _ => vars.fitting(&[]),
                    };
                    let is_wanted = names(&self.candidate.site.path).0 == [key.value.to_string()];
                    if !(shapes::Part::of_shape(&shape.value).presence().absent && is_wanted) {
                        context.insert(key.value.clone(), sym);
                    }
                }
            }
            Given::Args(Some(Shape::Literal(crate::value::Value::Map(entries)))) => {
                context.extend(entries.iter().map(|(key, value)| (key.clone(), Sym::Known(value.clone()))));
            }
            Given::Args(_) => {}
        }
        for (key, schema) in &node.entry.types {
            let sym = vars.fitting(std::slice::from_ref(schema));
            context.entry(key.clone()).or_insert(sym);
        }
        for path in &node.entry.required {
            if !context.contains_key(path.root()) {
                let sym = vars.fitting(&[]);
                symbols::write(&mut context, path, sym);
            }
        }
        let is_entry = matches!(origin.given, Given::Inputs);
        let scene = Scene {
            point: origin.point,
            context: Rc::new(context.clone()),
            ans: None,
            error: None,
            unwound: false,
            vars,
            input: None,
            result: None,
        };
        (scene, Beginning { point: origin.point, is_entry, context })
    }

    /// What is told apart: the point, and what is known of the paths that matter.
    pub(super) fn sketch(&self, scene: &Scene) -> (u32, Vec<String>) {
        let mut scene = scene.clone();
        let paths = self.asked.iter().chain([&self.candidate.site.path]);
        let known = paths.map(|path| match scene.look(path, false) {
            Found::There(sym) => scene.vars.sketch(&sym),
            Found::Absent => "-".to_owned(),
        });
        let known = known.collect();
        (scene.point.0, known)
    }

    pub(super) fn is_goal(&self, point: PointIndex, site: &Site) -> bool {
        point == self.candidate.point && *site == self.candidate.site
    }

    pub(super) fn enter(&self, scene: &mut Scene, point: PointIndex) -> Done {
        scene.point = point;
        (scene.input, scene.result) = (None, None);
        self.all(scene, point, &self.entering[point.0 as usize])
    }

    pub(super) fn all(&self, scene: &mut Scene, point: PointIndex, ops: &[Op<'_>]) -> Done {
        for op in ops {
            match self.happen(scene, point, op) {
                Done::On => {}
                done => return done,
            }
        }
        Done::On
    }

    pub(super) fn happen(&self, scene: &mut Scene, point: PointIndex, op: &Op<'_>) -> Done {
        match op {
            Op::Read(site) => self.read(scene, point, site),
            Op::Write(write) => self.write(scene, point, write),
            Op::Assert(guard) => match scene.assume(guard, true, &mut BTreeMap::new()) {
                true => Done::On,
                false => Done::Dead,
            },
        }
    }

    pub(super) fn read(&self, scene: &mut Scene, point: PointIndex, site: &Site) -> Done {
        let is_goal = self.is_goal(point, site);
        if is_goal {
            let mut met = scene.clone();
            if site.when.iter().all(|test| met.meets(test)) && matches!(met.look(&site.path, true), Found::Absent) {
                *scene = met;
                return Done::Accident;
            }
        }
        match scene.look(&site.path, false) {
            Found::There(_) => Done::On,
            // Where it depends on something, the engine will say.
            Found::Absent if site.when.is_empty() => Done::Dead,
            Found::Absent => Done::On,
        }
    }

    pub(super) fn write(&self, scene: &mut Scene, point: PointIndex, write: &Write) -> Done {
        if let Place::Absent(key) = &write.to
            && scene.context.contains_key(key)
        {
            return Done::On;
        }
        let value = match &write.value {
            From::Input => match &scene.input {
                Some(sym) => sym.clone(),
                None => return Done::On,
            },
            From::Error => scene.vars.made(),
            From::Shape(shape) => {
                let node = self.program.node(self.program.point(point).node);
                for crate::template::Read { path, span, when, deep } in shape.reads() {
                    let site = Site { path, document: node.document, span, kind: script::Kind::Template, when, deep };
                    match self.read(scene, point, &site) {
                        Done::On => {}
                        done => return done,
                    }
                }
                match scene.evaluate(shape) {
                    Some(sym) => sym,
                    None => return Done::On,
                }
            }
        };
        let done = match &write.to {
            Place::Input => {
                scene.input = Some(value);
                true
            }
            Place::Ans => {
                scene.ans = Some(value);
                true
            }
            Place::Error => {
                scene.error = Some(value);
                true
            }
            Place::Absent(key) => {
                Rc::make_mut(&mut scene.context).insert(key.clone(), value);
                true
            }
            Place::Path(path) => symbols::write(Rc::make_mut(&mut scene.context), path, value),
            Place::Append(path) => {
                let list = scene.vars.made();
                symbols::write(Rc::make_mut(&mut scene.context), path, list)
            }
        };
        if done { Done::On } else { Done::Dead }
    }
}

//! Writing in a scene: what is written, where that leads on in two ways, and what may stand in its way.

use std::{ops::Range, rc::Rc};

use super::{each_path, typed};
use crate::{
    compile::dataflow::{
        fixpoint::violation::Accident,
        search::{Done, Search, state::Scene},
        symbolic::{Found, Sym},
    },
    path::KeyPath,
    program::{From, Place, PointIndex, Write},
    template::Shape,
    value::Key,
};

impl Search<'_, '_> {
    pub(crate) fn write(&self, scene: &mut Scene, point: PointIndex, at: u32, write: &Write, reads: Range<u32>) -> Done {
        if let Place::Absent(key) = &write.to
            && let Some(sym) = scene.context.get(key).cloned()
        {
            match scene.vars.presence(&sym) {
                Some(true) => return Done::On,
                None if self.either() => {
                    scene.vars.be(&sym, true);
                    return Done::On;
                }
                None | Some(false) => drop(scene.vars.be(&sym, false)),
            }
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
            From::Error => match &scene.failure {
                Some(sym) => sym.clone(),
                None => return Done::On,
            },
            From::Shape(shape) => {
                self.settle(scene, shape);
                match scene.evaluate(shape) {
                    Some(sym) => sym,
                    None => return Done::On,
                }
            }
        };
        // What may not come leaves what was there.
        if scene.vars.presence(&value).is_none() && !self.is_new(scene, &write.to) {
            let comes = !self.either();
            scene.vars.be(&value, comes);
            if !comes {
                return Done::On;
            }
        }
        match &write.to {
            Place::Path(path) | Place::Append(path) => {
                if self.put(scene, &write.to, path, value) {
                    Done::On
                } else {
                    self.doubt(scene, std::slice::from_ref(path))
                }
            }
            Place::Input => {
                scene.input = Some(value);
                Done::On
            }
            Place::Ans => {
                // It stands where it is saved, too.
                scene.ans = Some(if self.reads.contains("sys") { scene.vars.copied(&value) } else { value });
                Done::On
            }
            Place::Error => {
                scene.error = Some(value);
                Done::On
            }
            Place::Absent(key) => {
                Rc::make_mut(&mut scene.context).insert(Key::clone(key), value);
                Done::On
            }
        }
    }

    /// Whether nothing is at a place that is a key: then what may not come stands for itself.
    fn is_new(&self, scene: &mut Scene, to: &Place) -> bool {
        match to {
            Place::Path(path) => path.is_key() && matches!(scene.look(path), Found::Absent),
            Place::Append(_) => false,
            _ => true,
        }
    }

    /// Decides of what a shape may leave out whether it does, where what it stands in decides that.
    pub(crate) fn settle(&self, scene: &mut Scene, shape: &Shape) {
        let mut open = Vec::new();
        each_path(shape, &mut |path, optional| {
            if optional {
                open.push(path.clone());
            }
        });
        for path in open {
            if let Found::Maybe(sym) = scene.look(&path)
                && scene.vars.presence(&sym).is_some()
            {
                let there = !self.either();
                scene.decide(&path, there);
            }
        }
    }

    /// Writes at a path, or adds to what is there; false where the place cannot be written.
    fn put(&self, scene: &mut Scene, to: &Place, path: &KeyPath, value: Sym) -> bool {
        // What it stands in may be there, or is made.
        for length in 1..path.segments().len() {
            let Some(part) = KeyPath::new(path.segments()[..length].to_vec()) else { return false };
            if matches!(scene.look(&part), Found::Maybe(_)) {
                let there = !self.either();
                scene.decide(&part, there);
            }
        }
        let value = match to {
            Place::Append(_) => {
                let list = match scene.look(path) {
                    Found::There(sym) => Some(sym),
                    Found::Maybe(sym) => {
                        let there = !self.either();
                        (scene.decide(path, there) && there).then_some(sym)
                    }
                    Found::Absent => None,
                };
                match scene.vars.appended(list.as_ref(), value) {
                    Some(list) => list,
                    None => return false,
                }
            }
            _ => value,
        };
        scene.vars.write(Rc::make_mut(&mut scene.context), path, value)
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
            let (Found::There(sym) | Found::Maybe(sym)) = scene.look(&part) else { return false };
            let wanted = match (length == path.segments().len(), is_list) {
                (true, false) => return false,
                (true, true) => &list,
                (false, _) => &mapping,
            };
            let mut met = scene.clone();
            if met.decide(&part, true) && self.tried(&mut met, |vars| vars.break_(&sym, wanted)) {
                *scene = met;
                return true;
            }
        }
        false
    }
}

//! Writing in a scene: what is written, where that leads on in two ways, and what may stand in its way.

use std::{ops::Range, rc::Rc};

use super::{each_path, typed};
use crate::{
    compile::dataflow::{
        fixpoint::violation::Violation,
        search::{ExecResult, Search, state::SymState},
        symbolic::{Lookup, SymValue},
    },
    path::KeyPath,
    program::{PointIndex, Write, WriteSource, WriteTarget},
    template::Shape,
    value::Key,
};

impl Search<'_, '_> {
    pub(crate) fn write(&self, state: &mut SymState, point: PointIndex, at: u32, write: &Write, reads: Range<u32>) -> ExecResult {
        if let WriteTarget::Absent(key) = &write.to
            && let Some(sym) = state.context.get(key).cloned()
        {
            match state.constraints.presence(&sym) {
                Some(true) => return ExecResult::On,
                None if self.fork() => {
                    state.constraints.assume_present(&sym, true);
                    return ExecResult::On;
                }
                None | Some(false) => drop(state.constraints.assume_present(&sym, false)),
            }
        }
        for site in reads {
            match self.read(state, point, site) {
                ExecResult::On => {}
                done => return done,
            }
        }
        if self.is_goal(point, Violation::Write(at)) && self.blocked(state, &write.to) {
            return ExecResult::Accident;
        }
        let value = match &write.value {
            WriteSource::Input => match &state.input {
                Some(sym) => sym.clone(),
                None => return ExecResult::On,
            },
            WriteSource::Error => match &state.failure {
                Some(sym) => sym.clone(),
                None => return ExecResult::On,
            },
            WriteSource::Shape(shape) => {
                self.settle(state, shape);
                match state.evaluate(shape) {
                    Some(sym) => sym,
                    None => return ExecResult::On,
                }
            }
        };
        // What may not come leaves what was there.
        if state.constraints.presence(&value).is_none() && !self.is_new(state, &write.to) {
            let comes = !self.fork();
            state.constraints.assume_present(&value, comes);
            if !comes {
                return ExecResult::On;
            }
        }
        match &write.to {
            WriteTarget::Path(path) | WriteTarget::Append(path) => {
                if self.put(state, &write.to, path, value) {
                    ExecResult::On
                } else {
                    self.doubt(state, std::slice::from_ref(path))
                }
            }
            WriteTarget::Input => {
                state.input = Some(value);
                ExecResult::On
            }
            WriteTarget::Ans => {
                // It stands where it is saved, too.
                state.ans = Some(if self.reads.contains("sys") { state.constraints.copied(&value) } else { value });
                ExecResult::On
            }
            WriteTarget::Error => {
                state.error = Some(value);
                ExecResult::On
            }
            WriteTarget::Absent(key) => {
                Rc::make_mut(&mut state.context).insert(Key::clone(key), value);
                ExecResult::On
            }
        }
    }

    /// Whether nothing is at a place that is a key: then what may not come stands for itself.
    fn is_new(&self, state: &mut SymState, to: &WriteTarget) -> bool {
        match to {
            WriteTarget::Path(path) => path.is_key() && matches!(state.look(path), Lookup::Absent),
            WriteTarget::Append(_) => false,
            _ => true,
        }
    }

    /// Decides of what a shape may leave out whether it does, where what it stands in decides that.
    pub(crate) fn settle(&self, state: &mut SymState, shape: &Shape) {
        let mut open = Vec::new();
        each_path(shape, &mut |path, optional| {
            if optional {
                open.push(path.clone());
            }
        });
        for path in open {
            if let Lookup::MaybePresent(sym) = state.look(&path)
                && state.constraints.presence(&sym).is_some()
            {
                let there = !self.fork();
                state.decide(&path, there);
            }
        }
    }

    /// Writes at a path, or adds to what is there; false where the place cannot be written.
    fn put(&self, state: &mut SymState, to: &WriteTarget, path: &KeyPath, value: SymValue) -> bool {
        // What it stands in may be there, or is made.
        for length in 1..path.segments().len() {
            let Some(part) = KeyPath::new(path.segments()[..length].to_vec()) else { return false };
            if matches!(state.look(&part), Lookup::MaybePresent(_)) {
                let there = !self.fork();
                state.decide(&part, there);
            }
        }
        let value = match to {
            WriteTarget::Append(_) => {
                let list = match state.look(path) {
                    Lookup::Present(sym) => Some(sym),
                    Lookup::MaybePresent(sym) => {
                        let there = !self.fork();
                        (state.decide(path, there) && there).then_some(sym)
                    }
                    Lookup::Absent => None,
                };
                match state.constraints.appended(list.as_ref(), value) {
                    Some(list) => list,
                    None => return false,
                }
            }
            _ => value,
        };
        state.constraints.write(Rc::make_mut(&mut state.context), path, value)
    }

    /// Whether a write can find something in its way.
    fn blocked(&self, state: &mut SymState, to: &WriteTarget) -> bool {
        let (path, is_list) = match to {
            WriteTarget::Path(path) => (path, false),
            WriteTarget::Append(path) => (path, true),
            _ => return false,
        };
        let (Some(mapping), Some(list)) = (typed("object"), typed("array")) else { return false };
        for length in 1..=path.segments().len() {
            let Some(part) = KeyPath::new(path.segments()[..length].to_vec()) else { return false };
            let (Lookup::Present(sym) | Lookup::MaybePresent(sym)) = state.look(&part) else { return false };
            let wanted = match (length == path.segments().len(), is_list) {
                (true, false) => return false,
                (true, true) => &list,
                (false, _) => &mapping,
            };
            let mut details = state.clone();
            if details.decide(&part, true) && self.tried(&mut details, |constraints| constraints.assume_violates(&sym, wanted)) {
                *state = details;
                return true;
            }
        }
        false
    }
}

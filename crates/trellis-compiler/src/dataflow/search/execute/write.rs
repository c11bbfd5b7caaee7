//! Symbolic execution of writes.
//!
//! A write forks where the result depends on whether an optional value is present, and violates `Write` if a value of another kind is in its place.
//!
//! **Example:** `a.b = 1` forks if `a` is optional: one branch writes into `a`, the other creates it.

use std::{collections::BTreeMap, ops::Range, rc::Rc};

use super::typed;
use crate::dataflow::{
    domain::external,
    fixpoint::violation::Violation,
    index::{OpIndex, SiteIndex},
    search::{SearchRun, path::ExecResult, state::SymState, tracked::each_path},
    symbolic::{Lookup, SymValue},
};
use trellis_base::{
    path::{KeyPath, Segment},
    template::Shape,
    value::{Key, Value},
};
use trellis_engine::program::{Callee, Guard, Operand, PointIndex, Root, Write, WriteSource, WriteTarget};

impl SearchRun<'_, '_> {
    pub(crate) fn write(&mut self, state: &mut SymState, point: PointIndex, at: OpIndex, write: &Write, reads: Range<u32>) -> ExecResult {
        if let WriteTarget::Absent(key) = &write.to
            && let Some(sym) = state.context.get(key).cloned()
        {
            match state.constraints.presence(&sym) {
                Some(true) => return ExecResult::Continue,
                None if self.fork() => {
                    state.constraints.assume_present(&sym, true);
                    return ExecResult::Continue;
                }
                None | Some(false) => drop(state.constraints.assume_present(&sym, false)),
            }
        }
        for site in reads.map(SiteIndex) {
            match self.read(state, point, site) {
                ExecResult::Continue => {}
                done => return done,
            }
        }
        if self.input.is_goal(point, Violation::Write(at)) && self.blocked(state, &write.to) {
            return ExecResult::Violates;
        }
        let value = match &write.value {
            WriteSource::Input => match &state.input {
                Some(sym) => sym.clone(),
                None => return ExecResult::Continue,
            },
            WriteSource::Error => match &state.failure {
                Some(sym) => sym.clone(),
                None => return ExecResult::Continue,
            },
            WriteSource::Branch(name) => match self.branch(state, point, name) {
                Ok(Some(sym)) => sym,
                Ok(None) => return ExecResult::Continue,
                Err(infeasible) => return infeasible,
            },
            WriteSource::Shape(shape) => {
                self.settle(state, shape);
                match state.evaluate(shape) {
                    Some(sym) => sym,
                    None => return ExecResult::Continue,
                }
            }
        };
        // An absent value leaves the old one.
        if state.constraints.presence(&value).is_none() && !self.is_new(state, &write.to) {
            let comes = !self.fork();
            state.constraints.assume_present(&value, comes);
            if !comes {
                return ExecResult::Continue;
            }
        }
        match &write.to {
            WriteTarget::Path(path) | WriteTarget::Append(path) => {
                if self.put(state, &write.to, path, value) {
                    ExecResult::Continue
                } else {
                    self.end_unless_havocked(state, std::slice::from_ref(path))
                }
            }
            WriteTarget::Input => {
                state.input = Some(value);
                ExecResult::Continue
            }
            WriteTarget::Ans => {
                // The value is also at the key where it is saved.
                state.ans = Some(if self.input.reads.contains("sys") { state.constraints.copied(&value) } else { value });
                ExecResult::Continue
            }
            WriteTarget::Error => {
                state.error = Some(value);
                ExecResult::Continue
            }
            WriteTarget::Absent(key) => {
                Rc::make_mut(&mut state.context).insert(Key::clone(key), value);
                ExecResult::Continue
            }
        }
    }

    /// Returns the outcome of a branch, `None` if it did not succeed: forks between the two, and assumes the same of the whole result.
    fn branch(&mut self, state: &mut SymState, point: PointIndex, name: &Key) -> Result<Option<SymValue>, ExecResult> {
        let program = self.input.program;
        let has_failed = self.fork();
        let segments = vec![Segment::Key("input".into()), Segment::Key(name.clone())];
        let Some(path) = KeyPath::new(segments) else { return Ok(Some(state.constraints.havoc())) };
        let error = Value::map([("error", Value::map([("kind", Value::text("error")), ("message", Value::text("failed"))]))]);
        let guard = Guard::Is(Operand { root: Root::Input, path: path.clone() }, true, error);
        if !state.assume(&guard, has_failed, &mut BTreeMap::new()) {
            return Err(ExecResult::Infeasible);
        }
        if has_failed {
            return Ok(None);
        }
        let sym = match state.lookup(&path) {
            Lookup::Absent => return Ok(None),
            Lookup::Present(sym) => sym,
            Lookup::MaybePresent(sym) if state.assume_presence(&path, true) => sym,
            Lookup::MaybePresent(_) => return Ok(None),
        };
        let branch = external::branch_at(program, point, name);
        let child = branch.and_then(|branch| if let Callee::Graph(child) = branch.callee { self.input.children.get(&child) } else { None });
        let returns = branch.map_or(&[][..], |branch| &branch.returns);
        if returns.iter().chain(child).all(|schema| state.constraints.assume_fits(&sym, schema)) {
            Ok(Some(state.constraints.copied(&sym)))
        } else {
            Err(ExecResult::Infeasible)
        }
    }

    /// Returns whether a write creates its key: then an optional value needs no fork.
    fn is_new(&mut self, state: &mut SymState, to: &WriteTarget) -> bool {
        match to {
            WriteTarget::Path(path) => path.is_key() && matches!(state.lookup(path), Lookup::Absent),
            WriteTarget::Append(_) => false,
            _ => true,
        }
    }

    /// Forks for each optional path of a shape whose presence depends on the value that contains it.
    pub(crate) fn settle(&mut self, state: &mut SymState, shape: &Shape) {
        let mut open = Vec::new();
        each_path(shape, &mut |path, optional| {
            if optional {
                open.push(path.clone());
            }
        });
        for path in open {
            if let Lookup::MaybePresent(sym) = state.lookup(&path)
                && state.constraints.presence(&sym).is_some()
            {
                let is_present = !self.fork();
                state.assume_presence(&path, is_present);
            }
        }
    }

    /// Writes at a path, or appends to its list; `false` if the path cannot be written.
    fn put(&mut self, state: &mut SymState, to: &WriteTarget, path: &KeyPath, value: SymValue) -> bool {
        // A parent exists, or is created.
        for length in 1..path.segments().len() {
            let Some(part) = KeyPath::new(path.segments()[..length].to_vec()) else { return false };
            if matches!(state.lookup(&part), Lookup::MaybePresent(_)) {
                let is_present = !self.fork();
                state.assume_presence(&part, is_present);
            }
        }
        let value = match to {
            WriteTarget::Append(_) => {
                let list = match state.lookup(path) {
                    Lookup::Present(sym) => Some(sym),
                    Lookup::MaybePresent(sym) => {
                        let is_present = !self.fork();
                        (state.assume_presence(path, is_present) && is_present).then_some(sym)
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

    /// Narrows to a value that blocks a write; `false` if there cannot be one.
    fn blocked(&mut self, state: &mut SymState, to: &WriteTarget) -> bool {
        let (path, is_list) = match to {
            WriteTarget::Path(path) => (path, false),
            WriteTarget::Append(path) => (path, true),
            _ => return false,
        };
        let (Some(mapping), Some(list)) = (typed("object"), typed("array")) else { return false };
        for length in 1..=path.segments().len() {
            let Some(part) = KeyPath::new(path.segments()[..length].to_vec()) else { return false };
            let (Lookup::Present(sym) | Lookup::MaybePresent(sym)) = state.lookup(&part) else { return false };
            let wanted = match (length == path.segments().len(), is_list) {
                (true, false) => return false,
                (true, true) => &list,
                (false, _) => &mapping,
            };
            let mut details = state.clone();
            if details.assume_presence(&part, true)
                && self.try_violation(&mut details, |constraints| constraints.assume_violates(&sym, wanted))
            {
                *state = details;
                return true;
            }
        }
        false
    }
}

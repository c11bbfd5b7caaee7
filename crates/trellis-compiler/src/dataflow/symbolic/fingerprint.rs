//! Fingerprints of symbolic values: the key of the search's visited set.
//!
//! Two states with equal fingerprints have equal constraints on the tracked paths, up to the names of variables, so one of them need not be
//! explored. Variables are numbered in the order in which they are met; large sets of values are hashed.
//!
//! **Example.** Two paths on which `age` is any integer but 18 have equal fingerprints, whichever variable holds it.

use std::{fmt::Write as _, hash::Hasher};

use rustc_hash::FxHasher;

use super::*;

/// Writer of fingerprints. A variable that was met before is written by its position.
pub(crate) struct Fingerprinter<'v> {
    constraints: &'v Constraints,
    visited: Vec<VarId>,
    text: String,
}

/// Greatest number of values that are written out; more are hashed.
const MAX_VALUES_WRITTEN: usize = 16;

impl Constraints {
    /// Returns the fingerprint of one value.
    pub(crate) fn fingerprint(&self, of: &SymValue) -> String {
        let mut fingerprinter = Fingerprinter::new(self);
        fingerprinter.sym(of);
        fingerprinter.text
    }

    /// Returns true if a field was constrained beyond the schemas of its variable.
    fn is_constrained(&self, at: VarId) -> bool {
        let var = self.get(at);
        var.constrained || var.is_copied || var.parts.values().any(|part| self.is_constrained(*part))
    }

    /// Returns true if a value contains one of these variables.
    fn holds(&self, of: &SymValue, wanted: &[VarId]) -> bool {
        let entries = |entries: &BTreeMap<Key, SymValue>| entries.values().any(|entry| self.holds(entry, wanted));
        match of {
            SymValue::Known(_) => false,
            SymValue::Map(named) => entries(named),
            SymValue::Overlay(at, named) => entries(named) || self.holds(&SymValue::Var(*at), wanted),
            SymValue::List(items) => items.some.iter().any(|item| self.holds(item, wanted)),
            SymValue::Var(at) => wanted.contains(at) || self.get(*at).parts.values().any(|part| self.holds(&SymValue::Var(*part), wanted)),
        }
    }
}

impl<'v> Fingerprinter<'v> {
    pub(crate) fn new(constraints: &'v Constraints) -> Self {
        Self { constraints, visited: Vec::new(), text: String::new() }
    }

    /// Returns the fingerprint, with the other keys that share a variable: constraining one constrains the other.
    pub(crate) fn done<'k>(mut self, others: impl Iterator<Item = (&'k Key, &'k SymValue)>) -> String {
        let copied: Vec<VarId> = self.visited.iter().copied().filter(|at| self.constraints.get(*at).is_copied).collect();
        if !copied.is_empty() {
            for (key, sym) in others.filter(|(_, sym)| self.constraints.holds(sym, &copied)) {
                let _ = write!(self.text, "&{key}");
                let held: Vec<usize> =
                    (0..).zip(&copied).filter(|(_, at)| self.constraints.holds(sym, &[**at])).map(|(at, _)| at).collect();
                let _ = write!(self.text, "{held:?}");
            }
        }
        self.text
    }

    /// Writes the constraints on a path below a value, and on everything above it.
    pub(crate) fn path(&mut self, of: Option<&SymValue>, path: &[Segment]) {
        let mut at = of.cloned();
        for segment in path {
            // The present part determines the values that can be written.
            let Some(known) = &at else { break };
            self.text.push('.');
            at = match (known, segment) {
                (SymValue::Known(Value::Map(entries)), Segment::Key(key)) => entries.get(key).cloned().map(SymValue::Known),
                (SymValue::Map(entries), Segment::Key(key)) => entries.get(key).cloned(),
                (SymValue::Overlay(var, entries), Segment::Key(key)) => match entries.get(key) {
                    Some(entry) => Some(entry.clone()),
                    None => return self.part(*var, key, path, segment),
                },
                (SymValue::Var(var), Segment::Key(key)) => return self.part(*var, key, path, segment),
                // A value that has no fields.
                (other, _) => {
                    self.text.push('^');
                    return self.sym(&other.clone());
                }
            };
        }
        match at {
            Some(at) => self.sym(&at),
            None => self.text.push('-'),
        }
        self.text.push(';');
    }

    /// Writes a variable and one of its fields; all fields, if its schemas relate them.
    fn part(&mut self, at: VarId, key: &Key, path: &[Segment], segment: &Segment) {
        let from = path.iter().position(|known| std::ptr::eq(known, segment)).map_or(path.len(), |at| at + 1);
        self.var(at, self.depends(at));
        self.text.push('.');
        match self.constraints.get(at).parts.get(key) {
            Some(part) => self.path(Some(&SymValue::Var(*part)), &path[from..]),
            None => self.text.push_str("?;"),
        }
    }

    /// Returns true if the schemas of a variable relate its fields.
    fn depends(&self, at: VarId) -> bool {
        let var = self.constraints.get(at);
        let own = if let VarOrigin::Schemas(schemas) = &var.kind { &schemas[..] } else { &[] };
        own.iter().chain(&var.fits).chain(&var.breaks).any(|schema| schema.source().as_map().is_some_and(|map| !is_loose(map)))
    }

    pub(crate) fn sym(&mut self, of: &SymValue) {
        match of {
            SymValue::Known(value) => self.values(std::slice::from_ref(value)),
            SymValue::Map(entries) => self.entries(entries),
            SymValue::Overlay(at, entries) => {
                self.var(*at, true);
                self.entries(entries);
            }
            SymValue::List(items) => {
                self.text.push_str(if items.is_filled { "[+" } else { "[" });
                if let Some(base) = items.base {
                    self.var(base, true);
                }
                // Sorted: the order of appends does not matter.
                let mut some: Vec<String> = items.some.iter().map(|item| self.constraints.fingerprint(item)).collect();
                some.sort_unstable();
                some.iter().for_each(|item| self.text.push_str(item));
                self.text.push(']');
            }
            SymValue::Var(at) => self.var(*at, true),
        }
    }

    fn entries(&mut self, entries: &BTreeMap<Key, SymValue>) {
        self.text.push('{');
        for (key, entry) in entries {
            let _ = write!(self.text, "{key}:");
            self.sym(entry);
            self.text.push(',');
        }
        self.text.push('}');
    }

    fn var(&mut self, at: VarId, whole: bool) {
        if let Some(place) = self.visited.iter().position(|known| *known == at) {
            let _ = write!(self.text, "#{place}");
            if !whole {
                return;
            }
        } else {
            self.visited.push(at);
        }
        let var = self.constraints.get(at);
        self.text.push('<');
        match &var.kind {
            VarOrigin::Schemas(schemas) => self.schemas(schemas),
            kind => drop(write!(self.text, "{kind:?}")),
        }
        let _ = write!(self.text, "{:?}{:?}", var.presence, var.truthy);
        if let Some(only) = &var.finite {
            self.text.push('=');
            match only.len() > MAX_VALUES_WRITTEN {
                true => drop(write!(self.text, "{}*{}", only.len(), only.fingerprint())),
                false => only.iter().for_each(|value| self.values(std::slice::from_ref(value))),
            }
        }
        if let Some(more) = &var.default {
            self.text.push('+');
            self.values(std::slice::from_ref(more));
        }
        self.text.push('!');
        self.values(&var.excluded);
        self.schemas(&var.fits);
        self.text.push('/');
        self.schemas(&var.breaks);
        for (key, part) in var.parts.iter().filter(|(_, part)| whole && self.constraints.is_constrained(**part)) {
            let _ = write!(self.text, ".{key}=");
            self.var(*part, true);
        }
        self.text.push('>');
    }

    fn schemas(&mut self, schemas: &[Schema]) {
        for schema in schemas {
            let number = self.constraints.cache.borrow_mut().number(schema);
            self.text.push_str(&number);
        }
    }

    fn values(&mut self, values: &[Value]) {
        if values.len() > MAX_VALUES_WRITTEN {
            let mut hasher = FxHasher::default();
            values.iter().for_each(|value| hasher.write(value.to_json().as_bytes()));
            let _ = write!(self.text, "{}*{}", values.len(), hasher.finish());
            return;
        }
        for value in values {
            self.text.push_str(&value.to_json());
            self.text.push('|');
        }
    }
}

/// Returns true if a schema constrains each field independently.
fn is_loose(schema: &Mapping) -> bool {
    let loose = ["type", "properties", "required", "items", "additionalProperties", "title", "description", "default", "examples"];
    schema.keys().all(|key| loose.contains(&&**key))
}

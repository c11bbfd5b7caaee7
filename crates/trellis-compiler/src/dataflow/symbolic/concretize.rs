//! Concretization: the choice of a value for each variable.
//!
//! Generate and test: samples of the schemas involved, then of the variable's type, completed by the choices of its fields; the first one
//! that satisfies all constraints wins. It is incomplete: `None` means that no sample fits, not that no value does.
//!
//! **Example.** A mapping with `a` present and an integer, `b` absent: the sample `{}` is completed to `{a: 1}`.

use super::{cache::ITEMS, *};

impl Constraints {
    /// Chooses a value that satisfies the constraints; `None` if no sample does.
    pub(crate) fn choose(&self, of: &SymValue) -> Option<Value> {
        match of {
            SymValue::Known(value) => Some(value.clone()),
            SymValue::Map(entries) => {
                let there = entries.iter().filter(|(_, entry)| self.presence(entry) == Some(true));
                let entries = there.map(|(key, entry)| Some((key.clone(), self.choose(entry)?)));
                Some(Value::Map(entries.collect::<Option<Mapping>>()?))
            }
            SymValue::Overlay(at, entries) => {
                let Value::Map(mut base) = self.choose(&SymValue::Var(*at))? else { return None };
                for (key, entry) in entries.iter().filter(|(_, entry)| self.presence(entry) == Some(true)) {
                    base.insert(key.clone(), self.choose(entry)?);
                }
                Some(Value::Map(base))
            }
            SymValue::List(items) => Some(Value::from(items.some.iter().map(|item| self.choose(item)).collect::<Option<Vec<_>>>()?)),
            SymValue::Var(at) => self.choose_var(*at),
        }
    }

    fn choose_var(&self, at: VarId) -> Option<Value> {
        let var = self.get(at);
        if let Some(only) = &var.finite {
            return only.iter().chain(&var.default).find(|value| self.suits(var, value)).cloned();
        }
        let instances = |schema: &Schema| self.cache.borrow_mut().instances(schema).to_vec();
        let breaks = || var.breaks.iter().flat_map(instances);
        let alarms: Vec<Value> = match &var.kind {
            VarOrigin::Input(kind) => {
                let wished = var.fits.iter().chain(&var.breaks).flat_map(|schema| samples::of_input_schema(*kind, schema.source()));
                samples::inputs(*kind).into_iter().chain(wished).collect()
            }
            VarOrigin::Schemas(schemas) => {
                let wished = schemas.iter().chain(&var.fits).flat_map(instances);
                wished.chain(breaks()).collect()
            }
            VarOrigin::Any | VarOrigin::Rendered | VarOrigin::Havocked | VarOrigin::Text => {
                let is_mapping = var.parts.values().any(|part| self.get(*part).presence == Some(true));
                let wished = var.fits.iter().flat_map(instances);
                wished.chain(samples::any(is_mapping)).chain(breaks()).collect()
            }
        };
        let fitting = |value: Value| self.with_parts(value, var).filter(|value| self.admits(var, value));
        alarms.into_iter().chain(var.default.clone()).find_map(fitting).or_else(|| {
            let schema = self.schema_of(self.type_of(&SymValue::Var(at)))?;
            instances(&schema).into_iter().find_map(fitting)
        })
    }

    /// Completes a sample by the choices of its fields; `None` if it cannot have them.
    fn with_parts(&self, value: Value, var: &SymVar) -> Option<Value> {
        if let (Value::List(_), Some(item)) = (&value, var.parts.get(ITEMS).filter(|item| self.get(**item).presence == Some(true))) {
            let item = self.choose_var(*item)?;
            let many = Value::from(vec![item.clone(); MAX_INDEXED_ITEMS]);
            return Some(if may_be(var, &many) && var.fits.iter().all(|schema| schema.fits(&many)) {
                many
            } else {
                Value::from(vec![item])
            });
        }
        let Value::Map(mut entries) = value else {
            let needs = var.parts.values().any(|part| self.get(*part).presence == Some(true));
            return (!needs).then_some(value);
        };
        for (key, part) in var.parts.iter().filter(|(key, _)| &***key != ITEMS) {
            let of = self.get(*part);
            match of.presence {
                Some(true) if entries.get(key).is_some_and(|value| self.admits(of, value)) => {}
                Some(true) => drop(entries.insert(key.clone(), self.choose_var(*part)?)),
                None if entries.get(key).is_none_or(|value| self.admits(of, value)) => {}
                None | Some(false) => {
                    entries = entries.iter().filter(|(known, _)| *known != key).map(|(key, value)| (key.clone(), value.clone())).collect();
                }
            }
        }
        Some(Value::Map(entries))
    }

    /// Returns true if a value satisfies all constraints of a variable.
    pub(super) fn admits(&self, var: &SymVar, value: &Value) -> bool {
        let is_left = |only: &FiniteSet| var.default.as_ref() == Some(value) || only.contains(value);
        var.finite.as_ref().is_none_or(is_left) && self.suits(var, value)
    }

    /// Returns true if a candidate satisfies all constraints but the finite set; see [`Constraints::admits`].
    pub(super) fn suits(&self, var: &SymVar, value: &Value) -> bool {
        let is_more = var.default.as_ref() == Some(value);
        !var.excluded.contains(value)
            && var.truthy.is_none_or(|truth| is_true(value) == truth)
            && (is_more || (may_be(var, value) && var.fits.iter().all(|schema| schema.fits(value))))
            && var.breaks.iter().all(|schema| !schema.fits(value))
            && var.parts.iter().all(|(key, part)| {
                if &**key == ITEMS {
                    let part = self.get(*part);
                    let holds = |value: &Value| value.as_list().is_some_and(|items| items.iter().any(|item| self.admits(part, item)));
                    return part.presence != Some(true) || holds(value);
                }
                let (part, inner) = (self.get(*part), value.as_map().and_then(|entries| entries.get(key)));
                match (part.presence, inner) {
                    (Some(true), None) | (Some(false), Some(_)) => false,
                    (_, Some(inner)) => self.admits(part, inner),
                    (_, None) => true,
                }
            })
    }

    /// Returns true if some constrained variable has no value left.
    pub(crate) fn is_impossible(&self) -> bool {
        let variables = || (0..self.all.len()).map(VarId::from_usize);
        variables().filter(|at| self.get(*at).constrained).any(|at| self.is_impossible_var(at))
            || variables().filter(|at| !self.get(*at).parts.is_empty()).any(|at| self.is_impossible_var(at))
    }
}

/// Number of items of a chosen list whose items are read: an index in the program is mostly smaller.
const MAX_INDEXED_ITEMS: usize = 4;

/// Returns true if the origin of a variable can give a value.
fn may_be(var: &SymVar, value: &Value) -> bool {
    match &var.kind {
        VarOrigin::Input(kind) => samples::of_input(*kind, value),
        VarOrigin::Schemas(schemas) => schemas.iter().all(|schema| schema.fits(value)),
        VarOrigin::Any | VarOrigin::Rendered | VarOrigin::Havocked => true,
        VarOrigin::Text => value.as_str().is_some(),
    }
}

//! The functions of `compute` files in addition to those of templates (language 9.27): `namespace`, `merge` and `without`.

use minijinja::{
    Environment, Error, State, functions,
    value::{Value as Dyn, ValueKind},
};

use super::{
    super::bridge::{from_dyn, invalid, kind, to_dyn},
    RenderBudget, hook,
    hooks::MAX_PARTS,
};
use crate::value::{Mapping, Value};

/// Adds them.
pub(super) fn add(engine: &mut Environment<'static>) {
    engine.add_filter("merge", merge);
    engine.add_filter("without", without);
    engine.add_function(hook::NAMESPACE, functions::namespace);
}

/// The entries of both mappings; those of the second win.
fn merge(state: &mut State, value: &Dyn, with: &Dyn) -> Result<Dyn, Error> {
    let with = mapping(state, "merge", with)?;
    let mut merged = mapping(state, "merge", value)?;
    RenderBudget::of(state).container(merged.len().saturating_add(with.len()))?;
    for (key, entry) in with.iter() {
        merged.insert(key.clone(), entry.clone());
    }
    made(state, merged)
}

/// The entries but those of the given names.
fn without(state: &mut State, value: &Dyn, keys: &Dyn) -> Result<Dyn, Error> {
    let entries = mapping(state, "without", value)?;
    let dropped = names(keys)?;
    RenderBudget::of(state).container(entries.len().saturating_add(dropped.len()))?;
    let left = entries.iter().filter(|(key, _)| !dropped.iter().any(|name| name.as_str() == Some(key)));
    made(state, left.map(|(key, entry)| (key.clone(), entry.clone())).collect())
}

/// The mapping that a filter is given: its entries stay shared.
fn mapping(state: &mut State, filter: &str, value: &Dyn) -> Result<Mapping, Error> {
    if value.kind() != ValueKind::Map {
        return Err(invalid(format!("`{filter}` needs a mapping, not {}", kind(value))));
    }
    let budget = RenderBudget::of(state);
    match from_dyn(value, budget.largest(MAX_PARTS)).map_err(|error| budget.too_large(error))? {
        Value::Map(entries) => Ok(entries),
        other => Err(invalid(format!("`{filter}` needs a mapping, not {}", other.kind()))),
    }
}

/// A name, or several.
fn names(keys: &Dyn) -> Result<Vec<Dyn>, Error> {
    let is_list = matches!(keys.kind(), ValueKind::Seq | ValueKind::Iterable);
    let names = if is_list { keys.try_iter()?.checked().collect::<Result<Vec<_>, _>>()? } else { vec![keys.clone()] };
    match names.iter().find(|name| name.kind() != ValueKind::String) {
        Some(other) => Err(invalid(format!("`without` needs the name of an entry, or a list of names, not {}", kind(other)))),
        None => Ok(names),
    }
}

/// Returns a new mapping, if it is not too large: shared parts count as if they were not shared.
fn made(state: &mut State, entries: Mapping) -> Result<Dyn, Error> {
    let value = Value::Map(entries);
    RenderBudget::of(state).size(value.size())?;
    Ok(to_dyn(&value))
}

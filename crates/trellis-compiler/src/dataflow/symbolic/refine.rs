//! Constraints on symbolic values: guards, schemas to fit, schemas to violate.
//!
//! Each `assume_*` adds one constraint and propagates it to fields and presence. `false` or [`CanViolate::No`] mean that the path is
//! infeasible; `true` only that no contradiction was found.

use super::{cache::ITEMS, *};
use trellis_base::template::KindSet;

/// Result of constraining a value to violate a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CanViolate {
    /// It was constrained to a violation.
    Yes,
    /// It certainly fits, or is unknown so that nothing is claimed of it.
    No,
    /// Neither a violation nor a proof was found.
    Unknown,
}

impl CanViolate {
    fn or(self, other: impl FnOnce() -> Self) -> Self {
        match self {
            Self::Yes => Self::Yes,
            Self::No => other(),
            Self::Unknown => {
                if other() == Self::Yes {
                    Self::Yes
                } else {
                    Self::Unknown
                }
            }
        }
    }
}

impl Constraints {
    /// Constrains a value to fit a schema. False if none can.
    pub(crate) fn assume_fits(&mut self, of: &SymValue, schema: &Schema) -> bool {
        if let SymValue::Known(value) = of {
            return schema.fits(value);
        }
        if !self.may_fit(of, schema) {
            return false;
        }
        match of {
            SymValue::Known(_) => true,
            SymValue::Map(entries) => self.fit_entries(entries, schema),
            SymValue::Overlay(at, entries) => {
                let parts: Vec<(Key, VarId)> = self.get(*at).parts.iter().map(|(key, part)| (key.clone(), *part)).collect();
                let parts = parts.into_iter().filter(|(key, _)| !entries.contains_key(key));
                self.fit_entries(entries, schema) && self.fit_parts(parts.collect(), schema)
            }
            SymValue::List(items) => {
                let inner = self.demanded(schema, ITEMS);
                inner.is_none_or(|inner| items.some.iter().all(|item| self.presence(item) != Some(true) || self.assume_fits(item, &inner)))
            }
            SymValue::Var(at) => self.fit_var(*at, schema),
        }
    }

    /// Returns false if the types of value and schema have nothing in common.
    fn may_fit(&self, of: &SymValue, schema: &Schema) -> bool {
        let cache = &mut *self.cache.borrow_mut();
        let of = self.typed(cache, of);
        let (of, wanted) = (cache.types.present(of), cache.types.declared(schema));
        cache.types.meet(of, wanted) != TypeId::NEVER
    }

    fn fit_entries(&mut self, entries: &BTreeMap<Key, SymValue>, schema: &Schema) -> bool {
        entries.iter().all(|(key, entry)| match self.demanded(schema, key) {
            Some(inner) if self.presence(entry) == Some(true) => self.assume_fits(entry, &inner),
            _ => true,
        })
    }

    fn fit_parts(&mut self, parts: Vec<(Key, VarId)>, schema: &Schema) -> bool {
        parts.into_iter().all(|(key, part)| match self.demanded(schema, &key) {
            Some(inner) if self.get(part).presence != Some(false) => {
                self.fit_var(part, &inner) || self.assume_present(&SymValue::Var(part), false)
            }
            _ => true,
        })
    }

    fn fit_var(&mut self, at: VarId, schema: &Schema) -> bool {
        let var = self.get(at);
        let same = |known: &Schema| std::ptr::eq(known.source(), schema.source());
        let own = if let VarOrigin::Schemas(schemas) = &var.kind { &schemas[..] } else { &[] };
        if own.iter().chain(&var.fits).any(same) {
            return true;
        }
        if let Some(only) = &var.finite {
            let left = only.filter(|value| schema.fits(value));
            let is_possible = !left.is_empty() || var.default.as_ref().is_some_and(|more| schema.fits(more));
            if left.len() != only.len() {
                self.change(at).finite = Some(left);
            }
            self.drop_default(at, schema);
            return is_possible;
        }
        if matches!(var.kind, VarOrigin::Rendered | VarOrigin::Havocked | VarOrigin::Text) {
            return true;
        }
        let parts: Vec<(Key, VarId)> = var.parts.iter().map(|(key, part)| (key.clone(), *part)).collect();
        let var = self.change(at);
        match var.kind {
            VarOrigin::Any => var.kind = VarOrigin::Schemas(Rc::from([schema.clone()])),
            _ => var.fits.push(schema.clone()),
        }
        self.drop_default(at, schema);
        if !self.fit_parts(parts.clone(), schema) {
            return false;
        }
        // Propagates to presence: a field that cannot be absent is present, and one that cannot be present is absent.
        for (key, part) in parts.into_iter().filter(|(key, _)| &**key != ITEMS) {
            let of = self.below_var(at, &key);
            let decided = if of == TypeId::ABSENT {
                Some(false)
            } else if self.may_lack(of) {
                None
            } else {
                Some(true)
            };
            if decided.is_some_and(|there| !self.assume_present(&SymValue::Var(part), there)) {
                return false;
            }
        }
        !self.is_impossible_var(at)
    }

    fn drop_default(&mut self, at: VarId, schema: &Schema) {
        if self.get(at).default.as_ref().is_some_and(|more| !schema.fits(more)) {
            self.change(at).default = None;
        }
    }

    /// Constrains a value to violate a schema. An unknown value does not.
    pub(crate) fn assume_violates(&mut self, of: &SymValue, schema: &Schema) -> CanViolate {
        self.broken(of, schema, false)
    }

    /// Constrains a value to violate a schema; an unknown value may be anything, so it can. See [`Constraints::assume_violates`].
    pub(crate) fn assume_differs(&mut self, of: &SymValue, schema: &Schema) -> CanViolate {
        self.broken(of, schema, true)
    }

    fn broken(&mut self, of: &SymValue, schema: &Schema, anything: bool) -> CanViolate {
        match of {
            SymValue::Known(value) => {
                if schema.fits(value) {
                    CanViolate::No
                } else {
                    CanViolate::Yes
                }
            }
            SymValue::Var(at) if self.get(*at).presence == Some(false) => CanViolate::No,
            SymValue::Var(at) => match &self.get(*at).kind {
                VarOrigin::Havocked => CanViolate::Unknown,
                VarOrigin::Rendered if anything => CanViolate::Unknown,
                VarOrigin::Rendered => CanViolate::No,
                VarOrigin::Any if !anything && self.is_unknown(self.get(*at)) => CanViolate::No,
                VarOrigin::Text if !["a", "", "1"].iter().any(|text| schema.fits(&Value::text(*text))) => CanViolate::Yes,
                _ if self.certainly_fits(of, schema) => CanViolate::No,
                VarOrigin::Text => CanViolate::Unknown,
                VarOrigin::Any | VarOrigin::Schemas(_) | VarOrigin::Input(_) => self.violate_var(*at, schema, anything),
            },
            SymValue::Map(_) | SymValue::Overlay(..) | SymValue::List(_) if !self.may_fit(of, schema) => CanViolate::Yes,
            SymValue::Map(entries) => {
                let parts: Vec<(Key, SymValue)> = entries.iter().map(|(key, entry)| (key.clone(), entry.clone())).collect();
                self.broken_parts(of, &parts, schema, anything)
            }
            SymValue::Overlay(at, entries) => {
                let mut parts: Vec<(Key, SymValue)> = entries.iter().map(|(key, entry)| (key.clone(), entry.clone())).collect();
                parts.extend(self.symbolic_parts(*at, schema).into_iter().filter(|(key, _)| !entries.contains_key(key)));
                self.broken_parts(of, &parts, schema, anything)
            }
            SymValue::List(items) => {
                let of_items = match self.demanded(schema, ITEMS) {
                    Some(inner) => self.any_breaks(items.some.iter().map(|item| (item.clone(), inner.clone())).collect(), anything),
                    None => CanViolate::No,
                };
                let of_base = of_items.or(|| {
                    items
                        .base
                        .map_or(CanViolate::No, |base| self.tried(|constraints| constraints.broken(&SymValue::Var(base), schema, anything)))
                });
                let is_sure = self.certainly_fits(of, schema);
                of_base.or(|| if is_sure { CanViolate::No } else { CanViolate::Unknown })
            }
        }
    }

    /// Runs `narrow` on a copy, and adopts it if it succeeds.
    fn tried(&mut self, narrow: impl FnOnce(&mut Self) -> CanViolate) -> CanViolate {
        let mut tried = self.clone();
        let done = narrow(&mut tried);
        if done == CanViolate::Yes {
            *self = tried;
        }
        done
    }

    fn any_breaks(&mut self, parts: Vec<(SymValue, Schema)>, anything: bool) -> CanViolate {
        parts.into_iter().fold(CanViolate::No, |known, (part, schema)| {
            known.or(|| {
                self.tried(|constraints| {
                    if constraints.assume_present(&part, true) { constraints.broken(&part, &schema, anything) } else { CanViolate::No }
                })
            })
        })
    }

    /// Returns the fields of a variable that a schema mentions.
    fn symbolic_parts(&mut self, at: VarId, schema: &Schema) -> Vec<(Key, SymValue)> {
        let map = schema.source().as_map();
        let named = map.and_then(|map| map.get("properties")).and_then(Value::as_map).into_iter().flat_map(Mapping::keys).cloned();
        let required = required_names(schema).map(Key::from);
        let keys: std::collections::BTreeSet<Key> = named.chain(required).collect();
        let part = |key: Key| {
            let found = self.below(&SymValue::Var(at), &[Segment::Key(key.clone())]).sym();
            found.map(|part| (key, part))
        };
        keys.into_iter().filter_map(part).collect()
    }

    /// Constrains one field so that the mapping violates a schema: by absence, or by its value.
    fn broken_parts(&mut self, of: &SymValue, parts: &[(Key, SymValue)], schema: &Schema, anything: bool) -> CanViolate {
        for name in required_names(schema) {
            match parts.iter().find(|(key, _)| **key == *name) {
                None => return CanViolate::Yes,
                Some((_, part)) if self.presence(part).is_none() && self.assume_present(part, false) => return CanViolate::Yes,
                Some(_) => {}
            }
        }
        let demanded = parts.iter().filter_map(|(key, part)| Some((part.clone(), self.demanded(schema, key)?))).collect();
        let is_sure = self.certainly_fits(of, schema);
        self.any_breaks(demanded, anything).or(|| if is_sure { CanViolate::No } else { CanViolate::Unknown })
    }

    fn violate_var(&mut self, at: VarId, schema: &Schema, anything: bool) -> CanViolate {
        let whole = self.tried(|constraints| {
            constraints.change(at).breaks.push(schema.clone());
            if constraints.choose(&SymValue::Var(at)).is_some() { CanViolate::Yes } else { CanViolate::Unknown }
        });
        if whole == CanViolate::Yes {
            return whole;
        }
        // One field at a time: by absence, or by its value.
        for (key, part) in self.symbolic_parts(at, schema) {
            let is_needed = required_names(schema).any(|name| *name == *key);
            let inner = self.demanded(schema, &key);
            let by_part = self.tried(|constraints| {
                let lacks = is_needed && constraints.presence(&part).is_none() && constraints.assume_present(&part, false);
                let breaks = lacks
                    || inner.is_some_and(|inner| {
                        constraints.assume_present_below(&part, &[]) && constraints.broken(&part, &inner, anything) == CanViolate::Yes
                    });
                if breaks && constraints.choose(&SymValue::Var(at)).is_some() { CanViolate::Yes } else { CanViolate::Unknown }
            });
            if by_part == CanViolate::Yes {
                return by_part;
            }
        }
        CanViolate::Unknown
    }

    /// Returns the kinds that a value can have, as far as they are claimed.
    pub(crate) fn sorts(&self, found: &Lookup) -> KindSet {
        let (sym, absent) = match found {
            Lookup::Absent => return KindSet::UNSET,
            Lookup::Present(sym) => (sym, KindSet::NONE),
            Lookup::MaybePresent(sym) => (sym, KindSet::UNSET),
        };
        let cache = &mut *self.cache.borrow_mut();
        let of = self.typed(cache, sym);
        cache.types.sorts(of).or(absent)
    }

    /// Returns true if a value is havocked.
    pub(crate) fn is_havocked(&self, found: &Lookup) -> bool {
        matches!(found, Lookup::Present(SymValue::Var(at)) | Lookup::MaybePresent(SymValue::Var(at)) if matches!(self.get(*at).kind, VarOrigin::Havocked))
    }

    /// Constrains a present value to one kind. False if it cannot have it.
    pub(crate) fn assume_kind(&mut self, of: &SymValue, sort: KindSet) -> bool {
        let schema = sort.types().first().and_then(|name| self.kind(name));
        schema.is_some_and(|schema| self.assume_fits(of, &schema))
    }

    /// Constrains a present value so that a guard evaluates to `truth`. False if it cannot.
    pub(crate) fn assume(&mut self, guard: &Guard, of: &SymValue, truth: bool) -> bool {
        match self.decide(guard, of) {
            Truth::Yes => return truth,
            Truth::No => return !truth,
            Truth::Either => {}
        }
        let SymValue::Var(at) = of else { return matches!(guard, Guard::Empty(..)) };
        let var = self.get(*at);
        let wanted = Truth::from(truth);
        let narrowed = match (guard, &var.finite) {
            (_, Some(only)) => {
                let more = var.default.clone().filter(|value| guard.over(Some(value)) == wanted);
                let left = only.filter_guard(guard, wanted);
                self.change(*at).default = more;
                Ok(left)
            }
            (Guard::Is(_, yes, value), None) if *yes == truth => Ok(FiniteSet::new([value.clone()])),
            (Guard::In(_, yes, values), None) if *yes == truth => Ok(FiniteSet::new(values.iter().cloned())),
            (Guard::Is(_, _, value), None) => Err(vec![value.clone()]),
            (Guard::In(_, _, values), None) => Err(values.to_vec()),
            (Guard::Truth(_, yes), None) => Ok(FiniteSet::new([Value::Bool(*yes == truth)])),
            (Guard::Empty(_, yes), None) if *yes == truth => Ok(FiniteSet::new(empties())),
            (Guard::Empty(..), None) => Err(empties().to_vec()),
            _ => return true,
        };
        match narrowed {
            Ok(only) => {
                let var = self.get(*at);
                let only = match &var.finite {
                    Some(_) if Self::is_unbound(var) => only,
                    Some(_) => only.filter(|value| self.suits(var, value)),
                    None => only.filter(|value| self.admits(var, value)),
                };
                let is_possible = !only.is_empty() || self.get(*at).default.is_some();
                self.change(*at).finite = Some(only);
                is_possible
            }
            Err(not) => {
                let var = self.change(*at);
                for value in not {
                    if !var.excluded.contains(&value) {
                        var.excluded.push(value);
                    }
                }
                true
            }
        }
    }

    /// Returns true if a variable has no constraint beside its finite set.
    fn is_unbound(var: &SymVar) -> bool {
        let is_any = matches!(
            var.kind,
            VarOrigin::Any | VarOrigin::Rendered | VarOrigin::Havocked | VarOrigin::Input(InputType::Choice | InputType::Json)
        );
        is_any && var.excluded.is_empty() && var.truthy.is_none() && var.fits.is_empty() && var.breaks.is_empty() && var.parts.is_empty()
    }

    /// Constrains a present value to be true or false, as `{% if %}` takes it. False if it cannot be.
    pub(crate) fn assume_truth(&mut self, of: &SymValue, truth: bool) -> bool {
        match of {
            SymValue::Known(value) => is_true(value) == truth,
            SymValue::Map(entries) if entries.is_empty() => !truth,
            SymValue::Map(entries) => truth || !entries.values().any(|entry| self.presence(entry) == Some(true)),
            SymValue::Overlay(_, entries) => truth || !entries.values().any(|entry| self.presence(entry) == Some(true)),
            SymValue::List(items) => truth || !items.is_filled,
            SymValue::Var(at) => {
                if let Some(only) = &self.get(*at).finite {
                    let left = only.filter(|value| is_true(value) == truth);
                    let more = self.get(*at).default.clone().filter(|value| is_true(value) == truth);
                    let is_possible = !left.is_empty() || more.is_some();
                    let var = self.change(*at);
                    (var.finite, var.default) = (Some(left), more);
                    return is_possible;
                }
                *self.change(*at).truthy.get_or_insert(truth) == truth
            }
        }
    }
}

fn required_names(schema: &Schema) -> impl Iterator<Item = &str> {
    schema.source().as_map().and_then(|map| map.get("required")).and_then(Value::as_list).into_iter().flatten().filter_map(Value::as_str)
}

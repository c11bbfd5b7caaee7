//! Narrowing what a value can still be: guards, schemas that it must fit or must not fit.

use super::{cache::ITEMS, *};
use crate::{compile::dataflow::domain::plain, template::Sorts};

/// Whether something does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Broke {
    /// It was narrowed to what does not.
    Yes,
    /// It certainly fits, or nothing is claimed of it.
    No,
    /// Neither was found.
    Unknown,
}

impl Broke {
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

impl Vars {
    /// Narrows a value to what fits a schema; false where nothing does.
    pub(crate) fn fit(&mut self, of: &Sym, schema: &Schema) -> bool {
        if let Sym::Known(value) = of {
            return schema.fits(value);
        }
        if !self.may_fit(of, schema) {
            return false;
        }
        match of {
            Sym::Known(_) => true,
            Sym::Map(entries) => self.fit_entries(entries, schema),
            Sym::Over(at, entries) => {
                let parts: Vec<(Key, u32)> = self.get(*at).parts.iter().map(|(key, part)| (key.clone(), *part)).collect();
                let parts = parts.into_iter().filter(|(key, _)| !entries.contains_key(key));
                self.fit_entries(entries, schema) && self.fit_parts(parts.collect(), schema)
            }
            Sym::List(items) => {
                let inner = self.demanded(schema, ITEMS);
                inner.is_none_or(|inner| items.some.iter().all(|item| self.presence(item) != Some(true) || self.fit(item, &inner)))
            }
            Sym::Var(at) => self.fit_var(*at, schema),
        }
    }

    /// Whether a value can fit a schema, as far as types say.
    fn may_fit(&self, of: &Sym, schema: &Schema) -> bool {
        let lore = &mut *self.lore.borrow_mut();
        let of = self.typed(lore, of);
        let (of, wanted) = (lore.types.present(of), lore.types.declared(schema));
        lore.types.met(of, wanted) != TypeId::NEVER
    }

    fn fit_entries(&mut self, entries: &BTreeMap<Key, Sym>, schema: &Schema) -> bool {
        entries.iter().all(|(key, entry)| match self.demanded(schema, key) {
            Some(inner) if self.presence(entry) == Some(true) => self.fit(entry, &inner),
            _ => true,
        })
    }

    fn fit_parts(&mut self, parts: Vec<(Key, u32)>, schema: &Schema) -> bool {
        parts.into_iter().all(|(key, part)| match self.demanded(schema, &key) {
            Some(inner) if self.get(part).there != Some(false) => self.fit_var(part, &inner) || self.be(&Sym::Var(part), false),
            _ => true,
        })
    }

    fn fit_var(&mut self, at: u32, schema: &Schema) -> bool {
        let var = self.get(at);
        let same = |known: &Schema| std::ptr::eq(known.source(), schema.source());
        let own = if let Kind::Schemas(schemas) = &var.kind { &schemas[..] } else { &[] };
        if own.iter().chain(&var.fits).any(same) {
            return true;
        }
        if let Some(only) = &var.only {
            let left = only.kept(|value| schema.fits(value));
            let is_possible = !left.is_empty() || var.more.as_ref().is_some_and(|more| schema.fits(more));
            if left.len() != only.len() {
                self.change(at).only = Some(left);
            }
            self.drop_more(at, schema);
            return is_possible;
        }
        if matches!(var.kind, Kind::Made | Kind::Lost | Kind::Words) {
            return true;
        }
        let parts: Vec<(Key, u32)> = var.parts.iter().map(|(key, part)| (key.clone(), *part)).collect();
        let var = self.change(at);
        match var.kind {
            Kind::Any => var.kind = Kind::Schemas(Rc::from([schema.clone()])),
            _ => var.fits.push(schema.clone()),
        }
        self.drop_more(at, schema);
        if !self.fit_parts(parts.clone(), schema) {
            return false;
        }
        // A part that cannot be absent any more is there, and one that cannot be there is absent.
        for (key, part) in parts.into_iter().filter(|(key, _)| &**key != ITEMS) {
            let of = self.below_var(at, &key);
            let decided = if of == TypeId::ABSENT {
                Some(false)
            } else if self.may_lack(of) {
                None
            } else {
                Some(true)
            };
            if decided.is_some_and(|there| !self.be(&Sym::Var(part), there)) {
                return false;
            }
        }
        !self.is_impossible_var(at)
    }

    fn drop_more(&mut self, at: u32, schema: &Schema) {
        if self.get(at).more.as_ref().is_some_and(|more| !schema.fits(more)) {
            self.change(at).more = None;
        }
    }

    /// Narrows a value to what does not fit a schema. Of what nothing is known nothing is claimed.
    pub(crate) fn break_(&mut self, of: &Sym, schema: &Schema) -> Broke {
        self.broken(of, schema, false)
    }

    /// The same, also of what nothing is known: it may be anything.
    pub(crate) fn differ(&mut self, of: &Sym, schema: &Schema) -> Broke {
        self.broken(of, schema, true)
    }

    fn broken(&mut self, of: &Sym, schema: &Schema, anything: bool) -> Broke {
        match of {
            Sym::Known(value) => {
                if schema.fits(value) {
                    Broke::No
                } else {
                    Broke::Yes
                }
            }
            Sym::Var(at) if self.get(*at).there == Some(false) => Broke::No,
            Sym::Var(at) => match &self.get(*at).kind {
                Kind::Lost => Broke::Unknown,
                Kind::Made if anything => Broke::Unknown,
                Kind::Made => Broke::No,
                Kind::Any if !anything && self.is_unknown(self.get(*at)) => Broke::No,
                Kind::Words if !["a", "", "1"].iter().any(|text| schema.fits(&Value::text(*text))) => Broke::Yes,
                _ if self.certainly_fits(of, schema) => Broke::No,
                Kind::Words => Broke::Unknown,
                Kind::Any | Kind::Schemas(_) | Kind::Input(_) => self.broken_var(*at, schema, anything),
            },
            Sym::Map(_) | Sym::Over(..) | Sym::List(_) if !self.may_fit(of, schema) => Broke::Yes,
            Sym::Map(entries) => {
                let parts: Vec<(Key, Sym)> = entries.iter().map(|(key, entry)| (key.clone(), entry.clone())).collect();
                self.broken_parts(of, &parts, schema, anything)
            }
            Sym::Over(at, entries) => {
                let mut parts: Vec<(Key, Sym)> = entries.iter().map(|(key, entry)| (key.clone(), entry.clone())).collect();
                parts.extend(self.parts_of(*at, schema).into_iter().filter(|(key, _)| !entries.contains_key(key)));
                self.broken_parts(of, &parts, schema, anything)
            }
            Sym::List(items) => {
                let of_items = match self.demanded(schema, ITEMS) {
                    Some(inner) => self.any_breaks(items.some.iter().map(|item| (item.clone(), inner.clone())).collect(), anything),
                    None => Broke::No,
                };
                let of_base =
                    of_items.or(|| items.base.map_or(Broke::No, |base| self.tried(|vars| vars.broken(&Sym::Var(base), schema, anything))));
                let is_sure = self.certainly_fits(of, schema);
                of_base.or(|| if is_sure { Broke::No } else { Broke::Unknown })
            }
        }
    }

    /// Tries to break, and keeps what was narrowed where that was done.
    fn tried(&mut self, narrow: impl FnOnce(&mut Self) -> Broke) -> Broke {
        let mut tried = self.clone();
        let done = narrow(&mut tried);
        if done == Broke::Yes {
            *self = tried;
        }
        done
    }

    fn any_breaks(&mut self, parts: Vec<(Sym, Schema)>, anything: bool) -> Broke {
        parts.into_iter().fold(Broke::No, |known, (part, schema)| {
            known.or(|| self.tried(|vars| if vars.be(&part, true) { vars.broken(&part, &schema, anything) } else { Broke::No }))
        })
    }

    /// The parts of a variable that a schema speaks of.
    fn parts_of(&mut self, at: u32, schema: &Schema) -> Vec<(Key, Sym)> {
        let map = schema.source().as_map();
        let named = map.and_then(|map| map.get("properties")).and_then(Value::as_map).into_iter().flat_map(Mapping::keys).cloned();
        let required = required(schema).map(Key::from);
        let keys: std::collections::BTreeSet<Key> = named.chain(required).collect();
        let part = |key: Key| {
            let found = self.below(&Sym::Var(at), &[Segment::Key(key.clone())]).sym();
            found.map(|part| (key, part))
        };
        keys.into_iter().filter_map(part).collect()
    }

    /// A mapping does not fit because of one of its parts: that it is not there, or what it is.
    fn broken_parts(&mut self, of: &Sym, parts: &[(Key, Sym)], schema: &Schema, anything: bool) -> Broke {
        for name in required(schema) {
            match parts.iter().find(|(key, _)| **key == *name) {
                None => return Broke::Yes,
                Some((_, part)) if self.presence(part).is_none() && self.be(part, false) => return Broke::Yes,
                Some(_) => {}
            }
        }
        let demanded = parts.iter().filter_map(|(key, part)| Some((part.clone(), self.demanded(schema, key)?))).collect();
        let is_sure = self.certainly_fits(of, schema);
        self.any_breaks(demanded, anything).or(|| if is_sure { Broke::No } else { Broke::Unknown })
    }

    fn broken_var(&mut self, at: u32, schema: &Schema, anything: bool) -> Broke {
        let whole = self.tried(|vars| {
            vars.change(at).breaks.push(schema.clone());
            if vars.choose(&Sym::Var(at)).is_some() { Broke::Yes } else { Broke::Unknown }
        });
        if whole == Broke::Yes {
            return whole;
        }
        // One part at a time: that it is not there, or what it is.
        for (key, part) in self.parts_of(at, schema) {
            let is_needed = required(schema).any(|name| *name == *key);
            let inner = self.demanded(schema, &key);
            let by_part = self.tried(|vars| {
                let lacks = is_needed && vars.presence(&part).is_none() && vars.be(&part, false);
                let breaks =
                    lacks || inner.is_some_and(|inner| vars.be_below(&part, &[]) && vars.broken(&part, &inner, anything) == Broke::Yes);
                if breaks && vars.choose(&Sym::Var(at)).is_some() { Broke::Yes } else { Broke::Unknown }
            });
            if by_part == Broke::Yes {
                return by_part;
            }
        }
        Broke::Unknown
    }

    /// Whether a value fits a schema whatever it is, as far as its type and its own schemas say.
    pub(crate) fn certainly_fits(&self, of: &Sym, schema: &Schema) -> bool {
        if let Sym::Var(at) = of
            && let Some(only) = &self.get(*at).only
        {
            let var = self.get(*at);
            return only.iter().chain(&var.more).filter(|value| self.suits(var, value)).all(|value| schema.fits(value));
        }
        let source = schema.source();
        let lore = &mut *self.lore.borrow_mut();
        let known = self.typed(lore, of);
        let known = lore.types.present(known);
        // What a type leaves open may be anything.
        if lore.types.is_unsure(known, schema) {
            return false;
        }
        if known == TypeId::NEVER || !lore.types.breaks(known, schema, true) {
            return true;
        }
        let Ok(coarse) = Schema::new(&plain(source)) else { return false };
        !lore.types.breaks(known, &coarse, true) && entailment::all(&self.demands_on(of), source)
    }

    /// Schemas that a value fits.
    fn demands_on(&self, of: &Sym) -> Vec<Value> {
        match of {
            Sym::Var(at) => {
                let var = self.get(*at);
                let own = if let Kind::Schemas(schemas) = &var.kind { &schemas[..] } else { &[] };
                let mut said: Vec<Value> = own.iter().chain(&var.fits).map(|schema| schema.source().clone()).collect();
                if matches!(var.kind, Kind::Input(InputType::Text | InputType::Secret)) && var.more.is_none() {
                    said.push(Value::map([("minLength", Value::Int(1))]));
                }
                said
            }
            Sym::List(items) if items.is_filled => vec![Value::map([("minItems", Value::Int(1))])],
            _ => Vec::new(),
        }
    }

    /// The sorts that something can be of, as far as they are known; nothing is claimed of anything else.
    pub(crate) fn sorts(&self, found: &Found) -> Sorts {
        let (sym, absent) = match found {
            Found::Absent => return Sorts::UNSET,
            Found::There(sym) => (sym, Sorts::NONE),
            Found::Maybe(sym) => (sym, Sorts::UNSET),
        };
        let lore = &mut *self.lore.borrow_mut();
        let of = self.typed(lore, sym);
        lore.types.sorts(of).or(absent)
    }

    /// Whether something stands for what is not looked at more closely.
    pub(crate) fn is_lost(&self, found: &Found) -> bool {
        matches!(found, Found::There(Sym::Var(at)) | Found::Maybe(Sym::Var(at)) if matches!(self.get(*at).kind, Kind::Lost))
    }

    /// Narrows something that is there to one of its sorts; false where it cannot be of it.
    pub(crate) fn be_of(&mut self, of: &Sym, sort: Sorts) -> bool {
        let schema = sort.types().first().and_then(|name| self.kind(name));
        schema.is_some_and(|schema| self.fit(of, &schema))
    }

    /// Narrows something that is there to where a guard comes to `truth`; false where it cannot.
    pub(crate) fn assume(&mut self, guard: &Guard, of: &Sym, truth: bool) -> bool {
        match self.decide(guard, of) {
            Truth::Yes => return truth,
            Truth::No => return !truth,
            Truth::Either => {}
        }
        let Sym::Var(at) = of else { return matches!(guard, Guard::Empty(..)) };
        let var = self.get(*at);
        let wanted = Truth::from(truth);
        let narrowed = match (guard, &var.only) {
            (_, Some(only)) => {
                let more = var.more.clone().filter(|value| guard.over(Some(value)) == wanted);
                let left = only.at(guard, wanted);
                self.change(*at).more = more;
                Ok(left)
            }
            (Guard::Is(_, yes, value), None) if *yes == truth => Ok(Few::new([value.clone()])),
            (Guard::In(_, yes, values), None) if *yes == truth => Ok(Few::new(values.iter().cloned())),
            (Guard::Is(_, _, value), None) => Err(vec![value.clone()]),
            (Guard::In(_, _, values), None) => Err(values.to_vec()),
            (Guard::Truth(_, yes), None) => Ok(Few::new([Value::Bool(*yes == truth)])),
            (Guard::Empty(_, yes), None) if *yes == truth => Ok(Few::new(empties())),
            (Guard::Empty(..), None) => Err(empties().to_vec()),
            _ => return true,
        };
        match narrowed {
            Ok(only) => {
                let var = self.get(*at);
                let only = match &var.only {
                    Some(_) if Self::is_unbound(var) => only,
                    Some(_) => only.kept(|value| self.suits(var, value)),
                    None => only.kept(|value| self.admits(var, value)),
                };
                let is_possible = !only.is_empty() || self.get(*at).more.is_some();
                self.change(*at).only = Some(only);
                is_possible
            }
            Err(not) => {
                let var = self.change(*at);
                for value in not {
                    if !var.not.contains(&value) {
                        var.not.push(value);
                    }
                }
                true
            }
        }
    }

    /// Whether nothing is known of a variable but the values that are left.
    fn is_unbound(var: &Var) -> bool {
        let is_any = matches!(var.kind, Kind::Any | Kind::Made | Kind::Lost | Kind::Input(InputType::Choice | InputType::Json));
        is_any && var.not.is_empty() && var.truthy.is_none() && var.fits.is_empty() && var.breaks.is_empty() && var.parts.is_empty()
    }

    /// Takes something that is there for true or false, as `{% if %}` does; false where it cannot be.
    pub(crate) fn take_for(&mut self, of: &Sym, truth: bool) -> bool {
        match of {
            Sym::Known(value) => is_true(value) == truth,
            Sym::Map(entries) if entries.is_empty() => !truth,
            Sym::Map(entries) => truth || !entries.values().any(|entry| self.presence(entry) == Some(true)),
            Sym::Over(_, entries) => truth || !entries.values().any(|entry| self.presence(entry) == Some(true)),
            Sym::List(items) => truth || !items.is_filled,
            Sym::Var(at) => {
                if let Some(only) = &self.get(*at).only {
                    let left = only.kept(|value| is_true(value) == truth);
                    let more = self.get(*at).more.clone().filter(|value| is_true(value) == truth);
                    let is_possible = !left.is_empty() || more.is_some();
                    let var = self.change(*at);
                    (var.only, var.more) = (Some(left), more);
                    return is_possible;
                }
                *self.change(*at).truthy.get_or_insert(truth) == truth
            }
        }
    }
}

fn required(schema: &Schema) -> impl Iterator<Item = &str> {
    schema.source().as_map().and_then(|map| map.get("required")).and_then(Value::as_list).into_iter().flatten().filter_map(Value::as_str)
}

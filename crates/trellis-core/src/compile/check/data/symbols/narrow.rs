//! Narrowing what a value can still be: guards, schemas that it must fit or must not fit.

use super::*;

impl Vars {
    /// Narrows a value to what fits a schema; false where it cannot.
    pub(in super::super) fn fit(&mut self, of: &Sym, schema: &Schema) -> bool {
        match of {
            Sym::Known(value) => schema.fits(value),
            Sym::Map(entries) => {
                let properties = schema.source().as_map().and_then(|schema| schema.get("properties")).and_then(Value::as_map);
                entries.iter().all(|(key, part)| {
                    let property = properties.and_then(|properties| Schema::new(properties.get(key)?).ok());
                    property.is_none_or(|schema| self.fit(part, &schema))
                })
            }
            Sym::Var(at) => {
                let var = &mut Rc::make_mut(&mut self.0)[*at as usize];
                if let Some(only) = &var.only {
                    let left: Rc<[Value]> = only.iter().filter(|value| schema.fits(value)).cloned().collect();
                    let is_possible = !left.is_empty();
                    var.only = Some(left);
                    return is_possible;
                }
                match &var.kind {
                    Kind::Any => var.kind = Kind::Schemas(Rc::from([schema.clone()])),
                    Kind::Made | Kind::Words => {}
                    Kind::Schemas(_) | Kind::Input(_) => {
                        var.fits.push(schema.clone());
                        return self.choose(of).is_some();
                    }
                }
                true
            }
        }
    }

    /// Narrows a value to what does not fit a schema; false where it cannot, or where nothing is known of it.
    pub(in super::super) fn break_(&mut self, of: &Sym, schema: &Schema) -> bool {
        self.broken(of, schema, false)
    }

    /// The same, also of what nothing is known: it may be anything.
    pub(in super::super) fn differ(&mut self, of: &Sym, schema: &Schema) -> bool {
        self.broken(of, schema, true)
    }

    pub(super) fn broken(&mut self, of: &Sym, schema: &Schema, anything: bool) -> bool {
        match of {
            Sym::Known(value) => !schema.fits(value),
            Sym::Map(entries) => self.break_part(entries, schema, anything),
            Sym::Var(at) => {
                match &self.0[*at as usize].kind {
                    Kind::Made => return false,
                    Kind::Any if !anything => return false,
                    Kind::Words => return !["a", "", "1"].iter().any(|text| schema.fits(&Value::text(*text))),
                    Kind::Any | Kind::Schemas(_) | Kind::Input(_) => {}
                }
                Rc::make_mut(&mut self.0)[*at as usize].breaks = Some(schema.clone());
                self.choose(of).is_some()
            }
        }
    }

    pub(super) fn break_part(&mut self, entries: &BTreeMap<Key, Sym>, schema: &Schema, anything: bool) -> bool {
        let whole = Value::Map(entries.keys().map(|key| (key.clone(), Value::Null)).collect());
        let Some(map) = schema.source().as_map() else { return !schema.fits(&whole) };
        let takes = |kind: &Value| kind.as_str() == Some("object");
        let is_mapping = match map.get("type") {
            Some(Value::List(kinds)) => kinds.iter().any(takes),
            Some(kind) => takes(kind),
            None => true,
        };
        let required = map.get("required").and_then(Value::as_list).into_iter().flatten().filter_map(Value::as_str);
        let lacks = required.into_iter().any(|name| !entries.contains_key(name));
        let properties = map.get("properties").and_then(Value::as_map);
        let closed = map.get("additionalProperties").and_then(Value::as_bool) == Some(false);
        let foreign = closed && entries.keys().any(|key| properties.is_none_or(|known| !known.contains(key)));
        if !is_mapping || lacks || foreign {
            return true;
        }
        entries.iter().any(|(key, part)| {
            let mut tried = self.clone();
            let property = properties.and_then(|properties| Schema::new(properties.get(key)?).ok());
            let breaks = property.is_some_and(|schema| tried.broken(part, &schema, anything));
            if breaks {
                *self = tried;
            }
            breaks
        })
    }

    /// Narrows a variable to where a guard comes to `truth`; false where it cannot.
    pub(in super::super) fn assume(&mut self, guard: &Guard, of: Option<&Sym>, truth: bool) -> bool {
        match self.decide(guard, of) {
            Truth::Yes => return truth,
            Truth::No => return !truth,
            Truth::Either => {}
        }
        let Some(Sym::Var(at)) = of else { return false };
        let narrowed = match (guard, &self.0[*at as usize].only) {
            (_, Some(only)) => {
                let wanted = Truth::from(truth);
                Ok(only.iter().filter(|value| guard.over(Some(value)) == wanted).cloned().collect::<Rc<[Value]>>())
            }
            (Guard::Is(_, wanted, value), None) if *wanted == truth => Ok(Rc::from([value.clone()])),
            (Guard::In(_, wanted, values), None) if *wanted == truth => Ok(values.iter().cloned().collect()),
            (Guard::Is(_, _, value), None) => Err(vec![value.clone()]),
            (Guard::In(_, _, values), None) => Err(values.to_vec()),
            (Guard::Truth(_, wanted), None) => Ok(Rc::from([Value::Bool(*wanted == truth)])),
            (Guard::Empty(_, wanted), None) => {
                let empty = [Value::Null, Value::text(""), Value::from(Vec::new()), Value::from(Mapping::new())];
                if *wanted == truth { Ok(Rc::from(empty)) } else { Err(empty.to_vec()) }
            }
            _ => return true,
        };
        let may_be = |value: &Value| self.may_be(&self.0[*at as usize], value);
        let narrowed = narrowed.map(|only| only.iter().filter(|value| may_be(value)).cloned().collect::<Rc<[Value]>>());
        let var = &mut Rc::make_mut(&mut self.0)[*at as usize];
        match narrowed {
            Ok(only) => {
                let is_possible = !only.is_empty();
                var.only = Some(only);
                is_possible
            }
            Err(not) => {
                var.not.extend(not);
                true
            }
        }
    }

    /// Takes a value for true or false, as `{% if %}` does; false where it cannot be.
    pub(in super::super) fn take_for(&mut self, of: Option<&Sym>, truth: bool) -> bool {
        match of {
            None => !truth,
            Some(Sym::Known(value)) => is_true(value) == truth,
            Some(Sym::Map(entries)) => entries.is_empty() != truth,
            Some(Sym::Var(at)) => {
                let var = &mut Rc::make_mut(&mut self.0)[*at as usize];
                if let Some(only) = &var.only {
                    let left: Rc<[Value]> = only.iter().filter(|value| is_true(value) == truth).cloned().collect();
                    let is_possible = !left.is_empty();
                    var.only = Some(left);
                    return is_possible;
                }
                *var.truthy.get_or_insert(truth) == truth
            }
        }
    }
}

//! Values that are not known yet: what a person or a tool will say, narrowed by the guards on the way, chosen in the end.
//!
//! **Invariant:** what is chosen fits its input type and schema, and every guard that was taken or passed on the way.

use std::{collections::BTreeMap, rc::Rc};

use super::instance;
use crate::{
    path::{KeyPath, Segment},
    program::{Guard, Listen, Truth},
    schema::Schema,
    syntax::node::InputType,
    value::{Key, Mapping, Value},
};

/// A value on a way that is searched.
#[derive(Clone, Debug)]
pub(super) enum Sym {
    /// This value.
    Known(Value),
    /// A mapping of such values.
    Map(Rc<BTreeMap<Key, Sym>>),
    /// The value of a variable.
    Var(u32),
}

/// Where a variable's value comes from.
#[derive(Clone, Debug)]
pub(super) enum Kind {
    /// Of this input type.
    Input(InputType),
    /// One that fits these.
    Schemas(Rc<[Schema]>),
    /// Anything.
    Any,
    /// What a template made: nobody chooses it.
    Made,
    /// A text that a template made.
    Words,
}

#[derive(Clone, Debug)]
struct Var {
    kind: Kind,
    /// The values that are left, where they are few.
    only: Option<Rc<[Value]>>,
    /// Values that it is not.
    not: Vec<Value>,
    /// Whether it must be taken for true, or for false.
    truthy: Option<bool>,
    /// What was decided about its parts: nothing stands for an absent one.
    parts: BTreeMap<Key, Option<u32>>,
    /// What it must fit beside its kind.
    fits: Vec<Schema>,
    /// What it must not fit.
    breaks: Option<Schema>,
}

/// All variables of a way; cheap to clone.
#[derive(Clone, Debug, Default)]
pub(super) struct Vars(Rc<Vec<Var>>);

/// Whether something is at a path.
pub(super) enum Found {
    There(Sym),
    Absent,
}

impl Vars {
    fn add(&mut self, kind: Kind, only: Option<Rc<[Value]>>) -> Sym {
        let vars = Rc::make_mut(&mut self.0);
        vars.push(Var { kind, only, not: Vec::new(), truthy: None, parts: BTreeMap::new(), fits: Vec::new(), breaks: None });
        Sym::Var(u32::try_from(vars.len() - 1).unwrap_or(u32::MAX))
    }

    /// What a person will answer.
    pub(super) fn input(&mut self, listen: &Listen) -> Sym {
        let only = match listen.kind {
            Some(InputType::Confirm) => Some(Rc::from([Value::text("yes"), Value::text("no")])),
            _ if listen.closed && !listen.options.is_empty() => Some(listen.options.iter().map(|option| option.value.clone()).collect()),
            _ => None,
        };
        let kind = match (&listen.schema, listen.kind) {
            (Some(schema), Some(InputType::Json) | None) => Kind::Schemas(Rc::from([schema.clone()])),
            (_, Some(kind)) => Kind::Input(kind),
            (None, None) => Kind::Input(InputType::Text),
        };
        let sym = self.add(kind, only);
        if let (Some(schema), Sym::Var(at)) = (&listen.schema, &sym) {
            Rc::make_mut(&mut self.0)[*at as usize].fits.push(schema.clone());
        }
        sym
    }

    /// What a tool will return, or a host will give.
    pub(super) fn fitting(&mut self, schemas: &[Schema]) -> Sym {
        let kind = if schemas.is_empty() { Kind::Any } else { Kind::Schemas(schemas.into()) };
        let only = schemas.iter().find_map(|schema| schema.closed(&[])).map(|(values, _)| values.into());
        self.add(kind, only)
    }

    /// What a template makes.
    pub(super) fn made(&mut self) -> Sym {
        self.add(Kind::Made, None)
    }

    /// A text that a template makes.
    pub(super) fn words(&mut self) -> Sym {
        self.add(Kind::Words, None)
    }

    /// A list that a template makes.
    pub(super) fn list(&mut self) -> Sym {
        self.made()
    }

    /// Narrows a value to what fits a schema; false where it cannot.
    pub(super) fn fit(&mut self, of: &Sym, schema: &Schema) -> bool {
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
    pub(super) fn break_(&mut self, of: &Sym, schema: &Schema) -> bool {
        self.broken(of, schema, false)
    }

    /// The same, also of what nothing is known: it may be anything.
    pub(super) fn differ(&mut self, of: &Sym, schema: &Schema) -> bool {
        self.broken(of, schema, true)
    }

    fn broken(&mut self, of: &Sym, schema: &Schema, anything: bool) -> bool {
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

    fn break_part(&mut self, entries: &BTreeMap<Key, Sym>, schema: &Schema, anything: bool) -> bool {
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

    /// The names of a value and of what is known to stand in it.
    pub(super) fn names(&self, name: &str, of: &Sym, names: &mut Vec<String>) {
        names.push(name.to_owned());
        match of {
            Sym::Known(Value::Map(entries)) => names.extend(entries.keys().map(|key| format!("{name}.{key}"))),
            Sym::Map(entries) => entries.iter().for_each(|(key, sym)| self.names(&format!("{name}.{key}"), sym, names)),
            Sym::Var(at) => {
                if let Kind::Schemas(schemas) = &self.0[*at as usize].kind {
                    let properties = schemas.iter().filter_map(|schema| schema.source().as_map()?.get("properties")?.as_map());
                    names.extend(properties.flat_map(Mapping::keys).map(|key| format!("{name}.{key}")));
                }
            }
            Sym::Known(_) => {}
        }
    }

    /// Whether anything is known of a value.
    pub(super) fn is_known(&self, of: &Sym) -> bool {
        !matches!(of, Sym::Var(at) if matches!(self.0[*at as usize].kind, Kind::Any | Kind::Made))
    }

    /// What is below a value. Where that is open, a part that `wanted` is absent if it may be; any other is there.
    pub(super) fn below(&mut self, of: &Sym, path: &[Segment], wanted: bool) -> Found {
        let Some((first, rest)) = path.split_first() else { return Found::There(of.clone()) };
        let Segment::Key(key) = first else { return Found::There(self.made()) };
        match of {
            Sym::Known(Value::Map(entries)) => match entries.get(key) {
                Some(value) => self.below(&Sym::Known(value.clone()), rest, wanted),
                None => Found::Absent,
            },
            Sym::Known(_) => Found::Absent,
            Sym::Map(entries) => match entries.get(key) {
                Some(value) => self.below(&value.clone(), rest, wanted),
                None => Found::Absent,
            },
            Sym::Var(var) => match self.part(*var, key, wanted && rest.is_empty()) {
                Some(part) => self.below(&Sym::Var(part), rest, wanted),
                None => Found::Absent,
            },
        }
    }

    fn part(&mut self, var: u32, key: &Key, wanted_absent: bool) -> Option<u32> {
        let known = &self.0[var as usize];
        if let Some(part) = known.parts.get(key) {
            return *part;
        }
        let (kind, may_be_absent) = match &known.kind {
            Kind::Schemas(schemas) => {
                let said: Vec<_> = schemas.iter().filter_map(|schema| instance::property(schema.source(), key)).collect();
                let required = said.iter().any(|(_, required)| *required);
                let schemas: Vec<Schema> = said.iter().filter_map(|(schema, _)| Schema::new((*schema)?).ok()).collect();
                (if schemas.is_empty() { Kind::Any } else { Kind::Schemas(schemas.into()) }, !required)
            }
            Kind::Any => (Kind::Any, true),
            Kind::Made => (Kind::Made, false),
            Kind::Input(_) | Kind::Words => return None,
        };
        let only = match &kind {
            Kind::Schemas(schemas) => schemas.iter().find_map(|schema| schema.closed(&[])).map(|(values, _)| values.into()),
            _ => None,
        };
        let part = if wanted_absent && may_be_absent {
            None
        } else {
            let Sym::Var(part) = self.add(kind, only) else { return None };
            Some(part)
        };
        Rc::make_mut(&mut self.0)[var as usize].parts.insert(key.clone(), part);
        part
    }

    /// What a guard comes to over a value, and both ways on where it may come to either.
    pub(super) fn decide(&self, guard: &Guard, of: Option<&Sym>) -> Truth {
        match of {
            None => guard.over(None),
            Some(Sym::Known(value)) => guard.over(Some(value)),
            Some(Sym::Map(entries)) => guard.over(Some(&Value::Map(entries.keys().map(|key| (key.clone(), Value::Null)).collect()))),
            Some(Sym::Var(var)) => self.decide_var(guard, &self.0[*var as usize]),
        }
    }

    fn decide_var(&self, guard: &Guard, var: &Var) -> Truth {
        if let Guard::Set(_, wanted) = guard {
            return Truth::from(*wanted);
        }
        let Some(only) = &var.only else {
            let is_excluded = |value: &Value| var.not.contains(value) || !self.may_be(var, value);
            return match guard {
                Guard::Is(_, wanted, value) if is_excluded(value) => Truth::from(!wanted),
                Guard::In(_, wanted, values) if values.iter().all(is_excluded) => Truth::from(!wanted),
                Guard::Empty(_, wanted) if matches!(var.kind, Kind::Input(_)) => Truth::from(!wanted),
                _ => Truth::Either,
            };
        };
        let mut truths = only.iter().filter(|value| !var.not.contains(value)).map(|value| guard.over(Some(value)));
        let first = truths.next().unwrap_or(Truth::No);
        if truths.all(|truth| truth == first) { first } else { Truth::Either }
    }

    fn may_be(&self, var: &Var, value: &Value) -> bool {
        match &var.kind {
            Kind::Input(kind) => instance::of_input(*kind, value),
            Kind::Schemas(schemas) => schemas.iter().all(|schema| schema.fits(value)),
            Kind::Any | Kind::Made => true,
            Kind::Words => value.as_str().is_some(),
        }
    }

    /// Narrows a variable to where a guard comes to `truth`; false where it cannot.
    pub(super) fn assume(&mut self, guard: &Guard, of: Option<&Sym>, truth: bool) -> bool {
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
    pub(super) fn take_for(&mut self, of: Option<&Sym>, truth: bool) -> bool {
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

    /// A value, chosen; nothing where none is known that fits.
    pub(super) fn choose(&self, of: &Sym) -> Option<Value> {
        match of {
            Sym::Known(value) => Some(value.clone()),
            Sym::Map(entries) => {
                let entries = entries.iter().map(|(key, value)| Some((key.clone(), self.choose(value)?)));
                Some(Value::Map(entries.collect::<Option<Mapping>>()?))
            }
            Sym::Var(at) => {
                let var = &self.0[*at as usize];
                let fits = |value: &Value| {
                    !var.not.contains(value)
                        && var.truthy.is_none_or(|truth| is_true(value) == truth)
                        && self.may_be(var, value)
                        && var.fits.iter().all(|schema| schema.fits(value))
                        && var.breaks.as_ref().is_none_or(|schema| !schema.fits(value))
                };
                if let Some(only) = &var.only {
                    return only.iter().find(|value| fits(value)).cloned();
                }
                let candidates: Vec<Value> = match &var.kind {
                    Kind::Input(kind) => {
                        let wished =
                            var.fits.iter().chain(&var.breaks).flat_map(|schema| instance::of_input_schema(*kind, schema.source()));
                        instance::inputs(*kind).into_iter().chain(wished).collect()
                    }
                    Kind::Schemas(schemas) => {
                        schemas.iter().chain(&var.fits).chain(&var.breaks).flat_map(|schema| instance::of_schema(schema.source())).collect()
                    }
                    Kind::Any | Kind::Made | Kind::Words => {
                        let near = var.breaks.iter().flat_map(|schema| instance::of_schema(schema.source()));
                        instance::any(!var.parts.is_empty()).into_iter().chain(near).collect()
                    }
                };
                candidates.into_iter().map(|value| self.with_parts(value, var)).find(|value| value.as_ref().is_some_and(&fits)).flatten()
            }
        }
    }

    fn with_parts(&self, value: Value, var: &Var) -> Option<Value> {
        if var.parts.is_empty() {
            return Some(value);
        }
        let Value::Map(mut entries) = value else { return None };
        for (key, part) in &var.parts {
            match part {
                Some(part) => {
                    entries.insert(key.clone(), self.choose(&Sym::Var(*part))?);
                }
                None => {
                    entries = entries.iter().filter(|(known, _)| *known != key).map(|(key, value)| (key.clone(), value.clone())).collect()
                }
            }
        }
        Some(Value::Map(entries))
    }

    /// What is known of a value, in few words: ways that know the same of what matters are one.
    pub(super) fn sketch(&self, of: &Sym) -> String {
        match of {
            Sym::Known(value) => value.to_json(),
            Sym::Map(entries) => {
                let parts = entries.iter().map(|(key, value)| format!("{key}:{}", self.sketch(value)));
                format!("{{{}}}", parts.collect::<Vec<_>>().join(","))
            }
            Sym::Var(at) => {
                let var = &self.0[*at as usize];
                let list = |values: &[Value]| values.iter().map(Value::to_json).collect::<Vec<_>>().join("|");
                let only = var.only.as_ref().map_or_else(|| "?".to_owned(), |only| list(only));
                let parts = var.parts.iter().map(|(key, part)| match part {
                    Some(part) => format!("{key}={}", self.sketch(&Sym::Var(*part))),
                    None => format!("-{key}"),
                });
                format!("<{only}!{}{:?}{}>", list(&var.not), var.truthy, parts.collect::<Vec<_>>().join(","))
            }
        }
    }
}

/// As templates take it (language 3.2).
fn is_true(value: &Value) -> bool {
    match value {
        Value::Bool(truth) => *truth,
        Value::Int(number) => *number != 0,
        Value::UInt(number) => *number != 0,
        Value::Float(number) => *number != 0.0,
        other => !other.is_empty(),
    }
}

/// Writes at a path and makes the mappings on the way; false over something that is none.
pub(super) fn write(context: &mut BTreeMap<Key, Sym>, path: &KeyPath, value: Sym) -> bool {
    fn at(entries: &mut BTreeMap<Key, Sym>, key: &Key, rest: &[Segment], value: Sym) -> bool {
        let Some((Segment::Key(next), rest)) = rest.split_first() else {
            entries.insert(key.clone(), value);
            return rest.is_empty();
        };
        let here = entries.entry(key.clone()).or_insert_with(|| Sym::Map(Rc::default()));
        if let Sym::Known(Value::Map(known)) = here {
            *here = Sym::Map(Rc::new(known.iter().map(|(key, value)| (key.clone(), Sym::Known(value.clone()))).collect()));
        }
        match here {
            Sym::Map(inner) => at(Rc::make_mut(inner), next, rest, value),
            Sym::Known(_) | Sym::Var(_) => false,
        }
    }
    path.segments().len() <= super::script::FOLLOWED && at(context, path.root(), path.rest(), value)
}

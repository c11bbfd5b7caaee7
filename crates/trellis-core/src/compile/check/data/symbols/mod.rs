//! Values that are not known yet: what a person or a tool will say, narrowed by the guards on the way, chosen in the end.
//!
//! **Invariant:** what is chosen fits its input type and schema, and every guard that was taken or passed on the way.

mod choose;
mod narrow;

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

impl Sym {
    /// The value, where all of it is known.
    pub(super) fn known(self) -> Option<Value> {
        match self {
            Self::Known(value) => Some(value),
            Self::Map(entries) => {
                let entries = entries.iter().map(|(key, sym)| Some((key.clone(), sym.clone().known()?)));
                Some(Value::Map(entries.collect::<Option<Mapping>>()?))
            }
            Self::Var(_) => None,
        }
    }
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

    /// How many values the newest variable can still have: what narrowing it costs.
    pub(super) fn width(&self) -> usize {
        self.0.last().and_then(|var| var.only.as_ref()).map_or(0, |only| only.len())
    }

    /// What a template makes.
    pub(super) fn made(&mut self) -> Sym {
        self.add(Kind::Made, None)
    }

    /// A text that a template makes.
    pub(super) fn words(&mut self) -> Sym {
        self.add(Kind::Words, None)
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

//! Values that are not known yet: what a person or a tool will say, narrowed by the guards on the way, chosen in the end.
//!
//! **Invariant:** what is chosen fits its input type and schema, and every guard that was taken or passed on the way. Nothing is called impossible
//! because no value was found for it: only what types or the values themselves rule out is.

mod assign;
mod cache;
mod concretize;
mod entailment;
mod fingerprint;
mod finite_set;
mod refine;
pub(super) mod regex_sample;
pub(super) mod samples;
mod select;

use std::{cell::RefCell, collections::BTreeMap, rc::Rc};

use rpds::Vector;

use self::finite_set::Few;
pub(crate) use self::{cache::Lore, fingerprint::Sketcher, refine::Broke};
use super::domain::{TypeId, Types};
use crate::{
    path::{KeyPath, Segment},
    program::{Guard, Listen, Outcome, Truth},
    schema::Schema,
    syntax::node::InputType,
    value::{Key, Mapping, Value},
};

/// A value on a way that is searched.
#[derive(Clone, Debug)]
pub(crate) enum Sym {
    /// This value.
    Known(Value),
    /// A mapping of such values.
    Map(Rc<BTreeMap<Key, Sym>>),
    /// The mapping that a variable is, with something written over it.
    Over(u32, Rc<BTreeMap<Key, Sym>>),
    /// A list of such values.
    List(Rc<Items>),
    /// The value of a variable.
    Var(u32),
}

/// What a list holds: how often and in which order is not said, so that a loop that adds to it comes to an end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Items {
    /// The list that was added to.
    base: Option<u32>,
    some: Vec<Sym>,
    /// Whether it certainly holds something.
    is_filled: bool,
}

/// Where a variable's value comes from.
#[derive(Clone, Debug)]
enum Kind {
    /// Of this input type.
    Input(InputType),
    /// One that fits these.
    Schemas(Rc<[Schema]>),
    /// Anything.
    Any,
    /// What a template made: nobody chooses it.
    Made,
    /// What is not looked at more closely: it may be anything, and stands for something else.
    Lost,
    /// A text that a template made.
    Words,
}

#[derive(Clone, Debug)]
struct Var {
    kind: Kind,
    /// Whether it is there; nothing where it may be absent and nobody asked.
    there: Option<bool>,
    /// The values that are left, where they are few.
    only: Option<Few>,
    /// One more value that it can be: what an empty input stands for.
    more: Option<Value>,
    /// Values that it is not.
    not: Vec<Value>,
    /// Whether it must be taken for true, or for false.
    truthy: Option<bool>,
    /// Its parts, as far as something was asked of them.
    parts: BTreeMap<Key, u32>,
    /// What it must fit beside its kind.
    fits: Vec<Schema>,
    /// What it must not fit.
    breaks: Vec<Schema>,
    /// Whether anything was decided about it since it was made.
    is_told: bool,
    /// Whether it stands at other places too.
    is_copied: bool,
}

/// All variables of a way; cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Vars {
    all: Vector<Var>,
    lore: Rc<RefCell<Lore>>,
}

/// Whether something is at a path.
pub(crate) enum Found {
    There(Sym),
    /// Something may be there.
    Maybe(Sym),
    Absent,
}

impl Found {
    /// What is there, if something is.
    pub(crate) fn sym(self) -> Option<Sym> {
        match self {
            Self::There(sym) | Self::Maybe(sym) => Some(sym),
            Self::Absent => None,
        }
    }
}

impl Vars {
    pub(crate) fn new(lore: &Rc<RefCell<Lore>>) -> Self {
        Self { all: Vector::new(), lore: Rc::clone(lore) }
    }

    fn get(&self, at: u32) -> &Var {
        &self.all[at as usize]
    }

    fn var_mut(&mut self, at: u32) -> &mut Var {
        self.all.get_mut(at as usize).unwrap_or_else(|| unreachable!("whoever names a variable made it"))
    }

    fn change(&mut self, at: u32) -> &mut Var {
        let var = self.var_mut(at);
        var.is_told = true;
        var
    }

    fn add(&mut self, kind: Kind, there: Option<bool>) -> u32 {
        let only = match &kind {
            Kind::Schemas(schemas) => schemas.iter().find_map(|schema| schema.closed(&[])).map(|(values, _)| Few::new(values)),
            _ => None,
        };
        self.all.push_back_mut(Var {
            kind,
            there,
            only,
            more: None,
            not: Vec::new(),
            truthy: None,
            parts: BTreeMap::new(),
            fits: Vec::new(),
            breaks: Vec::new(),
            is_told: false,
            is_copied: false,
        });
        u32::try_from(self.all.len() - 1).unwrap_or(u32::MAX)
    }

    /// What a person will answer.
    pub(crate) fn input(&mut self, listen: &Listen) -> Sym {
        let kind = match (&listen.schema, listen.kind) {
            (Some(schema), Some(InputType::Json | InputType::Choice) | None) => Kind::Schemas(Rc::from([schema.clone()])),
            (None, Some(InputType::Json | InputType::Choice) | None) => Kind::Any,
            (_, Some(kind)) => Kind::Input(kind),
        };
        let at = self.add(kind, Some(true));
        let closed = (listen.closed && !listen.options.is_empty()).then(|| self.lore.borrow_mut().options(listen));
        let var = self.var_mut(at);
        if let (Some(schema), Kind::Input(_)) = (&listen.schema, &var.kind) {
            var.fits.push(schema.clone());
        }
        if closed.is_some() {
            var.only = closed;
        } else if listen.kind == Some(InputType::Confirm) {
            var.only = Some(Few::new(["yes", "no"].map(Value::text)));
        }
        var.more = listen.default.clone().filter(|default| listen.outcome(default) == Outcome::Answer);
        Sym::Var(at)
    }

    /// What a tool will return, or a host will give.
    pub(crate) fn fitting(&mut self, schemas: &[Schema]) -> Sym {
        let says = |schema: &&Schema| schema.source().as_bool() != Some(true);
        let schemas: Rc<[Schema]> = schemas.iter().filter(says).cloned().collect();
        Sym::Var(self.add(if schemas.is_empty() { Kind::Any } else { Kind::Schemas(schemas) }, Some(true)))
    }

    /// The same, or nothing.
    pub(crate) fn perhaps(&mut self, schemas: &[Schema]) -> Sym {
        let sym = self.fitting(schemas);
        if let Sym::Var(at) = sym {
            self.var_mut(at).there = None;
        }
        sym
    }

    /// How many values the newest variable can still have: what narrowing it costs.
    pub(crate) fn width(&self) -> usize {
        self.all.last().and_then(|var| var.only.as_ref()).map_or(0, |only| only.len())
    }

    /// What a template makes.
    pub(crate) fn made(&mut self) -> Sym {
        Sym::Var(self.add(Kind::Made, Some(true)))
    }

    /// What is not looked at more closely.
    pub(crate) fn lost(&mut self) -> Sym {
        Sym::Var(self.add(Kind::Lost, Some(true)))
    }

    /// What a template makes, or nothing.
    pub(crate) fn perhaps_made(&mut self) -> Sym {
        Sym::Var(self.add(Kind::Made, None))
    }

    /// A text that a template makes.
    pub(crate) fn words(&mut self) -> Sym {
        Sym::Var(self.add(Kind::Words, Some(true)))
    }

    /// A list of these.
    pub(crate) fn list(&mut self, items: Vec<Sym>) -> Sym {
        let is_filled = items.iter().any(|item| self.presence(item) == Some(true));
        let known: Option<Vec<Value>> =
            items.iter().map(|item| if let Sym::Known(value) = item { Some(value.clone()) } else { None }).collect();
        match known {
            Some(values) => Sym::Known(values.into()),
            None => Sym::List(Rc::new(Items { base: None, some: items, is_filled })),
        }
    }

    /// A value that now stands at one more place.
    pub(crate) fn copied(&mut self, of: &Sym) -> Sym {
        match of {
            Sym::Var(at) | Sym::Over(at, _) => self.var_mut(*at).is_copied = true,
            Sym::Map(entries) => entries.values().for_each(|entry| drop(self.copied(entry))),
            Sym::List(items) => items.some.iter().for_each(|item| drop(self.copied(item))),
            Sym::Known(_) => {}
        }
        of.clone()
    }

    /// The names of a value and of what is known to stand in it.
    pub(crate) fn names(&self, name: &str, of: &Sym, names: &mut Vec<String>) {
        names.push(name.to_owned());
        let mut entries = |entries: &BTreeMap<Key, Sym>| {
            entries.iter().for_each(|(key, sym)| self.names(&format!("{name}.{key}"), sym, names));
        };
        match of {
            Sym::Known(Value::Map(entries)) => names.extend(entries.keys().map(|key| format!("{name}.{key}"))),
            Sym::Map(named) => entries(named),
            Sym::Over(at, named) => {
                entries(named);
                self.properties(*at, name, names);
            }
            Sym::Var(at) => self.properties(*at, name, names),
            Sym::Known(_) | Sym::List(_) => {}
        }
    }

    fn properties(&self, at: u32, name: &str, names: &mut Vec<String>) {
        if let Kind::Schemas(schemas) = &self.get(at).kind {
            let properties = schemas.iter().filter_map(|schema| schema.source().as_map()?.get("properties")?.as_map());
            names.extend(properties.flat_map(Mapping::keys).map(|key| format!("{name}.{key}")));
        }
    }

    /// Whether anything is known of a value.
    pub(crate) fn is_known(&self, of: &Sym) -> bool {
        !matches!(of, Sym::Var(at) if self.is_unknown(self.get(*at)))
    }

    fn is_unknown(&self, var: &Var) -> bool {
        var.only.is_none() && matches!(var.kind, Kind::Any | Kind::Made)
    }

    /// What a guard comes to over something that is there, and both ways on where it may come to either.
    pub(crate) fn decide(&self, guard: &Guard, of: &Sym) -> Truth {
        match of {
            Sym::Known(value) => guard.over(Some(value)),
            Sym::Var(at) => self.decide_var(guard, self.get(*at)),
            Sym::Map(entries) => {
                let is_filled = entries.values().any(|entry| self.presence(entry) == Some(true));
                Self::decide_many(guard, entries.is_empty().then_some(false).or(is_filled.then_some(true)), Value::Map)
            }
            Sym::Over(_, entries) => {
                let is_filled = entries.values().any(|entry| self.presence(entry) == Some(true));
                Self::decide_many(guard, is_filled.then_some(true), Value::Map)
            }
            Sym::List(items) => Self::decide_many(guard, items.is_filled.then_some(true), |_| Value::from(vec![Value::Null])),
        }
    }

    /// The same over a mapping or list, of which it may be known whether it holds something.
    fn decide_many(guard: &Guard, is_filled: Option<bool>, filled: impl Fn(Mapping) -> Value) -> Truth {
        match (guard, is_filled) {
            (Guard::Empty(..), None) => Truth::Either,
            (Guard::Empty(..), Some(false)) => guard.over(Some(&Value::Null)),
            _ => guard.over(Some(&filled([(Key::from("a"), Value::Null)].into_iter().collect()))),
        }
    }

    fn decide_var(&self, guard: &Guard, var: &Var) -> Truth {
        if let Guard::Set(_, wanted) = guard {
            return Truth::from(*wanted);
        }
        let Some(only) = &var.only else {
            let is_excluded = |value: &Value| !self.admits(var, value);
            let empty = || empties().iter().all(is_excluded);
            return match guard {
                Guard::Is(_, wanted, value) if is_excluded(value) => Truth::from(!wanted),
                Guard::In(_, wanted, values) if values.iter().all(is_excluded) => Truth::from(!wanted),
                Guard::Empty(_, wanted) if empty() => Truth::from(!wanted),
                _ => Truth::Either,
            };
        };
        if var.not.is_empty()
            && let Some(truth) = only.decided(guard)
        {
            return if var.more.as_ref().is_none_or(|more| guard.over(Some(more)) == truth) { truth } else { Truth::Either };
        }
        let mut truths = only.iter().chain(&var.more).filter(|value| !var.not.contains(value)).map(|value| guard.over(Some(value)));
        let first = truths.next().unwrap_or(Truth::No);
        if truths.all(|truth| truth == first) { first } else { Truth::Either }
    }
}

/// The values that are empty (language 6.1).
fn empties() -> [Value; 4] {
    [Value::Null, Value::text(""), Value::list([]), Value::from(Mapping::new())]
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

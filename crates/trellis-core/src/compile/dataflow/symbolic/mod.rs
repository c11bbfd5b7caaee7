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

use self::finite_set::FiniteSet;
pub(crate) use self::{cache::SchemaCache, fingerprint::Fingerprinter, refine::CanViolate};
use super::domain::{TypeId, TypeTable};
use crate::{
    compile::dataflow::index::to_u32,
    path::{KeyPath, Segment},
    program::{Guard, Listen, Outcome, Truth},
    schema::Schema,
    syntax::node::InputType,
    value::{Key, Mapping, Value},
};

/// A value on a way that is searched.
#[derive(Clone, Debug)]
pub(crate) enum SymValue {
    /// This value.
    Known(Value),
    /// A mapping of such values.
    Map(Rc<BTreeMap<Key, SymValue>>),
    /// The mapping that a variable is, with something written over it.
    Overlay(u32, Rc<BTreeMap<Key, SymValue>>),
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
    some: Vec<SymValue>,
    /// Whether it certainly holds something.
    is_filled: bool,
}

/// Where a variable's value comes from.
#[derive(Clone, Debug)]
enum VarOrigin {
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
struct SymVar {
    kind: VarOrigin,
    /// Whether it is there; nothing where it may be absent and nobody asked.
    presence: Option<bool>,
    /// The values that are left, where they are few.
    finite: Option<FiniteSet>,
    /// One more value that it can be: what an empty input stands for.
    default: Option<Value>,
    /// Values that it is not.
    excluded: Vec<Value>,
    /// Whether it must be taken for true, or for false.
    truthy: Option<bool>,
    /// Its parts, as far as something was asked of them.
    parts: BTreeMap<Key, u32>,
    /// What it must fit beside its kind.
    fits: Vec<Schema>,
    /// What it must not fit.
    breaks: Vec<Schema>,
    /// Whether anything was decided about it since it was made.
    constrained: bool,
    /// Whether it stands at other places too.
    is_copied: bool,
}

/// All variables of a way; cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Constraints {
    all: Vector<SymVar>,
    cache: Rc<RefCell<SchemaCache>>,
}

/// Whether something is at a path.
pub(crate) enum Lookup {
    Present(SymValue),
    /// Something may be there.
    MaybePresent(SymValue),
    Absent,
}

impl Lookup {
    /// What is there, if something is.
    pub(crate) fn sym(self) -> Option<SymValue> {
        match self {
            Self::Present(sym) | Self::MaybePresent(sym) => Some(sym),
            Self::Absent => None,
        }
    }
}

impl Constraints {
    pub(crate) fn new(cache: &Rc<RefCell<SchemaCache>>) -> Self {
        Self { all: Vector::new(), cache: Rc::clone(cache) }
    }

    fn get(&self, at: u32) -> &SymVar {
        &self.all[at as usize]
    }

    fn var_mut(&mut self, at: u32) -> &mut SymVar {
        self.all.get_mut(at as usize).unwrap_or_else(|| unreachable!("whoever names a variable made it"))
    }

    fn change(&mut self, at: u32) -> &mut SymVar {
        let var = self.var_mut(at);
        var.constrained = true;
        var
    }

    fn add(&mut self, kind: VarOrigin, there: Option<bool>) -> u32 {
        let only = match &kind {
            VarOrigin::Schemas(schemas) => schemas.iter().find_map(|schema| schema.closed(&[])).map(|(values, _)| FiniteSet::new(values)),
            _ => None,
        };
        self.all.push_back_mut(SymVar {
            kind,
            presence: there,
            finite: only,
            default: None,
            excluded: Vec::new(),
            truthy: None,
            parts: BTreeMap::new(),
            fits: Vec::new(),
            breaks: Vec::new(),
            constrained: false,
            is_copied: false,
        });
        to_u32(self.all.len() - 1)
    }

    /// What a person will answer.
    pub(crate) fn input(&mut self, listen: &Listen) -> SymValue {
        let kind = match (&listen.schema, listen.kind) {
            (Some(schema), Some(InputType::Json | InputType::Choice) | None) => VarOrigin::Schemas(Rc::from([schema.clone()])),
            (None, Some(InputType::Json | InputType::Choice) | None) => VarOrigin::Any,
            (_, Some(kind)) => VarOrigin::Input(kind),
        };
        let at = self.add(kind, Some(true));
        let closed = (listen.closed && !listen.options.is_empty()).then(|| self.cache.borrow_mut().options(listen));
        let var = self.var_mut(at);
        if let (Some(schema), VarOrigin::Input(_)) = (&listen.schema, &var.kind) {
            var.fits.push(schema.clone());
        }
        if closed.is_some() {
            var.finite = closed;
        } else if listen.kind == Some(InputType::Confirm) {
            var.finite = Some(FiniteSet::new(["yes", "no"].map(Value::text)));
        }
        var.default = listen.default.clone().filter(|default| listen.outcome(default) == Outcome::Answer);
        SymValue::Var(at)
    }

    /// What a tool will return, or a host will give.
    pub(crate) fn fresh_fitting(&mut self, schemas: &[Schema]) -> SymValue {
        let says = |schema: &&Schema| schema.source().as_bool() != Some(true);
        let schemas: Rc<[Schema]> = schemas.iter().filter(says).cloned().collect();
        SymValue::Var(self.add(if schemas.is_empty() { VarOrigin::Any } else { VarOrigin::Schemas(schemas) }, Some(true)))
    }

    /// The same, or nothing.
    pub(crate) fn fresh_optional(&mut self, schemas: &[Schema]) -> SymValue {
        let sym = self.fresh_fitting(schemas);
        if let SymValue::Var(at) = sym {
            self.var_mut(at).presence = None;
        }
        sym
    }

    /// How many values the newest variable can still have: what narrowing it costs.
    pub(crate) fn width(&self) -> usize {
        self.all.last().and_then(|var| var.finite.as_ref()).map_or(0, |only| only.len())
    }

    /// What a template makes.
    pub(crate) fn fresh_rendered(&mut self) -> SymValue {
        SymValue::Var(self.add(VarOrigin::Made, Some(true)))
    }

    /// What is not looked at more closely.
    pub(crate) fn havoc(&mut self) -> SymValue {
        SymValue::Var(self.add(VarOrigin::Lost, Some(true)))
    }

    /// What a template makes, or nothing.
    pub(crate) fn fresh_optional_rendered(&mut self) -> SymValue {
        SymValue::Var(self.add(VarOrigin::Made, None))
    }

    /// A text that a template makes.
    pub(crate) fn fresh_text(&mut self) -> SymValue {
        SymValue::Var(self.add(VarOrigin::Words, Some(true)))
    }

    /// A list of these.
    pub(crate) fn list(&mut self, items: Vec<SymValue>) -> SymValue {
        let is_filled = items.iter().any(|item| self.presence(item) == Some(true));
        let known: Option<Vec<Value>> =
            items.iter().map(|item| if let SymValue::Known(value) = item { Some(value.clone()) } else { None }).collect();
        match known {
            Some(values) => SymValue::Known(values.into()),
            None => SymValue::List(Rc::new(Items { base: None, some: items, is_filled })),
        }
    }

    /// A value that now stands at one more place.
    pub(crate) fn copied(&mut self, of: &SymValue) -> SymValue {
        match of {
            SymValue::Var(at) | SymValue::Overlay(at, _) => self.var_mut(*at).is_copied = true,
            SymValue::Map(entries) => entries.values().for_each(|entry| drop(self.copied(entry))),
            SymValue::List(items) => items.some.iter().for_each(|item| drop(self.copied(item))),
            SymValue::Known(_) => {}
        }
        of.clone()
    }

    /// The names of a value and of what is known to stand in it.
    pub(crate) fn names(&self, name: &str, of: &SymValue, names: &mut Vec<String>) {
        names.push(name.to_owned());
        let mut entries = |entries: &BTreeMap<Key, SymValue>| {
            entries.iter().for_each(|(key, sym)| self.names(&format!("{name}.{key}"), sym, names));
        };
        match of {
            SymValue::Known(Value::Map(entries)) => names.extend(entries.keys().map(|key| format!("{name}.{key}"))),
            SymValue::Map(named) => entries(named),
            SymValue::Overlay(at, named) => {
                entries(named);
                self.properties(*at, name, names);
            }
            SymValue::Var(at) => self.properties(*at, name, names),
            SymValue::Known(_) | SymValue::List(_) => {}
        }
    }

    fn properties(&self, at: u32, name: &str, names: &mut Vec<String>) {
        if let VarOrigin::Schemas(schemas) = &self.get(at).kind {
            let properties = schemas.iter().filter_map(|schema| schema.source().as_map()?.get("properties")?.as_map());
            names.extend(properties.flat_map(Mapping::keys).map(|key| format!("{name}.{key}")));
        }
    }

    /// Whether anything is known of a value.
    pub(crate) fn is_known(&self, of: &SymValue) -> bool {
        !matches!(of, SymValue::Var(at) if self.is_unknown(self.get(*at)))
    }

    fn is_unknown(&self, var: &SymVar) -> bool {
        var.finite.is_none() && matches!(var.kind, VarOrigin::Any | VarOrigin::Made)
    }

    /// What a guard comes to over something that is there, and both ways on where it may come to either.
    pub(crate) fn decide(&self, guard: &Guard, of: &SymValue) -> Truth {
        match of {
            SymValue::Known(value) => guard.over(Some(value)),
            SymValue::Var(at) => self.decide_var(guard, self.get(*at)),
            SymValue::Map(entries) => {
                let is_filled = entries.values().any(|entry| self.presence(entry) == Some(true));
                Self::decide_many(guard, entries.is_empty().then_some(false).or(is_filled.then_some(true)), Value::Map)
            }
            SymValue::Overlay(_, entries) => {
                let is_filled = entries.values().any(|entry| self.presence(entry) == Some(true));
                Self::decide_many(guard, is_filled.then_some(true), Value::Map)
            }
            SymValue::List(items) => Self::decide_many(guard, items.is_filled.then_some(true), |_| Value::from(vec![Value::Null])),
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

    fn decide_var(&self, guard: &Guard, var: &SymVar) -> Truth {
        if let Guard::Set(_, wanted) = guard {
            return Truth::from(*wanted);
        }
        let Some(only) = &var.finite else {
            let is_excluded = |value: &Value| !self.admits(var, value);
            let empty = || empties().iter().all(is_excluded);
            return match guard {
                Guard::Is(_, wanted, value) if is_excluded(value) => Truth::from(!wanted),
                Guard::In(_, wanted, values) if values.iter().all(is_excluded) => Truth::from(!wanted),
                Guard::Empty(_, wanted) if empty() => Truth::from(!wanted),
                _ => Truth::Either,
            };
        };
        if var.excluded.is_empty()
            && let Some(truth) = only.decided(guard)
        {
            return if var.default.as_ref().is_none_or(|more| guard.over(Some(more)) == truth) { truth } else { Truth::Either };
        }
        let mut truths = only.iter().chain(&var.default).filter(|value| !var.excluded.contains(value)).map(|value| guard.over(Some(value)));
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

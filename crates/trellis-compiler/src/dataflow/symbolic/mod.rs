//! Symbolic values: inputs and results of a searched path, chosen last.
//!
//! **Algorithm.** Symbolic execution with a constraint store instead of an SMT solver. A value from outside is a variable ([`SymVar`]) with
//! the schemas of its origin. Guards and checks along the path constrain variables: a finite set of candidates, excluded values, presence,
//! truth, schemas that it must fit or violate, and the same for its fields. At the end `concretize` chooses a value for each variable.
//!
//! **State.** [`Constraints`], a persistent vector of variables, so that forking a path shares them.
//!
//! **Termination.** Constraints are only added, fields are created by the paths that the program reads, and lists hold a set of item
//! descriptions instead of items, so that a loop that appends reaches a fixpoint.
//!
//! **Soundness.** In one direction only: nothing is called impossible because no value was found for it, only because its type is bottom or
//! its finite set is empty. A choice need not satisfy the whole path; the engine's replay decides that.
//!
//! **Invariant:** a chosen value fits its input type, its schemas and every constraint of the path.
//!
//! **Example.** `input_type: int` with `minimum: 18`, a taken guard `age != 18`: the variable excludes 18 and fits the schema; 19 is
//! chosen.

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
mod typing;

use std::{cell::RefCell, collections::BTreeMap, rc::Rc};

use rpds::Vector;

use self::finite_set::FiniteSet;
pub(crate) use self::{cache::SchemaCache, fingerprint::Fingerprinter, refine::CanViolate};
use super::domain::{TypeId, TypeTable};
use crate::dataflow::index::to_u32;
use trellis_base::{
    path::{KeyPath, Segment},
    schema::Schema,
    value::{Key, Mapping, Value},
};
use trellis_engine::program::{Guard, Listen, Outcome, Truth};
use trellis_syntax::node::InputType;

/// The index of a variable in its [`Constraints`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct VarId(u32);

impl VarId {
    fn from_usize(at: usize) -> Self {
        Self(to_u32(at))
    }

    fn index(self) -> usize {
        self.0 as usize
    }
}

/// Symbolic value.
#[derive(Clone, Debug)]
pub(crate) enum SymValue {
    /// Concrete value.
    Known(Value),
    /// Mapping of symbolic values.
    Map(Rc<BTreeMap<Key, SymValue>>),
    /// Mapping that a variable is, with fields that were written later.
    Overlay(VarId, Rc<BTreeMap<Key, SymValue>>),
    /// List of symbolic values.
    List(Rc<Items>),
    /// Variable.
    Var(VarId),
}

/// Possible items of a list, without number and order, so that a loop that appends terminates.
#[derive(Clone, Debug, Default)]
pub(crate) struct Items {
    /// Variable of the list that items were appended to.
    base: Option<VarId>,
    some: Vec<SymValue>,
    /// True if it has at least one item.
    is_filled: bool,
}

/// Origin of the value of a variable.
#[derive(Clone, Debug)]
enum VarOrigin {
    /// Answer of this input type.
    Input(InputType),
    /// Value from outside that fits these schemas.
    Schemas(Rc<[Schema]>),
    /// Value from outside without a schema.
    Any,
    /// Result of a template: no one chooses it.
    Rendered,
    /// Havocked value: it may be anything, and represents a value that is not tracked.
    Havocked,
    /// Text rendered by a template.
    Text,
}

/// Variable with its constraints.
#[derive(Clone, Debug)]
struct SymVar {
    kind: VarOrigin,
    /// True if it is present, false if absent; `None` while undecided.
    presence: Option<bool>,
    /// Candidates that are left, if they are finite.
    finite: Option<FiniteSet>,
    /// Default that an empty input means: one more candidate.
    default: Option<Value>,
    /// Excluded values.
    excluded: Vec<Value>,
    /// Truth value that `{% if %}` must see; `None` if either will do.
    truthy: Option<bool>,
    /// Variables of its fields, created when first read.
    parts: BTreeMap<Key, VarId>,
    /// Schemas that it must fit beside those of its origin.
    fits: Vec<Schema>,
    /// Schemas that it must violate.
    breaks: Vec<Schema>,
    /// True if it was constrained since its creation.
    constrained: bool,
    /// True if it was copied to another place.
    is_copied: bool,
}

/// Constraint store of a path; cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Constraints {
    all: Vector<SymVar>,
    cache: Rc<RefCell<SchemaCache>>,
}

/// Result of looking up a path.
pub(crate) enum Lookup {
    Present(SymValue),
    /// May be present.
    MaybePresent(SymValue),
    Absent,
}

impl Lookup {
    /// Returns the value, if it can be present.
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

    fn get(&self, at: VarId) -> &SymVar {
        &self.all[at.index()]
    }

    fn var_mut(&mut self, at: VarId) -> &mut SymVar {
        self.all.get_mut(at.index()).unwrap_or_else(|| unreachable!("whoever names a variable made it"))
    }

    fn change(&mut self, at: VarId) -> &mut SymVar {
        let var = self.var_mut(at);
        var.constrained = true;
        var
    }

    fn add(&mut self, kind: VarOrigin, presence: Option<bool>) -> VarId {
        let only = match &kind {
            VarOrigin::Schemas(schemas) => schemas.iter().find_map(|schema| schema.closed(&[])).map(|(values, _)| FiniteSet::new(values)),
            _ => None,
        };
        self.all.push_back_mut(SymVar {
            kind,
            presence,
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
        VarId::from_usize(self.all.len() - 1)
    }

    /// Creates a variable for an answer.
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

    /// Creates a variable for a present value from outside that fits these schemas.
    pub(crate) fn fresh_fitting(&mut self, schemas: &[Schema]) -> SymValue {
        let says = |schema: &&Schema| schema.source().as_bool() != Some(true);
        let schemas: Rc<[Schema]> = schemas.iter().filter(says).cloned().collect();
        SymValue::Var(self.add(if schemas.is_empty() { VarOrigin::Any } else { VarOrigin::Schemas(schemas) }, Some(true)))
    }

    /// Creates a variable for a value from outside that fits these schemas, or is absent.
    pub(crate) fn fresh_optional(&mut self, schemas: &[Schema]) -> SymValue {
        let sym = self.fresh_fitting(schemas);
        if let SymValue::Var(at) = sym {
            self.var_mut(at).presence = None;
        }
        sym
    }

    /// Returns the number of candidates of the newest variable, zero if they are not finite: the cost of constraining it.
    pub(crate) fn width(&self) -> usize {
        self.all.last().and_then(|var| var.finite.as_ref()).map_or(0, |only| only.len())
    }

    /// Creates a variable for the result of a template.
    pub(crate) fn fresh_rendered(&mut self) -> SymValue {
        SymValue::Var(self.add(VarOrigin::Rendered, Some(true)))
    }

    /// Creates a havocked value.
    pub(crate) fn havoc(&mut self) -> SymValue {
        SymValue::Var(self.add(VarOrigin::Havocked, Some(true)))
    }

    /// Creates a variable for the result of a template that may be absent.
    pub(crate) fn fresh_optional_rendered(&mut self) -> SymValue {
        SymValue::Var(self.add(VarOrigin::Rendered, None))
    }

    /// Creates a variable for a text rendered by a template.
    pub(crate) fn fresh_text(&mut self) -> SymValue {
        SymValue::Var(self.add(VarOrigin::Text, Some(true)))
    }

    /// Creates a list of these items.
    pub(crate) fn list(&mut self, items: Vec<SymValue>) -> SymValue {
        let is_filled = items.iter().any(|item| self.presence(item) == Some(true));
        let known: Option<Vec<Value>> =
            items.iter().map(|item| if let SymValue::Known(value) = item { Some(value.clone()) } else { None }).collect();
        match known {
            Some(values) => SymValue::Known(values.into()),
            None => SymValue::List(Rc::new(Items { base: None, some: items, is_filled })),
        }
    }

    /// Marks the variables of a value as copied, and returns it.
    pub(crate) fn copied(&mut self, of: &SymValue) -> SymValue {
        match of {
            SymValue::Var(at) | SymValue::Overlay(at, _) => self.var_mut(*at).is_copied = true,
            SymValue::Map(entries) => entries.values().for_each(|entry| drop(self.copied(entry))),
            SymValue::List(items) => items.some.iter().for_each(|item| drop(self.copied(item))),
            SymValue::Known(_) => {}
        }
        of.clone()
    }

    /// Collects the path of a value, and of its fields.
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

    fn properties(&self, at: VarId, name: &str, names: &mut Vec<String>) {
        if let VarOrigin::Schemas(schemas) = &self.get(at).kind {
            let properties = schemas.iter().filter_map(|schema| schema.source().as_map()?.get("properties")?.as_map());
            names.extend(properties.flat_map(Mapping::keys).map(|key| format!("{name}.{key}")));
        }
    }

    /// Returns true if a value is constrained at all.
    pub(crate) fn is_known(&self, of: &SymValue) -> bool {
        !matches!(of, SymValue::Var(at) if self.is_unknown(self.get(*at)))
    }

    fn is_unknown(&self, var: &SymVar) -> bool {
        var.finite.is_none() && matches!(var.kind, VarOrigin::Any | VarOrigin::Rendered)
    }

    /// Evaluates a guard over a present value. [`Truth::Either`] if both outcomes are possible.
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

    /// Evaluates a guard over a mapping or list; `is_filled` is `None` if it may be empty.
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

/// Returns the values that count as empty (language 6.1).
fn empties() -> [Value; 4] {
    [Value::Null, Value::text(""), Value::list([]), Value::from(Mapping::new())]
}

/// Returns the truth value of a value in templates (language 3.2).
fn is_true(value: &Value) -> bool {
    match value {
        Value::Bool(truth) => *truth,
        Value::Int(number) => *number != 0,
        Value::UInt(number) => *number != 0,
        Value::Float(number) => *number != 0.0,
        other => !other.is_empty(),
    }
}

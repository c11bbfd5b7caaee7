//! What all searches of a check know together: the types of values, and the schemas of their parts.

use rustc_hash::FxHashMap;

use super::*;
use crate::compile::dataflow::domain::{Fields, Type};

/// Types, and parts of schemas, each worked out once.
#[derive(Debug)]
pub(crate) struct SchemaCache {
    pub(crate) types: TypeTable,
    /// The schemas of properties and items, by the schema that they stand in.
    parts: FxHashMap<(usize, Key), Option<Schema>>,
    /// Schemas of types.
    schemas: FxHashMap<TypeId, Option<Schema>>,
    /// The types of many values, which stay where they are.
    many: FxHashMap<usize, (FiniteSet, TypeId)>,
    /// The options of nodes.
    options: FxHashMap<usize, FiniteSet>,
    /// Schemas of kinds.
    kinds: FxHashMap<&'static str, Option<Schema>>,
    /// The types of the alternatives that a schema leaves.
    alternatives: FxHashMap<usize, Rc<[TypeId]>>,
    /// Values that may fit a schema.
    instances: FxHashMap<usize, Rc<[Value]>>,
}

/// What stands for the items of a list, among names of properties.
pub(crate) const ITEMS: &str = "\0items";

impl Default for SchemaCache {
    fn default() -> Self {
        Self {
            types: TypeTable::new(),
            parts: FxHashMap::default(),
            schemas: FxHashMap::default(),
            many: FxHashMap::default(),
            options: FxHashMap::default(),
            kinds: FxHashMap::default(),
            alternatives: FxHashMap::default(),
            instances: FxHashMap::default(),
        }
    }
}

impl SchemaCache {
    /// What a schema says of a property, or of items, in so many words.
    pub(crate) fn part(&mut self, schema: &Schema, key: &Key) -> Option<Schema> {
        // Whatever is asked for stays: where it stands in memory is its name.
        self.types.schema_id(schema);
        let place = std::ptr::from_ref(schema.source()).addr();
        let part = || {
            let map = schema.source().as_map()?;
            let part = if &**key == ITEMS { map.get("items") } else { map.get("properties")?.as_map()?.get(key) };
            Schema::new(part?).ok()
        };
        self.parts.entry((place, key.clone())).or_insert_with(part).clone()
    }

    /// Values that may fit a schema.
    pub(crate) fn instances(&mut self, schema: &Schema) -> Rc<[Value]> {
        self.types.schema_id(schema);
        let place = std::ptr::from_ref(schema.source()).addr();
        Rc::clone(self.instances.entry(place).or_insert_with(|| samples::of_schema(schema.source()).into()))
    }

    /// A schema that says what a type says; nothing where that is nothing.
    fn schema(&mut self, of: TypeId) -> Option<Schema> {
        let make = || Schema::new(&self.types.to_schema(of)).ok().filter(|schema| schema.source().as_bool() != Some(true));
        self.schemas.entry(of).or_insert_with(make).clone()
    }

    /// What many values are.
    fn many(&mut self, only: &FiniteSet) -> TypeId {
        let place = only.place();
        if let Some((_, known)) = self.many.get(&place) {
            return *known;
        }
        let of = only.iter().fold(TypeId::NEVER, |known, value| {
            let value = self.types.of_value(value);
            self.types.join(known, value)
        });
        self.many.insert(place, (only.clone(), of));
        of
    }

    /// The values of a node's options that are no outcomes of their own; a program keeps its nodes where they are.
    pub(crate) fn options(&mut self, listen: &Listen) -> FiniteSet {
        let place = std::ptr::from_ref(listen).addr();
        self.options.entry(place).or_insert_with(|| FiniteSet::new(listen.others().cloned())).clone()
    }

    /// The number of a schema: the same for the same one.
    pub(crate) fn number(&mut self, schema: &Schema) -> String {
        format!("{:?}", self.types.schema_id(schema))
    }

    /// What a schema leaves, one alternative beside the other.
    fn alternatives(&mut self, schema: &Schema) -> Rc<[TypeId]> {
        let whole = self.types.declared(schema);
        let place = std::ptr::from_ref(schema.source()).addr();
        if let Some(known) = self.alternatives.get(&place) {
            return Rc::clone(known);
        }
        let listed = schema.source().as_map().and_then(|map| map.get("anyOf").or_else(|| map.get("oneOf"))).and_then(Value::as_list);
        let alternatives: Rc<[TypeId]> = match listed {
            Some(listed) => listed
                .iter()
                .map(|alternative| {
                    let alternative = self.types.of_schema(alternative);
                    self.types.meet(whole, alternative)
                })
                .collect(),
            None => Rc::from([whole]),
        };
        self.alternatives.insert(place, Rc::clone(&alternatives));
        alternatives
    }
}

impl Constraints {
    /// Some text.
    pub(crate) fn text(&mut self) -> SymValue {
        let of = self.cache.borrow_mut().types.text();
        let schema = self.schema_of(of);
        self.fresh_fitting(schema.as_slice())
    }

    /// One of these texts.
    pub(crate) fn one_of(&mut self, texts: &[&str]) -> SymValue {
        let of = {
            let types = &mut self.cache.borrow_mut().types;
            texts.iter().fold(TypeId::NEVER, |known, text| {
                let text = types.of_value(&Value::text(*text));
                types.join(known, text)
            })
        };
        let schema = self.schema_of(of);
        self.fresh_fitting(schema.as_slice())
    }

    /// The schema of all values of a kind.
    pub(crate) fn kind(&self, name: &'static str) -> Option<Schema> {
        let make = || Schema::new(&Value::map([("type", Value::text(name))])).ok();
        self.cache.borrow_mut().kinds.entry(name).or_insert_with(make).clone()
    }

    /// Something of a type that nobody chooses; `may_lack`: or nothing, where the type says so.
    pub(crate) fn of_type(&mut self, of: TypeId, may_lack: bool) -> SymValue {
        let may_lack = may_lack && self.may_lack(of);
        match self.schema_of(of) {
            Some(schema) if may_lack => self.fresh_optional(&[schema]),
            Some(schema) => self.fresh_fitting(&[schema]),
            None if may_lack => self.fresh_optional_rendered(),
            None => self.fresh_rendered(),
        }
    }

    /// Asks the types of all searches.
    pub(crate) fn types<T>(&self, ask: impl FnOnce(&mut TypeTable) -> T) -> T {
        ask(&mut self.cache.borrow_mut().types)
    }

    /// What a value can be, absence included: more than that it is not.
    pub(crate) fn type_of(&self, of: &SymValue) -> TypeId {
        self.typed(&mut self.cache.borrow_mut(), of)
    }

    pub(crate) fn typed(&self, cache: &mut SchemaCache, of: &SymValue) -> TypeId {
        match of {
            SymValue::Known(value) => cache.types.of_value(value),
            SymValue::Map(entries) => {
                let entries: Vec<_> = entries.iter().map(|(key, entry)| (key.clone(), self.typed(cache, entry))).collect();
                cache.types.mapping(entries)
            }
            SymValue::Overlay(at, entries) => {
                let base = self.typed_var(cache, *at, true);
                entries.iter().fold(base, |known, (key, entry)| {
                    let (rest, entry) = (cache.types.rest(&[Segment::Key(key.clone())]), self.typed(cache, entry));
                    cache.types.assign(known, rest, entry)
                })
            }
            SymValue::List(items) => {
                let mut known = items.some.iter().fold(TypeId::NEVER, |known, item| {
                    let item = self.typed(cache, item);
                    let item = cache.types.present(item);
                    cache.types.join(known, item)
                });
                if let Some(base) = items.base {
                    let base = self.typed_var(cache, base, true);
                    let of = cache.types.get(base);
                    let inner = if of.unknown || of.dynamic { TypeId::UNKNOWN } else { of.items.unwrap_or(TypeId::NEVER) };
                    known = cache.types.join(known, inner);
                }
                if items.is_filled { cache.types.intern(Type { items: Some(known), ..Type::default() }) } else { cache.types.list(known) }
            }
            SymValue::Var(at) => {
                let known = self.typed_var(cache, *at, true);
                match self.get(*at).presence {
                    Some(true) => known,
                    Some(false) => TypeId::ABSENT,
                    None => cache.types.join(known, TypeId::ABSENT),
                }
            }
        }
    }

    /// What a variable can be where it is there; `deep`: also by what was decided about its parts.
    fn typed_var(&self, cache: &mut SchemaCache, at: u32, deep: bool) -> TypeId {
        let var = self.get(at);
        if let Some(only) = &var.finite {
            if only.len() > MAX_TYPED_ALTERNATIVES {
                return cache.many(only);
            }
            let left = only.iter().chain(&var.default).filter(|value| self.suits(var, value));
            return left.fold(TypeId::NEVER, |known, value| {
                let value = cache.types.of_value(value);
                cache.types.join(known, value)
            });
        }
        let whole = match &var.kind {
            VarOrigin::Input(InputType::Int) => cache.types.integer(),
            VarOrigin::Input(InputType::Float) => cache.types.of_schema(&Value::map([("type", Value::text("number"))])),
            VarOrigin::Input(InputType::Text | InputType::Secret | InputType::Confirm) => TypeId::TEXT,
            VarOrigin::Words => cache.types.text(),
            VarOrigin::Any | VarOrigin::Made | VarOrigin::Lost | VarOrigin::Input(InputType::Json | InputType::Choice) => TypeId::UNKNOWN,
            VarOrigin::Schemas(schemas) => {
                let alternatives = schemas.iter().map(|schema| cache.alternatives(schema)).collect::<Vec<_>>();
                let mut left: Vec<TypeId> = vec![TypeId::UNKNOWN];
                for alternatives in alternatives {
                    // Few schemas leave alternatives; more than these are one.
                    left = match left.len() * alternatives.len() <= MAX_TYPED_ALTERNATIVES {
                        true => left
                            .iter()
                            .flat_map(|a| alternatives.iter().map(move |b| (*a, *b)))
                            .map(|(a, b)| cache.types.meet(a, b))
                            .collect(),
                        false => left,
                    };
                }
                let told = if deep { self.told(cache, var) } else { Vec::new() };
                left.into_iter().fold(TypeId::NEVER, |known, of| {
                    let of = all_decided(&mut cache.types, of, &told);
                    cache.types.join(known, of)
                })
            }
        };
        let mut whole = var.fits.iter().fold(whole, |known, schema| {
            let schema = cache.types.declared(schema);
            cache.types.meet(known, schema)
        });
        if deep && !matches!(var.kind, VarOrigin::Schemas(_)) {
            let told = self.told(cache, var);
            whole = all_decided(&mut cache.types, whole, &told);
        }
        match &var.default {
            Some(more) if self.admits(var, more) => {
                let more = cache.types.of_value(more);
                cache.types.join(whole, more)
            }
            _ => whole,
        }
    }

    /// What was decided about the parts of a variable.
    fn told(&self, cache: &mut SchemaCache, var: &SymVar) -> Vec<KeyConstraint> {
        let parts = var.parts.iter().filter(|(key, _)| &***key != ITEMS).map(|(key, part)| {
            let of = self.typed_var(cache, *part, true);
            (key.clone(), self.get(*part).presence, of)
        });
        parts.collect()
    }

    /// What can stand at a key of a variable, as far as its own schemas say.
    pub(crate) fn below_var(&self, at: u32, key: &Key) -> TypeId {
        let cache = &mut *self.cache.borrow_mut();
        let whole = self.typed_var(cache, at, false);
        let rest = cache.types.rest(&[Segment::Key(key.clone())]);
        cache.types.select(whole, rest)
    }

    /// Whether something may be absent by a type.
    pub(crate) fn may_lack(&self, of: TypeId) -> bool {
        let cache = self.cache.borrow();
        let of = cache.types.get(of);
        of.absent || of.dynamic
    }

    /// A schema that says what a type says of what is there.
    pub(crate) fn schema_of(&self, of: TypeId) -> Option<Schema> {
        let cache = &mut *self.cache.borrow_mut();
        let of = cache.types.present(of);
        cache.schema(of)
    }

    /// Whether a variable is left without any value.
    pub(crate) fn is_impossible_var(&self, at: u32) -> bool {
        self.get(at).presence == Some(true) && self.typed_var(&mut self.cache.borrow_mut(), at, true) == TypeId::NEVER
    }
}

/// Values of which each is looked at.
const MAX_TYPED_ALTERNATIVES: usize = 32;

/// A key, whether something stands there, and what.
type KeyConstraint = (Key, Option<bool>, TypeId);

/// A type of which that was decided of some keys. Of mappings it is, where one of them is there: many keys are then written into one.
fn all_decided(types: &mut TypeTable, of: TypeId, told: &[KeyConstraint]) -> TypeId {
    let known = types.get(of);
    let one_by_one = |types: &mut TypeTable| told.iter().fold(of, |of, (key, there, part)| decided(types, of, key, *there, *part));
    let is_mapping = !known.unknown && !known.dynamic && told.iter().any(|(_, there, _)| *there == Some(true));
    let Some(mut fields) = known.fields.as_ref().filter(|_| is_mapping).cloned() else { return one_by_one(types) };
    for (key, there, part) in told {
        let field = fields.get(key);
        let inner = match there {
            Some(true) => {
                let field = types.present(field);
                types.meet(field, *part)
            }
            Some(false) if types.get(field).absent || types.get(field).dynamic => TypeId::ABSENT,
            Some(false) => TypeId::NEVER,
            None => continue,
        };
        if inner == TypeId::NEVER {
            return TypeId::NEVER;
        }
        fields.set(key, inner);
    }
    let all = types.intern(Type { fields: Some(fields), ..Type::default() });
    debug_assert!(told.len() > MAX_TYPED_ALTERNATIVES || one_by_one(types) == all, "many keys are not what they are one by one");
    all
}

/// A type of which it was decided whether something stands at a key, and what.
fn decided(types: &mut TypeTable, of: TypeId, key: &Key, there: Option<bool>, part: TypeId) -> TypeId {
    let Some(there) = there.filter(|_| of != TypeId::NEVER) else { return of };
    let known = types.get(of).clone();
    let rest = types.rest(&[Segment::Key(key.clone())]);
    let mut left = TypeId::NEVER;
    if let Some(fields) = &known.fields {
        let field = fields.get(key);
        let whole = types.intern(Type { fields: Some(fields.clone()), ..Type::default() });
        let inner = if there {
            let field = types.present(field);
            types.meet(field, part)
        } else {
            let field = types.get(field);
            if field.absent || field.dynamic { TypeId::ABSENT } else { TypeId::NEVER }
        };
        if inner != TypeId::NEVER {
            left = types.assign(whole, rest, inner);
        }
    }
    let bare = if !there {
        types.intern(Type { fields: None, ..known })
    } else if known.unknown || known.dynamic {
        // Only a mapping has it.
        let others = types.intern(Type { absent: true, unknown: true, dynamic: true, ..Type::default() });
        types.intern(Type { fields: Some(Fields { named: vec![(key.clone(), part)], others }), ..Type::default() })
    } else {
        TypeId::NEVER
    };
    types.join(left, bare)
}

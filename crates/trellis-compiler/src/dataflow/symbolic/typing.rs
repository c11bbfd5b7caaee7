//! Abstraction: symbolic values to types of the lattice, and types back to variables.
//!
//! **Soundness.** The type of a value includes every concrete value that its constraints admit: what a constraint says beyond the lattice,
//! such as a pattern, is dropped, and alternatives beyond [`MAX_TYPED_ALTERNATIVES`] are merged.
//!
//! **Termination.** The variables of fields and items form a tree below their variable.
//!
//! **Example.** A variable that fits `{type: [string, null]}` and is present has the type "a text or null"; in a finite set of two texts, it
//! has the type of these texts.

use super::{cache::ITEMS, *};
use crate::dataflow::domain::{Fields, Type};

/// Greatest number of candidates that are examined one by one, and of combined alternatives.
const MAX_TYPED_ALTERNATIVES: usize = 32;

/// Constraint on a field: its name, its presence, its type.
type KeyConstraint = (Key, Option<bool>, TypeId);

impl Constraints {
    /// Creates a variable for any text.
    pub(crate) fn text(&mut self) -> SymValue {
        let of = self.cache.borrow_mut().types.text();
        let schema = self.schema_of(of);
        self.fresh_fitting(schema.as_slice())
    }

    /// Creates a variable for one of these texts.
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

    /// Returns the schema of all values of a kind.
    pub(crate) fn kind(&self, name: &'static str) -> Option<Schema> {
        let make = || Schema::new(&Value::map([("type", Value::text(name))])).ok();
        self.cache.borrow_mut().kinds.entry(name).or_insert_with(make).clone()
    }

    /// Creates a variable of a type; `may_lack`: absent, if the type allows it.
    pub(crate) fn of_type(&mut self, of: TypeId, may_lack: bool) -> SymValue {
        let may_lack = may_lack && self.may_lack(of);
        match self.schema_of(of) {
            Some(schema) if may_lack => self.fresh_optional(&[schema]),
            Some(schema) => self.fresh_fitting(&[schema]),
            None if may_lack => self.fresh_optional_rendered(),
            None => self.fresh_rendered(),
        }
    }

    /// Calls `ask` with the shared type table.
    pub(crate) fn types<T>(&self, ask: impl FnOnce(&mut TypeTable) -> T) -> T {
        ask(&mut self.cache.borrow_mut().types)
    }

    /// Abstracts a symbolic value to a type, absence included.
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

    /// Abstracts a variable that is present; `deep`: constraints of its fields included.
    fn typed_var(&self, cache: &mut SchemaCache, at: VarId, deep: bool) -> TypeId {
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
            VarOrigin::Text => cache.types.text(),
            VarOrigin::Any | VarOrigin::Rendered | VarOrigin::Havocked | VarOrigin::Input(InputType::Json | InputType::Choice) => {
                TypeId::UNKNOWN
            }
            VarOrigin::Schemas(schemas) => {
                let alternatives = schemas.iter().map(|schema| cache.alternatives(schema)).collect::<Vec<_>>();
                let mut left: Vec<TypeId> = vec![TypeId::UNKNOWN];
                for alternatives in alternatives {
                    // Alternatives multiply; beyond the bound they are merged.
                    left = match left.len() * alternatives.len() <= MAX_TYPED_ALTERNATIVES {
                        true => left
                            .iter()
                            .flat_map(|a| alternatives.iter().map(move |b| (*a, *b)))
                            .map(|(a, b)| cache.types.meet(a, b))
                            .collect(),
                        false => left,
                    };
                }
                let constraints = if deep { self.field_constraints(cache, var) } else { Vec::new() };
                left.into_iter().fold(TypeId::NEVER, |known, of| {
                    let of = refine_fields(&mut cache.types, of, &constraints);
                    cache.types.join(known, of)
                })
            }
        };
        let mut whole = var.fits.iter().fold(whole, |known, schema| {
            let schema = cache.types.declared(schema);
            cache.types.meet(known, schema)
        });
        if deep && !matches!(var.kind, VarOrigin::Schemas(_)) {
            let constraints = self.field_constraints(cache, var);
            whole = refine_fields(&mut cache.types, whole, &constraints);
        }
        match &var.default {
            Some(more) if self.admits(var, more) => {
                let more = cache.types.of_value(more);
                cache.types.join(whole, more)
            }
            _ => whole,
        }
    }

    /// Returns the constraints on the fields of a variable.
    fn field_constraints(&self, cache: &mut SchemaCache, var: &SymVar) -> Vec<KeyConstraint> {
        let parts = var.parts.iter().filter(|(key, _)| &***key != ITEMS).map(|(key, part)| {
            let of = self.typed_var(cache, *part, true);
            (key.clone(), self.get(*part).presence, of)
        });
        parts.collect()
    }

    /// Returns the type of a field by the schemas of its variable alone.
    pub(crate) fn below_var(&self, at: VarId, key: &Key) -> TypeId {
        let cache = &mut *self.cache.borrow_mut();
        let whole = self.typed_var(cache, at, false);
        let rest = cache.types.rest(&[Segment::Key(key.clone())]);
        cache.types.select(whole, rest)
    }

    /// Returns true if a type includes absence or is dynamic.
    pub(crate) fn may_lack(&self, of: TypeId) -> bool {
        let cache = self.cache.borrow();
        let of = cache.types.get(of);
        of.absent || of.dynamic
    }

    /// Returns a schema of the present values of a type; `None` if it accepts everything.
    pub(crate) fn schema_of(&self, of: TypeId) -> Option<Schema> {
        let cache = &mut *self.cache.borrow_mut();
        let of = cache.types.present(of);
        cache.schema(of)
    }

    /// Returns true if no value is left for a variable that is present.
    pub(crate) fn is_impossible_var(&self, at: VarId) -> bool {
        self.get(at).presence == Some(true) && self.typed_var(&mut self.cache.borrow_mut(), at, true) == TypeId::NEVER
    }
}

/// Refines a type by constraints on fields. If one of them is present the type is a mapping, and all are written in one step.
fn refine_fields(types: &mut TypeTable, of: TypeId, constraints: &[KeyConstraint]) -> TypeId {
    let known = types.get(of);
    let one_by_one =
        |types: &mut TypeTable| constraints.iter().fold(of, |of, (key, presence, part)| refine_field(types, of, key, *presence, *part));
    let is_mapping = !known.unknown && !known.dynamic && constraints.iter().any(|(_, presence, _)| *presence == Some(true));
    let Some(mut fields) = known.fields.as_ref().filter(|_| is_mapping).cloned() else { return one_by_one(types) };
    for (key, presence, part) in constraints {
        let field = fields.get(key);
        let inner = match presence {
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
    debug_assert!(constraints.len() > MAX_TYPED_ALTERNATIVES || one_by_one(types) == all, "many keys are not what they are one by one");
    all
}

/// Refines a type by the constraint on one field.
fn refine_field(types: &mut TypeTable, of: TypeId, key: &Key, presence: Option<bool>, part: TypeId) -> TypeId {
    let Some(presence) = presence.filter(|_| of != TypeId::NEVER) else { return of };
    let known = types.get(of).clone();
    let rest = types.rest(&[Segment::Key(key.clone())]);
    let mut left = TypeId::NEVER;
    if let Some(fields) = &known.fields {
        let field = fields.get(key);
        let whole = types.intern(Type { fields: Some(fields.clone()), ..Type::default() });
        let inner = if presence {
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
    let bare = if !presence {
        types.intern(Type { fields: None, ..known })
    } else if known.unknown || known.dynamic {
        // Only a mapping has the field.
        let others = types.intern(Type { absent: true, unknown: true, dynamic: true, ..Type::default() });
        types.intern(Type { fields: Some(Fields { named: vec![(key.clone(), part)], others }), ..Type::default() })
    } else {
        TypeId::NEVER
    };
    types.join(left, bare)
}

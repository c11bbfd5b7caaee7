//! Whether what is known of a value breaks a schema.
//!
//! **Invariant:** asked exactly, what is not said to break a schema fits it whatever it is; of what nothing is known nothing is claimed.

use super::{
    Fields, Kinds, Type, TypeId, TypeTable,
    schemas::{BEYOND, REFINED, plain},
};
use crate::{
    schema::{Schema, followed, takes},
    value::{Mapping, Value},
};

/// What is looked at beside what takes values away from a kind, and what says nothing.
const READ: [&str; 23] = [
    "type",
    "enum",
    "const",
    "properties",
    "required",
    "items",
    "additionalProperties",
    "anyOf",
    "oneOf",
    "allOf",
    "$ref",
    "$defs",
    "$schema",
    "$id",
    "$comment",
    "title",
    "description",
    "default",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
    "definitions",
];

/// Words that bound mappings.
const SIZES: [&str; 2] = ["minProperties", "maxProperties"];

/// How a schema is asked about: all of it, and as the engine would check it or by kinds and closed values alone.
#[derive(Clone, Copy)]
struct Violation<'s> {
    root: &'s Value,
    exactly: bool,
}

impl TypeTable {
    /// Whether something that is known to be possible does not fit a schema. `exactly`: as the engine would check it; else only kinds and
    /// closed values count, as they do for an argument.
    pub(crate) fn breaks(&self, id: TypeId, schema: &Schema, exactly: bool) -> bool {
        let root = schema.source();
        self.broken(self.get(id), root, Violation { root, exactly }, super::MAX_TYPE_DEPTH)
    }

    /// As [`Types::breaks`], not exactly, of one part of a schema.
    pub(crate) fn breaks_part(&self, id: TypeId, root: &Value, part: &Value) -> bool {
        self.broken(self.get(id), part, Violation { root, exactly: false }, super::MAX_TYPE_DEPTH)
    }

    /// Whether a schema says something of a place of which nothing is known.
    pub(crate) fn is_unsure(&self, id: TypeId, schema: &Schema) -> bool {
        self.unsure(id, schema.source(), super::MAX_TYPE_DEPTH)
    }

    fn unsure(&self, id: TypeId, schema: &Value, depth: u8) -> bool {
        let of = self.get(id);
        let Some(map) = schema.as_map().filter(|map| map.keys().any(|key| !["title", "description"].contains(&&**key))) else {
            return false;
        };
        if of.unknown || of.dynamic {
            return true;
        }
        if depth == 0 {
            return false;
        }
        let items = of.items.zip(map.get("items")).is_some_and(|(items, schema)| self.unsure(items, schema, depth - 1));
        let declared = map.get("properties").and_then(Value::as_map);
        let fields = || {
            of.fields.iter().flat_map(|fields| declared.into_iter().flat_map(Mapping::iter).map(|(key, schema)| (fields.get(key), schema)))
        };
        let more = map.get("additionalProperties").zip(of.fields.as_ref());
        items
            || more.is_some_and(|(schema, fields)| self.unsure(fields.others, schema, depth - 1))
            || fields().any(|(field, schema)| self.unsure(field, schema, depth - 1))
    }

    fn broken(&self, of: &Type, schema: &Value, asked: Violation<'_>, depth: u8) -> bool {
        let is_known = of.kinds != Kinds::default() || !of.values.is_empty() || of.fields.is_some() || of.items.is_some();
        if !is_known {
            return false;
        }
        let Some(map) = schema.as_map() else { return schema.as_bool() == Some(false) };
        let exactly = asked.exactly;
        let composed = ["$ref", "anyOf", "oneOf", "allOf"].iter().any(|key| map.contains(key));
        // What goes beyond this is left to whoever tries it.
        if depth == 0 || (!exactly && BEYOND.iter().any(|key| map.contains(key))) {
            return exactly;
        }
        let is_read = |key: &str| READ.contains(&key) || REFINED.contains(&key) || key.starts_with("x-");
        if !map.keys().all(|key| is_read(key)) && exactly {
            return !self.all_values_fit(of, schema);
        }
        self.broken_here(of, map, asked, depth) || (composed && self.broken_parts(of, map, asked, depth))
    }

    /// Whether nothing but values are possible, and all fit.
    fn all_values_fit(&self, of: &Type, schema: &Value) -> bool {
        let only = of.kinds == Kinds::default() && of.fields.is_none() && of.items.is_none();
        only && Schema::new(schema).is_ok_and(|schema| of.values.iter().all(|value| schema.fits(value)))
    }

    /// What a schema says by itself.
    fn broken_here(&self, of: &Type, map: &Mapping, asked: Violation<'_>, depth: u8) -> bool {
        let exactly = asked.exactly;
        let closed = map.contains("enum") || map.contains("const");
        let refined = exactly && REFINED.iter().any(|key| map.contains(key));
        let takes = |names: &[&str]| takes(map, names).unwrap_or(true);
        let fits = |value: &Value| {
            let own = without_parts(map).into();
            let source = if exactly { own } else { plain(&own) };
            Schema::new(&source).is_ok_and(|schema| schema.fits(value))
        };
        let kinds = (of.kinds.has(Kinds::TEXT) && !takes(&["string"]))
            || (of.kinds.has(Kinds::INT) && !takes(&["integer", "number"]))
            || (of.kinds.has(Kinds::FLOAT) && !takes(&["number"]))
            || (of.kinds != Kinds::default() && (closed || refined));
        let of_items = |items: TypeId| {
            let inner = || map.get("items").is_some_and(|schema| self.broken(self.get(items), schema, asked, depth - 1));
            !takes(&["array"]) || closed || refined || inner()
        };
        let of_fields = |fields: &Fields| {
            let sized = exactly && SIZES.iter().any(|key| map.contains(key));
            !takes(&["object"]) || closed || sized || self.broken_fields(fields, map, asked, depth)
        };
        kinds || of.values.iter().any(|value| !fits(value)) || of.items.is_some_and(of_items) || of.fields.as_ref().is_some_and(of_fields)
    }

    /// What it says by others.
    fn broken_parts(&self, of: &Type, map: &Mapping, asked: Violation<'_>, depth: u8) -> bool {
        let listed = |key: &str| map.get(key).and_then(Value::as_list).into_iter().flatten();
        let referred = map.get("$ref").is_some_and(|pointer| {
            let target = pointer.as_str().and_then(|pointer| followed(asked.root, pointer));
            target.is_none_or(|target| self.broken(of, target, asked, depth - 1))
        });
        if referred || listed("allOf").any(|schema| self.broken(of, schema, asked, depth - 1)) {
            return true;
        }
        ["anyOf", "oneOf"].iter().filter(|key| map.contains(key)).any(|key| {
            let alternatives: Vec<&Value> = listed(key).collect();
            atoms(of).iter().any(|atom| {
                let taken = alternatives.iter().filter(|schema| !self.broken(atom, schema, asked, depth - 1)).count();
                let refused = || alternatives.iter().filter(|schema| refuses(atom, schema)).count();
                taken == 0 || (asked.exactly && *key == "oneOf" && taken + refused() < alternatives.len())
            })
        })
    }

    fn broken_fields(&self, fields: &Fields, schema: &Mapping, asked: Violation<'_>, depth: u8) -> bool {
        let declared = schema.get("properties").and_then(Value::as_map);
        let more = schema.get("additionalProperties");
        let lacks = |key: &str| self.get(fields.get(key)).absent;
        let breaks = |of: TypeId, schema: &Value| self.broken(self.get(of), schema, asked, depth - 1);
        let named = fields.named.iter().any(|(key, of)| match (declared.and_then(|declared| declared.get(key)), more) {
            (Some(property), _) => breaks(*of, property),
            (None, Some(more)) => *of != TypeId::ABSENT && (breaks(*of, more) || (asked.exactly && more.as_bool() == Some(false))),
            (None, None) => false,
        });
        let is_named = |key: &str| fields.named.iter().any(|(named, _)| **named == *key);
        let others = asked.exactly
            && fields.others != TypeId::ABSENT
            && (more.is_some_and(|more| more.as_bool() == Some(false) || breaks(fields.others, more))
                || declared.into_iter().flat_map(Mapping::iter).any(|(key, schema)| !is_named(key) && breaks(fields.others, schema)));
        named || others || schema.get("required").and_then(Value::as_list).into_iter().flatten().filter_map(Value::as_str).any(lacks)
    }
}

/// What a type may be, one after the other.
fn atoms(of: &Type) -> Vec<Type> {
    let kinds = [Kinds::TEXT, Kinds::INT, Kinds::FLOAT].into_iter().filter(|kind| of.kinds.has(*kind));
    let kinds = kinds.map(|kinds| Type { kinds, ..Type::default() });
    let values = of.values.iter().map(|value| Type { values: vec![value.clone()], ..Type::default() });
    let items = of.items.map(|items| Type { items: Some(items), ..Type::default() });
    let fields = of.fields.clone().map(|fields| Type { fields: Some(fields), ..Type::default() });
    kinds.chain(values).chain(items).chain(fields).collect()
}

/// Whether a schema certainly takes nothing of one kind.
fn refuses(atom: &Type, schema: &Value) -> bool {
    let Some(map) = schema.as_map() else { return schema.as_bool() == Some(false) };
    if let [value] = atom.values.as_slice() {
        return Schema::new(schema).is_ok_and(|schema| !schema.fits(value));
    }
    let names: &[&str] = match atom {
        _ if atom.kinds.has(Kinds::TEXT) => &["string"],
        _ if atom.kinds.has(Kinds::INT) => &["integer", "number"],
        _ if atom.kinds.has(Kinds::FLOAT) => &["number"],
        _ if atom.items.is_some() => &["array"],
        _ => &["object"],
    };
    takes(map, names) == Some(false)
}

/// A schema without what it says by others.
fn without_parts(map: &Mapping) -> Mapping {
    let others = ["anyOf", "oneOf", "allOf", "$ref"];
    map.iter().filter(|(key, _)| !others.contains(&&***key)).map(|(key, value)| (key.clone(), value.clone())).collect()
}

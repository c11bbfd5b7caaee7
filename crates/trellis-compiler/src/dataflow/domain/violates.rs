//! Decision whether a type includes a value that violates a schema.
//!
//! One recursive walk over type and schema together, at most [`DEPTH`](super::DEPTH) levels deep. With `exactly` it decides about all that
//! the engine validates and errs towards a violation: a keyword that it cannot interpret counts as one. Without, it decides about kinds and
//! closed values alone and errs towards none, as a finding about an argument needs.
//!
//! **Invariant:** with `exactly`, if no violation is returned, every claimed value of the type fits the schema. Nothing is claimed of the
//! unknown part.
//!
//! **Example.** An integer against `{minimum: 1}`: a violation with `exactly`, none without.

use super::{
    Fields, Kinds, Type, TypeId, TypeTable,
    schemas::{BEYOND, REFINED, plain},
};
use trellis_base::{
    schema::{Schema, followed, takes, tuple},
    value::{Mapping, Value},
};

/// Keywords that the decision reads, or that constrain nothing; see also [`REFINED`].
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

/// Keywords that bound the size of mappings.
const SIZES: [&str; 2] = ["minProperties", "maxProperties"];

/// Question to a schema: its root, and whether it is decided as the engine would validate, or by kinds and closed values alone.
#[derive(Clone, Copy)]
struct SchemaQuestion<'s> {
    root: &'s Value,
    exactly: bool,
}

impl TypeTable {
    /// Returns true if the claimed part of a type includes a value that does not fit a schema. `exactly`: as the engine would validate;
    /// else by kinds and closed values alone, as for an argument.
    pub(crate) fn breaks(&self, id: TypeId, schema: &Schema, exactly: bool) -> bool {
        let root = schema.source();
        self.broken(self.get(id), root, SchemaQuestion { root, exactly }, super::MAX_TYPE_DEPTH)
    }

    /// Decides about the subschema `part` of `root`, by kinds and closed values alone; see [`TypeTable::breaks`].
    pub(crate) fn breaks_part(&self, id: TypeId, root: &Value, part: &Value) -> bool {
        self.broken(self.get(id), part, SchemaQuestion { root, exactly: false }, super::MAX_TYPE_DEPTH)
    }

    /// Returns true if a schema constrains a place where the type is unknown or dynamic.
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

    fn broken(&self, of: &Type, schema: &Value, asked: SchemaQuestion<'_>, depth: u8) -> bool {
        let is_known = of.kinds != Kinds::default() || !of.values.is_empty() || of.fields.is_some() || of.items.is_some();
        if !is_known {
            return false;
        }
        let Some(map) = schema.as_map() else { return schema.as_bool() == Some(false) };
        let exactly = asked.exactly;
        let composed = ["$ref", "anyOf", "oneOf", "allOf"].iter().any(|key| map.contains(key));
        // Too deep, or beyond what types express: unclear, so the answer depends on the side to err on.
        if depth == 0 || (!exactly && BEYOND.iter().any(|key| map.contains(key))) {
            return exactly;
        }
        let is_read = |key: &str| READ.contains(&key) || REFINED.contains(&key) || key.starts_with("x-");
        let is_tuple = !tuple(map).0.is_empty();
        if (is_tuple || !map.keys().all(|key| is_read(key))) && exactly {
            return !self.all_values_fit(of, schema);
        }
        self.broken_here(of, map, asked, depth) || (composed && self.broken_parts(of, map, asked, depth))
    }

    /// Returns true if the type has closed values only, and all of them fit.
    fn all_values_fit(&self, of: &Type, schema: &Value) -> bool {
        let only = of.kinds == Kinds::default() && of.fields.is_none() && of.items.is_none();
        only && Schema::new(schema).is_ok_and(|schema| of.values.iter().all(|value| schema.fits(value)))
    }

    /// Decides about the keywords of a schema itself.
    fn broken_here(&self, of: &Type, map: &Mapping, asked: SchemaQuestion<'_>, depth: u8) -> bool {
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
            // Which item stands where is not known.
            let (first, rest) = tuple(map);
            let inner = || rest.filter(|_| first.is_empty()).is_some_and(|schema| self.broken(self.get(items), schema, asked, depth - 1));
            !takes(&["array"]) || closed || refined || inner()
        };
        let of_fields = |fields: &Fields| {
            let sized = exactly && SIZES.iter().any(|key| map.contains(key));
            !takes(&["object"]) || closed || sized || self.broken_fields(fields, map, asked, depth)
        };
        kinds || of.values.iter().any(|value| !fits(value)) || of.items.is_some_and(of_items) || of.fields.as_ref().is_some_and(of_fields)
    }

    /// Decides about `$ref`, `allOf`, `anyOf` and `oneOf`.
    fn broken_parts(&self, of: &Type, map: &Mapping, asked: SchemaQuestion<'_>, depth: u8) -> bool {
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

    fn broken_fields(&self, fields: &Fields, schema: &Mapping, asked: SchemaQuestion<'_>, depth: u8) -> bool {
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

/// Splits a type into its claimed parts, one type each.
fn atoms(of: &Type) -> Vec<Type> {
    let kinds = [Kinds::TEXT, Kinds::INT, Kinds::FLOAT].into_iter().filter(|kind| of.kinds.has(*kind));
    let kinds = kinds.map(|kinds| Type { kinds, ..Type::default() });
    let values = of.values.iter().map(|value| Type { values: vec![value.clone()], ..Type::default() });
    let items = of.items.map(|items| Type { items: Some(items), ..Type::default() });
    let fields = of.fields.clone().map(|fields| Type { fields: Some(fields), ..Type::default() });
    kinds.chain(values).chain(items).chain(fields).collect()
}

/// Returns true if a schema certainly rejects all values of a part.
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

/// Returns a schema without `$ref`, `allOf`, `anyOf` and `oneOf`.
fn without_parts(map: &Mapping) -> Mapping {
    let others = ["anyOf", "oneOf", "allOf", "$ref"];
    map.iter().filter(|(key, _)| !others.contains(&&***key)).map(|(key, value)| (key.clone(), value.clone())).collect()
}

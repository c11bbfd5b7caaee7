//! Abstraction of JSON Schemas to types, and concretization of types to schemas.
//!
//! `of_schema` walks the schema: keywords that types express become parts of the type, conjunctions are met, alternatives are joined,
//! `$ref` is followed. It over-approximates: a keyword that it does not read only removes values, and a schema with one of [`BEYOND`] is
//! unknown. It ends after [`STEPS`] steps, also on schemas that refer to themselves.
//!
//! **Example.** `{type: object, properties: {a: {type: integer}}}` is a mapping whose `a` is an integer or absent; any other property is
//! unknown or absent.

use super::{Fields, Kinds, Type, TypeId, TypeTable};
use trellis_base::{
    schema::{few_integers, followed, tuple},
    value::{Key, Mapping, Value},
};

/// Greatest number of subschemas that one translation visits.
const MAX_SCHEMA_STEPS: usize = 1_000;

/// Keywords that say more than the parts of a type can: a schema with one of them is unknown.
pub(crate) const BEYOND: [&str; 8] =
    ["if", "not", "patternProperties", "$dynamicRef", "dependentSchemas", "unevaluatedProperties", "contains", "propertyNames"];

/// Keywords that remove values from a kind.
pub(crate) const REFINED: [&str; 14] = [
    "pattern",
    "format",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "maxProperties",
];

impl TypeTable {
    /// Returns a type that includes all values that fit a schema.
    pub(crate) fn of_schema(&mut self, schema: &Value) -> TypeId {
        self.of_part(schema, schema)
    }

    /// Returns a type that includes all values that fit the subschema `part`; `$ref` is resolved in `root`.
    pub(crate) fn of_part(&mut self, root: &Value, part: &Value) -> TypeId {
        self.schema(root, part, &mut { MAX_SCHEMA_STEPS }, 0)
    }

    fn schema(&mut self, root: &Value, schema: &Value, left: &mut usize, depth: u8) -> TypeId {
        let Some(schema) = schema.as_map().filter(|_| depth <= super::MAX_TYPE_DEPTH && *left > 0) else {
            return if schema.as_bool() == Some(false) { TypeId::NEVER } else { TypeId::UNKNOWN };
        };
        *left -= 1;
        if let Some(value) = schema.get("const") {
            return self.of_value(value);
        }
        if let Some(Value::List(values)) = schema.get("enum") {
            return values.iter().fold(TypeId::NEVER, |known, value| {
                let value = self.of_value(value);
                self.join(known, value)
            });
        }
        // A word that only takes keys away is left out.
        let says_more = |key: &&str| schema.get(key).is_some_and(|of| *key != "unevaluatedProperties" || of.as_bool() != Some(false));
        if BEYOND.iter().any(says_more) {
            return TypeId::UNKNOWN;
        }
        let own = self.typed(root, schema, left, depth);
        let mut known = own;
        if let Some(target) = schema.get("$ref").and_then(Value::as_str).and_then(|pointer| followed(root, pointer)) {
            let target = self.schema(root, target, left, depth + 1);
            known = self.meet(known, target);
        }
        for key in ["anyOf", "oneOf"] {
            if let Some(Value::List(alternatives)) = schema.get(key) {
                let either = alternatives.iter().fold(TypeId::NEVER, |known, alternative| {
                    let alternative = self.schema(root, alternative, left, depth + 1);
                    self.join(known, alternative)
                });
                known = self.meet(known, either);
            }
        }
        if let Some(Value::List(demands)) = schema.get("allOf") {
            for demand in demands.iter() {
                let demand = self.schema(root, demand, left, depth + 1);
                known = self.meet(known, demand);
            }
        }
        known
    }

    /// Translates `type`, `properties` and `items`.
    fn typed(&mut self, root: &Value, schema: &Mapping, left: &mut usize, depth: u8) -> TypeId {
        let kinds: Vec<&str> = match schema.get("type") {
            Some(Value::Text(kind)) => vec![kind],
            Some(Value::List(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
            // Without `type`, `properties` still constrains mappings.
            _ if schema.contains("properties") || schema.contains("required") => {
                let fields = Some(self.object(root, schema, left, depth));
                return self.intern(Type { unknown: true, fields, ..Type::default() });
            }
            _ => return TypeId::UNKNOWN,
        };
        let mut of = Type::default();
        for kind in kinds {
            match kind {
                "null" => of.values.push(Value::Null),
                "boolean" => of.values.extend([false.into(), true.into()]),
                "integer" => match few_integers(schema) {
                    Some(integers) => of.values.extend(integers.map(Value::Int)),
                    None => of.kinds = of.kinds.with(Kinds::INT),
                },
                "number" => of.kinds = of.kinds.with(Kinds::INT).with(Kinds::FLOAT),
                "string" => {
                    of.kinds = of.kinds.with(Kinds::TEXT);
                    if !matches!(schema.get("minLength"), Some(Value::Int(1..))) && !is_format_of_words(schema) {
                        of.values.push(Value::text(""));
                    }
                }
                "array" => {
                    let (first, rest) = tuple(schema);
                    let rest = rest.map_or(TypeId::UNKNOWN, |rest| self.schema(root, rest, left, depth + 1));
                    let items = first.iter().fold(rest, |known, item| {
                        let item = self.schema(root, item, left, depth + 1);
                        self.join(known, item)
                    });
                    of.items = Some(items);
                    if !matches!(schema.get("minItems"), Some(Value::Int(1..))) {
                        of.values.push(Value::list([]));
                    }
                }
                "object" => of.fields = Some(self.object(root, schema, left, depth)),
                _ => return TypeId::UNKNOWN,
            }
        }
        of.values.sort_by_cached_key(Value::to_json);
        self.intern(of)
    }

    /// Translates the properties of an object. One that is not required may be absent (language 5.3), as may one that the schema does not
    /// name while it names others.
    fn object(&mut self, root: &Value, schema: &Mapping, left: &mut usize, depth: u8) -> Fields {
        let declared = schema.get("properties").and_then(Value::as_map);
        let others = match schema.get("additionalProperties") {
            Some(Value::Bool(false)) => TypeId::ABSENT,
            Some(Value::Bool(true)) => TypeId::DYNAMIC,
            Some(more) => {
                let more = self.schema(root, more, left, depth + 1);
                self.join(more, TypeId::ABSENT)
            }
            None if declared.is_none_or(Mapping::is_empty) => TypeId::DYNAMIC,
            None => TypeId::UNKNOWN_OR_ABSENT,
        };
        let mut fields = Fields { named: Vec::new(), others };
        for (key, property) in declared.into_iter().flat_map(Mapping::iter) {
            let property = self.schema(root, property, left, depth + 1);
            let property = if is_required(schema, key) { property } else { self.join(property, TypeId::ABSENT) };
            fields.set(key, property);
        }
        for name in schema.get("required").and_then(Value::as_list).into_iter().flatten().filter_map(Value::as_str) {
            if declared.is_none_or(|declared| !declared.contains(name)) {
                fields.set(&Key::from(name), TypeId::UNKNOWN);
            }
        }
        fields
    }

    /// Returns a schema that all values of a type fit. It is `true` if the type has a gradual part.
    pub(crate) fn to_schema(&self, id: TypeId) -> Value {
        let of = self.get(id);
        if of.unknown || of.dynamic {
            return Value::Bool(true);
        }
        let mut either: Vec<Value> = Vec::new();
        if !of.values.is_empty() {
            either.push(Value::map([("enum", Value::from(of.values.clone()))]));
        }
        for (kind, name) in [(Kinds::TEXT, "string"), (Kinds::INT, "integer"), (Kinds::FLOAT, "number")] {
            if of.kinds.has(kind) {
                let typed = ("type", Value::text(name));
                either.push(if kind == Kinds::TEXT { Value::map([typed, ("minLength", Value::Int(1))]) } else { Value::map([typed]) });
            }
        }
        if let Some(items) = of.items {
            either.push(Value::map([("type", Value::text("array")), ("minItems", Value::Int(1)), ("items", self.to_schema(items))]));
        }
        if let Some(fields) = &of.fields {
            either.push(self.object_schema(fields));
        }
        match either.len() {
            0 => Value::Bool(false),
            1 => either.remove(0),
            _ => Value::map([("anyOf", Value::from(either))]),
        }
    }

    fn object_schema(&self, fields: &Fields) -> Value {
        let may_be = |id: TypeId| id != TypeId::ABSENT;
        let properties = fields.named.iter().filter(|(_, of)| may_be(*of)).map(|(key, of)| (key.clone(), self.to_schema(*of)));
        let required = fields.named.iter().filter(|(_, of)| !self.get(*of).absent).map(|(key, _)| Value::Text(key.clone()));
        let mut schema = Mapping::new();
        schema.insert("type".into(), Value::text("object"));
        schema.insert("required".into(), required.collect::<Vec<_>>().into());
        schema.insert("properties".into(), Value::Map(properties.collect()));
        let others = if may_be(fields.others) { self.to_schema(fields.others) } else { Value::Bool(false) };
        schema.insert("additionalProperties".into(), others);
        schema.into()
    }
}

/// Returns true if a schema has a format that no empty text has.
fn is_format_of_words(schema: &Mapping) -> bool {
    let formats = ["date", "time", "date-time", "duration", "email", "idn-email", "uuid", "uri", "iri", "ipv4", "ipv6"];
    schema.get("format").and_then(Value::as_str).is_some_and(|format| formats.contains(&format))
}

/// Returns a schema without the keywords in [`REFINED`] and [`BEYOND`]: kinds, closed values and structure remain.
pub(crate) fn plain(schema: &Value) -> Value {
    match schema {
        Value::Map(entries) => {
            let left = entries.iter().filter(|(key, _)| !REFINED.contains(&&***key) && !BEYOND.contains(&&***key));
            let parts = left.map(|(key, value)| match &**key {
                "enum" | "const" | "required" | "type" | "default" | "examples" => (key.clone(), value.clone()),
                "properties" | "$defs" => {
                    let parts = value.as_map().into_iter().flat_map(Mapping::iter).map(|(key, schema)| (key.clone(), plain(schema)));
                    (key.clone(), Value::Map(parts.collect()))
                }
                // After the relaxation several alternatives may fit at once.
                "oneOf" if !entries.contains("anyOf") => ("anyOf".into(), plain(value)),
                _ => (key.clone(), plain(value)),
            });
            let parts = parts.filter(|(key, _)| **key != *"oneOf");
            Value::Map(parts.collect())
        }
        Value::List(items) => Value::list(items.iter().map(plain)),
        other => other.clone(),
    }
}

fn is_required(schema: &Mapping, name: &str) -> bool {
    schema.get("required").and_then(Value::as_list).is_some_and(|names| names.iter().any(|known| known.as_str() == Some(name)))
}

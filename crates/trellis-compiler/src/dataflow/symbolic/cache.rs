//! Types and schemas that all searches of a check share, memoized.

use rustc_hash::FxHashMap;

use super::*;

/// Memo tables of types and schemas.
#[derive(Debug)]
pub(crate) struct SchemaCache {
    pub(crate) types: TypeTable,
    /// Subschemas of properties and items, by their schema.
    parts: FxHashMap<(usize, Key), Option<Schema>>,
    /// Schemas by type.
    schemas: FxHashMap<TypeId, Option<Schema>>,
    /// Types of large finite sets, by address.
    many: FxHashMap<usize, (FiniteSet, TypeId)>,
    /// Options of nodes, by address.
    options: FxHashMap<usize, FiniteSet>,
    /// Schemas by kind.
    pub(super) kinds: FxHashMap<&'static str, Option<Schema>>,
    /// Types of the alternatives of a schema.
    alternatives: FxHashMap<usize, Rc<[TypeId]>>,
    /// Sample values by schema, by address.
    instances: FxHashMap<usize, Rc<[Value]>>,
}

/// Field name under which the item of a list is stored; no property can have it.
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
    /// Returns the subschema of a property, or of the items.
    pub(crate) fn part(&mut self, schema: &Schema, key: &Key) -> Option<Schema> {
        // The type table holds the schema from now on, so its address identifies it.
        self.types.schema_id(schema);
        let place = std::ptr::from_ref(schema.source()).addr();
        let part = || {
            let map = schema.source().as_map()?;
            let part = if &**key == ITEMS { map.get("items") } else { map.get("properties")?.as_map()?.get(key) };
            Schema::new(part?).ok()
        };
        self.parts.entry((place, key.clone())).or_insert_with(part).clone()
    }

    /// Returns sample values of a schema, which need not fit.
    pub(crate) fn instances(&mut self, schema: &Schema) -> Rc<[Value]> {
        self.types.schema_id(schema);
        let place = std::ptr::from_ref(schema.source()).addr();
        Rc::clone(self.instances.entry(place).or_insert_with(|| samples::of_schema(schema.source()).into()))
    }

    /// Returns a schema of a type; `None` if it accepts everything.
    pub(super) fn schema(&mut self, of: TypeId) -> Option<Schema> {
        let make = || Schema::new(&self.types.to_schema(of)).ok().filter(|schema| schema.source().as_bool() != Some(true));
        self.schemas.entry(of).or_insert_with(make).clone()
    }

    /// Returns the type of a large finite set.
    pub(super) fn many(&mut self, only: &FiniteSet) -> TypeId {
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

    /// Returns the values of a node's options that are no outcomes of their own. Nodes do not move while the program exists.
    pub(crate) fn options(&mut self, listen: &Listen) -> FiniteSet {
        let place = std::ptr::from_ref(listen).addr();
        self.options.entry(place).or_insert_with(|| FiniteSet::new(listen.others().cloned())).clone()
    }

    /// Returns a text that identifies a schema.
    pub(crate) fn number(&mut self, schema: &Schema) -> String {
        format!("{:?}", self.types.schema_id(schema))
    }

    /// Returns the types of the alternatives of a schema: its `anyOf` or `oneOf`, or itself.
    pub(super) fn alternatives(&mut self, schema: &Schema) -> Rc<[TypeId]> {
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

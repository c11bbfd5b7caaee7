//! Interned schemas of a program: each is translated to a type once.

use rustc_hash::FxHashMap;

use super::{TypeId, TypeTable};
use crate::dataflow::index::to_u32;
use trellis_base::schema::Schema;

/// Index of an interned schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SchemaId(u32);

/// Interned schemas. The table holds a reference to each, so the address of its source identifies it.
#[derive(Clone, Debug, Default)]
pub(crate) struct SchemaTable {
    all: Vec<(Schema, TypeId)>,
    by_place: FxHashMap<usize, SchemaId>,
    broken: FxHashMap<(TypeId, SchemaId, bool), bool>,
}

impl SchemaTable {
    pub(crate) fn count(&self) -> usize {
        self.all.len()
    }
}

impl TypeTable {
    /// Interns a schema by its address.
    pub(crate) fn schema_id(&mut self, schema: &Schema) -> SchemaId {
        let place = std::ptr::from_ref(schema.source()).addr();
        if let Some(known) = self.contracts.by_place.get(&place) {
            return *known;
        }
        let of = self.of_schema(schema.source());
        let schema_id = SchemaId(to_u32(self.contracts.all.len()));
        self.contracts.all.push((schema.clone(), of));
        self.contracts.by_place.insert(place, schema_id);
        schema_id
    }

    /// Interns a schema and returns its type.
    pub(crate) fn declared(&mut self, schema: &Schema) -> TypeId {
        let schema_id = self.schema_id(schema);
        self.agreed(schema_id)
    }

    /// Returns the type of an interned schema.
    pub(crate) fn agreed(&self, schema_id: SchemaId) -> TypeId {
        self.contracts.all[schema_id.0 as usize].1
    }

    /// Returns true if an interned schema constrains a place where the type is unknown or dynamic.
    pub(crate) fn is_unsure_of(&self, id: TypeId, schema_id: SchemaId) -> bool {
        self.is_unsure(id, &self.contracts.all[schema_id.0 as usize].0)
    }

    /// Returns true if the claimed part of a type includes a value that violates an interned schema; memoized form of
    /// [`TypeTable::breaks`].
    pub(crate) fn may_violate(&mut self, id: TypeId, schema_id: SchemaId, exactly: bool) -> bool {
        let key = (id, schema_id, exactly);
        if let Some(known) = self.contracts.broken.get(&key) {
            return *known;
        }
        let schema = self.contracts.all[schema_id.0 as usize].0.clone();
        let breaks = self.breaks(id, &schema, exactly);
        self.contracts.broken.insert(key, breaks);
        breaks
    }
}

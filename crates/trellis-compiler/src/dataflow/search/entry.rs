//! Entry states of a search: the program's entry, and each node that is called as a child (language 5.4).

use std::sync::Arc;

use crate::dataflow::domain::{TypeId, TypeTable};
use trellis_base::{
    schema::Schema,
    value::{Key, Mapping, Value},
};
use trellis_engine::program::{PointIndex, Program};

/// A point where a context begins, with its keys.
pub(crate) struct EntryState {
    pub(crate) point: PointIndex,
    pub(crate) is_entry: bool,
    pub(crate) given: Vec<EntryKey>,
}

/// One key that a context begins with.
pub(crate) struct EntryKey {
    pub(crate) key: Key,
    pub(crate) fits: Option<Schema>,
    pub(crate) may_be_absent: bool,
}

impl EntryState {
    /// The program's entry with its declared inputs.
    pub(crate) fn entry(program: &Arc<Program>) -> Self {
        let entry = program.entry();
        let schema = program.root().inputs.as_ref().and_then(|schema| schema.source().as_map());
        let required: Vec<&str> = schema
            .and_then(|schema| schema.get("required"))
            .and_then(Value::as_list)
            .map(|names| names.iter().filter_map(Value::as_str).collect())
            .unwrap_or_default();
        let declared = schema.and_then(|schema| schema.get("properties")).and_then(Value::as_map);
        let properties = declared.into_iter().flat_map(Mapping::iter);
        let mut given: Vec<EntryKey> = properties
            .map(|(key, schema)| EntryKey { key: key.clone(), fits: Schema::new(schema).ok(), may_be_absent: !required.contains(&&**key) })
            .collect();
        let others = required.iter().filter(|name| declared.is_none_or(|declared| !declared.contains(name)));
        given.extend(others.map(|name| EntryKey { key: Key::from(*name), fits: None, may_be_absent: false }));
        let graph = program.root();
        let of_graph = |key: &Key| graph.types.iter().find(|(declared, _)| declared == key).map(|(_, schema)| schema.clone());
        for given in &mut given {
            given.fits = both(given.fits.take(), of_graph(&given.key));
        }
        // A host may also give a key with a default, unless `inputs` says which keys there are; without a declared type nothing is claimed of it.
        let is_closed = graph.inputs.as_ref().is_some_and(Schema::is_closed);
        for key in program.defaults().into_keys().filter(|_| !is_closed) {
            if let Some(declared) = of_graph(key).filter(|_| !given.iter().any(|given| given.key == *key)) {
                given.push(EntryKey { key: key.clone(), fits: Some(declared), may_be_absent: true });
            }
        }
        Self { point: entry.gate.unwrap_or(entry.body), is_entry: true, given }
    }

    /// A node that is called with arguments of a type.
    pub(crate) fn called(point: PointIndex, args: TypeId, types: &TypeTable) -> Self {
        let fields = types.get(args).fields.iter().flat_map(|fields| &fields.named);
        let given = fields.filter(|(_, of)| *of != TypeId::ABSENT).map(|(key, of)| EntryKey {
            key: key.clone(),
            fits: Schema::new(&types.to_schema(*of)).ok(),
            may_be_absent: types.may_be_absent(*of),
        });
        Self { point, is_entry: false, given: given.collect() }
    }
}

/// Returns the schema of the values that fit both.
fn both(one: Option<Schema>, other: Option<Schema>) -> Option<Schema> {
    match (one, other) {
        (Some(one), Some(other)) if one.source() != other.source() => {
            Schema::new(&Value::map([("allOf", Value::list([one.source().clone(), other.source().clone()]))])).ok()
        }
        (one, other) => one.or(other),
    }
}

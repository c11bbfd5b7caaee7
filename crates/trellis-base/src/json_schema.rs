//! JSON Schemas of wire types, and of the values and names in them: a value is any JSON, a mapping an object, a name a text.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings, json_schema};
use serde_json::{Map, Value as Json};

use crate::{
    id::{CallId, IdempotencyKey, NodeId, SessionId, SignalName},
    value::{Mapping, Value},
};

macro_rules! schemas {
    ($($name:ident: $schema:tt),* $(,)?) => {$(
        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!($schema)
            }
        }
    )*};
}

schemas! {
    Value: {},
    Mapping: { "type": "object" },
    NodeId: { "type": "string" },
    SessionId: { "type": "string" },
    CallId: { "type": "string" },
    IdempotencyKey: { "type": "string" },
    SignalName: { "type": "string" },
}

/// The definitions of wire types as they are printed, by name: `types` asks for each of them. Mappings are closed, and a key that may be missing is not
/// null instead.
pub fn definitions(types: impl FnOnce(&mut SchemaGenerator)) -> Map<String, Json> {
    let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    types(&mut generator);
    let mut definitions = generator.take_definitions(true);
    definitions.values_mut().for_each(plain);
    definitions
}

/// Closes mappings, leaves out the widths of integers, and lets keys that may be missing not be null instead.
fn plain(schema: &mut Json) {
    match schema {
        Json::Object(map) => {
            map.values_mut().for_each(plain);
            if let Some(Json::String(description)) = map.get_mut("description") {
                *description = description.replace('\n', " ");
            }
            let is_number = map.get("format").and_then(Json::as_str).is_some_and(|format| format.starts_with("uint"));
            if is_number {
                map.remove("format");
                map.remove("maximum");
            }
            let required = map.get("required").cloned().unwrap_or_default();
            let Some(Json::Object(properties)) = map.get_mut("properties") else { return };
            let is_required = |key: &str| required.as_array().is_some_and(|required| required.iter().any(|known| known == key));
            properties.iter_mut().filter(|(key, _)| !is_required(key)).for_each(|(_, schema)| not_null(schema));
            map.insert("additionalProperties".into(), false.into());
        }
        Json::Array(items) => items.iter_mut().for_each(plain),
        _ => {}
    }
}

/// Removes null from the values that a schema accepts.
fn not_null(schema: &mut Json) {
    let Json::Object(map) = schema else { return };
    if let Some(Json::Array(types)) = map.get_mut("type") {
        types.retain(|kind| kind != "null");
        if let [only] = &types[..] {
            let only = only.clone();
            map.insert("type".into(), only);
        }
    }
    let Some(Json::Array(branches)) = map.get_mut("anyOf") else { return };
    branches.retain(|branch| branch["type"] != "null");
    if let [Json::Object(only)] = &branches[..] {
        let only = only.clone();
        map.remove("anyOf");
        map.extend(only);
    }
}

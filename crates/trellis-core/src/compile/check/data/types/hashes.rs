//! Types by their content, so that each is there once.

use std::hash::{Hash, Hasher};

use rustc_hash::FxHasher;

use super::{Type, TypeId};
use crate::value::Value;

/// A number that equal types share.
pub(super) fn of_type(of: &Type) -> u64 {
    let Type { absent, any, open, kinds, values, fields, items } = of;
    let mut hasher = FxHasher::default();
    (absent, any, open, kinds.0, items.map(|TypeId(id)| id), values.len()).hash(&mut hasher);
    values.iter().for_each(|value| of_value(value, &mut hasher));
    if let Some(fields) = fields {
        fields.others.hash(&mut hasher);
        fields.named.hash(&mut hasher);
    }
    hasher.finish()
}

/// Integers and decimals of the same worth are equal (language 3.1), so numbers are told apart by their kind only.
fn of_value(value: &Value, hasher: &mut FxHasher) {
    match value {
        Value::Text(text) => text.hash(hasher),
        Value::Bool(truth) => truth.hash(hasher),
        Value::Int(_) | Value::UInt(_) | Value::Float(_) => 1_u8.hash(hasher),
        Value::Null => 2_u8.hash(hasher),
        Value::List(_) | Value::Map(_) => 3_u8.hash(hasher),
    }
}

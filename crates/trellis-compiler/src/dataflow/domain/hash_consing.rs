//! Hash-consing: structural hash and equality of types.
//!
//! **Invariant:** results depend on the content of types, never on the order in which they were created, so an incremental analysis has the
//! results of a new one.

use std::hash::{Hash, Hasher};

use rustc_hash::FxHasher;

use super::{Type, TypeId};
use trellis_base::value::Value;

/// Returns a hash that equal types share.
pub(crate) fn of_type(of: &Type) -> u64 {
    let Type { absent, unknown: any, numeric, dynamic: open, kinds, values, fields, items } = of;
    let mut hasher = FxHasher::default();
    (absent, any, numeric, open, kinds.0, items.map(|TypeId(id)| id), values.len()).hash(&mut hasher);
    values.iter().for_each(|value| of_value(value, &mut hasher));
    if let Some(fields) = fields {
        fields.others.hash(&mut hasher);
        fields.named.hash(&mut hasher);
    }
    hasher.finish()
}

/// Hashes a value, so that equal values have equal hashes. Of lists and mappings only the length counts.
pub(crate) fn of_value(value: &Value, hasher: &mut FxHasher) {
    std::mem::discriminant(value).hash(hasher);
    match value {
        Value::Text(text) => text.hash(hasher),
        Value::Bool(truth) => truth.hash(hasher),
        Value::Int(number) => number.hash(hasher),
        Value::UInt(number) => number.hash(hasher),
        Value::Float(number) => number.to_bits().hash(hasher),
        Value::Null => {}
        Value::List(items) => items.len().hash(hasher),
        Value::Map(entries) => entries.iter().count().hash(hasher),
    }
}

/// Returns true if two types are identical, notation of numbers included: `1` and `1.0` are equal (language 3.1), but printed differently.
pub(crate) fn is_same(a: &Type, b: &Type) -> bool {
    a == b && a.values.iter().zip(&b.values).all(|(a, b)| is_same_value(a, b))
}

/// Returns true if two values are equal, notation of numbers included.
pub(crate) fn is_same_value(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Float(a), Value::Float(b)) => a.to_bits() == b.to_bits(),
        (Value::List(a), Value::List(b)) => a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| is_same_value(a, b)),
        (Value::Map(a), Value::Map(b)) => a == b && a.iter().zip(b.iter()).all(|((_, a), (_, b))| is_same_value(a, b)),
        _ => std::mem::discriminant(a) == std::mem::discriminant(b) && a == b,
    }
}

/// Adds a value to a set. Of an integer and an equal decimal the integer is retained, in any order of addition.
pub(crate) fn add(values: &mut Vec<Value>, value: Value) {
    match values.iter_mut().find(|known| **known == value) {
        Some(known @ Value::Float(_)) => {
            if !matches!(&value, Value::Float(number) if number.is_sign_negative()) {
                *known = value;
            }
        }
        Some(_) => {}
        None => values.push(value),
    }
}

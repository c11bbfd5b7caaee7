//! The number of parts of a schema that one value is checked against.
//!
//! References make a short schema long: where each of forty definitions refers to the next one twice, a value is checked against 2⁴⁰ parts. The
//! validator goes through all of them, so such a schema is refused.

use rustc_hash::FxHashMap;
use serde_json::Value as Json;

use super::SchemaError;

/// The largest number of parts for one value.
const LIMIT: u64 = 10_000;

/// Checks that no value is checked against more parts than that.
///
/// # Errors
/// It would be.
pub(super) fn check(root: &Json) -> Result<(), SchemaError> {
    let mut known = FxHashMap::default();
    let mut waiting = vec![root];
    while let Some(schema) = waiting.pop() {
        match schema {
            Json::Object(entries) => waiting.extend(entries.values()),
            Json::Array(items) => waiting.extend(items),
            _ => continue,
        }
        if count(root, schema, &mut known) > LIMIT {
            let message = format!("by its references it holds one value to more than {LIMIT} parts");
            return Err(SchemaError { path: String::new(), message });
        }
    }
    Ok(())
}

/// Counts the parts of `schema` that a value is checked against. A part that refers to itself counts once. `known` has counts by address.
fn count(root: &Json, schema: &Json, known: &mut FxHashMap<*const Json, u64>) -> u64 {
    let mut open = vec![(schema, false)];
    while let Some((part, is_counted)) = open.pop() {
        if is_counted {
            let below = parts(root, part).filter_map(|part| known.get(&std::ptr::from_ref(part)));
            let sum = below.fold(1, |sum: u64, part| sum.saturating_add(*part));
            known.insert(part, sum);
        } else if !known.contains_key(&std::ptr::from_ref(part)) {
            known.insert(part, 1);
            open.push((part, true));
            open.extend(parts(root, part).map(|part| (part, false)));
        }
    }
    known[&std::ptr::from_ref(schema)]
}

/// Returns the further parts that the same value is checked against.
fn parts<'s>(root: &'s Json, schema: &'s Json) -> impl Iterator<Item = &'s Json> {
    let entries = schema.as_object().into_iter().flatten();
    entries.flat_map(move |(key, value)| -> Vec<&'s Json> {
        match (key.as_str(), value) {
            ("$ref", Json::String(reference)) => {
                reference.strip_prefix('#').and_then(|pointer| root.pointer(pointer)).into_iter().collect()
            }
            ("allOf" | "anyOf" | "oneOf", Json::Array(items)) => items.iter().collect(),
            ("not" | "if" | "then" | "else", part) => vec![part],
            ("dependentSchemas", Json::Object(entries)) => entries.values().collect(),
            _ => Vec::new(),
        }
    })
}

#[cfg(test)]
mod tests {
    use crate::{schema::Schema, value::Value};

    /// Returns a schema whose definitions refer to the next one, each by `refer`.
    fn ladder(steps: usize, refer: impl Fn(String) -> String) -> String {
        let steps =
            (0..steps).map(|at| format!(r##""s{at}": {}"##, refer(format!(r##"{{"$ref": "#/$defs/s{}"}}"##, at + 1)))).collect::<Vec<_>>();
        format!(r##"{{"$ref": "#/$defs/s0", "$defs": {{{}, "s{}": {{"type": "string"}}}}}}"##, steps.join(", "), steps.len())
    }

    #[test]
    fn references_that_branch_again_and_again_are_refused() {
        let made = |text: &str| Schema::new(&Value::from_json(text).unwrap()).map_err(|error| error.message);
        let twice = ladder(40, |next| format!(r#"{{"anyOf": [{next}, {next}]}}"#));
        assert_eq!(made(&twice).unwrap_err(), "by its references it holds one value to more than 10000 parts");
        assert!(made(&ladder(10, |next| format!(r#"{{"anyOf": [{next}, {next}]}}"#))).is_ok());
        let chain = made(&ladder(2_000, |next| next)).unwrap();
        assert!(chain.fits(&Value::text("a")) && !chain.fits(&Value::Null), "a long way is no branch");
        let apart = ladder(40, |next| format!(r#"{{"properties": {{"a": {next}, "b": {next}}}}}"#));
        assert!(made(&apart).is_ok(), "these are parts of parts of a value");
    }
}

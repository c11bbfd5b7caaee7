//! References, followed a bounded number of times while the breaches of a value are collected.
//!
//! If alternatives refer to the schema that holds them, each level of a value doubles the breaches. Deciding only whether a value fits is cheap: the
//! validator caches its results. So only the collection counts.
//!
//! **Invariant:** whether a value fits does not depend on the counts.

use jsonschema::{Keyword, ValidationError};
use serde_json::{Map, Value as Json, json};

use super::pattern::is_step_left;

/// The keyword that counts.
pub(super) const STEP: &str = "x-trellis-step";

/// Keywords whose content is data.
pub const DATA: [&str; 4] = ["const", "default", "enum", "examples"];

/// Returns the schema with each reference behind a step; `None` if it has none.
pub(super) fn counted(schema: &Json) -> Option<Json> {
    let mut counted = schema.clone();
    put_steps(&mut counted).then_some(counted)
}

/// The places of all parts stay as they are, so that references still lead to them.
fn put_steps(schema: &mut Json) -> bool {
    match schema {
        Json::Object(entries) => {
            let parts = entries.iter_mut().filter(|(key, _)| !DATA.contains(&key.as_str()));
            let below = parts.fold(false, |found, (_, part)| put_steps(part) | found);
            put_step(entries) | below
        }
        Json::Array(parts) => parts.iter_mut().fold(false, |found, part| put_steps(part) | found),
        _ => false,
    }
}

fn put_step(entries: &mut Map<String, Json>) -> bool {
    let Some(key) = ["$ref", "$dynamicRef"].into_iter().find(|key| entries.get(*key).is_some_and(Json::is_string)) else { return false };
    let Json::Array(all) = entries.entry("allOf").or_insert_with(|| json!([])) else { return false };
    let at = all.len();
    all.push(json!({ "if": { STEP: true }, "then": {}, "else": false }));
    if let Some(reference) = entries.remove(key) {
        entries["allOf"][at]["then"][key] = reference;
    }
    true
}

/// One step.
pub(super) struct CountedReference;

impl<'i> Keyword<'i> for CountedReference {
    fn validate(&self, instance: &'i Json) -> Result<(), ValidationError<'i>> {
        if Keyword::is_valid(self, instance) { Ok(()) } else { Err(ValidationError::custom(STEP)) }
    }

    fn is_valid(&self, _: &'i Json) -> bool {
        is_step_left()
    }
}

#[cfg(test)]
mod tests {
    use crate::{schema::Schema, value::Value};

    fn schema(text: &str) -> Schema {
        Schema::new(&Value::from_json(text).unwrap()).unwrap()
    }

    /// Alternatives that refer to the schema that holds them doubled the breaches with each level of a value.
    #[test]
    fn alternatives_that_refer_to_each_other_are_bounded() {
        let both = r##"{"type": "array", "minItems": 1, "anyOf": [{"items": {"$ref": "#"}}, {"items": {"$ref": "#"}, "maxItems": 3}]}"##;
        let each = r##"{"$ref": "#/$defs/a", "$defs": {"a": {"type": "array", "oneOf": [{"items": {"$ref": "#/$defs/b"}}, {"items": {"$ref": "#"}}, false]},
            "b": {"allOf": [true], "$ref": "#/$defs/a"}}}"##;
        let nested = |levels: usize| Value::from_json(&format!("{}1{}", "[".repeat(levels), "]".repeat(levels))).unwrap();
        for text in [both, each] {
            let (schema, deep) = (schema(text), nested(60));
            assert!(!schema.fits(&deep), "{text}");
            let said: Vec<_> = schema.breaches(&deep).iter().map(ToString::to_string).collect();
            assert_eq!(said, ["does not fit, in more ways than can be listed"], "{text}");
            assert!(schema.breaches(&nested(3))[0].message.starts_with("fits "), "{:?}", schema.breaches(&nested(3)));
        }
        let tree = schema(
            r##"{"type": "object", "properties": {"next": {"$ref": "#"}, "n": {"type": "integer"}}, "unevaluatedProperties": false}"##,
        );
        let list = (0..50).fold(String::from(r#"{"n": "x"}"#), |next, _| format!(r#"{{"next": {next}}}"#));
        let said = tree.breaches(&Value::from_json(&list).unwrap());
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].pointer.ends_with("/next/n"), "{said:?}");
    }
}

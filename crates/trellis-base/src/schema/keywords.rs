//! Mappings in the place of a schema without any keyword of one.
//!
//! JSON Schema passes over words that it does not know, so `{ amount: int }` would hold for everything.

use crate::value::{Mapping, Value};

/// Words of JSON Schema 2020-12, and of those before it.
pub const KEYWORDS: [&str; 56] = [
    "type",
    "enum",
    "const",
    "properties",
    "required",
    "items",
    "prefixItems",
    "additionalProperties",
    "patternProperties",
    "propertyNames",
    "minProperties",
    "maxProperties",
    "dependentRequired",
    "dependentSchemas",
    "unevaluatedProperties",
    "unevaluatedItems",
    "contains",
    "minContains",
    "maxContains",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minLength",
    "maxLength",
    "pattern",
    "format",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
    "title",
    "description",
    "default",
    "examples",
    "example",
    "deprecated",
    "readOnly",
    "writeOnly",
    "nullable",
    "definitions",
    "dependencies",
    "additionalItems",
    "contentEncoding",
    "contentMediaType",
    "contentSchema",
    "discriminator",
    "externalDocs",
    "xml",
];

/// The path and the first key of a part that holds no word of JSON Schema.
pub fn without_keywords(schema: &Value) -> Option<(String, String)> {
    let entries = schema.as_map()?;
    let is_known = |key: &str| KEYWORDS.contains(&key) || key.starts_with(['$', '_']) || key.starts_with("x-");
    if let Some(first) = entries.keys().next()
        && !entries.keys().any(|key| is_known(key))
    {
        return Some((String::new(), first.to_string()));
    }
    let properties = entries.get("properties").and_then(Value::as_map).into_iter().flat_map(Mapping::iter);
    let parts = properties.map(|(key, part)| (format!("properties.{key}"), part));
    let mut parts = parts.chain(entries.get("items").map(|part| ("items".to_owned(), part)));
    parts.find_map(|(path, part)| {
        let (below, key) = without_keywords(part)?;
        Some((if below.is_empty() { path } else { format!("{path}.{below}") }, key))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapping_without_words_of_json_schema_is_found() {
        let found = |text: &str| without_keywords(&Value::from_json(text).unwrap());
        assert_eq!(found(r#"{"amount": {"type": "integer"}}"#), Some((String::new(), "amount".into())));
        let below = r#"{"properties": {"to": {"type": "object", "properties": {"at": {"street": {"type": "string"}}}}}}"#;
        assert_eq!(found(below), Some(("properties.to.properties.at".into(), "street".into())));
        for right in [r#"{}"#, "true", r#"{"x-note": 1}"#, r##"{"$ref": "#"}"##, r#"{"type": "object", "amount": 1}"#] {
            assert_eq!(found(right), None, "{right}");
        }
    }
}

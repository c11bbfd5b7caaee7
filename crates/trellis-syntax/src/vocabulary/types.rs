//! The values of keys, as JSON Schemas.

use serde_json::{Value as Json, json};

use super::super::{decode::words, project::DEEPEST};
use crate::builtin::BUILTINS;

/// The values of a key.
pub(super) enum KeyShape {
    /// Anything, with templates.
    Any,
    /// A mapping of anything.
    Mapping,
    /// A text; a number is taken as it is spelled.
    Text,
    /// A path into the context, or one name of it.
    Path,
    Condition,
    Boolean,
    /// No value at all.
    Null,
    Duration,
    /// A whole number from 1 on.
    Count,
    /// A whole number from 1 to [`DEEPEST`].
    Levels,
    /// A number from 1 to 1000.
    Factor,
    /// A short type, or a JSON Schema.
    Schema,
    /// One of these words.
    Words(&'static [&'static str]),
    /// One of these words, with the meaning of each.
    Named(&'static [(&'static str, &'static str)]),
    /// The name of a builtin tool.
    Builtin,
    /// Another form.
    Form(&'static str),
    List(&'static Self),
    /// A mapping by names of the author's.
    Map(&'static Self),
    /// A mapping by names out of these words.
    MapOf(fn() -> Vec<&'static str>, &'static Self),
    /// A mapping of these keys, each with its values and its meaning; a host may know more of them.
    Open(&'static [(&'static str, Self, &'static str)]),
    /// One of several.
    Or(&'static [Self]),
}

impl KeyShape {
    pub(super) fn schema(&self) -> Json {
        // Language servers drop the mark of an old key beside a reference: a short type is written in its place.
        let shared = |name: &str| json!({ "$ref": format!("#/definitions/{name}") });
        match self {
            Self::Any => json!({}),
            Self::Mapping => json!({ "type": "object" }),
            Self::Text => json!({ "type": ["string", "number"] }),
            Self::Path => json!({ "type": "string", "minLength": 1 }),
            Self::Condition => shared("condition"),
            Self::Boolean => json!({ "type": "boolean" }),
            Self::Null => json!({ "type": "null" }),
            Self::Duration => shared("duration"),
            Self::Count => json!({ "type": "integer", "minimum": 1 }),
            Self::Levels => json!({ "type": "integer", "minimum": 1, "maximum": DEEPEST }),
            Self::Factor => json!({ "type": "number", "minimum": 1, "maximum": 1000 }),
            Self::Schema => shared("schema"),
            Self::Builtin => json!({ "enum": BUILTINS.iter().map(|builtin| builtin.name).collect::<Vec<_>>() }),
            Self::Words(words) => json!({ "enum": words }),
            Self::Named(words) => json!({
                "enum": words.iter().map(|(word, _)| word).collect::<Vec<_>>(),
                "enumDescriptions": words.iter().map(|(_, means)| means.replace('`', "")).collect::<Vec<_>>(),
                "markdownEnumDescriptions": words.iter().map(|(_, means)| means).collect::<Vec<_>>(),
            }),
            Self::Form(name) => shared(name),
            Self::List(items) => json!({ "type": "array", "items": items.schema() }),
            Self::Map(values) => json!({ "type": "object", "additionalProperties": values.schema() }),
            Self::MapOf(names, values) => {
                json!({ "type": "object", "propertyNames": { "enum": names() }, "additionalProperties": values.schema() })
            }
            Self::Open(keys) => {
                let keys = keys.iter().map(|(key, takes, means)| ((*key).to_owned(), super::described(takes.schema(), means)));
                json!({ "type": "object", "properties": keys.collect::<serde_json::Map<_, _>>() })
            }
            Self::Or(types) => json!({ "anyOf": types.iter().map(Self::schema).collect::<Vec<_>>() }),
        }
    }
}

/// Definitions that are no forms.
pub(super) fn shared() -> [(&'static str, Json); 3] {
    let names = words::short_types().join("|");
    [
        (
            "condition",
            json!({
                "type": "string",
                "minLength": 1,
                "description": "order.paid, not expert, mood == \"Good\", amount in [1, 2], note is set, list is not empty. Put it in quotes where YAML asks for them.",
            }),
        ),
        (
            "duration",
            json!({
                "type": "string",
                "pattern": "^(?=.)([0-9]+w)?([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?([0-9]+ms)?$",
                "patternErrorMessage": "a duration is written like 200ms, 30s, 2m, 1h30m, 1d or 4w",
            }),
        ),
        (
            "schema",
            json!({
                "anyOf": [
                    { "type": "string", "pattern": format!("^\\[*({names})\\]*$"), "patternErrorMessage": "types are string, int, float, bool, any, [T], or a JSON Schema" },
                    { "type": "array", "items": { "$ref": "#/definitions/schema" }, "minItems": 1, "maxItems": 1 },
                    { "type": "object" },
                    { "type": "boolean" },
                ],
            }),
        ),
    ]
}

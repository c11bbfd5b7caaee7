//! Offers at a cursor, by the same tables as the schemas.

use std::borrow::Cow;

use serde_json::{Value as Json, json};

use super::{
    super::{
        cursor::{CursorContext, CursorStep},
        decode::{CALLEES, Form, words},
    },
    KeyFormTable, TABLES, project,
};
use trellis_base::schema::KEYWORDS;

/// Keys of a node in the order in which authors reach for them; the others follow as a formatted file has them.
const COMMON: [&str; 17] = [
    "to",
    "input_type",
    "options",
    "save_to",
    "do",
    "transitions",
    "set",
    "on_error",
    "undo",
    "content",
    "tools",
    "end",
    "output",
    "messages",
    "wait",
    "append",
    "on_invalid",
];

/// Keys of which a mapping has one at most.
const RIVALS: [&[&str]; 2] = [&CALLEES, &["to", "jump_to"]];

/// Keys whose JSON Schema is always one of a mapping, which no short type describes.
const OF_MAPPINGS: [&str; 3] = ["inputs", "parameters", "schema"];

/// Keywords of JSON Schemas in the order in which authors reach for them; the others follow by name.
const COMMON_KEYWORDS: [&str; 6] = ["type", "properties", "required", "enum", "items", "description"];

/// A key that a mapping may hold.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyOffer {
    /// Its name.
    pub name: Cow<'static, str>,
    /// Its meaning, as Markdown.
    pub about: Cow<'static, str>,
    /// Its values, as a JSON Schema; references lead to the definitions of [`schema`](super::schema).
    pub takes: Json,
}

/// A word that a key accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WordOffer {
    /// The word.
    pub word: String,
    /// Its meaning, as Markdown; empty if it says that itself.
    pub about: String,
}

impl KeyOffer {
    /// Returns the words that the key takes, if they are few and known.
    pub fn words(&self) -> Vec<WordOffer> {
        alternatives(&self.takes).iter().flat_map(words_of).collect()
    }

    /// Returns whether the key takes its words and nothing else.
    pub fn is_closed(&self) -> bool {
        alternatives(&self.takes).iter().all(|schema| !words_of(schema).is_empty())
    }

    /// Returns whether the key takes a JSON Schema of a mapping, and no other.
    pub fn is_schema_of_mapping(&self) -> bool {
        OF_MAPPINGS.contains(&&*self.name) && self.takes.pointer("/properties/additionalProperties").is_some()
    }

    /// Returns whether a mapping that has these keys cannot have this one too.
    pub fn is_excluded_by(&self, present: &[String]) -> bool {
        let rivals = RIVALS.iter().filter(|rivals| rivals.contains(&&*self.name));
        rivals.flat_map(|rivals| rivals.iter()).any(|rival| present.iter().any(|key| key == rival))
    }
}

/// Returns the name of the form of the mapping that a cursor is in, or whose value it is in: `node`, `call`, `option` and so on.
pub fn form_at(context: &CursorContext) -> Option<&'static str> {
    table_of(context.form?).map(|table| table.name)
}

/// Returns the keys that the mapping of a cursor may hold, those of a node that are used most first; none where they are not known.
pub fn keys_at(context: &CursorContext) -> Vec<KeyOffer> {
    if let Some(table) = context.form.and_then(table_of) {
        let offer = |name: &&'static str| table.keys.iter().find(|(key, ..)| key == name);
        let keys = table.form.keys.iter().filter_map(offer);
        let offers = keys.map(|(name, takes, about)| {
            let takes = if OF_MAPPINGS.contains(name) { schema_of_mapping() } else { takes.schema() };
            KeyOffer { name: (*name).into(), about: (*about).into(), takes }
        });
        let mut offers: Vec<_> = offers.collect();
        if table.name == "node" {
            offers.sort_by_key(|offer| COMMON.iter().position(|key| *key == offer.name).unwrap_or(COMMON.len()));
        }
        return offers;
    }
    let mut offers = Vec::new();
    for schema in taken(context) {
        let named = schema.get("properties").and_then(Json::as_object).into_iter().flatten();
        offers.extend(named.map(|(name, takes)| KeyOffer {
            name: name.clone().into(),
            about: about(takes).to_owned().into(),
            takes: takes.clone(),
        }));
        if offers.iter().any(|offer| offer.name == "additionalProperties") {
            offers.sort_by_key(|offer| COMMON_KEYWORDS.iter().position(|key| *key == offer.name).unwrap_or(COMMON_KEYWORDS.len()));
        }
        let listed = schema.pointer("/propertyNames/enum").and_then(Json::as_array).into_iter().flatten().filter_map(Json::as_str);
        let takes = schema.get("additionalProperties").cloned().unwrap_or_default();
        offers.extend(listed.map(|name| KeyOffer { name: name.to_owned().into(), about: "".into(), takes: takes.clone() }));
    }
    offers
}

/// Returns the words that the value or the item at a cursor may be.
pub fn words_at(context: &CursorContext) -> Vec<WordOffer> {
    taken(context).iter().flat_map(words_of).collect()
}

fn table_of(form: &'static Form) -> Option<&'static KeyFormTable> {
    let all = TABLES.into_iter().chain([&project::PROJECT, &project::LIBRARY, &project::TOOLS]);
    { all }.find(|table| std::ptr::eq(table.form, form))
}

/// Returns what may stand where the path of a cursor leads to, as JSON Schemas: one of them.
fn taken(context: &CursorContext) -> Vec<Json> {
    let schema = || {
        let (form, at) = context.holder?;
        let mut steps = context.path.get(at..)?.iter();
        let Some(CursorStep::Key(written)) = steps.next() else { return None };
        let key = form.canonical(written)?;
        let (_, takes, _) = table_of(form)?.keys.iter().find(|(name, ..)| *name == key)?;
        let mut taken = if OF_MAPPINGS.contains(&key) { vec![schema_of_mapping()] } else { alternatives(&takes.schema()) };
        for step in steps {
            taken = taken.iter().filter_map(|schema| below(schema, step)).flat_map(|schema| alternatives(&schema)).collect();
        }
        Some(taken)
    };
    schema().unwrap_or_default()
}

/// Returns what a part of a value may be.
fn below(schema: &Json, step: &CursorStep) -> Option<Json> {
    match step {
        CursorStep::Item => schema.get("items").cloned(),
        CursorStep::Key(key) => {
            let named = schema.get("properties").and_then(|keys| keys.get(key));
            named.or_else(|| schema.get("additionalProperties").filter(|values| values.is_object())).cloned()
        }
    }
}

/// Returns the schemas of which one holds.
fn alternatives(schema: &Json) -> Vec<Json> {
    if schema.get("$ref").is_some_and(|shared| shared == "#/definitions/schema") {
        return schemas().into();
    }
    match schema.get("anyOf").and_then(Json::as_array) {
        Some(all) => all.iter().flat_map(alternatives).collect(),
        None => vec![schema.clone()],
    }
}

/// The values of a key that takes a type: a short one, a list with the type of its items, or a JSON Schema.
fn schemas() -> [Json; 3] {
    let shared = json!({ "$ref": "#/definitions/schema" });
    [json!({ "enum": words::short_types() }), json!({ "type": "array", "items": shared }), schema_of_mapping()]
}

/// The keywords of a JSON Schema and what each takes.
fn schema_of_mapping() -> Json {
    let shared = json!({ "$ref": "#/definitions/schema" });
    let mut keywords = serde_json::Map::new();
    for word in KEYWORDS {
        let takes = match word {
            "type" => json!({ "enum": words::json_types() }),
            "properties" | "patternProperties" => json!({ "type": "object", "additionalProperties": shared }),
            "items" | "additionalProperties" | "not" => shared.clone(),
            "required" | "enum" | "allOf" | "anyOf" | "oneOf" => json!({ "type": "array" }),
            _ => json!({}),
        };
        keywords.insert(word.to_owned(), takes);
    }
    json!({ "type": "object", "properties": keywords })
}

fn words_of(schema: &Json) -> Vec<WordOffer> {
    let listed = schema.get("enum").and_then(Json::as_array).into_iter().flatten().filter_map(Json::as_str);
    let means = |at: usize| schema.pointer(&format!("/markdownEnumDescriptions/{at}")).and_then(Json::as_str).unwrap_or_default();
    let mut words: Vec<_> = listed.enumerate().map(|(at, word)| WordOffer { word: word.to_owned(), about: means(at).to_owned() }).collect();
    if schema.get("type").is_some_and(|kind| kind == "boolean") {
        words.extend(["true", "false"].map(|word| WordOffer { word: word.to_owned(), about: String::new() }));
    }
    words
}

fn about(schema: &Json) -> &str {
    schema.get("markdownDescription").and_then(Json::as_str).unwrap_or_default()
}

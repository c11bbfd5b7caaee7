//! The keys of every kind of file as JSON Schemas, for editors: the allowed keys and values, and their meaning.
//!
//! The schemas are of draft 7, which is the draft that YAML language servers read. They express rules about one value by itself; `trellis
//! check` checks the rest.
//!
//! **Invariant:** a schema knows exactly the keys that the decoder knows: both come from one table.

mod calls;
mod hosts;
mod node;
mod offers;
mod project;
mod types;

use serde_json::{Map, Value as Json, json};

pub use self::offers::{KeyOffer, WordOffer, form_at, keys_at, words_at};
use self::types::KeyShape;
use super::decode::Form;

/// The kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A node: the frontmatter of a Markdown file, or a YAML or JSON file.
    Node,
    /// A graph in one file: `nodes:`, and the keys of a project file.
    Graph,
    /// `trellis.yaml`.
    Project,
    /// A file of `tools` and nothing else.
    Library,
    /// `tools.yaml`, in the form of Go Trellis.
    Tools,
}

impl FileKind {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Node, Self::Graph, Self::Project, Self::Library, Self::Tools];

    /// Its name, as a word and in names of files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Node => "node",
            Self::Graph => "graph",
            Self::Project => "project",
            Self::Library => "library",
            Self::Tools => "tools",
        }
    }

    fn of(self) -> (&'static KeyFormTable, &'static str) {
        match self {
            Self::Node => (&node::NODE, "A node of a Trellis graph"),
            Self::Graph => (&project::PROJECT, "A Trellis graph in one file"),
            Self::Project => (&project::PROJECT, "trellis.yaml, what holds for a whole Trellis graph"),
            Self::Library => (&project::LIBRARY, "A library of tools for Trellis graphs"),
            Self::Tools => (&project::TOOLS, "tools.yaml, bound tools in the form of Go Trellis"),
        }
    }
}

/// The descriptions of the keys of one form.
struct KeyFormTable {
    form: &'static Form,
    /// The name and the description of the definition.
    name: &'static str,
    about: &'static str,
    /// Each key, its values, its meaning; a text that ends in [`DEFAULT`] and a value names its default.
    keys: &'static [(&'static str, KeyShape, &'static str)],
    /// Keys of which at least one is required.
    needs: &'static [&'static str],
}

/// The text before a default.
const DEFAULT: &str = " Without it: `";

/// Every form that others refer to.
const TABLES: [&KeyFormTable; 15] = [
    &node::NODE,
    &node::OPTION,
    &node::ON_INVALID,
    &node::MESSAGE,
    &node::SPEECH,
    &node::TRANSITION,
    &calls::CALL,
    &calls::BRANCH,
    &calls::RETRY,
    &calls::APPROVE,
    &calls::TOOL,
    &project::BINDING,
    &project::GO_TOOL,
    &project::PREDICATE,
    &project::LIMITS,
];

/// The JSON Schema of a kind of file.
pub fn schema(kind: FileKind) -> Json {
    let (table, title) = kind.of();
    let mut root = table.schema();
    let (keys, is_project) = (&mut root["properties"], matches!(kind, FileKind::Project));
    if let (Some(keys), true) = (keys.as_object_mut(), is_project) {
        keys.remove("nodes");
    }
    if kind == FileKind::Graph {
        root["required"] = json!(["nodes"]);
    }
    root["$schema"] = "http://json-schema.org/draft-07/schema#".into();
    root["title"] = title.into();
    root["definitions"] = Json::Object(definitions(&root));
    root
}

/// The definitions that a schema refers to, and those that these refer to.
fn definitions(root: &Json) -> Map<String, Json> {
    let all = TABLES.iter().map(|table| (table.name, table.schema())).chain(types::shared());
    let all: Map<String, Json> = all.map(|(name, schema)| (name.to_owned(), schema)).collect();
    let mut used = Map::new();
    let mut open = vec![root.to_string()];
    while let Some(text) = open.pop() {
        for (name, schema) in &all {
            if text.contains(&format!("\"#/definitions/{name}\"")) && !used.contains_key(name) {
                used.insert(name.clone(), schema.clone());
                open.push(schema.to_string());
            }
        }
    }
    used
}

impl KeyFormTable {
    fn schema(&self) -> Json {
        let mut keys = Map::new();
        for (key, takes, means) in self.keys {
            let mut schema = described(takes.schema(), means);
            if let Some((_, default)) = means.strip_suffix("`.").and_then(|means| means.split_once(DEFAULT)) {
                schema["default"] = default.parse::<u64>().map_or_else(|_| default.into(), Json::from);
            }
            keys.insert((*key).to_owned(), schema);
        }
        for (old, key) in self.form.aliases {
            if let Some((_, takes, _)) = self.keys.iter().find(|(name, ..)| name == key) {
                let mut schema = described(takes.schema(), &format!("The old name of `{key}`."));
                schema["deprecationMessage"] = format!("write `{key}`; `trellis fmt` does it").into();
                schema["doNotSuggest"] = true.into();
                keys.insert((*old).to_owned(), schema);
            }
        }
        let mut schema = json!({
            "type": "object",
            "properties": keys,
            "patternProperties": { "^x-": {} },
            "additionalProperties": false,
        });
        schema = described(schema, self.about);
        match self.needs {
            [] => {}
            [key] => schema["required"] = json!([key]),
            keys => schema["anyOf"] = keys.iter().map(|key| json!({ "required": [key] })).collect(),
        }
        schema
    }
}

/// A schema with its meaning, as Markdown and as plain text.
fn described(mut schema: Json, means: &str) -> Json {
    schema["description"] = means.replace('`', "").into();
    schema["markdownDescription"] = means.into();
    schema
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{super::decode::words, *};

    #[test]
    fn every_key_of_every_form_is_described_and_no_other() {
        for table in TABLES.into_iter().chain([&project::PROJECT, &project::LIBRARY, &project::TOOLS]) {
            let known: BTreeSet<_> = table.form.keys.iter().collect();
            let described: BTreeSet<_> = table.keys.iter().map(|(key, ..)| key).collect();
            assert_eq!(known, described, "{}", table.name);
            assert_eq!(described.len(), table.keys.len(), "{}: each once", table.name);
            for (old, key) in table.form.aliases {
                assert_eq!(table.schema()["properties"][old]["doNotSuggest"], true, "{old} of {key}");
            }
            let schema = table.schema();
            let accepted = schema["properties"].as_object().map_or(0, Map::len);
            assert_eq!(accepted, known.len() + table.form.aliases.len(), "{}: nothing else", table.name);
        }
    }

    #[test]
    fn a_form_inside_a_key_is_what_the_key_takes() {
        for table in TABLES.into_iter().chain([&project::PROJECT, &project::LIBRARY, &project::TOOLS]) {
            for (key, takes, _) in table.keys {
                let text = takes.schema().to_string();
                let inner = table.form.of_value(key).map(|inside| inside.form());
                let inner = inner.into_iter().flat_map(|form| [Some(form), form.items]).flatten();
                let named = TABLES.iter().filter(|inner| text.contains(&format!("\"#/definitions/{}\"", inner.name)));
                let named: Vec<_> = named.map(|inner| inner.form.name).collect();
                assert_eq!(named, inner.map(|form| form.name).collect::<Vec<_>>(), "`{key}` of {}", table.name);
            }
        }
    }

    #[test]
    fn every_word_that_a_key_takes_is_described() {
        for (key, words) in words::described() {
            for table in TABLES.into_iter().chain([&project::PROJECT]) {
                let Some((_, takes, _)) = table.keys.iter().find(|(name, ..)| *name == key) else { continue };
                assert_eq!(takes.schema()["enum"], json!(words), "`{key}` of {}", table.name);
            }
        }
    }

    #[test]
    fn descriptions_are_sentences() {
        for (key, _, means) in TABLES.into_iter().chain([&project::PROJECT]).flat_map(|table| table.keys) {
            assert!(means.ends_with('.') && means.starts_with(|first: char| first.is_uppercase() || first == '`'), "{key}: {means}");
            assert_eq!(means.matches('`').count() % 2, 0, "{key}: {means}");
        }
    }
}

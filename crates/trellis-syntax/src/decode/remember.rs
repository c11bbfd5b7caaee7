//! The memory and the needs of a node: `save_to`, `set`, `append`, contexts, `assert`.

use super::Decoder;
use crate::{
    node::{AssignSyntax, NodeSyntax},
    tree::{YamlEntry, YamlNode},
};
use trellis_base::{
    path::{KeyPath, Segment},
    span::Spanned,
    value::{Key, Value},
};

impl<'t> Decoder<'t, '_> {
    /// Decodes one of the keys that write to the context or ask something of it.
    pub(super) fn remember(&mut self, node: &mut NodeSyntax, key: &'static str, entry: &YamlEntry<'t>) {
        let value = &entry.value;
        match key {
            "save_to" => node.save_to = self.saved(key, value),
            "set" => node.set = self.assignments(key, value).into(),
            "append" => node.append = self.assignments(key, value).into(),
            "default_context" => node.default_context = self.assignments(key, value).into(),
            "required_context" => node.required_context = self.paths(key, value).into(),
            "context_schema" => node.context_schema = self.context_types(key, value).into(),
            _ => {
                let items = self.list(key, "a list of conditions", value).unwrap_or_default();
                node.asserts = items.iter().filter_map(|item| self.condition(key, item)).collect();
            }
        }
    }

    /// `save_to`.
    pub(super) fn saved(&mut self, key: &str, value: &YamlNode<'t>) -> Option<Spanned<KeyPath>> {
        self.str(key, value).and_then(|text| self.written_path(text, value.span))
    }

    /// `set`, `append` or `default_context`.
    pub(super) fn assignments(&mut self, key: &str, value: &YamlNode<'t>) -> Vec<AssignSyntax> {
        let entries = self.mapping(key, "a mapping from keys to values", value).unwrap_or_default();
        let assignment = |entry: &YamlEntry<'t>| {
            let path = self.written_path(&entry.key, entry.span);
            let value = self.shape(false, &entry.value);
            Some(AssignSyntax { key: path?, value })
        };
        entries.iter().filter_map(assignment).collect()
    }

    /// Keys and their types, as JSON Schemas.
    pub(super) fn context_types(&mut self, key: &str, value: &YamlNode<'t>) -> Vec<(Spanned<Key>, Spanned<Value>)> {
        let entries = self.mapping(key, "a mapping from keys to types", value).unwrap_or_default();
        let typed = |entry: &YamlEntry<'t>| {
            let schema = self.schema(&entry.key, &entry.value);
            let key = self.key(&entry.key, entry.span, declared)?;
            if self.is_reserved(&key.value, key.span) {
                return None;
            }
            Some((key, schema?))
        };
        entries.iter().filter_map(typed).collect()
    }
}

/// Returns advice on declaring the type of a part of a key.
fn declared(path: &KeyPath) -> String {
    let (root, rest) = (path.root(), path.rest());
    match rest {
        [Segment::Key(part)] => format!("declare the whole key: `{root}: {{ type: object, properties: {{ {part}: … }} }}`"),
        _ => format!("declare the whole key: `{root}: {{ type: object, properties: {{ … }} }}`"),
    }
}

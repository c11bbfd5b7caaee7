//! `tools:`: definitions in place, names of bound tools, libraries (language 1.7, 5.1).

use super::{
    Decoder, Form,
    act::{EFFECTS, RETRY},
    form::Inside,
};
use crate::{
    node::{ToolRef, ToolSyntax},
    tree::{YamlData, YamlEntry, YamlNode},
};
use trellis_base::span::Span;

/// The keys of a tool's contract.
pub(super) const CONTRACT: [&str; 6] = ["description", "parameters", "returns", "effect", "timeout", "retry"];

pub(crate) static TOOL: Form = Form {
    inside: &[("retry", Inside::One(&RETRY))],
    aliases: &[("output_schema", "returns")],
    elsewhere: &[
        ("input_schema", Some("parameters"), "write `parameters`"),
        ("inputSchema", Some("parameters"), "write `parameters`"),
        ("undo", None, "it stands on the node, beside the `do` that calls the tool"),
        ("args", None, "a tool declares its arguments in `parameters`, a JSON Schema"),
        ("process", None, "how a tool is carried out stands under `bindings` in `trellis.yaml`"),
        ("command", None, "how a tool is carried out stands under `bindings` in `trellis.yaml`"),
    ],
    ..Form::new("a tool", &["name", "description", "effect", "timeout", "retry", "parameters", "returns"])
};

/// The keys of a library (language 1.2).
pub(crate) static LIBRARY: Form = Form { inside: &[("tools", Inside::Each(&TOOL))], ..Form::new("a library", &["tools"]) };

/// Returns whether a file holds `tools` and nothing else (language 1.2).
pub(crate) fn is_library(entries: &[YamlEntry<'_>]) -> bool {
    entries.iter().any(|entry| entry.key == "tools") && entries.iter().all(|entry| entry.key == "tools" || entry.key.starts_with("x-"))
}

impl<'t> Decoder<'t, '_> {
    /// Decodes `tools:`.
    pub(crate) fn tools(&mut self, value: &YamlNode<'t>) -> Vec<ToolRef> {
        let items = self.list("tools", "a list of tools", value).unwrap_or_default();
        items.iter().filter_map(|item| self.tool_ref(item)).collect()
    }

    fn tool_ref(&mut self, item: &YamlNode<'t>) -> Option<ToolRef> {
        if let YamlData::Map(entries) = &item.data {
            let mut tool = empty(item.span);
            self.each(entries, &TOOL, |decoder, key, entry| match key {
                // One that is empty is `nameless-tool`, which the compiler reports.
                "name" => tool.name = decoder.text(key, &entry.value).filter(|name| !name.value.trim().is_empty()),
                _ => decoder.contract(&mut tool, key, entry),
            });
            return Some(ToolRef::Inline(tool));
        }
        if matches!(item.data, YamlData::List(_)) {
            self.wrong_type("tools", "definitions, names and libraries", item);
        }
        let name = matches!(item.data, YamlData::Scalar(..)).then(|| self.name("tools", item))??;
        Some(if is_path(&name.value) { ToolRef::Library(name) } else { ToolRef::Name(name) })
    }

    /// Decodes one key of a tool's contract.
    pub(super) fn contract(&mut self, tool: &mut ToolSyntax, key: &'static str, entry: &YamlEntry<'t>) {
        let value = &entry.value;
        match key {
            "description" => tool.description = self.text(key, value).map(|text| text.value),
            "parameters" => tool.parameters = self.schema(key, value),
            "returns" => tool.returns = self.schema(&entry.key, value),
            "effect" => tool.effect = self.one_of(key, &EFFECTS, value),
            "timeout" => tool.timeout = self.duration(key, false, value),
            _ => tool.retry = self.retry(value),
        }
    }
}

/// Returns whether a reference names a file: anything with `/` or the extension of a file that can hold tools.
fn is_path(name: &str) -> bool {
    let extension = name.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase());
    name.contains('/') || extension.is_some_and(|extension| matches!(&*extension, "md" | "yaml" | "yml" | "json"))
}

/// A tool without any keys.
pub(super) fn empty(span: Span) -> ToolSyntax {
    ToolSyntax { span, name: None, description: None, parameters: None, returns: None, effect: None, timeout: None, retry: None }
}

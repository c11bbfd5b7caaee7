//! Bound tools: `bindings:` in `trellis.yaml`, and `tools.yaml` in the form of Go Trellis.

use super::{
    Decoder, Form,
    act::RETRY,
    form::Inside,
    tools::{CONTRACT, empty},
};
use crate::{
    node::ToolSyntax,
    project::{BindingSyntax, HostConfig, ProjectSyntax},
    tree::{YamlData, YamlEntry, YamlNode},
};
use trellis_base::{
    diagnostic::Code,
    language::Effect,
    span::{Span, Spanned},
    value::Value,
};

/// The keys that a host reads.
const HOST: [&str; 8] = ["process", "http", "mcp", "model", "function", "env", "cwd", "grace"];

pub(crate) static BINDING: Form = Form {
    aliases: &[("output_schema", "returns")],
    inside: &[("retry", Inside::One(&RETRY))],
    elsewhere: &[
        ("undo", None, "it stands on the node, beside the `do` that calls the tool"),
        ("command", None, "write `process: [command, argument, …]`"),
        ("run", None, "write `process: [command, argument, …]`"),
        ("script", None, "write `process: [command, argument, …]`"),
    ],
    ..Form::new(
        "a binding",
        &[
            "process",
            "function",
            "http",
            "mcp",
            "model",
            "builtin",
            "compute",
            "env",
            "cwd",
            "grace",
            "output_limit",
            "folder",
            "files",
            "database",
            "init",
            "sql",
            "write",
            "one",
            "space",
            "store",
            "default",
            "workspace",
            "allow",
            "block",
            "least",
            "chain",
            "args",
            "rate",
            "abreast",
            "max_wait",
            "description",
            "effect",
            "timeout",
            "retry",
            "parameters",
            "returns",
        ],
    )
};

pub(crate) static GO_TOOL: Form = Form {
    inside: &[("retry", Inside::One(&RETRY))],
    aliases: &[("output_schema", "returns"), ("input_schema", "parameters"), ("environment", "env")],
    ..Form::new(
        "a tool of `tools.yaml`",
        &[
            "name",
            "command",
            "args",
            "process",
            "http",
            "mcp",
            "model",
            "function",
            "env",
            "cwd",
            "grace",
            "output_limit",
            "description",
            "effect",
            "timeout",
            "retry",
            "parameters",
            "returns",
        ],
    )
};

pub(crate) static GO_FILE: Form = Form { inside: &[("tools", Inside::Each(&GO_TOOL))], ..Form::new("`tools.yaml`", &["tools"]) };

/// Returns whether some tool of a file declares its execution: then the file holds bindings, not a library.
pub(crate) fn has_bindings(entries: &[YamlEntry<'_>]) -> bool {
    let says_how = |tool: &YamlNode<'_>| matches!(&tool.data, YamlData::Map(keys) if keys.iter().any(|entry| entry.key == "command" || HOST.contains(&&*entry.key)));
    entries.iter().any(|entry| match &entry.value.data {
        YamlData::List(tools) => tools.iter().any(says_how),
        YamlData::Map(tools) => tools.iter().any(|tool| says_how(&tool.value)),
        _ => false,
    })
}

impl<'t> Decoder<'t, '_> {
    /// Decodes `bindings:`.
    pub(super) fn bindings(&mut self, value: &YamlNode<'t>) -> Vec<BindingSyntax> {
        let entries = self.mapping("bindings", "a mapping from tools to bindings", value).unwrap_or_default();
        entries.iter().filter_map(|entry| self.binding(entry)).collect()
    }

    fn binding(&mut self, entry: &YamlEntry<'t>) -> Option<BindingSyntax> {
        let keys = match &entry.value.data {
            YamlData::Map(keys) => keys.as_slice(),
            _ if entry.value.is_null() => &[],
            _ => {
                self.wrong_type_with(
                    &entry.key,
                    "a binding, which is a mapping",
                    &entry.value,
                    "write `{ process: [command] }`, `{ function: {} }` …",
                );
                return None;
            }
        };
        let mut binding = self.new_binding(entry.value.span);
        binding.tool.name = Some(Spanned::new(entry.key.as_ref().into(), entry.span));
        let seen = self.each(keys, &BINDING, |decoder, key, entry| decoder.binding_key(&mut binding, key, entry));
        self.check_kind(&seen, keys, &binding.config);
        self.check_write(&binding);
        Some(binding)
    }

    /// A query that writes leaves something behind (language 9.26).
    fn check_write(&mut self, binding: &BindingSyntax) {
        if let (Some(Value::Bool(true)), Some(effect)) = (binding.config.get("write"), &binding.tool.effect)
            && effect.value == Effect::None
        {
            let message = "a query with `write: true` has an effect, and `effect` says `none`";
            self.find_with(Code::WrongType, effect.span, message, "write `effect: undoable` or `irreversible`, or take it out");
        }
    }

    fn new_binding(&self, span: Span) -> BindingSyntax {
        let tool: ToolSyntax = empty(span);
        BindingSyntax { tool, config: self.new_config() }
    }

    /// Creates an empty configuration of this file.
    pub(super) fn new_config(&self) -> HostConfig {
        HostConfig { path: self.report.path.clone(), ..HostConfig::default() }
    }

    fn binding_key(&mut self, binding: &mut BindingSyntax, key: &'static str, entry: &YamlEntry<'t>) {
        if CONTRACT.contains(&key) {
            self.contract(&mut binding.tool, key, entry);
        } else {
            self.host_key(&mut binding.config, key, entry);
        }
    }

    /// Decodes `tools.yaml` (language 1): `tools` as a list, or as a mapping by name.
    pub(crate) fn tools_file(&mut self, entries: &[YamlEntry<'t>]) -> ProjectSyntax {
        let mut project = ProjectSyntax { host: self.new_config(), ..ProjectSyntax::default() };
        self.each(entries, &GO_FILE, |decoder, _, entry| match &entry.value.data {
            YamlData::List(tools) => project.bindings = tools.iter().filter_map(|tool| decoder.go_tool(None, tool)).collect(),
            YamlData::Map(tools) => {
                let named = |tool: &YamlEntry<'t>| decoder.go_tool(Some((&tool.key, tool.span)), &tool.value);
                project.bindings = tools.iter().filter_map(named).collect();
            }
            _ => decoder.wrong_type("tools", "a list of tools", &entry.value),
        });
        project
    }

    fn go_tool(&mut self, name: Option<(&str, Span)>, value: &YamlNode<'t>) -> Option<BindingSyntax> {
        let entries = self.mapping("tools", "tools, which are mappings", value)?;
        let mut binding = self.new_binding(value.span);
        binding.tool.name = name.map(|(name, span)| Spanned::new(name.into(), span));
        let (mut command, mut arguments) = (None, None);
        let seen = self.each(entries, &GO_TOOL, |decoder, key, entry| match key {
            "name" => binding.tool.name = decoder.name(key, &entry.value),
            "command" => command = Some(entry),
            "args" => arguments = Some(entry),
            _ => decoder.binding_key(&mut binding, key, entry),
        });
        let words = command.into_iter().chain(arguments).flat_map(|entry| match &entry.value.data {
            YamlData::List(items) => items.iter().map(|item| (&*entry.key, item)).collect(),
            _ => vec![(&*entry.key, &entry.value)],
        });
        let mut process = Vec::new();
        for (key, word) in words.collect::<Vec<_>>() {
            if let Some(text) = self.text(key, word) {
                binding.config.spans.insert(format!("process.{}", process.len()), text.span);
                process.push(Value::Text(text.value));
            }
        }
        if let Some(command) = command {
            binding.config.spans.insert("process".into(), command.value.span);
            binding.config.values.insert("process".into(), process.into());
        }
        if binding.tool.name.is_none() {
            if seen.lacks(&["name"]) {
                self.find_with(Code::NamelessTool, self.head(value), "the tool has no name", "add `name:`");
            }
            return None;
        }
        Some(binding)
    }
}

//! `trellis.yaml`, and its keys beside `nodes:` (language 1).

use super::{
    Decoder, Form,
    act::{CALL, RETRY},
    bindings::BINDING,
    form::Inside,
    node::NODE,
    schema_keys::schema_keys,
};
use crate::{
    node::NodeSyntax,
    project::{DEEPEST, LimitsSyntax, PredicateAnswer, PredicateSyntax, ProjectSyntax},
    text::shown,
    tree::{YamlData, YamlEntry, YamlNode},
};
use trellis_base::{
    diagnostic::{Code, Severity},
    language::MOST_ABREAST,
    span::Spanned,
    template::Dialect,
};

pub(crate) static PROJECT: Form = Form {
    inside: &[
        ("retry", Inside::One(&RETRY)),
        ("before_each", Inside::One(&CALL)),
        ("predicates", Inside::Each(&PREDICATE)),
        ("limits", Inside::One(&LIMITS)),
        ("bindings", Inside::Each(&BINDING)),
        ("nodes", Inside::Each(&NODE)),
    ],
    elsewhere: &[
        ("tools", None, "bound tools stand under `bindings`, by their name"),
        ("output_schema", None, "it belongs to a call or a tool, as `returns`"),
        ("version", None, "a project has no version: remove it, or write `x-version`"),
        ("description", None, "write it as a comment, or as `x-description`"),
    ],
    ..Form::new(
        "a project",
        &[
            "name",
            "templates",
            "locale",
            "inputs",
            "context",
            "redact",
            "on_error",
            "retry",
            "on_signal_default",
            "before_each",
            "on_rolled_back",
            "predicates",
            "limits",
            "severity",
            "bindings",
            "servers",
            "models",
            "policy",
            "budget",
            "nodes",
        ],
    )
};

pub(crate) static PREDICATE: Form = Form::new("a predicate", &["needs", "schema", "binding"]);

pub(crate) static LIMITS: Form = Form::new(
    "`limits`",
    &[
        "input",
        "depth",
        "value",
        "context",
        "template_output",
        "template_fuel",
        "pass_through",
        "tool_output",
        "tool_stderr",
        "effects",
        "abreast",
        "parts",
        "parts_output",
        "children",
        "nested_children",
    ],
);

pub(super) const DIALECTS: [(&str, Dialect); 3] = [("jinja", Dialect::Jinja), ("go", Dialect::Go), ("legacy", Dialect::Legacy)];

impl<'t> Decoder<'t, '_> {
    /// Decodes a project; `nodes` are read where `with_nodes` allows them. The file's own `templates` holds for all of it.
    pub(crate) fn project(&mut self, entries: &[YamlEntry<'t>], with_nodes: bool) -> (ProjectSyntax, Vec<NodeSyntax>) {
        let templates = entries.iter().find(|entry| entry.key == "templates").and_then(|entry| Self::spelled(&entry.value));
        if let Some((_, dialect)) = templates.and_then(|text| DIALECTS.iter().find(|(name, _)| name == text)) {
            self.dialect = *dialect;
        }
        let mut project = ProjectSyntax { host: self.new_config(), ..ProjectSyntax::default() };
        let mut nodes = Vec::new();
        self.each(entries, &PROJECT, |decoder, key, entry| match key {
            "nodes" if with_nodes => nodes = decoder.nodes(&entry.value),
            "nodes" => decoder.find_with(
                Code::UnknownKey,
                entry.span,
                "`nodes` is no key of `trellis.yaml`",
                "nodes are the files beside it; a graph in one file has another name",
            ),
            _ => decoder.project_key(&mut project, key, entry),
        });
        (project, nodes)
    }

    fn project_key(&mut self, project: &mut ProjectSyntax, key: &'static str, entry: &YamlEntry<'t>) {
        let value = &entry.value;
        match key {
            "name" => project.name = self.name(key, value),
            "templates" => project.templates = self.one_of(key, &DIALECTS, value),
            "inputs" => project.inputs = self.schema(key, value),
            "context" => project.context = self.context_types(key, value),
            "predicates" => project.predicates = self.predicates(value),
            "bindings" => project.bindings = self.bindings(value),
            "servers" | "models" | "policy" | "budget" => self.setting(&mut project.host, key, entry),
            "limits" => project.limits = self.limits(value),
            "redact" => project.redact = self.paths(key, value),
            "locale" => {
                project.locale = self.str(key, value).and_then(|name| {
                    self.key(name, value.span, |path| format!("keep the locale in a key without dots, such as `{}`", path.root()))
                })
            }
            "severity" => project.severity = self.severities(value),
            "on_error" => project.defaults.on_error = self.target(key, entry),
            "retry" => project.defaults.retry = self.retry(value),
            _ => self.default(&mut project.defaults, key, entry),
        }
    }

    fn nodes(&mut self, value: &YamlNode<'t>) -> Vec<NodeSyntax> {
        let YamlData::Map(entries) = &value.data else {
            self.wrong_type_with("nodes", "a mapping from ids to nodes", value, "write each node under its id");
            return Vec::new();
        };
        let node = |entry: &YamlEntry<'t>| {
            if entry.value.is_null() {
                self.find_with(
                    Code::MissingValue,
                    entry.span,
                    format!("the node `{}` is empty", shown(&entry.key)),
                    "a node that only ends is `{}`",
                );
                return unread(entry);
            }
            let Some(entries) = self.mapping(&entry.key, "a node, which is a mapping", &entry.value) else { return unread(entry) };
            let mut node = self.node(entries, entry.value.span);
            let id = Spanned::new(entry.key.as_ref().into(), entry.span);
            node.id.get_or_insert(Box::new(id));
            node
        };
        entries.iter().map(node).collect()
    }

    fn predicates(&mut self, value: &YamlNode<'t>) -> Vec<PredicateSyntax> {
        match &value.data {
            YamlData::List(names) => {
                let names = names.iter().filter_map(|name| self.name("predicates", name));
                let of_host = |name| PredicateSyntax { name, answer: PredicateAnswer::Host { needs: Vec::new() }, keys: Vec::new() };
                names.map(of_host).collect()
            }
            YamlData::Map(entries) => entries.iter().filter_map(|entry| self.predicate(entry)).collect(),
            _ => {
                self.wrong_type("predicates", "a list of names, or a mapping from names to declarations", value);
                Vec::new()
            }
        }
    }

    fn predicate(&mut self, entry: &YamlEntry<'t>) -> Option<PredicateSyntax> {
        let name = Spanned::new(entry.key.as_ref().into(), entry.span);
        let (mut needs, mut schema, mut tool) = (None, None, None);
        let mut keys = Vec::new();
        if !entry.value.is_null() {
            let help = "write `{ needs: [key] }`, `{ schema: … }` or `{ binding: … }`";
            let YamlData::Map(entries) = &entry.value.data else {
                self.wrong_type_with(&entry.key, "a declaration", &entry.value, help);
                return None;
            };
            let seen = self.each(entries, &PREDICATE, |decoder, key, entry| match key {
                "needs" => needs = Some(decoder.paths(key, &entry.value)),
                "schema" => {
                    schema = decoder.schema(key, &entry.value);
                    keys = schema_keys(&entry.value);
                }
                _ => tool = decoder.name(key, &entry.value),
            });
            if let [(first, at), (second, span), ..] = seen.keys[..]
                && seen.has("schema")
            {
                let found =
                    self.finding(Code::DuplicateKey, span, format!("`{first}` and `{second}` exclude each other: one of them answers"));
                let path = self.report.path.clone();
                self.report.push(found.label(&path, at, "first here").help("keep one of them"));
            }
        }
        let answer = match (tool, schema) {
            (Some(tool), _) => PredicateAnswer::Binding { tool, needs },
            (None, Some(schema)) => PredicateAnswer::Schema(schema),
            (None, None) => PredicateAnswer::Host { needs: needs.unwrap_or_default() },
        };
        Some(PredicateSyntax { name, answer, keys })
    }

    fn limits(&mut self, value: &YamlNode<'t>) -> LimitsSyntax {
        let mut limits = LimitsSyntax::default();
        let entries = self.mapping("limits", "a mapping from limits to numbers", value).unwrap_or_default();
        self.each(entries, &LIMITS, |decoder, key, entry| {
            let most = match key {
                "depth" => u64::from(DEEPEST),
                "abreast" => u64::from(MOST_ABREAST),
                _ => u64::MAX,
            };
            let number = decoder.integer(key, 1, most, &entry.value).map(|number| number.value);
            match key {
                "input" => limits.input = number,
                "depth" => limits.depth = number,
                "value" => limits.value = number,
                "context" => limits.context = number,
                "template_output" => limits.template_output = number,
                "template_fuel" => limits.template_fuel = number,
                "pass_through" => limits.pass_through = number,
                "tool_output" => limits.tool_output = number,
                "tool_stderr" => limits.tool_stderr = number,
                "effects" => limits.effects = number,
                "abreast" => limits.abreast = number,
                "parts" => limits.parts = number,
                "parts_output" => limits.parts_output = number,
                "children" => limits.children = number,
                _ => limits.nested_children = number,
            }
        });
        limits
    }

    fn severities(&mut self, value: &YamlNode<'t>) -> Vec<(Spanned<Code>, Option<Severity>)> {
        let words = [("error", Some(Severity::Error)), ("warning", Some(Severity::Warning)), ("info", Some(Severity::Info)), ("off", None)];
        let entries = self.mapping("severity", "a mapping from codes to `error`, `warning`, `info` or `off`", value).unwrap_or_default();
        let severity = |entry: &YamlEntry<'t>| {
            let severity = self.one_of(&entry.key, &words, &entry.value);
            let Some(code) = Code::named(&entry.key) else {
                let near = self.near(&entry.key, Code::ALL.iter().map(|code| code.as_str()));
                let found = self.finding(Code::UnknownKey, entry.span, format!("`{}` is no code of a diagnostic", shown(&entry.key)));
                self.report.push(found.meant(entry.span, near, || "`trellis explain` lists them".into()));
                return None;
            };
            let severity = severity?;
            if !code.is_tolerable() && severity.value != Some(Severity::Error) {
                let message = format!("`{code}` is always an error: with one there is nothing that could run");
                self.find_with(Code::WrongType, severity.span, message, format!("`trellis explain {code}` says how to fix it"));
                return None;
            }
            Some((Spanned::new(code, entry.span), severity.value))
        };
        entries.iter().filter_map(severity).collect()
    }
}

/// A node whose value could not be read.
fn unread(entry: &YamlEntry<'_>) -> NodeSyntax {
    let span = entry.span.to(entry.value.span);
    let id = Some(Box::new(Spanned::new(entry.key.as_ref().into(), entry.span)));
    NodeSyntax { span, id, has_matter: true, is_unclear: true, ..NodeSyntax::default() }
}

//! Kinds of bindings, and the keys that each of them knows (language 9.1, 9.24).

use super::{Decoder, form::SeenKeys};
use crate::{
    builtin::{BUILTINS, BuiltinTool},
    project::HostConfig,
    text::shown,
    tree::{YamlData, YamlEntry},
};
use trellis_base::{diagnostic::Code, span::Span};

/// The kinds of bindings; a binding has at most one.
pub(super) const KINDS: [&str; 7] = ["process", "function", "http", "mcp", "model", "builtin", "compute"];

/// Keys beside a kind, with the kinds that know them.
const BESIDE: [(&str, &[&str]); 5] = [
    ("env", &["process"]),
    ("cwd", &["process"]),
    ("grace", &["process"]),
    ("output_limit", &["process"]),
    ("args", &["mcp", "model", "builtin"]),
];

/// The keys beside `builtin:`; each builtin knows some of them.
pub(super) const OF_BUILTINS: [&str; 15] = [
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
];

impl<'t> Decoder<'t, '_> {
    /// Reports a second kind, a builtin that does not exist, and keys that a kind does not know.
    pub(super) fn check_kind(&mut self, seen: &SeenKeys, keys: &[YamlEntry<'t>], config: &HostConfig) {
        let mut kinds = seen.keys.iter().filter(|(key, _)| KINDS.contains(key));
        let kind = kinds.next();
        if let (Some((first, at)), Some((second, span))) = (kind, kinds.next()) {
            let message = format!("`{first}` and `{second}` exclude each other: a binding is carried out in one way");
            let path = self.report.path.clone();
            let found = self.finding(Code::WrongType, *span, message).label(&path, *at, "first here");
            self.report.push(found.help("keep one of them"));
            return;
        }
        if kind.is_none() && seen.unknown {
            return;
        }
        let kind = kind.map(|(kind, _)| *kind);
        let builtin = if kind == Some("builtin") { self.builtin(config) } else { None };
        for (key, span) in &seen.keys {
            self.check_beside(key, *span, kind, builtin);
        }
        if matches!(kind, Some("http" | "mcp" | "model" | "builtin")) && (kind == Some("http") || seen.has("args")) {
            self.check_parameter_names(keys);
        }
        if kind == Some("model")
            && let Some(span) = config.spans.get("model.args")
        {
            self.find_with(Code::MisplacedKey, *span, "`args` means nothing inside `model`", "write it beside `model`");
        }
    }

    /// The builtin that a binding names, or a finding.
    fn builtin(&mut self, config: &HostConfig) -> Option<&'static BuiltinTool> {
        let written = config.get("builtin")?;
        let span = config.span("builtin")?;
        let Some(name) = written.as_str() else {
            self.find_with(Code::WrongType, span, "`builtin` takes the name of a builtin", "write `builtin: documents.search`");
            return None;
        };
        let known = BuiltinTool::find(name);
        if known.is_none() {
            let near = self.near(name, BUILTINS.iter().map(|builtin| builtin.name));
            let found = self.finding(Code::WrongType, span, format!("there is no builtin `{}`", shown(name)));
            let all = || BUILTINS.iter().map(|builtin| format!("`{}`", builtin.name)).collect::<Vec<_>>().join(", ");
            self.report.push(found.meant(span, near, || format!("there are {}", all())));
        }
        known
    }

    fn check_beside(&mut self, key: &'static str, span: Span, kind: Option<&str>, builtin: Option<&BuiltinTool>) {
        if let Some((_, kinds)) = BESIDE.iter().find(|(name, _)| *name == key) {
            if kind.is_none_or(|kind| !kinds.contains(&kind)) {
                let help = match (key, kind) {
                    ("args", Some("process")) => "write `process: [command, argument, …]`".to_owned(),
                    _ => format!("it belongs beside `{}`", kinds.join("`, `")),
                };
                self.find_with(Code::MisplacedKey, span, format!("`{key}` means nothing here"), help);
            }
        } else if OF_BUILTINS.contains(&key) {
            let with = || {
                let known = BUILTINS.iter().filter(|builtin| builtin.config.contains(&key));
                format!("it belongs beside `builtin: {}`", known.map(|builtin| builtin.name).collect::<Vec<_>>().join("`, `"))
            };
            let knows = match builtin {
                Some(builtin) => builtin.config.contains(&key),
                // A builtin that is not known may know it.
                None => kind == Some("builtin"),
            };
            if !knows {
                self.find_with(Code::MisplacedKey, span, format!("`{key}` means nothing here"), with());
            }
        }
    }

    /// A parameter named `call` cannot be read where templates are.
    fn check_parameter_names(&mut self, keys: &[YamlEntry<'t>]) {
        let entry = |entries: &[YamlEntry<'t>], name: &str| entries.iter().position(|entry| entry.key == name);
        let Some(parameters) = entry(keys, "parameters").map(|at| &keys[at].value.data) else { return };
        let YamlData::Map(schema) = parameters else { return };
        let Some(YamlData::Map(properties)) = entry(schema, "properties").map(|at| &schema[at].value.data) else { return };
        if let Some(at) = entry(properties, "call") {
            let message = "`call` holds the ids of the call in templates: no argument can have this name";
            self.find_with(Code::ReservedNamespace, properties[at].span, message, "give it another name");
        }
    }
}

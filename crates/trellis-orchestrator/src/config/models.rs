//! `providers` and `roles`: models of this workspace, which stand before those of the same name in the graph (orchestrator 1.4, 5.1).
//!
//! They are written as in a project file, but for secrets, which are named as everywhere in this file, and for the names of the source, which need
//! no address.

use std::{collections::BTreeMap, env, path::Path};

use serde_json::{Value as Json, json};
use trellis_core::{
    Code, Diagnostic, Dialect, Document, Mapping, Source, Value, diagnostic::FilePath, span::Span, syntax::document::Content,
    syntax::project::HostConfig,
};
use trellis_host::{Secrets, binding::HostModels};

use super::reader::Reader;

/// Names of the source, with the key that each of them stands for.
const KNOWN: [(&str, &str, &str); 4] = [
    ("openrouter", "openai", "https://openrouter.ai/api/v1"),
    ("phi4_local", "openai", "http://127.0.0.1:8080/v1"),
    ("claude_code", "headless", "claude"),
    ("chatgpt", "headless", "codex"),
];
/// Keys that say how a model is reached.
const KINDS: [&str; 4] = ["openai", "process", "scripted", "headless"];
/// The beginning of the names that stand for variables.
const VARIABLE_PREFIX: &str = "variable.";

/// A local model that is started with the services, and supervised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartedModel {
    /// The name of its provider.
    pub provider: String,
    /// Its address, which answers `GET /models` once it is healthy.
    pub base: String,
    /// The command and its arguments.
    pub command: Vec<String>,
}

/// A program with a model of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeadlessModel {
    /// The name of its provider.
    pub provider: String,
    /// The program.
    pub program: String,
}

/// The models of a workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelSettings {
    /// The path of their file.
    path: Option<FilePath>,
    /// The `models` of a project file, as JSON.
    text: String,
    spans: BTreeMap<String, Span>,
    /// Variables that hold keys, by the names of the secrets that stand for them.
    variables: BTreeMap<String, String>,
    /// Models that are started.
    pub started: Vec<StartedModel>,
    /// Programs with models of their own.
    pub headless: Vec<HeadlessModel>,
}

impl ModelSettings {
    /// Returns true if there are none.
    pub fn is_empty(&self) -> bool {
        self.path.is_none()
    }

    /// The models for a host; relative paths begin at `folder`. `None` if there are none.
    pub fn models(&self, folder: &Path) -> Option<HostModels> {
        let path = self.path.clone()?;
        let document = Document::parse(&Source::text("trellis.yaml", &self.text), Dialect::default());
        let (Content::Project(project) | Content::Nodes(_, project)) = document.content else { return None };
        let config = HostConfig { path, spans: self.spans.clone(), ..project.host };
        Some(HostModels::new(config, folder))
    }

    /// The variables that hold keys.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.variables.values().map(String::as_str)
    }

    /// The variables that hold keys, as secrets.
    pub fn secrets(&self) -> Secrets {
        let variables = self.variables.clone();
        Secrets::new(move |name| variables.get(name).and_then(|variable| env::var(variable).ok()).filter(|value| !value.is_empty()))
    }
}

/// Reads both sections.
pub(super) fn read(reader: &mut Reader<'_>) -> ModelSettings {
    let mut settings = ModelSettings::default();
    let mut sections = serde_json::Map::new();
    for section in ["providers", "roles"] {
        let entries = match reader.config.get(section) {
            None | Some(Value::Null) => continue,
            Some(Value::Map(entries)) => entries,
            Some(other) => {
                let message = format!("`{section}` takes a mapping by name, not {}", super::reader::with_article(other.kind()));
                reader.report(section, message, &format!("write `{section}: {{ NAME: … }}`"));
                continue;
            }
        };
        let written = entries.iter().map(|(name, value)| {
            let value = if section == "providers" { provider(reader, &mut settings, name, value) } else { json_of(value) };
            (name.to_string(), value)
        });
        sections.insert(section.to_owned(), Json::Object(written.collect()));
    }
    if sections.is_empty() {
        return settings;
    }
    settings.path = Some(FilePath::clone(&reader.config.path));
    settings.text = json!({ "models": sections }).to_string();
    let of_models = |(place, span): (&String, &Span)| {
        let is_here = ["providers", "roles"].iter().any(|section| place == section || place.starts_with(&format!("{section}.")));
        is_here.then(|| (format!("models.{place}"), *span))
    };
    settings.spans = reader.config.spans.iter().filter_map(of_models).collect();
    let found = settings.models(Path::new("")).map(|models| models.check()).unwrap_or_default();
    reader.found.extend(found.into_iter().map(without_models));
    settings
}

/// A finding of this file, in which `models` is no key.
pub(crate) fn without_models(mut finding: Diagnostic) -> Diagnostic {
    finding.message = finding.message.replace("`models.", "`");
    finding.help = finding.help.map(|help| help.replace("`models.", "`"));
    finding
}

/// A provider as a project file has it.
fn provider(reader: &mut Reader<'_>, settings: &mut ModelSettings, name: &str, value: &Value) -> Json {
    let place = format!("providers.{name}");
    let empty = Mapping::default();
    let keys = match value {
        Value::Map(keys) => keys,
        Value::Null => &empty,
        // The finding of the host names the kinds that it takes.
        other => return json_of(other),
    };
    let mut written: serde_json::Map<String, Json> = keys.iter().map(|(key, value)| (key.to_string(), json_of(value))).collect();
    if !KINDS.iter().any(|kind| keys.contains(kind))
        && let Some((_, kind, value)) = KNOWN.iter().find(|(known, ..)| *known == name)
    {
        written.insert((*kind).to_owned(), json!(value));
    }
    if let Some(program) = written.get("headless").and_then(Json::as_str) {
        settings.headless.push(HeadlessModel { provider: name.to_owned(), program: program.to_owned() });
    }
    if let Some(key) = keys.get("key") {
        written.insert("key".to_owned(), Json::String(secret(reader, settings, &format!("{place}.key"), key)));
    }
    for section in ["headers", "env"] {
        if let Some(Value::Map(entries)) = keys.get(section) {
            let filled = entries.iter().map(|(key, value)| {
                let value = match value {
                    Value::Map(_) => Json::String(secret(reader, settings, &format!("{place}.{section}.{key}"), value)),
                    plain => json_of(plain),
                };
                (key.to_string(), value)
            });
            written.insert(section.to_owned(), Json::Object(filled.collect()));
        }
    }
    if let Some(start) = keys.get("start") {
        written.remove("start");
        let command = start_command(reader, &format!("{place}.start"), start);
        let base = written.get("openai").and_then(Json::as_str).map(str::to_owned);
        match (command, base) {
            (Some(command), Some(base)) => settings.started.push(StartedModel { provider: name.to_owned(), base, command }),
            (Some(_), None) => {
                let help = "`start` belongs beside `openai`, with an address";
                reader.report(&format!("{place}.start"), format!("`{place}` starts something that has no address"), help);
            }
            (None, _) => {}
        }
    }
    Json::Object(written)
}

/// A secret value, as a project file names it.
fn secret(reader: &mut Reader<'_>, settings: &mut ModelSettings, place: &str, value: &Value) -> String {
    let named = |key: &str| value.get(key).and_then(Value::as_str).filter(|name| !name.is_empty());
    let is_single = value.as_map().is_some_and(|map| map.len() == 1);
    match (named("env"), named("secret")) {
        (Some(variable), None) if is_single => {
            let name = format!("{VARIABLE_PREFIX}{}", settings.variables.len());
            settings.variables.insert(name.clone(), variable.to_owned());
            format!("{{{{secret:{name}}}}}")
        }
        (None, Some(name)) if is_single => format!("{{{{secret:{name}}}}}"),
        _ => {
            let message = format!("`{place}` names a variable or a secret, and holds none");
            let help = "write `{ env: NAME }` for a variable, or `{ secret: NAME }` for a secret of the vault".to_owned();
            reader.find(Code::SecretExposed, place, message, help);
            String::new()
        }
    }
}

fn start_command(reader: &mut Reader<'_>, place: &str, value: &Value) -> Option<Vec<String>> {
    let list = value.as_list().filter(|list| !list.is_empty());
    let words: Option<Vec<String>> = list.and_then(|list| list.iter().map(|word| word.as_str().map(str::to_owned)).collect());
    if words.is_none() {
        let help = "write the command and its arguments as a list of texts: `[llama-server, --port, \"8080\"]`";
        reader.report(place, format!("`{place}` takes a command"), help);
    }
    words
}

fn json_of(value: &Value) -> Json {
    serde_json::from_str(&value.to_json()).unwrap_or(Json::Null)
}

/// The schema of the section `providers`.
pub(super) fn providers_schema() -> Json {
    let named = json!({ "description": "Where it is kept", "oneOf": [
        { "type": "object", "additionalProperties": false, "required": ["env"], "properties": { "env": { "type": "string", "minLength": 1 } } },
        { "type": "object", "additionalProperties": false, "required": ["secret"], "properties": { "secret": { "type": "string", "minLength": 1 } } }
    ] });
    let texts = json!({ "type": "array", "minItems": 1, "items": { "type": "string" } });
    let filled = json!({ "type": "object", "additionalProperties": { "anyOf": [{ "type": ["string", "number", "boolean"] }, named] } });
    json!({
        "description": "Models of this workspace, before those of the same name in the graph",
        "type": ["object", "null"],
        "additionalProperties": {
            "type": ["object", "null"],
            "additionalProperties": false,
            "properties": {
                "openai": { "description": "Where the chat completions begin", "type": ["string", "object"] },
                "process": { "description": "A command that answers", "type": "array", "minItems": 1, "items": { "type": "string" } },
                "scripted": { "description": "A file of replies", "type": "string" },
                "headless": { "description": "A program with a model of its own", "enum": ["claude", "codex"] },
                "start": { "description": "A command that serves this model; it is started first, and again when it fails", "type": "array", "minItems": 1, "items": { "type": "string" } },
                "args": texts,
                "own_shell": { "description": "Accepts that codex has a shell of its own where there is no bwrap", "enum": ["accept"] },
                "key": named,
                "headers": filled,
                "env": filled,
                "ca": { "type": "string" },
                "schema": { "enum": ["none", "object", "json_schema"] },
                "limit_key": { "enum": ["max_tokens", "max_completion_tokens"] },
                "extra": { "type": "object" },
                "cwd": { "type": "string" },
                "grace": { "type": ["string", "integer"] },
                "timeout": { "type": ["string", "integer"] }
            }
        }
    })
}

/// The schema of the section `roles`.
pub(super) fn roles_schema() -> Json {
    json!({
        "description": "The models of each role, the first that is set up answers; the graph has `agent` and `memory`",
        "type": ["object", "null"],
        "additionalProperties": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "additionalProperties": false,
                "required": ["provider"],
                "properties": {
                    "provider": { "type": "string" },
                    "model": { "type": ["string", "object"] },
                    "max_tokens": { "type": "integer", "minimum": 1 },
                    "temperature": { "type": "number", "minimum": 0, "maximum": 2 }
                }
            }
        }
    })
}

//! `models:` of a project: providers and roles (language 9.20, 9.22).

use std::{collections::BTreeMap, path::Path, sync::Arc};

use trellis_core::{
    Code, Diagnostic, Document, Value,
    diagnostic::did_you_mean,
    span::Span,
    syntax::{document::Content, duration, project::HostConfig},
};

#[cfg(feature = "processes")]
use super::headless::Headless;
use super::{
    openai::Endpoint,
    provider::{ChainLink, Provider, ProviderKind},
    provider_keys::{LinkKeys, ProviderKeys, check_numbers},
    request::SET,
};
#[cfg(feature = "processes")]
use crate::binding::process::{Process, config::program};
use crate::{
    binding::{
        config::{ConfigReader, span_of},
        host_models::HostModels,
        outwards::{folder_of, outwards},
        sealed::SealedTexts,
    },
    http::{HttpRequest, unprotected},
};

/// Time that a process has to exit.
#[cfg(feature = "processes")]
const EXIT_GRACE: std::time::Duration = std::time::Duration::from_secs(5);

/// Returns the mistakes in the `models` of a project file; `root` is its folder in the program.
pub(in crate::binding) fn check_models(config: &HostConfig, root: &str, documents: &[Arc<Document>]) -> Vec<Diagnostic> {
    let models = Models { documents, root, folder: Path::new(root), host: None };
    check_file(&models, &ModelsFile { config, root, folder: None })
}

/// Returns the mistakes in the `models` of a file.
pub(super) fn check_file(models: &Models<'_>, file: &ModelsFile<'_>) -> Vec<Diagnostic> {
    let config = file.config;
    let Some(Value::Map(sections)) = config.get("models") else { return Vec::new() };
    let mut found = Vec::new();
    for (section, entries) in sections.iter() {
        let place = format!("models.{section}");
        let report =
            |message: String, help: String| Diagnostic::new(Code::WrongType, &config.path, span_at(config, &place), message).help(help);
        match (&**section, entries) {
            ("providers", Value::Map(entries)) => {
                entries.keys().for_each(|name| found.extend(models.provider(file, name).1));
            }
            ("roles", Value::Map(entries)) => {
                entries.keys().for_each(|name| found.extend(models.links(config, name).err().into_iter().flatten()));
            }
            ("providers" | "roles", _) => {
                found.push(report(format!("`{place}` takes a mapping by name"), format!("write `{section}: {{ NAME: … }}`")))
            }
            (unknown, _) => {
                let help = did_you_mean(unknown, ["providers", "roles"]).unwrap_or_else(|| "it takes `providers`, `roles`".to_owned());
                found.push(report(format!("`models` has no key `{unknown}`"), help));
            }
        }
    }
    found
}

impl HostModels {
    /// The mistakes in them, as far as they show without a graph.
    pub fn check(&self) -> Vec<Diagnostic> {
        let open = Self { is_open: true, ..self.clone() };
        open.found(&[])
    }

    /// The mistakes in them before the graph of these documents, whose providers its roles may name.
    pub fn check_with(&self, documents: &[Arc<Document>]) -> Vec<Diagnostic> {
        self.found(documents)
    }

    fn found(&self, documents: &[Arc<Document>]) -> Vec<Diagnostic> {
        let models = Models { documents, root: "", folder: Path::new(""), host: Some(self) };
        check_file(&models, &self.file())
    }

    fn file(&self) -> ModelsFile<'_> {
        ModelsFile { config: &self.config, root: "", folder: Some(&self.folder) }
    }
}

/// The `models` that a graph sees: those of its host, those of its own files, then outwards (language 9.1).
pub(super) struct Models<'m> {
    pub(super) documents: &'m [Arc<Document>],
    /// The root of the graph, and its folder.
    pub(super) root: &'m str,
    pub(super) folder: &'m Path,
    pub(super) host: Option<&'m HostModels>,
}

/// A file with `models`.
#[derive(Clone, Copy)]
pub(super) struct ModelsFile<'m> {
    pub(super) config: &'m HostConfig,
    /// The root of its graph in the program.
    pub(super) root: &'m str,
    /// Its folder, where it is no file of the program.
    pub(super) folder: Option<&'m Path>,
}

type Faults = Vec<Diagnostic>;

impl<'m> Models<'m> {
    pub(super) fn find(&self, section: &str, name: &str) -> Option<ModelsFile<'m>> {
        self.files().find(|file| file.config.at(&["models", section, name]).is_some())
    }

    fn files(&self) -> impl Iterator<Item = ModelsFile<'m>> {
        let own = self.host.map(HostModels::file);
        own.into_iter().chain(outwards(self.documents, self.root).map(|(config, root)| ModelsFile { config, root, folder: None }))
    }

    pub(super) fn names(&self, section: &str) -> Vec<String> {
        let named = |config: &HostConfig| config.at(&["models", section]).and_then(Value::as_map).cloned().unwrap_or_default();
        self.files().flat_map(|file| named(file.config).keys().map(ToString::to_string).collect::<Vec<_>>()).collect()
    }

    /// Returns whether a path of a file in `root` is one that the graph reads: a node, a library or a project file. A page is none.
    pub(super) fn is_file_of_graph(&self, root: &str, path: &Path) -> bool {
        let path = path.strip_prefix(".").unwrap_or(path);
        let whole = Path::new(root).join(path);
        let is_hidden = whole.iter().any(|part| part.to_string_lossy().starts_with(['_', '.']));
        let is_read = |content: &Content| !matches!(content, Content::Node(node) if !node.has_matter);
        !is_hidden && self.documents.iter().any(|document| Path::new(&*document.path) == whole && is_read(&document.content))
    }

    /// The chain of a role with its providers.
    ///
    /// # Errors
    /// The findings, which [`check_models`] has as well.
    pub(super) fn chain(&self, config: &HostConfig, role: &str) -> Result<Vec<ChainLink>, Faults> {
        let mut chain = Vec::new();
        for LinkKeys { provider, model, max_tokens, temperature } in self.links(config, role)? {
            let name = provider.unwrap_or_default();
            let file = self.find("providers", &name).ok_or_else(Vec::new)?;
            let (provider, found) = self.provider(&file, &name);
            chain.push(ChainLink { provider: Arc::new(provider.ok_or(found)?), model, max_tokens, temperature });
        }
        Ok(chain)
    }

    /// The links of a role as written; each names a provider.
    fn links(&self, config: &HostConfig, role: &str) -> Result<Vec<LinkKeys>, Faults> {
        let place = format!("models.roles.{role}");
        let items = config.at(&["models", "roles", role]).and_then(Value::as_list).filter(|items| !items.is_empty());
        let Some(items) = items else {
            let message = format!("`{place}` takes a list of providers, the first of which answers");
            let found = Diagnostic::new(Code::WrongType, &config.path, span_at(config, &place), message);
            return Err(vec![found.help(format!("write `{role}: [{{ provider: NAME, model: NAME }}]`"))]);
        };
        let (mut links, mut found) = (Vec::new(), Vec::new());
        for (index, item) in items.iter().enumerate() {
            match self.link(config, &format!("{place}.{index}"), item) {
                Ok(link) => links.push(link),
                Err(mut faults) => found.append(&mut faults),
            }
        }
        if found.is_empty() { Ok(links) } else { Err(found) }
    }

    fn link(&self, config: &HostConfig, place: &str, item: &Value) -> Result<LinkKeys, Faults> {
        let around = span_at(config, place);
        let Value::Map(keys) = item else {
            let found = Diagnostic::new(Code::WrongType, &config.path, around, format!("`{place}` takes a mapping"));
            return Err(vec![found.help("write `{ provider: NAME, model: NAME }`")]);
        };
        let mut reader = ConfigReader::new(config, keys, place, around);
        let link: LinkKeys = reader.read(|_, _| None);
        check_numbers(&mut reader, "", link.max_tokens, link.temperature);
        match link.provider.as_deref().map(|name| (name, self.find("providers", name))) {
            None if reader.found.is_empty() => {
                reader.report("", format!("`{place}` names no provider"), Some("write `{ provider: NAME, model: NAME }`".to_owned()));
            }
            None => {}
            // The providers of the graph are not known yet.
            Some((_, None)) if self.host.is_some_and(|host| host.is_open) => {}
            Some((name, None)) => {
                let names = self.names("providers");
                let help = did_you_mean(name, names.iter().map(String::as_str));
                let help = help.unwrap_or_else(|| "define it under `models.providers`".to_owned());
                reader.report("provider", format!("there is no provider `{name}`"), Some(help));
            }
            Some((name, Some(file))) => {
                let is_endpoint = file.config.at(&["models", "providers", name, "openai"]).is_some();
                if is_endpoint && link.model.is_none() && reader.found.is_empty() {
                    let help = "write `model: NAME`, or `model: { env: OPENAI_MODEL, default: NAME }`".to_owned();
                    reader.report("", format!("`{place}` names no model"), Some(help));
                }
            }
        }
        if reader.found.is_empty() { Ok(link) } else { Err(reader.found) }
    }

    /// Returns a provider of a file, and findings about it; an error leaves no provider.
    fn provider(&self, file: &ModelsFile<'_>, name: &str) -> (Option<Provider>, Faults) {
        let config = file.config;
        let place = format!("models.providers.{name}");
        let around = span_at(config, &place);
        let Some(Value::Map(keys)) = config.at(&["models", "providers", name]) else {
            let found = Diagnostic::new(Code::WrongType, &config.path, around, format!("`{place}` takes a mapping"));
            return (None, vec![found.help("write `openai: https://…`, `process: [./bin/model]` or `scripted: ./_model.yaml`")]);
        };
        let mut reader = ConfigReader::new(config, keys, &place, around);
        let provider = self.provider_of(&mut reader, file, name);
        let is_sound = !reader.found.iter().any(Diagnostic::is_error);
        (provider.filter(|_| is_sound), reader.found)
    }

    fn provider_of(&self, reader: &mut ConfigReader<'_>, file: &ModelsFile<'_>, name: &str) -> Option<Provider> {
        let ModelsFile { config, root, folder } = *file;
        let keys: ProviderKeys = reader.read(|key, value| match key {
            "timeout" | "grace" => Some(duration::help(value)),
            "openai" => Some("write its address: `openai: https://api.example.org/v1`, or `openai: { env: NAME }`".to_owned()),
            "process" => Some("write the command and its arguments as a list of texts: `[./bin/model]`".to_owned()),
            _ => None,
        });
        let kinds = ["openai", "process", "scripted", "headless"].iter().filter(|kind| reader.config.contains(kind)).count();
        if kinds != 1 {
            if reader.found.is_empty() {
                let help = "write one of `openai: https://…`, `process: [./bin/model]`, `scripted: ./_model.yaml`".to_owned();
                let message = if kinds == 0 { "says no way to reach a model" } else { "is reached in several ways" };
                reader.report("", format!("the provider `{name}` {message}"), Some(help));
            }
            return None;
        }
        misplaced(reader);
        let sealed = |key: &str| {
            let written = config.at(&["models", "providers", name, key]);
            SealedTexts::read(config, &format!("models.providers.{name}.{key}"), written)
        };
        let folder = folder.map_or_else(|| folder_of(root, self.root, self.folder), Path::to_path_buf);
        let timeout = keys.timeout.as_ref().map(|wait| wait.0);
        let kind = if keys.openai.is_some() {
            endpoint(reader, keys, &folder, name, sealed)?
        } else if let Some(file) = &keys.scripted {
            ProviderKind::Scripted(folder.join(file), self.is_file_of_graph(root, file))
        } else if keys.headless.is_some() {
            headless(reader, keys, name, sealed)?
        } else {
            process(reader, keys, &folder, name, sealed)?
        };
        Some(Provider { name: name.to_owned(), kind, timeout })
    }
}

fn endpoint(
    reader: &mut ConfigReader<'_>,
    keys: ProviderKeys,
    folder: &Path,
    name: &str,
    sealed: impl Fn(&str) -> SealedTexts,
) -> Option<ProviderKind> {
    let base = keys.openai?;
    if let Some(base) = base.written()
        && (HttpRequest::new("POST", base).is_err() || base.contains(['?', '#']))
    {
        let help = Some("write where its API begins: `https://api.example.org/v1`".to_owned());
        reader.report("openai", format!("`{base}` is no address of an endpoint"), help);
    }
    if let Some(host) = base.written().and_then(unprotected) {
        reader.warn("openai", format!("calls of the provider `{name}` go unencrypted to `{host}`"), "write `https://`");
    }
    for key in keys.extra.keys().filter(|key| SET.contains(&key.as_str())) {
        reader.report(&format!("extra.{key}"), format!("`extra` may not set `{key}`: it is set already"), None);
    }
    let extra = keys.extra.iter().filter_map(|(key, value)| Some((key.as_str(), Value::from_json(&value.to_string()).ok()?)));
    Some(ProviderKind::Endpoint(Endpoint {
        base,
        key: keys.key.map(|_| sealed("key")),
        headers: sealed("headers"),
        ca: keys.ca.map(|ca| folder.join(ca)),
        schema: keys.schema,
        limit_key: keys.limit_key,
        extra: extra.collect(),
    }))
}

#[cfg(feature = "processes")]
fn process(
    reader: &mut ConfigReader<'_>,
    keys: ProviderKeys,
    folder: &Path,
    name: &str,
    sealed: impl Fn(&str) -> SealedTexts,
) -> Option<ProviderKind> {
    let process = keys.process?;
    let Some((command, args)) = process.split_first() else {
        let help = Some("write `process: [./bin/model]`".to_owned());
        reader.report("process", format!("the provider `{name}` names no command"), help);
        return None;
    };
    let process = Process {
        file: Arc::clone(reader.path),
        command: command.clone(),
        program: program(command, folder),
        args: args.to_vec(),
        env: BTreeMap::new(),
        cwd: keys.cwd.map_or_else(|| folder.to_owned(), |cwd| folder.join(cwd)),
        grace: keys.grace.map_or(EXIT_GRACE, |wait| wait.0),
        output: None,
    };
    Some(ProviderKind::Process(Box::new(process), sealed("env")))
}

#[cfg(not(feature = "processes"))]
fn process(reader: &mut ConfigReader<'_>, _: ProviderKeys, _: &Path, name: &str, _: impl Fn(&str) -> SealedTexts) -> Option<ProviderKind> {
    reader.report("process", format!("the provider `{name}` is a process, which this build cannot start"), None);
    None
}

#[cfg(feature = "processes")]
fn headless(reader: &mut ConfigReader<'_>, keys: ProviderKeys, name: &str, sealed: impl Fn(&str) -> SealedTexts) -> Option<ProviderKind> {
    let program = keys.headless?;
    if keys.args.as_ref().is_some_and(Vec::is_empty) {
        let help = Some("leave it out for the arguments that the program is known to take".to_owned());
        reader.report("args", format!("the provider `{name}` hands over no arguments"), help);
    }
    let is_shell_accepted = keys.own_shell.is_some();
    Some(ProviderKind::Headless(Headless { program, args: keys.args, is_shell_accepted }, sealed("env")))
}

#[cfg(not(feature = "processes"))]
fn headless(reader: &mut ConfigReader<'_>, _: ProviderKeys, name: &str, _: impl Fn(&str) -> SealedTexts) -> Option<ProviderKind> {
    reader.report("headless", format!("the provider `{name}` is a program, which this build cannot start"), None);
    None
}

/// Reports keys that have no meaning beside the provider's kind.
fn misplaced(reader: &mut ConfigReader<'_>) {
    const BESIDE: [(&[&str], &[&str]); 4] = [
        (&["openai"], &["key", "headers", "ca", "schema", "limit_key", "extra"]),
        (&["process"], &["cwd", "grace"]),
        (&["process", "headless"], &["env"]),
        (&["headless"], &["args", "own_shell"]),
    ];
    for (kinds, keys) in BESIDE {
        if kinds.iter().any(|kind| reader.config.contains(kind)) {
            continue;
        }
        for key in keys.iter().filter(|key| reader.config.contains(key)).collect::<Vec<_>>() {
            let kinds: Vec<String> = kinds.iter().map(|kind| format!("`{kind}`")).collect();
            reader.report(key, format!("`{key}` means nothing here"), Some(format!("it belongs beside {}", kinds.join(" or "))));
        }
    }
}

fn span_at(config: &HostConfig, place: &str) -> Span {
    span_of(&config.spans, place).unwrap_or(Span::at(0))
}

//! Servers as they are written: their addresses, and the time for which an idle one is kept open.

use std::{collections::BTreeMap, path::Path, path::PathBuf, sync::Arc, time::Duration};

use reqwest::{Url, header::HeaderName};
use serde::{Deserialize, de::IgnoredAny};
use trellis_core::{
    Code, Diagnostic, Value,
    span::Span,
    syntax::{duration, project::HostConfig},
};

use super::super::{
    config::{ConfigReader, Plain, Wait, given, span_of},
    limits::CallLimits,
    process::{Process, config::program},
    sealed::SealedTexts,
};
use crate::http::unprotected;

/// The time for which an idle server is kept open.
const IDLE: Duration = Duration::from_secs(300);

/// Time that a server has to end, or to answer a call that was stopped.
const SERVER_GRACE: Duration = Duration::from_secs(5);

/// Headers that the transport sets itself.
const RESERVED: [&str; 9] = [
    "accept",
    "connection",
    "content-length",
    "content-type",
    "host",
    "last-event-id",
    "mcp-protocol-version",
    "mcp-session-id",
    "transfer-encoding",
];

/// A server of `servers`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ServerConfig {
    pub(super) name: Arc<str>,
    /// The folder of the file that defines it.
    pub(super) folder: PathBuf,
    pub(super) reach: Reach,
    pub(super) era: Era,
    pub(super) idle: Duration,
    pub(super) grace: Duration,
}

/// The kinds of connection to a server.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Reach {
    /// It is started here; with the variables of its environment.
    Process(Process, SealedTexts),
    /// It listens at a URL; with the headers of each request.
    Url(Url, SealedTexts),
}

/// The handshake that a server gets (language 9.13).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Era {
    /// It is asked `server/discover`, then `initialize`.
    #[default]
    Auto,
    /// It speaks 2026-07-28.
    Modern,
    /// It speaks 2025-11-25 or older.
    Legacy,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ServerSyntax {
    #[serde(deserialize_with = "given")]
    process: Option<Vec<String>>,
    env: BTreeMap<String, Plain>,
    #[serde(deserialize_with = "given")]
    cwd: Option<PathBuf>,
    #[serde(deserialize_with = "given")]
    grace: Option<Wait>,
    #[serde(deserialize_with = "given")]
    url: Option<String>,
    headers: BTreeMap<String, Plain>,
    #[serde(deserialize_with = "given")]
    era: Option<Era>,
    #[serde(deserialize_with = "given")]
    idle: Option<Wait>,
    /// Read by [`CallLimits`].
    #[serde(rename = "rate")]
    _rate: IgnoredAny,
    #[serde(rename = "abreast")]
    _abreast: IgnoredAny,
}

impl ServerConfig {
    pub(super) fn is_same_place(&self, other: &Self) -> bool {
        self.name == other.name && self.folder == other.folder
    }

    /// Reads the server `name` of a project file in `folder`, with the bounds of its calls. Every mistake is a finding at its place; one that is an
    /// error leaves no server.
    pub(super) fn read(config: &HostConfig, name: &str, folder: &Path) -> (Option<(Self, CallLimits)>, Vec<Diagnostic>) {
        let prefix = format!("servers.{name}");
        let around = span_of(&config.spans, &prefix).unwrap_or(Span::at(0));
        let Some(Value::Map(keys)) = config.at(&["servers", name]) else {
            let message = format!("`{prefix}` takes a mapping");
            let found = Diagnostic::new(Code::WrongType, &config.path, around, message);
            return (None, vec![found.help("write `process: [command, argument, …]` or `url: https://…`")]);
        };
        let mut reader = ConfigReader::new(config, keys, &prefix, around);
        let server = server(&mut reader, config, name, folder);
        let limits = CallLimits::read_turns(&mut reader);
        let is_sound = !reader.found.iter().any(Diagnostic::is_error);
        (server.filter(|_| is_sound).map(|server| (server, limits)), reader.found)
    }
}

fn server(reader: &mut ConfigReader<'_>, config: &HostConfig, name: &str, folder: &Path) -> Option<ServerConfig> {
    let syntax: ServerSyntax = reader.read(|key, value| match key {
        "process" => Some("write the command and its arguments as a list of texts: `[./bin/server, --stdio]`".to_owned()),
        "grace" | "idle" => Some(duration::help(value)),
        "era" => Some("write `auto`, `modern` (2026-07-28) or `legacy` (2025-11-25 and older)".to_owned()),
        _ => None,
    });
    let ServerSyntax { process, env, cwd, grace, url, headers, era, idle, .. } = syntax;
    let grace = grace.map_or(SERVER_GRACE, |wait| wait.0);
    let sealed = |reader: &ConfigReader<'_>, key: &str| SealedTexts::read(config, &format!("servers.{name}.{key}"), reader.config.get(key));
    let reach = match (process, url) {
        (Some(command), None) => {
            let env = sealed(reader, "env");
            misplaced(reader, "url", &["headers"]);
            let Some((command, args)) = command.split_first() else {
                let message = format!("the server `{name}` names no command");
                reader.report("process", message, Some("write `process: [./bin/server]`".to_owned()));
                return None;
            };
            let process = Process {
                file: Arc::clone(reader.path),
                command: command.clone(),
                program: program(command, folder),
                args: args.to_vec(),
                env: BTreeMap::new(),
                cwd: cwd.map_or_else(|| folder.to_owned(), |cwd| folder.join(cwd)),
                grace,
                output: None,
            };
            Reach::Process(process, env)
        }
        (None, Some(url)) => {
            let sealed = sealed(reader, "headers");
            misplaced(reader, "process", &["env", "cwd"]);
            headers.keys().for_each(|header| check_header(reader, header));
            Reach::Url(checked_url(reader, name, &url)?, sealed)
        }
        (Some(_), Some(_)) => {
            reader.report("url", "`process` and `url` exclude each other".to_owned(), Some("keep one of them".to_owned()));
            return None;
        }
        (None, None) => {
            if reader.found.is_empty() {
                let help = Some("write `process: [command, argument, …]` or `url: https://…`".to_owned());
                reader.report("", format!("the server `{name}` cannot be reached: it has neither `process` nor `url`"), help);
            }
            return None;
        }
    };
    drop(env);
    let (era, idle) = (era.unwrap_or_default(), idle.map_or(IDLE, |wait| wait.0));
    Some(ServerConfig { name: name.into(), folder: folder.to_owned(), reach, era, idle, grace })
}

fn misplaced(reader: &mut ConfigReader<'_>, kind: &str, keys: &[&str]) {
    for key in keys {
        if reader.config.contains(key) {
            reader.report(key, format!("`{key}` means nothing here"), Some(format!("it belongs beside `{kind}`")));
        }
    }
}

fn checked_url(reader: &mut ConfigReader<'_>, name: &str, text: &str) -> Option<Url> {
    let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    if url.is_none() {
        let help = "write the whole URL: `https://example.org/mcp`".to_owned();
        reader.report("url", format!("`{text}` is no URL of a server"), Some(help));
    }
    if let Some(host) = unprotected(text) {
        reader.warn("url", format!("calls of the server `{name}` go unencrypted to `{host}`"), "write `https://`");
    }
    url
}

fn check_header(reader: &mut ConfigReader<'_>, name: &str) {
    let place = format!("headers.{name}");
    if HeaderName::try_from(name).is_err() {
        reader.report(&place, format!("`{name}` is no name of a header"), None);
    } else if RESERVED.contains(&&*name.to_ascii_lowercase()) {
        reader.report(&place, format!("the header `{name}` is set by the protocol"), Some("leave it out".to_owned()));
    }
}

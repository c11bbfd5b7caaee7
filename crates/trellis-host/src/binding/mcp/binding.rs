//! `mcp:` as it is written: a tool of a server.

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::{
    Deserialize, Deserializer,
    de::{Error as _, MapAccess, Visitor, value::MapAccessDeserializer},
};
use trellis_core::{Diagnostic, Document, Value, diagnostic::did_you_mean, syntax::project::HostConfig};

use super::{
    super::{
        config::{ConfigReader, given},
        kind::Site,
        limits::CallLimits,
        outwards::{folder_of, outwards},
    },
    config::ServerConfig,
};

#[derive(Default, Deserialize)]
#[serde(default)]
struct McpSyntax {
    #[serde(deserialize_with = "given")]
    mcp: Option<ToolName>,
}

/// A tool, and the server that has it: `server/tool`, or `{server, tool}`.
#[derive(Debug, PartialEq)]
pub(super) struct ToolName {
    pub(super) server: String,
    pub(super) tool: String,
}

/// Reads `mcp:`; the server must be one of the graph's own file or of a file further out.
pub(super) fn read(reader: &mut ConfigReader<'_>, site: &Site<'_>) -> Option<(ServerConfig, CallLimits, Arc<str>)> {
    let help = |_: &str, _: &str| Some("write `server/tool`, or `{ server: …, tool: … }`".to_owned());
    let ToolName { server, tool } = reader.read::<McpSyntax>(help).mcp?;
    let Some((config, folder)) = find_server(site.documents, site.root, site.folder, &server) else {
        let known = outwards(site.documents, site.root).flat_map(|(config, _)| servers(config));
        let known: Vec<String> = known.collect();
        let help = did_you_mean(&server, known.iter().map(String::as_str));
        let help = help.unwrap_or_else(|| "define it: `servers: { NAME: { process: [command, …] } }`".to_owned());
        reader.report("mcp", format!("there is no server `{server}`"), Some(help));
        return None;
    };
    match ServerConfig::read(config, &server, &folder) {
        (Some((config, limits)), _) => Some((config, limits, tool.into())),
        (None, _) => {
            // The mistakes themselves are reported at their places.
            reader.report("mcp", format!("the server `{server}` has a mistake"), Some("correct its definition in `servers`".to_owned()));
            None
        }
    }
}

/// Finds a server for the graph at `root`, whose folder is `folder`; with the folder of the file that defines it.
pub(super) fn find_server<'d>(
    documents: &'d [Arc<Document>],
    root: &'d str,
    folder: &'d Path,
    name: &str,
) -> Option<(&'d HostConfig, PathBuf)> {
    let (config, outer) = outwards(documents, root).find(|(config, _)| config.at(&["servers", name]).is_some())?;
    Some((config, folder_of(outer, root, folder)))
}

/// The names of the servers that a file defines.
fn servers(config: &HostConfig) -> Vec<String> {
    let servers = config.get("servers").and_then(Value::as_map);
    servers.map(|servers| servers.keys().map(ToString::to_string).collect()).unwrap_or_default()
}

/// Findings about the servers that a file defines.
pub(super) fn check_servers(config: &HostConfig) -> Vec<Diagnostic> {
    servers(config).into_iter().flat_map(|name| ServerConfig::read(config, &name, Path::new("")).1).collect()
}

impl<'de> Deserialize<'de> for ToolName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Named {
            server: String,
            tool: String,
        }
        struct Name;
        impl<'de> Visitor<'de> for Name {
            type Value = ToolName;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`server/tool`")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<ToolName, E> {
                match text.split_once('/') {
                    Some((server, tool)) if !server.is_empty() && !tool.is_empty() => {
                        Ok(ToolName { server: server.to_owned(), tool: tool.to_owned() })
                    }
                    _ => Err(E::custom(format!("`{text}` names no tool of a server"))),
                }
            }
            fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<ToolName, A::Error> {
                let Named { server, tool } = Named::deserialize(MapAccessDeserializer::new(entries))?;
                if server.is_empty() || tool.is_empty() {
                    return Err(A::Error::custom("`mcp` names no tool of a server"));
                }
                Ok(ToolName { server, tool })
            }
        }
        deserializer.deserialize_any(Name)
    }
}

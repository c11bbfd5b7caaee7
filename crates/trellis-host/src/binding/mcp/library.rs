//! A library of tools from the list of a server, for an author to read, change and keep (language 9.16).

use std::{path::Path, sync::Arc};

use serde_yaml::{Mapping as Yaml, Value as YamlValue};
use trellis_core::{Diagnostic, Document, ToolError, Value, schema::Schema};

use super::{super::Host, binding::find_server, config::ServerConfig, connection::Connection, servers::Servers, tools::ServerTool};

/// Writes a library of the tools that a server of the outermost graph of these files has now; its relative paths begin at `folder`, and `day` is the
/// day that its comment names. A tool that declares itself read-only has no effect, any other is irreversible.
///
/// # Errors
/// No such server is defined (code `unknown-tool`), or it cannot be asked.
pub async fn server_library(
    documents: &[Arc<Document>],
    folder: &Path,
    host: &Host,
    server: &str,
    day: &str,
) -> Result<ServerLibrary, ToolError> {
    let unknown = |message: String| ToolError::coded("unknown-tool", message).finally();
    let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let Some((config, folder)) = find_server(documents, "", &folder, server) else {
        return Err(unknown(format!("there is no server `{server}` in the project file")));
    };
    let (read, found) = ServerConfig::read(config, server, &folder);
    let Some((config, _)) = read else {
        let message = found.into_iter().find(Diagnostic::is_error).map(|finding| finding.message).unwrap_or_default();
        return Err(unknown(format!("the server `{server}` has a mistake: {message}")));
    };
    let known = host.shared::<Servers>().get(config, &host.secrets, &host.http);
    let lease = known.connection().await?;
    let tools = lease.connection().tools().await?;
    let written: Vec<YamlValue> = tools.tools().map(|tool| YamlValue::from(entry(tool))).collect();
    let body = Yaml::from_iter([(YamlValue::from("tools"), YamlValue::from(written))]);
    let body = serde_yaml::to_string(&body).map_err(|error| ToolError::new(error.to_string()))?;
    let bindings: String = tools.tools().map(|known| binding(server, &known.tool.name)).collect();
    let refused =
        tools.tools().flat_map(|known| known.refused.iter().map(|why| format!("`{}` is not checked: {why}", name(&known.tool.name))));
    let refused: Vec<String> = refused.map(|why| why.replace(char::is_control, " ")).collect();
    let remarks: String = refused.iter().map(|why| format!("# {why}\n")).collect();
    let text = format!(
        "{}{remarks}#\n# To call them, bind them in `trellis.yaml`:\n#   bindings:\n{bindings}{body}",
        heading(lease.connection(), server, day)
    );
    Ok(ServerLibrary { text, refused })
}

/// A library of the tools of a server.
#[derive(Clone, Debug)]
pub struct ServerLibrary {
    /// The file.
    pub text: String,
    /// The tools of which a schema was left out, with the reasons: a line each.
    pub refused: Vec<String>,
}

/// The server, its version and the day.
fn heading(connection: &Connection, server: &str, day: &str) -> String {
    let facts = connection.facts();
    let fact = |key: &str| facts.get(key).and_then(Value::as_str).unwrap_or("unknown").replace(char::is_control, " ");
    format!(
        "# Tools of the server `{server}` ({}, protocol {}) on {day}, from `trellis new tools`.\n\
         # The server wrote the descriptions: read them before a model does.\n",
        fact("version"),
        fact("protocol")
    )
}

fn binding(server: &str, tool: &str) -> String {
    let target = serde_json::Value::from(format!("{server}/{tool}"));
    format!("#     {}: {{ mcp: {target} }}\n", serde_json::Value::from(name(tool)))
}

/// The name that a graph gives a tool: one with `/` would be a library.
fn name(tool: &str) -> String {
    tool.replace('/', ".").replace(char::is_control, "")
}

fn entry(known: &ServerTool) -> Yaml {
    let tool = &known.tool;
    let mut entry = Yaml::new();
    let mut set = |key: &str, value: YamlValue| entry.insert(key.into(), value);
    set("name", name(&tool.name).into());
    if let Some(description) = tool.description.as_deref().map(str::trim).filter(|text| !text.is_empty()) {
        set("description", description.into());
    }
    let mut schema = |key: &str, schema: &Option<Schema>| {
        if let Some(schema) = schema
            && let Ok(written) = serde_yaml::to_value(schema.source())
        {
            set(key, written);
        }
    };
    schema("parameters", &known.input);
    schema("returns", &known.output);
    let reads = tool.annotations.as_ref().and_then(|annotations| annotations.read_only_hint) == Some(true);
    set("effect", if reads { "none" } else { "irreversible" }.into());
    entry
}

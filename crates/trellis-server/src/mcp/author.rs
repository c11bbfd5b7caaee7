//! Tools for programs that write graphs, over standard streams: each reads a folder and answers with a text. Nothing is stored, and nothing is
//! called.

use std::{fmt, sync::Arc};

use rmcp::{
    ErrorData, RoleServer, ServerHandler, ServiceExt as _,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, ListToolsResult, PaginatedRequestParams,
        ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
    },
    service::{RequestContext, ServerInitializeError},
};
use serde_json::{Map, Value as Json};
use trellis_core::{Value, diagnostic::did_you_mean, schema::Schema};

use super::{
    schemas,
    stdio::{McpEnded, client},
};

/// The instructions for a model about these tools as a whole.
const AUTHOR_INSTRUCTIONS: &str = "These tools read graphs of Markdown nodes while you write them. `explain` with the code `language` returns the whole language \
                            in short: read it first. Edit the files with your own tools, `check` after each edit, apply the edits of its fixes, \
                            `explain` a code that you do not know, and `walk` the graph with answers and results of your own.";

type Run = dyn Fn(&Map<String, Json>) -> Result<String, String> + Send + Sync;

/// A tool that reads a folder.
#[derive(Clone)]
pub struct AuthorTool {
    name: &'static str,
    about: &'static str,
    takes: Json,
    run: Arc<Run>,
}

impl AuthorTool {
    /// Creates a tool; `takes` is the JSON Schema of its arguments, and `run` returns a text or the reason of a failure.
    pub fn new(
        name: &'static str,
        about: &'static str,
        takes: Json,
        run: impl Fn(&Map<String, Json>) -> Result<String, String> + Send + Sync + 'static,
    ) -> Self {
        Self { name, about, takes, run: Arc::new(run) }
    }

    /// Checks arguments against what it takes.
    ///
    /// # Errors
    /// One is unknown, or does not fit.
    fn fits(&self, given: &Map<String, Json>) -> Result<(), String> {
        let known = self.takes["properties"].as_object().into_iter().flat_map(Map::keys).map(String::as_str).collect::<Vec<_>>();
        if let Some(key) = given.keys().find(|key| !known.contains(&key.as_str())) {
            let listed = || format!("it takes {}", known.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", "));
            return Err(format!(
                "`{}` has no argument `{key}`: {}",
                self.name,
                did_you_mean(key, known.iter().copied()).unwrap_or_else(listed)
            ));
        }
        let value = |json: &Json| Value::from_json(&json.to_string()).map_err(|error| error.to_string());
        let schema = Schema::new(&value(&self.takes)?).map_err(|error| error.to_string())?;
        let breaches = schema.breaches(&value(&Json::Object(given.clone()))?);
        if breaches.is_empty() {
            return Ok(());
        }
        Err(breaches.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
    }
}

impl fmt::Debug for AuthorTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuthorTool").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Serves these tools over standard input and output, until input ends.
///
/// # Errors
/// The input is not MCP.
pub async fn serve_author(tools: Vec<AuthorTool>) -> Result<(), McpEnded> {
    match (AuthorHandler { tools }).serve(client()).await {
        Ok(running) => running.waiting().await.map(drop).map_err(|error| McpEnded::new(&error)),
        // A client that closes the streams before its first message wants nothing.
        Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => Err(McpEnded::new(&error)),
    }
}

struct AuthorHandler {
    tools: Vec<AuthorTool>,
}

impl ServerHandler for AuthorHandler {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        let server = Implementation::new("trellis-author", env!("CARGO_PKG_VERSION"));
        ServerConfig::new(capabilities).with_server_info(server).with_instructions(AUTHOR_INSTRUCTIONS)
    }

    async fn list_tools(&self, _: Option<PaginatedRequestParams>, _: RequestContext<RoleServer>) -> Result<ListToolsResult, ErrorData> {
        let reads = || ToolAnnotations::new().read_only(true).open_world(false);
        let tool = |tool: &AuthorTool| Tool::new(tool.name, tool.about, schemas::object(tool.takes.clone())).with_annotations(reads());
        Ok(ListToolsResult::with_all_items(self.tools.iter().map(tool).collect()))
    }

    async fn call_tool(&self, params: CallToolRequestParams, _: RequestContext<RoleServer>) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = self.tools.iter().find(|tool| tool.name == params.name) else {
            return Err(ErrorData::invalid_params(format!("there is no tool `{}`", params.name), None));
        };
        let (run, given) = (Arc::clone(&tool.run), params.arguments.unwrap_or_default());
        if let Err(why) = tool.fits(&given) {
            return Ok(CallToolResult::error(vec![ContentBlock::text(why)]).into());
        }
        let ran = tokio::task::spawn_blocking(move || run(&given)).await;
        let ran = ran.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        Ok(match ran {
            Ok(text) => CallToolResult::success(vec![ContentBlock::text(text)]).into(),
            Err(why) => CallToolResult::error(vec![ContentBlock::text(why)]).into(),
        })
    }
}

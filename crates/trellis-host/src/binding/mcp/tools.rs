//! The tools of a server, and their schemas.

use std::{collections::BTreeMap, sync::Arc};

use rmcp::{
    Peer, RoleClient,
    model::{JsonObject, PaginatedRequestParams, Tool},
    service::ServiceError,
};
use trellis_core::{Value, schema::Schema, value::to_value};

/// Tools that are read of one server.
const MAX_TOOLS: usize = 1000;

/// Pages that they may come on.
const MAX_PAGES: usize = 200;

/// Bytes of a schema for checking values.
const MAX_SCHEMA: usize = 64 << 10;

/// The tools of a server.
#[derive(Debug, Default)]
pub(super) struct ToolList {
    tools: BTreeMap<Arc<str>, ServerTool>,
    /// True if the server has more than were read.
    is_cut: bool,
}

/// A tool of a server.
#[derive(Debug)]
pub(super) struct ServerTool {
    /// Its declaration.
    pub(super) tool: Tool,
    /// The schema of its arguments.
    pub(super) input: Option<Schema>,
    /// The schema of its structured result.
    pub(super) output: Option<Schema>,
    /// The reasons why a schema that it declares cannot be used.
    pub(super) refused: Vec<String>,
}

impl ToolList {
    /// Reads all pages.
    ///
    /// # Errors
    /// A page cannot be read.
    pub(super) async fn read(peer: &Peer<RoleClient>) -> Result<Self, ServiceError> {
        let mut list = Self::default();
        let mut cursor = None;
        for _ in 0..MAX_PAGES {
            let page = peer.list_tools(Some(PaginatedRequestParams::default().with_cursor(cursor.take()))).await?;
            for tool in page.tools {
                if list.tools.len() == MAX_TOOLS {
                    return Ok(Self { is_cut: true, ..list });
                }
                list.tools.insert(Arc::from(&*tool.name), ServerTool::new(tool));
            }
            match page.next_cursor {
                Some(next) => cursor = Some(next),
                None => return Ok(list),
            }
        }
        Ok(Self { is_cut: true, ..list })
    }

    pub(super) fn get(&self, name: &str) -> Option<&ServerTool> {
        self.tools.get(name)
    }

    /// Returns whether the server certainly has no such tool.
    pub(super) fn lacks(&self, name: &str) -> bool {
        !self.is_cut && !self.tools.contains_key(name)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.keys().map(|name| &**name)
    }

    pub(super) fn tools(&self) -> impl Iterator<Item = &ServerTool> {
        self.tools.values()
    }
}

impl ServerTool {
    fn new(tool: Tool) -> Self {
        let mut refused = Vec::new();
        let mut read =
            |source: &JsonObject, what: &str| schema(source).map_err(|why| refused.push(format!("its schema of {what} {why}"))).ok();
        let input = read(&tool.input_schema, "arguments");
        let output = tool.output_schema.as_deref().and_then(|source| read(source, "results"));
        Self { tool, input, output, refused }
    }
}

/// Returns a schema for checking values, or the reason why it is none: it is too long, refers to others, or is not valid.
fn schema(source: &JsonObject) -> Result<Schema, String> {
    if serde_json::to_vec(source).is_ok_and(|json| json.len() > MAX_SCHEMA) {
        return Err(format!("is longer than {MAX_SCHEMA} bytes"));
    }
    let source: Value = to_value(source).map_err(|error| format!("cannot be read: {error}"))?;
    Schema::new(&source).map_err(|error| match error.path.as_str() {
        "" => format!("is not valid: {}", error.message),
        path => format!("is not valid at `{path}`: {}", error.message),
    })
}

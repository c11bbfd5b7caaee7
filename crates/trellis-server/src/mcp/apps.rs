//! The page that a chat shows beside a session (MCP Apps): a resource, named by the tools that lead to it, for clients that show pages.
//!
//! **Invariant:** the page is the same for everybody. It asks what a model may answer; approvals and secrets stay elsewhere, since nothing that comes
//! over its bridge can be told from the model.

use rmcp::{
    RoleServer,
    model::{CacheScope, CallToolResult, JsonObject, MetaObject, ReadResourceResult, Resource, ResourceContents, ServerCapabilities, Tool},
    service::RequestContext,
};
use serde_json::{Value as Json, json};

/// The address of the page.
pub(super) const PAGE: &str = "ui://trellis/session";
/// The name of the extension.
const EXTENSION: &str = "io.modelcontextprotocol/ui";
/// The kind of pages that the extension knows.
const KIND: &str = "text/html;profile=mcp-app";
/// The page, as `studio/` builds it: one file that loads nothing.
const HTML: &str = include_str!("../../studio/dist/session.html");
/// The key of a turn in the metadata of a result, which models do not read.
const TURN: &str = "trellis/turn";
/// The lifetime of the page in caches, in milliseconds: it changes with the program.
const TTL: u64 = 3_600_000;

/// Returns whether a client shows pages.
pub(super) fn shows_pages(request: &RequestContext<RoleServer>) -> bool {
    let extensions = request.client_capabilities().and_then(|capabilities| capabilities.extensions).unwrap_or_default();
    let kinds = extensions.get(EXTENSION).and_then(|settings| settings.get("mimeTypes")).and_then(Json::as_array);
    kinds.is_some_and(|kinds| kinds.iter().any(|kind| kind == KIND))
}

/// Declares the extension.
pub(super) fn declare(mut capabilities: ServerCapabilities) -> ServerCapabilities {
    capabilities.extensions.get_or_insert_default().insert(EXTENSION.to_owned(), JsonObject::new());
    capabilities
}

/// A tool whose results are shown on the page.
pub(super) fn shown(tool: Tool) -> Tool {
    tool.with_meta(meta("ui", json!({ "resourceUri": PAGE })))
}

/// The page, as it is listed.
pub(super) fn resource() -> Resource {
    let page = Resource::new(PAGE, "session").with_title("Session").with_description("A session: what it said, and the question of now.");
    page.with_mime_type(KIND).with_meta(look())
}

/// The page itself.
pub(super) fn read() -> ReadResourceResult {
    let contents = ResourceContents::text(HTML, PAGE).with_mime_type(KIND).with_meta(look());
    ReadResourceResult::new(vec![contents]).with_ttl_ms(TTL).with_cache_scope(CacheScope::Private)
}

/// The settings of the page for a host. It names no domain: it needs no network.
fn look() -> MetaObject {
    meta("ui", json!({ "prefersBorder": true }))
}

fn meta(key: &str, value: Json) -> MetaObject {
    MetaObject([(key.to_owned(), value)].into_iter().collect())
}

/// A result with the whole turn besides.
pub(super) fn with_turn(mut result: CallToolResult, turn: Json) -> CallToolResult {
    result.meta = Some(meta(TURN, turn));
    result
}

//! A handler whose requests are counted, by their methods and by what came of them.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    fmt::Write as _,
    sync::{Mutex, PoisonError},
};

use rmcp::{
    ErrorData, RoleServer, ServerHandler, Service,
    model::{ClientNotification, ClientRequest, ProtocolVersion, ServerConfig, ServerResult},
    service::{NotificationContext, RequestContext},
};

use super::McpHandler;

/// The label of methods that the protocol does not have; what a client sends is no label.
const OTHER: &str = "other";

/// Counts of requests.
#[derive(Debug, Default)]
pub(crate) struct McpMetrics(Mutex<BTreeMap<(String, &'static str), u64>>);

impl McpMetrics {
    fn count(&self, method: String, outcome: &'static str) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner).entry((method, outcome)).or_default() += 1;
    }

    /// All of it in the text format of Prometheus.
    pub(crate) fn render(&self) -> String {
        let mut out = String::from("# HELP trellis_mcp_requests Requests over MCP.\n# TYPE trellis_mcp_requests counter\n");
        for ((method, outcome), count) in &*self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            let _ = writeln!(out, "trellis_mcp_requests_total{{method=\"{method}\",outcome=\"{outcome}\"}} {count}");
        }
        out
    }
}

/// The requests of one client, counted.
#[derive(Clone, Debug)]
pub(super) struct CountedHandler(pub(super) McpHandler);

impl Service<RoleServer> for CountedHandler {
    async fn handle_request(&self, request: ClientRequest, context: RequestContext<RoleServer>) -> Result<ServerResult, ErrorData> {
        let method = if matches!(request, ClientRequest::CustomRequest(_)) { OTHER } else { request.method() }.to_owned();
        let result = self.0.handle_request(request, context).await;
        self.0.metrics().count(method, outcome(&result));
        result
    }

    async fn handle_notification(
        &self,
        notification: ClientNotification,
        context: NotificationContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.0.handle_notification(notification, context).await
    }

    fn get_info(&self) -> ServerConfig {
        ServerHandler::get_info(&self.0)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        ServerHandler::supported_protocol_versions(&self.0)
    }
}

/// What came of a request: a tool that refuses is no error of the protocol.
fn outcome(result: &Result<ServerResult, ErrorData>) -> &'static str {
    match result {
        Ok(ServerResult::CallToolResult(called)) if called.is_error == Some(true) => "refused",
        Ok(_) => "ok",
        Err(_) => "error",
    }
}

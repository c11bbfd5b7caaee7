//! Errors of MCP calls, with the codes of language 9.4.

use std::{
    error::Error,
    time::{Duration, SystemTime},
};

use rmcp::{
    model::{ErrorCode, ErrorData},
    service::ServiceError,
    transport::streamable_http_client::StreamableHttpError,
};
use trellis_core::{Mapping, ToolError, Value, value::to_value};

use crate::http::retry_after;

/// Errors after which another attempt with the same arguments fails as well.
const FINAL: [ErrorCode; 3] = [ErrorCode::METHOD_NOT_FOUND, ErrorCode::INVALID_PARAMS, ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY];

/// The server went away, with the reason as the end of a sentence.
pub(super) fn lost(server: &str, why: &str) -> ToolError {
    ToolError::coded("mcp-lost", format!("the server `{server}` {why}"))
}

/// The server died three times within a minute.
pub(super) fn left_alone(server: &str, after: Duration) -> ToolError {
    let after = u64::try_from(after.as_millis()).unwrap_or(u64::MAX);
    let message = "died three times within a minute; it is started again when a minute is over";
    ToolError { after: Some(after), ..lost(server, message) }
}

/// The server answered with an error, or would have.
pub(super) fn rpc(error: ErrorData) -> ToolError {
    let is_final = FINAL.contains(&error.code);
    let mut data: Mapping = [("rpc", Value::from(error.code.0))].into_iter().collect();
    if let Some(more) = error.data.and_then(|data| to_value(&data).ok()) {
        data.insert("data".into(), more);
    }
    ToolError { data: Some(data.into()), is_final, ..ToolError::coded("mcp-rpc", error.message) }
}

/// A refusal before anything is sent: the tool is not there, or does not take the arguments.
pub(super) fn invalid(message: String) -> ToolError {
    rpc(ErrorData::invalid_params(message, None))
}

/// A failure of one request. The second part is true if the connection is of no use afterwards.
pub(super) fn of_service(server: &str, error: ServiceError) -> (ToolError, bool) {
    match error {
        ServiceError::McpError(error) => (rpc(error), false),
        ServiceError::TransportSend(error) => of_transport(server, &*error.error),
        ServiceError::TransportClosed => (lost(server, "closed the connection"), true),
        other => {
            (ToolError::coded("malformed_json", format!("the server `{server}` answered with something else: {other}")).finally(), false)
        }
    }
}

/// A failure to send, or to get an answer over HTTP.
pub(super) fn of_transport(server: &str, error: &(dyn Error + 'static)) -> (ToolError, bool) {
    match error.downcast_ref::<StreamableHttpError<reqwest::Error>>() {
        Some(error) => of_http(server, error),
        None => (lost(server, &format!("does not read its input any more: {error}")), true),
    }
}

fn of_http(server: &str, error: &StreamableHttpError<reqwest::Error>) -> (ToolError, bool) {
    let status = |code: u16, message: &str| ToolError::coded(format!("http-{code}"), format!("the server `{server}` {message}"));
    let found = match error {
        StreamableHttpError::Client(error) => return (of_client(server, error), false),
        StreamableHttpError::HttpStatus(failed) => {
            let after = failed.retry_after.as_deref().and_then(|text| retry_after(text, SystemTime::now()));
            let error = status(failed.status, &format!("answered with status {}", failed.status));
            let is_final = !matches!(failed.status, 408 | 425 | 429 | 500 | 502 | 503 | 504);
            ToolError { after, is_final, ..error }
        }
        StreamableHttpError::AuthRequired(_) => status(401, "wants to know who calls; see its `headers`").finally(),
        StreamableHttpError::InsufficientScope(_) => status(403, "does not let this caller do that").finally(),
        StreamableHttpError::UnexpectedContentType(kind) => {
            let kind = kind.as_deref().unwrap_or("no content type");
            ToolError::coded("content-type", format!("the server `{server}` answered with `{kind}`, which is no MCP")).finally()
        }
        StreamableHttpError::UnexpectedServerResponse(said) => unexpected(server, said),
        StreamableHttpError::ResponseBodyTooLarge { max_size } => too_long(server, *max_size),
        StreamableHttpError::Deserialize(error) => {
            ToolError::coded("malformed_json", format!("the server `{server}` answered with something that is no MCP: {error}")).finally()
        }
        StreamableHttpError::UnexpectedEndOfStream => ToolError::coded("cut", format!("the answer of the server `{server}` broke off")),
        // The worker of the transport ended: its own error was reported to the waiting call.
        StreamableHttpError::TransportChannelClosed => return (lost(server, "closed the connection"), true),
        other => lost(server, &format!("was lost: {other}")),
    };
    (found, false)
}

/// Returns the error of an answer that is no MCP: its status is at the front of the recorded text.
fn unexpected(server: &str, said: &str) -> ToolError {
    let code = said.strip_prefix("HTTP ").and_then(|rest| rest.get(..3)).and_then(|code| code.parse::<u16>().ok());
    let said = said.lines().next().unwrap_or_default();
    let said: String = said.chars().take(200).collect();
    let message = format!("the server `{server}` answered with something that is no MCP: {said}");
    match code {
        Some(code) => {
            let error = ToolError::coded(format!("http-{code}"), message);
            if matches!(code, 408 | 425 | 429 | 500 | 502 | 503 | 504) { error } else { error.finally() }
        }
        None => ToolError::coded("content-type", message).finally(),
    }
}

/// A failure of the HTTP client.
fn of_client(server: &str, error: &reqwest::Error) -> ToolError {
    let mut cause: &dyn Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    let code = if error.is_connect() { "connect" } else { "cut" };
    ToolError::coded(code, format!("the server `{server}` cannot be reached: {cause}"))
}

/// An answer above the bound of the transport.
pub(super) fn too_long(server: &str, limit: usize) -> ToolError {
    ToolError::coded("too-large", format!("the server `{server}` sent an answer of more than {limit} bytes")).finally()
}

//! Pages of other origins that may use the server: the preflight requests of their browsers, and the headers that they may read of an answer.

use axum::{
    extract::Request,
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header},
    response::{IntoResponse as _, Response},
};

/// Methods of all routes; a route without a method returns an error that the page can read.
const METHODS: &str = "GET, POST, PATCH, DELETE";
/// Headers of requests that routes read, beside those of MCP.
const ASKED: [&str; 7] = ["authorization", "content-type", "if-match", "if-none-match", "idempotency-key", "prefer", "last-event-id"];
/// The prefix of headers of requests of MCP.
const OF_MCP: &str = "mcp-";
/// Headers of answers that a page may read.
const EXPOSED_HEADERS: &str = "allow, etag, location, idempotency-replayed, preference-applied, retry-after, mcp-session-id";
/// Seconds for which a browser need not ask again.
const MAX_AGE_SECONDS: &str = "600";

/// Answers a preflight request, by which a browser asks whether a page may send a request; `None` for other requests. It needs no token, since
/// browsers send none with it.
pub(crate) fn preflight(request: &Request) -> Option<Response> {
    let headers = request.headers();
    if request.method() != Method::OPTIONS || !headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD) {
        return None;
    }
    let wanted = headers.get_all(header::ACCESS_CONTROL_REQUEST_HEADERS).iter().filter_map(|names| names.to_str().ok());
    let wanted = wanted.flat_map(|names| names.split(',')).filter_map(|name| HeaderName::from_bytes(name.trim().as_bytes()).ok());
    let taken: Vec<_> = wanted.filter(|name| ASKED.contains(&name.as_str()) || name.as_str().starts_with(OF_MCP)).collect();
    let taken = taken.iter().map(HeaderName::as_str).collect::<Vec<_>>().join(", ");
    let fixed = [
        (header::ACCESS_CONTROL_ALLOW_METHODS, METHODS),
        (header::ACCESS_CONTROL_MAX_AGE, MAX_AGE_SECONDS),
        (header::VARY, "access-control-request-headers"),
    ];
    let mut response = (StatusCode::NO_CONTENT, fixed).into_response();
    if let Ok(taken) = HeaderValue::from_str(&taken) {
        response.headers_mut().insert(header::ACCESS_CONTROL_ALLOW_HEADERS, taken);
    }
    Some(response)
}

/// Lets pages of an origin read an answer.
pub(crate) fn open(headers: &mut HeaderMap, origin: &str) {
    if let Ok(origin) = HeaderValue::from_str(origin) {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.append(header::VARY, HeaderValue::from_static("origin"));
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED_HEADERS));
    }
}

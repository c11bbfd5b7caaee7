//! Streamable HTTP at `/mcp`, behind the gates: sessions of older revisions belong to the token that opened them.

use std::{
    fmt,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use axum::{
    Router,
    body::Body,
    extract::Request,
    http::{HeaderMap, Method, StatusCode, header},
    response::{IntoResponse as _, Response},
    routing::any,
};
use futures_util::StreamExt as _;
use http_body_util::BodyExt as _;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde::{Deserialize, de::IgnoredAny};

use super::{McpDoor, McpHandler, admit, counted::CountedHandler, opened::OpenSessions};
use crate::{
    gate::{Admission, Caller, Right, admission},
    http::{App, Problem, collected},
    hub::ServerNews,
    trouble::{Code, Trouble},
};

/// The route.
const ROUTE: &str = "/mcp";
/// The time after which an unused session ends.
const IDLE: Duration = Duration::from_secs(30 * 60);

/// The trouble of a request in a session that is not open.
const OVER: &str = "this session of MCP is over, or was never there: send `initialize` without `mcp-session-id`";

/// The state of the route.
struct McpStreams {
    app: Arc<App>,
    sessions: Arc<OpenSessions>,
    service: StreamableHttpService<CountedHandler, OpenSessions>,
    is_watched: AtomicBool,
}

/// The route, for the router of a server.
pub(crate) fn routes(app: &Arc<App>) -> Router<Arc<App>> {
    let door = McpDoor { served: Arc::clone(&app.served), settings: app.settings.mcp.clone(), local: None };
    let handler = McpHandler::new(Arc::new(door));
    let (names, bounds) = (&app.settings.names, &app.settings.bounds);
    let sessions = Arc::new(OpenSessions::new(bounds.mcp_sessions, IDLE));
    let config = StreamableHttpServerConfig::default()
        .with_allowed_hosts(names.hosts())
        .with_allowed_origins(names.pages())
        .with_max_request_body_bytes(bounds.mcp_body);
    let service = StreamableHttpService::new(move || Ok(CountedHandler(handler.anew())), Arc::clone(&sessions), config);
    let streams = Arc::new(McpStreams { app: Arc::clone(app), sessions, service, is_watched: AtomicBool::new(false) });
    let answer = async move |request: Request| streams.answer(request).await;
    Router::new().route(ROUTE, any(async move |request| answer(request).await.unwrap_or_else(|trouble| Problem(trouble).into_response())))
}

impl McpStreams {
    /// Answers a request.
    ///
    /// # Errors
    /// The token may not, the body is none that is taken, or there are too many streams or sessions.
    async fn answer(&self, request: Request) -> Result<Response, Trouble> {
        self.watch();
        let caller = request.extensions().get::<Caller>().cloned();
        let caller = caller.ok_or_else(|| Trouble::new(Code::Internal, Code::Internal.title()).logged("a route without gates"))?;
        let is_open = self.admit(&caller, request.headers()).await?;
        let bounds = &self.app.settings.bounds;
        let (parts, body) = request.into_parts();
        let admission = admission(&self.app.settings.tokens, &parts.headers, caller.rights);
        let body = collected(body, bounds.mcp_body, bounds.body_time).await?;
        // Before anything begins that would have to be stopped.
        let may_stream = may_stream(&parts.method, &body);
        if may_stream && self.app.served.is_stopping() {
            return Err(Trouble::new(Code::Stopping, Code::Stopping.title()));
        }
        let permit = may_stream.then(|| self.app.rates.stream(&caller.label, bounds)).transpose()?;
        let misread = misread(&parts.headers, &body);
        let is_end = parts.method == Method::DELETE;
        let handled = self.handled(Request::from_parts(parts, Body::from(body)));
        let Some(response) = self.sessions.serve((caller.label, admission.clone()), handled).await else {
            let detail = format!("{} sessions of MCP are open, which is the bound", bounds.mcp_sessions);
            return Err(Trouble::new(Code::TooMany, detail).retry_after(60));
        };
        let response = as_problem(response, misread).await;
        if is_end && response.status() == StatusCode::ACCEPTED {
            // The library says so of every session, also of none; clients take it for a failure.
            return if is_open { Ok(StatusCode::NO_CONTENT.into_response()) } else { Err(Trouble::new(Code::UnknownSession, OVER)) };
        }
        let is_stream = response.headers().get(header::CONTENT_TYPE).is_some_and(|kind| kind == "text/event-stream");
        if !is_stream {
            return Ok(response);
        }
        // The stream has its seat for as long as a client can read it, and lasts no longer than its token.
        let seated = move |bytes| {
            let _ = &permit;
            bytes
        };
        let revoked = async move |mut admission: Admission| admission.revoked().await;
        Ok(response.map(|body| Body::from_stream(body.into_data_stream().take_until(revoked(admission)).map(seated))))
    }

    /// Returns the answer of the library. Its large future is created here, so that it does not lie on the stack of the caller.
    fn handled(&self, request: Request) -> Pin<Box<dyn Future<Output = Response> + Send + '_>> {
        Box::pin(async { self.service.handle(request).await.map(Body::new) })
    }

    /// Lets a request to its session; returns whether that is open.
    ///
    /// # Errors
    /// The token may neither read nor walk, or the session is another one's.
    async fn admit(&self, caller: &Caller, headers: &HeaderMap) -> Result<bool, Trouble> {
        if !caller.rights.has(Right::Walk) {
            admit(caller, Right::Read)?;
        }
        let id = headers.get("mcp-session-id").and_then(|id| id.to_str().ok());
        let owner = match id {
            Some(id) => self.sessions.owner(id).await,
            None => None,
        };
        match owner {
            Some(owner) if owner != caller.label => Err(Trouble::new(Code::Forbidden, "another token opened this session of MCP")),
            owner => Ok(owner.is_some()),
        }
    }

    /// Ends all streams when the server ends, and the sessions of tokens that are none any more when the tokens were read again.
    fn watch(&self) {
        if self.is_watched.swap(true, Ordering::AcqRel) {
            return;
        }
        let (mut news, end) = (self.app.served.hub.feed(None).news, self.service.config.cancellation_token.clone());
        let (mut reloads, sessions) = (self.app.settings.tokens.reloads(), Arc::clone(&self.sessions));
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    heard = news.recv() => match heard {
                        Ok((_, ServerNews::Closed)) | Err(tokio::sync::broadcast::error::RecvError::Closed) => return end.cancel(),
                        Ok(_) | Err(_) => {}
                    },
                    Ok(()) = reloads.changed() => sessions.close_revoked().await,
                }
            }
        });
    }
}

/// Returns an answer; a refusal of the library that is a bare text becomes a problem. Errors of the protocol are JSON already.
async fn as_problem(response: Response, misread: Option<Trouble>) -> Response {
    let code = match response.status().as_u16() {
        400 => Code::BadRequest,
        403 => Code::Forbidden,
        404 => Code::UnknownSession,
        405 => Code::Method,
        406 => Code::NotAcceptable,
        413 => Code::TooLarge,
        // The library says so of every message that it cannot read.
        415 => match misread {
            Some(trouble) => return Problem(trouble).into_response(),
            None => Code::MediaType,
        },
        _ => return response,
    };
    let kind = response.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    if kind.is_some_and(|kind| kind.contains("json")) {
        return response;
    }
    let (parts, body) = response.into_parts();
    let text = body.collect().await.map(|body| String::from_utf8_lossy(&body.to_bytes()).trim().to_owned()).unwrap_or_default();
    let detail = match (code, text) {
        (Code::UnknownSession, _) => OVER.to_owned(),
        (Code::BadRequest, text) if text.contains("Session ID is required") => {
            "a message outside of a session is `initialize`, or names the revision in its `_meta`: send `mcp-session-id` as the answer to `initialize` had it".to_owned()
        }
        (Code::Method, _) => "POST sends a message, GET opens the stream of a session, and DELETE ends the session".to_owned(),
        (code, text) if text.is_empty() => code.title().to_owned(),
        (_, text) => text,
    };
    let mut problem = Problem(Trouble::new(code, detail)).into_response();
    if let Some(allow) = parts.headers.get(header::ALLOW) {
        problem.headers_mut().insert(header::ALLOW, allow.clone());
    }
    problem
}

/// Returns the reason why a body that is said to be JSON is no message, in case the library takes it for none.
fn misread(headers: &HeaderMap, body: &[u8]) -> Option<Trouble> {
    let kind = headers.get(header::CONTENT_TYPE)?.to_str().ok()?.split(';').next()?.trim();
    kind.eq_ignore_ascii_case("application/json").then(|| match serde_json::from_slice::<IgnoredAny>(body) {
        Ok(_) if body.trim_ascii_start().starts_with(b"[") => {
            Trouble::new(Code::BadRequest, "send one message each: batches are not taken")
        }
        Ok(_) => Trouble::new(Code::BadRequest, "the body is no message of JSON-RPC"),
        Err(error) => Trouble::new(Code::BadJson, format!("the body is no JSON: {error}")),
    })
}

/// The parts of a message that distinguish a request from a notification and a response.
#[derive(Deserialize)]
struct Envelope {
    method: Option<IgnoredAny>,
    id: Option<IgnoredAny>,
}

/// Returns whether an answer may be a stream. Notifications and responses never have one: a client whose streams are all open must be able to answer
/// the questions in them. An unreadable message counts as a request.
fn may_stream(method: &Method, body: &[u8]) -> bool {
    let is_request = || serde_json::from_slice::<Envelope>(body).map_or(true, |message| message.method.is_some() && message.id.is_some());
    *method == Method::GET || *method == Method::POST && is_request()
}

impl fmt::Debug for McpStreams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("McpStreams")
    }
}

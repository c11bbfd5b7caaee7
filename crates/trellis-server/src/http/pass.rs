//! The way of every request through the gates, and the headers that every answer has.

use std::{
    any::Any,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    panic::AssertUnwindSafe,
    sync::Arc,
    time::Instant,
};

use axum::{
    extract::{ConnectInfo, MatchedPath, Request, State},
    http::{HeaderMap, HeaderValue, Method, header},
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use futures_util::FutureExt as _;

use super::{
    App, is_open,
    problem::{Logged, Problem},
    studio::is_page,
};
use crate::{
    gate::{LogLine, caller, cors},
    trouble::{Code, Trouble},
};

/// The content security policy of every answer.
const CSP: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; \
                   form-action 'none'; frame-ancestors 'none'";

/// The header by which browsers use nothing but TLS for a year, where the server speaks it.
const HSTS: &str = "max-age=31536000";

/// The address that a connection comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer(pub(crate) SocketAddr);

/// Lets a request pass to its route, or answers with the reason of the refusal.
pub(crate) async fn pass(State(app): State<Arc<App>>, mut request: Request, next: Next) -> Response {
    let began = Instant::now();
    let id: Arc<str> = app.request_id().into();
    let method = known(request.method());
    let route: Arc<str> = request.extensions().get::<MatchedPath>().map_or("-", MatchedPath::as_str).into();
    let (mut label, mut origin) = (None, None);
    let is_api = request.uri().path().starts_with("/api");
    let mut response = match admitted(&app, &mut request, &mut label, &mut origin) {
        Ok(Some(response)) => response,
        Ok(None) => match AssertUnwindSafe(next.run(request)).catch_unwind().await {
            Ok(response) => response,
            Err(panic) => Problem(Trouble::new(Code::Internal, Code::Internal.title()).logged(panic_message(&*panic))).into_response(),
        },
        Err(trouble) => Problem(trouble).into_response(),
    };
    let logged = response.extensions_mut().remove::<Logged>();
    if response.status().as_u16() == Code::Internal.status() {
        response = Problem(Trouble::new(Code::Internal, Code::Internal.title()).with("id", &*id)).into_response();
    }
    dress(response.headers_mut(), is_api, origin.as_deref());
    if app.settings.is_tls() {
        response.headers_mut().insert(header::STRICT_TRANSPORT_SECURITY, HeaderValue::from_static(HSTS));
    }
    let (status, took) = (response.status().as_u16(), began.elapsed());
    app.metrics.count(&route, method, status, took);
    if let Some(log) = &app.settings.log {
        log(&LogLine { id, method, route, status, took, label, trouble: logged.map(|logged| logged.0) });
    }
    response
}

/// Checks a request before a route sees it. Some requests are answered here.
fn admitted(
    app: &App,
    request: &mut Request,
    label: &mut Option<Arc<str>>,
    origin: &mut Option<String>,
) -> Result<Option<Response>, Trouble> {
    let bounds = &app.settings.bounds;
    let headers = request.headers();
    let bytes: usize = headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
    if headers.len() > bounds.headers || bytes > bounds.header_bytes {
        let detail = format!(
            "the request has {} headers of {bytes} bytes, the limits are {} and {}",
            headers.len(),
            bounds.headers,
            bounds.header_bytes
        );
        return Err(Trouble::new(Code::HeadersTooLarge, detail));
    }
    let route = request.extensions().get::<MatchedPath>().map_or("", MatchedPath::as_str);
    // A link from elsewhere may open the page, which does nothing by being opened.
    let is_opened =
        is_page(route) && request.method() == Method::GET && headers.get("sec-fetch-mode").is_some_and(|mode| mode == "navigate");
    *origin = app.settings.names.admit(request.uri(), headers, is_opened)?;
    if origin.is_some()
        && let Some(response) = cors::preflight(request)
    {
        return Ok(Some(response));
    }
    // Clients of MCP look there for a description of how to get a token, and there is none.
    if request.uri().path().starts_with("/.well-known/") || is_open(route) {
        return Ok(None);
    }
    let address = address(app, request);
    let caller = caller(&app.settings.tokens, &app.rates, bounds, request.headers(), address)?;
    *label = Some(Arc::clone(&caller.label));
    app.rates.admit_request(&caller.label, bounds)?;
    request.extensions_mut().insert(caller);
    Ok(None)
}

/// The address that a request comes from; behind a proxy, the one that it names.
fn address(app: &App, request: &Request) -> IpAddr {
    let of_application = || request.extensions().get::<ConnectInfo<SocketAddr>>().map(|peer| peer.0);
    let peer = request.extensions().get::<Peer>().map(|peer| peer.0).or_else(of_application);
    // One that listens to both kinds of addresses sees those of IPv4 in those of IPv6.
    let peer = peer.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |peer| peer.ip().to_canonical());
    if !app.settings.proxies.iter().any(|network| network.contains(peer)) {
        return peer;
    }
    // The last one of the last line was added by the trusted proxy; a client can forge those before it.
    let lines = request.headers().get_all("x-forwarded-for");
    let named = lines.iter().next_back().and_then(|line| line.to_str().ok()).and_then(|line| line.rsplit(',').next());
    named.and_then(|named| forwarded(named.trim())).unwrap_or(peer)
}

/// An address as proxies write it: with a port, or without.
fn forwarded(text: &str) -> Option<IpAddr> {
    let with_port = || text.parse().ok().map(|address: SocketAddr| address.ip());
    text.parse().ok().or_else(with_port).map(|address: IpAddr| address.to_canonical())
}

/// The headers of every answer.
fn dress(headers: &mut HeaderMap, is_api: bool, origin: Option<&str>) {
    let fixed = [
        (header::CONTENT_SECURITY_POLICY, CSP),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (header::HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ];
    for (name, value) in fixed {
        // A picture names its own style sheet.
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    if is_api || !headers.contains_key(header::CACHE_CONTROL) {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    if let Some(origin) = origin {
        cors::open(headers, origin);
    }
}

fn known(method: &Method) -> &'static str {
    match method.as_str() {
        "GET" => "GET",
        "HEAD" => "HEAD",
        "POST" => "POST",
        "PATCH" => "PATCH",
        "DELETE" => "DELETE",
        "PUT" => "PUT",
        "OPTIONS" => "OPTIONS",
        _ => "other",
    }
}

/// Returns the message of a panic.
fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("panicked: {}", text.unwrap_or("without words"))
}

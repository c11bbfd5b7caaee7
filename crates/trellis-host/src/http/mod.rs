//! The HTTP client that bindings share: one request out, a status, headers and a bounded body in.
//!
//! ```text
//! HttpRequest ──HttpClient::send──▶ HttpResponse ──chunk──▶ bytes … end
//!                  │                     └─body(limit)──▶ all bytes
//!                  └─ ToolError: connect, tls, url, header        └─ ToolError: cut, too-large
//! ```
//!
//! HTTP/1.1 with connections that stay open between calls. It stores no cookies, takes no proxy from the environment, asks for no compression,
//! follows no redirect and repeats no request (9.12). Trust is set up at the first call that needs it: the roots of the system, and beside them those
//! of a PEM file that a request names.
//!
//! **Invariant:** no error has a header, a body, or more of a URL than its scheme, host and port: the rest may hold secrets.

mod error;
mod request;
mod response;
mod status;
mod tls;
mod unprotected;

use std::{
    collections::BTreeMap,
    fmt,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
};

use reqwest::{Url, redirect};
use tokio::net::TcpStream;
use trellis_core::ToolError;

#[cfg(feature = "mcp")]
pub(crate) use self::status::retry_after;
pub(crate) use self::unprotected::unprotected;
pub use self::{request::HttpRequest, response::HttpResponse, status::status_error, tls::check_ca};

/// A client for all that a host calls over HTTP. Clones share its connections. Nothing is read or set up before the first call.
///
/// ```no_run
/// use trellis_host::http::{HttpClient, HttpRequest};
///
/// # async fn ask() -> Result<(), trellis_core::ToolError> {
/// let client = HttpClient::new();
/// let response = client.send(HttpRequest::new("GET", "https://example.org/people")?.header("accept", "application/json")?).await?;
/// let body = response.body(1 << 20).await?;
/// # drop(body);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default)]
pub struct HttpClient(Arc<Mutex<BTreeMap<Trust, reqwest::Client>>>);

/// Roots of trust of a connection. Connections of different trust are never shared.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Trust {
    /// None: no TLS.
    Plain,
    /// Those of the system, with the certificates of a PEM file.
    Roots(Vec<u8>),
}

impl HttpClient {
    /// A client without connections.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sends a request and reads the head of its response, with any status. Dropping the future closes the connection.
    ///
    /// # Errors
    /// `connect`, `cut` or `tls`; where the request names a PEM file, `tls` also if that cannot be read.
    pub async fn send(&self, request: HttpRequest) -> Result<HttpResponse, ToolError> {
        let HttpRequest { method, url, headers, body, ca, addresses } = request;
        let origin = url.origin().ascii_serialization();
        let client = match &addresses[..] {
            [] => self.client(&url, ca.as_deref())?,
            addresses => pinned(&url, ca.as_deref(), addresses)?,
        };
        let mut builder = client.request(method, url).headers(headers);
        if let Some(body) = body {
            builder = builder.body(body);
        }
        let response = builder.send().await.map_err(|error| error::sending(&origin, &error.without_url()))?;
        Ok(HttpResponse::new(response, origin))
    }

    /// Connects to the host of a URL, with TLS if its scheme requires it, and sends nothing.
    ///
    /// # Errors
    /// `url`, `connect`, `tls`.
    pub async fn reach(&self, url: &str, ca: Option<&std::path::Path>) -> Result<(), ToolError> {
        let url = request::parsed(url)?;
        let origin = url.origin().ascii_serialization();
        let no_connection = |error: std::io::Error| error::no_connection(&origin, &error);
        let host = url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
        let stream = TcpStream::connect((host, url.port_or_known_default().unwrap_or_default())).await.map_err(no_connection)?;
        if url.scheme() == "https" {
            let config = tls::config(&tls::read(ca)?)?;
            let name = rustls::pki_types::ServerName::try_from(host.to_owned())
                .map_err(|_| ToolError::coded("url", format!("`{host}` is no host")).finally())?;
            let connecting = tokio_rustls::TlsConnector::from(Arc::new(config)).connect(name, stream);
            connecting.await.map_err(|error| error::sending(&origin, &error))?;
        }
        Ok(())
    }

    /// The client underneath for a URL, for protocols that bring their own requests.
    ///
    /// # Errors
    /// `tls`: the roots of trust cannot be read, or there are none.
    pub(crate) fn client(&self, url: &Url, ca: Option<&std::path::Path>) -> Result<reqwest::Client, ToolError> {
        let trust = if url.scheme() == "https" { Trust::Roots(tls::read(ca)?) } else { Trust::Plain };
        let mut clients = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = clients.get(&trust) {
            return Ok(client.clone());
        }
        let client = made(builder(&trust)?)?;
        clients.insert(trust, client.clone());
        Ok(client)
    }
}

/// A client of one request, whose host has these addresses and no others.
fn pinned(url: &Url, ca: Option<&std::path::Path>, addresses: &[SocketAddr]) -> Result<reqwest::Client, ToolError> {
    let trust = if url.scheme() == "https" { Trust::Roots(tls::read(ca)?) } else { Trust::Plain };
    made(builder(&trust)?.resolve_to_addrs(url.host_str().unwrap_or_default(), addresses))
}

fn builder(trust: &Trust) -> Result<reqwest::ClientBuilder, ToolError> {
    let config = match trust {
        Trust::Plain => tls::without_roots()?,
        Trust::Roots(pem) => tls::config(pem)?,
    };
    let builder = reqwest::Client::builder()
        .user_agent(concat!("trellis/", env!("CARGO_PKG_VERSION")))
        .tls_backend_preconfigured(config)
        .http1_only()
        .no_proxy()
        .redirect(redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false);
    Ok(builder)
}

fn made(builder: reqwest::ClientBuilder) -> Result<reqwest::Client, ToolError> {
    builder.build().map_err(|error| ToolError::coded("tls", format!("no HTTP client can be made: {error}")).finally())
}

impl fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HttpClient")
    }
}

//! A request as a binding makes it.

use std::{
    fmt,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use reqwest::{
    Method, Url,
    header::{HeaderMap, HeaderName, HeaderValue},
};
use trellis_core::ToolError;

/// A request: method, URL, headers, body, and the roots of trust that its connection needs.
#[derive(Clone)]
pub struct HttpRequest {
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) body: Option<Vec<u8>>,
    pub(super) ca: Option<PathBuf>,
    /// The addresses to connect to, whatever its host resolves to; empty if the host is resolved.
    pub(super) addresses: Vec<SocketAddr>,
}

impl HttpRequest {
    /// Creates a request without headers and body. The method is in capitals, the URL is absolute.
    ///
    /// # Errors
    /// `url`: the URL is none of `http` and `https`, or the method is no word.
    pub fn new(method: &str, url: &str) -> Result<Self, ToolError> {
        let method = method.parse().map_err(|_| ToolError::coded("url", format!("`{method}` is no method")).finally())?;
        Ok(Self { method, url: parsed(url)?, headers: HeaderMap::new(), body: None, ca: None, addresses: Vec::new() })
    }

    /// Adds a header; also one that is present already.
    ///
    /// # Errors
    /// `header`: the name is none, or the value has a control character.
    pub fn header(mut self, name: &str, value: &str) -> Result<Self, ToolError> {
        let no_name = || ToolError::coded("header", format!("`{name}` is no name of a header")).finally();
        let no_value = || ToolError::coded("header", format!("the header `{name}` has a control character in its value")).finally();
        let named: HeaderName = name.parse().map_err(|_| no_name())?;
        if value.chars().any(char::is_control) {
            return Err(no_value());
        }
        self.headers.append(named, HeaderValue::from_bytes(value.as_bytes()).map_err(|_| no_value())?);
        Ok(self)
    }

    /// Returns whether it has a header of this name.
    pub fn has_header(&self, name: &str) -> bool {
        self.headers.contains_key(name)
    }

    /// Sets a body; a header gives its type.
    #[must_use]
    pub fn body(self, body: impl Into<Vec<u8>>) -> Self {
        Self { body: Some(body.into()), ..self }
    }

    /// Trusts the certificates of a PEM file beside those of the system. The file is read for each request.
    #[must_use]
    pub fn ca(self, ca: Option<&Path>) -> Self {
        Self { ca: ca.map(Path::to_owned), ..self }
    }

    /// Returns the request with the addresses that it connects to, and no others: the host in its URL is not resolved again. The connection is not shared.
    #[must_use]
    pub fn only_to(self, addresses: Vec<SocketAddr>) -> Self {
        Self { addresses, ..self }
    }

    /// Returns the request to the target of a redirect, if that is on the same origin.
    #[must_use]
    pub fn redirected(&self, location: &str) -> Option<Self> {
        let url = self.url.join(location).ok()?;
        (url.origin() == self.url.origin()).then(|| Self { url, ..self.clone() })
    }

    /// Scheme, host and port.
    pub fn origin(&self) -> String {
        self.url.origin().ascii_serialization()
    }
}

/// A URL of `http` or `https`, with a host.
pub(super) fn parsed(url: &str) -> Result<Url, ToolError> {
    match Url::parse(url) {
        Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => Ok(url),
        Ok(url) => {
            Err(ToolError::coded("url", format!("`{}:` is no scheme that is spoken here; write `https://…`", url.scheme())).finally())
        }
        Err(error) => Err(ToolError::coded("url", format!("the URL cannot be read: {error}")).finally()),
    }
}

impl fmt::Debug for HttpRequest {
    /// Prints its target; headers and body may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HttpRequest({} {})", self.method, self.origin())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(result: Result<HttpRequest, ToolError>) -> String {
        let error = result.unwrap_err();
        assert!(error.is_final, "{error:?}");
        error.code.unwrap().to_string()
    }

    #[test]
    fn headers_have_no_control_characters() {
        let request = || HttpRequest::new("GET", "https://example.org/a").unwrap();
        for value in ["a\r\nx: y", "a\n", "a\0", "\u{7f}", "a\tb"] {
            assert_eq!(code(request().header("x-a", value)), "header", "{value:?}");
        }
        assert_eq!(code(request().header("x a", "b")), "header");
        assert!(request().header("x-a", "naïve").is_ok());
    }

    #[test]
    fn only_urls_of_http_are_taken() {
        for url in ["file:///etc/passwd", "ftp://example.org", "/a", "https://", "https://exa mple.org", "http://[::1"] {
            assert_eq!(code(HttpRequest::new("GET", url)), "url", "{url}");
        }
    }

    #[test]
    fn redirects_stay_on_their_origin() {
        let request = HttpRequest::new("GET", "https://example.org/a/b?c=d").unwrap();
        let to = |location: &str| request.redirected(location).map(|to| to.url.to_string());
        assert_eq!(to("../e").as_deref(), Some("https://example.org/e"));
        assert_eq!(to("https://example.org:443/f").as_deref(), Some("https://example.org/f"));
        for elsewhere in
            ["http://example.org/a", "https://example.org:444/", "//evil.example", "https://evil.example@x", "javascript:1", "http://"]
        {
            assert_eq!(to(elsewhere), None, "{elsewhere}");
        }
    }

    #[test]
    fn what_may_be_secret_is_not_told() {
        let request = HttpRequest::new("GET", "https://example.org/a?key=hunter2").unwrap().header("authorization", "hunter2").unwrap();
        assert_eq!(format!("{request:?}"), "HttpRequest(GET https://example.org)");
    }
}

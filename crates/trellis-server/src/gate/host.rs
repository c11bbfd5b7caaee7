//! The names of a server: `Host` must be one of them, and `Origin` one of ours. DNS rebinding ends here.

use std::net::SocketAddr;

use axum::http::{HeaderMap, Uri, header};

use crate::trouble::{Code, Trouble};

/// The names under which a server answers, each with its port where it has one.
#[derive(Clone, Debug, Default)]
pub struct HostNames {
    /// The port that it listens at.
    port: Option<u16>,
    names: Vec<String>,
    origins: Vec<String>,
}

impl HostNames {
    /// The names of the machine itself and the address that is listened at, with its port.
    pub fn local(address: SocketAddr) -> Self {
        let port = address.port();
        let names = ["127.0.0.1", "localhost", "[::1]"].map(|name| format!("{name}:{port}")).into();
        let mut local = Self { port: Some(port), names, origins: Vec::new() };
        if port == 80 || port == 443 {
            // Browsers leave the port of a scheme out.
            local.names.extend(["127.0.0.1", "localhost", "[::1]"].map(str::to_owned));
        }
        if address.ip().is_unspecified() { local } else { local.and(&address.to_string()) }
    }

    /// Adds a name, such as `flows.example.org` or `flows.example.org:8443`. One without a port stands for that of a scheme, as behind a proxy, and
    /// for the port that is listened at.
    #[must_use]
    pub fn and(mut self, name: &str) -> Self {
        let name = name.to_ascii_lowercase();
        let has_port = name.rsplit_once(':').is_some_and(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
        let with_port = self.port.filter(|_| !has_port).map(|port| format!("{name}:{port}"));
        for name in [name].into_iter().chain(with_port) {
            if !self.names.contains(&name) {
                self.names.push(name);
            }
        }
        self
    }

    /// Allows pages of this origin, such as `https://app.example.org`, to use the server.
    #[must_use]
    pub fn allow_origin(mut self, origin: &str) -> Self {
        self.origins.push(origin.trim_end_matches('/').to_ascii_lowercase());
        self
    }

    /// The names, each with its port.
    pub(crate) fn hosts(&self) -> Vec<String> {
        self.names.clone()
    }

    /// The origins of all pages that may use the server.
    pub(crate) fn pages(&self) -> Vec<String> {
        let own = self.names.iter().flat_map(|name| [format!("http://{name}"), format!("https://{name}")]);
        own.chain(self.origins.iter().cloned()).collect()
    }

    /// The origin of a page that may read the answer, if the request comes from one that is not of this server. `is_opened` is a browser that opens
    /// the studio, which links from elsewhere may lead to.
    ///
    /// # Errors
    /// The server is not known by that name, or the page is none of ours.
    pub(crate) fn admit(&self, uri: &Uri, headers: &HeaderMap, is_opened: bool) -> Result<Option<String>, Trouble> {
        let mut hosts = headers.get_all(header::HOST).iter();
        let host = match (hosts.next(), hosts.next()) {
            (Some(host), None) => host.to_str().ok(),
            (None, None) => uri.authority().map(|authority| authority.as_str()),
            _ => None,
        };
        let host = host.unwrap_or_default().to_ascii_lowercase();
        // A request whose target has a name of its own must not have another one.
        let target = uri.authority().map(|authority| authority.as_str().to_ascii_lowercase());
        if !self.names.contains(&host) || target.is_some_and(|target| target != host) {
            return Err(Trouble::new(
                Code::BadHost,
                "this server is not known by that name and port; `--host NAME` or `--host NAME:PORT` adds one",
            ));
        }
        self.admit_page(headers, is_opened)
    }

    fn admit_page(&self, headers: &HeaderMap, is_opened: bool) -> Result<Option<String>, Trouble> {
        let refused = || Trouble::new(Code::BadOrigin, "pages from elsewhere cannot use this server; `--allow-origin` names one that may");
        let mut given = None;
        for origin in headers.get_all(header::ORIGIN) {
            let origin = origin.to_str().map_err(|_| refused())?.to_ascii_lowercase();
            let bare = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
            let is_own = bare.is_some_and(|bare| self.names.iter().any(|name| name == bare));
            if !is_own && !self.origins.contains(&origin) {
                return Err(refused());
            }
            given = Some(origin).filter(|_| !is_own);
        }
        let is_foreign = headers.get("sec-fetch-site").is_some_and(|site| site == "cross-site");
        if is_foreign && !is_opened && given.is_none() {
            return Err(refused());
        }
        Ok(given)
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn code(pairs: &[(&'static str, &'static str)]) -> Result<Option<String>, Code> {
        let names = HostNames::local(([127, 0, 0, 1], 7317).into()).and("Flows.example").allow_origin("https://app.example/");
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, HeaderValue::from_static(value));
        }
        names.admit(&Uri::from_static("/api/graphs"), &headers, false).map_err(|trouble| trouble.code)
    }

    /// DNS rebinding and pages from elsewhere.
    #[test]
    fn a_foreign_name_and_a_foreign_page_are_refused() {
        assert_eq!(code(&[("host", "localhost:7317")]), Ok(None));
        assert_eq!(code(&[("host", "flows.EXAMPLE"), ("origin", "https://flows.example")]), Ok(None));
        for host in ["localhost", "localhost:80", "evil.example:7317", "127.0.0.1.evil.example:7317"] {
            assert_eq!(code(&[("host", host)]), Err(Code::BadHost), "{host}");
        }
        assert_eq!(code(&[]), Err(Code::BadHost));
        assert_eq!(code(&[("host", "localhost:7317"), ("host", "localhost:7317")]), Err(Code::BadHost));
        for origin in ["null", "http://evil.example", "http://localhost:1", "file://localhost:7317"] {
            assert_eq!(code(&[("host", "localhost:7317"), ("origin", origin)]), Err(Code::BadOrigin), "{origin}");
        }
        assert_eq!(code(&[("host", "localhost:7317"), ("sec-fetch-site", "cross-site")]), Err(Code::BadOrigin));
        let allowed = [("host", "localhost:7317"), ("origin", "https://app.example"), ("sec-fetch-site", "cross-site")];
        assert_eq!(code(&allowed), Ok(Some("https://app.example".to_owned())));
    }

    // `docs/serve.md#security`: a name without a port is also that of the port, and so is the address that is listened at
    #[test]
    fn a_name_is_known_with_the_port_and_so_is_the_address() {
        let known = |address: &str, name: &str| {
            let names = HostNames::local(address.parse().unwrap_or_else(|error| panic!("{error}"))).and(name);
            names.hosts().split_off(3)
        };
        assert_eq!(known("0.0.0.0:7443", "flows.test"), ["flows.test", "flows.test:7443"]);
        assert_eq!(known("0.0.0.0:7443", "flows.test:8443"), ["flows.test:8443"]);
        assert_eq!(known("127.0.0.5:7443", "[fd00::1]"), ["127.0.0.5:7443", "[fd00::1]", "[fd00::1]:7443"]);
        assert_eq!(known("[fd00::2]:7443", "[fd00::2]:7443"), ["[fd00::2]:7443"]);
        assert_eq!(known("127.0.0.1:7443", "localhost:7443"), [""; 0]);
    }
}

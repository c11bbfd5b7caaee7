//! Hosts to which everything goes unencrypted (language 9.11).

use super::HttpRequest;

/// The host of a URL of `http:` that is not loopback.
pub(crate) fn unprotected(url: &str) -> Option<String> {
    let request = HttpRequest::new("GET", url).ok()?;
    let origin = request.origin();
    let host = origin.strip_prefix("http://")?;
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next()?,
        None => host.split(':').next()?,
    };
    let is_loopback = match name.parse::<std::net::IpAddr>() {
        Ok(address) => address.is_loopback(),
        Err(_) => name == "localhost" || name.ends_with(".localhost"),
    };
    (!is_loopback).then(|| host.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    // language 9.11
    #[test]
    fn only_other_machines_are_unprotected() {
        for url in ["http://localhost:8080/a", "http://127.0.0.1", "http://[::1]:3/", "https://example.org", "http://a.localhost"] {
            assert_eq!(unprotected(url), None, "{url}");
        }
        assert_eq!(unprotected("http://example.org:81/a?b").as_deref(), Some("example.org:81"));
        assert_eq!(unprotected("http://127.0.0.1.example.org").as_deref(), Some("127.0.0.1.example.org"));
    }
}

//! Values of the options of a server: one that could never be of use is refused with what to write instead.

/// Reads a name of a server, such as `flows.example.org` or `flows.example.org:8443`.
pub(crate) fn host(text: &str) -> Result<String, String> {
    let name = text.rsplit_once("://").map_or(text, |(_, name)| name).split('/').next().unwrap_or_default();
    if name == text && is_authority(name) {
        return Ok(text.to_owned());
    }
    let instead = if is_authority(name) { format!(", so `--host {name}`") } else { String::new() };
    Err(format!("a name is written without scheme and path, such as flows.example.org or flows.example.org:8443{instead}"))
}

/// Reads an origin, such as `https://app.example.org`.
pub(crate) fn origin(text: &str) -> Result<String, String> {
    let (scheme, rest) = text.split_once("://").unwrap_or(("", text));
    let name = rest.split('/').next().unwrap_or_default();
    let is_web = ["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known));
    if is_web && is_authority(name) && rest.strip_suffix('/').unwrap_or(rest) == name {
        return Ok(text.to_owned());
    }
    let scheme = if is_web { scheme } else { "https" };
    let instead = if is_authority(name) { format!(", so `--allow-origin {scheme}://{name}`") } else { String::new() };
    Err(format!("an origin is a scheme and a name, such as https://app.example.org{instead}"))
}

/// Reads a number of connections.
pub(crate) fn connections(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("a server without connections answers nobody; write 1 or more".to_owned()),
        Ok(number) => Ok(number),
        Err(_) => Err("a number of connections is 1 or more".to_owned()),
    }
}

/// Returns whether a name has a port.
pub(crate) fn has_port(name: &str) -> bool {
    name.rsplit_once(':').is_some_and(|(_, port)| !port.ends_with(']'))
}

/// Returns whether a text is a name or an address, with or without a port.
fn is_authority(text: &str) -> bool {
    let (name, port) = match text.rsplit_once(':') {
        Some((name, port)) if has_port(text) => (name, Some(port)),
        _ => (text, None),
    };
    let is_port = port.is_none_or(|port| port.parse::<u16>().is_ok_and(|port| port > 0));
    let is_address =
        name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).is_some_and(|name| name.parse::<std::net::Ipv6Addr>().is_ok());
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte));
    is_port && (is_address || is_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    // `docs/serve.md#security`: what could never match is refused, with what would
    #[test]
    fn a_name_and_an_origin_that_could_never_match_are_refused() {
        for fine in ["flows.example.org", "flows.example.org:8443", "[fd00::1]", "[fd00::1]:8443", "127.0.0.5", "Flows_2"] {
            assert_eq!(host(fine).as_deref(), Ok(fine));
            assert!(origin(&format!("https://{fine}")).is_ok() && origin(&format!("http://{fine}/")).is_ok(), "{fine}");
        }
        for (bad, instead) in [
            ("http://x.example", "`--host x.example`"),
            ("x.example/", "`--host x.example`"),
            ("*", "such as"),
            ("x:0", "such as"),
            ("", "such as"),
        ] {
            assert!(host(bad).is_err_and(|why| why.contains(instead)), "{bad}");
        }
        for (bad, instead) in [
            ("x.example", "`--allow-origin https://x.example`"),
            ("http://x.example/app", "`--allow-origin http://x.example`"),
            ("ftp://x.example", "`--allow-origin https://x.example`"),
            ("*", "such as"),
            ("https://", "such as"),
        ] {
            assert!(origin(bad).is_err_and(|why| why.contains(instead)), "{bad}");
        }
        assert!(origin("null").is_err());
    }

    // `docs/serve.md#security`: a bound of nothing is none
    #[test]
    fn no_connections_are_none() {
        assert_eq!((connections("1"), connections("1024")), (Ok(1), Ok(1024)));
        assert!(connections("0").is_err_and(|why| why.contains("write 1 or more")) && connections("many").is_err());
    }
}

//! Settings of a server: who may use it, under which names, and how much at once.

use std::{fmt, sync::Arc, time::Duration};

use crate::gate::{HostNames, LogLine, Tokens};

type Log = dyn Fn(&LogLine) + Send + Sync;

/// Settings of a server.
#[derive(Clone)]
#[non_exhaustive]
pub struct Settings {
    /// The tokens that it takes.
    pub tokens: Tokens,
    /// The names under which it answers.
    pub names: HostNames,
    /// How much it takes at once.
    pub bounds: Bounds,
    /// Networks of proxies, whose `X-Forwarded-For` counts.
    pub proxies: Vec<Network>,
    pub(crate) log: Option<Arc<Log>>,
}

impl Settings {
    /// A server with these tokens and names, and the usual bounds.
    pub fn new(tokens: Tokens, names: HostNames) -> Self {
        Self { tokens, names, bounds: Bounds::default(), proxies: Vec::new(), log: None }
    }

    /// The same with other bounds.
    #[must_use]
    pub fn bounds(self, bounds: Bounds) -> Self {
        Self { bounds, ..self }
    }

    /// The same behind proxies of these networks.
    #[must_use]
    pub fn proxies(self, proxies: Vec<Network>) -> Self {
        Self { proxies, ..self }
    }

    /// The same; `log` gets a line for each request.
    #[must_use]
    pub fn log(self, log: impl Fn(&LogLine) + Send + Sync + 'static) -> Self {
        Self { log: Some(Arc::new(log)), ..self }
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings").field("names", &self.names).field("bounds", &self.bounds).finish_non_exhaustive()
    }
}

/// How much a server takes at once. An error names the bound that was met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Bounds {
    /// Connections.
    pub connections: usize,
    /// Headers of a request.
    pub headers: usize,
    /// Bytes of all headers of a request.
    pub header_bytes: usize,
    /// Time in which the headers of a request must be there.
    pub header_time: Duration,
    /// Bytes of a body.
    pub body: usize,
    /// Time in which a body must be there.
    pub body_time: Duration,
    /// Streams of a token.
    pub streams: usize,
    /// Requests of a token in a second, with bursts of twice as many; none where it does not count.
    pub requests_a_second: Option<u32>,
    /// Wrong tokens from an address in a minute.
    pub failures_a_minute: u32,
    /// Time that turns have to come to their stops when the server ends.
    pub grace: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            connections: 1024,
            headers: 32,
            header_bytes: 16 << 10,
            header_time: Duration::from_secs(10),
            body: 2 << 20,
            body_time: Duration::from_secs(30),
            streams: 64,
            requests_a_second: None,
            failures_a_minute: 10,
            grace: Duration::from_secs(10),
        }
    }
}

/// A network, such as `10.0.0.0/8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    address: std::net::IpAddr,
    prefix: u8,
}

impl Network {
    /// Whether an address belongs to it.
    pub fn contains(&self, address: std::net::IpAddr) -> bool {
        use std::net::IpAddr::{V4, V6};
        let is_same = |one: u128, other: u128, bits: u32| {
            let rest = bits - u32::from(self.prefix);
            rest == bits || one >> rest == other >> rest
        };
        match (self.address, address) {
            (V4(one), V4(other)) => is_same(u32::from(one).into(), u32::from(other).into(), 32),
            (V6(one), V6(other)) => is_same(one.into(), other.into(), 128),
            (V4(_), V6(_)) | (V6(_), V4(_)) => false,
        }
    }
}

impl std::str::FromStr for Network {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || format!("a network is an address and the length of its prefix, such as 10.0.0.0/8, not `{text}`");
        let (address, prefix) = text.split_once('/').unwrap_or((text, ""));
        let address: std::net::IpAddr = address.parse().map_err(|_| bad())?;
        let longest = if address.is_ipv4() { 32 } else { 128 };
        let prefix = if prefix.is_empty() { longest } else { prefix.parse().map_err(|_| bad())? };
        if prefix > longest { Err(bad()) } else { Ok(Self { address, prefix }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_has_the_addresses_of_its_prefix() {
        let has = |network: &str, address: &str| {
            let network: Network = network.parse().unwrap_or_else(|why| panic!("{why}"));
            address.parse().is_ok_and(|address| network.contains(address))
        };
        assert!(has("10.0.0.0/8", "10.9.9.9") && !has("10.0.0.0/8", "11.0.0.1") && has("0.0.0.0/0", "1.2.3.4"));
        assert!(has("::1", "::1") && !has("::1", "::2") && !has("10.0.0.0/8", "::1"));
        assert!("10.0.0.0/33".parse::<Network>().is_err() && "ten".parse::<Network>().is_err());
    }
}

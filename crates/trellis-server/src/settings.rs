//! Settings of a server: its users, its names, and its bounds.

use std::{fmt, sync::Arc, time::Duration};

use crate::{
    bounds::Bounds,
    gate::{HostNames, LogLine, Tokens},
};

type Log = dyn Fn(&LogLine) + Send + Sync;

/// Settings of a server.
#[derive(Clone)]
#[non_exhaustive]
pub struct Settings {
    /// The tokens that it takes.
    pub tokens: Tokens,
    /// The names under which it answers.
    pub names: HostNames,
    /// The bounds of concurrent work.
    pub bounds: Bounds,
    /// The settings of MCP.
    pub mcp: McpSettings,
    /// Networks of proxies, whose `X-Forwarded-For` counts.
    pub proxies: Vec<Network>,
    pub(crate) log: Option<Arc<Log>>,
    #[cfg(feature = "tls")]
    pub(crate) tls: Option<tokio_rustls::TlsAcceptor>,
}

impl Settings {
    /// A server with these tokens and names, and the usual bounds.
    pub fn new(tokens: Tokens, names: HostNames) -> Self {
        Self {
            tokens,
            names,
            bounds: Bounds::default(),
            mcp: McpSettings::default(),
            proxies: Vec::new(),
            log: None,
            #[cfg(feature = "tls")]
            tls: None,
        }
    }

    /// Sets other bounds.
    #[must_use]
    pub fn bounds(self, bounds: Bounds) -> Self {
        Self { bounds, ..self }
    }

    /// Sets other settings of MCP.
    #[must_use]
    pub fn mcp(self, mcp: McpSettings) -> Self {
        Self { mcp, ..self }
    }

    /// Trusts proxies of these networks.
    #[must_use]
    pub fn proxies(self, proxies: Vec<Network>) -> Self {
        Self { proxies, ..self }
    }

    /// Serves over TLS, with the certificates and the key of these files in PEM.
    ///
    /// # Errors
    /// A file cannot be read, or the key is not that of the certificate.
    #[cfg(feature = "tls")]
    pub fn tls(self, certificates: &std::path::Path, key: &std::path::Path) -> Result<Self, BadCertificate> {
        use rustls::pki_types::{
            CertificateDer, PrivateKeyDer,
            pem::{Error, PemObject as _},
        };
        let unread = |path: &std::path::Path, what: &'static str| {
            let file = path.display().to_string();
            move |error: Error| {
                let message = if matches!(error, Error::NoItemsFound) { format!("there is no {what} in PEM") } else { error.to_string() };
                BadCertificate::File { file, message }
            }
        };
        let no_certificate = || unread(certificates, "certificate");
        let chain = CertificateDer::pem_file_iter(certificates).map_err(no_certificate())?;
        let chain = chain.collect::<Result<Vec<_>, _>>().map_err(no_certificate())?;
        if chain.is_empty() {
            return Err(no_certificate()(Error::NoItemsFound));
        }
        let key = PrivateKeyDer::from_pem_file(key).map_err(unread(key, "private key"))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
        let config = config.with_no_client_auth().with_single_cert(chain, key)?;
        Ok(Self { tls: Some(Arc::new(config).into()), ..self })
    }

    /// Returns whether clients speak TLS with the server itself.
    pub(crate) fn is_tls(&self) -> bool {
        #[cfg(feature = "tls")]
        return self.tls.is_some();
        #[cfg(not(feature = "tls"))]
        false
    }

    /// Adds a log, which receives a line for each request.
    #[must_use]
    pub fn log(self, log: impl Fn(&LogLine) + Send + Sync + 'static) -> Self {
        Self { log: Some(Arc::new(log)), ..self }
    }
}

/// A certificate that cannot be used.
#[cfg(feature = "tls")]
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BadCertificate {
    /// A file cannot be read, or is no PEM.
    #[error("{file}: {message}")]
    File {
        /// The file.
        file: String,
        /// The description of the mistake.
        message: String,
    },
    /// The certificates and the key do not make a server.
    #[error("the certificate cannot be used: {0}")]
    Unfit(#[from] rustls::Error),
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings").field("names", &self.names).field("bounds", &self.bounds).finish_non_exhaustive()
    }
}

/// Settings of MCP.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct McpSettings {
    /// Approval of calls over MCP: by whom.
    pub approvals: McpApprovals,
    /// True to offer only flows as tools.
    pub only_flows: bool,
    /// The address of the pages of this server, where a person types a secret. It has no token.
    pub pages: Option<String>,
    /// The longest time that a call waits while its session works by itself. Many clients give up after a minute.
    pub wait: Duration,
}

impl Default for McpSettings {
    fn default() -> Self {
        Self { approvals: McpApprovals::default(), only_flows: false, pages: None, wait: Duration::from_secs(50) }
    }
}

/// Those who may approve calls over MCP. Everybody may deny them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum McpApprovals {
    /// A person, by a form that the client shows.
    #[default]
    Form,
    /// No client: elsewhere only.
    Never,
    /// A person by a form, and the model itself by a tool call.
    Call,
}

/// A network, such as `10.0.0.0/8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    address: std::net::IpAddr,
    prefix: u8,
}

impl Network {
    /// Returns whether an address belongs to the network. An address of IPv4 equals its form in IPv6 (`::ffff:10.0.0.1`).
    pub fn contains(&self, address: std::net::IpAddr) -> bool {
        use std::net::IpAddr::{V4, V6};
        let is_same = |one: u128, other: u128, bits: u32| {
            let rest = bits - u32::from(self.prefix);
            rest == bits || one >> rest == other >> rest
        };
        match (self.address, address.to_canonical()) {
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
        match address.to_canonical() {
            _ if prefix > longest => Err(bad()),
            // A network of IPv4 in IPv6.
            address @ std::net::IpAddr::V4(_) if longest == 128 && prefix >= 96 => Ok(Self { address, prefix: prefix - 96 }),
            _ => Ok(Self { address, prefix }),
        }
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
        assert!(has("10.0.0.0/8", "::ffff:10.9.9.9") && !has("10.0.0.0/8", "::ffff:11.0.0.1"));
        assert!(has("::ffff:10.0.0.0/104", "10.9.9.9") && !has("::ffff:10.0.0.0/104", "11.0.0.1"));
        assert!(has("::1", "::1") && !has("::1", "::2") && !has("10.0.0.0/8", "::1"));
        assert!("10.0.0.0/33".parse::<Network>().is_err() && "ten".parse::<Network>().is_err());
    }
}

//! What the bindings of a host share, over all its graphs and reloads.

use super::Secrets;
#[cfg(feature = "mcp")]
use super::Servers;
#[cfg(feature = "http")]
use crate::http::HttpClient;

/// Things that bindings share: the secrets, and whatever stays open between calls. Clones share the same things, so a host makes one and hands it to
/// every [`super::Bindings::new`].
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Host {
    /// The values of secrets.
    pub secrets: Secrets,
    /// The connections of bindings that speak HTTP.
    #[cfg(feature = "http")]
    pub http: HttpClient,
    /// The MCP servers that bindings call, and the connections to them.
    #[cfg(feature = "mcp")]
    pub servers: Servers,
    /// Indexes of `documents.search`.
    #[cfg(feature = "sqlite")]
    pub(super) indexes: super::builtin::Indexes,
}

impl Host {
    /// A host that knows no secret.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same with secrets.
    #[must_use]
    pub fn secrets(self, secrets: Secrets) -> Self {
        Self { secrets, ..self }
    }

    /// Closes what is open between calls: servers that were started here are ended, kindly, then by force. Call it when nothing is to be called any
    /// more; a host that is only dropped leaves its servers no time.
    pub async fn close(&self) {
        #[cfg(feature = "mcp")]
        self.servers.close().await;
    }
}

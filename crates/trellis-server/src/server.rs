//! A server: graphs that are served on terms.

use std::sync::Arc;

use axum::Router;
use tokio::{net::TcpListener, runtime::Handle};

use crate::{
    bounds::Bounds,
    elsewhere,
    gate::Tokens,
    http::{self, App, CallsInNeed, ExtraRoute},
    mcp,
    served::Served,
    settings::Settings,
    trouble::Trouble,
};

/// A server over HTTP.
///
/// ```no_run
/// use std::path::Path;
/// use trellis_host::assembly::{Assembly, StoreSettings};
/// use trellis_server::{GraphSource, HostNames, Served, Server, Settings, Tokens};
///
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let path = Path::new("graphs/tour");
/// let kept = StoreSettings::of(path, &[]).open().await?;
/// let served = Served::open(vec![GraphSource::new(path, Assembly::new(), kept)], true).await?;
/// let listener = tokio::net::TcpListener::bind("127.0.0.1:7317").await?;
/// let (token, tokens) = Tokens::random()?;
/// println!("http://127.0.0.1:7317/#{token}");
/// let server = Server::new(served, Settings::new(tokens, HostNames::local(listener.local_addr()?)));
/// server.serve(listener, async { drop(tokio::signal::ctrl_c().await) }).await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Server {
    app: Arc<App>,
}

impl Server {
    /// These graphs, on these terms.
    pub fn new(served: Served, settings: Settings) -> Self {
        Self::with(served, settings, Vec::new())
    }

    /// These graphs with these settings, and further routes behind the same gates.
    pub fn with(served: Served, settings: Settings, extra: Vec<ExtraRoute>) -> Self {
        if Handle::try_current().is_ok() {
            // Those of `Served::open` are watched already.
            served.all().filter(|graph| graph.is_shared()).for_each(|graph| elsewhere::watch(graph, &served.hub));
        }
        Self { app: Arc::new(App::new(served, settings, extra)) }
    }

    /// The calls of sessions that need somebody.
    ///
    /// # Errors
    /// A store fails.
    pub async fn calls(&self) -> Result<CallsInNeed, Trouble> {
        CallsInNeed::of(&self.app).await
    }

    /// Returns its routes with all gates, for another axum application. Only [`Server::serve`] has the bound of connections, the time limit of
    /// headers, and the end, which [`Server::stop`] replaces.
    ///
    /// The address of a client, by which wrong tokens are counted and proxies are known, is that of
    /// [`ConnectInfo<SocketAddr>`](axum::extract::ConnectInfo): serve the application with
    /// [`into_make_service_with_connect_info`](axum::Router::into_make_service_with_connect_info). Without it all clients are one, and what a proxy
    /// says of them does not count.
    pub fn router(&self) -> Router {
        http::router(&self.app, mcp::routes(&self.app))
    }

    /// The tokens that it takes.
    pub fn tokens(&self) -> &Tokens {
        &self.app.settings.tokens
    }

    /// The bounds of its work.
    pub fn bounds(&self) -> &Bounds {
        &self.app.settings.bounds
    }

    /// Serves until `stop`. Then it refuses new requests, streams end, turns have the grace period, and running work stays pending.
    pub async fn serve(&self, listener: TcpListener, stop: impl Future<Output = ()>) {
        self.serve_all(vec![listener], stop).await;
    }

    /// As [`Server::serve`], at several addresses.
    pub async fn serve_all(&self, listeners: Vec<TcpListener>, stop: impl Future<Output = ()>) {
        http::accept(&self.app, self.router(), listeners, stop).await;
    }

    /// Returns the answer of `/metrics`.
    pub fn metrics(&self) -> String {
        self.app.measured()
    }

    /// Ends the work that [`Server::serve`] would end, for an application that serves the routes. Streams end only now, so call it within the future
    /// by which axum learns of the end (`with_graceful_shutdown`), which waits for them.
    pub async fn stop(&self) {
        self.app.served.stop(self.app.settings.bounds.grace).await;
    }
}

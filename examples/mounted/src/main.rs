//! The routes of a Trellis server beside those of an application, in one axum router.
//!
//! `cargo run -p example-mounted`, then with the token that it prints:
//!
//! ```sh
//! curl -s $URL/hello
//! curl -s -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' -d '{"id":"ana"}' $URL/api/sessions
//! ```

use std::{error::Error, io, net::SocketAddr, path::Path};

use axum::{Router, routing::get};
use tokio::net::TcpListener;
use trellis_host::assembly::{Assembly, StoreSettings};
use trellis_server::{GraphSource, HostNames, Served, Server, Settings, Tokens};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("graph");
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let (token, tokens) = Tokens::random()?;
    let server = server(&folder, Settings::new(tokens, HostNames::local(address))).await?;
    println(&format!("http://{address}/#{token}"));
    serve(listener, server, async { drop(tokio::signal::ctrl_c().await) }).await?;
    Ok(())
}

/// Serves until `stop`. Then streams end, turns come to their stops, and what still runs stays pending; axum waits for that, so it is part of the future
/// by which it learns of the end.
async fn serve(listener: TcpListener, server: Server, stop: impl Future<Output = ()> + Send + 'static) -> io::Result<()> {
    // Where clients come from is known: wrong tokens are counted by address.
    let routes = application(&server).into_make_service_with_connect_info::<SocketAddr>();
    let stop = async move {
        stop.await;
        server.stop().await;
    };
    axum::serve(listener, routes).with_graceful_shutdown(stop).await
}

/// A server of the graph in a folder.
async fn server(folder: &Path, settings: Settings) -> Result<Server, Box<dyn Error>> {
    let kept = StoreSettings::of(folder, &[]).address_or_default(Some("memory".to_owned())).open().await?;
    let served = Served::open(vec![GraphSource::new(folder, Assembly::new(), kept)], false).await?;
    Ok(Server::new(served, settings))
}

/// Both kinds of routes. Those of the server keep their gates: names, origins, tokens, rates and the bounds of bodies. Connections and the time that
/// headers may take are a matter of who listens.
fn application(server: &Server) -> Router {
    Router::new().route("/hello", get(async || "hello")).merge(server.router())
}

#[expect(clippy::print_stdout, reason = "the address is what it prints")]
fn println(line: &str) {
    println!("{line}");
}

#[cfg(test)]
mod tests;

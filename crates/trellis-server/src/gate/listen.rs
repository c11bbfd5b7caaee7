//! Connections: accepted up to a bound, with a time limit for headers and for clients that take no data, and drained at the end.

use std::{
    io,
    net::SocketAddr,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use axum::{Router, extract::Request};
use hyper::{body::Incoming, server::conn::http1};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::GracefulShutdown,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
};

use super::{pass::Peer, socket::PatientSocket};
use crate::http::App;

/// A rest after an error of the system, such as too many open files.
const REST: Duration = Duration::from_millis(50);
/// Beyond the bounds of the gates a connection is answered without words.
const FACTOR: usize = 4;
/// The smallest buffer of a connection.
const MIN_BUFFER: usize = 64 << 10;

/// The next connection of any listener; never one, where there is none.
async fn next(listeners: &[TcpListener]) -> io::Result<(TcpStream, SocketAddr)> {
    if listeners.is_empty() {
        return std::future::pending().await;
    }
    futures_util::future::select_all(listeners.iter().map(|listener| Box::pin(listener.accept()))).await.0
}

/// Serves connections until `stop`; then those that are open may end their requests.
pub(crate) async fn accept(app: &Arc<App>, router: Router, listeners: Vec<TcpListener>, stop: impl Future<Output = ()>) {
    let bounds = app.settings.bounds;
    let seats = Arc::new(Semaphore::new(bounds.connections));
    let graceful = GracefulShutdown::new();
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(bounds.header_time)
        .max_headers(bounds.headers * FACTOR)
        .max_buf_size((bounds.header_bytes * FACTOR).max(MIN_BUFFER));
    let mut stop = std::pin::pin!(stop);
    loop {
        // The end is heard also while every seat is taken.
        let seat = tokio::select! {
            seat = Arc::clone(&seats).acquire_owned() => seat,
            () = &mut stop => break,
        };
        let Ok(seat) = seat else { break };
        let accepted = tokio::select! {
            accepted = next(&listeners) => accepted,
            () = &mut stop => break,
        };
        let Ok((stream, peer)) = accepted else {
            tokio::time::sleep(REST).await;
            continue;
        };
        // A small answer must not wait for more; where the system refuses, it is only slower.
        let _ = stream.set_nodelay(true);
        let stream = PatientSocket::new(stream, bounds.patience);
        let router = router.clone();
        let service = hyper::service::service_fn(move |mut request: hyper::Request<Incoming>| {
            request.extensions_mut().insert(Peer(peer));
            let router = router.clone();
            async move {
                use futures_util::FutureExt as _;
                let answer = hyper_util::service::TowerToHyperService::new(router);
                hyper::service::Service::call(&answer, request.map(axum::body::Body::new) as Request).map(|answer| answer).await
            }
        });
        let (watcher, builder) = (graceful.watcher(), builder.clone());
        app.metrics.connections.fetch_add(1, Ordering::Relaxed);
        let app = Arc::clone(app);
        tokio::spawn(async move {
            #[cfg(feature = "tls")]
            if let Some(tls) = &app.settings.tls {
                // A client that does not greet in time is let go, as one that sends half a header.
                let greeted = tokio::time::timeout(app.settings.bounds.header_time, tls.accept(stream)).await;
                if let Ok(Ok(stream)) = greeted {
                    drop(watcher.watch(builder.serve_connection(TokioIo::new(stream), service)).await);
                }
                app.metrics.connections.fetch_sub(1, Ordering::Relaxed);
                return drop(seat);
            }
            // A client that breaks its connection off is no matter of the server's.
            drop(watcher.watch(builder.serve_connection(TokioIo::new(stream), service)).await);
            app.metrics.connections.fetch_sub(1, Ordering::Relaxed);
            drop(seat);
        });
    }
    drop(listeners);
    app.served.stop(bounds.grace).await;
    // Streams have said goodbye; a client that still reads an answer has a moment.
    drop(tokio::time::timeout(bounds.grace.min(Duration::from_secs(2)), graceful.shutdown()).await);
}

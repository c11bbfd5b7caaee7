//! Connections: accepted up to a bound, with time limits for headers, for idle clients and for those that take no data, and drained at the end.

use std::{
    convert::Infallible,
    io,
    net::SocketAddr,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use axum::{Router, body::Body};
use hyper::{
    body::Incoming,
    server::conn::http1,
    service::{Service as _, service_fn},
};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::GracefulShutdown,
    service::TowerToHyperService,
};
use tokio::net::{TcpListener, TcpStream};

use super::{App, pass::Peer};
use crate::gate::{ConnectionSlots, LastingBody, PatientSocket};

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

/// Serves connections until `stop`; then those that are open may end their requests, and new requests hear that it stops.
pub(crate) async fn accept(app: &Arc<App>, router: Router, listeners: Vec<TcpListener>, stop: impl Future<Output = ()>) {
    let (bounds, graceful) = (app.settings.bounds, GracefulShutdown::new());
    {
        let mut serving = std::pin::pin!(serve(app, router, &listeners, &graceful));
        tokio::select! {
            () = &mut serving => return,
            () = stop => {}
        }
        tokio::select! {
            () = serving => {}
            () = app.served.stop(bounds.grace) => {}
        }
    }
    drop(listeners);
    // Streams have said goodbye; a client that still reads an answer has a moment.
    drop(tokio::time::timeout(bounds.grace.min(Duration::from_secs(2)), graceful.shutdown()).await);
}

/// Serves connections, as many at once as the bounds allow.
async fn serve(app: &Arc<App>, router: Router, listeners: &[TcpListener], graceful: &GracefulShutdown) {
    let bounds = app.settings.bounds;
    let slots = Arc::new(ConnectionSlots::new(bounds.connections));
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        // It runs from the end of the request before; the time of a header that has begun is kept by the socket.
        .header_read_timeout(bounds.idle.max(bounds.header_time))
        .max_headers(bounds.headers * FACTOR)
        .max_buf_size((bounds.header_bytes * FACTOR).max(MIN_BUFFER));
    loop {
        let Ok((stream, peer)) = next(listeners).await else {
            tokio::time::sleep(REST).await;
            continue;
        };
        let slot = slots.take().await;
        // A small answer must not wait for more; where the system refuses, it is only slower.
        let _ = stream.set_nodelay(true);
        let stream = PatientSocket::new(stream, &bounds, slot.wait.clone());
        let (answering, waiting) = (TowerToHyperService::new(router.clone()), slot.wait.clone());
        let service = service_fn(move |mut request: hyper::Request<Incoming>| {
            waiting.end();
            request.extensions_mut().insert(Peer(peer));
            let answer = answering.call(request.map(Body::new));
            let wait = waiting.clone();
            async move { Ok::<_, Infallible>(answer.await?.map(|body| LastingBody::new(body, wait))) }
        });
        let (watcher, builder) = (graceful.watcher(), builder.clone());
        app.metrics.connections.fetch_add(1, Ordering::Relaxed);
        let app = Arc::clone(app);
        tokio::spawn(async move {
            #[cfg(feature = "tls")]
            if let Some(tls) = &app.settings.tls {
                // The socket lets a client go that does not greet in time, as one that sends no header.
                if let Ok(stream) = tls.accept(stream).await {
                    drop(watcher.watch(builder.serve_connection(TokioIo::new(stream), service)).await);
                }
                app.metrics.connections.fetch_sub(1, Ordering::Relaxed);
                return drop(slot);
            }
            // A client that breaks its connection off is no matter of the server's.
            drop(watcher.watch(builder.serve_connection(TokioIo::new(stream), service)).await);
            app.metrics.connections.fetch_sub(1, Ordering::Relaxed);
            drop(slot);
        });
    }
}

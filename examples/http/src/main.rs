//! A server: sessions over HTTP that outlive it, approvals, a policy, edits of the graph while it runs, and an end that loses nothing.
//!
//! `cargo run -p example-http`, then
//!
//! ```sh
//! curl -X POST localhost:8080/sessions
//! curl -X POST localhost:8080/sessions/s1 -d '{"input": "marinara", "seq": 1}'
//! curl -X POST localhost:8080/sessions/s1 -d '{"approve": "ID"}'
//! ```
//!
//! `ID` is the `id` of the call that the second answer asks about. Each answer has a `seq`. An input that names it is taken by its question: sent twice, or when something else is asked by now, it
//! is answered with 412 and with what is asked. Sessions are kept in `pizza.db` in the current folder.
//!
//! Everything between two requests is the matter of [`trellis_host::Sessions`]; `http.rs` says the same in HTTP.

mod http;

use std::{error::Error, path::PathBuf, sync::Arc, thread, time::Duration};

use tokio::net::TcpListener;
use trellis_core::{Mapping, ToolError, Value};
use trellis_host::{
    CallContext, Interceptor, Verdict,
    assembly::{Assembly, LiveGraph, StoreSettings},
    interceptor::Intercepted,
    sessions::Drive,
};

/// Time that turns have to come to their stops when the server ends.
const GRACE: Duration = Duration::from_secs(5);

type Failed = Box<dyn Error + Send + Sync>;

#[tokio::main]
async fn main() -> Result<(), Failed> {
    let listener = TcpListener::bind("127.0.0.1:8080").await?;
    let graph = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("graph");
    let ended = async {
        // Without signals it goes on until it is killed, which loses nothing either.
        let _ = tokio::signal::ctrl_c().await;
    };
    serve(listener, graph, "sqlite:pizza.db".into(), ended).await
}

/// Serves the sessions of a graph until `ended`.
async fn serve(listener: TcpListener, graph: PathBuf, store: String, ended: impl Future<Output = ()>) -> Result<(), Failed> {
    let assembly = Assembly::new().functions(|bindings| bindings.function("bake", bake));
    // Edits from here on are noticed.
    let mut live = LiveGraph::open(&graph, assembly)?;
    let runnable = live.assemble().runnable.map_err(|error| format!("{error}; `trellis check` shows them"))?;
    let kept = StoreSettings::of(&graph, &live.live().version().documents).address_or_default(Some(store)).open().await?;
    let sessions = Arc::new(live.assembly().sessions(runnable, Some(&kept))?.interceptor(large_orders()));

    // Sessions that were interrupted, sleeps and timeouts: nobody has to ask for them.
    let driver = tokio::spawn({
        let sessions = Arc::clone(&sessions);
        async move { sessions.drive(Drive::Forever, |_| {}).await }
    });
    // Each sound save is put under all sessions; with a broken one they go on as they are.
    let (edits, mut edited) = tokio::sync::mpsc::channel(1);
    thread::spawn(move || {
        while let Some(reload) = live.next() {
            if let Some(Ok(runnable)) = reload.assembled.map(|assembled| assembled.runnable)
                && edits.blocking_send(runnable).is_err()
            {
                return;
            }
        }
    });
    let swapping = {
        let sessions = Arc::clone(&sessions);
        async move {
            while let Some(runnable) = edited.recv().await {
                // A hook may object; this server has none.
                let _ = sessions.swap(runnable.engine, runnable.bindings).await;
            }
            std::future::pending::<std::io::Result<()>>().await
        }
    };
    tokio::select! {
        served = axum::serve(listener, http::routes(Arc::clone(&sessions))).into_future() => served?,
        never = swapping => never?,
        () = ended => {}
    }
    sessions.stop(GRACE).await;
    driver.await??;
    Ok(())
}

/// A tool. A pizza that was put into the oven under this key, by an attempt before a crash, is not put in again.
fn bake(context: &CallContext, args: Mapping) -> Result<Value, ToolError> {
    context.progress(&format!("order {}", context.idempotency_key));
    match args.get("pizza").and_then(Value::as_str) {
        Some("margherita") => Ok(Value::map([("minutes", Value::Int(9))])),
        Some(_) => Ok(Value::map([("minutes", Value::Int(7))])),
        None => Err(ToolError::new("`pizza` is a text")),
    }
}

/// A policy: who ordered often lately must wait. A graph may ask for an approval; a policy may ask for more, never for fewer.
fn large_orders() -> impl Interceptor {
    |about: Intercepted<'_>| match about.context.get("orders") {
        Some(Value::Int(orders)) if *orders > 10 => Verdict::Deny(Some(format!("{} ordered enough for today", about.session))),
        _ => Verdict::Allow,
    }
}

#[cfg(test)]
mod tests;

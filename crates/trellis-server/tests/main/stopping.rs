//! A server that stops: nothing new is taken, neither requests nor streams.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use serde_json::json;
use trellis_core::Value;
use trellis_host::Bindings;

use crate::stand::{Stand, Terms};

/// The time after which a wait fails.
const LONG: Duration = Duration::from_secs(120);

const OVEN: &[(&str, &str)] = &[
    ("oven/start.md", "---\ninput_type: text\nsave_to: cake\nto: bake\n---\nWhich cake?\n"),
    ("oven/bake.md", "---\ntools: [{name: bake}]\ndo: bake\non_error: end\nto: end\n---\nBaking.\n"),
    ("oven/end.md", "Done.\n"),
];

static BAKED: AtomicUsize = AtomicUsize::new(0);

fn never(bindings: Bindings) -> Bindings {
    bindings.function_async("bake", |_, _| async {
        BAKED.fetch_add(1, Ordering::SeqCst);
        std::future::pending::<()>().await;
        Ok(Value::Null)
    })
}

// `docs/serve.md`: a stream that begins now would be told of no end, and would hold the end up
#[tokio::test(flavor = "multi_thread")]
async fn no_stream_begins_while_the_server_stops() {
    let mut terms = Terms { functions: never, ..Terms::default() };
    terms.bounds.grace = Duration::from_secs(10);
    let mut stand = Stand::on(OVEN, terms).await;
    stand.post("/api/sessions", json!({ "id": "ana" })).await;
    let running = stand.with("POST", "/api/sessions/ana/turns", &[("prefer", "wait=0")], Some(&json!({ "input": "plum" }))).await;
    assert_eq!(running.stop(), "RUNNING");
    let begun = async {
        while BAKED.load(Ordering::SeqCst) == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(LONG, begun).await.expect("it bakes");
    stand.begin_to_stop();
    let stopping = async { while stand.get("/readyz").await.status == 200 {} };
    tokio::time::timeout(LONG, stopping).await.expect("it stops");
    for path in ["/api/sessions/ana/events", "/api/events", "/api/events?session=ana", "/events"] {
        let refused = stand.get(path).await;
        assert_eq!((refused.status, refused.code()), (503, "stopping".to_owned()), "{path}");
    }
    let client = json!({ "name": "test", "version": "1" });
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
    let begin = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
    let refused = stand.with("POST", "/mcp", &[("accept", "application/json, text/event-stream")], Some(&begin)).await;
    assert_eq!((refused.status, refused.code()), (503, "stopping".to_owned()));
}

//! Clients that go away while what they asked for is being stored: it is done nevertheless, and everybody is told (`docs/serve.md`).

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use serde_json::json;
use tokio::{io::AsyncWriteExt as _, sync::Notify, time::timeout};
use trellis_core::SessionId;
use trellis_host::store::{Append, Head, Pending, Query, Removal, Row, SessionStore, Stored};

use crate::{
    events::Stream,
    stand::{SHOP, Stand, TOKEN, Terms},
};

/// The time after which a request that hangs fails.
const LONG: Duration = Duration::from_secs(120);

static HOLDS: AtomicBool = AtomicBool::new(false);
static HELD: Notify = Notify::const_new();
static GO_ON: Notify = Notify::const_new();

/// A store that keeps what it is told, and says so late where it is asked to.
struct Late(Arc<dyn SessionStore>);

async fn late<T>(done: Pending<'_, T>) -> <Pending<'_, T> as Future>::Output {
    let done = done.await;
    if HOLDS.swap(false, Ordering::SeqCst) {
        HELD.notify_one();
        GO_ON.notified().await;
    }
    done
}

impl SessionStore for Late {
    fn append(&self, append: Append) -> Pending<'_, ()> {
        Box::pin(late(self.0.append(append)))
    }

    fn load<'a>(&'a self, sessions: &'a [SessionId]) -> Pending<'a, Vec<Option<Stored>>> {
        self.0.load(sessions)
    }

    fn records<'a>(&'a self, session: &'a SessionId, from: u64, limit: usize) -> Pending<'a, Vec<Row>> {
        self.0.records(session, from, limit)
    }

    fn list(&self, query: Query) -> Pending<'_, Vec<Head>> {
        self.0.list(query)
    }

    fn remove<'a>(&'a self, session: &'a SessionId, removal: Removal) -> Pending<'a, ()> {
        Box::pin(late(self.0.remove(session, removal)))
    }
}

/// Sends a request, goes away while the store has done it and not said so, and lets the store say so when the server knows that the client is gone.
async fn gone(stand: &Stand, target: &str, header: &str, others: usize) {
    HOLDS.store(true, Ordering::SeqCst);
    let mut stream = stand.connect().await;
    let head = format!("host: localhost:{}\r\nauthorization: Bearer {TOKEN}\r\n", stand.port);
    stream.write_all(format!("DELETE {target} HTTP/1.1\r\n{head}{header}\r\n\r\n").as_bytes()).await.unwrap();
    HELD.notified().await;
    drop(stream);
    // The connection that asks is one, too.
    let open = format!("\ntrellis_http_connections {}\n", others + 1);
    while !stand.get("/metrics").await.text.contains(&open) {}
    GO_ON.notify_one();
}

/// A letter that is dropped, and a session that is removed.
#[tokio::test]
async fn what_was_begun_is_done_and_told_without_its_client() {
    let cakes =
        [("cakes/start.md", "---\ntools: [{name: bake}]\ndo: {name: bake, args: {n: 2}}\nto: end\n---\n"), ("cakes/end.md", "Baked.\n")];
    let files: Vec<_> = SHOP.iter().copied().chain(cakes).collect();
    let store = |inner| -> Arc<dyn SessionStore> { Arc::new(Late(inner)) };
    let stand = Stand::on(&files, Terms { store, stores: true, ..Terms::default() }).await;
    let seq = stand.counting("ana").await.seq();
    let call = stand.post("/api/sessions", json!({ "id": "bea", "graph": "cakes" })).await.json()["stop"]["payload"]["id"].clone();
    let failed = json!({ "tool_result": { "id": call, "error": "the oven is cold" } });
    assert_eq!(stand.post("/api/sessions/bea/turns", failed).await.stop(), "END");
    let letter = stand.get("/api/dead-letters").await.json()["items"][0]["key"].as_str().unwrap().to_owned();
    let mut events = Stream::open(&stand, "/api/events", &[]).await;

    gone(&stand, &format!("/api/dead-letters/{letter}"), "x: y", 1).await;
    let told = timeout(LONG, events.until("dead")).await.expect("the letter is told");
    assert_eq!(told.last().unwrap().data, json!({ "graph": "cakes", "session": "bea", "letter": letter, "state": "dropped" }));

    gone(&stand, "/api/sessions/ana?open=true", &format!("if-match: \"{seq}\""), 1).await;
    let told = timeout(LONG, events.until("removed")).await.expect("the removal is told");
    assert_eq!(told.last().unwrap().data, json!({ "graph": "shop", "session": "ana" }));
    assert_eq!(stand.get("/api/sessions/ana").await.code(), "unknown-session");
    // Nothing of it is left: another one may have its name.
    assert_eq!(stand.counting("ana").await.seq(), seq);
}

//! Refusals that need more than a request: stores that break, graphs that change, hooks that object, a server that ends.

use std::sync::{
    Arc,
    atomic::{AtomicU8, Ordering},
};

use serde_json::json;
use trellis_core::SessionId;
use trellis_host::{
    Sessions,
    hooks::Hooks,
    store::{Append, Head, Pending, Query, Removal, Row, SessionStore, StoreError, Stored},
};

use crate::stand::{Answer, SHOP, Stand, Terms, write};

/// The faults of a store.
const FINE: u8 = 0;
const AWAY: u8 = 1;
const FULL: u8 = 2;
const DAMAGED: u8 = 3;
const BROKEN: u8 = 4;

/// A store with a switch.
struct Moody {
    inner: Arc<dyn SessionStore>,
    mood: &'static AtomicU8,
}

impl Moody {
    fn is(&self, mood: u8) -> bool {
        self.mood.load(Ordering::SeqCst) == mood
    }

    fn away<T: Send + 'static>() -> Pending<'static, T> {
        let error = StoreError::Unavailable { store: "moody".into(), message: "the cable is /home/ana/cut".to_owned() };
        Box::pin(std::future::ready(Err(error)))
    }
}

impl SessionStore for Moody {
    fn append(&self, append: Append) -> Pending<'_, ()> {
        match self.mood.load(Ordering::SeqCst) {
            AWAY => Self::away(),
            FULL => {
                let error = StoreError::Unwritable { store: "moody".into(), message: "no space".to_owned() };
                Box::pin(std::future::ready(Err(error)))
            }
            BROKEN => panic!("the disk of /home/ana burns"),
            _ => self.inner.append(append),
        }
    }

    fn load<'a>(&'a self, sessions: &'a [SessionId]) -> Pending<'a, Vec<Option<Stored>>> {
        if self.is(AWAY) { Self::away() } else { self.inner.load(sessions) }
    }

    fn records<'a>(&'a self, session: &'a SessionId, from: u64, limit: usize) -> Pending<'a, Vec<Row>> {
        if self.is(AWAY) {
            return Self::away();
        }
        let rows = self.inner.records(session, from, limit);
        let is_damaged = self.is(DAMAGED);
        Box::pin(async move {
            let mut rows = rows.await?;
            for row in rows.iter_mut().filter(|row| is_damaged && row.seq == 1) {
                row.text = Err("a hole".into());
            }
            Ok(rows)
        })
    }

    fn list(&self, query: Query) -> Pending<'_, Vec<Head>> {
        if self.is(AWAY) { Self::away() } else { self.inner.list(query) }
    }

    fn remove<'a>(&'a self, session: &'a SessionId, removal: Removal) -> Pending<'a, ()> {
        if self.is(AWAY) { Self::away() } else { self.inner.remove(session, removal) }
    }
}

fn told(answer: &Answer) -> (u16, String) {
    (answer.status, answer.code())
}

static MOOD: AtomicU8 = AtomicU8::new(FINE);

/// A store that is away, full or damaged: nothing is acknowledged that is not kept, and what went wrong names no path (`docs/serve.md`).
#[tokio::test]
async fn a_store_that_breaks_is_told_and_comes_back() {
    let store = |inner| -> Arc<dyn SessionStore> { Arc::new(Moody { inner, mood: &MOOD }) };
    let stand = Stand::on(SHOP, Terms { store, ..Terms::default() }).await;
    stand.counting("ana").await;
    MOOD.store(FULL, Ordering::SeqCst);
    let full = stand.post("/api/sessions/ana/turns", json!({ "input": 2 })).await;
    assert_eq!(told(&full), (507, "store-unwritable".to_owned()));
    let is_told = async |code: &str| while told(&stand.get("/readyz").await).1 != code {};
    is_told("store-unwritable").await;
    MOOD.store(AWAY, Ordering::SeqCst);
    let away = stand.post("/api/sessions", json!({ "id": "bea" })).await;
    assert_eq!(told(&away), (503, "store-unavailable".to_owned()));
    assert!(away.headers.contains_key("retry-after") && !away.text.contains("/home"), "{away:?}");
    is_told("store-unavailable").await;
    MOOD.store(FINE, Ordering::SeqCst);
    while stand.get("/readyz").await.status != 200 {}
    assert_eq!(stand.post("/api/sessions/ana/turns", json!({ "input": 2 })).await.stop(), "APPROVAL", "nothing is lost");
    MOOD.store(DAMAGED, Ordering::SeqCst);
    assert_eq!(told(&stand.get("/api/sessions/ana/at/2").await), (410, "lost".to_owned()));
    let records = stand.get("/api/sessions/ana/records").await.json();
    assert!(records["items"][1]["unreadable"].is_string(), "{records}");
    MOOD.store(FINE, Ordering::SeqCst);
    assert_eq!(stand.get("/api/sessions/ana/at/1").await.status, 200);
}

static BURNS: AtomicU8 = AtomicU8::new(FINE);

/// A panic is told as `internal` and nothing else, and takes down nobody (`docs/serve.md#problems`).
#[tokio::test]
async fn a_panic_is_told_without_its_words() {
    let store = |inner| -> Arc<dyn SessionStore> { Arc::new(Moody { inner, mood: &BURNS }) };
    let stand = Stand::on(SHOP, Terms { store, ..Terms::default() }).await;
    stand.counting("ana").await;
    BURNS.store(BROKEN, Ordering::SeqCst);
    let broken = stand.post("/api/sessions/ana/turns", json!({ "input": 2 })).await;
    assert_eq!(told(&broken), (500, "internal".to_owned()));
    assert!(!broken.text.contains("/home") && !broken.text.contains("disk"), "{broken:?}");
    BURNS.store(FINE, Ordering::SeqCst);
    assert_eq!(stand.counting("bea").await.stop(), "REQUEST_INPUT", "others go on");
    assert_eq!(stand.get("/api/sessions/ana").await.stop(), "REQUEST_INPUT", "what was not stored did not happen");
}

/// A hook that objects to every version but the first.
struct Objector;

impl Hooks for Objector {
    fn on_reload(&self, _: &str, _: &str) -> Result<(), String> {
        Err("not on a Friday".to_owned())
    }
}

#[tokio::test]
async fn a_veto_keeps_the_version_that_was() {
    let over = |sessions: Sessions| sessions.hooks(Objector);
    let stand = Stand::on(SHOP, Terms { over, ..Terms::default() }).await;
    let before = stand.get("/api/graphs/shop").await.json()["program"].clone();
    write(stand.folder.path(), &[("shop/left.md", "---\noutput: gone\n---\nGone.\n")]);
    let vetoed = stand.post("/api/graphs/shop/reload", json!({})).await;
    assert_eq!(told(&vetoed), (409, "vetoed".to_owned()));
    assert!(vetoed.json()["detail"].as_str().unwrap().contains("not on a Friday"), "{vetoed:?}");
    assert_eq!(stand.get("/api/graphs/shop").await.json()["program"], before);
}

/// Two stores have one name: `?graph=` says which is meant (`docs/serve.md#routes`).
#[tokio::test]
async fn a_name_that_two_stores_have_is_ambiguous() {
    let files = [("one/start.md", "---\ninput_type: text\n---\nOne?\n"), ("two/start.md", "---\ninput_type: text\n---\nTwo?\n")];
    let stand = Stand::on(&files, Terms { stores: true, ..Terms::default() }).await;
    for graph in ["one", "two"] {
        assert_eq!(stand.post("/api/sessions", json!({ "id": "ana", "graph": graph })).await.status, 201);
    }
    assert_eq!(told(&stand.get("/api/sessions/ana").await), (409, "ambiguous".to_owned()));
    assert_eq!(stand.get("/api/sessions/ana?graph=two").await.json()["said"][0]["text"], "Two?\n");
}

/// Bounds and reads that nothing proves are met by a step, and the session stays where it was.
#[tokio::test]
async fn a_step_that_cannot_be_taken_is_told() {
    let chain: Vec<_> = (0..9).map(|at| (format!("long/n{at}.md"), format!("---\nto: n{}\n---\n", at + 1))).collect();
    let mut files: Vec<(&str, &str)> = chain.iter().map(|(path, text)| (&**path, &**text)).collect();
    files.extend([
        ("long/start.md", "---\ninput_type: text\nto: n0\n---\nGo?\n"),
        ("long/n9.md", "---\n---\nEnd\n"),
        ("long/trellis.yaml", "limits: {pass_through: 5}\n"),
        ("read/start.md", "---\ninput_type: json\nsave_to: given\nto: told\n---\nWhat?\n"),
        ("read/told.md", "---\ninput_type: text\n---\nThe second is {{ given.items[1].name }}.\n"),
    ]);
    let stand = Stand::new(&files).await;
    stand.post("/api/sessions", json!({ "id": "ana", "graph": "long" })).await;
    let long = stand.post("/api/sessions/ana/turns", json!({ "input": "go" })).await;
    assert_eq!(told(&long), (409, "pass-through".to_owned()), "{long:?}");
    stand.post("/api/sessions", json!({ "id": "bea", "graph": "read" })).await;
    let read = stand.post("/api/sessions/bea/turns", json!({ "input": { "items": [] } })).await;
    assert_eq!((read.stop(), &read.json()["stop"]["payload"]["code"]), ("END".to_owned(), &json!("template")), "{read:?}");
}

/// The router in an application of others has every gate; once it is told to stop, nothing new is taken (`docs/serve.md`).
#[tokio::test]
async fn a_mounted_router_has_its_gates_and_stops() {
    let stand = Stand::on(SHOP, Terms { is_mounted: true, ..Terms::default() }).await;
    assert_eq!(told(&stand.with("GET", "/api/graphs", &[("authorization", "")], None).await), (401, "unauthenticated".to_owned()));
    assert_eq!(told(&stand.with("GET", "/api/graphs", &[("host", "evil.example")], None).await), (421, "bad-host".to_owned()));
    assert_eq!(stand.with("GET", "/hello", &[("authorization", "")], None).await.text, "hello");
    stand.counting("ana").await;
    stand.server.stop().await;
    assert_eq!(told(&stand.get("/readyz").await), (503, "stopping".to_owned()));
    let late = stand.post("/api/sessions/ana/turns", json!({ "input": 2 })).await;
    assert_eq!(told(&late), (503, "stopping".to_owned()), "{late:?}");
}

/// While a session rolls back it is not moved: its undos would be lost (`docs/sessions.md#moving-sessions`).
#[tokio::test]
async fn a_session_that_rolls_back_is_not_moved() {
    let files = [
        (
            "trip/start.md",
            "---\ntools: [{name: book}, {name: cancel, effect: none}]\ndo: book\nundo: cancel\nsave_to: booked\nto: pay\n---\n",
        ),
        ("trip/pay.md", "---\ntools: [{name: pay, effect: none}]\ndo: pay\non_error: rollback\nto: end\n---\n"),
        ("trip/end.md", "Paid.\n"),
    ];
    let stand = Stand::new(&files).await;
    let mut told = stand.post("/api/sessions", json!({ "id": "ana" })).await;
    for outcome in [json!({ "result": 7 }), json!({ "error": "no money" })] {
        let mut result = outcome;
        result["id"] = told.json()["stop"]["payload"]["id"].clone();
        told = stand.post("/api/sessions/ana/turns", json!({ "tool_result": result })).await;
    }
    assert_eq!(told.json()["stop"]["payload"]["name"], "cancel", "{told:?}");
    let seen = told.headers["etag"].clone();
    let moved = stand.with("POST", "/api/sessions/ana/goto", &[("if-match", &seen)], Some(&json!({ "node": "end" }))).await;
    assert_eq!(self::told(&moved), (409, "rolling-back".to_owned()), "{moved:?}");
    assert_eq!(stand.get("/api/sessions/ana").await.json()["stop"]["payload"]["name"], "cancel", "nothing was stopped");
}

/// A state is believed as far as the graph can hold it; what it cannot say is told (`docs/serve.md#routes`).
#[tokio::test]
async fn a_node_that_cannot_be_rendered_is_told() {
    let files = [("read/start.md", "---\nrequired_context: [given]\ninput_type: text\n---\nThe second is {{ given.items[1].name }}.\n")];
    let stand = Stand::new(&files).await;
    let context = json!({ "given": { "items": [{ "name": "a" }, { "name": "b" }] } });
    let mut begun = stand.post("/api/graphs/read/engine/start", json!({ "context": context })).await.json();
    let rendered = stand.post("/render", json!({ "state": begun["state"] })).await;
    assert_eq!(rendered.json()["content"], "The second is b.\n", "{rendered:?} of {begun}");
    begun["state"]["context"]["given"]["items"] = json!([]);
    let rendered = stand.post("/render", json!({ "state": begun["state"] })).await;
    assert_eq!(told(&rendered), (409, "render".to_owned()), "{rendered:?}");
}

/// A stored session whose graph was edited: one lacks a key, which may not be a reserved one; one stands nowhere any more.
#[tokio::test]
async fn a_session_of_an_edited_graph_is_asked_or_refused() {
    let stand = Stand::new(SHOP).await;
    for id in ["ana", "bea"] {
        stand.counting(id).await;
    }
    let folder = stand.stop().await;
    let needs = "---\nrequired_context: [much]\ninput_type: int\nsave_to: count\nto: send\n---\nHow many of {{ much }}?\n";
    let sets = "---\ninput_type: text\nsave_to: name\nset: {much: 9}\nto: count\n---\nWho?\n";
    write(folder.path(), &[("shop/count.md", needs), ("shop/start.md", sets)]);
    let stand = Stand::again(folder, Terms::default()).await;
    assert_eq!(stand.get("/api/sessions/ana").await.stop(), "NEEDS", "before anything goes on");
    assert_eq!(stand.post("/api/sessions/ana/resume", json!({})).await.stop(), "NEEDS");
    let reserved = stand.post("/api/sessions/ana/turns", json!({ "context": { "sys": 1 } })).await;
    assert_eq!(told(&reserved), (422, "reserved-name".to_owned()), "{reserved:?}");
    let folder = stand.stop().await;
    std::fs::remove_file(folder.path().join("shop/count.md")).unwrap();
    write(folder.path(), &[("shop/start.md", "---\ncontext_schema: {name: int}\nset: {count: 1}\nto: send\n---\n")]);
    let stand = Stand::again(folder, Terms::default()).await;
    assert_eq!(told(&stand.get("/api/sessions/bea").await), (409, "unfit".to_owned()));
}

// what an application needs beside its graphs is not the store, and is named
#[tokio::test]
async fn a_server_is_not_ready_without_what_stands_beside_it() {
    let unready = || Some("the service `agent` does not work: gone".to_owned());
    let stand = Stand::on(SHOP, Terms { unready, ..Terms::default() }).await;
    let ready = stand.get("/readyz").await;
    assert_eq!(told(&ready), (503, "unready".to_owned()));
    assert_eq!(ready.json()["detail"], "the service `agent` does not work: gone");
}

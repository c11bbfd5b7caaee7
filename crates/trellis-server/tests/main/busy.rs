//! Sessions that work by themselves: told so, waited for, paused, taken up after a crash.

use std::{
    collections::BTreeSet,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::json;
use tokio::sync::Notify;
use trellis_core::Value;
use trellis_host::Bindings;

use crate::{
    events::Stream,
    mcp::{call, message},
    stand::{Answer, Stand, Terms},
};

const OVEN: &[(&str, &str)] = &[
    ("oven/start.md", "---\ninput_type: text\nsave_to: cake\nto: bake\n---\nWhich cake?\n"),
    ("oven/bake.md", "---\ntools: [{name: bake}]\ndo: bake\nsave_to: baked\non_error: end\nto: end\n---\nBaking.\n"),
    ("oven/end.md", "---\noutput: \"{{ baked | default(0) }}\"\n---\nDone.\n"),
];

static OPENED: Notify = Notify::const_new();
static BAKED: AtomicUsize = AtomicUsize::new(0);

/// Bakes until the oven is opened.
fn slow(bindings: Bindings) -> Bindings {
    bindings.function_async("bake", |_, _| async {
        BAKED.fetch_add(1, Ordering::SeqCst);
        OPENED.notified().await;
        Ok(Value::Int(9))
    })
}

fn never(bindings: Bindings) -> Bindings {
    bindings.function_async("bake", |_, _| async {
        std::future::pending::<()>().await;
        Ok(Value::Null)
    })
}

fn quick(bindings: Bindings) -> Bindings {
    bindings.function("bake", |_, _| Ok(Value::Int(9)))
}

#[tokio::test(flavor = "multi_thread")]
async fn what_runs_is_told_and_waited_for() {
    let stand = Stand::on(OVEN, Terms { functions: slow, ..Terms::default() }).await;
    stand.post("/api/sessions", json!({ "id": "ana" })).await;
    let running = stand.with("POST", "/api/sessions/ana/turns", &[("prefer", "wait=0")], Some(&json!({ "input": "plum" }))).await;
    assert_eq!((running.status, running.stop(), &*running.headers["location"]), (202, "RUNNING".to_owned(), "/api/sessions/ana"));
    assert_eq!(running.headers["preference-applied"], "wait=0");
    let tag = format!("\"{}\"", running.seq());
    let busy = stand.with("DELETE", "/api/sessions/ana?open=true", &[("if-match", &tag)], None).await;
    assert_eq!((busy.status, busy.code()), (409, "in-progress".to_owned()));
    let headers = [("if-none-match", &*tag), ("prefer", "wait=30")];
    let (ended, ()) = tokio::join!(stand.with("GET", "/api/sessions/ana", &headers, None), async {
        while BAKED.load(Ordering::SeqCst) == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        OPENED.notify_waiters();
        OPENED.notify_one();
    });
    assert_eq!((ended.status, ended.stop(), &ended.json()["stop"]["payload"]["output"]), (200, "END".to_owned(), &json!(9)));
    let tag = ended.headers["etag"].clone();
    assert_eq!(stand.with("GET", "/api/sessions/ana", &[("if-none-match", &tag)], None).await.status, 304);
}

// `docs/serve.md`: an answer to nothing is refused, and one that was taken before is told as such, also while the session works
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_while_nothing_is_asked_is_not_taken_for_one() {
    let stand = Stand::on(OVEN, Terms { functions: never, ..Terms::default() }).await;
    stand.post("/api/sessions", json!({ "id": "ana" })).await;
    let send = async |headers: &[(&str, &str)], input: &str| {
        let headers = [headers, &[("prefer", "wait=0")]].concat();
        stand.with("POST", "/api/sessions/ana/turns", &headers, Some(&json!({ "input": input }))).await
    };
    let key = ("idempotency-key", "k");
    let running = send(&[key, ("if-match", "\"1\"")], "plum").await;
    assert_eq!((running.status, running.stop()), (202, "RUNNING".to_owned()), "{running:?}");
    let again = send(&[key, ("if-match", "\"1\"")], "plum").await;
    assert_eq!((again.status, again.headers.get("idempotency-replayed").map(String::as_str)), (202, Some("true")), "{again:?}");
    for (headers, input, refused) in [
        (&[key][..], "pear", (422, "key-reused")),
        (&[("if-match", "\"1\"")], "pear", (412, "conflict")),
        (&[("idempotency-key", "other")], "pear", (409, "wrong-kind")),
        (&[], "plum", (409, "wrong-kind")),
    ] {
        let answer = send(headers, input).await;
        assert_eq!((answer.status, &*answer.code()), refused, "{answer:?}");
        let is_shown = refused.0 == 422 || answer.json()["current"]["stop"]["type"] == "RUNNING";
        assert!(is_shown, "{answer:?}");
    }
    // Nor does it resume a session that is paused.
    stand.post("/api/sessions/ana/pause", json!({})).await;
    let early = send(&[], "plum").await;
    assert_eq!((early.status, &early.json()["current"]["paused"]), (409, &json!(true)), "{early:?}");
    let refused = stand.post("/api/sessions/ana/turns", json!({ "signal": "dance" })).await;
    assert_eq!((refused.status, refused.code()), (409, "unhandled-signal".to_owned()), "{refused:?}");
    assert_eq!(stand.get("/api/sessions/ana").await.json()["paused"], true);
}

/// A pause is no record; what was said and done on the way to a stop that one waited for is in its turn.
#[tokio::test(flavor = "multi_thread")]
async fn a_pause_holds_and_a_turn_has_all_that_happened() {
    let stand = Stand::on(OVEN, Terms { functions: never, ..Terms::default() }).await;
    stand.post("/api/sessions", json!({ "id": "ana" })).await;
    let running = stand.with("POST", "/api/sessions/ana/turns", &[("prefer", "wait=0")], Some(&json!({ "input": "plum" }))).await;
    let paused = stand.post("/api/sessions/ana/pause", json!({})).await;
    assert_eq!((paused.status, paused.stop(), paused.seq()), (202, "RUNNING".to_owned(), running.seq()));
    let stand = Stand::again(stand.stop().await, Terms { functions: quick, ..Terms::default() }).await;
    // Another server goes on with it by itself.
    let ended =
        stand.with("GET", "/api/sessions/ana", &[("prefer", "wait=30"), ("if-none-match", &format!("\"{}\"", paused.seq()))], None).await;
    assert_eq!(ended.stop(), "END");
    stand.post("/api/sessions", json!({ "id": "bea" })).await;
    let walked = stand.post("/api/sessions/bea/turns", json!({ "input": "plum" })).await.json();
    let said: Vec<_> = walked["said"].as_array().unwrap().iter().map(|said| said["text"].as_str().unwrap()).collect();
    let happened: Vec<_> = walked["happened"].as_array().unwrap().iter().map(|line| line["type"].as_str().unwrap()).collect();
    assert_eq!((said, happened), (vec!["Baking.\n", "Done.\n"], vec!["RENDER_CONTENT", "CALL_TOOL", "TOOL_RESULT", "RENDER_CONTENT"]));
}

static TRIED: AtomicUsize = AtomicUsize::new(0);

fn tried(bindings: Bindings) -> Bindings {
    bindings.function_async("bake", |_, _| async {
        TRIED.fetch_add(1, Ordering::SeqCst);
        std::future::pending::<()>().await;
        Ok(Value::Null)
    })
}

async fn until_tried(times: usize) {
    while TRIED.load(Ordering::SeqCst) < times {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

// `docs/serve.md#routes`: what is refused changes nothing: a call that runs goes on, and what is paused stays so
#[tokio::test(flavor = "multi_thread")]
async fn a_refused_move_stops_and_starts_nothing() {
    let stand = Stand::on(OVEN, Terms { functions: tried, ..Terms::default() }).await;
    stand.post("/api/sessions", json!({ "id": "ana" })).await;
    let running = stand.with("POST", "/api/sessions/ana/turns", &[("prefer", "wait=0")], Some(&json!({ "input": "plum" }))).await;
    until_tried(1).await;
    let seen = format!("\"{}\"", running.seq());
    let refused = async || {
        let moved = stand.with("POST", "/api/sessions/ana/goto", &[("if-match", &seen)], Some(&json!({ "node": "bkae" }))).await;
        assert_eq!((moved.status, moved.code()), (404, "unknown-node".to_owned()), "{moved:?}");
        let headers = [("if-match", &*seen), ("prefer", "wait=soon")];
        let junk = stand.with("POST", "/api/sessions/ana/goto", &headers, Some(&json!({ "node": "end" }))).await;
        assert_eq!((junk.status, junk.code()), (400, "bad-request".to_owned()), "{junk:?}");
    };
    refused().await;
    assert_eq!(stand.post("/api/sessions/ana/pause", json!({})).await.seq(), running.seq());
    refused().await;
    stand.with("POST", "/api/sessions/ana/resume", &[("prefer", "wait=0")], Some(&json!({}))).await;
    until_tried(2).await;
    assert_eq!(TRIED.load(Ordering::SeqCst), 2, "once at the start, once when it was resumed");
}

static BEGUN: Notify = Notify::const_new();

fn begun(bindings: Bindings) -> Bindings {
    bindings.function_async("bake", |_, _| async {
        BEGUN.notify_one();
        std::future::pending::<()>().await;
        Ok(Value::Null)
    })
}

/// A caller that waits for a stop gets the state of the session when somebody pauses it before there is one (`docs/serve.md#routes`).
#[tokio::test(flavor = "multi_thread")]
async fn who_waits_is_told_of_a_pause() {
    let stand = Stand::on(OVEN, Terms { functions: begun, ..Terms::default() }).await;
    stand.post("/api/sessions", json!({ "id": "ana" })).await;
    let input = json!({ "input": "plum" });
    let waiting = stand.with("POST", "/api/sessions/ana/turns", &[("prefer", "wait=30")], Some(&input));
    let pausing = async {
        BEGUN.notified().await;
        stand.post("/api/sessions/ana/pause", json!({})).await
    };
    let (waited, paused) = tokio::join!(waiting, pausing);
    assert_eq!((waited.status, waited.stop(), waited.seq()), (202, "RUNNING".to_owned(), paused.seq()), "{waited:?}");
}

static ANSWERED: Notify = Notify::const_new();

fn gated(bindings: Bindings) -> Bindings {
    bindings.function_async("bake", |_, _| async {
        ANSWERED.notified().await;
        Ok(Value::Int(9))
    })
}

/// A client that goes away stops nothing: the session is driven by the server.
#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_goes_away_stops_nothing() {
    let stand = Stand::on(OVEN, Terms { functions: gated, ..Terms::default() }).await;
    stand.post("/api/sessions", json!({ "id": "ana" })).await;
    let body = json!({ "input": "plum" }).to_string();
    let request = format!(
        "POST /api/sessions/ana/turns HTTP/1.1\r\nhost: localhost:{}\r\nauthorization: Bearer {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        stand.port,
        crate::stand::TOKEN,
        body.len()
    );
    let mut stream = stand.connect().await;
    tokio::io::AsyncWriteExt::write_all(&mut stream, request.as_bytes()).await.unwrap();
    while stand.get("/api/sessions/ana").await.stop() != "RUNNING" {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    drop(stream);
    ANSWERED.notify_one();
    let mut seen = stand.get("/api/sessions/ana").await;
    while seen.stop() != "END" {
        let tag = seen.headers["etag"].clone();
        let next = stand.with("GET", "/api/sessions/ana", &[("if-none-match", &tag), ("prefer", "wait=10")], None).await;
        assert_eq!(next.status, 200, "it goes on");
        seen = next;
    }
}

const KITCHEN: &[(&str, &str)] = &[
    ("kitchen/start.md", "---\ninput_type: text\nsave_to: cake\nto: bake\n---\nWhich cake?\n"),
    (
        "kitchen/bake.md",
        "---\ntools: [{name: bake}]\ndo: bake\non_error: end\non_signal: {leave: left, tidy: scrub}\nto: end\n---\nBaking.\n",
    ),
    ("kitchen/scrub.md", "---\ntools: [{name: wash}]\ndo: wash\non_error: end\non_signal: {leave: left}\nto: end\n---\nScrubbing.\n"),
    ("kitchen/left.md", "---\noutput: left\n---\nYou left.\n"),
    ("kitchen/end.md", "---\n---\nDone.\n"),
];

/// Sessions whose cake is in the oven. Tests that run side by side share it: each has sessions of its own.
static STARTED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

fn started(bindings: Bindings) -> Bindings {
    let bindings = bindings.function_async("bake", |context, _| async move {
        STARTED.lock().unwrap().insert(context.session.to_string());
        std::future::pending::<()>().await;
        Ok(Value::Null)
    });
    bindings.function_async("wash", |_, _| async {
        std::future::pending::<()>().await;
        Ok(Value::Null)
    })
}

/// Begins a session whose call runs.
async fn baking(stand: &Stand, id: &str) {
    stand.post("/api/sessions", json!({ "id": id })).await;
    let path = format!("/api/sessions/{id}/turns");
    let running = stand.with("POST", &path, &[("prefer", "wait=0")], Some(&json!({ "input": "plum" }))).await;
    assert_eq!(running.stop(), "RUNNING");
    while !STARTED.lock().unwrap().contains(id) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn texts(turn: &serde_json::Value) -> Vec<&str> {
    turn["said"].as_array().unwrap().iter().map(|said| said["text"].as_str().unwrap()).collect()
}

// `docs/serve.md#turns`, `docs/mcp.md#tools`: whoever stops a call by a signal is told what is said then, also while somebody else drives the session
#[tokio::test(flavor = "multi_thread")]
async fn a_signal_that_stops_a_call_is_answered_with_what_is_said() {
    let stand = Stand::on(KITCHEN, Terms { functions: started, ..Terms::default() }).await;
    baking(&stand, "ana").await;
    let left = stand.post("/api/sessions/ana/turns", json!({ "signal": "leave" })).await;
    let json = left.json();
    assert_eq!((left.status, left.stop(), texts(&json)), (200, "END".to_owned(), vec!["You left.\n"]), "{json:#}");
    let rendered = |json: &serde_json::Value| {
        let lines = json["happened"].as_array().unwrap().iter().filter(|line| line["type"] == "RENDER_CONTENT");
        lines.map(|line| line["payload"].as_str().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(rendered(&json).last().map(String::as_str), Some("You left.\n"), "{json:#}");
    baking(&stand, "bea").await;
    stand.post("/api/sessions/bea/pause", json!({})).await;
    let left = stand.post("/api/sessions/bea/turns", json!({ "signal": "leave" })).await.json();
    assert_eq!(texts(&left), ["You left.\n"], "{left:#}");
    baking(&stand, "eve").await;
    let params = json!({ "name": "navigate", "arguments": { "session": "eve", "signal": "leave" } });
    let left = message(&call(&stand, &[], "tools/call", params, json!({})).await)["result"].clone();
    assert_eq!(left["structuredContent"]["said"][0]["text"], "You left.\n", "{left:#}");
    assert!(left["content"][0]["text"].as_str().unwrap().starts_with("You left."), "{left:#}");
}

// `docs/serve.md`: a signal that leads into another long call is answered when the session took it, not when that call is over
#[tokio::test(flavor = "multi_thread")]
async fn a_signal_that_leads_into_another_call_is_answered_while_that_runs() {
    let stand = Stand::on(KITCHEN, Terms { functions: started, ..Terms::default() }).await;
    for (id, wait) in [("mia", "wait=0"), ("zoe", "wait=1")] {
        baking(&stand, id).await;
        let path = format!("/api/sessions/{id}/turns");
        let tidies = stand.with("POST", &path, &[("prefer", wait)], Some(&json!({ "signal": "tidy" }))).await;
        let json = tidies.json();
        assert_eq!((tidies.status, &json["node"], &json["stop"]["type"]), (202, &json!("scrub"), &json!("RUNNING")), "{json:#}");
        assert_eq!((&json["stop"]["payload"]["call"]["name"], texts(&json)), (&json!("wash"), vec!["Scrubbing.\n"]), "{json:#}");
        // It is stored: the next is taken by the node that it led to.
        let left = stand.post(&path, json!({ "signal": "leave" })).await;
        let json = left.json();
        assert_eq!((left.status, left.stop(), texts(&json).last().copied()), (200, "END".to_owned(), Some("You left.\n")), "{json:#}");
    }
}

// `docs/serve.md#routes`, `docs/studio.md#a-session`: a session that is paused is told as such by every door, until it is resumed
#[tokio::test(flavor = "multi_thread")]
async fn a_paused_session_says_so() {
    let stand = Stand::on(OVEN, Terms { functions: never, ..Terms::default() }).await;
    let paused = |turn: &Answer| turn.json()["paused"].as_bool().unwrap_or(false);
    stand.post("/api/sessions", json!({ "id": "ana" })).await;
    let mut stream = Stream::open(&stand, "/api/sessions/ana/events", &[]).await;
    let running = stand.with("POST", "/api/sessions/ana/turns", &[("prefer", "wait=0")], Some(&json!({ "input": "plum" }))).await;
    assert!(!paused(&running));
    assert!(paused(&stand.post("/api/sessions/ana/pause", json!({})).await));
    // Another page, or one that is loaded again.
    let seen = stand.get("/api/sessions/ana").await;
    assert!(seen.stop() == "RUNNING" && paused(&seen), "{seen:?}");
    let told = async |stream: &mut Stream| loop {
        let turn = stream.until("turn").await.pop().unwrap().data;
        if turn["stop"]["type"] == "RUNNING" {
            break turn["paused"].as_bool().unwrap_or(false);
        }
    };
    assert!(told(&mut stream).await, "whoever follows is told, too");
    let params = json!({ "name": "render_state", "arguments": { "session": "ana" } });
    let shown = message(&call(&stand, &[], "tools/call", params, json!({})).await)["result"].clone();
    assert!(shown["content"][0]["text"].as_str().unwrap().contains("It is paused at `bake`"), "{shown:#}");
    let resumed = stand.with("POST", "/api/sessions/ana/resume", &[("prefer", "wait=0")], Some(&json!({}))).await;
    assert!(resumed.stop() == "RUNNING" && !paused(&resumed), "{resumed:?}");
    assert!(!told(&mut stream).await);
    assert!(!paused(&stand.get("/api/sessions/ana").await));
}

//! Children that ask side by side, edits while a session waits, and waits of a look (`docs/serve.md`).

use std::time::Duration;

use serde_json::{Value, json};
use trellis_core::Value as Given;
use trellis_host::Bindings;

use crate::stand::{Answer, Stand, Terms, write};

/// Two children that ask the same question about two things, beside a call that nobody carries out.
const PAIR: &[(&str, &str)] = &[
    (
        "pair/start.md",
        "---\ntools: [{ name: human }]\ndo:\n  parallel:\n    a: { name: human }\n    b: { graph: ask, args: { topic: lamps } }\n    c: { graph: ask, args: { topic: chairs } }\n\
         on_error: fail\nsave_to: all\nto: end\n---\nAll of it.\n",
    ),
    ("pair/end.md", "---\noutput: \"{{ all.b }} and {{ all.c }}\"\n---\n"),
    (
        "pair/ask/start.md",
        "---\nrequired_context: [topic]\ncontext_schema: { topic: string }\ninput_type: int\nsave_to: count\nto: end\n---\nHow many {{ topic }}?\n",
    ),
    ("pair/ask/end.md", "---\noutput: \"{{ count }}\"\n---\n"),
];

fn said(turn: &Value) -> Vec<&str> {
    turn["said"].as_array().unwrap().iter().map(|said| said["text"].as_str().unwrap().trim()).collect()
}

// `docs/serve.md#turns`: without a number and a name an input is for whoever asked first
#[tokio::test]
async fn an_input_for_nobody_is_for_the_child_that_asked_first() {
    let stand = Stand::new(PAIR).await;
    let begun = stand.post("/api/sessions", json!({ "id": "ana" })).await;
    assert_eq!(begun.stop(), "CALL_TOOL");
    let result = json!({ "tool_result": { "id": begun.json()["stop"]["payload"]["id"], "result": null } });
    let asked = stand.post("/api/sessions/ana/turns", result).await;
    assert_eq!(asked.stop(), "REQUEST_INPUT", "{asked:?}");
    let first = asked.json()["child"].clone();
    let next = stand.post("/api/sessions/ana/turns", json!({ "input": 7 })).await;
    assert_eq!((next.status, next.stop()), (200, "REQUEST_INPUT".to_owned()), "{next:?}");
    assert_ne!(next.json()["child"], first, "the other one asks");
    let ended = stand.post("/api/sessions/ana/turns", json!({ "input": 8 })).await;
    assert_eq!((ended.status, ended.stop()), (200, "END".to_owned()), "{ended:?}");
}

// `docs/serve.md#turns`: a look says again what the current entering said, also that of children
#[tokio::test]
async fn a_look_says_what_each_child_asks() {
    let stand = Stand::new(PAIR).await;
    stand.post("/api/sessions", json!({ "id": "ana" })).await;
    let turn = stand.get("/api/sessions/ana").await.json();
    assert_eq!(said(&turn), ["All of it.", "How many lamps?", "How many chairs?"], "{turn}");
    let others = turn["others"].as_array().unwrap();
    for (other, said) in others.iter().zip(&turn["said"].as_array().unwrap()[1..]) {
        assert_eq!(other["child"], said["child"]);
    }
}

const MENU: &[(&str, &str)] = &[
    ("menu/start.md", "---\noptions: [{ text: Tea, to: end }]\n---\nWhat will you drink?\n"),
    ("menu/end.md", "---\noutput: \"{{ input.text | default('') }}\"\n---\nBye.\n"),
];

/// Asks for a session until something holds.
async fn until(stand: &Stand, holds: impl Fn(&Answer) -> bool) -> Answer {
    for _ in 0..4_800 {
        let seen = stand.get("/api/sessions/ana").await;
        if holds(&seen) {
            return seen;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("never: {:?}", stand.get("/api/sessions/ana").await)
}

async fn reload(stand: &Stand, files: &[(&str, &str)]) {
    write(stand.folder.path(), files);
    let read = stand.post("/api/graphs/menu/reload", json!({})).await;
    assert_eq!(read.json()["status"], "sound", "{read:?}");
}

// `docs/serve.md`: a session that waits takes an edit up, and an answer to what it asked before is none any more
#[tokio::test]
async fn a_session_that_waits_asks_what_an_edit_made_of_it() {
    let stand = Stand::new(MENU).await;
    let asked = stand.post("/api/sessions", json!({ "id": "ana" })).await;
    let seen = asked.headers["etag"].clone();
    // An edit of something else leaves the question as it is.
    reload(&stand, &[("menu/end.md", "---\n---\nGoodbye.\n")]).await;
    let after = until(&stand, |turn| turn.json()["program"] != asked.json()["program"]).await;
    assert_eq!(said(&after.json()), ["What will you drink?"]);
    reload(&stand, &[("menu/start.md", "---\noptions: [{ text: Cocoa, to: end }]\n---\nWhat will it be?\n")]).await;
    let edited = until(&stand, |turn| said(&turn.json()) == ["What will it be?"]).await;
    assert_eq!(edited.json()["stop"]["payload"]["options"][0]["text"], "Cocoa", "{edited:?}");
    let stale = stand.with("POST", "/api/sessions/ana/turns", &[("if-match", &seen)], Some(&json!({ "input": "Tea" }))).await;
    assert_eq!((stale.status, stale.code()), (412, "conflict".to_owned()), "{stale:?}");
    let taken =
        stand.with("POST", "/api/sessions/ana/turns", &[("if-match", &edited.headers["etag"])], Some(&json!({ "input": "Cocoa" }))).await;
    assert_eq!((taken.status, taken.stop()), (200, "END".to_owned()), "{taken:?}");
}

// `docs/serve.md`: an edit ends no pause
#[tokio::test]
async fn a_paused_session_takes_an_edit_up_when_it_is_resumed() {
    let stand = Stand::new(MENU).await;
    stand.post("/api/sessions", json!({ "id": "ana" })).await;
    stand.post("/api/sessions", json!({ "id": "ben" })).await;
    stand.post("/api/sessions/ben/pause", json!({})).await;
    reload(&stand, &[("menu/start.md", "---\noptions: [{ text: Cocoa, to: end }]\n---\nWhat will it be?\n")]).await;
    until(&stand, |turn| said(&turn.json()) == ["What will it be?"]).await;
    assert_eq!(stand.get("/api/sessions/ben").await.json()["paused"], true);
    let resumed = stand.post("/api/sessions/ben/resume", json!({})).await.json();
    assert_eq!((said(&resumed), &resumed["paused"]), (vec!["What will it be?"], &Value::Null), "{resumed}");
}

const SLOW: &[(&str, &str)] = &[
    ("slow/trellis.yaml", "bindings: { work: { function: work, effect: none } }\n"),
    ("slow/start.md", "---\ndo: work\nto: ask\n---\n"),
    ("slow/ask.md", "---\ninput_type: text\nto: end\n---\nWell?\n"),
    ("slow/end.md", "Bye.\n"),
];

fn working(bindings: Bindings) -> Bindings {
    bindings.function_async("work", |_, _| async {
        tokio::time::sleep(Duration::from_millis(600)).await;
        Ok(Given::Null)
    })
}

// `docs/serve.md#turns`: a look waits for the next stop, if it says so
#[tokio::test]
async fn a_look_waits_for_the_next_stop() {
    let stand = Stand::on(SLOW, Terms { functions: working, ..Terms::default() }).await;
    let none = [("prefer", "wait=0")];
    let begun = stand.with("POST", "/api/sessions", &none, Some(&json!({ "id": "ana" }))).await;
    assert_eq!((begun.status, begun.stop()), (202, "RUNNING".to_owned()), "{begun:?}");
    let now = stand.get("/api/sessions/ana").await;
    assert_eq!(now.stop(), "RUNNING", "{now:?}");
    let waited = stand.with("GET", "/api/sessions/ana", &[("prefer", "wait=30")], None).await;
    assert_eq!((waited.status, waited.stop()), (200, "REQUEST_INPUT".to_owned()), "{waited:?}");
    // Proxies that compress make tags weak.
    let weak = format!("W/{}", waited.headers["etag"]);
    let known = stand.with("GET", "/api/sessions/ana", &[("if-none-match", &weak)], None).await;
    assert_eq!(known.status, 304, "{known:?}");
    let taken = stand.with("POST", "/api/sessions/ana/turns", &[("if-match", &weak)], Some(&json!({ "input": "x" }))).await;
    assert_eq!(taken.stop(), "END", "{taken:?}");
}

// `docs/serve.md#routes`: of two who decide at the same moment, the second learns what was decided
#[tokio::test]
async fn who_decides_at_the_same_moment_learns_what_was_decided() {
    let stand = Stand::new(crate::stand::SHOP).await;
    for id in ["a", "b", "c", "d", "e", "f", "g", "h"] {
        let call = stand.held(id).await;
        let path = format!("/api/sessions/{id}/approvals/{call}");
        let (one, other) = tokio::join!(
            stand.post(&path, json!({ "decision": "approve" })),
            stand.post(&path, json!({ "decision": "deny", "because": "no" })),
        );
        let mut both = [one, other];
        both.sort_by_key(|answer| answer.status);
        let [first, second] = both;
        assert!(first.status < 300 && second.status == 409 && second.json()["decided"].is_string(), "{first:?}\n{second:?}");
    }
}

//! Answers that come too late, and sessions that an edit left behind: what is done about them over HTTP.

use std::time::Duration;

use serde_json::json;

use crate::stand::{Answer, SHOP, Stand, Terms, write};

const HURRY: &[(&str, &str)] = &[
    ("hurry/start.md", "---\ninput_type: text\ntimeout: 400ms\non_timeout: over\nto: send\n---\nA word?\n"),
    ("hurry/over.md", "---\ninput_type: text\nto: end\n---\nToo late. Another word?\n"),
    (
        "hurry/send.md",
        "---\ntools: [{name: ship, effect: irreversible}]\ndo: {name: ship, approve: {ask: \"Ship?\", expires: 400ms}}\non_denied: end\nto: end\n---\n",
    ),
    ("hurry/end.md", "---\noutput: over\n---\nOver.\n"),
];

fn told(answer: &Answer) -> (u16, String) {
    (answer.status, answer.code())
}

/// Waits until the time of what is asked is over. The server itself would act then, unless the session is paused.
async fn pass(stand: &Stand, id: &str, asked: &Answer) {
    stand.post(&format!("/api/sessions/{id}/pause"), json!({})).await;
    let turn = asked.json();
    let left = turn["due"].as_u64().unwrap() - turn["now"].as_u64().unwrap();
    tokio::time::sleep(Duration::from_millis(left + 20)).await;
}

// `docs/serve.md`
#[tokio::test]
async fn an_answer_after_the_time_is_too_late() {
    let stand = Stand::new(HURRY).await;
    let asked = stand.post("/api/sessions", json!({ "id": "ana" })).await;
    pass(&stand, "ana", &asked).await;
    let seen = asked.headers["etag"].clone();
    let late = stand.with("POST", "/api/sessions/ana/turns", &[("if-match", &seen)], Some(&json!({ "input": "slow" }))).await;
    assert_eq!(told(&late), (409, "too-late".to_owned()), "{late:?}");
    assert_eq!(late.json()["current"]["node"], "over", "what is asked instead");
    let taken = stand.post("/api/sessions/ana/turns", json!({ "input": "quick" })).await;
    assert_eq!(taken.stop(), "END");
}

// `docs/serve.md`
#[tokio::test]
async fn a_decision_after_the_time_is_expired() {
    let stand = Stand::new(HURRY).await;
    stand.post("/api/sessions", json!({ "id": "ana" })).await;
    let held = stand.post("/api/sessions/ana/turns", json!({ "input": "quick" })).await;
    pass(&stand, "ana", &held).await;
    let call = held.json()["stop"]["payload"]["id"].as_str().unwrap().to_owned();
    let late = stand.post(&format!("/api/sessions/ana/approvals/{call}"), json!({ "decision": "approve" })).await;
    assert_eq!(told(&late), (409, "expired".to_owned()), "{late:?}");
    let ended = stand.post("/api/sessions/ana/resume", json!({})).await;
    assert_eq!((ended.stop(), &ended.json()["stop"]["payload"]["output"]), ("END".to_owned(), &json!("over")), "nothing ran");
}

const NEEDS: &str = "---\nrequired_context: [much]\ninput_type: int\nsave_to: count\nto: send\n---\nHow many of {{ much }}?\n";

// `docs/serve.md`: the keys that a look asks for are taken at once, also by a server that has not loaded the session
#[tokio::test]
async fn what_an_edited_graph_needs_is_taken_at_once() {
    let stand = Stand::new(SHOP).await;
    for id in ["ana", "bea", "cee"] {
        stand.counting(id).await;
    }
    let folder = stand.stop().await;
    let sets = "---\ninput_type: text\nsave_to: name\nset: {much: 9}\nto: count\n---\nWho?\n";
    write(folder.path(), &[("shop/count.md", NEEDS), ("shop/start.md", sets)]);
    let stand = Stand::again(folder, Terms::default()).await;
    let context = json!({ "context": { "much": 3 } });
    let needed = stand.get("/api/sessions/ana").await;
    assert_eq!((needed.stop(), &needed.json()["stop"]["payload"]["keys"]), ("NEEDS".to_owned(), &json!(["much"])));
    let seen = needed.headers["etag"].clone();
    let given = stand.with("POST", "/api/sessions/ana/turns", &[("if-match", &seen)], Some(&context)).await;
    assert_eq!((given.status, given.stop(), &given.json()["said"][0]["text"]), (200, "REQUEST_INPUT".into(), &json!("How many of 3?\n")));
    // Without a number they are for whatever is asked.
    assert_eq!(stand.post("/api/sessions/bea/turns", context.clone()).await.stop(), "REQUEST_INPUT");
    // Input for the question before the edit answers none of these, and neither do keys for another moment.
    let seen = stand.get("/api/sessions/cee").await.headers["etag"].clone();
    let typed = stand.with("POST", "/api/sessions/cee/turns", &[("if-match", &seen)], Some(&json!({ "input": 2 }))).await;
    assert_eq!((told(&typed), &typed.json()["current"]["stop"]["type"]), ((412, "conflict".to_owned()), &json!("NEEDS")), "{typed:?}");
    let old = stand.with("POST", "/api/sessions/cee/turns", &[("if-match", "\"1\"")], Some(&context)).await;
    assert_eq!(told(&old), (412, "conflict".to_owned()), "{old:?}");
}

// `docs/serve.md#routes`, `docs/sessions.md#moving-sessions`
#[tokio::test]
async fn a_session_that_fits_no_more_can_be_moved_and_removed() {
    let stand = Stand::new(SHOP).await;
    for id in ["ana", "bea"] {
        stand.counting(id).await;
    }
    let folder = stand.stop().await;
    std::fs::remove_file(folder.path().join("shop/count.md")).unwrap();
    write(folder.path(), &[("shop/start.md", "---\ncontext_schema: {name: int}\nset: {count: 1}\nto: send\n---\n")]);
    let stand = Stand::again(folder, Terms::default()).await;
    assert_eq!(told(&stand.get("/api/sessions/ana").await), (409, "unfit".to_owned()));
    let heads = stand.get("/api/sessions").await.json();
    let seen = format!("\"{}\"", heads["items"][0]["seq"]);
    let other = stand.with("DELETE", "/api/sessions/ana?open=true", &[("if-match", "\"1\"")], None).await;
    assert_eq!((told(&other), &other.json()["seq"]), ((412, "conflict".to_owned()), &heads["items"][0]["seq"]));
    let open = stand.with("DELETE", "/api/sessions/ana", &[("if-match", &seen)], None).await;
    assert_eq!(told(&open), (409, "not-ended".to_owned()));
    assert_eq!(stand.with("DELETE", "/api/sessions/ana?open=true", &[("if-match", &seen)], None).await.status, 204);
    assert_eq!(told(&stand.get("/api/sessions/ana").await), (404, "unknown-session".to_owned()));
    let moved = stand.with("POST", "/api/sessions/bea/goto", &[("if-match", &seen)], Some(&json!({ "node": "left" }))).await;
    assert_eq!((moved.status, moved.stop()), (200, "END".to_owned()), "{moved:?}");
}

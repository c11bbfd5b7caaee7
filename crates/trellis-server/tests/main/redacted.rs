//! Sessions whose graph has `redact`: no store has these values, so whoever may walk gives them again.

use serde_json::json;
use trellis_core::{ToolError, Value};
use trellis_host::Bindings;

use crate::{
    mcp::{call, message},
    stand::{Answer, Stand, Terms},
};

const CARD: &str = "4111-1111-1111-1111";

/// Asks for a card, charges it, and asks again with it; a child asks with it, too.
const SHOP: &[(&str, &str)] = &[
    ("shop/trellis.yaml", "redact: [card]\n"),
    ("shop/start.md", "---\ninput_type: text\nsave_to: card\nto: sure\n---\nYour card?\n"),
    ("shop/sure.md", "---\ninput_type: confirm\nto: charge\n---\nIs {{ card }} right?\n"),
    ("shop/charge.md", "---\ntools: [{name: charge}]\ndo: {name: charge, args: {card: \"{{ card }}\"}}\non_error: end\nto: rate\n---\n"),
    ("shop/rate.md", "---\ninput_type: int\nsave_to: stars\nto: gift\n---\nHow good was {{ card }}?\n"),
    ("shop/gift.md", "---\ndo: {graph: wrap, args: {card: \"{{ card }}\"}}\non_error: fail\nto: end\n---\n"),
    (
        "shop/wrap/start.md",
        "---\nrequired_context: [card]\ncontext_schema: {card: string}\ninput_type: confirm\nto: end\n---\nA gift for {{ card }}?\n",
    ),
    ("shop/wrap/end.md", "Wrapped.\n"),
    ("shop/end.md", "Done.\n"),
];

fn charging(bindings: Bindings) -> Bindings {
    bindings.function("charge", |_, args| match args.get("card").and_then(Value::as_str) {
        Some(CARD) => Ok(Value::Null),
        _ => Err(ToolError::new("that is no card")),
    })
}

fn terms() -> Terms {
    Terms { functions: charging, ..Terms::default() }
}

async fn answer(stand: &Stand, body: serde_json::Value) -> Answer {
    stand.post("/api/sessions/ana/turns", body).await
}

/// Checks that the session wants the card at a node, whoever looks and whatever else is sent; returns the turn.
async fn assert_needs(stand: &Stand, node: &str) -> Answer {
    let look = async || {
        let seen = stand.get("/api/sessions/ana").await;
        assert_eq!((seen.status, seen.stop(), &seen.json()["node"]), (200, "NEEDS".to_owned(), &json!(node)), "{seen:?}");
        assert_eq!(seen.json()["stop"]["payload"]["keys"], json!(["card"]), "{seen:?}");
        seen
    };
    look().await;
    for body in [json!({ "input": "yes" }), json!({ "keep": true })] {
        let refused = answer(stand, body).await;
        assert!([409, 412].contains(&refused.status) && refused.code() != "render", "{refused:?}");
    }
    let told = call(stand, &[], "tools/call", json!({ "name": "render_state", "arguments": { "session": "ana" } }), json!({})).await;
    assert_eq!(message(&told)["result"]["structuredContent"]["stop"]["type"], "NEEDS", "{told:?}");
    look().await
}

/// Gives the card for the turn that was seen.
async fn give(stand: &Stand, seen: &Answer) -> Answer {
    let headers = [("if-match", &*seen.headers["etag"])];
    let given = stand.with("POST", "/api/sessions/ana/turns", &headers, Some(&json!({ "context": { "card": CARD } }))).await;
    assert!(given.status == 200 && !given.text.contains(CARD), "{given:?}");
    given
}

// `docs/serve.md#turns`: a session stands over HTTP as `run --session` shows it
#[tokio::test(flavor = "multi_thread")]
async fn what_was_not_stored_is_asked_for_after_a_restart() {
    let stand = Stand::on(SHOP, terms()).await;
    stand.post("/api/sessions", json!({ "id": "ana" })).await;
    assert_eq!(answer(&stand, json!({ "input": CARD })).await.stop(), "REQUEST_INPUT");
    let stand = Stand::again(stand.stop().await, terms()).await;
    let seen = assert_needs(&stand, "sure").await;
    let asked = give(&stand, &seen).await;
    assert_eq!((asked.stop(), &asked.json()["said"][0]["text"]), ("REQUEST_INPUT".to_owned(), &json!("Is *** right?\n")));
    let charged = answer(&stand, json!({ "input": true })).await;
    // The tool got it whole.
    assert_eq!(charged.json()["node"], "rate", "{charged:?}");
}

// What a turn hands out is what the next look shows, and its answer is taken: a call behind the request takes no value out of memory
#[tokio::test(flavor = "multi_thread")]
async fn the_question_behind_a_call_is_the_one_that_is_asked() {
    let stand = Stand::on(SHOP, terms()).await;
    stand.post("/api/sessions", json!({ "id": "ana" })).await;
    answer(&stand, json!({ "input": CARD })).await;
    let charged = answer(&stand, json!({ "input": true })).await;
    assert_eq!((charged.status, charged.stop(), &charged.json()["node"]), (200, "REQUEST_INPUT".to_owned(), &json!("rate")), "{charged:?}");
    // The driver is done with it a moment later.
    for _ in 0..100 {
        let seen = stand.get("/api/sessions/ana").await;
        assert_eq!((seen.status, seen.stop(), seen.seq()), (200, "REQUEST_INPUT".to_owned(), charged.seq()), "{seen:?}");
        assert_eq!(seen.json()["said"][0]["text"], "How good was ***?\n", "{seen:?}");
    }
    let headers = [("if-match", &*charged.headers["etag"])];
    let gift = stand.with("POST", "/api/sessions/ana/turns", &headers, Some(&json!({ "input": 5 }))).await;
    assert_eq!((gift.status, gift.stop()), (200, "REQUEST_INPUT".to_owned()), "{gift:?}");
    // A child lacks it as its session does.
    let stand = Stand::again(stand.stop().await, terms()).await;
    let seen = stand.get("/api/sessions/ana").await;
    assert_eq!((seen.status, seen.stop()), (200, "NEEDS".to_owned()), "{seen:?}");
    let mut turn = seen;
    while turn.stop() == "NEEDS" {
        turn = give(&stand, &turn).await;
    }
    assert_eq!((turn.stop(), &turn.json()["said"][0]["text"]), ("REQUEST_INPUT".to_owned(), &json!("A gift for ***?\n")), "{turn:?}");
    assert_eq!(answer(&stand, json!({ "input": true })).await.stop(), "END");
}

//! Every code that can be met has a request that meets it.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use trellis_server::Code;

use crate::stand::{SHOP, Stand, TOKEN};

/// Codes that other tests meet, each with the file of such a test.
const ELSEWHERE: [(Code, &str); 38] = [
    (Code::Unauthenticated, "gates"),
    (Code::Forbidden, "gates"),
    (Code::BadOrigin, "gates"),
    (Code::ApprovalNeedsAPerson, "mcp"),
    (Code::BadHost, "gates"),
    (Code::TooSlow, "gates"),
    (Code::TooLarge, "gates"),
    (Code::TooMany, "gates"),
    (Code::HeadersTooLarge, "gates"),
    (Code::MediaType, "gates"),
    (Code::BadCursor, "graphs"),
    (Code::OtherGraph, "graphs"),
    (Code::NoProgram, "graphs"),
    (Code::CallChanged, "walk"),
    (Code::NotYours, "forging"),
    (Code::ApprovedAlready, "walk"),
    (Code::SessionExists, "walk"),
    (Code::IfMatchRequired, "walk"),
    (Code::Conflict, "walk"),
    (Code::KeyReused, "walk"),
    (Code::InProgress, "busy"),
    (Code::Ambiguous, "refusals"),
    (Code::Vetoed, "refusals"),
    (Code::Unfit, "refusals"),
    (Code::ReservedName, "refusals"),
    (Code::RollingBack, "refusals"),
    (Code::Expired, "late"),
    (Code::TooLate, "late"),
    (Code::Lost, "refusals"),
    (Code::Pruned, "../../../trellis-cli/tests/main/serve"),
    (Code::Stopping, "refusals"),
    (Code::StoreUnavailable, "refusals"),
    (Code::Unready, "refusals"),
    (Code::StoreUnwritable, "refusals"),
    (Code::Internal, "refusals"),
    (Code::Refused, "walk"),
    (Code::Render, "refusals"),
    (Code::PassThrough, "refusals"),
];

/// Codes that no request brings about over HTTP, with the reason.
const NEVER: [(Code, &str); 1] = [(Code::Stopped, "who waits while somebody pauses gets 202 (`who_waits_is_told_of_a_pause`)")];

const MORE: &[(&str, &str)] = &[
    ("shop/needs.md", "---\nrequired_context: [much]\ninput_type: text\nto: end2\n---\n{{ much }}\n"),
    ("shop/count.md", "---\ninput_type: int\nsave_to: count\nto: send\non_signal: {leave: left, rule: ruled}\n---\nHow many?\n"),
    ("shop/ruled.md", "---\ninput_type: text\nsave_to: much\ntransitions: [{condition: angry, to: left}]\nto: needs\n---\nSay.\n"),
    ("shop/end2.md", "---\noutput: 1\n---\n"),
    ("shop/trellis.yaml", "predicates: [angry]\nlimits: {input: 40}\n"),
];

// `docs/serve.md`: the page of a code says more than its title
#[tokio::test]
async fn every_code_has_a_page_of_its_own() {
    let stand = Stand::new(SHOP).await;
    let mut abouts = std::collections::BTreeSet::new();
    for code in Code::ALL {
        let page = stand.get(&format!("/api/explain/{}", code.as_str())).await.text;
        let about = page.trim().split_once(".\n\n").map(|(_, about)| about.to_owned()).unwrap_or_default();
        assert!(about.len() > 30, "{page}");
        assert!(abouts.insert(about), "two codes share this: {page}");
    }
}

/// One request: what is met by it.
async fn meets(stand: &Stand, method: &str, path: &str, headers: &[(&str, &str)], body: Value) -> Code {
    let answer = stand.with(method, path, headers, Some(&body).filter(|body| !body.is_null())).await;
    assert!(answer.status >= 400, "{method} {path}: {answer:?}");
    Code::named(&answer.code()).unwrap_or_else(|| panic!("{answer:?}"))
}

/// A request: method, path, headers, body, and the code that it meets.
type RequestCase<'c> = (&'c str, &'c str, &'c [(&'c str, &'c str)], Value, Code);

#[tokio::test]
async fn every_code_is_met() {
    let stand = Stand::new(&[SHOP, MORE].concat()).await;
    assert_eq!(stand.get("/readyz").await.status, 200, "{}", stand.get("/api/graphs/shop/diagnostics").await.text);
    stand.counting("ana").await;
    let none = Value::Null;
    let turns = "/api/sessions/ana/turns";
    let held = stand.held("bea").await;
    let left = stand.post("/api/sessions/bea/turns", json!({ "deny": held })).await;
    assert_eq!(left.stop(), "END");
    let held = stand.held("cee").await;
    assert_eq!(stand.post("/api/sessions/cee/turns", json!({ "approve": held })).await.stop(), "CALL_TOOL");
    let ruled = stand.post("/api/graphs/shop/engine/start", json!({ "at": "ruled" })).await.json()["state"].clone();
    let mut stranger = ruled.clone();
    (stranger["version"], stranger["program"]) = (99.into(), "another".into());
    let seen = [("if-match", "\"2\"")];
    let requests: [RequestCase<'_>; 30] = [
        ("GET", "/api/sessions?limit=0", &[], none.clone(), Code::BadRequest),
        ("POST", "/api/sessions", &[], json!({ "grpah": "shop" }), Code::BadRequest),
        ("POST", "/api/sessions", &[], json!({ "id": "a b" }), Code::BadName),
        ("GET", "/nowhere", &[], none.clone(), Code::UnknownRoute),
        ("GET", "/api/sessions/nobody", &[], none.clone(), Code::UnknownSession),
        ("GET", "/api/graphs/nowhere", &[], none.clone(), Code::UnknownGraph),
        ("GET", "/api/graphs/shop/nodes/nowhere", &[], none.clone(), Code::UnknownNode),
        ("POST", "/api/sessions", &[], json!({ "at": "nowhere" }), Code::UnknownNode),
        ("GET", "/api/sessions/ana/at/99", &[], none.clone(), Code::UnknownRecord),
        ("GET", "/api/explain/nothing", &[], none.clone(), Code::UnknownCode),
        ("GET", "/api/dead-letters/nothing", &[], none.clone(), Code::UnknownLetter),
        ("PUT", "/api/sessions", &[], none.clone(), Code::Method),
        ("GET", "/api/explain/ended", &[("accept", "image/png")], none.clone(), Code::NotAcceptable),
        ("POST", turns, &[], json!({ "predicate": { "id": "p", "value": true } }), Code::WrongKind),
        ("POST", turns, &[], json!({ "approve": "c" }), Code::WrongKind),
        ("POST", "/api/sessions/cee/turns", &[], json!({ "tool_result": { "id": "c", "result": 1 } }), Code::ForeignCall),
        ("POST", turns, &[], json!({ "signal": "dance" }), Code::UnhandledSignal),
        ("POST", turns, &[], json!({ "input": "many" }), Code::InvalidInput),
        ("POST", turns, &[], json!({ "input": 1, "to": "nobody" }), Code::UnknownChild),
        ("POST", turns, &[], json!({ "input": "9".repeat(50) }), Code::InputTooLarge),
        ("POST", "/api/sessions/bea/turns", &[], json!({ "input": 1 }), Code::Ended),
        ("POST", "/api/sessions/ana/approvals/c", &[], json!({ "decision": "approve" }), Code::NotHeld),
        ("DELETE", "/api/sessions/ana", &seen, none.clone(), Code::NotEnded),
        ("POST", "/api/sessions/ana/goto", &seen, json!({ "node": "needs" }), Code::CannotStandThere),
        ("PATCH", "/api/sessions/ana/context", &seen, json!({ "set": { "sys": 1 } }), Code::BadKey),
        ("POST", "/api/sessions", &[], json!({ "at": "needs" }), Code::StartRefused),
        ("POST", "/navigate", &[], json!({ "state": ruled, "input": "x" }), Code::UnansweredPredicate),
        ("POST", "/render", &[], json!({ "state": stranger }), Code::Unadopted),
        ("POST", "/render", &[], json!({}), Code::BadRequest),
        ("GET", "/api/sessions/ana", &[("if-none-match", "2")], none, Code::BadRequest),
    ];
    let mut met = BTreeSet::new();
    for (method, path, headers, body, expected) in requests {
        let code = meets(&stand, method, path, headers, body).await;
        assert_eq!(code, expected, "{method} {path}");
        met.insert(code);
    }
    let head =
        format!("POST /api/sessions HTTP/1.1\r\nhost: localhost:{}\r\nauthorization: Bearer {TOKEN}\r\nconnection: close\r\n", stand.port);
    let bad = stand.raw(&format!("{head}content-type: application/json\r\ncontent-length: 1\r\n\r\n{{")).await;
    assert_eq!(bad.code(), "bad-json");
    met.insert(Code::BadJson);
    for (code, file) in ELSEWHERE {
        let path = format!("{}/tests/main/{file}.rs", env!("CARGO_MANIFEST_DIR"));
        let test = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        assert!(test.contains(&format!("\"{}\"", code.as_str())), "{path} does not meet {code:?}");
        assert!(met.insert(code), "{code:?} is met here");
    }
    let missing: Vec<_> = Code::ALL.iter().filter(|code| !met.contains(code) && NEVER.iter().all(|(never, _)| never != *code)).collect();
    assert!(missing.is_empty(), "nothing meets {missing:?}");
}

//! Results of calls at the doors (language C.8): a walker forges none, and whoever operates settles by hand. The whole table is the host's.

use std::{fmt::Write as _, fs};

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::sync::Semaphore;
use trellis_server::Tokens;

use crate::{
    mcp::{call, message},
    stand::{Answer, Stand, Terms},
};

/// A whole of which one part waits for an approval, and the other for its client.
const PAY: &[(&str, &str)] = &[
    ("pay/trellis.yaml", "bindings: {pay: {function: {}, effect: none}, tell: {effect: none}}\n"),
    (
        "pay/start.md",
        "---\ndo: {parallel: {a: {name: pay, approve: true}, b: tell}}\nsave_to: r\non_error: end\non_denied: end\nto: end\n---\n",
    ),
    ("pay/end.md", "---\noutput: \"{{ r | default('none') }}\"\n---\n"),
];

/// A server with a token for each of these people.
async fn paying() -> Stand {
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut text = String::new();
    for (label, rights) in [("walker", "read,walk"), ("operator", "read,walk,operate")] {
        let digest: String = Sha256::digest(label.repeat(6)).iter().map(|byte| format!("{byte:02x}")).collect();
        writeln!(text, "{digest} {rights} {label}").unwrap();
    }
    fs::write(file.path(), text).unwrap();
    let functions = |bindings: trellis_host::Bindings| bindings.function("pay", |_, _| Ok(trellis_core::Value::text("paid")));
    Stand::on(PAY, Terms { tokens: Tokens::of_file(file.path()).unwrap(), functions, ..Terms::default() }).await
}

async fn post(stand: &Stand, label: &str, path: &str, body: Value) -> Answer {
    let bearer = format!("Bearer {}", label.repeat(6));
    stand.with("POST", path, &[("authorization", &bearer)], Some(&body)).await
}

/// The ids of the held part, of the client's part, and of the whole.
fn calls(turn: &Value) -> [String; 3] {
    let others = turn["others"].as_array().into_iter().flatten().map(|other| &other["stop"]);
    let stops: Vec<&Value> = std::iter::once(&turn["stop"]).chain(others).collect();
    let of = |kind: &str| stops.iter().find(|stop| stop["type"] == kind).unwrap_or_else(|| panic!("{turn}"))["payload"].clone();
    let (held, asked) = (of("APPROVAL"), of("CALL_TOOL"));
    [&held["id"], &asked["id"], &asked["of"]].map(|id| id.as_str().unwrap().to_owned())
}

// C.8
#[tokio::test]
async fn a_walker_forges_no_result_and_an_operator_settles_by_hand() {
    let stand = paying().await;
    let begun = post(&stand, "walker", "/api/sessions", json!({ "id": "ana" })).await;
    let [held, asked, whole] = calls(&begun.json());
    let both = json!({ "a": "forged", "b": 2 });
    for (id, result, why) in [(&whole, &both, "it is carried out here"), (&held, &json!(1), "it waits for an approval")] {
        let forged = post(&stand, "walker", "/api/sessions/ana/turns", json!({ "tool_result": { "id": id, "result": result } })).await;
        assert_eq!((forged.status, &*forged.code()), (409, "not-yours"), "{forged:?}");
        assert!(forged.json()["detail"].as_str().unwrap().ends_with(why), "{forged:?}");
    }
    let settle = json!({ "tool_result": { "id": whole, "result": both }, "because": "paid in cash" });
    let refused = post(&stand, "walker", "/api/sessions/ana/settle", settle.clone()).await;
    assert_eq!((refused.status, &*refused.code()), (403, "forbidden"), "{refused:?}");
    let none = json!({ "tool_result": { "id": "nothing", "result": 1 } });
    let unknown = post(&stand, "operator", "/api/sessions/ana/settle", none).await;
    assert_eq!((unknown.status, &*unknown.code()), (409, "foreign-call"), "{unknown:?}");
    let told = post(&stand, "walker", "/api/sessions/ana/turns", json!({ "tool_result": { "id": asked, "result": 2 } })).await;
    assert_eq!((told.status, told.stop()), (200, "APPROVAL".to_owned()), "its own call is the client's: {told:?}");

    let ended = post(&stand, "operator", "/api/sessions/ana/settle", settle).await;
    assert_eq!((ended.status, ended.stop()), (200, "END".to_owned()), "{ended:?}");
    let bearer = format!("Bearer {}", "operator".repeat(6));
    let records = stand.with("GET", "/api/sessions/ana/records", &[("authorization", &bearer)], None).await.json();
    let records = records["items"].as_array().unwrap().clone();
    let settled = records.iter().find(|record| record["kind"] == "settle").unwrap_or_else(|| panic!("{records:?}"));
    let said = (&settled["by"], &settled["because"], &settled["unapproved"]);
    assert_eq!(said, (&json!("operator"), &json!("paid in cash"), &json!([held])), "{settled}");
    assert_eq!(records.iter().filter(|record| record["kind"] == "approve").count(), 0, "nobody approved");
}

// C.8
#[tokio::test]
async fn a_model_forges_no_result() {
    let stand = paying().await;
    let begun = post(&stand, "walker", "/api/sessions", json!({ "id": "ana" })).await;
    let [held, asked, whole] = calls(&begun.json());
    let bearer = format!("Bearer {}", "walker".repeat(6));
    let navigate = async |id: &str| {
        let arguments = json!({ "session": "ana", "tool_result": { "id": id, "result": { "a": 1, "b": 2 } } });
        let params = json!({ "name": "navigate", "arguments": arguments });
        message(&call(&stand, &[("authorization", &bearer)], "tools/call", params, json!({})).await)["result"].clone()
    };
    for id in [&whole, &held] {
        let forged = navigate(id).await;
        assert_eq!((&forged["isError"], &forged["structuredContent"]["code"]), (&json!(true), &json!("not-yours")), "{forged}");
    }
    let told = navigate(&asked).await;
    assert_eq!(told["structuredContent"]["stop"]["type"], "APPROVAL", "{told}");
}

/// Opens when the policy of [`RULED`] may rule.
static GATE: Semaphore = Semaphore::const_new(0);

/// A call of a client, about which a slow policy decides.
const RULED: &[(&str, &str)] = &[
    ("ruled/trellis.yaml", "bindings: {judge: {function: {}, effect: none}, tell: {effect: none}}\npolicy: [{tool: judge}]\n"),
    ("ruled/start.md", "---\ndo: {name: tell, retry: {max: 2, base: 1h}}\non_error: end\non_denied: end\nto: end\n---\n"),
    ("ruled/end.md", "Over.\n"),
];

// C.8
#[tokio::test]
async fn a_call_is_a_clients_from_the_ruling_to_its_first_answer() {
    let functions = |bindings: trellis_host::Bindings| {
        bindings.function_async("judge", |_, _| async {
            drop(GATE.acquire().await);
            Ok(trellis_core::Value::map([("decision", trellis_core::Value::text("AUTO_RUN"))]))
        })
    };
    let stand = Stand::on(RULED, Terms { functions, ..Terms::default() }).await;
    let watch = async {
        let mut seen = stand.get("/api/sessions/ana").await;
        while seen.status == 404 {
            seen = stand.get("/api/sessions/ana").await;
        }
        assert_eq!((seen.status, seen.stop()), (202, "RUNNING".to_owned()), "{seen:?}");
        GATE.add_permits(1);
    };
    let (asked, ()) = tokio::join!(stand.post("/api/sessions", json!({ "id": "ana" })), watch);
    assert_eq!(asked.stop(), "CALL_TOOL", "{asked:?}");
    let id = asked.json()["stop"]["payload"]["id"].clone();
    let failed = json!({ "tool_result": { "id": id, "error": "no line" } });
    let waits = stand.with("POST", "/api/sessions/ana/turns", &[("prefer", "wait=0")], Some(&failed)).await;
    assert_eq!((waits.status, waits.stop()), (202, "SLEEPING".to_owned()), "{waits:?}");
    let again = stand.post("/api/sessions/ana/turns", json!({ "tool_result": { "id": id, "result": 1 } })).await;
    assert_eq!((again.status, &*again.code()), (409, "not-yours"), "{again:?}");
    assert_eq!(stand.get("/api/sessions/ana").await.seq(), waits.seq(), "a refusal makes no record");
}

//! MCP over HTTP from outside: gates, rights, sessions of a token, and the exact forms of questions.

#[path = "asked.rs"]
mod asked;

use std::{fmt::Write as _, fs};

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use trellis_host::{Bindings, Sessions, Verdict, interceptor::Intercepted};
use trellis_server::Tokens;

use crate::stand::{Answer, SHOP, Stand, TOKEN, Terms};

/// Asks in a way that has a form of its own each.
const FORMS: &[(&str, &str)] = &[(
    "forms/start.yaml",
    "nodes:\n  start: { content: Name?, input_type: text, input_schema: { type: string, minLength: 2, maxLength: 9 }, input_default: Ada, to: pick, save_to: a }\n  \
     pick: { content: Pick., options: [one, two], to: sure, save_to: b }\n  \
     sure: { content: Sure?, input_type: confirm, to: many, save_to: c }\n  \
     many: { content: Many?, input_type: int, input_schema: { type: integer, minimum: 1, maximum: 5 }, to: pin, save_to: d }\n  \
     pin: { content: Pin?, input_type: secret, to: bye, save_to: e }\n  \
     bye: { content: Bye., output: \"{{ b }}\" }\n",
)];

/// One request of the stateless revision.
pub(crate) async fn call(stand: &Stand, headers: &[(&str, &str)], method: &str, mut params: Value, capabilities: Value) -> Answer {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    });
    let name = params["name"].as_str().or(params["uri"].as_str()).unwrap_or_default().to_owned();
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let mut all = vec![
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", method),
        ("mcp-name", &*name),
    ];
    all.extend(headers);
    stand.with("POST", "/mcp", &all, Some(&body)).await
}

/// The message of an answer, which may be a stream.
pub(crate) fn message(answer: &Answer) -> Value {
    let data = answer.text.lines().rev().filter_map(|line| line.strip_prefix("data:")).find(|data| !data.trim().is_empty());
    let text = data.map_or(&*answer.text, str::trim);
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {answer:?}"))
}

async fn result(stand: &Stand, params: Value, capabilities: Value) -> Value {
    let answer = call(stand, &[], "tools/call", params, capabilities).await;
    message(&answer)["result"].clone()
}

/// The form that a result asks, and what goes with its answer.
fn asked(result: &Value) -> (Value, Value) {
    assert_eq!(result["resultType"], "input_required", "{result}");
    let (key, request) = result["inputRequests"].as_object().unwrap().iter().next().unwrap();
    (request["params"].clone(), json!({ "key": key, "state": result["requestState"] }))
}

fn answered(with: &Value, content: Value) -> Value {
    let key = with["key"].as_str().unwrap();
    json!({ "name": "forms", "arguments": {}, "requestState": with["state"], "inputResponses": { key: { "action": "accept", "content": content } } })
}

#[tokio::test]
async fn strangers_do_not_pass() {
    let stand = Stand::new(SHOP).await;
    for (headers, status, code) in [
        (("host", "evil.example"), 421, "bad-host"),
        (("origin", "http://evil.example"), 403, "bad-origin"),
        (("origin", "null"), 403, "bad-origin"),
        (("authorization", "Bearer wrong"), 401, "unauthenticated"),
    ] {
        let answer = call(&stand, &[headers], "tools/list", json!({}), json!({})).await;
        assert_eq!((answer.status, &*answer.code()), (status, code), "{headers:?}");
    }
    // There is no way to get a token there, and no word of one.
    let answer = stand.with("GET", "/.well-known/oauth-protected-resource", &[("authorization", "")], None).await;
    assert_eq!((answer.status, &*answer.code()), (404, "unknown-route"));
}

// `docs/serve.md#problems`: what the library refuses without a word of its protocol is a problem
#[tokio::test]
async fn a_request_that_is_none_of_the_protocol_is_refused_as_a_problem() {
    let stand = Stand::new(SHOP).await;
    let json = ("content-type", "application/json");
    let both = ("accept", "application/json, text/event-stream");
    for (method, headers, body, status, code) in [
        ("GET", vec![], None, 406, "not-acceptable"),
        ("PUT", vec![json], Some(json!({})), 405, "method"),
        ("POST", vec![json, ("accept", "text/html")], Some(json!({})), 406, "not-acceptable"),
        ("GET", vec![("accept", "text/event-stream"), ("mcp-session-id", "none")], None, 404, "unknown-session"),
        ("POST", vec![both], Some(json!({ "jsonrpc": 3 })), 400, "bad-request"),
        ("POST", vec![both, ("content-type", "text/plain")], Some(json!({})), 415, "media-type"),
    ] {
        let answer = stand.with(method, "/mcp", &headers, body.as_ref()).await;
        let kind = answer.headers.get("content-type").map(String::as_str);
        assert_eq!((answer.status, kind), (status, Some("application/problem+json")), "{method} {headers:?}: {answer:?}");
        assert_eq!(answer.code(), code, "{answer:?}");
        assert_eq!(answer.headers.contains_key("allow"), status == 405, "{answer:?}");
    }
    let head = format!("host: localhost:{}\r\nauthorization: Bearer {TOKEN}\r\ncontent-type: application/json\r\n", stand.port);
    let cut = r#"{"jsonrpc": "2.0", "id": 1"#;
    let head = format!("{head}connection: close\r\naccept: {}\r\ncontent-length: {}\r\n", both.1, cut.len());
    let answer = stand.raw(&format!("POST /mcp HTTP/1.1\r\n{head}\r\n{cut}")).await;
    assert_eq!((answer.status, &*answer.code()), (400, "bad-json"), "{answer:?}");
}

#[tokio::test]
async fn a_token_does_what_its_rights_are() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let tokens = [("reader", "read"), ("walker", "read,walk"), ("person", "read,walk,approve")];
    let mut text = String::new();
    for (label, rights) in tokens {
        let digest: String = Sha256::digest(label.repeat(6)).iter().map(|byte| format!("{byte:02x}")).collect();
        writeln!(text, "{digest} {rights} {label}").unwrap();
    }
    fs::write(file.path(), text).unwrap();
    let stand = Stand::on(SHOP, Terms { tokens: Tokens::of_file(file.path()).unwrap(), ..Terms::default() }).await;
    let bearer = |label: &str| format!("Bearer {}", label.repeat(6));
    let forms = json!({ "elicitation": {} });
    let run = async |label: &str, params: Value| {
        let authorization = bearer(label);
        let answer = call(&stand, &[("authorization", &authorization)], "tools/call", params, forms.clone()).await;
        message(&answer)["result"].clone()
    };
    let refused = run("reader", json!({ "name": "shop", "arguments": {} })).await;
    assert_eq!((&refused["isError"], &refused["structuredContent"]["code"]), (&json!(true), &json!("forbidden")), "{refused}");
    assert_eq!(run("reader", json!({ "name": "list_sessions", "arguments": {} })).await["structuredContent"]["items"], json!([]));
    let held = {
        let (_, with) = asked(&run("walker", json!({ "name": "shop", "arguments": {} })).await);
        let state: Value = serde_json::from_str(with["state"].as_str().unwrap()).unwrap();
        let session = state["session"].clone();
        for input in [json!("Ada"), json!(2)] {
            run("walker", json!({ "name": "navigate", "arguments": { "session": session, "input": input } })).await;
        }
        session
    };
    // A walker sees no form about a call, and cannot decide by a tool call.
    let seen = run("walker", json!({ "name": "navigate", "arguments": { "session": held } })).await;
    assert_eq!(seen["structuredContent"]["stop"]["type"], "APPROVAL", "{seen}");
    let call = seen["structuredContent"]["stop"]["payload"]["id"].clone();
    let refused = run("walker", json!({ "name": "navigate", "arguments": { "session": held, "deny": call } })).await;
    assert_eq!(refused["structuredContent"]["code"], "forbidden", "{refused}");
    let refused = run("person", json!({ "name": "navigate", "arguments": { "session": held, "approve": call } })).await;
    assert_eq!(refused["structuredContent"]["code"], "approval-needs-a-person", "{refused}");
    // `docs/mcp.md#tools`: a model that gets the text alone knows where it stands, whatever was refused.
    let last = format!("session {}, seq {}", held.as_str().unwrap(), seen["structuredContent"]["seq"]);
    for wrong in
        [json!({ "approve": call }), json!({ "input": "now" }), json!({ "tool_result": { "id": "x", "reslt": 1 } }), json!({ "seq": "3" })]
    {
        let mut arguments = wrong.clone();
        arguments["session"] = held.clone();
        let refused = run("person", json!({ "name": "navigate", "arguments": arguments })).await;
        assert_eq!(refused["isError"], true, "{wrong}: {refused}");
        assert_eq!(refused["content"][0]["text"].as_str().unwrap().lines().last(), Some(&*last), "{wrong}: {refused}");
    }
    let (form, with) = asked(&run("person", json!({ "name": "navigate", "arguments": { "session": held } })).await);
    assert_eq!(form["requestedSchema"]["properties"]["decision"]["default"], Value::Null);
    let mut decided = answered(&with, json!({ "decision": "approve" }));
    decided["name"] = "navigate".into();
    decided["arguments"] = json!({ "session": held });
    let done = run("person", decided.clone()).await;
    assert_eq!(done["structuredContent"]["stop"]["type"], "CALL_TOOL", "{done}");
    // Sent again, it changes nothing.
    let again = run("person", decided).await;
    assert_eq!(again["structuredContent"]["seq"], done["structuredContent"]["seq"], "{again}");
}

#[tokio::test]
async fn each_question_has_its_form() {
    let stand = Stand::new(FORMS).await;
    let forms = || json!({ "elicitation": {} });
    let (name, with) = asked(&result(&stand, json!({ "name": "forms", "arguments": {} }), forms()).await);
    let property = |form: &Value| form["requestedSchema"]["properties"]["answer"].clone();
    assert_eq!(name["message"], "Name?");
    assert_eq!(property(&name), json!({ "type": "string", "minLength": 2, "maxLength": 9, "default": "Ada" }));
    // An answer that is refused is asked for again, with the reason.
    let (again, with) = asked(&result(&stand, answered(&with, json!({ "answer": "A" })), forms()).await);
    assert!(again["message"].as_str().unwrap().ends_with("\n\nName?") && again["message"] != "Name?", "{again}");
    let used = with.clone();
    let (pick, with) = asked(&result(&stand, answered(&with, json!({})), forms()).await);
    assert_eq!(property(&pick)["oneOf"].as_array().map(Vec::len), Some(2), "{pick}");
    // A form that was used changes nothing, and tells what is asked now.
    let stale = result(&stand, answered(&used, json!({ "answer": "Bea" })), forms()).await;
    assert_eq!(stale["structuredContent"]["stop"]["payload"]["options"].as_array().map(Vec::len), Some(2), "{stale}");
    let chosen = property(&pick)["oneOf"][1]["const"].clone();
    let (sure, with) = asked(&result(&stand, answered(&with, json!({ "answer": chosen })), forms()).await);
    assert_eq!(property(&sure), json!({ "type": "boolean" }));
    let (many, with) = asked(&result(&stand, answered(&with, json!({ "answer": true })), forms()).await);
    assert_eq!(property(&many), json!({ "type": "integer", "minimum": 1, "maximum": 5 }));
    // A secret is never a form, and no model sees it.
    let pin = result(&stand, answered(&with, json!({ "answer": 3 })), forms()).await;
    assert_eq!(pin["structuredContent"]["stop"]["payload"]["input_type"], "secret", "{pin}");
    assert!(pin["content"][0]["text"].as_str().unwrap().contains("A person types it, never a model"), "{pin}");
    let session = &pin["structuredContent"]["session"];
    let typed = result(&stand, json!({ "name": "navigate", "arguments": { "session": session, "input": "4711" } }), forms()).await;
    assert_eq!((&typed["isError"], &typed["structuredContent"]["code"]), (&json!(true), &json!("wrong-kind")), "{typed}");
    assert!(typed["content"][0]["text"].as_str().unwrap().contains("never a model"), "{typed}");
    // A forged state is no session's.
    let forged = json!({ "name": "forms", "arguments": {}, "requestState": "x", "inputResponses": {} });
    let fault = message(&call(&stand, &[], "tools/call", forged, forms()).await);
    assert_eq!((&fault["error"]["code"], &fault["error"]["data"]["code"]), (&json!(-32602), &json!("bad-request")), "{fault}");
    let nobody = json!({ "session": "nobody", "graph": "forms", "asked": "1", "round": 1 }).to_string();
    let forged = json!({ "name": "forms", "arguments": {}, "requestState": nobody, "inputResponses": {} });
    assert_eq!(result(&stand, forged, forms()).await["structuredContent"]["code"], "unknown-session");
}

/// Two calls that wait for an approval at once.
const HELD: &[(&str, &str)] = &[
    (
        "forms/start.md",
        "---\ntools: [{name: ship, effect: irreversible}]\ndo: {parallel: {a: {name: ship, approve: true}, b: {name: ship, approve: true}}, on_error: collect}\nto: bye\n---\n",
    ),
    ("forms/bye.md", "Bye.\n"),
];

// `docs/mcp.md`: a form is bound to one call; used again, it changes nothing
#[tokio::test]
async fn an_approval_that_is_sent_again_approves_no_other_call() {
    let functions = |bindings: Bindings| bindings.function("ship", |_, _| Ok(trellis_core::Value::Null));
    let stand = Stand::on(HELD, Terms { functions, ..Terms::default() }).await;
    let forms = || json!({ "elicitation": {} });
    let (_, with) = asked(&result(&stand, json!({ "name": "forms", "arguments": {} }), forms()).await);
    let held = async || stand.get("/api/approvals").await.json()["items"].as_array().map(Vec::len);
    assert_eq!(held().await, Some(2));
    let approve = || answered(&with, json!({ "decision": "approve" }));
    result(&stand, approve(), forms()).await;
    assert_eq!(held().await, Some(1), "the one that was shown");
    let again = result(&stand, approve(), forms()).await;
    assert_eq!(held().await, Some(1), "nobody saw the other one: {again}");
}

// C.3
#[tokio::test]
async fn a_call_that_an_interceptor_holds_is_a_form_for_a_person() {
    let files = [("forms/start.md", "---\ntools: [{name: ship}]\ndo: ship\nto: bye\n---\n"), ("forms/bye.md", "Bye.\n")];
    let over = |sessions: Sessions| {
        let hold = |_: Intercepted<'_>| Verdict::Hold { ask: Some("More than usual?".to_owned()), expires: None };
        sessions.interceptor(hold)
    };
    let stand = Stand::on(&files, Terms { over, ..Terms::default() }).await;
    let forms = || json!({ "elicitation": {} });
    let (form, with) = asked(&result(&stand, json!({ "name": "forms", "arguments": {} }), forms()).await);
    assert!(form["message"].as_str().unwrap().contains("More than usual?"), "{form}");
    // A model without such forms sees the same, and cannot decide.
    let session = stand.get("/api/sessions").await.json()["items"][0]["session"].clone();
    let seen = result(&stand, json!({ "name": "navigate", "arguments": { "session": session } }), json!({})).await;
    let stop = &seen["structuredContent"]["stop"];
    assert_eq!((&stop["type"], &stop["payload"]["ask"]), (&json!("APPROVAL"), &json!("More than usual?")), "{seen}");
    let approve = json!({ "name": "navigate", "arguments": { "session": session, "approve": stop["payload"]["id"] } });
    let refused = result(&stand, approve, json!({})).await;
    assert_eq!(refused["structuredContent"]["code"], "approval-needs-a-person", "{refused}");
    let approved = result(&stand, answered(&with, json!({ "decision": "approve" })), forms()).await;
    assert_eq!(approved["structuredContent"]["stop"]["type"], "CALL_TOOL", "{approved}");
}

/// Asks for what the protocol has fields for, and for what it has not.
const FIELDS: &[(&str, &str)] = &[(
    "forms/start.yaml",
    "nodes:\n  start:\n    content: Which?\n    input_type: json\n    save_to: which\n    to: id\n    input_schema:\n      type: object\n      properties:\n        \
     sizes: { type: array, items: { type: string, enum: [small, large] } }\n        mail: { type: string, format: email }\n      required: [sizes]\n  \
     id:\n    content: Its id?\n    input_type: json\n    save_to: id\n    to: bye\n    \
     input_schema: { type: object, properties: { id: { type: string, format: uuid } }, required: [id] }\n  bye: { output: \"{{ which.sizes }}\" }\n",
)];

// `docs/mcp.md#questions`: a schema is a form as it is where the protocol has a field for each of its properties; else JSON is typed
#[tokio::test]
async fn what_the_protocol_has_no_field_for_is_typed_as_json() {
    let stand = Stand::new(FIELDS).await;
    let forms = || json!({ "elicitation": {} });
    let (which, with) = asked(&result(&stand, json!({ "name": "forms", "arguments": {} }), forms()).await);
    let properties = &which["requestedSchema"]["properties"];
    assert_eq!(properties["sizes"], json!({ "type": "array", "items": { "type": "string", "enum": ["small", "large"] } }), "{which}");
    assert_eq!(properties["mail"], json!({ "type": "string", "format": "email" }), "{which}");
    let (id, with) = asked(&result(&stand, answered(&with, json!({ "sizes": ["small", "large"] })), forms()).await);
    assert_eq!(id["requestedSchema"]["properties"], json!({ "answer": { "type": "string", "description": "JSON" } }), "{id}");
    let text = r#"{"id": "7c2e1f3a-0b1d-4c55-9a3e-2f6b8d4c1a90"}"#;
    let ended = result(&stand, answered(&with, json!({ "answer": text })), forms()).await;
    assert_eq!(ended["structuredContent"]["output"], json!(["small", "large"]), "{ended}");
}

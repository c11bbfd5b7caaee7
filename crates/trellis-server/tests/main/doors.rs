//! The common parts of all doors: tools by right, the resource and the paths of Go Trellis, a page for a secret, counts, and a link that opens the
//! studio.

use std::{fmt::Write as _, fs};

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use trellis_server::{Settings, Tokens};

use crate::{
    mcp::{call, message},
    stand::{SHOP, Stand, TOKEN, Terms},
};

/// The content of a resource.
async fn resource(stand: &Stand, uri: &str) -> Value {
    let answer = message(&call(stand, &[], "resources/read", json!({ "uri": uri }), json!({})).await);
    serde_json::from_str(answer["result"]["contents"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"))).unwrap()
}

async fn tool(stand: &Stand, headers: &[(&str, &str)], name: &str, arguments: Value) -> Value {
    let params = json!({ "name": name, "arguments": arguments });
    message(&call(stand, headers, "tools/call", params, json!({})).await)
}

// `docs/serve.md#routes`
#[tokio::test]
async fn the_tools_and_the_resource_of_go_trellis_are_there() {
    let stand = Stand::new(SHOP).await;
    let tools = message(&call(&stand, &[], "tools/list", json!({}), json!({})).await);
    let names: Vec<_> = tools["result"]["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"navigate") && names.contains(&"render_state"), "{names:?}");
    assert_eq!(resource(&stand, "trellis://graph").await["nodes"], stand.get("/graph").await.json()["nodes"]);
    let begun = tool(&stand, &[], "shop", json!({})).await["result"]["structuredContent"].clone();
    let moved = tool(&stand, &[], "navigate", json!({ "session": begun["session"], "input": "Ada" })).await;
    assert_eq!(moved["result"]["structuredContent"]["stop"]["payload"]["input_type"], "int", "{moved}");
    let shown = tool(&stand, &[], "render_state", json!({ "session": begun["session"] })).await;
    assert_eq!(shown["result"]["structuredContent"]["said"][0]["text"], "How many, Ada?\n", "{shown}");
    let id = begun["session"].as_str().unwrap();
    assert_eq!(resource(&stand, &format!("trellis://sessions/{id}")).await["node"], "count");
}

// `docs/serve.md#security`: each right alone, on every tool
#[tokio::test]
async fn each_tool_takes_its_right() {
    let rights = ["read", "walk", "approve", "operate", "metrics"];
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut text = String::new();
    for right in rights {
        let digest: String = Sha256::digest(right).iter().map(|byte| format!("{byte:02x}")).collect();
        writeln!(text, "{digest} {right} only-{right}").unwrap();
    }
    fs::write(file.path(), text).unwrap();
    let stand = Stand::on(SHOP, Terms { tokens: Tokens::of_file(file.path()).unwrap(), ..Terms::default() }).await;
    let needs = [
        ("shop", "walk"),
        ("navigate", "walk"),
        ("render_state", "read"),
        ("list_sessions", "read"),
        ("list_approvals", "read"),
        ("check", "read"),
    ];
    for (name, needed) in needs {
        for right in ["read", "walk"] {
            let bearer = format!("Bearer {right}");
            let arguments = if ["navigate", "render_state"].contains(&name) { json!({ "session": "nobody" }) } else { json!({}) };
            let told = tool(&stand, &[("authorization", &bearer)], name, arguments).await;
            let is_refused = told["result"]["structuredContent"]["code"] == "forbidden";
            assert_eq!(is_refused, right != needed, "{name} with `{right}`: {told}");
        }
        for right in ["approve", "operate", "metrics"] {
            let bearer = format!("Bearer {right}");
            let params = json!({ "name": name, "arguments": {} });
            let answer = call(&stand, &[("authorization", &bearer)], "tools/call", params, json!({})).await;
            assert_eq!((answer.status, answer.code()), (403, "forbidden".to_owned()), "{name} with `{right}`");
        }
    }
}

// `docs/mcp.md#questions`, `docs/serve.md#security`: a page is named where a person types a secret; its address grants nothing
#[tokio::test]
async fn a_secret_is_typed_on_a_page() {
    let settings = |mut settings: Settings| {
        settings.mcp.pages = Some("http://localhost:7317".to_owned());
        settings
    };
    let files = [("safe/start.md", "---\ninput_type: secret\nsave_to: pin\nto: end\n---\nYour PIN?\n"), ("safe/end.md", "Done.\n")];
    let stand = Stand::on(&files, Terms { settings, ..Terms::default() }).await;
    let pages = json!({ "elicitation": { "url": {} } });
    let asked = message(&call(&stand, &[], "tools/call", json!({ "name": "safe", "arguments": {} }), pages).await)["result"].clone();
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let request = asked["inputRequests"].as_object().unwrap().values().next().unwrap();
    let url = request["params"]["url"].as_str().unwrap();
    let session = asked["requestState"].as_str().and_then(|state| serde_json::from_str::<Value>(state).ok()).unwrap()["session"].clone();
    assert_eq!(url, format!("http://localhost:7317/#/s/{}/answer", session.as_str().unwrap()));
    assert!(!url.contains(TOKEN) && request["params"]["mode"] == "url", "{request}");
}

// `docs/serve.md#routes`
#[tokio::test]
async fn requests_of_both_doors_are_counted() {
    let stand = Stand::new(SHOP).await;
    tool(&stand, &[], "shop", json!({})).await;
    tool(&stand, &[], "navigate", json!({ "session": "nobody" })).await;
    call(&stand, &[], "made/up", json!({}), json!({})).await;
    let told = stand.get("/metrics").await.text;
    for line in [
        "trellis_mcp_requests_total{method=\"tools/call\",outcome=\"ok\"} 1",
        "trellis_mcp_requests_total{method=\"tools/call\",outcome=\"refused\"} 1",
        "trellis_mcp_requests_total{method=\"other\",outcome=\"error\"} 1",
        "trellis_http_requests_total{route=\"/mcp\",method=\"POST\",status=\"200\"}",
        "trellis_http_connections ",
        "trellis_streams 0",
    ] {
        assert!(told.contains(line), "{line}: {told}");
    }
    assert!(!told.contains("made/up"), "{told}");
    // Each family is typed by the name that its samples have.
    for line in told.lines().filter_map(|line| line.strip_prefix("# TYPE ")) {
        let (name, kind) = line.split_once(' ').unwrap();
        assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
    }
}

// `docs/serve.md#security`: a link on another site opens the page, and nothing else
#[tokio::test]
async fn a_link_from_elsewhere_opens_the_studio_alone() {
    let stand = Stand::new(SHOP).await;
    let link = [("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate"), ("authorization", "")];
    for path in ["/", "/studio.js", "/studio.css", "/icon.svg"] {
        assert_eq!(stand.with("GET", path, &link, None).await.status, 200, "{path}");
    }
    for path in ["/api/graphs", "/healthz", "/mcp"] {
        let answer = stand.with("GET", path, &link, None).await;
        assert_eq!((answer.status, answer.code()), (403, "bad-origin".to_owned()), "{path}");
    }
    let sent = stand.with("POST", "/", &link, Some(&json!({}))).await;
    assert_eq!((sent.status, sent.code()), (403, "bad-origin".to_owned()));
    let embedded = [("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "no-cors"), ("authorization", "")];
    assert_eq!(stand.with("GET", "/studio.js", &embedded, None).await.status, 403, "a page of others cannot take it in");
}

// `docs/serve.md#routes`: by id, by key, by tool, by text, in this order
#[tokio::test]
async fn a_search_ranks_ids_keys_tools_and_texts() {
    let files = [
        ("find/start.md", "---\ninput_type: text\nsave_to: ship_name\nto: ship\n---\nWhich one?\n"),
        ("find/ship.md", "---\ninput_type: text\nsave_to: port\nto: sail\n---\nWhere to?\n"),
        ("find/sail.md", "---\ntools: [{name: charter_ship}]\ndo: charter_ship\non_error: end\nto: end\n---\nOff.\n"),
        ("find/end.md", "The ship is there.\n"),
    ];
    let stand = Stand::new(&files).await;
    let found = stand.get("/api/graphs/find/search?q=SHIP").await.json();
    let told: Vec<_> =
        found["items"].as_array().unwrap().iter().map(|item| (item["id"].as_str().unwrap(), item["field"].as_str().unwrap())).collect();
    assert_eq!(told, [("ship", "id"), ("start", "key"), ("sail", "tool"), ("end", "text")]);
    assert_eq!((&found["items"][1]["excerpt"], &found["items"][1]["line"]), (&json!("save_to: ship_name"), &json!(3)));
}

// `docs/serve.md#routes`: the state of a child, by its name
#[tokio::test]
async fn a_child_is_shown_as_it_was() {
    let files = [(
        "tree/start.yaml",
        "nodes:\n  start: { do: { graph: inner, args: { word: hi } }, save_to: told, to: end }\n  inner: { required_context: [word], content: \"{{ word }}?\", \
         input_type: text, save_to: name, to: inner_end }\n  inner_end: { content: \"{{ name }}\", wait: true, to: inner_out }\n  inner_out: { output: \"{{ name }}\" }\n  end: { output: \"{{ told }}\" }\n",
    )];
    let stand = Stand::new(&files).await;
    let begun = stand.post("/api/sessions", json!({ "id": "ana" })).await;
    let child = begun.json()["child"].as_str().unwrap().to_owned();
    let named = stand.post("/api/sessions/ana/turns", json!({ "input": "Ada" })).await;
    let seq = named.seq() - 1;
    let at = stand.get(&format!("/api/sessions/ana/at/{seq}?child={child}")).await.json();
    assert_eq!((&at["changed"], &at["child"]), (&json!([{ "path": "name", "after": "Ada" }]), &json!(child)), "{at}");
    assert_eq!(at["state"]["context"], json!({ "name": "Ada", "word": "hi" }));
    let root = stand.get(&format!("/api/sessions/ana/at/{seq}")).await.json();
    assert_eq!((&root["state"]["current_node_id"], &root["changed"], &root["child"]), (&json!("start"), &json!([]), &json!(child)));
    let nobody = stand.get(&format!("/api/sessions/ana/at/{seq}?child=nobody")).await;
    assert_eq!((nobody.status, nobody.code()), (409, "unknown-child".to_owned()));
}

// `docs/serve.md`: the budget of a session, and why a call is held
#[tokio::test]
async fn a_turn_says_what_is_spent_and_an_approval_why() {
    let files = [
        ("paid/trellis.yaml", "budget: {calls: 5}\npolicy: [{ask: [pay]}]\n"),
        ("paid/start.md", "---\ntools: [{name: look, effect: none}]\ndo: look\nto: pay\n---\n"),
        ("paid/pay.md", "---\ntools: [{name: pay, effect: irreversible}]\ndo: pay\nto: end\n---\n"),
        ("paid/end.md", "Paid.\n"),
    ];
    let stand = Stand::new(&files).await;
    let looked = stand.post("/api/sessions", json!({ "id": "ana" })).await.json();
    assert_eq!(looked["budget"], json!({ "calls": { "used": 0, "max": 5 } }), "{looked}");
    let result = json!({ "tool_result": { "id": looked["stop"]["payload"]["id"], "result": 1 } });
    let held = stand.post("/api/sessions/ana/turns", result).await;
    assert_eq!((held.stop(), &held.json()["budget"]["calls"]["used"]), ("APPROVAL".to_owned(), &json!(1)));
    let listed = stand.get("/api/approvals").await.json();
    assert_eq!((&listed["items"][0]["why"]["decision"], &listed["items"][0]["seq"]), (&json!("ASK"), &json!(held.seq())), "{listed}");
}

// `docs/serve.md#routes`: parts of a call come one by one, and a called graph is its client's to answer, or to walk from its node
#[tokio::test]
async fn a_client_that_keeps_the_state_answers_parts_and_graphs() {
    let files = [(
        "parts/start.yaml",
        "bindings: { pull: { effect: none }, push: { effect: none } }\nnodes:\n  start: { do: { parallel: { one: pull, two: push } }, save_to: both, to: ask }\n  \
         ask: { do: { graph: inner, args: { word: hi } }, save_to: told, to: end }\n  inner: { required_context: [word], content: \"{{ word }}?\", input_type: text, \
         save_to: name, to: inner_end }\n  inner_end: { output: \"{{ name }}\" }\n  end: { output: { both: \"{{ both }}\", told: \"{{ told }}\" } }\n",
    )];
    let stand = Stand::new(&files).await;
    let shown = async |state: &Value| stand.post("/render", json!({ "state": state })).await.json()["actions"].clone();
    let answer = async |state: &Value, call: &Value, result: Value| {
        let step = json!({ "state": state, "tool_result": { "id": call["payload"]["id"], "result": result } });
        stand.post("/navigate", step).await.json()["state"].clone()
    };
    let mut state = stand.post("/api/graphs/parts/engine/start", json!({})).await.json()["state"].clone();
    let parts = shown(&state).await;
    let told: Vec<_> = parts.as_array().unwrap().iter().map(|call| (&call["payload"]["name"], &call["payload"]["part"])).collect();
    assert_eq!(told, [(&json!("pull"), &json!("one")), (&json!("push"), &json!("two"))], "{parts}");
    assert!(parts[0]["payload"]["of"].is_string() && parts[0]["payload"]["of"] == parts[1]["payload"]["of"], "{parts}");
    for (at, call) in parts.as_array().unwrap().iter().enumerate() {
        state = answer(&state, call, json!(at + 1)).await;
    }
    let called = shown(&state).await;
    assert_eq!(
        (&called[0]["payload"]["kind"], &called[0]["payload"]["args"]),
        (&json!({ "graph": "inner" }), &json!({ "word": "hi" })),
        "{called}"
    );
    // Its client walks it, in a state of its own.
    let inner = stand
        .post(
            "/api/graphs/parts/engine/start",
            json!({ "at": called[0]["payload"]["kind"]["graph"], "context": called[0]["payload"]["args"] }),
        )
        .await
        .json();
    let walked = stand.post("/navigate", json!({ "state": inner["state"], "input": "Ada" })).await.json();
    let output = shown(&walked["state"]).await[0]["payload"]["output"].clone();
    let end = shown(&answer(&state, &called[0], output).await).await;
    assert_eq!(end[0]["payload"]["output"], json!({ "both": { "one": 1, "two": 2 }, "told": "Ada" }), "{end}");
}

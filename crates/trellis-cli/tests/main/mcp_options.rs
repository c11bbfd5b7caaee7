//! `trellis mcp` and its options, line by line: which tools are offered, who may approve, and what a cancelled request or an edit leaves.

use std::{process::Command, thread, time::Duration};

use serde_json::{Value, json};
use trellis_tests::peers::peer;

use crate::{
    mcp::{Talk, here, scenes},
    sandbox::Sandbox,
    serve::Serving,
};

/// A call that only a person may approve, from the first node on.
const HELD: &[(&str, &str)] = &[
    ("trellis.yaml", "name: held\n"),
    (
        "start.md",
        "---\ntools: [{name: ship, effect: irreversible}]\ndo: {name: ship, approve: {ask: \"Ship it?\"}}\nsave_to: shipped\non_error: left\non_denied: left\nto: end\n---\n",
    ),
    ("left.md", "---\noutput: left\n---\nYou left.\n"),
    ("end.md", "---\noutput: \"{{ shipped }}\"\n---\nShipped.\n"),
];

fn tool(talk: &mut Talk, name: &str, arguments: Value) -> Value {
    talk.ask("tools/call", json!({ "name": name, "arguments": arguments }))
}

fn names(listed: &Value) -> Vec<&str> {
    let tools = listed["result"]["tools"].as_array().unwrap_or_else(|| panic!("{listed}"));
    tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

/// Flows, and what a flow that asks cannot do without (`docs/mcp.md#tools`).
#[test]
fn flows_alone_are_offered_where_that_is_chosen() {
    let sandbox = Sandbox::new(HELD);
    let mut talk = Talk::with(&sandbox, &["mcp", ".", "--tools", "flows"], json!({}));
    assert_eq!(names(&talk.ask("tools/list", json!({}))), ["held", "navigate", "render_state"]);
    for name in ["list_sessions", "list_approvals", "check"] {
        let refused = tool(&mut talk, name, json!({}));
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
    }
    let begun = tool(&mut talk, "held", json!({}))["result"]["structuredContent"].clone();
    let left = tool(&mut talk, "navigate", json!({ "session": begun["session"], "deny": begun["stop"]["payload"]["id"] }));
    assert_eq!(left["result"]["structuredContent"]["output"], "left", "{left}");
    talk.end();
    let mut talk = Talk::with(&sandbox, &["mcp", ".", "--tools", "all"], json!({}));
    assert_eq!(names(&talk.ask("tools/list", json!({}))).len(), 6);
    talk.end();
    // The same over HTTP.
    let serving = Serving::start(&sandbox, &[".", "--tools", "flows"]);
    let listing = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    let heads = "-H 'Accept: application/json, text/event-stream' -H 'MCP-Protocol-Version: 2026-07-28' -H 'Mcp-Method: tools/list'";
    let listed = serving.mcp(listing, heads);
    assert_eq!(names(&listed), ["held", "navigate", "render_state"]);
}

/// Nobody approves over MCP, a person by a form, or the model, too; everybody may deny (`docs/mcp.md#approvals`).
#[test]
fn calls_are_approved_by_whom_it_was_said() {
    let sandbox = Sandbox::new(HELD);
    let forms = || json!({ "elicitation": {} });
    let of = |begun: &Value, reply: &str| json!({ "session": begun["session"], reply: begun["stop"]["payload"]["id"] });

    let mut never = Talk::with(&sandbox, &["mcp", ".", "--mcp-approve", "never"], forms());
    let begun = tool(&mut never, "held", json!({}))["result"]["structuredContent"].clone();
    assert_eq!(begun["stop"]["type"], "APPROVAL", "no form is shown: {begun}");
    let again = tool(&mut never, "navigate", json!({ "session": begun["session"] }));
    assert_eq!(again["result"]["structuredContent"]["stop"]["type"], "APPROVAL", "{again}");
    let refused = tool(&mut never, "navigate", of(&begun, "approve"))["result"].clone();
    assert_eq!(refused["structuredContent"]["code"], "approval-needs-a-person", "{refused}");
    let text = refused["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("or at a terminal with `trellis run --session") && !text.contains("form"), "where it is done: {refused}");
    let left = tool(&mut never, "navigate", of(&begun, "deny"));
    assert_eq!(left["result"]["structuredContent"]["output"], "left", "{left}");
    never.end();

    let mut form = Talk::with(&sandbox, &["mcp", "."], forms());
    let asked = form.asked("tools/call", json!({ "name": "held", "arguments": {} }));
    assert_eq!(asked["params"]["message"], "Ship it?\n\nMay `ship` run with {}?", "{asked}");
    drop(form);

    let mut call = Talk::with(&sandbox, &["mcp", ".", "--mcp-approve", "call"], json!({}));
    let begun = tool(&mut call, "held", json!({}))["result"]["structuredContent"].clone();
    let approved = tool(&mut call, "navigate", of(&begun, "approve"));
    assert_eq!(approved["result"]["structuredContent"]["stop"]["type"], "CALL_TOOL", "{approved}");
    call.end();
    let said = sandbox.trellis(&["mcp", ".", "--mcp-approve", "call"]);
    assert!(said.code == Some(0) && said.err.contains("models may approve calls over MCP"), "{said:?}");
}

/// A request that is cancelled waits no more; its session goes on (`docs/mcp.md#long-runs`).
#[test]
fn a_request_that_is_cancelled_stops_nothing() {
    let sandbox = Sandbox::new(&[
        ("trellis.yaml", "name: oven\nbindings: {bake: {process: [sh, ./bake]}}\n"),
        ("bake", "touch tried; while [ ! -e open ]; do sleep 0.02; done; echo 9\n"),
        ("start.md", "---\ndo: bake\nsave_to: baked\non_error: fail\nto: end\n---\nBaking.\n"),
        ("end.md", "---\noutput: \"{{ baked }}\"\n---\nDone.\n"),
    ]);
    let mut talk = Talk::with(&sandbox, &["mcp", "."], json!({}));
    let request = talk.send("tools/call", json!({ "name": "oven", "arguments": {} }));
    while !sandbox.path().join("tried").exists() {
        thread::sleep(Duration::from_millis(10));
    }
    talk.notify("notifications/cancelled", json!({ "requestId": request }));
    let listed = tool(&mut talk, "list_sessions", json!({}))["result"]["structuredContent"].clone();
    assert_eq!((&listed["items"][0]["graph"], listed["items"].as_array().map(Vec::len)), (&json!("oven"), Some(1)), "{listed}");
    sandbox.write("open", b"");
    let ended = tool(&mut talk, "render_state", json!({ "session": listed["items"][0]["session"] }))["result"]["structuredContent"].clone();
    assert_eq!((&ended["stop"]["type"], &ended["output"]), (&json!("END"), &json!(9)), "{ended}");
    talk.end();
}

/// Asks, and has a call that its client completes.
const EDITED: &[(&str, &str)] = &[
    ("graphs/edited/trellis.yaml", "name: edited\ncontext: { shop: int }\n"),
    (
        "graphs/edited/start.yaml",
        "nodes:\n  start: {\n    # needs\n    content: Name?, input_type: text, save_to: name, to: order }\n  \
         order: { content: Ordering., tools: [{ name: order }, { name: book }], do: order, save_to: done, to: bye }\n  \
         bye: { output: \"{{ name }}, {{ done }}, {{ shop | default(0) }}\" }\n",
    ),
];

/// A form, as the client prints it.
fn form(message: &str, properties: &Value, required: &[&str]) -> Value {
    json!({ "scene": "form", "message": message, "properties": properties, "required": required })
}

/// A person decides about a call that an edit changed, and gives the keys that an edit needs (`docs/mcp.md#questions`).
#[test]
fn the_python_client_is_asked_what_an_edit_leaves_open() {
    for era in ["auto", "legacy"] {
        let sandbox = Sandbox::new(EDITED);
        let mut command = Command::new(peer("mcp-2.3.0/bin/python"));
        let told = scenes(command.arg(here("edited.py")).args([era, env!("CARGO_BIN_EXE_trellis")]).arg(sandbox.path().join("graphs")));
        let name = json!({ "answer": { "type": "string" } });
        let keep = json!({ "answer": { "type": "string", "oneOf": [
            { "const": "keep", "title": "Keep" }, { "const": "again", "title": "Make it again" },
        ] } });
        let keys = json!({ "shop": { "type": "integer" }, "place": { "type": "string", "description": "JSON" } });
        let changed = "Ordering.\n\nThe graph was edited while `order` was under way; its node would call `book` now. Keep the call, or make it again?";
        let needed = "Name?\n\nThe graph was edited, and `start` needs values that the session does not have.";
        let expected = [
            form("Name?", &name, &["answer"]),
            json!({ "scene": "call", "call": "order" }),
            form(changed, &keep, &["answer"]),
            json!({ "scene": "call", "call": "book" }),
            form(needed, &keys, &["place", "shop"]),
            form("Name?", &name, &["answer"]),
            json!({ "scene": "end", "output": "Ada, fine, 7" }),
        ];
        assert_eq!(told, expected, "{era}");
    }
}

//! Calls of MCP that take long: what they return, what goes on without them, and tasks that are cancelled.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use serde_json::{Value, json};
use tokio::{io::AsyncWriteExt as _, sync::Notify, time::timeout};
use trellis_host::Bindings;
use trellis_server::{Settings, mcp::McpSettings};

use crate::{
    mcp::{call, message},
    stand::{Stand, TOKEN, Terms},
};

/// The time after which a wait fails.
const LONG: Duration = Duration::from_secs(30);

const OVEN: &[(&str, &str)] = &[
    ("oven/start.md", "---\ntools: [{name: bake}]\ndo: bake\nsave_to: baked\non_error: end\nto: end\n---\nBaking.\n"),
    ("oven/end.md", "---\noutput: \"{{ baked | default(0) }}\"\n---\nDone.\n"),
];

async fn tool(stand: &Stand, name: &str, arguments: Value, capabilities: Value) -> Value {
    let params = json!({ "name": name, "arguments": arguments });
    let answer = timeout(LONG, call(stand, &[], "tools/call", params, capabilities)).await.expect("it is answered");
    message(&answer)["result"].clone()
}

static OPENED: Notify = Notify::const_new();

// doors 3.7: a call says RUNNING before its client gives up, and `render_state` waits on
#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_takes_long_says_so_and_can_be_waited_for() {
    assert_eq!(McpSettings::default().wait, Duration::from_secs(50));
    let functions = |bindings: Bindings| {
        bindings.function_async("bake", |_, _| async {
            OPENED.notified().await;
            Ok(trellis_core::Value::Int(9))
        })
    };
    let settings = |mut settings: Settings| {
        settings.mcp.wait = Duration::from_millis(100);
        settings
    };
    let stand = Stand::on(OVEN, Terms { functions, settings, ..Terms::default() }).await;
    let running = tool(&stand, "oven", json!({}), json!({})).await;
    let told = &running["structuredContent"];
    assert_eq!((&told["stop"]["type"], &told["stop"]["payload"]["call"]["name"]), (&json!("RUNNING"), &json!("bake")), "{running}");
    let text = running["content"][0]["text"].as_str().unwrap();
    assert!(text.lines().last().unwrap().starts_with("session s-") && running["isError"] != true, "{running}");
    let session = json!({ "session": told["session"] });
    assert_eq!(tool(&stand, "render_state", session.clone(), json!({})).await["structuredContent"]["stop"]["type"], "RUNNING");
    OPENED.notify_one();
    let ended = async {
        loop {
            let seen = tool(&stand, "render_state", session.clone(), json!({})).await["structuredContent"].clone();
            if seen["stop"]["type"] != "RUNNING" {
                return seen;
            }
        }
    };
    let ended = timeout(LONG, ended).await.expect("it ends");
    assert_eq!((&ended["stop"]["type"], &ended["output"]), (&json!("END"), &json!(9)), "{ended}");
}

static BAKED: AtomicUsize = AtomicUsize::new(0);
static DONE: Notify = Notify::const_new();

// doors 0.4, 3.8: whoever closes the stream of a call waits no more; the session goes on
#[tokio::test(flavor = "multi_thread")]
async fn a_call_whose_stream_is_closed_goes_on() {
    let functions = |bindings: Bindings| {
        bindings.function_async("bake", |_, _| async {
            BAKED.fetch_add(1, Ordering::SeqCst);
            DONE.notified().await;
            Ok(trellis_core::Value::Int(9))
        })
    };
    let stand = Stand::on(OVEN, Terms { functions, ..Terms::default() }).await;
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({ "name": "oven", "arguments": {}, "_meta": meta });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string();
    let head = format!("host: localhost:{}\r\nauthorization: Bearer {TOKEN}\r\ncontent-type: application/json\r\n", stand.port);
    let head =
        format!("{head}accept: application/json, text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\n");
    let mut stream = stand.connect().await;
    let request = format!("POST /mcp HTTP/1.1\r\n{head}mcp-name: oven\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    stream.write_all(request.as_bytes()).await.unwrap();
    while BAKED.load(Ordering::SeqCst) == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    drop(stream);
    // The server has noticed: the connection that asks is the only one.
    while !stand.get("/metrics").await.text.contains("\ntrellis_http_connections 1\n") {}
    DONE.notify_one();
    let ended = async {
        loop {
            let listed = stand.get("/api/sessions").await.json();
            if listed["items"][0]["standing"] == "finished" {
                return listed["items"][0]["session"].as_str().unwrap().to_owned();
            }
        }
    };
    let session = timeout(LONG, ended).await.expect("it ends");
    let seen = stand.get(&format!("/api/sessions/{session}")).await;
    assert_eq!((&seen.json()["stop"]["payload"]["output"], BAKED.load(Ordering::SeqCst)), (&json!(9), 1));
}

const JOBS: &[(&str, &str)] = &[
    (
        "job/start.md",
        "---\ntools: [{name: work}]\ndo: work\nsave_to: done\non_error: fail\non_signal: {interrupt: stopped}\nto: end\n---\nWorking.\n",
    ),
    ("job/stopped.md", "---\noutput: stopped\n---\nStopped.\n"),
    ("job/end.md", "Done.\n"),
    ("deaf/start.md", "---\ntools: [{name: work}]\ndo: work\nsave_to: done\non_error: fail\nto: end\n---\nWorking.\n"),
    ("deaf/end.md", "Done.\n"),
];

const ASKS: &[(&str, &str)] = &[
    ("asks/start.md", "---\ninput_type: confirm\nsave_to: sure\non_signal: {interrupt: again}\nto: end\n---\nSure?\n"),
    ("asks/again.md", "---\ninput_type: confirm\nsave_to: sure\nto: end\n---\nReally not?\n"),
    ("asks/end.md", "Thank you.\n"),
];

/// A client with forms and tasks.
fn tasks() -> Value {
    json!({ "elicitation": {}, "extensions": { "io.modelcontextprotocol/tasks": {} } })
}

async fn task(stand: &Stand, method: &str, params: Value) -> Value {
    // The header that names a task.
    let id = params["taskId"].as_str().unwrap().to_owned();
    let answer = timeout(LONG, call(stand, &[("mcp-name", &*id)], method, params, tasks())).await.expect("it is answered");
    let answer = message(&answer);
    assert!(answer["error"].is_null(), "{method}: {answer}");
    answer["result"].clone()
}

async fn begin(stand: &Stand, name: &str) -> Value {
    let begun = tool(stand, name, json!({}), tasks()).await;
    assert_eq!(begun["resultType"], "task", "{begun}");
    json!({ "taskId": begun["taskId"] })
}

// doors 3.7, 3.8
#[tokio::test(flavor = "multi_thread")]
async fn a_task_is_cancelled_where_its_session_ends_after_an_interrupt() {
    let functions = |bindings: Bindings| {
        bindings.function_async("work", |_, _| async {
            std::future::pending::<()>().await;
            Ok(trellis_core::Value::Null)
        })
    };
    let stand = Stand::on(JOBS, Terms { functions, ..Terms::default() }).await;
    let job = begin(&stand, "job").await;
    assert_eq!(task(&stand, "tasks/get", job.clone()).await["status"], "working");
    task(&stand, "tasks/cancel", job.clone()).await;
    let read = task(&stand, "tasks/get", job.clone()).await;
    assert_eq!((&read["status"], &read["result"]), (&json!("cancelled"), &Value::Null), "{read}");
    // To cancel what is over changes nothing.
    task(&stand, "tasks/cancel", job.clone()).await;
    assert_eq!(task(&stand, "tasks/get", job).await["status"], "cancelled");
    // One that hears no signal is paused, and stays as it reads.
    let deaf = begin(&stand, "deaf").await;
    task(&stand, "tasks/cancel", deaf.clone()).await;
    let read = task(&stand, "tasks/get", deaf.clone()).await;
    assert_eq!((&read["status"], &read["statusMessage"]), (&json!("working"), &json!("It is paused; `navigate` resumes it.")), "{read}");
}

// doors 3.7, 3.8
#[tokio::test]
async fn a_task_that_is_interrupted_and_asks_again_goes_on() {
    let stand = Stand::new(ASKS).await;
    let asks = begin(&stand, "asks").await;
    task(&stand, "tasks/cancel", asks.clone()).await;
    let asked = task(&stand, "tasks/get", asks.clone()).await;
    let (key, request) = asked["inputRequests"].as_object().unwrap_or_else(|| panic!("{asked}")).iter().next().unwrap();
    assert_eq!((&asked["status"], &request["params"]["message"]), (&json!("input_required"), &json!("Really not?")), "{asked}");
    let answer = json!({ key: { "action": "accept", "content": { "answer": true } } });
    task(&stand, "tasks/update", json!({ "taskId": asks["taskId"], "inputResponses": answer })).await;
    assert_eq!(task(&stand, "tasks/get", asks).await["status"], "cancelled");
    // One that ends without a signal is completed.
    let asks = begin(&stand, "asks").await;
    let asked = task(&stand, "tasks/get", asks.clone()).await;
    let key = asked["inputRequests"].as_object().unwrap().keys().next().unwrap().clone();
    let answer = json!({ key: { "action": "accept", "content": { "answer": true } } });
    task(&stand, "tasks/update", json!({ "taskId": asks["taskId"], "inputResponses": answer })).await;
    let read = task(&stand, "tasks/get", asks).await;
    assert_eq!((&read["status"], &read["result"]["structuredContent"]["stop"]["type"]), (&json!("completed"), &json!("END")), "{read}");
}

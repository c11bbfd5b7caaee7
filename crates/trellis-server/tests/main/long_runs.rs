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
const LONG: Duration = Duration::from_secs(120);

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

// `docs/mcp.md#long-runs`: a call says RUNNING before its client gives up, and `render_state` waits on
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

// `docs/serve.md`, `docs/mcp.md#long-runs`: whoever closes the stream of a call waits no more; the session goes on
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

// `docs/mcp.md#long-runs`
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
}

static BEGUN: AtomicUsize = AtomicUsize::new(0);

// `docs/mcp.md#long-runs`: a session that hears no signal is paused and stays as it reads; `navigate` goes on, but not after the pause of a person
#[tokio::test(flavor = "multi_thread")]
async fn a_pause_of_a_task_ends_with_the_next_call_and_that_of_a_person_does_not() {
    let functions = |bindings: Bindings| {
        bindings.function_async("work", |_, _| async {
            if BEGUN.fetch_add(1, Ordering::SeqCst) < 3 {
                std::future::pending::<()>().await;
            }
            Ok(trellis_core::Value::Null)
        })
    };
    let begun = async |count| {
        let reached = async {
            while BEGUN.load(Ordering::SeqCst) < count {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(LONG, reached).await.expect("the call is made");
    };
    let stand = Stand::on(JOBS, Terms { functions, ..Terms::default() }).await;
    let deaf = begin(&stand, "deaf").await;
    begun(1).await;
    task(&stand, "tasks/cancel", deaf.clone()).await;
    let read = task(&stand, "tasks/get", deaf.clone()).await;
    assert_eq!((&read["status"], &read["statusMessage"]), (&json!("working"), &json!("It is paused; `navigate` resumes it.")), "{read}");
    let session = deaf["taskId"].as_str().unwrap().split('@').next().unwrap().to_owned();
    let named = json!({ "session": session });
    let seen = tool(&stand, "render_state", named.clone(), json!({})).await;
    assert!(seen["content"][0]["text"].as_str().unwrap().contains("`navigate` without an answer resumes it"), "{seen}");
    tool(&stand, "navigate", named.clone(), tasks()).await;
    begun(2).await;
    assert_eq!(task(&stand, "tasks/get", deaf.clone()).await["statusMessage"], Value::Null);
    // A person paused it, before a task is cancelled or after that.
    let kept = async || {
        let kept = tool(&stand, "navigate", named.clone(), json!({})).await;
        assert!(kept["content"][0]["text"].as_str().unwrap().contains("a person resumes it"), "{kept}");
        assert_eq!(task(&stand, "tasks/get", deaf.clone()).await["statusMessage"], "It is paused; a person resumes it.");
    };
    let pause = async || assert_eq!(stand.post(&format!("/api/sessions/{session}/pause"), json!({})).await.status, 202);
    let resume = async || stand.with("POST", &format!("/api/sessions/{session}/resume"), &[("prefer", "wait=0")], Some(&json!({}))).await;
    pause().await;
    task(&stand, "tasks/cancel", deaf.clone()).await;
    kept().await;
    assert_eq!(resume().await.status, 202);
    begun(3).await;
    task(&stand, "tasks/cancel", deaf.clone()).await;
    pause().await;
    kept().await;
    assert_eq!(BEGUN.load(Ordering::SeqCst), 3, "nothing went on");
    let ended = stand.post(&format!("/api/sessions/{session}/resume"), json!({})).await;
    assert_eq!(ended.stop(), "END", "{ended:?}");
}

/// Asks for a number in bounds, three times at most.
const DICE: &[(&str, &str)] = &[
    ("dice/start.md", "---\ninput_type: text\ninput_schema: { minLength: 3 }\nsave_to: word\nto: number\n---\nA word?\n"),
    (
        "dice/number.md",
        "---\ninput_type: int\ninput_schema: { maximum: 6 }\non_invalid: { text: \"At most 6, not {{ input }}.\", max: 3, to: end }\nsave_to: n\nto: end\n---\nHow many?\n",
    ),
    ("dice/end.md", "Done.\n"),
];

/// The key of the only question of a task, and its message.
fn question(read: &Value) -> (String, String) {
    assert_eq!(read["status"], "input_required", "{read}");
    let (key, request) = read["inputRequests"].as_object().unwrap().iter().next().unwrap();
    (key.clone(), request["params"]["message"].as_str().unwrap().to_owned())
}

async fn update(stand: &Stand, of: &Value, key: &str, response: Value) {
    task(stand, "tasks/update", json!({ "taskId": of["taskId"], "inputResponses": { key: response } })).await;
}

fn accept(answer: Value) -> Value {
    json!({ "action": "accept", "content": { "answer": answer } })
}

// `docs/mcp.md#questions`: no key is used again after its response, and what is asked again has the reason
#[tokio::test]
async fn an_answer_that_is_refused_is_asked_for_under_another_key() {
    let stand = Stand::new(DICE).await;
    let dice = begin(&stand, "dice").await;
    let read = async || question(&task(&stand, "tasks/get", dice.clone()).await);
    let (first, message) = read().await;
    assert_eq!(message, "A word?");
    assert_eq!(read().await.0, first, "to read is no answer");
    update(&stand, &dice, &first, accept(json!("ab"))).await;
    let (second, message) = read().await;
    assert!(second != first && message.ends_with("\n\nA word?"), "{second}: {message}");
    // An answer under a key of before is none.
    update(&stand, &dice, &first, accept(json!("moss"))).await;
    assert_eq!(read().await.0, second);
    update(&stand, &dice, &second, accept(json!(["no text"]))).await;
    let (third, _) = read().await;
    assert!(![&first, &second].contains(&&third), "{third}");
    update(&stand, &dice, &third, accept(json!("moss"))).await;
    // One that its graph counts.
    let (number, message) = read().await;
    assert_eq!(message, "How many?");
    update(&stand, &dice, &number, accept(json!(9))).await;
    let (again, message) = read().await;
    assert!(again != number && message == "At most 6, not 9.\n\nHow many?", "{again}: {message}");
    update(&stand, &dice, &again, accept(json!(4))).await;
    assert_eq!(task(&stand, "tasks/get", dice.clone()).await["status"], "completed");
}

// `docs/mcp.md#questions`: where the person declines, the task has that as its result, and another call asks again
#[tokio::test]
async fn a_question_that_is_declined_ends_its_task() {
    let stand = Stand::new(DICE).await;
    let dice = begin(&stand, "dice").await;
    let (first, _) = question(&task(&stand, "tasks/get", dice.clone()).await);
    for (action, did) in [("decline", "declined to answer"), ("cancel", "closed the question")] {
        let (key, _) = question(&task(&stand, "tasks/get", dice.clone()).await);
        update(&stand, &dice, &key, json!({ "action": action })).await;
        let read = task(&stand, "tasks/get", dice.clone()).await;
        assert_eq!((&read["status"], &read["result"]["structuredContent"]["stop"]["type"]), (&json!("completed"), &json!("REQUEST_INPUT")));
        assert!(read["result"]["content"][0]["text"].as_str().unwrap().starts_with(&format!("The person {did}.")), "{read}");
        let session = read["result"]["structuredContent"]["session"].clone();
        let again = tool(&stand, "navigate", json!({ "session": session }), tasks()).await;
        assert_eq!(again["taskId"], dice["taskId"], "{again}");
        let (next, message) = question(&task(&stand, "tasks/get", dice.clone()).await);
        assert!(next != key && next != first && message == "A word?", "{next}: {message}");
    }
}

// `docs/mcp.md#questions`: a page that was opened is not asked for again while the secret is typed
#[tokio::test]
async fn a_page_that_a_person_opened_is_not_shown_twice() {
    const PIN: &[(&str, &str)] =
        &[("pin/start.md", "---\ninput_type: secret\nsave_to: pin\nto: end\n---\nYour PIN?\n"), ("pin/end.md", "Done.\n")];
    let settings = |mut settings: Settings| {
        settings.mcp.pages = Some("http://studio.example".into());
        settings
    };
    let stand = Stand::on(PIN, Terms { settings, ..Terms::default() }).await;
    let capabilities = json!({ "elicitation": { "url": {} }, "extensions": { "io.modelcontextprotocol/tasks": {} } });
    let begun = tool(&stand, "pin", json!({}), capabilities.clone()).await;
    let id = begun["taskId"].as_str().unwrap_or_else(|| panic!("{begun}")).to_owned();
    let ask = async |method: &str, mut params: Value| {
        params["taskId"] = id.as_str().into();
        message(&call(&stand, &[("mcp-name", &*id)], method, params, capabilities.clone()).await)["result"].clone()
    };
    let (key, _) = question(&ask("tasks/get", json!({})).await);
    ask("tasks/update", json!({ "inputResponses": { key: { "action": "accept" } } })).await;
    let read = ask("tasks/get", json!({})).await;
    let typing = "A person types the secret on its page; `navigate` asks again.";
    assert_eq!((&read["status"], &read["statusMessage"]), (&json!("working"), &json!(typing)), "{read}");
    let session = id.split('@').next().unwrap();
    assert_eq!(stand.post(&format!("/api/sessions/{session}/turns"), json!({ "input": "4711" })).await.status, 200);
    assert_eq!(ask("tasks/get", json!({})).await["status"], "completed");
}

// `docs/mcp.md#long-runs`: a question stays as it reads when its task is cancelled, and its client is told so
#[tokio::test]
async fn a_question_whose_task_is_cancelled_is_paused() {
    let stand = Stand::new(DICE).await;
    let dice = begin(&stand, "dice").await;
    task(&stand, "tasks/cancel", dice.clone()).await;
    let read = task(&stand, "tasks/get", dice.clone()).await;
    assert_eq!(read["statusMessage"], "It is paused; an answer or `navigate` resumes it.", "{read}");
    let (key, _) = question(&read);
    let session = dice["taskId"].as_str().unwrap().split('@').next().unwrap().to_owned();
    tool(&stand, "navigate", json!({ "session": session }), tasks()).await;
    let read = task(&stand, "tasks/get", dice.clone()).await;
    assert_eq!((&read["statusMessage"], &question(&read).0), (&Value::Null, &key), "{read}");
}

// `docs/mcp.md#long-runs`: a number that no record has is no task's; the graph is part of the name where two have a session of that name
#[tokio::test]
async fn a_task_is_of_one_session() {
    let files: Vec<_> = ASKS.iter().chain(DICE).copied().collect();
    let stand = Stand::on(&files, Terms { stores: true, ..Terms::default() }).await;
    for graph in ["asks", "dice"] {
        assert_eq!(stand.post("/api/sessions", json!({ "id": "ana", "graph": graph })).await.status, 201);
    }
    for (graph, asks) in [("asks", "Sure?"), ("dice", "A word?")] {
        let begun = tool(&stand, "navigate", json!({ "session": "ana", "graph": graph }), tasks()).await;
        assert_eq!(begun["taskId"], format!("{graph}/ana@1"), "{begun}");
        let (_, message) = question(&task(&stand, "tasks/get", json!({ "taskId": begun["taskId"] })).await);
        assert_eq!(message, asks);
    }
    let alone = begin(&stand, "dice").await;
    let id = alone["taskId"].as_str().unwrap();
    assert!(!id.contains('/'), "only where it is needed: {id}");
    let session = id.split('@').next().unwrap();
    for wrong in [format!("{session}@99999"), "none/ana@1".to_owned(), "dice/nobody@1".to_owned()] {
        for method in ["tasks/get", "tasks/cancel", "tasks/update"] {
            let params = json!({ "taskId": wrong, "inputResponses": {} });
            let fault = message(&call(&stand, &[("mcp-name", &*wrong)], method, params, tasks()).await);
            assert_eq!(fault["error"]["code"], -32602, "{method} {wrong}: {fault}");
        }
    }
}

// `docs/mcp.md#long-runs`
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

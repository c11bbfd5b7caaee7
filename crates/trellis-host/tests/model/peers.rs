//! Mock servers of others: `@copilotkit/aimock` (npm) and `fakellm` (PyPI), pinned in `.ci/install`. A missing one fails.

use std::{
    net::{TcpListener, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use trellis_core::Value;
use trellis_tests::peers::peer;

use crate::stage::{Stage, code};

/// A server that runs; it ends with this.
struct Peer {
    child: Child,
    base: String,
    _folder: tempfile::TempDir,
}

impl Peer {
    /// Starts a program of `.ci/install` on a free port, with a file.
    fn start(program: &str, file: (&str, &str), args: impl Fn(&Path, u16) -> Vec<String>) -> Self {
        let program = peer(program);
        let folder = tempfile::tempdir().unwrap();
        let file_path = folder.path().join(file.0);
        std::fs::write(&file_path, file.1).unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut command = Command::new(program);
        command.args(args(&file_path, port)).current_dir(folder.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // The Node.js that was installed for the tests, where the system's is too old.
        let path = std::env::var("PATH").unwrap_or_default();
        let child = command.env("PATH", format!("{}:{path}", peer("mcp").display())).spawn().unwrap();
        let began = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(began.elapsed() < Duration::from_secs(120), "the server does not listen");
            std::thread::sleep(Duration::from_millis(50));
        }
        Self { child, base: format!("http://127.0.0.1:{port}/v1"), _folder: folder }
    }

    fn stage(&self) -> Stage {
        Stage::new(&format!(
            concat!(
                "models:\n  providers: {{ peer: {{ openai: {} }} }}\n  roles: {{ helper: [{{ provider: peer, model: gpt-4o }}] }}\n",
                "bindings:\n  ask: {{ model: {{ role: helper }}, parameters: {{ type: object }} }}\n",
            ),
            self.base
        ))
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Walks from a question over a tool call to an answer, as `each` would.
async fn two_passes(stage: &Stage, result: &str) -> (Value, Value) {
    let (first, _) = stage.result(r#"{"prompt":"a lamp, please"}"#, None).await;
    let first = crate::stage::outcome(first).unwrap();
    let call = first.at("tool_calls.0").unwrap().clone();
    let answer =
        Value::map([("id", call.get("id").unwrap().clone()), ("name", call.get("name").unwrap().clone()), ("result", result.into())]);
    let user = Value::map([("role", "user"), ("content", "a lamp, please")]);
    let messages = Value::list([user, first.get("message").unwrap().clone(), answer]);
    let args = Value::map([("messages", messages)]).to_json();
    (call, stage.ask(&args).await.unwrap())
}

#[tokio::test]
async fn aimock_streams_text_and_tool_calls_and_limits() {
    // language 9.18, 9.19, 9.21
    let fixtures = r#"{"fixtures":[
        {"match":{"toolCallId":"call_"},"response":{"content":"There are 12."}},
        {"match":{"userMessage":"hi"},"response":{"content":"Hello! How can I help you today? ¡Olé! 안녕하세요"}},
        {"match":{"userMessage":"busy"},"response":{"error":{"message":"slow down","type":"rate_limit_error"},"status":429}},
        {"match":{"userMessage":"lamp","hasToolResult":true},"response":{"content":"There are 12."}},
        {"match":{"userMessage":"lamp"},"response":{"toolCalls":[{"name":"stock_find","arguments":{"q":"lamp"}},{"name":"clock_now","arguments":{}}]}}
    ]}"#;
    let aimock = "aimock-1.43.0/node_modules/.bin/llmock";
    let peer = Peer::start(aimock, ("fixtures.json", fixtures), |file, port| {
        let file = file.display().to_string();
        ["-p", &port.to_string(), "-f", &file, "-c", "5"].map(str::to_owned).into()
    });
    let stage = peer.stage();
    let (result, told) = stage.watch().await;
    let expected = "Hello! How can I help you today? ¡Olé! 안녕하세요";
    assert_eq!(result.unwrap().get("content").unwrap().as_str(), Some(expected));
    assert!(told.len() > 5 && told.concat() == expected, "{told:?}");
    let (call, answer) = two_passes(&stage, "12").await;
    assert_eq!(call.get("name").unwrap().as_str(), Some("stock.find"));
    assert_eq!(call.get("args").unwrap().to_json(), r#"{"q":"lamp"}"#);
    assert_eq!(answer.get("content").unwrap().as_str(), Some("There are 12."));
    let error = stage.ask(r#"{"prompt":"busy"}"#).await.unwrap_err();
    assert_eq!((error.code, error.after, error.is_final), (Some("http-429".into()), Some(1000), false));
    // It answers what no fixture fits with 404.
    assert_eq!(code(stage.ask(r#"{"prompt":"???"}"#).await), ("http-404".into(), true));
    assert!(stage.bindings.reach(&stage.program).await.is_empty());
}

#[tokio::test]
async fn fakellm_splits_arguments_over_its_chunks() {
    // language 9.21
    let rules = concat!(
        "rules:\n",
        "  - name: ask\n    when: { turn: 1, messages_contain: lamp }\n",
        "    respond: { tool_calls: [{ name: stock_find, arguments: { q: \"a desk lamp with a very long name, in grün\" } }] }\n",
        "  - name: answer\n    when: { turn: 2 }\n    respond: { content: \"There are 12 of them.\" }\n",
    );
    let peer = Peer::start("fakellm-0.3.5/bin/fakellm", ("fakellm.yaml", rules), |file, port| {
        let file = file.display().to_string();
        ["serve", "--port", &port.to_string(), "--config", &file].map(str::to_owned).into()
    });
    let (call, answer) = two_passes(&peer.stage(), "[{\"stock\":12}]").await;
    assert_eq!(call.at("args.q").unwrap().as_str(), Some("a desk lamp with a very long name, in gr\u{fc}n"));
    assert_eq!(answer.get("content").unwrap().as_str(), Some("There are 12 of them."));
}

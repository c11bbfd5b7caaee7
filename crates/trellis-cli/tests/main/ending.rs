//! The ends of programs that serve: at signals, at the end of input, at a second signal, and when their terminal closes.

use std::{
    fs,
    process::Command,
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{mcp::Talk, sandbox::Sandbox, serve::Serving};

/// A call that lasts when it is made for the first time.
const OVEN: &[(&str, &str)] = &[
    ("trellis.yaml", "name: oven\nbindings: {bake: {process: [sh, ./bake]}}\n"),
    ("bake", "if [ -e pid ]; then echo 9; else echo $$ >part; mv part pid; exec sleep 600; fi\n"),
    ("start.md", "---\ndo: bake\nsave_to: baked\non_error: end\nto: end\n---\nBaking.\n"),
    ("end.md", "---\noutput: \"{{ baked | default(0) }}\"\n---\nDone.\n"),
];

/// Long enough for what must happen.
const PATIENCE: Duration = Duration::from_secs(120);

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < end, "{what}");
        thread::sleep(Duration::from_millis(10));
    }
}

fn raise(signal: &str, process: u32) {
    assert!(Command::new("kill").args([signal, &process.to_string()]).status().unwrap().success());
}

/// The process of the call, once it runs.
fn baking(sandbox: &Sandbox) -> String {
    let file = sandbox.path().join("pid");
    until("it bakes", || file.exists());
    fs::read_to_string(file).unwrap().trim().to_owned()
}

/// A process that is dead may be listed until somebody asks for it.
fn runs(process: &str) -> bool {
    let listed = Command::new("ps").args(["-o", "stat=", "-p", process]).output().unwrap();
    let state = String::from_utf8(listed.stdout).unwrap();
    !state.trim().is_empty() && !state.starts_with('Z')
}

// `docs/mcp.md#set-it-up`, `docs/serve.md`: clients end a server by a signal, also while a call runs; it is stopped, and made again by the next
// server
#[test]
fn a_signal_ends_mcp_as_it_ends_a_server() {
    for signal in ["-TERM", "-INT", "-HUP"] {
        let sandbox = Sandbox::new(OVEN);
        let mut talk = Talk::with(&sandbox, &["mcp", ".", "--metrics", "counts"], json!({}));
        talk.send("tools/call", json!({ "name": "oven", "arguments": {} }));
        let tool = baking(&sandbox);
        raise(signal, talk.process());
        assert_eq!(talk.code(), Some(0), "{signal}");
        assert!(!runs(&tool), "{signal}: nothing goes on without its server");
        let counts = fs::read_to_string(sandbox.path().join("counts")).unwrap();
        assert!(counts.contains("trellis_sessions_started_total"), "{signal}: {counts}");
        let mut talk = Talk::with(&sandbox, &["mcp", "."], json!({}));
        let mut tool = |name: &str, arguments: Value| {
            talk.ask("tools/call", json!({ "name": name, "arguments": arguments }))["result"]["structuredContent"].clone()
        };
        let session = tool("list_sessions", json!({}))["items"][0]["session"].clone();
        let mut seen = Value::Null;
        until("the call is made again", || {
            seen = tool("render_state", json!({ "session": session }));
            seen["stop"]["type"] == "END"
        });
        assert_eq!(seen["output"], 9, "{signal}: {seen}");
        talk.end();
    }
}

// `docs/mcp.md#set-it-up`: nobody answers a question when the input has ended; its call is answered all the same
#[test]
fn an_open_question_is_closed_with_the_input() {
    let sandbox = Sandbox::new(&[
        ("trellis.yaml", "name: shop\n"),
        ("start.md", "---\ninput_type: text\nsave_to: name\nto: end\n---\nWho are you?\n"),
        ("end.md", "Bye.\n"),
    ]);
    let mut talk = Talk::with(&sandbox, &["mcp", "."], json!({ "elicitation": {} }));
    talk.asked("tools/call", json!({ "name": "shop", "arguments": {} }));
    let answer = talk.last();
    assert_eq!(answer["result"]["structuredContent"]["stop"]["type"], "REQUEST_INPUT", "{answer}");
    assert_eq!(talk.code(), Some(0));
}

// `docs/serve.md`: the second signal ends it at once, and neither the token nor a running tool is left behind
#[test]
fn a_second_signal_leaves_nothing_behind() {
    let sandbox = Sandbox::new(OVEN);
    let mut serving = Serving::start(&sandbox, &["."]);
    let told = sandbox.path().join(format!(".trellis/serve-{}.json", serving.port()));
    assert!(told.exists());
    serving.post("/api/sessions", r#"{"id": "ana"}"#, "-H 'Prefer: wait=0'");
    let tool = baking(&sandbox);
    raise("-TERM", serving.process());
    until("it stops", || serving.get("/readyz", "")["code"] == "stopping");
    assert!(told.exists() && runs(&tool), "what runs has its time");
    raise("-INT", serving.process());
    assert_eq!(serving.code(), Some(130));
    assert!(!told.exists(), "the token is gone");
    until("the tool is gone", || !runs(&tool));
}

// `docs/serve.md`: SIGHUP is for the file of tokens; without one the terminal has closed, unless the program was to outlive it
#[test]
fn a_server_ends_with_its_terminal() {
    let sandbox = Sandbox::new(OVEN);
    let mut serving = Serving::start(&sandbox, &["."]);
    raise("-HUP", serving.process());
    assert_eq!(serving.code(), Some(0));
    let mut command = Command::new("sh");
    let line = format!("trap '' HUP; exec {} serve . --port 0", env!("CARGO_BIN_EXE_trellis"));
    command.args(["-c", &line]).current_dir(sandbox.path());
    let mut serving = Serving::of(command);
    raise("-HUP", serving.process());
    // An answer from after the signal.
    thread::sleep(Duration::from_millis(200));
    assert_eq!(serving.get("/api/graphs", "")["items"][0]["name"], "oven");
    serving.end();
}

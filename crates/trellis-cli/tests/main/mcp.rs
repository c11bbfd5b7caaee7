//! MCP: foreign clients decide. The official clients, the Inspector and the conformance suite talk to the program; `.ci/install` installs them.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use serde_json::{Value, json};
use trellis_tests::peers::peer;

use crate::{open::Open, sandbox::Sandbox};

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// A call that takes a second try: the first one is killed.
pub(crate) const OVEN: &[(&str, &str)] = &[
    ("trellis.yaml", "name: oven\nbindings: {bake: {process: [sh, ./bake]}}\n"),
    ("bake", "if [ -e tried ]; then echo 9; else touch tried; sleep 60; fi\n"),
    ("start.md", "---\ndo: bake\nsave_to: baked\non_error: end\nto: sure\n---\nBaking.\n"),
    ("sure.md", "---\ninput_type: confirm\nsave_to: sure\nto: end\n---\nIs it good?\n"),
    ("end.md", "---\noutput: \"{{ baked | default(0) }}\"\n---\nDone.\n"),
];

pub(crate) fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp").join(path)
}

/// A copy of graphs, since sessions are kept beside them.
fn graphs(of: &str) -> Sandbox {
    let sandbox = Sandbox::new(&[]);
    let copied = Command::new("cp").arg("-r").arg(here(of)).arg(sandbox.path().join("graphs")).status();
    assert!(copied.unwrap().success());
    sandbox
}

/// A command of Node.js in which its own tools are found.
fn node(program: &Path) -> Command {
    let mut command = Command::new(peer("mcp/node"));
    let paths = std::env::join_paths([peer("mcp/node_modules/.bin"), "/usr/bin".into(), "/bin".into()]).unwrap();
    command.arg(program).env("PATH", paths).stderr(Stdio::inherit());
    command
}

/// The lines of JSON that a command prints, each by its scene.
pub(crate) fn scenes(command: &mut Command) -> Vec<Value> {
    let ran = command.stderr(Stdio::inherit()).output().unwrap();
    assert!(ran.status.success(), "{command:?}");
    String::from_utf8(ran.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn scene<'s>(scenes: &'s [Value], name: &str) -> &'s Value {
    scenes.iter().find(|scene| scene["scene"] == name).unwrap_or_else(|| panic!("no scene `{name}`: {scenes:?}"))
}

/// Serves graphs over HTTP, and says where.
fn serve(sandbox: &Sandbox, args: &[&str]) -> (Open, String) {
    let mut command = sandbox.command(&[&["serve", "graphs", "--port", "0"], args].concat());
    if !args.contains(&"--no-token") {
        command.env("TRELLIS_TOKEN", TOKEN);
    }
    let open = Open::start(command);
    let line = open.line();
    let address = line.split('#').next().unwrap_or_default().trim_end_matches('/').to_owned();
    (open, address)
}

/// Forms by the result and by requests, words, more questions than a call has rounds, a call that the client completes, and an approval that only a
/// person may give (`docs/mcp.md`).
#[test]
fn the_python_client_is_asked_in_every_way() {
    for era in ["auto", "legacy"] {
        let sandbox = graphs("graphs");
        let mut command = Command::new(peer("mcp-2.3.0/bin/python"));
        let scenes = scenes(command.arg(here("client.py")).args([era, env!("CARGO_BIN_EXE_trellis")]).arg(sandbox.path().join("graphs")));
        let forms = scene(&scenes, "forms");
        let asked: Vec<_> = forms["asked"].as_array().unwrap().iter().map(|asked| asked.as_str().unwrap()).collect();
        assert_eq!(asked.len(), 8, "{era}: {asked:?}");
        assert_eq!((asked[1], asked[4]), ("Which drink, Ada?", "must be at least 1, is 0\n\nHow many cups?"), "{era}");
        assert_eq!(asked[7], "Ship 2?\n\nMay `ship` run with {\"cups\":2}?", "{era}");
        assert!(forms["text"].as_str().unwrap().starts_with("Call `ship` with {\"cups\":2}."), "{era}: {forms}");
        let completed = json!({ "drink": "Coffee", "heat": 70.5, "shipped": { "parcel": 7 }, "sugar": "yes" });
        assert_eq!(scene(&scenes, "completed")["output"], completed, "{era}");
        // A call ends before its client gives up.
        assert_eq!((&forms["calls"], &scene(&scenes, "many")["calls"]), (&json!(2), &json!(2)), "{era}");
        assert_eq!(scene(&scenes, "many")["output"], 12, "{era}");
        let words = scene(&scenes, "words");
        assert_eq!(
            (&words["refused"], &words["late"], &words["output"]),
            (&json!("approval-needs-a-person"), &json!("conflict"), &json!("left"))
        );
        let looks = scene(&scenes, "looks");
        assert_eq!(looks["tools"], json!(["check", "kinds", "list_approvals", "list_sessions", "many", "navigate", "render_state"]));
        assert_eq!(
            (&looks["nodes"], &looks["source"], &looks["stop"], &looks["prompt"]),
            (&json!(11), &json!(true), &json!("END"), &json!(true))
        );
    }
}

/// Streamable HTTP in both lives of the protocol, progress, and lists that change when a file is saved (`docs/mcp.md`).
#[test]
fn the_typescript_client_walks_over_http() {
    let sandbox = graphs("graphs");
    let (_open, address) = serve(&sandbox, &[]);
    for (era, revision) in [("legacy", "2025-11-25"), ("auto", "2026-07-28")] {
        let mut command = node(&here("client.mjs"));
        command.arg(peer("mcp")).args([era, &format!("{address}/mcp"), TOKEN]);
        let client = Open::start(command);
        let mut scenes = Vec::new();
        loop {
            let line = client.json();
            if line["scene"] == "edit" {
                let file = sandbox.path().join("graphs/kinds/start.yaml");
                let text = fs::read_to_string(&file).unwrap();
                fs::write(file, text.replace("Sugar?", "Some sugar, Sugar?")).unwrap();
            }
            scenes.push(line);
            if scenes.iter().any(|scene| scene["scene"] == "looks") {
                break;
            }
        }
        let forms = scene(&scenes, "forms");
        assert_eq!(
            (&forms["output"], &forms["progressed"], &forms["revision"]),
            (&json!("left"), &json!(true), &json!(revision)),
            "{forms}"
        );
        assert_eq!(forms["asked"].as_array().unwrap().len(), 7, "{forms}");
        if era == "legacy" {
            assert_eq!(scene(&scenes, "changed")["changed"], true);
        }
        let output = json!({ "drink": "Tea", "heat": 70.5, "shipped": { "parcel": 7 }, "sugar": "no" });
        assert_eq!(scene(&scenes, "completed"), &json!({ "scene": "completed", "call": "ship", "reason": "finished", "output": output }));
        assert_eq!(scene(&scenes, "many"), &json!({ "scene": "many", "calls": 2, "output": 12 }));
        let words =
            json!({ "scene": "words", "stop": "REQUEST_INPUT", "last": true, "refused": "approval-needs-a-person", "output": "left" });
        assert_eq!(scene(&scenes, "words"), &words);
        assert_eq!(scene(&scenes, "looks")["prompts"], json!(["walk-kinds", "walk-many"]));
    }
}

#[test]
fn the_inspector_sees_and_calls_flows() {
    let sandbox = graphs("graphs");
    let inspector = peer("mcp/node_modules/.bin/mcp-inspector");
    let asks = |target: &[&str], method: &[&str]| -> Value {
        let mut command = node(&fs::canonicalize(&inspector).unwrap());
        let ran = command.arg("--cli").args(target).args(method).current_dir(sandbox.path()).output().unwrap();
        let text = String::from_utf8(ran.stdout).unwrap();
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    };
    let (_open, address) = serve(&sandbox, &[]);
    let (url, header) = (format!("{address}/mcp"), format!("Authorization: Bearer {TOKEN}"));
    let stdio = [env!("CARGO_BIN_EXE_trellis"), "mcp", "graphs"];
    for target in [&stdio[..], &[&url, "--header", &header]] {
        let tools = asks(target, &["--method", "tools/list"]);
        assert_eq!(tools["tools"][0]["annotations"]["destructiveHint"], true, "{tools}");
        let called = asks(target, &["--method", "tools/call", "--tool-name", "kinds"]);
        assert_eq!(called["structuredContent"]["stop"]["type"], "REQUEST_INPUT", "{called}");
        let read = asks(target, &["--method", "resources/read", "--uri", "trellis://graphs/many/nodes/ask"]);
        assert!(read["contents"][0]["text"].as_str().unwrap().contains("Question {{ asked + 1 }}?"), "{read}");
    }
}

/// The suite of the protocol's authors, for both lives of it; what graphs cannot meet is listed with its reason.
#[test]
fn the_conformance_suite_holds() {
    let sandbox = graphs("conformance");
    let (_open, address) = serve(&sandbox, &["--no-token"]);
    let suite = fs::canonicalize(peer("mcp/node_modules/.bin/conformance")).unwrap();
    let run = |args: &[&str]| {
        let url = format!("{address}/mcp");
        let mut command = node(&suite);
        let ran = command.args(["server", "--url", &url]).args(args).current_dir(sandbox.path()).output().unwrap();
        let text = String::from_utf8(ran.stdout).unwrap();
        assert!(ran.status.success(), "{args:?}: {text}");
        assert!(text.contains("passed") || text.contains("Passed:"), "{args:?}: {text}");
    };
    let scenario = |list: &str, args: &[&str]| {
        let exceptions = here(&format!("exceptions-{list}.yaml"));
        run(&[args, &["--expected-failures", exceptions.to_str().unwrap()]].concat());
    };
    // The suite does not score these yet.
    let pending = [
        ("2025-11-25", "json-schema-2020-12"),
        ("2025-11-25", "server-sse-polling"),
        ("2026-07-28", "json-schema-2020-12"),
        ("2026-07-28", "http-custom-header-server-validation"),
    ];
    let extension = [
        "http-header-validation",
        "tasks-capability-negotiation",
        "tasks-wire-fields",
        "tasks-request-state-removal",
        "tasks-dispatch-and-envelope",
        "tasks-lifecycle",
        "tasks-mrtr-input",
        "tasks-request-headers",
        "tasks-status-notifications",
        "tasks-required-task-error",
        "tasks-mrtr-composition",
    ];
    // Side by side, since a client mostly waits.
    thread::scope(|scope| {
        for revision in ["2025-11-25", "2026-07-28"] {
            scope.spawn(move || scenario(revision, &["--requirements", revision]));
        }
        for (revision, name) in pending {
            scenario(revision, &["--scenario", name, "--spec-version", revision]);
        }
        for name in extension {
            scenario("tasks", &["--scenario", name, "--force"]);
        }
    });
}

/// A client over standard streams, line by line.
pub(crate) struct Talk {
    pub(crate) open: Open,
    next: u64,
}

impl Talk {
    fn start(sandbox: &Sandbox, capabilities: Value) -> Self {
        Self::with(sandbox, &["mcp", "."], capabilities)
    }

    pub(crate) fn with(sandbox: &Sandbox, args: &[&str], capabilities: Value) -> Self {
        let mut talk = Self { open: Open::start(sandbox.command(args)), next: 0 };
        let client = json!({ "name": "talk", "version": "1" });
        talk.ask("initialize", json!({ "protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": client }));
        talk
    }

    /// Sends a request, and returns its id.
    pub(crate) fn send(&mut self, method: &str, params: Value) -> u64 {
        self.next += 1;
        self.open.type_in(&json!({ "jsonrpc": "2.0", "id": self.next, "method": method, "params": params }).to_string());
        self.next
    }

    /// Sends what has no answer.
    pub(crate) fn notify(&mut self, method: &str, params: Value) {
        self.open.type_in(&json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string());
    }

    /// Sends a request, and returns the question that the server asks meanwhile.
    pub(crate) fn asked(&mut self, method: &str, params: Value) -> Value {
        self.send(method, params);
        self.open.json_until(|line| line["method"] == "elicitation/create")
    }

    /// The number of its process.
    pub(crate) fn process(&self) -> u32 {
        self.open.id()
    }

    /// Waits for its end.
    pub(crate) fn code(&mut self) -> Option<i32> {
        self.open.code()
    }

    /// Ends the input, and returns the answer to the request before.
    pub(crate) fn last(&mut self) -> Value {
        self.open.end_input();
        self.open.json_until(|line| line["id"] == self.next && line.get("method").is_none())
    }

    /// Ends the input, and with it the program.
    pub(crate) fn end(&mut self) {
        self.open.end_input();
        assert_eq!(self.open.code(), Some(0));
    }

    /// The answer to a request.
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        self.open.json_until(|line| line["id"] == id && line.get("method").is_none())
    }
}

/// A task is a reading of its session: it goes on after the process was killed, asks, and is done (`docs/mcp.md#long-runs`).
#[test]
fn a_task_outlives_a_kill() {
    let sandbox = Sandbox::new(OVEN);
    let capabilities = || json!({ "elicitation": {}, "extensions": { "io.modelcontextprotocol/tasks": {} } });
    let mut talk = Talk::start(&sandbox, capabilities());
    let begun = talk.ask("tools/call", json!({ "name": "oven", "arguments": {} }));
    assert_eq!((&begun["result"]["resultType"], &begun["result"]["status"]), (&json!("task"), &json!("working")), "{begun}");
    let task = json!({ "taskId": begun["result"]["taskId"] });
    while !sandbox.path().join("tried").exists() {
        thread::sleep(Duration::from_millis(10));
    }
    assert!(Command::new("kill").args(["-KILL", &talk.open.id().to_string()]).status().unwrap().success());
    drop(talk);
    let mut talk = Talk::start(&sandbox, capabilities());
    let read = |talk: &mut Talk, status: &str| loop {
        let read = talk.ask("tasks/get", task.clone())["result"].clone();
        if read["status"] == status {
            return read;
        }
        assert_eq!(read["status"], "working", "{read}");
        thread::sleep(Duration::from_millis(50));
    };
    let asking = read(&mut talk, "input_required");
    let (key, request) = asking["inputRequests"].as_object().unwrap().iter().next().unwrap();
    assert_eq!(request["params"]["message"], "Is it good?", "{request}");
    let answer = json!({ "taskId": task["taskId"], "inputResponses": { key: { "action": "accept", "content": { "answer": true } } } });
    let taken = talk.ask("tasks/update", answer);
    assert!(taken.get("error").is_none(), "{taken}");
    let done = read(&mut talk, "completed");
    assert_eq!(done["result"]["structuredContent"]["output"], 9, "{done}");
    let stopped = talk.ask("tasks/get", json!({ "taskId": "nobody@1" }));
    assert_eq!(stopped["error"]["code"], -32602, "{stopped}");
}

/// The same with the official client over HTTP: one begins the task, the server is killed, another client finishes it (`docs/mcp.md#long-runs`).
#[test]
fn a_task_of_the_typescript_client_outlives_its_server() {
    let sandbox = Sandbox::new(&[]);
    for (path, text) in OVEN {
        sandbox.write(&format!("graphs/oven/{path}"), text.as_bytes());
    }
    let (server, address) = serve(&sandbox, &[]);
    let port = address.rsplit(':').next().unwrap().to_owned();
    let client = |args: &[&str]| {
        let mut command = node(&here("task.mjs"));
        scenes(command.arg(peer("mcp")).args([&*format!("{address}/mcp"), TOKEN]).args(args))
    };
    let begun = client(&["begin"]);
    let task = scene(&begun, "begun")["task"].as_str().unwrap();
    while !sandbox.path().join("graphs/oven/tried").exists() {
        thread::sleep(Duration::from_millis(10));
    }
    // A process that is dropped is killed.
    drop(server);
    let mut command = sandbox.command(&["serve", "graphs", "--port", &port]);
    let again = Open::start({
        command.env("TRELLIS_TOKEN", TOKEN);
        command
    });
    again.line();
    let ended = client(&["finish", task]);
    let statuses = scene(&ended, "finished");
    assert_eq!((&statuses["asked"], &statuses["output"]), (&json!(["Is it good?"]), &json!(9)), "{ended:?}");
}

/// A client that cancels does not wait any more; the session continues. Cancelling a task pauses its session (`docs/mcp.md#long-runs`). The program
/// ends with its input (`docs/mcp.md#set-it-up`).
#[test]
fn what_is_cancelled_waits_and_can_go_on() {
    let sandbox = Sandbox::new(OVEN);
    let mut talk = Talk::start(&sandbox, json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } }));
    let task = talk.ask("tools/call", json!({ "name": "oven", "arguments": {} }))["result"]["taskId"].clone();
    while !sandbox.path().join("tried").exists() {
        thread::sleep(Duration::from_millis(10));
    }
    let cancelled = talk.ask("tasks/cancel", json!({ "taskId": task }));
    assert!(cancelled.get("error").is_none(), "{cancelled}");
    let read = talk.ask("tasks/get", json!({ "taskId": task }))["result"].clone();
    assert_eq!((&read["status"], &read["statusMessage"]), (&json!("working"), &json!("It is paused; `navigate` resumes it.")), "{read}");
    talk.open.end_input();
    assert_eq!(talk.open.code(), Some(0));
}

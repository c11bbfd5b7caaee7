//! `trellis up`: a chat over standard input, its settings, and what a kill leaves (`docs/orchestrator.md`).

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Child, ChildStdout, Command, Stdio},
    time::Duration,
};

use serde_json::Value;

use crate::{
    open::Open,
    sandbox::{Ran, Sandbox, finish},
};

const UP: &[&str] = &["up", "graph", "--channel", "terminal"];

/// A copy of the graph of the repository, with a model that says this.
pub(crate) fn sandbox(model: &str) -> Sandbox {
    let sandbox = Sandbox::new(&[]);
    copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../graphs/orchestrator"), &sandbox.path().join("graph"));
    if !model.is_empty() {
        sandbox.write("graph/_model.yaml", model.as_bytes());
    }
    sandbox
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        match entry.file_type().unwrap().is_dir() {
            true if entry.file_name() == ".trellis" => {}
            true => copy(&path, &target),
            false => drop(fs::copy(path, target).map(drop)),
        }
    }
}

fn up(sandbox: &Sandbox) -> Command {
    let mut command = sandbox.command(UP);
    command.env_remove("TRELLIS_MODEL_BASE_URL").env_remove("TRELLIS_SECRET_MODEL").stdin(Stdio::piped());
    command
}

fn said(mut command: Command, input: &str) -> Ran {
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    finish(child)
}

// orchestrator 1.1, 1.5: it works at once, without a key and without a server
#[test]
fn a_newcomer_chats_at_once() {
    let sandbox = sandbox("");
    let ran = said(up(&sandbox), "Hello\n/help\n");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.out.contains("TRELLIS_MODEL_BASE_URL") && ran.out.contains("`/secret`"), "{}", ran.out);
    assert!(ran.err.contains("graph      graph\n") && ran.err.contains("channel    terminal"), "{}", ran.err);
    assert!(sandbox.path().join("workspace/memory/MEMORY.md").exists());
    // Nothing was made in the folder of the graph.
    assert!(!sandbox.path().join("graph/.trellis").exists());
    // The messages are still known.
    let again = said(up(&sandbox), "/sessions\n");
    assert!(again.out.contains("Hello"), "{}", again.out);
}

// orchestrator 1.1, 1.4: `--check` finds every mistake at once; without it nothing starts
#[test]
fn mistakes_of_the_settings_are_shown_where_they_are() {
    let sandbox = sandbox("");
    let check = ["up", "graph", "--check"];
    let ran = sandbox.trellis(&check);
    assert_eq!((ran.code, &*ran.out), (Some(0), "nothing is in the way\n"), "{}", ran.err);
    sandbox.write("workspace/orchestrator.yaml", b"locale: fr\nchannels: { slack: {} }\nagent: { runs: many }\n");
    let ran = sandbox.trellis(&check);
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    for place in ["workspace/orchestrator.yaml:1:9", "workspace/orchestrator.yaml:2:20", "workspace/orchestrator.yaml:3:16"] {
        assert!(ran.err.contains(place), "{place}: {}", ran.err);
    }
    let ran = said(up(&sandbox), "Hello\n");
    assert_eq!((ran.code, ran.out.is_empty()), (Some(2), true), "{}", ran.err);
    sandbox.write("workspace/orchestrator.yaml", b"agent: { name: nobody }\n");
    let ran = sandbox.trellis(&check);
    assert!(ran.code == Some(1) && ran.err.contains("agents/nobody.md"), "{}", ran.err);
}

// orchestrator 1.1: settings, vault, files, graph and tokens are looked at, whatever is wrong with the others
#[test]
fn a_check_finds_what_is_wrong_everywhere_at_once() {
    let sandbox = sandbox("");
    sandbox.trellis(&["up", "graph", "--check"]);
    let settings = "locale: fr\nchannels: { slack: { token: { env: NO_SUCH_TOKEN }, read: [C1], allow: [\"*\"] } }\nagent: { name: nobody }\n\
                    roles: { agent: [{ provider: nowhere }] }\n";
    sandbox.write("workspace/orchestrator.yaml", settings.as_bytes());
    sandbox.write("workspace/runtime/security/master.key", b"short");
    sandbox.write("workspace/runtime/tasks/store.json", b"{\"version\": 9}");
    sandbox.write("graph/nowhere.md", b"---\nto: no_such_node\n---\n");
    let ran = sandbox.trellis(&["up", "graph", "--check"]);
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    for part in [
        "`fr`",
        "there is no provider `nowhere`",
        "NO_SUCH_TOKEN",
        "agents/nobody.md",
        "master.key",
        "store.json",
        "the graph cannot be run",
    ] {
        assert!(ran.err.contains(part), "{part}: {}", ran.err);
    }
}

// orchestrator 1.4, 5.1: a model of the workspace answers before that of the graph, also one that is started with the rest
#[test]
fn a_model_of_the_workspace_answers() {
    let sandbox = sandbox("- reply: { content: from the graph }\n");
    sandbox.trellis(&["up", "graph", "--check"]);
    sandbox.write("workspace/_script.yaml", b"- reply: { content: from the workspace }\n");
    let settings = "providers: { newcomer: { scripted: ./_script.yaml } }\nroles: { agent: [{ provider: newcomer }] }\n";
    sandbox.write("workspace/orchestrator.yaml", settings.as_bytes());
    let ran = said(up(&sandbox), "Hello\n");
    assert!(ran.out.contains("from the workspace"), "{} {}", ran.out, ran.err);
    assert!(ran.err.contains("service    outbox: running"), "{}", ran.err);
}

const SERVER: &str = r#"
import http.server, json, os, sys

class Model(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.answer({"object": "list", "data": []})

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))["messages"][-1]["content"]
        if "die" in asked:
            os._exit(3)
        known = [name for name in ("HOUSE_KEY", "TRELLIS_VAULT_KEY", "HOUSE_NAME") if name in os.environ]
        message = {"role": "assistant", "content": f"known: {' '.join(known)}."}
        self.answer({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})

    def answer(self, body):
        text = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass

http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Model).serve_forever()
"#;

// orchestrator 5.1, language 9.9: a model that is started with the rest answers, is started again when it ends, and inherits no credential
#[test]
fn a_model_that_is_started_answers() {
    let sandbox = sandbox("- reply: { content: from the graph }\n");
    sandbox.trellis(&["up", "graph", "--check"]);
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    sandbox.write("server.py", SERVER.as_bytes());
    let settings = format!(
        "providers:\n  house: {{ openai: \"http://127.0.0.1:{port}/v1\", start: [python3, server.py, \"{port}\"], key: {{ env: HOUSE_KEY }} }}\n\
         roles: {{ agent: [{{ provider: house, model: any }}] }}\n"
    );
    sandbox.write("workspace/orchestrator.yaml", settings.as_bytes());
    let mut command = up(&sandbox);
    command.env("HOUSE_KEY", "k-0123456789").env("HOUSE_NAME", "Ada");
    let mut chat = Open::start(command);
    chat.type_in("Hello");
    chat.until(|line| line.contains("known: HOUSE_NAME."));
    chat.type_in("die");
    chat.until(|line| line.contains("cannot be reached"));
    // Else it is asked again, and dies again.
    chat.type_in("/stop");
    chat.until(|line| line.contains("Stopped."));
    let is_back = (0..1_200).any(|_| {
        std::thread::sleep(Duration::from_millis(100));
        chat.type_in("Hello again");
        chat.until(|line| !line.is_empty()).last().is_some_and(|line| line.contains("known: HOUSE_NAME."))
    });
    assert!(is_back, "it is not started again");
    chat.end_input();
    assert_eq!(chat.code(), Some(0));
}

#[test]
fn the_schema_of_the_settings_takes_what_they_take() {
    let sandbox = Sandbox::new(&[]);
    let ran = sandbox.trellis(&["schema", "orchestrator"]);
    let schema: Value = serde_json::from_str(&ran.out).unwrap();
    let schema = jsonschema::validator_for(&schema).unwrap();
    for (text, fits) in [
        ("{}", true),
        (
            r#"{"locale": "ko", "agent": {"name": "main", "runs": 4}, "channels": {"terminal": {}}, "limits": {"context_tokens": 9000}}"#,
            true,
        ),
        (r#"{"channels": {"terminal": null}}"#, true),
        (r#"{"channels": {"slack": {"token": {"env": "A"}, "read": ["C1"], "allow": ["*"], "poll": "2s", "rows": 30}}}"#, true),
        (r#"{"channels": {"telegram": {"token": {"secret": "a"}, "allow": [12]}}, "approvers": ["telegram:12"]}"#, true),
        (r#"{"channels": {"telegram": {"token": "12:ab", "allow": ["*"]}}}"#, false),
        (r#"{"channels": {"telegram": {"token": {"env": "A", "secret": "a"}, "allow": ["*"]}}}"#, false),
        (r#"{"channels": {"discord": {"token": {"env": "A"}, "allow": ["*"]}}}"#, false),
        (r#"{"approvers": ["*"]}"#, false),
        (r#"{"locale": "fr"}"#, false),
        (r#"{"channels": {"slack": {}}}"#, false),
        (r#"{"agent": {"runs": 0}}"#, false),
        (r#"{"heartbeat": {"every": "2h", "chat": "slack:C0123"}, "tools": {"web": {"allow_private": ["wiki.internal:8080"]}}}"#, true),
        (r#"{"heartbeat": {"every": "soon"}}"#, false),
        (r#"{"heartbeat": {"chat": "slack"}}"#, false),
        (r#"{"tools": {"web": {"allow_private": "wiki"}}}"#, false),
        (r#"{"providers": {"openrouter": {"key": {"secret": "openrouter"}}, "claude_code": null}}"#, true),
        (r#"{"roles": {"agent": [{"provider": "openrouter", "model": "m"}]}}"#, true),
        (r#"{"providers": {"openrouter": {"key": "sk-1"}}}"#, false),
        (r#"{"providers": {"a": {"headless": "gemini"}}}"#, false),
        (r#"{"roles": {"agent": []}}"#, false),
        (r#"{"tools": {"shell": {}}}"#, true),
        (r#"{"tools": {"shell": {"mode": "everything"}}}"#, false),
    ] {
        assert_eq!(schema.is_valid(&serde_json::from_str(text).unwrap()), fits, "{text}");
    }
}

#[test]
fn what_cannot_be_begun_says_why() {
    let sandbox = sandbox("");
    let ran = sandbox.trellis(&["up", "graph", "--no-dashboard"]);
    assert!(ran.code == Some(2) && ran.err.contains("--channel terminal"), "{}", ran.err);
    let ran = sandbox.trellis(&["up", "graph", "--no-dashboard", "--channel", "web"]);
    assert!(ran.code == Some(2) && ran.err.contains("leave `--no-dashboard` out"), "{}", ran.err);
    let ran = sandbox.trellis(&["up", "graph", "--listen", "0.0.0.0"]);
    assert!(ran.code == Some(2) && ran.err.contains("`--token-file FILE`"), "{}", ran.err);
    let ran = sandbox.trellis(&["up", "graph", "--workspace", "graph/ws", "--check"]);
    assert!(ran.code == Some(2) && ran.err.contains("its files would be nodes"), "{}", ran.err);
    let ran = sandbox.trellis(&["up", "nothing"]);
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    sandbox.write("graph/start.md", b"---\nto: nowhere\n---\n");
    let ran = sandbox.trellis(&["up", "graph", "--check"]);
    assert!(ran.code == Some(1) && ran.err.contains("the graph has mistakes"), "{}", ran.err);
    for check in [&["--check"][..], &["--channel", "terminal"]] {
        let ran = sandbox.trellis(&[&["up", "graph"], check].concat());
        assert!(ran.code != Some(0) && ran.err.contains("start.md: ") && ran.err.contains("nowhere"), "{}", ran.err);
    }
}

// orchestrator 1.2: the process environment wins
#[test]
fn the_file_of_variables_is_read() {
    let sandbox = sandbox("");
    sandbox.trellis(&["up", "graph", "--check"]);
    // Nobody listens at port 9.
    sandbox.write("workspace/.env", b"# a model\nTRELLIS_MODEL_BASE_URL=\"http://127.0.0.1:9/v1\"\nno variable\n");
    let ran = said(up(&sandbox), "Hello\n");
    assert!(ran.out.contains("The model cannot be reached"), "{} {}", ran.out, ran.err);
    assert!(ran.err.contains("line 3 sets no variable"), "{}", ran.err);
    let mut command = up(&sandbox);
    command.env("TRELLIS_MODEL_BASE_URL", "");
    let ran = said(command, "/stop\nHello\n");
    assert!(ran.out.contains("No model is set up yet"), "{} {}", ran.out, ran.err);
}

/// A running program that somebody types into.
struct Typed {
    child: Child,
    out: BufReader<ChildStdout>,
}

impl Typed {
    fn begin(sandbox: &Sandbox) -> Self {
        let mut child = up(sandbox).stderr(Stdio::null()).spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        Self { child, out }
    }

    fn say(&mut self, text: &str) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{text}").unwrap();
    }

    /// Reads until a line has this.
    fn hear(&mut self, part: &str) {
        let mut all = String::new();
        loop {
            let mut line = String::new();
            assert!(self.out.read_line(&mut line).unwrap() > 0, "it ended, and never said `{part}`: {all}");
            if line.contains(part) {
                return;
            }
            all += &line;
        }
    }
}

pub(crate) const RUNS: &str = "
- when: { matches: '^run ' }
  reply: { tool_calls: [{ name: shell, args: { command: \"{{ last.content | replace('run ', '') }}\" } }] }
- reply: { content: 'came: {{ last.content }}' }
";

// orchestrator 1.2, 6.2, 9: the workspace is held by one; a kill leaves it to the next; a held call runs once after a restart
#[test]
fn a_held_call_survives_a_kill() {
    let sandbox = sandbox(RUNS);
    let mut first = Typed::begin(&sandbox);
    first.say("run echo x >> log");
    first.hear("May I run this?");
    let second = said(up(&sandbox), "hello\n");
    assert!(second.code == Some(2) && second.err.contains(&format!("in use by process {}", first.child.id())), "{}", second.err);
    first.child.kill().unwrap();
    first.child.wait().unwrap();
    assert!(!sandbox.path().join("workspace/files/log").exists());
    let mut next = Typed::begin(&sandbox);
    next.say("yes");
    next.hear("came:");
    drop(next.child.stdin.take());
    assert_eq!(next.child.wait().unwrap().code(), Some(0));
    assert_eq!(fs::read_to_string(sandbox.path().join("workspace/files/log")).unwrap(), "x\n");
}

// what a model says is shown and not obeyed, also where nothing is drawn
#[test]
fn a_reply_commands_no_terminal() {
    let model = r#"[{ reply: { content: "a\x1b[1A\x1b[2Kb\rc\bd\x7fe\tf\x1b]52;c;eA==\x07\ng" } }]"#;
    let sandbox = sandbox(model);
    for input in ["Hello\n", "/render plain\nHello\n"] {
        let ran = said(up(&sandbox), input);
        assert!(ran.out.contains("a\u{fffd}[1A\u{fffd}[2Kb\u{fffd}c\u{fffd}d\u{fffd}e\tf\u{fffd}]52;c;eA==\u{fffd}\ng"), "{:?}", ran.out);
        assert!(ran.out.chars().all(|char| !char.is_control() || matches!(char, '\n' | '\t')), "{:?}", ran.out);
    }
}

// orchestrator 1.1: serves until SIGTERM, exit 0, also while a command runs; the same when its terminal closes and no file of tokens is read again
#[test]
fn a_signal_ends_it_in_good_order() {
    for signal in ["-TERM", "-HUP"] {
        let sandbox = sandbox(RUNS);
        let mut typed = Typed::begin(&sandbox);
        typed.say("hello");
        typed.hear("came: hello");
        let pid = typed.child.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
        assert_eq!(typed.child.wait().unwrap().code(), Some(0), "{signal}");
    }
}

// orchestrator 1.1: a second signal ends it at once, whatever still has its time
#[test]
fn a_second_signal_ends_it_at_once() {
    let sandbox = sandbox(RUNS);
    let mut typed = Typed::begin(&sandbox);
    typed.say("run until [ -e go ]; do sleep 0.1; done");
    typed.hear("May I run this?");
    typed.say("yes");
    typed.hear("`shell` runs.");
    let pid = typed.child.id().to_string();
    let code = loop {
        // Two that come together are one.
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        std::thread::sleep(Duration::from_millis(50));
        if let Some(ended) = typed.child.try_wait().unwrap() {
            break ended.code();
        }
    };
    assert_eq!(code, Some(130));
    // What the command did before it was cut off is not known: it is not run again by itself, and the chat is told.
    let mut next = Typed::begin(&sandbox);
    next.hear("A command was cut off");
    next.hear("came:");
    drop(next.child.stdin.take());
    assert_eq!(next.child.wait().unwrap().code(), Some(0));
}

//! `trellis up` in the browser: its chat and its dashboard, as programs see them (orchestrator 1.1, 4, 8.5).

use std::{
    io::{BufRead as _, BufReader},
    os::unix::fs::PermissionsExt as _,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::{
    sandbox::Sandbox,
    up::{RUNS, sandbox},
};

/// Tokens with one right each, and one with all.
const TOKENS: [(&str, &str); 6] = [
    ("reader", "read"),
    ("walker", "walk"),
    ("approver", "approve"),
    ("operator", "operate"),
    ("ana", "read,walk,approve,operate"),
    // A line without rights gives a chat of one's own.
    ("guest", ""),
];

/// An agent that has said where its page is.
struct Agent {
    child: Child,
    address: String,
}

impl Agent {
    fn start(sandbox: &Sandbox, args: &[&str]) -> Self {
        let mut command = sandbox.command(&[&["up", "graph"], args].concat());
        command.env_remove("TRELLIS_MODEL_BASE_URL").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        let address = lines.by_ref().find_map(|line| line.strip_prefix("dashboard  ").map(str::to_owned)).expect("an address");
        thread::spawn(move || lines.for_each(drop));
        let (address, _) = address.split_once("/#").unwrap_or((address.trim_end_matches('/'), ""));
        Self { child, address: address.to_owned() }
    }

    /// The status and the body of an answer.
    fn ask(&self, token: &str, method: &str, path: &str, body: &str, more: &[&str]) -> (u16, Value) {
        let mut curl = Command::new("curl");
        curl.args(["-s", "-w", "\n%{http_code}", "-X", method, "-H", &format!("Authorization: Bearer {}", token_of(token))]);
        if method != "GET" {
            curl.args(["-d", body]);
        }
        // Of two headers the first counts.
        if method != "GET" && !more.iter().any(|more| more.starts_with("Content-Type")) {
            curl.args(["-H", "Content-Type: application/json"]);
        }
        let ran = curl.args(more).arg(format!("{}{path}", self.address)).output().unwrap();
        let text = String::from_utf8(ran.stdout).unwrap();
        let (body, status) = text.rsplit_once('\n').unwrap();
        (status.parse().unwrap(), serde_json::from_str(body).unwrap_or_default())
    }

    fn say(&self, token: &str, text: &str) -> (u16, Value) {
        self.ask(token, "POST", "/api/channels/web/messages", &json!({ "text": text }).to_string(), &[])
    }

    /// Returns the messages in the chat of a token, as soon as one of them has these words.
    fn hear(&self, token: &str, words: &str) -> Vec<String> {
        let began = Instant::now();
        loop {
            let (status, said) = self.ask(token, "GET", "/api/channels/web/messages", "", &[]);
            assert_eq!(status, 200, "{said}");
            let said = said["items"].as_array().unwrap().iter();
            let said: Vec<String> = said.map(|message| message["text"].as_str().unwrap().to_owned()).collect();
            if said.iter().any(|text| text.contains(words)) {
                return said;
            }
            assert!(began.elapsed() < Duration::from_secs(120), "nobody says `{words}`: {said:?}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn state(&self) -> Value {
        let (status, state) = self.ask("ana", "GET", "/api/state", "", &[]);
        assert_eq!(status, 200, "{state}");
        state
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn token_of(label: &str) -> String {
    format!("{label:x>32}")
}

/// A workspace with a file of tokens.
fn world() -> Sandbox {
    let sandbox = sandbox(RUNS);
    let digest = |label: &str| Sha256::digest(token_of(label)).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let lines: String = TOKENS.iter().map(|(label, rights)| format!("{} {rights} {label}\n", digest(label))).collect();
    sandbox.write("tokens", lines.as_bytes());
    std::fs::set_permissions(sandbox.path().join("tokens"), std::fs::Permissions::from_mode(0o600)).unwrap();
    sandbox
}

// orchestrator 1.1, source 003.13.1: a web chat and a dashboard at once, without a key and without a terminal; SIGTERM ends it with 0
#[test]
fn a_page_is_there_at_once() {
    let sandbox = sandbox("");
    let mut command = sandbox.command(&["up", "graph"]);
    command.env_remove("TRELLIS_MODEL_BASE_URL").env("TRELLIS_TOKEN", token_of("local")).stdin(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.stdout(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let line = lines.by_ref().find(|line| line.starts_with("dashboard")).expect("an address");
    thread::spawn(move || lines.for_each(drop));
    let address = line.trim_start_matches("dashboard  ").trim_end_matches('/');
    assert!(address.starts_with("http://127.0.0.1:") && !line.contains(&token_of("local")), "{line}");
    let mut agent = Agent { child, address: address.to_owned() };
    assert_eq!(agent.say("local", "Hello").0, 202);
    agent.hear("local", "TRELLIS_MODEL_BASE_URL");
    assert_eq!(agent.ask("local", "GET", "/healthz", "", &[]).0, 200);
    assert_eq!(agent.ask("local", "GET", "/api/events", "", &["-N", "--max-time", "1"]).0, 200);
    let pid = agent.child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    assert_eq!(agent.child.wait().unwrap().code(), Some(0));
}

// orchestrator 4, row `web`: the right `walk`, the gates of the server, the sender is the label; stored once it is acknowledged
#[test]
fn messages_pass_the_gates() {
    let sandbox = world();
    let agent = Agent::start(&sandbox, &["--token-file", "tokens"]);
    for (label, status) in [("reader", 403), ("approver", 403), ("operator", 403), ("nobody", 401), ("walker", 202)] {
        let (told, body) = agent.say(label, "Hello");
        assert_eq!(told, status, "{label}: {body}");
    }
    let path = "/api/channels/web/messages";
    let refused = |body: &str, more: &[&str]| agent.ask("ana", "POST", path, body, more);
    for (body, status, code) in [
        (r#"{"text": ""}"#, 400, "bad-request"),
        (r#"{"txet": "a"}"#, 400, "bad-request"),
        (r#"{"text": 1}"#, 400, "bad-request"),
        (r#"{"text": "a", "thread": ""}"#, 400, "bad-request"),
        ("{", 400, "bad-json"),
        ("[]", 400, "bad-request"),
    ] {
        let (told, problem) = refused(body, &[]);
        assert_eq!((told, problem["code"].as_str()), (status, Some(code)), "{body}: {problem}");
    }
    let long = json!({ "text": "a".repeat((64 << 10) + 1) }).to_string();
    sandbox.write("long", long.as_bytes());
    let long = format!("@{}", sandbox.path().join("long").display());
    assert_eq!(refused(&long, &[]).1["code"], "input-too-large");
    assert_eq!(refused("{}", &["-H", "Origin: http://elsewhere.example"]).1["code"], "bad-origin");
    assert_eq!(refused("{}", &["-H", "Host: elsewhere.example"]).1["code"], "bad-host");
    assert_eq!(refused("{}", &["-H", "Content-Type: text/plain"]).1["code"], "media-type");
    // A request that is sent again is done once.
    let key = ["-H", "Idempotency-Key: one"];
    let (first, again) = (refused(r#"{"text": "/status"}"#, &key), refused(r#"{"text": "/status"}"#, &key));
    assert_eq!((first.0, again.0), (202, 202));
    assert_eq!(first.1["id"], again.1["id"]);
    let said = agent.hear("ana", "Nothing");
    assert_eq!(said.iter().filter(|text| **text == "/status").count(), 1, "{said:?}");
    let (other, problem) = refused(r#"{"text": "/help"}"#, &key);
    assert_eq!((other, problem["code"].as_str()), (422, Some("key-reused")));
    // Everybody has a chat of their own.
    let (_, other) = agent.ask("reader", "GET", path, "", &[]);
    assert_eq!(other["items"], json!([]));
    // Whoever may write, or decides about what others ask, reads that chat of theirs.
    assert!(agent.hear("walker", "Hello").iter().any(|text| text == "Hello"));
    for (label, status) in [("approver", 200), ("operator", 403), ("nobody", 401)] {
        assert_eq!(agent.ask(label, "GET", path, "", &[]).0, status, "{label}");
    }
}

// orchestrator 1.1, 8.4: it ends while a command runs that never ends by itself; a page that shows
// them holds nothing up for longer than their sessions may
#[test]
fn what_runs_holds_no_end_up() {
    let sandbox = world();
    let mut agent = Agent::start(&sandbox, &["--token-file", "tokens"]);
    agent.say("ana", "run until [ -e go ]; do sleep 0.1; done");
    agent.hear("ana", "May I run this?");
    agent.say("ana", "yes");
    agent.hear("ana", "`shell` runs.");
    let pid = agent.child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    assert_eq!(agent.child.wait().unwrap().code(), Some(0));
    assert!(!sandbox.path().join("workspace/files/go").exists());
}

// orchestrator 4, row `web`: whoever has a chat alone writes and reads there, and sees nothing else
#[test]
fn a_chat_of_ones_own_opens_nothing_else() {
    let sandbox = world();
    let agent = Agent::start(&sandbox, &["--token-file", "tokens"]);
    assert_eq!(agent.say("ana", "Hello").0, 202);
    assert_eq!(agent.say("guest", "/status").0, 202);
    let said = agent.hear("guest", "Nothing");
    assert!(said.iter().all(|text| !text.contains("Hello")), "{said:?}");
    for path in ["/api/state", "/api/sessions", "/api/graphs", "/api/openapi.json", "/readyz", "/api/events?session=x"] {
        let (status, body) = agent.ask("guest", "GET", path, "", &[]);
        assert_eq!(status, 403, "{path}: {body}");
    }
    assert_eq!(agent.ask("guest", "GET", "/api/events", "", &["-N", "--max-time", "1"]).0, 200);
}

// orchestrator 3.6, 8.5: who may approve is whoever has the right `approve`, by a word and by the page; the state says until when
#[test]
fn a_call_is_approved_with_the_right_to() {
    let sandbox = world();
    let agent = Agent::start(&sandbox, &["--token-file", "tokens"]);
    agent.say("walker", "run echo a >> log");
    let session = loop {
        let state = agent.state();
        // Its time begins when the question is there.
        if let Some(held) = state["approvals"].get(0).filter(|held| held["due"].is_u64()) {
            assert_eq!(state["runs"][0]["status"], "waiting_approval", "{state}");
            break held.clone();
        }
        thread::sleep(Duration::from_millis(20));
    };
    // The person who asked may not decide, also not by a word.
    agent.say("walker", "yes");
    let (_, told) = agent.ask("ana", "GET", "/api/state", "", &[]);
    assert_eq!(told["approvals"].as_array().map(Vec::len), Some(1), "{told}");
    let path = format!("/api/sessions/{}/approvals/{}", session["session"].as_str().unwrap(), session["call"]["id"].as_str().unwrap());
    for (label, status) in [("reader", 403), ("walker", 403), ("operator", 403), ("approver", 200)] {
        let (told, body) = agent.ask(label, "POST", &path, r#"{"decision": "approve"}"#, &[]);
        assert_eq!(told, status, "{label}: {body}");
    }
    let log = sandbox.path().join("workspace/files/log");
    let began = Instant::now();
    while std::fs::read_to_string(&log).unwrap_or_default() != "a\n" {
        assert!(began.elapsed() < Duration::from_secs(120), "it does not run");
        thread::sleep(Duration::from_millis(20));
    }
    // A token with the right decides by a word, about what its own chat was asked.
    agent.say("ana", "run echo b >> log");
    agent.hear("ana", "May I run this?");
    agent.say("ana", "yes");
    agent.hear("ana", "came:");
    assert_eq!(std::fs::read_to_string(&log).unwrap(), "a\nb\n");
    // A token with this right alone says decisions about calls that wait, and nothing else.
    agent.say("ana", "run echo c >> log");
    let held = loop {
        match agent.state()["approvals"].get(0) {
            Some(held) => break held["call"]["id"].as_str().unwrap()[..8].to_owned(),
            None => thread::sleep(Duration::from_millis(20)),
        }
    };
    for (text, status) in [("yes", 403), ("yes 0000000000", 403), (&*format!("yes {held}"), 202)] {
        let (told, body) = agent.say("approver", text);
        assert_eq!(told, status, "{text}: {body}");
    }
    agent.hear("approver", "`shell` runs.");
}

// orchestrator 8.5, source 003.13.1: the state, what can be done about it with `operate` alone, and nothing of a secret
#[test]
fn the_state_is_told_and_mended() {
    let sandbox = world();
    let agent = Agent::start(&sandbox, &["--token-file", "tokens"]);
    let parts = ["approvals", "channels", "cron", "dead", "decisions", "memory", "outbox", "runs", "services", "tasks"];
    let state = agent.state();
    assert_eq!(state.as_object().unwrap().keys().map(String::as_str).collect::<Vec<_>>(), parts, "{state}");
    assert!(state["channels"].as_array().unwrap().iter().any(|channel| channel["name"] == "web"), "{state}");
    agent.say("ana", "/secret set door hunter2-Zx9!kQ");
    agent.say("ana", r#"/cron add every 2h "open with hunter2-Zx9!kQ""#);
    agent.say("ana", "hunter2-Zx9!kQ opens the door");
    agent.hear("ana", "every 2h");
    let began = Instant::now();
    let job = loop {
        let state = agent.state();
        assert!(!state.to_string().contains("hunter2"), "{state}");
        if let Some(job) = state["cron"].get(0) {
            break job["id"].as_str().unwrap().to_owned();
        }
        assert!(began.elapsed() < Duration::from_secs(120), "{state}");
    };
    assert!(!agent.hear("ana", "opens the door").join("\n").contains("hunter2"));
    for (method, path, status) in [
        ("POST", format!("/api/cron/{job}/pause"), 204),
        ("POST", format!("/api/cron/{job}/resume"), 204),
        ("POST", "/api/cron/none/pause".into(), 404),
        ("POST", "/api/outbox/77/retry".into(), 404),
        ("POST", "/api/outbox/seven/retry".into(), 404),
        ("DELETE", "/api/outbox/77".into(), 404),
        ("POST", "/api/services/none/start".into(), 404),
        ("POST", "/api/services/none/restart".into(), 404),
    ] {
        for label in ["reader", "walker", "approver"] {
            assert_eq!(agent.ask(label, method, &path, "{}", &[]).0, 403, "{label} {path}");
        }
        let (told, body) = agent.ask("operator", method, &path, "{}", &[]);
        assert_eq!(told, status, "{path}: {body}");
        let is_enabled = agent.state()["cron"][0]["enabled"].as_bool();
        assert_eq!(is_enabled, Some(!path.ends_with(&format!("{job}/pause"))), "{path}");
    }
    for label in ["walker", "approver", "operator", "nobody"] {
        assert!([401, 403].contains(&agent.ask(label, "GET", "/api/state", "", &[]).0), "{label}");
    }
}

//! `trellis serve`: the lines of its page, signals, a kill, and what it refuses.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::{open::Open, sandbox::Sandbox};

const TOKEN: &str = Serving::TOKEN;

const TOOL: &[(&str, &str)] = &[
    ("trellis.yaml", "name: oven\nbindings: {bake: {process: [sh, ./bake]}}\n"),
    ("bake", "if [ -e tried ]; then echo 9; else touch tried; sleep 60; fi\n"),
    ("start.md", "---\ninput_type: text\nsave_to: cake\nto: work\n---\nWhich cake?\n"),
    ("work.md", "---\ndo: bake\nsave_to: baked\non_error: end\nto: end\n---\nBaking.\n"),
    ("end.md", "---\noutput: \"{{ baked | default(0) }}\"\n---\nDone.\n"),
];

/// A server that has said where it is.
pub(crate) struct Serving {
    open: Open,
    address: String,
}

impl Serving {
    /// The token that it takes.
    pub(crate) const TOKEN: &'static str = "0123456789abcdef0123456789abcdef";

    pub(crate) fn start(sandbox: &Sandbox, args: &[&str]) -> Self {
        Self::of(sandbox.command(&[&["serve"], args].concat()))
    }

    pub(crate) fn of(mut command: Command) -> Self {
        command.env("TRELLIS_TOKEN", TOKEN);
        let open = Open::start(command);
        let line = open.line();
        let (address, token) = line.split_once("/#").unwrap_or_else(|| panic!("no token: {line}"));
        assert_eq!(token, TOKEN);
        Self { open, address: address.to_owned() }
    }

    /// One that takes the same token from a file, with every right.
    fn with_file(sandbox: &Sandbox, args: &[&str]) -> Self {
        let digest: String = Sha256::digest(TOKEN).iter().map(|byte| format!("{byte:02x}")).collect();
        sandbox.write("tokens", format!("{digest} read,walk,approve,operate,metrics ana\n").as_bytes());
        fs::set_permissions(sandbox.path().join("tokens"), fs::Permissions::from_mode(0o600)).unwrap();
        let open = Open::start(sandbox.command(&[&["serve", "--token-file", "tokens"], args].concat()));
        let address = open.line().trim_end_matches('/').to_owned();
        Self { open, address }
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// The token that it takes.
    pub(crate) fn token(&self) -> &'static str {
        TOKEN
    }

    pub(crate) fn port(&self) -> &str {
        self.address.rsplit(':').next().unwrap()
    }

    /// Runs a line of a shell, and returns the JSON that it prints.
    fn shell(&self, line: &str) -> Value {
        let ran = Command::new("sh").args(["-c", line]).env("URL", &self.address).env("TOKEN", TOKEN).stderr(Stdio::inherit()).output();
        let text = String::from_utf8(ran.unwrap().stdout).unwrap();
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{line}: {error}: {text}"))
    }

    pub(crate) fn post(&self, path: &str, body: &str, more: &str) -> Value {
        let head = "curl -s -H \"Authorization: Bearer $TOKEN\" -H 'Content-Type: application/json'";
        self.shell(&format!("{head} {more} -d '{body}' $URL{path}"))
    }

    pub(crate) fn get(&self, path: &str, more: &str) -> Value {
        self.shell(&format!("curl -s -H \"Authorization: Bearer $TOKEN\" {more} $URL{path}"))
    }

    /// Sends a message to `/mcp`, and returns the last one that comes back.
    pub(crate) fn mcp(&self, message: &str, heads: &str) -> Value {
        let head = format!("curl -s -H \"Authorization: Bearer $TOKEN\" -H 'Content-Type: application/json' {heads}");
        self.shell(&format!("{head} -d '{message}' $URL/mcp | sed -n 's/^data: *{{/{{/p; /^{{/p' | tail -1"))
    }

    /// The number of its process.
    pub(crate) fn process(&self) -> u32 {
        self.open.id()
    }

    /// Waits for its end.
    pub(crate) fn code(&mut self) -> Option<i32> {
        self.open.code()
    }

    /// Ends it as a system ends its services.
    pub(crate) fn end(&mut self) {
        self.signal("-TERM");
        assert_eq!(self.open.code(), Some(0));
    }

    fn signal(&self, name: &str) {
        assert!(Command::new("kill").args([name, &self.open.id().to_string()]).status().unwrap().success());
    }
}

/// The lines of the page run as they stand there.
#[test]
fn the_lines_of_the_page_walk_a_session() {
    let sandbox = Sandbox::new(&[]);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for file in fs::read_dir(root.join("graphs/hello")).unwrap().flatten().filter(|file| file.path().is_file()) {
        sandbox.write(&format!("hello/{}", file.file_name().to_string_lossy()), &fs::read(file.path()).unwrap());
    }
    let mut serving = Serving::start(&sandbox, &["hello"]);
    let told = sandbox.path().join(format!("hello/.trellis/serve-{}.json", serving.port()));
    assert_eq!(fs::metadata(&told).unwrap().permissions().mode() & 0o777, 0o600);
    let told_text: Value = serde_json::from_str(&fs::read_to_string(&told).unwrap()).unwrap();
    assert_eq!((told_text["address"].as_str(), told_text["graphs"][0].as_str()), (Some(&*serving.address), Some("hello")));
    let page = fs::read_to_string(root.join("docs/serve.md")).unwrap();
    let lines: Vec<_> = page.lines().filter(|line| line.starts_with("curl ")).collect();
    assert!(lines.len() >= 4);
    let answers: Vec<_> = lines.iter().map(|line| serving.shell(line)).collect();
    let stops: Vec<_> = answers.iter().map(|answer| answer["stop"]["type"].as_str().unwrap_or_default()).collect();
    assert_eq!(stops, ["REQUEST_INPUT", "REQUEST_INPUT", "END", ""]);
    assert_eq!(answers[2]["stop"]["payload"]["output"], serde_json::json!({ "drink": "Tea", "name": "Ada" }));
    assert_eq!(answers[3]["items"].as_array().map(Vec::len), Some(4));
    // A session that was walked here shows at a terminal.
    assert!(sandbox.trellis(&["session", "ls", "--graph", "hello"]).out.contains("ana"));
    serving.signal("-TERM");
    assert_eq!(serving.open.code(), Some(0));
    assert!(!told.exists());
}

/// `localhost` is both addresses of the machine, and the metrics are in the file when the server has ended.
#[test]
fn both_addresses_are_served_and_metrics_written() {
    let sandbox = Sandbox::new(TOOL);
    let mut serving = Serving::start(&sandbox, &[".", "--metrics", "counts"]);
    let port = serving.port().to_owned();
    if std::net::TcpListener::bind("[::1]:0").is_ok() {
        let other = serving.shell(&format!("curl -s -H \"Authorization: Bearer $TOKEN\" 'http://[::1]:{port}/api/graphs'"));
        assert_eq!(other["items"][0]["name"], "oven");
    }
    let named = serving.shell(&format!("curl -s -H \"Authorization: Bearer $TOKEN\" http://localhost:{port}/api/graphs"));
    assert_eq!(named["items"][0]["name"], "oven");
    serving.signal("-TERM");
    assert_eq!(serving.open.code(), Some(0));
    let counts = fs::read_to_string(sandbox.path().join("counts")).unwrap();
    assert!(
        counts.contains("trellis_http_requests_total{route=\"/api/graphs\"") && counts.contains("trellis_sessions_started_total"),
        "{counts}"
    );
}

/// After a kill the next start goes on by itself: the call that was pending is made again.
#[test]
fn a_killed_server_goes_on_where_it_was() {
    let sandbox = Sandbox::new(TOOL);
    let serving = Serving::start(&sandbox, &["."]);
    serving.post("/api/sessions", r#"{"id":"ana"}"#, "");
    let running = serving.post("/api/sessions/ana/turns", r#"{"input":"plum"}"#, "-H 'Prefer: wait=0' -H 'Idempotency-Key: k'");
    assert_eq!(running["stop"]["type"], "RUNNING");
    while !sandbox.path().join("tried").exists() {
        std::thread::sleep(Duration::from_millis(10));
    }
    serving.signal("-KILL");
    drop(serving);
    let mut serving = Serving::start(&sandbox, &[".", "--no-watch"]);
    let mut seen = serving.get("/api/sessions/ana", "");
    while seen["stop"]["type"] != "END" {
        let tag = format!("-H 'Prefer: wait=30' -H 'If-None-Match: \"{}\"'", seen["seq"]);
        seen = serving.get("/api/sessions/ana", &tag);
    }
    assert_eq!(seen["stop"]["payload"]["output"], 9);
    let again = serving.post("/api/sessions/ana/turns", r#"{"input":"plum"}"#, "-H 'Idempotency-Key: k'");
    assert_eq!(again["stop"]["type"], "END", "it was taken before: {again}");
    // A session that waits is no reason to stay.
    serving.open.interrupt();
    assert_eq!(serving.open.code(), Some(0));
}

/// A tool does not inherit the token of the server that runs it (`docs/serve.md#security`), and there are files for every connection
/// (`docs/serve.md#security`).
#[test]
fn tools_have_no_token_and_connections_have_files() {
    let sandbox = Sandbox::new(&[
        ("trellis.yaml", "name: spy\nbindings: {look: {process: [sh, ./look]}}\n"),
        ("look", "printf '{\"token\": \"%s\", \"files\": %s}' \"${TRELLIS_TOKEN-none}\" \"$(ulimit -S -n)\"\n"),
        ("start.md", "---\ndo: look\nsave_to: seen\non_error: fail\nto: end\n---\n"),
        ("end.md", "---\noutput: \"{{ seen }}\"\n---\n"),
    ]);
    let mut command = std::process::Command::new("sh");
    let line = format!("ulimit -S -n 256; exec {} serve . --no-watch", env!("CARGO_BIN_EXE_trellis"));
    command.args(["-c", &line]).current_dir(sandbox.path());
    let serving = Serving::of(command);
    let seen = serving.post("/api/sessions", r#"{"id":"ana"}"#, "");
    let output = &seen["stop"]["payload"]["output"];
    assert_eq!(output["token"], "none", "{seen}");
    assert!(output["files"].as_u64() >= Some(1024), "{seen}");
}

/// Makes a certificate for `localhost` and its key.
fn certify(sandbox: &Sandbox) {
    let made = Command::new("openssl")
        .args([
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-days",
            "1",
            "-subj",
            "/CN=localhost",
        ])
        .args(["-addext", "subjectAltName=DNS:localhost", "-keyout", "key.pem", "-out", "cert.pem"])
        .current_dir(sandbox.path())
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
}

/// Certificates over the command line, with both addresses of this machine (`docs/serve.md#security`).
#[test]
fn a_certificate_of_the_command_line_is_served() {
    let sandbox = Sandbox::new(TOOL);
    certify(&sandbox);
    let serving = Serving::start(&sandbox, &[".", "--tls", "cert.pem", "key.pem", "--no-watch"]);
    assert!(serving.address().starts_with("https://"), "{}", serving.address());
    let cert = sandbox.path().join("cert.pem").display().to_string();
    let curl = |address: &str, more: &str| {
        let line = format!("curl -s -D - {more} -H \"Authorization: Bearer {TOKEN}\" '{address}/api/graphs'");
        String::from_utf8(Command::new("sh").args(["-c", &line]).output().unwrap().stdout).unwrap()
    };
    let named = curl(&format!("https://localhost:{}", serving.port()), &format!("--cacert {cert}"));
    assert!(named.contains("200 OK") && named.contains("strict-transport-security: max-age=") && named.contains("\"oven\""), "{named}");
    if std::net::TcpListener::bind("[::1]:0").is_ok() {
        let other = curl(&format!("https://[::1]:{}", serving.port()), &format!("-6 -k --cacert {cert}"));
        assert!(other.contains("200 OK"), "{other}");
    }
    assert_eq!(curl(&format!("https://localhost:{}", serving.port()), ""), "", "who does not trust it gets nothing");
    assert_eq!(curl(&format!("http://localhost:{}", serving.port()), ""), "", "nothing is said without TLS");
}

// `docs/serve.md#security`: behind a proxy others reach it, wherever it listens, so a token has its rate
#[test]
fn a_server_behind_a_proxy_is_no_local_one() {
    let sandbox = Sandbox::new(TOOL);
    let serving = Serving::with_file(&sandbox, &[".", "--host", "flows.example.org", "--behind-proxy", "127.0.0.1/32"]);
    let asked =
        "curl -s -Z --parallel-max 50 -o /dev/null -w '%{http_code}\n' -H \"Authorization: Bearer $TOKEN\" -H 'Host: flows.example.org'";
    let statuses = Command::new("sh")
        .args(["-c", &format!("{asked} $URL'/api/explain/ended?integers=[1-1000]'")])
        .envs([("URL", &*serving.address), ("TOKEN", TOKEN)])
        .output();
    let statuses = String::from_utf8(statuses.unwrap().stdout).unwrap();
    assert!(statuses.starts_with("200\n") && statuses.contains("429\n"), "{statuses}");
}

// `docs/serve.md#security`: the address that is printed and the address that people are sent to are answered
#[test]
fn a_server_is_known_by_its_own_addresses() {
    let sandbox = Sandbox::new(TOOL);
    certify(&sandbox);
    let args = [".", "--listen", "127.0.0.5", "--host", "flows.test", "--tls", "cert.pem", "key.pem", "--no-watch"];
    let serving = Serving::start(&sandbox, &args);
    let port = serving.port();
    assert_eq!(serving.address, format!("https://127.0.0.5:{port}"));
    for host in ["127.0.0.5", "flows.test"] {
        let ask =
            format!("curl -s -k --resolve '{host}:{port}:127.0.0.5' -H \"Authorization: Bearer $TOKEN\" https://{host}:{port}/api/graphs");
        let named = serving.shell(&ask);
        assert_eq!(named["items"][0]["name"], "oven", "{host}");
    }
    let other = serving.get("/api/graphs", "-k -H 'Host: other.test'");
    assert_eq!(other["code"], "bad-host", "{other}");
}

/// Records that were taken out are told apart from those that cannot be read (`docs/serve.md#routes`).
#[test]
fn records_that_were_taken_out_are_told() {
    let sandbox = Sandbox::new(TOOL);
    sandbox.trellis_with(&["run", ".", "--session", "ana", "--no-input"], "");
    for args in [&["back", "ana", "--to", "0"][..], &["back", "ana", "--to", "0"], &["prune", "--keep-records", "1"]] {
        let ran = sandbox.trellis(&[&["session"], args].concat());
        assert_eq!(ran.code, Some(0), "{ran:?}");
    }
    let serving = Serving::start(&sandbox, &["."]);
    let pruned = serving.get("/api/sessions/ana/at/0", "");
    assert_eq!((pruned["status"].as_u64(), pruned["code"].as_str()), (Some(410), Some("pruned")), "{pruned}");
}

// `docs/serve.md`: while work has its grace, who asks hears that the server stops; a second signal ends it at once
#[test]
fn who_asks_a_server_that_stops_hears_so() {
    let sandbox = Sandbox::new(TOOL);
    let mut serving = Serving::start(&sandbox, &["."]);
    serving.post("/api/sessions", r#"{"id": "ana"}"#, "");
    serving.post("/api/sessions/ana/turns", r#"{"input": "Plum"}"#, "-H 'Prefer: wait=0'");
    serving.signal("-TERM");
    let status = || serving.get("/readyz", "-o /dev/null -w '{\"status\":%{http_code}}'")["status"].clone();
    let until = std::time::Instant::now() + Duration::from_secs(120);
    while status() == 200 {
        assert!(std::time::Instant::now() < until, "it is still ready");
    }
    assert_eq!(serving.get("/readyz", "")["code"], "stopping");
    serving.signal("-TERM");
    assert_eq!(serving.open.code(), Some(130));
}

// `docs/mcp.md#questions`: the page for a secret is where people reach the server
#[test]
fn a_secret_is_typed_where_people_reach_the_server() {
    let sandbox = Sandbox::new(&[
        ("trellis.yaml", "name: safe\n"),
        ("start.md", "---\ninput_type: secret\nsave_to: pin\nto: end\n---\nYour PIN?\n"),
        ("end.md", "Done.\n"),
    ]);
    let serving = Serving::with_file(&sandbox, &[".", "--host", "flows.example.org", "--behind-proxy", "10.0.0.0/8"]);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": { "elicitation": { "url": {} } },
    });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "safe", "arguments": {}, "_meta": meta } });
    let heads = "-H 'Accept: application/json, text/event-stream' -H 'MCP-Protocol-Version: 2026-07-28' -H 'Mcp-Method: tools/call' \
                 -H 'Mcp-Name: safe'";
    let answer = serving.mcp(&call.to_string(), heads).to_string();
    assert!(answer.contains("https://flows.example.org/#/s/"), "{answer}");
}

#[test]
fn a_server_that_others_reach_says_what_it_needs() {
    let sandbox = Sandbox::new(TOOL);
    for (args, why) in [
        (&["--listen", "0.0.0.0"][..], "`--token-file FILE`"),
        (&["--listen", "0.0.0.0", "--no-token"], "`--no-token`"),
        (&["--listen", "0.0.0.0", "--token-file", "t"], "`--host NAME`"),
        (&["--listen", "0.0.0.0", "--token-file", "t", "--host", "x"], "`--tls CERT KEY`, or `--behind-proxy CIDR`"),
        (&["--listen", "0.0.0.0", "--mcp-approve", "call"], "`--mcp-approve call` is for this machine alone"),
        (&["--listen", "0.0.0.0", "--yes"], "`--yes` is for this machine alone"),
        (&["--behind-proxy", "127.0.0.1/32"], "others can reach this server through its proxy: add `--token-file FILE`"),
        (&["--behind-proxy", "127.0.0.1/32", "--token-file", "t"], "add `--host NAME`"),
        (&["--behind-proxy", "127.0.0.1/32", "--host", "x", "--no-token"], "leave `--behind-proxy` out"),
        (&["--behind-proxy", "127.0.0.1/32", "--yes"], "`--yes` is for this machine alone; leave `--behind-proxy` out"),
        (&["--behind-proxy", "::1", "--mcp-approve", "call"], "`--mcp-approve call` is for this machine alone; leave `--behind-proxy` out"),
        (&["--connections", "0"], "write 1 or more"),
        (&["--host", "http://x.example"], "`--host x.example`"),
        (&["--allow-origin", "x.example"], "`--allow-origin https://x.example`"),
        (&["--tls", "missing", "missing"], "missing"),
        (&["--token-file", "missing"], "`missing` cannot be read"),
        (&["--behind-proxy", "x"], "a network is an address"),
        (&["nowhere"], "nowhere"),
    ] {
        let ran = sandbox.trellis(&[&["serve", "."], args].concat());
        assert!(ran.code == Some(2) && ran.err.contains(why), "{args:?}: {ran:?}");
    }
    let mut command = sandbox.command(&["serve", "."]);
    command.env("TRELLIS_TOKEN", "short");
    let ran = crate::sandbox::finish(command.spawn().unwrap());
    assert!(ran.code == Some(2) && ran.err.contains("32 characters"), "{ran:?}");
}

#[test]
fn the_document_is_printed_as_the_docs_have_it() {
    let sandbox = Sandbox::new(&[]);
    let docs = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/openapi.json")).unwrap();
    assert_eq!(sandbox.trellis(&["schema", "openapi"]).out, docs);
}

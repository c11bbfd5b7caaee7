//! Files that `trellis serve` reads and writes: its tokens, again at a signal, and nothing in the folder of a graph.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::Command,
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::{open::Open, sandbox::Sandbox, serve::Serving};

const SHOP: &[(&str, &str)] = &[
    ("shop/trellis.yaml", "name: shop\n"),
    ("shop/start.md", "---\ninput_type: text\nsave_to: name\nto: count\n---\nWho are you?\n"),
    ("shop/count.md", "---\ninput_type: int\nsave_to: count\nto: send\n---\nHow many, {{ name }}?\n"),
    (
        "shop/send.md",
        "---\ntools: [{name: ship, effect: irreversible}]\ndo: {name: ship, approve: {ask: \"Ship?\"}}\non_error: left\non_denied: left\nto: end\n---\n",
    ),
    ("shop/left.md", "You left.\n"),
    ("shop/end.md", "Shipped.\n"),
];

/// Writes the file of the tokens: one, with these rights.
fn tokens(sandbox: &Sandbox, text: &str) {
    sandbox.write("tokens", text.as_bytes());
    fs::set_permissions(sandbox.path().join("tokens"), fs::Permissions::from_mode(0o600)).unwrap();
}

/// A file of tokens is read again at SIGHUP; one that is none changes nothing (`docs/serve.md#security`).
#[test]
fn tokens_are_read_again_at_a_signal() {
    let sandbox = Sandbox::new(SHOP);
    let digest: String = Sha256::digest(Serving::TOKEN).iter().map(|byte| format!("{byte:02x}")).collect();
    tokens(&sandbox, &format!("{digest} walk ana\n"));
    let open = Open::start(sandbox.command(&["serve", "shop", "--port", "0", "--token-file", "tokens", "--no-watch"]));
    let address = open.line().trim_end_matches('/').to_owned();
    let status = || {
        let line = format!("curl -s -o /dev/null -w '%{{http_code}}' -H 'Authorization: Bearer {}' {address}/api/graphs", Serving::TOKEN);
        String::from_utf8(Command::new("sh").args(["-c", &line]).output().unwrap().stdout).unwrap()
    };
    let until = |wanted: &str| {
        assert!(Command::new("kill").args(["-HUP", &open.id().to_string()]).status().unwrap().success());
        let end = Instant::now() + Duration::from_secs(120);
        while status() != wanted {
            assert!(Instant::now() < end, "it stays {}", status());
            thread::sleep(Duration::from_millis(20));
        }
    };
    assert_eq!(status(), "403", "it may walk alone");
    tokens(&sandbox, &format!("{digest} read,walk ana\n"));
    assert_eq!(status(), "403", "nothing is read without a signal");
    until("200");
    tokens(&sandbox, "nonsense\n");
    until("200");
    thread::sleep(Duration::from_millis(200));
    assert_eq!(status(), "200", "the tokens stay as they are");
    tokens(&sandbox, "");
    until("200");
    thread::sleep(Duration::from_millis(200));
    assert_eq!(status(), "200", "nobody could do anything any more");
    tokens(&sandbox, &format!("{} read bea\n", digest.replace(&digest[..2], "00")));
    until("401");
}

/// Every file below a folder but what is the program's own, with its bytes.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let (name, path) = (entry.file_name().to_string_lossy().into_owned(), entry.path());
        if path.is_dir() && name != ".trellis" {
            found.extend(files(&path).into_iter().map(|(below, bytes)| (format!("{name}/{below}"), bytes)));
            found.insert(format!("{name}/"), Vec::new());
        } else if path.is_file() {
            found.insert(name, fs::read(path).unwrap());
        }
    }
    found
}

/// A request of each route, with the body that the document has for it, to a session that stands where it began.
fn ask_all(serving: &Serving, sandbox: &Sandbox) -> usize {
    let document = trellis_server::openapi();
    let (mut asked, mut taken) = (0, 0);
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            let is_stream = operation["responses"]["200"]["content"].get("text/event-stream").is_some();
            if is_stream {
                continue;
            }
            asked += 1;
            let id = format!("s{asked}");
            serving.post("/api/sessions", &json!({ "id": id }).to_string(), "");
            let turn = serving.post(&format!("/api/sessions/{id}/turns"), r#"{"input": "Ada"}"#, "");
            let path = path.replace("{graph}", "shop").replace("{node}", "start").replace("{code}", "ended").replace("{seq}", "0");
            let path = path.replace("{id}", &id).replace("{call}", "c").replace("{letter}", "l");
            let body = &operation["requestBody"]["content"]["application/json"]["example"];
            sandbox.write("_body", if body.is_null() { "{}".to_owned() } else { body.to_string() }.as_bytes());
            let sends = if body.is_null() { "" } else { "-H 'Content-Type: application/json' -d @_body" };
            let line = format!(
                "cd {} && curl -s -o _answer -w '%{{http_code}}' -X {} -H 'If-Match: \"{}\"' -H \"Authorization: Bearer {}\" {sends} '{}{path}'",
                sandbox.path().display(),
                method.to_uppercase(),
                turn["seq"],
                Serving::TOKEN,
                serving.address(),
            );
            let status = String::from_utf8(Command::new("sh").args(["-c", &line]).output().unwrap().stdout).unwrap();
            assert!(status.starts_with(['2', '3', '4']), "{method} {path}: {status}");
            taken += usize::from(status.starts_with('2'));
        }
    }
    assert!(taken > asked / 2, "{taken} of {asked} were done");
    asked
}

/// Whatever is asked, nothing is written into the folder of a graph but `.trellis/` (`docs/serve.md`).
#[test]
fn nothing_is_written_into_the_folder_of_a_graph() {
    let sandbox = Sandbox::new(SHOP);
    let graph = sandbox.path().join("shop");
    let before = files(&graph);
    let mut serving = Serving::start(&sandbox, &["shop"]);
    assert!(ask_all(&serving, &sandbox) > 30);
    let meta = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {} });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "shop", "arguments": {}, "_meta": meta } });
    let heads = "-H 'Accept: application/json, text/event-stream' -H 'MCP-Protocol-Version: 2026-07-28' -H 'Mcp-Method: tools/call' \
                 -H 'Mcp-Name: shop'";
    let walked: Value = serving.mcp(&call.to_string(), heads);
    assert_eq!(walked["result"]["structuredContent"]["stop"]["type"], "REQUEST_INPUT", "{walked}");
    // A save is another's: the server reads it, and leaves the rest.
    sandbox.write("shop/left.md", b"You left us.\n");
    while serving.get("/api/graphs/shop/nodes/left", "")["source"] != "You left us.\n" {}
    assert!(graph.join(".trellis").is_dir(), "what is kept is kept there");
    serving.end();
    let mut after = files(&graph);
    assert_eq!(after.insert("left.md".into(), before["left.md"].clone()).as_deref(), Some(&b"You left us.\n"[..]));
    assert_eq!(after, before);
}

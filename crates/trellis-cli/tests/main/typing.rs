//! An hour of typing, without the pauses: the memory of `trellis lsp` stays flat.

use std::{
    fs,
    io::{BufReader, Write as _},
    path::Path,
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
    time::Duration,
};

use serde_json::{Value as Json, json};

use crate::sandbox::Sandbox;

/// Edits between two requests that wait for the link of the newest text.
const BURST: u64 = 20;

struct Server {
    process: Child,
    input: ChildStdin,
    /// The ids of requests that were answered.
    answers: Receiver<u64>,
    asked: u64,
}

impl Server {
    fn start(root: &Path) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_trellis"));
        let mut process = command.arg("lsp").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let (input, output) = (process.stdin.take().unwrap(), process.stdout.take().unwrap());
        let (answered, answers) = channel();
        thread::spawn(move || {
            let mut output = BufReader::new(output);
            while let Some(message) = message(&mut output) {
                if let Some(id) = message["id"].as_u64().filter(|_| message.get("method").is_none()) {
                    assert!(message.get("error").is_none(), "{message}");
                    answered.send(id).unwrap();
                }
            }
        });
        let mut server = Self { process, input, answers, asked: 0 };
        let capabilities = json!({ "workspace": { "didChangeWatchedFiles": { "dynamicRegistration": true } } });
        server.ask("initialize", &json!({ "processId": null, "rootUri": uri(root, ""), "capabilities": capabilities }));
        server.send(&json!({ "jsonrpc": "2.0", "method": "initialized", "params": {} }));
        server
    }

    fn send(&mut self, message: &Json) {
        let text = message.to_string();
        write!(self.input, "Content-Length: {}\r\n\r\n{text}", text.len()).unwrap();
    }

    /// Asks, and waits for the answer.
    fn ask(&mut self, method: &str, params: &Json) {
        self.asked += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": self.asked, "method": method, "params": params }));
        while self.answers.recv_timeout(Duration::from_secs(120)).expect("the server answers") != self.asked {}
    }

    /// Resident memory, in KiB.
    fn memory(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn uri(root: &Path, path: &str) -> String {
    format!("file://{}/{path}", root.display()).trim_end_matches('/').to_owned()
}

/// The next message; nothing at the end.
fn message(output: &mut impl std::io::BufRead) -> Option<Json> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if output.by_ref().read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim().strip_prefix("Content-Length: ") {
            Some(count) => length = count.parse().ok()?,
            None if line.trim().is_empty() => break,
            None => {}
        }
    }
    let mut text = vec![0; length];
    output.read_exact(&mut text).ok()?;
    serde_json::from_slice(&text).ok()
}

/// Texts that are typed, letter by letter, into a body: paths that are there, that are not, and braces that nothing closes.
const TYPED: &str = " Then {{ name }}, {{ nmae }} and {% if x %}some more{% endif %}; see [it](start.md).";

#[test]
fn an_hour_of_typing_takes_no_more_memory_than_its_beginning() {
    // Twenty letters a second: a minute of it, and with `TYPED=72000` an hour.
    let all: u64 = std::env::var("TYPED").ok().and_then(|typed| typed.parse().ok()).unwrap_or(1_200);
    let sandbox = Sandbox::new(&[]);
    let graph = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../graphs/tour");
    let copied = Command::new("cp").arg("-r").arg(&graph).arg(sandbox.path()).status().unwrap();
    assert!(copied.success());
    let root = fs::canonicalize(sandbox.path().join("tour")).unwrap();
    let text = fs::read_to_string(root.join("start.md")).unwrap();
    let mut server = Server::start(&root);
    let document = json!({ "uri": uri(&root, "start.md"), "languageId": "markdown", "version": 1, "text": text });
    server.send(&json!({ "jsonrpc": "2.0", "method": "textDocument/didOpen", "params": { "textDocument": document } }));
    let letters: Vec<char> = TYPED.chars().collect();
    let last = text.lines().count() - 1;
    let start = text.lines().last().unwrap().encode_utf16().count();
    let (mut version, mut typed, mut held) = (1, 0, Vec::new());
    for edit in 0..all {
        version += 1;
        // The whole sentence is typed, then taken away, and typed again.
        let (at, new) = if typed < letters.len() { (start + typed, letters[typed].to_string()) } else { (start, String::new()) };
        let to = if new.is_empty() { start + typed } else { at };
        typed = if new.is_empty() { 0 } else { typed + 1 };
        let range = json!({ "start": { "line": last, "character": at }, "end": { "line": last, "character": to } });
        let params = json!({ "textDocument": { "uri": uri(&root, "start.md"), "version": version }, "contentChanges": [{ "range": range, "text": new }] });
        server.send(&json!({ "jsonrpc": "2.0", "method": "textDocument/didChange", "params": params }));
        if edit % BURST == BURST - 1 {
            let place = json!({ "textDocument": { "uri": uri(&root, "start.md") }, "position": { "line": 1, "character": 1 } });
            for method in ["textDocument/completion", "textDocument/hover", "textDocument/documentSymbol"] {
                server.ask(method, &place);
            }
            let mut references = place;
            references["context"] = json!({ "includeDeclaration": true });
            server.ask("textDocument/references", &references);
        }
        if edit % (all / 10) == 0 {
            held.push(server.memory());
        }
    }
    // What is needed at first, such as the first link, is there after the first fifth.
    let (early, late) = (held[2], server.memory());
    assert!(late <= early + early / 5 + 8 * 1024, "{early} KiB, then {late} KiB: {held:?}");
    assert!(late <= 250 * 1024, "{late} KiB: {held:?}");
}

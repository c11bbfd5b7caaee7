//! Measures `trellis lsp` and `trellis test` from outside and prints the figures of `docs/performance.md`:
//! `cargo build --release -p trellis-cli && cargo run --release -p trellis-tests --example workbench [TRELLIS [LETTERS]]`.
//!
//! Times are medians and 99th percentiles of one run, each beside the time of a cold `trellis check` of the same graph in that run.
#![allow(clippy::print_stdout, reason = "it prints what it measured")]

use std::{
    collections::VecDeque,
    env,
    error::Error,
    fs,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value as Json, json};
use tempfile::TempDir;
use trellis_tests::generator;

/// The pause between two letters of somebody who types fast.
const LETTER: Duration = Duration::from_millis(50);

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = env::args().skip(1);
    let program = args.next().map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/release/trellis"), PathBuf::from);
    let program = fs::canonicalize(&program).map_err(|error| format!("{}: {error}; build it first", program.display()))?;
    let letters: usize = args.next().map_or(Ok(60), |text| text.parse())?;
    for nodes in [1_000, 10_000] {
        println!("{nodes} nodes");
        let folder = graph(nodes)?;
        let check = cold_check(&program, folder.path())?;
        println!("  cold check {}", shown(check));
        serve(&program, folder.path(), nodes, letters)?;
    }
    trials(&program)?;
    Ok(())
}

fn graph(nodes: usize) -> Result<TempDir, Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    generator::write(folder.path(), &generator::generate(nodes))?;
    Ok(folder)
}

fn cold_check(program: &Path, folder: &Path) -> Result<Duration, Box<dyn Error>> {
    let run = || -> Result<Duration, Box<dyn Error>> {
        let began = Instant::now();
        let status = Command::new(program).arg("check").arg(folder).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
        assert!(status.success(), "the graph is sound");
        Ok(began.elapsed())
    };
    let mut times = (0..5).map(|_| run()).collect::<Result<Vec<_>, _>>()?;
    times.sort();
    Ok(times[2])
}

/// Measures what an author feels: the time of each edit from its last byte to the list of findings.
fn serve(program: &Path, folder: &Path, nodes: usize, letters: usize) -> Result<(), Box<dyn Error>> {
    let began = Instant::now();
    let mut client = Client::start(program, folder)?;
    let path = folder.join("part_0000/step_50.md");
    let text = fs::read_to_string(&path)?;
    client.open(&path, &text)?;
    client.linked(&path, 1)?;
    println!("  start → first findings {}", shown(began.elapsed()));
    let before = client.memory();

    // Words of the body, then a target that is half typed, then YAML that is not closed.
    let body = |at: usize| format!("{text}{}", &"and so on and so forth ".repeat(letters)[..=at]);
    client.typing("words", &path, letters, body)?;
    let target = |at: usize| text.replacen("\n---\n", &format!("\non_max_visits: {}\n---\n", &"part_0001/step_11"[..at % 17 + 1]), 1);
    client.typing("a target", &path, letters, target)?;
    let half = |at: usize| text.replacen("\n---\n", &format!("\nset: {{ {}\n---\n", &"a: [1, 2, { b: 3"[..at % 16 + 1]), 1);
    client.typing("half-typed YAML", &path, letters, half)?;
    let named = |at: usize| text.replacen("---\n", &format!("---\nid: part_0000/other{at}\n"), 1);
    client.typing("an id, which changes names around", &path, letters.min(10), named)?;
    client.change(&path, &text)?;
    let version = client.version;
    client.linked(&path, version)?;

    while_linking(&mut client, &path, "a letter", letters, &body)?;
    while_linking(&mut client, &path, "an id", letters, &named)?;
    client.change(&path, &text)?;
    let version = client.version;
    client.linked(&path, version)?;
    // The key that every node reads.
    let start = folder.join("start.md");
    let place = fs::read_to_string(&start)?;
    client.open(&start, &place)?;
    let line = place.lines().position(|line| line.starts_with("save_to: ")).unwrap_or_default();
    let at = json!({ "textDocument": { "uri": uri(&start) }, "position": { "line": line, "character": 10 } });
    let mut params = at.clone();
    params["context"] = json!({ "includeDeclaration": true });
    let began = Instant::now();
    let found = client.request("textDocument/references", &params)?;
    println!("  references of a key: {} in {}", found.as_array().map_or(0, Vec::len), shown(began.elapsed()));
    let mut params = at;
    params["newName"] = "somebody".into();
    let began = Instant::now();
    let edit = client.request("textDocument/rename", &params)?;
    let edits = edit["documentChanges"].as_array().into_iter().flatten().filter_map(|change| change["edits"].as_array()).map(Vec::len);
    println!("  rename of it, checked: {} edits in {}", edits.sum::<usize>(), shown(began.elapsed()));
    // An hour of typing at twenty letters a second is 72,000 letters; what grows shows in fewer.
    let rounds = if nodes == 10_000 { 20 * letters } else { letters };
    for at in 0..rounds {
        client.change(&path, &body(at % letters))?;
        if at % 20 == 0 {
            let version = client.version;
            client.linked(&path, version)?;
        }
    }
    println!("  memory {before} MiB, after {} edits more {} MiB", rounds, client.memory());
    Ok(())
}

/// Requests while a link is on its way: after a letter of a text, or after an id that changes names around.
fn while_linking(
    client: &mut Client,
    path: &Path,
    edit: &str,
    letters: usize,
    change: &dyn Fn(usize) -> String,
) -> Result<(), Box<dyn Error>> {
    for method in ["textDocument/completion", "textDocument/hover", "textDocument/definition"] {
        let mut times = Vec::new();
        for at in 0..letters {
            let text = change(at);
            client.change(path, &text)?;
            let line = text.lines().position(|line| line.contains("to: ")).unwrap_or_default();
            let column = text.lines().nth(line).and_then(|line| line.find("to: ")).unwrap_or_default() + 4;
            let at = json!({ "textDocument": { "uri": uri(path) }, "position": { "line": line, "character": column } });
            let began = Instant::now();
            client.request(method, &at)?;
            times.push(began.elapsed());
        }
        println!("  {method} while the link of {edit} runs {}", spread(&mut times));
    }
    Ok(())
}

/// 1,000 cases of ten steps on a graph of 100 nodes, with and without coverage, in turn.
fn trials(program: &Path) -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let mut files: Vec<(String, String)> = (0..100)
        .map(|at| {
            let name = if at == 0 { "start".to_owned() } else { format!("n{at}") };
            let to = if at == 99 { "end".to_owned() } else { format!("n{}", at + 1) };
            (format!("{name}.md"), format!("---\noptions: [go, {{ text: stop, to: end }}]\nto: {to}\n---\nStep {at}.\n"))
        })
        .collect();
    files.push(("end.md".to_owned(), "---\n---\nThe end.\n".to_owned()));
    let case = |at: usize| {
        let inputs = "> go\n...\n".repeat(9);
        format!("## case {at}\n\n```transcript\n$ at n{}\n...\n{inputs}> stop\n| The end.\n* end finished\n```\n\n", at % 80 + 1)
    };
    files.push(("_tests/all.md".to_owned(), format!("# All\n\n{}", (0..1_000).map(case).collect::<String>())));
    generator::write(folder.path(), &files)?;
    let (mut plain, mut covered) = (Vec::new(), Vec::new());
    for _ in 0..7 {
        for (times, option) in [(&mut plain, None), (&mut covered, Some("--coverage=summary"))] {
            let began = Instant::now();
            let ran = Command::new(program).arg("test").arg(folder.path()).args(option).output()?;
            assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout));
            times.push(began.elapsed());
        }
    }
    plain.sort();
    covered.sort();
    let ratio = covered[3].as_secs_f64() / plain[3].as_secs_f64();
    println!("test: 1,000 cases of ten steps {}, with coverage {} ({ratio:.2} ×)", shown(plain[3]), shown(covered[3]));
    watched(program)
}

/// From a save to the result of the case that it touches.
fn watched(program: &Path) -> Result<(), Box<dyn Error>> {
    let folder = graph(1_000)?;
    let sheet = folder.path().join("_tests/a.md");
    fs::create_dir_all(folder.path().join("_tests"))?;
    let text = |name: &str| format!("# A\n\n```transcript\n...\n> {name}\n...\n```\n");
    fs::write(&sheet, text("Ada"))?;
    let mut child = Command::new(program)
        .args(["test", "--watch", "--format", "json"])
        .arg(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let (send, lines) = channel();
    let output = child.stdout.take().ok_or("no output")?;
    thread::spawn(move || BufReader::new(output).lines().map_while(Result::ok).try_for_each(|line| send.send((Instant::now(), line))));
    let summary = |lines: &Receiver<(Instant, String)>| -> Result<Instant, Box<dyn Error>> {
        loop {
            let (at, line) = lines.recv_timeout(Duration::from_secs(60))?;
            if line.contains("\"summary\"") {
                return Ok(at);
            }
        }
    };
    summary(&lines)?;
    let mut times = Vec::new();
    for round in 0..11 {
        thread::sleep(Duration::from_millis(300));
        let began = Instant::now();
        fs::write(&sheet, text(&format!("Ada{round}")))?;
        times.push(summary(&lines)?.saturating_duration_since(began));
    }
    println!("test --watch: save → result, 1,000 nodes {}", spread(&mut times));
    child.kill()?;
    child.wait()?;
    Ok(())
}

/// A client on the program's standard streams.
struct Client {
    child: Child,
    input: ChildStdin,
    messages: Receiver<(Instant, Json)>,
    waiting: VecDeque<(Instant, Json)>,
    version: i64,
    next: i64,
}

impl Client {
    fn start(program: &Path, folder: &Path) -> Result<Self, Box<dyn Error>> {
        let mut child = Command::new(program).arg("lsp").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let (send, messages) = channel();
        let mut output = BufReader::new(child.stdout.take().ok_or("no output")?);
        thread::spawn(move || {
            while let Some(message) = read(&mut output) {
                if send.send((Instant::now(), message)).is_err() {
                    return;
                }
            }
        });
        let input = child.stdin.take().ok_or("no input")?;
        let mut client = Self { child, input, messages, waiting: VecDeque::new(), version: 0, next: 0 };
        let capabilities = json!({
            "workspace": { "workspaceEdit": { "documentChanges": true, "resourceOperations": ["create", "rename"] }, "didChangeWatchedFiles": { "dynamicRegistration": true } },
            "textDocument": { "publishDiagnostics": { "versionSupport": true } },
        });
        let folders = json!([{ "uri": uri(folder), "name": "graph" }]);
        client.request("initialize", &json!({ "processId": null, "workspaceFolders": folders, "capabilities": capabilities }))?;
        client.send(&json!({ "jsonrpc": "2.0", "method": "initialized", "params": {} }))?;
        Ok(client)
    }

    fn send(&mut self, message: &Json) -> Result<(), Box<dyn Error>> {
        let text = message.to_string();
        write!(self.input, "Content-Length: {}\r\n\r\n{text}", text.len())?;
        Ok(self.input.flush()?)
    }

    fn request(&mut self, method: &str, params: &Json) -> Result<Json, Box<dyn Error>> {
        self.next += 1;
        let id = self.next;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        loop {
            let (at, message) = self.messages.recv_timeout(Duration::from_secs(120))?;
            if message["id"] == id && message.get("method").is_none() {
                return match message.get("error") {
                    Some(error) => Err(format!("{method}: {error}").into()),
                    None => Ok(message["result"].clone()),
                };
            }
            self.waiting.push_back((at, message));
        }
    }

    fn open(&mut self, path: &Path, text: &str) -> Result<(), Box<dyn Error>> {
        self.version += 1;
        let document = json!({ "uri": uri(path), "languageId": "markdown", "version": self.version, "text": text });
        self.send(&json!({ "jsonrpc": "2.0", "method": "textDocument/didOpen", "params": { "textDocument": document } }))
    }

    fn change(&mut self, path: &Path, text: &str) -> Result<(), Box<dyn Error>> {
        self.version += 1;
        let params = json!({ "textDocument": { "uri": uri(path), "version": self.version }, "contentChanges": [{ "text": text }] });
        self.send(&json!({ "jsonrpc": "2.0", "method": "textDocument/didChange", "params": params }))
    }

    /// Waits until a text of this version was answered: for its own list, and for that of a request behind it that needs the link.
    fn linked(&mut self, path: &Path, version: i64) -> Result<(), Box<dyn Error>> {
        self.list(path, version)?;
        // A rename of what has no name is refused once the newest text is linked.
        let params = json!({ "textDocument": { "uri": uri(path) }, "position": { "line": 0, "character": 0 }, "newName": "x" });
        let _ = self.request("textDocument/rename", &params);
        Ok(())
    }

    /// The moment of the first list of a file with at least this version.
    fn list(&mut self, path: &Path, version: i64) -> Result<Instant, Box<dyn Error>> {
        let own = uri(path);
        loop {
            let (at, message) = match self.waiting.pop_front() {
                Some(message) => message,
                None => self.messages.recv_timeout(Duration::from_secs(120))?,
            };
            if message["params"]["uri"] == own.as_str() && message["params"]["version"].as_i64().is_some_and(|sent| sent >= version) {
                return Ok(at);
            }
        }
    }

    /// Types letter by letter: the time to the list of the text itself, and to the answer that needs its link.
    fn typing(&mut self, what: &str, path: &Path, letters: usize, text: impl Fn(usize) -> String) -> Result<(), Box<dyn Error>> {
        let (mut own, mut linked) = (Vec::new(), Vec::new());
        for at in 0..letters {
            self.change(path, &text(at))?;
            let (began, version) = (Instant::now(), self.version);
            own.push(self.list(path, version)?.saturating_duration_since(began));
            let params = json!({ "textDocument": { "uri": uri(path) }, "position": { "line": 0, "character": 0 }, "newName": "x" });
            let _ = self.request("textDocument/rename", &params);
            linked.push(began.elapsed());
            match self.messages.recv_timeout(LETTER.saturating_sub(began.elapsed())) {
                Ok(message) => self.waiting.push_back(message),
                Err(RecvTimeoutError::Timeout) => {}
                Err(error) => return Err(error.into()),
            }
        }
        println!("  {what}: its own findings {}; those of the link {}", spread(&mut own), spread(&mut linked));
        Ok(())
    }

    /// Resident memory, in MiB.
    fn memory(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let line = status.lines().find(|line| line.starts_with("VmRSS:"));
        line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok()).unwrap_or_default() / 1024
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read(output: &mut impl BufRead) -> Option<Json> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if output.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        if line == "\r\n" {
            break;
        }
    }
    let mut body = vec![0; length];
    output.read_exact(&mut body).ok()?;
    serde_json::from_slice(&body).ok()
}

fn uri(path: &Path) -> String {
    format!("file://{}", path.display())
}

fn shown(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}

fn spread(times: &mut [Duration]) -> String {
    times.sort();
    let at = |share: usize| times[(times.len() * share / 100).min(times.len() - 1)];
    format!("{} / {}", shown(at(50)), shown(at(99)))
}

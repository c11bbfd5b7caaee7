//! The program and the bare server as processes of their own, and what is measured from outside.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value as Json, json};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;
use trellis_tests::generator;

use crate::Outcome;

/// A server that is killed in the end.
#[derive(Debug)]
pub(crate) struct Program {
    child: Child,
    pub(crate) port: u16,
    token: Option<String>,
}

/// A folder with a graph.
pub(crate) fn graph(name: &str, files: &[(&str, &str)]) -> Outcome<TempDir> {
    let folder = tempfile::Builder::new().prefix(name).tempdir()?;
    for (path, text) in files {
        fs::write(folder.path().join(path), text)?;
    }
    Ok(folder)
}

impl Program {
    /// `trellis serve`.
    pub(crate) fn serve(program: &Path, graph: &Path, args: &[&str]) -> Outcome<Self> {
        let mut command = Command::new(program);
        command.args(["serve", "--port", "0", "--no-watch"]).arg(graph).args(args);
        Self::begin(command, args.contains(&"--token-file"))
    }

    /// The bare server of this example.
    pub(crate) fn bare(length: usize) -> Outcome<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["bare", &length.to_string()]);
        Self::begin(command, false)
    }

    pub(crate) fn begin(mut command: Command, has_file: bool) -> Outcome<Self> {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().ok_or("no output")?).read_line(&mut line)?;
        let (address, token) =
            line.trim().split_once("/#").map_or((line.trim(), None), |(address, token)| (address, Some(token.to_owned())));
        let port = address
            .trim_end_matches('/')
            .rsplit(':')
            .next()
            .and_then(|port| port.parse().ok())
            .ok_or_else(|| format!("no address: {line}"))?;
        Ok(Self { child, port, token: token.or_else(|| has_file.then(|| token_of(0))) })
    }

    /// The header with the token.
    pub(crate) fn authorization(&self) -> String {
        self.token.as_ref().map(|token| format!("authorization: Bearer {token}\r\n")).unwrap_or_default()
    }

    /// Posts JSON, once.
    pub(crate) fn post(&self, path: &str, body: &Json) -> Outcome<Json> {
        let body = body.to_string();
        let head = format!("content-type: application/json\r\ncontent-length: {}\r\n{}", body.len(), self.authorization());
        let text = self.ask("POST", path, &head, &body)?;
        let (_, body) = text.split_once("\r\n\r\n").ok_or("no answer")?;
        Ok(serde_json::from_str(body)?)
    }

    /// Sends a request over a connection of its own, and returns the whole answer.
    pub(crate) fn ask(&self, method: &str, path: &str, head: &str, body: &str) -> Outcome<String> {
        Ok(String::from_utf8_lossy(&self.bytes(method, path, head, body)?).into_owned())
    }

    fn bytes(&self, method: &str, path: &str, head: &str, body: &str) -> Outcome<Vec<u8>> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        write!(stream, "{method} {path} HTTP/1.1\r\nhost: localhost:{}\r\nconnection: close\r\n{head}\r\n{body}", self.port)?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        Ok(answer)
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn token_of(number: usize) -> String {
    format!("{number:032}")
}

/// Writes a file of so many tokens with every right.
pub(crate) fn tokens_file(path: &Path, count: usize) -> Outcome<()> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    for number in (0..count).rev() {
        let digest: String = Sha256::digest(token_of(number)).iter().map(|byte| format!("{byte:02x}")).collect();
        writeln!(file, "{digest} read,walk,approve,operate,metrics t{number}")?;
    }
    Ok(())
}

/// The memory of a process, in KiB.
pub(crate) fn rss(process: u32) -> Outcome<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no memory")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64() * 1e3
}

/// The start up to the first answer, the memory while nothing happens, and the end.
pub(crate) fn starts(program: &Path, rounds: usize) -> Outcome<()> {
    let tour = Path::new(env!("CARGO_MANIFEST_DIR")).join("../graphs/tour");
    let (mut started, mut ended, mut held) = (Vec::new(), Vec::new(), 0);
    for _ in 0..rounds.max(5) {
        let began = Instant::now();
        let mut serving = Program::serve(program, &tour, &["--store", "memory"])?;
        assert!(serving.ask("GET", "/healthz", "", "")?.starts_with("HTTP/1.1 200"), "it does not answer");
        started.push(began.elapsed());
        thread::sleep(Duration::from_millis(200));
        held = rss(serving.id())?;
        let began = Instant::now();
        Command::new("kill").args(["-TERM", &serving.id().to_string()]).status()?;
        serving.child.wait()?;
        ended.push(began.elapsed());
    }
    println!("start to the first answer (≤ 25 ms): {:.1} ms; SIGTERM to exit (≤ 50 ms): {:.1} ms", median(started), median(ended));
    println!("idle with the tour (≤ 15 MiB): {:.1} MiB", held as f64 / 1024.0);
    Ok(())
}

/// A graph of many nodes with places for all it shows: the time to the answer, and its bytes.
pub(crate) fn layout(program: &Path, nodes: usize) -> Outcome<()> {
    let folder = tempfile::tempdir()?;
    generator::write(folder.path(), &generator::generate(nodes))?;
    let serving = Program::serve(program, folder.path(), &["--store", "memory", "--no-token"])?;
    let mut times = Vec::new();
    let mut length = 0;
    for _ in 0..5 {
        let began = Instant::now();
        let answer = serving.bytes("GET", "/graph?layout=down", "accept-encoding: gzip\r\n", "")?;
        times.push(began.elapsed());
        length = answer.len();
    }
    println!("a graph of {nodes} nodes with layout (≤ 200 ms, ≤ 250 KB): {:.0} ms, {} KB", median(times), length / 1000);
    Ok(())
}

/// A flow without questions: over standard input and output, and as a session over HTTP.
pub(crate) fn call_of_a_flow(program: &Path) -> Outcome<()> {
    const CALLS: usize = 200;
    let folder = graph("say", &[("start.yaml", "name: say\nnodes:\n  start: { content: Hello. }\n")])?;
    let serving = Program::serve(program, folder.path(), &["--store", "memory", "--no-token"])?;
    let mut http = Vec::new();
    for _ in 0..CALLS {
        let began = Instant::now();
        serving.post("/api/sessions", &json!({}))?;
        http.push(began.elapsed());
    }
    let mut child =
        Command::new(program).args(["mcp", "--store", "memory"]).arg(folder.path()).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let (mut input, mut output) = (child.stdin.take().ok_or("no input")?, BufReader::new(child.stdout.take().ok_or("no output")?));
    let mut ask = |id: usize, method: &str, params: Json| -> Outcome<()> {
        writeln!(input, "{}", json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        let mut line = String::new();
        output.read_line(&mut line)?;
        if line.contains("\"error\"") { Err(line.into()) } else { Ok(()) }
    };
    ask(
        0,
        "initialize",
        json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "bench", "version": "1" } }),
    )?;
    let mut mcp = Vec::new();
    for id in 1..=CALLS {
        let began = Instant::now();
        ask(id, "tools/call", json!({ "name": "say", "arguments": {} }))?;
        mcp.push(began.elapsed());
    }
    drop(input);
    child.wait()?;
    let (mcp, http) = (median(mcp), median(http));
    println!("a call of a flow over MCP against a session over HTTP (≤ 1 ms more): {mcp:.2} against {http:.2} ms");
    Ok(())
}

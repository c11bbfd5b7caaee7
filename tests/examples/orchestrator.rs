//! Measures `trellis up` from outside and prints the figures of orchestrator 10.1 (`docs/performance.md`):
//! `cargo build --release -p trellis-cli && cargo run --release -p trellis-tests --example orchestrator [TRELLIS [CHATS]]`.
//!
//! A fake Telegram on the same processors hands out a hundred messages at a time. What is counted is read from the queue, as it is on the disk.
#![allow(clippy::print_stdout, reason = "it prints what it measured")]

use std::{
    env,
    error::Error,
    fs,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc::channel,
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use rusqlite::{Connection, OpenFlags};
use tempfile::TempDir;
use trellis_tests::providers::{Author, FakeProvider, ProviderEvent, ProviderKind, TOKEN};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Messages for the agent, in two chats.
const MESSAGES: usize = 5_000;
/// Commands, each in a chat of its own.
const RUNS: usize = 1_500;
/// Starts, of which the median counts.
const STARTS: usize = 9;
/// A line as people write it, with a secret in it.
const LINE: &str = "@fake_bot the deploy of Wednesday went well, my password is Tulip-Harbour-93!x, see you at ten";

fn main() -> Outcome<()> {
    let mut args = env::args().skip(1);
    let program = args.next().map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/release/trellis"), PathBuf::from);
    let program = fs::canonicalize(&program).map_err(|error| format!("{}: {error}; build it first", program.display()))?;
    let chats: usize = args.next().map_or(Ok(10_000), |text| text.parse())?;
    starts(&program)?;
    stored(&program)?;
    answered(&program, "@fake_bot !help", "without a model")?;
    answered(&program, "@fake_bot hello", "with a model that follows a script")?;
    idle(&program, chats)
}

/// A program that runs over a workspace, with its chat.
struct Agent {
    folder: TempDir,
    provider: FakeProvider,
    program: Child,
    began: Duration,
}

impl Agent {
    fn start(program: &Path) -> Outcome<Self> {
        let (folder, provider) = (tempfile::tempdir()?, FakeProvider::start(ProviderKind::Telegram));
        copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../graphs/orchestrator"), &folder.path().join("graph"))?;
        fs::write(folder.path().join("graph/_model.yaml"), "- reply: { content: 'Hello.' }\n")?;
        let base = format!("http://{}", provider.address());
        let telegram = format!("{{ token: {{ env: CHAT_TOKEN }}, allow: [\"*\"], base_url: \"{base}\", poll: 20ms, rows: 100 }}");
        fs::create_dir_all(folder.path().join("workspace"))?;
        fs::write(folder.path().join("workspace/orchestrator.yaml"), format!("channels:\n  telegram: {telegram}\n"))?;
        let began = Instant::now();
        let mut child = Command::new(program)
            .args(["up", "graph", "--channel", "telegram", "--no-dashboard"])
            .current_dir(folder.path())
            .env("CHAT_TOKEN", TOKEN)
            .env_remove("TRELLIS_MODEL_BASE_URL")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        let mut lines = BufReader::new(child.stderr.take().ok_or("it has an output")?).lines();
        let mut said = Vec::new();
        loop {
            let line = lines.next().ok_or_else(|| said.join("\n"))??;
            let is_up = line.starts_with("channel");
            said.push(line);
            if is_up {
                break;
            }
        }
        let began = began.elapsed();
        // Whoever does not read would have it wait.
        thread::spawn(move || lines.for_each(drop));
        Ok(Self { folder, provider, program: child, began })
    }

    fn queue(&self) -> Outcome<Connection> {
        Ok(Connection::open_with_flags(self.folder.path().join("workspace/runtime/queue.db"), OpenFlags::SQLITE_OPEN_READ_ONLY)?)
    }

    /// Waits until a query counts so many.
    fn until(&self, query: &str, count: usize) -> Outcome<()> {
        let (queue, began) = (self.queue()?, Instant::now());
        let mut now: i64 = 0;
        while began.elapsed() < Duration::from_secs(600) {
            now = queue.query_row(query, [], |row| row.get(0))?;
            if usize::try_from(now)? >= count {
                return Ok(());
            }
            thread::sleep(Duration::from_millis(2));
        }
        Err(format!("{query}: {now} of {count} after ten minutes").into())
    }

    /// The memory that it has, in MiB.
    fn memory(&self) -> Outcome<f64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.program.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("the memory is told")?;
        let kib: f64 = line.trim().trim_end_matches(" kB").parse()?;
        Ok(kib / 1024.0)
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

fn starts(program: &Path) -> Outcome<()> {
    let mut times = (0..STARTS).map(|_| Ok(Agent::start(program)?.began)).collect::<Outcome<Vec<_>>>()?;
    times.sort();
    println!("start, from nothing to the open channel: {:.0} ms (goal ≤ 300)", times[STARTS / 2].as_secs_f64() * 1e3);
    Ok(())
}

/// Messages of two groups: read, sealed, stored. Meanwhile the agent answers, to many at once.
fn stored(program: &Path) -> Outcome<()> {
    let agent = Agent::start(program)?;
    let (tell, told) = channel();
    for at in 0..MESSAGES {
        agent.provider.post(1 + (at % 2) as u64, Author::Person(at as u64 % 50), LINE);
    }
    let began = Instant::now();
    // Moments are told to the listener as they are; a thread notes when.
    agent.provider.tell(tell);
    let reads = thread::spawn(move || {
        let mut reads = Vec::new();
        while let Ok(event) = told.recv_timeout(Duration::from_secs(5)) {
            if let ProviderEvent::Read(rows) = event {
                reads.push((SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis(), rows));
            }
        }
        reads
    });
    agent.until("select count(*) from inbound", MESSAGES)?;
    let rate = MESSAGES as f64 / began.elapsed().as_secs_f64();
    let reads = reads.join().map_err(|_| "the reads were not noted")?;
    let queue = agent.queue()?;
    let mut rows = queue.prepare("select stored from inbound order by n")?;
    let stored = rows.query_map([], |row| row.get::<_, i64>(0))?.collect::<Result<Vec<_>, _>>()?;
    // A page that was handed out before anybody listened has no moment.
    let listed: usize = reads.iter().map(|(_, rows)| rows).sum();
    let moments = reads.iter().flat_map(|(at, rows)| std::iter::repeat_n(*at, *rows));
    let late = stored.iter().skip(stored.len().saturating_sub(listed));
    let mut waits: Vec<i64> = late.zip(moments).map(|(stored, read)| stored - i64::try_from(read).unwrap_or_default()).collect();
    waits.sort_unstable();
    let (median, p99) = (waits[waits.len() / 2], waits[waits.len() * 99 / 100]);
    println!(
        "messages sealed and stored: {rate:.0} a second (goal ≥ 1,000); from the read to the disk {median} ms, p99 {p99} ms (goal ≤ 50)"
    );
    Ok(())
}

/// Messages that begin a run each, in chats of their own, until the last run is over.
fn answered(program: &Path, text: &str, how: &str) -> Outcome<()> {
    let agent = Agent::start(program)?;
    let began = Instant::now();
    for at in 0..RUNS {
        agent.provider.post(10 + at as u64, Author::Person(1), text);
    }
    agent.until("select count(*) from inbound where state = 'done'", RUNS)?;
    agent.until("select count(distinct chat) from outbox", RUNS)?;
    let rate = RUNS as f64 / began.elapsed().as_secs_f64();
    let goal = if how == "without a model" { " (goal ≥ 300)" } else { "" };
    println!("runs {how}: {rate:.0} a second{goal}");
    Ok(())
}

/// Chats in which everything was said.
fn idle(program: &Path, chats: usize) -> Outcome<()> {
    let agent = Agent::start(program)?;
    let before = agent.memory()?;
    for at in 0..chats {
        agent.provider.post(10 + at as u64, Author::Person(1), "@fake_bot !help");
    }
    agent.until("select count(*) from inbound where state = 'done'", chats)?;
    thread::sleep(Duration::from_secs(20));
    println!("{chats} idle chats: {:.0} MiB, of which {before:.0} before the first (goal ≤ 64)", agent.memory()?);
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Outcome<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        match entry.file_type()?.is_dir() {
            true if entry.file_name() == ".trellis" => {}
            true => copy(&path, &target)?,
            false => drop(fs::copy(path, target)?),
        }
    }
    Ok(())
}

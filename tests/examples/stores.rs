//! Measures the stores that need no server and prints the figures of `docs/performance.md`:
//! `cargo run --release -p trellis-tests --example stores [ROUNDS [SESSIONS [STEPS [FOLDER]]]]`.
//!
//! Compared things run in turn, in one run, on the disk of the folder (else of `target`), and ratios are of medians: a busy machine slows both sides.
#![allow(clippy::print_stdout, reason = "it prints what it measured")]

use std::{
    env,
    error::Error,
    fs::File,
    future::Future,
    io::Write,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use rusqlite::Connection;
use serde_json::json;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use trellis_core::{Engine, Input, NodeId, Predicates, SessionId, Start, Value, engine::Answers};
use trellis_host::{
    Bindings, Clock, Session, Sessions,
    history::{Check, EditVerdict},
    session::Halt,
    store::{Append, FilesStore, Head, MemoryStore, Query, Row, SessionStatus, SessionStore, Snapshot, SqliteStore, Stored, Which},
};
use trellis_project::{Memory, Project};

/// Steps of one measured round on one session.
const STEPS: u64 = 1_000;
/// Sessions that step at once.
const AT_ONCE: u64 = 64;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let mut args = env::args().skip(1);
    let mut number = |otherwise: u64| args.next().map_or(Ok(otherwise), |text| text.parse());
    let (rounds, sessions, steps) = (number(9)?, number(100_000)?, number(1_000_000)?);
    // The folder for temporary files may lie in memory, where nothing waits for a disk.
    let folder = args.next().map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../target"), PathBuf::from);
    let folder = tempfile::tempdir_in(folder)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(sqlite_steps(&folder, rounds))?;
    runtime.block_on(sqlite_first_steps(&folder, rounds))?;
    runtime.block_on(files_steps(&folder, rounds))?;
    long(&runtime, &folder, steps, rounds)?;
    for (name, store) in [("SQLite", sqlite(&folder, "many.db")?), ("files", files(&folder, "many")?)] {
        runtime.block_on(many(name, &*store, sessions, rounds))?;
    }
    Ok(())
}

fn sqlite(folder: &TempDir, name: &str) -> Outcome<Arc<dyn SessionStore>> {
    Ok(Arc::new(SqliteStore::open(folder.path().join(name))?))
}

fn files(folder: &TempDir, name: &str) -> Outcome<Arc<dyn SessionStore>> {
    Ok(Arc::new(FilesStore::open(folder.path().join(name))?))
}

/// A step as a session stores it: a record of some 500 bytes, and a snapshot now and then.
fn step(session: &str, seq: u64) -> Append {
    let text = json!({
        "seq": seq, "at": 1_790_000_000_000_u64 + seq, "kind": "input", "input": { "text": "a sentence as people write them, no longer" },
        "from": "orders/ask", "to": "orders/confirm", "events": [{ "left": "orders/ask" }, { "entered": "orders/confirm" }],
        "changes": { "context": { "note": "x".repeat(160) }, "step": seq }, "program": "00f1c3d5a7b90e2468ace13579bdf02c"
    });
    let head = Head {
        session: session.into(),
        graph: "orders".into(),
        program: "00f1c3d5a7b90e2468ace13579bdf02c".into(),
        next: seq + 1,
        began: 1_790_000_000_000,
        at: 1_790_000_000_000 + seq,
        node: NodeId::from("orders/confirm"),
        standing: SessionStatus::WaitingForInput,
        due: None,
    };
    let snapshot = (seq % 64 == 63).then(|| json!({ "state": { "context": { "note": "x".repeat(2_000) } } }).to_string().into());
    Append { session: session.into(), expected: seq, records: vec![text.to_string().into()], head, snapshot }
}

/// Steps on one session, on many at once, and commits of the same texts without a store around them.
async fn sqlite_steps(folder: &TempDir, rounds: u64) -> Outcome<()> {
    let (store, many) = (sqlite(folder, "one.db")?, sqlite(folder, "at-once.db")?);
    let bare = Connection::open(folder.path().join("bare.db"))?;
    bare.execute_batch("PRAGMA journal_mode = wal; PRAGMA synchronous = full; CREATE TABLE records (seq INTEGER PRIMARY KEY, text TEXT)")?;
    let mut insert = bare.prepare("INSERT INTO records VALUES (?1, ?2)")?;
    let (mut bares, mut ones, mut manies) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..rounds {
        let steps: Vec<_> = (round * STEPS..(round + 1) * STEPS).map(|seq| step("one", seq)).collect();
        let began = Instant::now();
        for step in &steps {
            insert.execute((i64::try_from(step.expected)?, &*step.records[0]))?;
        }
        bares.push(began.elapsed() / u32::try_from(STEPS)?);
        ones.push(one_by_one(&*store, steps).await?);
        let each = STEPS / 8;
        let steps = |writer| (round * each..(round + 1) * each).map(|seq| step(&format!("session-{writer}"), seq)).collect::<Vec<_>>();
        let steps: Vec<_> = (0..AT_ONCE).map(steps).collect();
        let began = Instant::now();
        let writers = steps.into_iter().map(|steps| {
            let store = many.clone();
            tokio::spawn(async move { one_by_one(&*store, steps).await.map_err(|error| error.to_string()) })
        });
        for writer in writers.collect::<Vec<_>>() {
            writer.await??;
        }
        manies.push(began.elapsed() / u32::try_from(each * AT_ONCE)?);
    }
    let (bare, one, many) = (median(bares), median(ones), median(manies));
    println!("SQLite, bare commits of the same size          {:>9} steps/s", per_second(bare));
    println!(
        "SQLite, one session                            {:>9} steps/s   {:.2} × of bare commits (≥ 0.7)",
        per_second(one),
        ratio(bare, one)
    );
    println!(
        "SQLite, {AT_ONCE} sessions at once                   {:>9} steps/s   {:.2} × of one session (≥ 3)",
        per_second(many),
        ratio(one, many)
    );
    Ok(())
}

/// The first steps in a new file, against later ones in it: the median step of each, since a disk that others use too stops now and then.
async fn sqlite_first_steps(folder: &TempDir, rounds: u64) -> Outcome<()> {
    let (mut firsts, mut laters) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        let store = sqlite(folder, &format!("new-{round}.db"))?;
        for seq in 0..STEPS * 5 {
            let took = timed(store.append(step("one", seq))).await?.0;
            if seq < STEPS { firsts.push(took) } else { laters.push(took) }
        }
    }
    let (first, later) = (median(firsts), median(laters));
    println!(
        "SQLite, the first {STEPS} steps of a new file     {:>9} steps/s   {:.2} × the time of later ones (≤ 1.3)",
        per_second(first),
        ratio(first, later)
    );
    Ok(())
}

/// Returns the time of a step, one after another.
async fn one_by_one(store: &dyn SessionStore, steps: Vec<Append>) -> Outcome<Duration> {
    let (count, began) = (u32::try_from(steps.len())?, Instant::now());
    for step in steps {
        store.append(step).await?;
    }
    Ok(began.elapsed() / count)
}

/// Steps on one session in a file, and appends of the same size that are forced to the disk.
async fn files_steps(folder: &TempDir, rounds: u64) -> Outcome<()> {
    let store = files(folder, "one")?;
    store.append(Append { snapshot: None, ..step("one", 0) }).await?;
    let length = folder.path().join("one/one.jsonl").metadata()?.len();
    let line = vec![b'x'; usize::try_from(length)?];
    let mut bare = File::create(folder.path().join("bare.txt"))?;
    let (mut bares, mut ones) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        let began = Instant::now();
        for _ in 0..STEPS {
            bare.write_all(&line)?;
            bare.sync_data()?;
        }
        bares.push(began.elapsed() / u32::try_from(STEPS)?);
        ones.push(one_by_one(&*store, (round * STEPS + 1..=(round + 1) * STEPS).map(|seq| step("one", seq)).collect()).await?);
    }
    let (bare, one) = (median(bares), median(ones));
    println!("files, bare appends with fdatasync             {:>9} steps/s", per_second(bare));
    println!(
        "files, one session                             {:>9} steps/s   {:.2} × of bare appends (≥ 0.8)",
        per_second(one),
        ratio(bare, one)
    );
    Ok(())
}

/// A session that took very many steps, through the host, goes on.
fn long(runtime: &Runtime, folder: &TempDir, steps: u64, rounds: u64) -> Outcome<()> {
    let start =
        "---\ninput_type: text\nsave_to: said\ntransitions:\n  - { condition: said == \"stop\", to: end }\nto: start\n---\nAnd now?\n";
    let engine = || graph(&[("start.md", start), ("end.md", "---\n---\nGoodbye.\n")]);
    let id = SessionId::from("long");
    let taken = Arc::new(MemoryStore::new());
    runtime.block_on(async {
        let sessions = Sessions::new(engine()?, Bindings::default())?.store(taken.clone(), "long");
        sessions.start(Start { session: Some(id.clone()), ..Start::default() }).await?;
        for number in 1..steps {
            sessions.send(&id, Input::Text(format!("the answer {number}"))).await?;
        }
        Outcome::Ok(())
    })?;
    for (name, store) in [("SQLite", sqlite(folder, "long.db")?), ("files", files(folder, "long")?)] {
        runtime.block_on(copy(&*taken, &*store, &id))?;
        let mut resumed = Vec::new();
        for _ in 0..rounds.max(5) {
            let sessions = Sessions::new(engine()?, Bindings::default())?.store(store.clone(), "long");
            resumed.push(runtime.block_on(timed(sessions.resume(&id)))?.0);
        }
        println!("{name}, resuming a session of {steps} steps        {:>9.2} ms (≤ 20)", median(resumed).as_secs_f64() * 1e3);
    }
    Ok(())
}

fn graph(files: &[(&str, &str)]) -> Outcome<Engine> {
    let compiled = Project::with_loader(files.iter().copied().collect::<Memory>())?.compile();
    let program = compiled.program.ok_or_else(|| format!("the graph has findings: {:?}", compiled.diagnostics))?;
    Ok(Engine::new(program, Predicates::new())?)
}

/// Writes a session as it stands in one store to another, with its newest snapshot.
async fn copy(from: &dyn SessionStore, to: &dyn SessionStore, id: &SessionId) -> Outcome<()> {
    let Stored { head, snapshot, .. } = from.load(std::slice::from_ref(id)).await?.remove(0).ok_or("there is no session")?;
    let (held, snapshot) = snapshot.ok_or("there is no snapshot")?;
    let mut next = 0;
    while next < head.next {
        let until = if next < held { held } else { head.next };
        let rows = from.records(id, next, usize::try_from((until - next).min(1_000))?).await?;
        let records = rows.into_iter().map(|Row { text, .. }| text).collect::<Result<Vec<_>, _>>().map_err(|why| why.to_string())?;
        let (expected, behind) = (next, next + records.len() as u64);
        let snapshot = (behind == held).then(|| Arc::clone(&snapshot));
        to.append(Append { session: id.clone(), expected, records, head: Head { next: behind, ..head.clone() }, snapshot }).await?;
        next = behind;
    }
    Ok(())
}

/// Very many sessions that wait for their third answer: the first page of a list, and holding all against an edited graph.
async fn many(name: &str, store: &dyn SessionStore, sessions: u64, rounds: u64) -> Outcome<()> {
    let orders = |thanks: &str| {
        let ask = "---\ninput_type: text\nsave_to: said\ndefault_context: { tries: 0 }\ntransitions:\n  - { condition: said == \"stop\", to: end }\nto: ask\n---\nAnd now, {{ customer }}?\n";
        graph(&[("start.md", "---\nrequired_context: [customer, items]\nto: ask\n---\n"), ("ask.md", ask), ("end.md", thanks)])
    };
    let (engine, edited) = (orders("Goodbye.\n")?, orders("See you.\n")?);
    let names: Vec<_> = (0..sessions).map(|number| SessionId::new(format!("session-{number:06}"))).collect();
    let began = Instant::now();
    for names in names.chunks(512) {
        let appends: Vec<_> = names.iter().map(|name| waiting(&engine, name)).collect::<Outcome<_>>()?;
        for append in appends.into_iter().map(|append| store.append(append)).collect::<Vec<_>>() {
            append.await?;
        }
    }
    let kept = began.elapsed();
    let (mut pages, mut checks) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        pages.push(timed(store.list(Query { graph: None, which: Which::Newest, after: None, limit: 50 })).await?.0);
    }
    for _ in 0..rounds.min(3) {
        let (mut check, mut fine, began) = (Check::new(store, &edited, "orders"), 0, Instant::now());
        loop {
            let page = check.page().await?;
            if page.is_empty() {
                break;
            }
            fine += page.iter().filter(|checked| checked.verdict == EditVerdict::GoesOn && checked.is_edited(&edited)).count() as u64;
        }
        checks.push(began.elapsed() / u32::try_from(sessions)?);
        assert_eq!(fine, sessions);
    }
    println!(
        "{name}, {sessions} sessions: first page {:.2} ms (≤ 50), `check` {} sessions/s (≥ 20000), beginning them {} a second",
        median(pages).as_secs_f64() * 1e3,
        per_second(median(checks)),
        per_second(kept / u32::try_from(sessions)?)
    );
    Ok(())
}

/// A session that took two answers, as a store gets it.
fn waiting(engine: &Engine, name: &SessionId) -> Outcome<Append> {
    let context = [("customer", Value::from("Ana")), ("items", Value::from(vec![Value::from("a lamp"), Value::from("two chairs")]))];
    let start = Start { session: Some(name.clone()), context: context.into_iter().collect(), ..Start::default() };
    let mut session = Session::start(engine.clone(), start, Answers::new(), Clock::system())?;
    for answer in ["a sentence as people write them, no longer", "and another one"] {
        while !matches!(session.advance()?, Halt::Ask(_)) {}
        session.send(Input::Text(answer.to_owned()))?;
    }
    let records = session.take_records().iter().map(|record| Ok(serde_json::to_string(record)?.into())).collect::<Outcome<Vec<_>>>()?;
    let Snapshot { state, began, at, .. } = session.here();
    let head = Head {
        session: name.clone(),
        graph: "orders".into(),
        program: state.program.clone(),
        next: records.len() as u64,
        began: *began,
        at: *at,
        node: state.current_node_id.clone(),
        standing: SessionStatus::of(state),
        due: None,
    };
    Ok(Append { session: name.clone(), expected: 0, records, head, snapshot: None })
}

async fn timed<T, E: Error + 'static>(act: impl Future<Output = Result<T, E>>) -> Outcome<(Duration, T)> {
    let began = Instant::now();
    let done = act.await?;
    Ok((began.elapsed(), done))
}

fn median(mut samples: Vec<Duration>) -> Duration {
    samples.sort_unstable();
    samples.get(samples.len() / 2).copied().unwrap_or_default()
}

fn per_second(each: Duration) -> u64 {
    1_000_000_000 / u64::try_from(each.as_nanos()).unwrap_or(u64::MAX).max(1)
}

fn ratio(one: Duration, other: Duration) -> f64 {
    one.as_secs_f64() / other.as_secs_f64()
}

//! The costs of calls made of calls: children, parts, and a tree that is loaded from its store.
//!
//! `cargo run --release -p trellis-tests --example trees`

#![expect(clippy::print_stdout, reason = "it reports")]

use std::{error::Error, future, path::Path, sync::Arc, time::Instant};

use trellis_core::{Dialect, Document, Engine, Mapping, Predicates, SessionId, Source, Start, Value, compile};
use trellis_host::{
    Bindings, Sessions, Stop,
    binding::Host,
    store::{self, MemoryStore, SessionStore},
};

/// Children, or calls, in a row.
const IN_A_ROW: i64 = 2_000;
/// Parts of one call.
const PARTS: i64 = 1_000;
/// Children that wait at once: half of them below each of two.
const WAITING: usize = 100;
/// Rounds of each figure, of which the median counts.
const ROUNDS: usize = 7;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(children())?;
    runtime.block_on(parts())?;
    runtime.block_on(processes())?;
    runtime.block_on(taken_up())
}

/// A loop whose body is a child that begins and ends, against one whose body is an answer of a person.
async fn children() -> Outcome<()> {
    let counting = format!("transitions: [{{ condition: n == {IN_A_ROW}, to: end }}, {{ to: again }}]");
    let looped = |call: &str, kid: &[(&str, &str)]| {
        let again = format!("---\n{call}\nsave_to: r\nset: {{ n: \"{{{{ n + 1 }}}}\" }}\n{counting}\n---\n");
        let files = [
            ("trellis.yaml", "limits: { pass_through: 1000000 }\nbindings: { here: { function: here } }\n"),
            ("start.md", "---\ndefault_context: { n: 0 }\nto: again\n---\n"),
            ("again.md", &again),
            ("end.md", "Done.\n"),
        ];
        engine(&[&files, kid].concat())
    };
    let (child, call) = (looped("do: { graph: kid }", &[("kid.md", "---\noutput: 1\n---\n")])?, looped("do: here", &[])?);
    let mut memory = Vec::new();
    let (mut durable_child, mut durable_call) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        memory.push(walked(&child, Arc::new(MemoryStore::new())).await?);
        let folder = tempfile::tempdir()?;
        let sqlite = |name: &str| format!("sqlite:{}", folder.path().join(name).display());
        durable_child.push(walked(&child, store::open(&sqlite("child.db")).await?).await?);
        durable_call.push(walked(&call, store::open(&sqlite("call.db")).await?).await?);
    }
    let (memory, child, call) = (median(memory), median(durable_child), median(durable_call));
    println!("a child that begins and ends, memory store: {memory:.1} µs (goal ≤ 15)");
    println!("… over SQLite: {child:.1} µs, {:.2} × of a durable call of a function, {call:.1} µs (goal ≤ 1.2 ×)", child / call);
    Ok(())
}

/// Microseconds that each round of a loop takes.
async fn walked(engine: &Engine, store: Arc<dyn SessionStore>) -> Outcome<f64> {
    let began = Instant::now();
    let turn = sessions(engine)?.store(store, "trees").start(Start::default()).await?;
    assert!(matches!(turn.stop, Stop::Ended(_)), "{turn:?}");
    Ok(began.elapsed().as_secs_f64() * 1e6 / IN_A_ROW as f64)
}

/// A thousand calls of a function by the items of one list, and the bytes of the state half way.
async fn parts() -> Outcome<()> {
    let engine = engine(&[
        (
            "trellis.yaml",
            "bindings: { here: { function: here } }\ninputs: { type: object, required: [calls], properties: { calls: { type: array } } }\n",
        ),
        ("start.md", "---\ntools: [here]\ndo: { each: calls }\nsave_to: r\nto: end\n---\n"),
        ("end.md", "Done.\n"),
    ])?;
    let item = |n: i64| Value::map([("id", Value::Int(n)), ("name", Value::text("here")), ("args", Value::map([("n", Value::Int(n))]))]);
    let items = Value::list((0..PARTS).map(item));
    let context = Mapping::from_iter([("calls", items.clone())]);
    let mut each = Vec::new();
    for _ in 0..ROUNDS {
        let sessions = sessions(&engine)?.store(Arc::new(MemoryStore::new()), "trees");
        let began = Instant::now();
        let turn = sessions.start(Start { context: context.clone(), ..Start::default() }).await?;
        assert!(matches!(turn.stop, Stop::Ended(_)), "{turn:?}");
        each.push(PARTS as f64 / began.elapsed().as_secs_f64());
    }
    println!("`each` of {PARTS} calls of a function, memory store: {:.0} parts/s (goal ≥ 200,000)", median(each));

    // The same calls left to a client, of which all but one came back.
    let policy = trellis_host::Policy::default().unbound(trellis_host::Unbound::Elsewhere);
    let elsewhere = Sessions::new(engine.clone(), Bindings::none())?.policy(policy).store(Arc::new(MemoryStore::new()), "trees");
    let mut turn = elsewhere.start(Start { context, ..Start::default() }).await?;
    for n in 1..PARTS {
        let Stop::Call { call, .. } = &turn.stop else { return Err(format!("{turn:?}").into()) };
        let outcome = trellis_core::ToolOutcome::Success(Value::map([("n", Value::Int(n))]));
        let result = trellis_core::ToolResult::new(call.id.clone(), outcome);
        turn = elsewhere.send(&turn.session, trellis_core::Input::Result(result)).await?;
    }
    let state = elsewhere.look(&turn.session, |session| serde_json::to_string(session.here())).ok_or("no session")??;
    let results = PARTS as usize * r#"{"n":1000}"#.len();
    // The list stands in the context and in the frozen call.
    let least = 2 * items.to_json().len() + results;
    println!(
        "… the state before the last: {} KB, {:.2} × of its items, twice, and results (goal ≤ 1.2 ×)",
        state.len() / 1000,
        state.len() as f64 / least as f64
    );
    Ok(())
}

/// Three processes of 100 ms side by side, against one.
async fn processes() -> Outcome<()> {
    let sleeps = "bindings: { nap: { process: [sleep, '0.1'] } }\n";
    let of = |call: &str| {
        let start = format!("---\ndo: {call}\nsave_to: r\nto: end\n---\n");
        engine(&[("trellis.yaml", sleeps), ("start.md", &start), ("end.md", "Done.\n")])
    };
    let (one, three) = (of("nap")?, of("{ parallel: { a: nap, b: nap, c: nap } }")?);
    let (mut alone, mut together) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        for (engine, times) in [(&one, &mut alone), (&three, &mut together)] {
            let sessions = sessions(engine)?.store(Arc::new(MemoryStore::new()), "trees");
            let began = Instant::now();
            let turn = sessions.start(Start::default()).await?;
            assert!(matches!(turn.stop, Stop::Ended(_)), "{turn:?}");
            times.push(began.elapsed().as_secs_f64() * 1e3);
        }
    }
    let (alone, together) = (median(alone), median(together));
    println!("`parallel` of 3 processes of 100 ms: {together:.1} ms, {:.2} × of one (goal ≤ 1.1 ×)", together / alone);
    Ok(())
}

/// A session with a hundred children that wait, taken up from SQLite, against one session of as many bytes.
async fn taken_up() -> Outcome<()> {
    let node = |graph: &str, count: usize| {
        let branches: String =
            (0..count).map(|n| format!("    b{n}: {{ graph: {graph}, args: {{ text: \"{{{{ text }}}}\" }} }}\n")).collect();
        format!("---\nrequired_context: [text]\ndo:\n  parallel:\n{branches}  limit: {count}\nsave_to: r\nto: end\n---\n")
    };
    let (start, half) = (node("half", 2), node("kid", WAITING / 2));
    let inputs = "inputs: { type: object, required: [text], properties: { text: { type: string } } }\n";
    let files = [
        ("trellis.yaml", inputs),
        ("start.md", &*start),
        ("half.md", &*half),
        ("kid.md", "---\nrequired_context: [text]\ninput_type: int\nsave_to: n\nto: kid_end\n---\nWell?\n"),
        ("kid_end.md", "---\noutput: 1\n---\n"),
        ("end.md", "Done.\n"),
    ];
    let tree = engine(&files)?;
    let single = engine(&[
        ("trellis.yaml", inputs),
        ("start.md", "---\ninput_type: int\nsave_to: n\nto: end\n---\nWell?\n"),
        ("end.md", "Done.\n"),
    ])?;
    let folder = tempfile::tempdir()?;
    let at = format!("sqlite:{}", folder.path().join("sessions.db").display());
    let of = |n: usize| Mapping::from_iter([("text", Value::text("x".repeat(n)))]);
    let begin = async |engine: &Engine, name: &str, size: usize| -> Outcome<usize> {
        let sessions = sessions(engine)?.store(store::open(&at).await?, name);
        let turn = sessions.start(Start { session: Some(SessionId::from(name)), context: of(size), ..Start::default() }).await?;
        let here = sessions.look(&turn.session, |session| (session.here().children.len(), serde_json::to_string(session.here())));
        let (children, text) = here.ok_or("no session")?;
        println!("  {name}: {children} children, {} KB", text.as_ref().map_or(0, String::len) / 1000);
        Ok(text?.len())
    };
    let bytes = begin(&tree, "tree", 1_000).await?;
    begin(&single, "single", bytes).await?;
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        for (which, (engine, name)) in [(&tree, "tree"), (&single, "single")].into_iter().enumerate() {
            let sessions = sessions(engine)?.store(store::open(&at).await?, name);
            let began = Instant::now();
            let turn = sessions.resume(&SessionId::from(name)).await?;
            times[which].push(began.elapsed().as_secs_f64() * 1e3);
            assert!(matches!(turn.stop, Stop::Ask { .. }), "{turn:?}");
        }
    }
    let [tree, single] = times.map(median);
    println!(
        "resume of a session with children that wait: {tree:.2} ms, {:.2} × of one of the same bytes, {single:.2} ms (goal ≤ 3 ×)",
        tree / single
    );
    Ok(())
}

/// Sessions whose function `here` returns at once.
fn sessions(engine: &Engine) -> Outcome<Sessions> {
    let (bindings, found) = Bindings::new(engine.inspect(), Path::new("."), &Host::new());
    assert!(found.is_empty(), "{found:?}");
    let bindings = bindings.function_async("here", |_, args| future::ready(Ok(Value::Map(args)))).shared();
    Ok(Sessions::new(engine.clone(), bindings)?)
}

fn engine(files: &[(&str, &str)]) -> Outcome<Engine> {
    let parse = |&(path, text): &(&str, &str)| Arc::new(Document::parse(&Source::text(path, text), Dialect::default()));
    let compiled = compile(&files.iter().map(parse).collect::<Vec<_>>());
    let program = compiled.program.ok_or_else(|| format!("{:#?}", compiled.diagnostics))?;
    Ok(Engine::new(program, Predicates::new())?)
}

fn median(mut each: Vec<f64>) -> f64 {
    each.sort_by(f64::total_cmp);
    each[each.len() / 2]
}

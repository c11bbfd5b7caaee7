//! The costs of sessions: a call of a function through the memory store, and memory while nobody answers.
//!
//! `cargo run --release -p trellis-tests --example sessions`

#![expect(clippy::print_stdout, reason = "it reports")]

use std::{error::Error, fs, future, sync::Arc, time::Instant};

use trellis_core::{Dialect, Document, Engine, Input, Mapping, Predicates, SessionId, Source, Start, ToolError, Value, compile};
use trellis_host::{
    Bindings, Sessions, Stop,
    binding::Host,
    store::{Append, Head, MemoryStore, Pending, Query, Removal, Row, SessionStore, Stored},
};

/// Calls in a row, and sessions side by side.
const CALLS: i64 = 20_000;
const SESSIONS: usize = 50_000;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(calls())?;
    runtime.block_on(answers())?;
    runtime.block_on(idle())
}

/// A loop that calls until the function has counted to the end.
async fn calls() -> Outcome<()> {
    let engine = engine(&[
        (
            "trellis.yaml",
            "limits: { pass_through: 1000000 }\nbindings:\n  next: { function: next, returns: { type: [integer, 'null'] } }\n",
        ),
        (
            "start.md",
            "---\ndefault_context: { n: 0 }\ndo: { name: next, args: { n: \"{{ n }}\" } }\nsave_to: n\ntransitions: [{ condition: n is empty, to: end }, { to: start }]\n---\n",
        ),
        ("end.md", "Done.\n"),
    ])?;
    let next = |args: Mapping| -> Result<Value, ToolError> {
        let Some(Value::Int(n)) = args.get("n") else { return Ok(Value::Null) };
        Ok(if *n < CALLS { Value::Int(n + 1) } else { Value::Null })
    };
    let (bindings, _) = Bindings::new(engine.inspect(), std::path::Path::new("."), &Host::new());
    let here = bindings.clone().function_async("next", move |_, args| future::ready(next(args)));
    let aside = bindings.function("next", move |_, args| next(args));
    for (which, bindings) in [("an asynchronous function", here), ("a function that may block, on a thread of its own", aside)] {
        let mut each = Vec::new();
        for _ in 0..7 {
            let sessions = Sessions::new(engine.clone(), bindings.clone())?.store(Arc::new(MemoryStore::new()), "calls");
            let began = Instant::now();
            let turn = sessions.start(Start::default()).await?;
            assert!(matches!(turn.stop, Stop::Ended(_)), "{turn:?}");
            each.push(began.elapsed().as_secs_f64() * 1e6 / CALLS as f64);
        }
        each.sort_by(f64::total_cmp);
        println!("a call of {which}, memory store: {:.2} µs (median of {}; reach ≤ 10)", each[each.len() / 2], each.len());
    }
    Ok(())
}

/// A question that asks itself again, answered with and without its number, in turn.
async fn answers() -> Outcome<()> {
    let engine = engine(&[("start.md", "---\ninput_type: int\nsave_to: n\nto: start\n---\nNumber {{ n | default(0) }}?\n")])?;
    let sessions =
        |name| Ok::<_, Box<dyn Error>>(Sessions::new(engine.clone(), Bindings::none())?.store(Arc::new(MemoryStore::new()), name));
    let (mut numbered, mut unnumbered) = (Vec::new(), Vec::new());
    for round in 0..14 {
        let sessions = sessions("answers")?;
        let mut turn = sessions.start(Start::default()).await?;
        let began = Instant::now();
        for n in 0..CALLS {
            let input = Input::Value(Value::Int(n));
            let sent = if round % 2 == 0 { turn.answer(input) } else { input.into() };
            turn = sessions.send(&turn.session, sent).await?;
        }
        let each = began.elapsed().as_secs_f64() * 1e6 / CALLS as f64;
        if round % 2 == 0 { numbered.push(each) } else { unnumbered.push(each) }
    }
    let median = |each: &mut Vec<f64>| {
        each.sort_by(f64::total_cmp);
        each[each.len() / 2]
    };
    let (numbered, unnumbered) = (median(&mut numbered), median(&mut unnumbered));
    let ratio = numbered / unnumbered;
    println!("an answer that names its question, memory store: {numbered:.2} µs, {ratio:.2} × of one that does not (reach ≤ 1.02)");
    Ok(())
}

/// Sessions that wait for an answer, in a store that takes no memory here.
async fn idle() -> Outcome<()> {
    let engine = engine(&[
        ("start.md", "---\ndefault_context: { order: 1 }\ninput_type: text\nsave_to: name\nto: end\n---\nWhat is your name?\n"),
        ("end.md", "Thank you, {{ name }}.\n"),
    ])?;
    let sessions = Sessions::new(engine, Bindings::none())?.store(Arc::new(Elsewhere), "idle").in_memory(usize::MAX);
    let start = |n: usize| Start { session: Some(SessionId::new(format!("session-{n}"))), ..Start::default() };
    for n in 0..1000 {
        sessions.start(start(n)).await?;
    }
    let before = resident()?;
    for n in 1000..1000 + SESSIONS {
        sessions.start(start(n)).await?;
    }
    let each = (resident()? - before) as f64 / SESSIONS as f64;
    println!("an idle session with two keys: {each:.0} bytes (reach ≤ 2,048 and its context)");
    Ok(())
}

/// A store on another machine, as far as the memory here goes.
struct Elsewhere;

impl SessionStore for Elsewhere {
    fn append(&self, _: Append) -> Pending<'_, ()> {
        Box::pin(future::ready(Ok(())))
    }

    fn load<'a>(&'a self, sessions: &'a [SessionId]) -> Pending<'a, Vec<Option<Stored>>> {
        Box::pin(future::ready(Ok(vec![None; sessions.len()])))
    }

    fn records<'a>(&'a self, _: &'a SessionId, _: u64, _: usize) -> Pending<'a, Vec<Row>> {
        Box::pin(future::ready(Ok(Vec::new())))
    }

    fn list(&self, _: Query) -> Pending<'_, Vec<Head>> {
        Box::pin(future::ready(Ok(Vec::new())))
    }

    fn remove<'a>(&'a self, _: &'a SessionId, _: Removal) -> Pending<'a, ()> {
        Box::pin(future::ready(Ok(())))
    }
}

fn engine(files: &[(&str, &str)]) -> Outcome<Engine> {
    let parse = |&(path, text): &(&str, &str)| Arc::new(Document::parse(&Source::text(path, text), Dialect::default()));
    let compiled = compile(&files.iter().map(parse).collect::<Vec<_>>());
    let program = compiled.program.ok_or_else(|| format!("{:#?}", compiled.diagnostics))?;
    Ok(Engine::new(program, Predicates::new())?)
}

/// Bytes of memory that are in use.
fn resident() -> Outcome<usize> {
    let status = fs::read_to_string("/proc/self/statm")?;
    let pages: usize = status.split(' ').nth(1).ok_or("no such field")?.parse()?;
    Ok(pages * 4096)
}

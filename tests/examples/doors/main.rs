//! Measures the doors from outside and prints the figures of `docs/performance.md`:
//! `cargo build --release -p trellis-cli && cargo run --release -p trellis-tests --example doors [TRELLIS [ROUNDS]]`.
//!
//! The load comes from the same machine, and what is compared runs in turn: ratios are of medians.

#![allow(clippy::print_stdout, reason = "it prints what it measured")]

mod bare;
mod load;
mod programs;
mod streams;

use std::{env, error::Error, path::PathBuf, time::Duration};

use load::{Load, Request};
use programs::{Program, graph};
use serde_json::json;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// The time of each side in a round.
const TURN: Duration = Duration::from_millis(700);

fn main() -> Outcome<()> {
    let args: Vec<String> = env::args().skip(1).collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    match args.first().map(String::as_str) {
        Some("bare") => runtime.block_on(bare::serve(args[1].parse()?)),
        Some("streams") => runtime.block_on(streams::serve(&args[1])),
        // Only the streams.
        Some("many") => runtime.block_on(streams::compared()),
        _ => {
            let program = args
                .first()
                .map_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../target/release/trellis")), PathBuf::from);
            let rounds = args.get(1).map_or(Ok(7), |text| text.parse())?;
            runtime.block_on(measured(&program.canonicalize()?, rounds))
        }
    }
}

async fn measured(program: &std::path::Path, rounds: usize) -> Outcome<()> {
    let shop = graph("loop", LOOP)?;
    let open = Program::serve(program, shop.path(), &["--store", "memory", "--no-token"])?;
    let state = open.post("/api/graphs/loop/engine/start", &json!({}))?["state"].clone();
    let step = json!({ "state": state, "input": "word" });
    let answer = open.post("/navigate", &step)?.to_string();
    let bare = Program::bare(answer.len())?;
    let echo = [Request::post(bare.port, "/echo", &step, "")];
    let navigate = [Request::post(open.port, "/navigate", &step, "")];
    compare("navigate against a bare echo, 16 connections (≥ 0.7 ×, p99 ≤ 2 ms)", rounds, &echo, &navigate).await?;

    let sessions = |program: &Program| -> Outcome<Vec<Request>> {
        (0..load::CONNECTIONS)
            .map(|number| {
                let id = format!("s{number}");
                program.post("/api/sessions", &json!({ "id": id }))?;
                Ok(Request::post(program.port, &format!("/api/sessions/{id}/turns"), &json!({ "input": "word" }), &program.authorization()))
            })
            .collect()
    };
    let turns = sessions(&open)?;
    compare("turns in memory against a bare echo (≥ 0.5 ×)", rounds, &echo, &turns).await?;
    let kept = tempfile::tempdir()?;
    let file = format!("sqlite:{}", kept.path().join("doors.db").display());
    let sqlite = Program::serve(program, shop.path(), &["--store", &file, "--no-token"])?;
    let turns = sessions(&sqlite)?;
    let durable = load::durable(kept.path(), LOOP, rounds, TURN).await?;
    let over_http = Load::of(&turns, rounds, TURN).await?;
    ratio("turns in SQLite against durable steps of the host (≥ 0.8 ×)", durable, over_http.median());

    let tokens = kept.path().join("tokens");
    programs::tokens_file(&tokens, 32)?;
    let gated = Program::serve(program, shop.path(), &["--store", "memory", "--token-file", &tokens.display().to_string()])?;
    let free = [Request::get(open.port, "/api/explain/ended", "")];
    let guarded = [Request::get(gated.port, "/api/explain/ended", &gated.authorization())];
    compare("a read with a file of 32 tokens against none (≥ 0.93 ×)", rounds, &free, &guarded).await?;
    drop((open, sqlite, gated));

    programs::starts(program, rounds)?;
    programs::layout(program, 10_000)?;
    programs::call_of_a_flow(program)?;
    streams::compared().await
}

/// A graph that asks for ever.
const LOOP: &[(&str, &str)] =
    &[("start.yaml", "name: loop\nnodes:\n  start: { content: \"A word?\", input_type: text, save_to: word, to: start }\n")];

/// Runs two loads in turn, and prints how they compare.
async fn compare(what: &str, rounds: usize, bare: &[Request], other: &[Request]) -> Outcome<()> {
    let (mut one, mut two) = (Load::default(), Load::default());
    for _ in 0..rounds {
        one.run(bare, TURN).await?;
        two.run(other, TURN).await?;
    }
    ratio(what, one.median(), two.median());
    println!("               p99 {:.2} ms, of the bare one {:.2} ms", two.p99().as_secs_f64() * 1e3, one.p99().as_secs_f64() * 1e3);
    Ok(())
}

fn ratio(what: &str, bare: f64, other: f64) {
    println!("{what}: {:.2} ({other:.0} against {bare:.0} a second)", other / bare);
}

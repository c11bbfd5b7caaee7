//! A host with tools and predicates written in Rust: a small shop that sells apples.
//!
//! `cargo run -p example-functions`. The graph beside this file names two tools and one predicate; all three are answered here.

use std::{error::Error, process::ExitCode};

use tokio::io::{BufReader, stdin, stdout};
use trellis_core::{Context, Engine, Mapping, Predicates, Start, ToolError, Value};
use trellis_host::{Bindings, CallContext, Reason, Runner, Sessions, TextConsole};
use trellis_project::Project;

const GRAPH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/graph");
const STOCK: i64 = 30;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<ExitCode, Box<dyn Error>> {
    let program = Project::open(GRAPH)?.compile().program.ok_or("the graph has mistakes; `trellis check` shows them")?;
    let limits = *program.limits();
    let engine = Engine::new(program, Predicates::new().with("is_expensive", is_expensive))?;
    let bindings = Bindings::none().function("price", price).function("sell", sell);
    let console = TextConsole::new(BufReader::new(stdin()), stdout(), limits.input, limits.tool_output);
    let outcome = Runner::new(console, Sessions::new(engine, bindings)?).run(Start::default()).await?;
    Ok(if outcome.reason == Reason::Finished { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A predicate: a pure question about the context. The graph says which keys it needs, so `total` is there when it is asked.
fn is_expensive(context: &Context) -> bool {
    matches!(context.get("quote").and_then(|quote| quote.as_map()?.get("total")), Some(Value::Int(total)) if *total > 20)
}

/// A tool that only calculates.
fn price(_: &CallContext, args: Mapping) -> Result<Value, ToolError> {
    Ok(Value::map([("total", Value::Int(count(&args)? * 2))]))
}

/// A tool that may fail: the graph's `on_error` shows the message.
fn sell(_: &CallContext, args: Mapping) -> Result<Value, ToolError> {
    let count = count(&args)?;
    if count > STOCK {
        return Err(ToolError::new(format!("there are only {STOCK} apples left")));
    }
    Ok(Value::map([("left", Value::Int(STOCK - count))]))
}

fn count(args: &Mapping) -> Result<i64, ToolError> {
    match args.get("count") {
        Some(Value::Int(count)) => Ok(*count),
        _ => Err(ToolError::new("`count` is an integer")),
    }
}

//! The additional cost of a binding of MCP over the bare client: calls in a row over standard input and output, of a server that does nothing.
//!
//! `cargo run --release -p trellis-tests --example mcp`

#![expect(clippy::print_stdout, reason = "it reports, and serves")]

use std::{
    env,
    error::Error,
    io::{BufRead, Write},
    sync::Arc,
    time::Instant,
};

use rmcp::{ServiceExt, model::CallToolRequestParams, transport::TokioChildProcess};
use serde_json::{Value as Json, json};
use tokio::process::Command;
use trellis_core::{Dialect, Document, Source, ToolOutcome, compile, state::PendingCall};
use trellis_host::{
    Bindings,
    binding::{Caller, Host},
};

/// Calls in a row, and rounds of them.
const CALLS: u32 = 5_000;
const ROUNDS: usize = 9;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    if env::args().nth(1).as_deref() == Some("serve") {
        return serve();
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(compared())
}

/// A server of 2025 with one tool, which says its argument.
fn serve() -> Outcome<()> {
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let message: Json = serde_json::from_str(&line?)?;
        let result = match message["method"].as_str() {
            Some("initialize") => {
                json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "bench", "version": "1"}})
            }
            Some("tools/list") => {
                json!({"tools": [{"name": "echo", "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}}]})
            }
            Some("tools/call") => json!({"content": [{"type": "text", "text": message["params"]["arguments"]["text"]}]}),
            _ if message.get("id").is_none() => continue,
            _ => {
                writeln!(
                    out,
                    "{}",
                    json!({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "no such method"}})
                )?;
                out.flush()?;
                continue;
            }
        };
        writeln!(out, "{}", json!({"jsonrpc": "2.0", "id": message["id"], "result": result}))?;
        out.flush()?;
    }
    Ok(())
}

async fn compared() -> Outcome<()> {
    let program = env::current_exe()?;
    let mut command = Command::new(&program);
    command.arg("serve");
    let bare = ().serve(TokioChildProcess::new(command)?).await?;
    let project = format!("servers: {{ s: {{ process: [{}, serve] }} }}\nbindings: {{ echo: {{ mcp: s/echo }} }}\n", json!(program));
    let sources = [Source::text("start.yaml", "content: hello\n"), Source::text("trellis.yaml", &project)];
    let documents = sources.map(|source| Arc::new(Document::parse(&source, Dialect::default())));
    let graph = compile(&documents).program.ok_or("the graph has mistakes")?;
    let host = Host::new();
    let (bindings, _) = Bindings::new(&graph, env::current_dir()?.as_path(), &host);
    let call = json!({"id": "c", "name": "echo", "role": "do", "node": "start", "args": {"text": "hello"}, "secrets": [], "idempotency_key": "k", "attempt": 1});
    let call: PendingCall = serde_json::from_value(call)?;
    let caller = Caller::new("s".into(), "bench".into(), |_| {});
    let (mut alone, mut bound) = (Vec::new(), Vec::new());
    for round in 0..2 * ROUNDS {
        let began = Instant::now();
        for _ in 0..CALLS {
            if round % 2 == 0 {
                let args = json!({"text": "hello"}).as_object().cloned().unwrap_or_default();
                bare.call_tool(CallToolRequestParams::new("echo").with_arguments(args)).await?;
            } else {
                let result = bindings.call(&graph, &call, &caller).await;
                assert!(matches!(result.outcome, ToolOutcome::Success(_)), "{result:?}");
            }
        }
        let each = began.elapsed().as_secs_f64() * 1e6 / f64::from(CALLS);
        if round % 2 == 0 { alone.push(each) } else { bound.push(each) }
    }
    alone.sort_by(f64::total_cmp);
    bound.sort_by(f64::total_cmp);
    let (alone, bound) = (alone[ROUNDS / 2], bound[ROUNDS / 2]);
    println!("bare rmcp: {alone:.1} µs a call; binding: {bound:.1} µs; {:.2} of the calls a second (goal ≥ 0.8)", alone / bound);
    host.close().await;
    bare.cancel().await?;
    Ok(())
}

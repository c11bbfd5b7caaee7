//! Hooks that write structured logs by `tracing`, and numbers for Prometheus.
//!
//! `cargo run -p example-structured-logging [FILE]`. What the graph says is on standard output, the log on standard error, one JSON object a line. In the
//! end the numbers are written to FILE, where the textfile collector of a node exporter may read them, or printed. [`Log`] is all that a program needs to
//! log sessions by whatever it logs with; the engine knows neither `tracing` nor Prometheus.

use std::{
    error::Error,
    io,
    process::ExitCode,
    sync::mpsc::{Receiver, Sender, channel},
    time::Duration,
};

use tokio::io::{AsyncBufRead, AsyncWrite, AsyncWriteExt, BufReader, stdin, stdout};
use tracing::{Subscriber, info, warn};
use tracing_subscriber::fmt::MakeWriter;
use trellis_core::{
    Engine, Mapping, NodeId, Predicates, Start, ToolError, ToolResult, Value,
    id::{CallId, SignalName},
    state::EndReason,
};
use trellis_host::{
    Bindings, CallContext, Reason, Runner, Sessions, TextConsole,
    hooks::{Hooks, Moment, TakenUp},
    metrics::Metrics,
};
use trellis_project::Project;

const GRAPH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/graph");
/// The time in which the last lines and numbers must come.
const PATIENCE: Duration = Duration::from_secs(5);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<ExitCode, Box<dyn Error>> {
    tracing::subscriber::set_global_default(json_lines(io::stderr))?;
    let (reason, numbers) = walk(BufReader::new(stdin()), stdout()).await?;
    match std::env::args_os().nth(1) {
        Some(file) => std::fs::write(file, numbers)?,
        None => stdout().write_all(numbers.as_bytes()).await?,
    }
    Ok(if reason == Reason::Finished { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// One JSON object for each event, its fields beside its time and level.
fn json_lines<W: for<'w> MakeWriter<'w> + Send + Sync + 'static>(writer: W) -> impl Subscriber + Send + Sync {
    tracing_subscriber::fmt().json().flatten_event(true).with_current_span(false).with_writer(writer).finish()
}

/// Walks the graph once: why it ended, and what was counted.
async fn walk<I, O>(input: I, output: O) -> Result<(Reason, String), Box<dyn Error>>
where
    I: AsyncBufRead + Unpin + Send + 'static,
    O: AsyncWrite + Unpin + Send + 'static,
{
    let program = Project::open(GRAPH)?.compile().program.ok_or("the graph has mistakes; `trellis check` shows them")?;
    let limits = *program.limits();
    let bindings = Bindings::none().function("find_order", find_order);
    let (metrics, (log, logged)) = (Metrics::new(), Log::new());
    let sessions = metrics.over(Sessions::new(Engine::new(program, Predicates::new())?, bindings)?.hooks(log));
    let console = TextConsole::new(input, output, limits.input, limits.tool_output);
    let outcome = Runner::new(console, sessions).run(Start::default()).await?;
    // Hooks have threads of their own: the sessions are gone, now they come to their end.
    let _ = logged.recv_timeout(PATIENCE);
    metrics.finish(PATIENCE);
    Ok((outcome.reason, metrics.render()))
}

/// A tool that knows two orders.
fn find_order(_: &CallContext, args: Mapping) -> Result<Value, ToolError> {
    let status = match args.get("id") {
        Some(Value::Int(7)) => "on its way",
        Some(Value::Int(8)) => "delivered",
        _ => return Err(ToolError::new("there is no such order")),
    };
    Ok(Value::map([("status", Value::text(status))]))
}

/// Writes what happens in sessions as events of `tracing`: names of nodes and tools, and never what anybody said.
struct Log {
    /// Closed when the last event was written.
    _done: Sender<()>,
}

impl Log {
    fn new() -> (Self, Receiver<()>) {
        let (done, logged) = channel();
        (Self { _done: done }, logged)
    }
}

impl Hooks for Log {
    fn on_start(&self, moment: &Moment) {
        info!(session = %moment.session, node = %moment.node, "session began");
    }

    fn on_resume(&self, moment: &Moment, _: &TakenUp) {
        info!(session = %moment.session, node = %moment.node, "session taken up");
    }

    fn on_node_enter(&self, moment: &Moment, node: &NodeId) {
        info!(session = %moment.session, seq = moment.seq, %node, "node entered");
    }

    fn on_node_leave(&self, moment: &Moment, node: &NodeId) {
        info!(session = %moment.session, seq = moment.seq, %node, "node left");
    }

    fn on_tool_call(&self, moment: &Moment, call: &CallId, tool: &str) {
        info!(session = %moment.session, seq = moment.seq, %call, tool, "tool called");
    }

    fn on_tool_return(&self, moment: &Moment, call: &CallId, outcome: &str, _: Option<&ToolResult>) {
        match outcome {
            "success" => info!(session = %moment.session, seq = moment.seq, %call, outcome, "tool returned"),
            _ => warn!(session = %moment.session, seq = moment.seq, %call, outcome, "tool returned"),
        }
    }

    fn on_signal(&self, moment: &Moment, signal: &SignalName) {
        info!(session = %moment.session, seq = moment.seq, %signal, "signal taken");
    }

    fn on_end(&self, moment: &Moment, reason: EndReason) {
        info!(session = %moment.session, seq = moment.seq, reason = ?reason, "session ended");
    }
}

#[cfg(test)]
mod tests;

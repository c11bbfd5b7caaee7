//! Bindings over HTTP, against servers that others wrote and against a socket with bad manners.

mod config;
mod manners;
mod proxies;
mod requests;
mod responses;
mod servers;
mod sessions;
mod tls;

use std::path::Path;

use trellis_core::{ToolError, ToolOutcome, ToolResult, Value, state::PendingCall};
use trellis_host::{
    Bindings, Secrets,
    binding::{Caller, Host},
};

use crate::stage::program;

/// Calls the tool `t` of a project file with arguments, where relative paths begin in a folder.
async fn call_in(folder: &Path, project: &str, args: &str) -> ToolResult {
    call_within(None, folder, project, args).await
}

/// The same, with milliseconds that it may take.
async fn call_within(timeout: Option<u64>, folder: &Path, project: &str, args: &str) -> ToolResult {
    let program = program(&[("trellis.yaml", project), ("start.md", "---\ndo: t\n---\n")]);
    let host = Host::new().secrets(Secrets::new(|name| (name == "key").then(|| "hunter2".to_owned())));
    let (bindings, found) = Bindings::new(&program, folder, &host);
    assert!(found.is_empty(), "{found:#?}");
    let json = format!(r#"{{"id":"c1","name":"t","role":"do","node":"start","args":{args},"idempotency_key":"k1","attempt":2}}"#);
    let call = PendingCall { timeout, ..serde_json::from_str(&json).unwrap() };
    bindings.call(&program, &call, &Caller::new("s".into(), "g".into(), |_| {})).await
}

/// Calls a tool with this `http:`, as a flow mapping, and these keys beside it.
async fn call(http: &str, beside: &str, args: &str) -> ToolResult {
    let project = format!("limits: {{ tool_output: 100000 }}\nbindings:\n  t:\n    http: {http}\n{beside}");
    call_in(Path::new("."), &project, args).await
}

fn value(result: ToolResult) -> Value {
    match result.outcome {
        ToolOutcome::Success(value) => value,
        other => panic!("{other:?}"),
    }
}

fn error(result: ToolResult) -> ToolError {
    match result.outcome {
        ToolOutcome::Error(error) => error,
        other => panic!("{other:?}"),
    }
}

/// The code of an error, and whether it is final.
fn code(error: &ToolError) -> (&str, bool) {
    (error.code.as_ref().and_then(Value::as_str).unwrap_or("none"), error.is_final)
}

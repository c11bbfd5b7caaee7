//! One attempt of a call: sent, awaited, and cancelled when the caller stops waiting.

use std::time::Duration;

use rmcp::{
    RoleClient,
    model::{CallToolRequest, CallToolRequestParams, ClientRequest, JsonRpcMessage, RequestMetaObject, ServerResult},
    service::{PeerRequestOptions, RequestHandle},
};
use tokio::{
    sync::mpsc,
    time::{Instant, timeout},
};
use trellis_core::{Mapping, ToolError, Value, engine::ToolErrorKind, schema::Schema};

use super::{
    super::{Job, progress::ProgressLines},
    failure::invalid,
    result,
    servers::Lease,
    tap::{self, ProgressSink},
};

/// Time that a server may take to read that a call is over.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(5);

/// A call that was sent.
pub(super) struct Flight {
    handle: RequestHandle<RoleClient>,
    progress: mpsc::Receiver<String>,
    lines: ProgressLines,
}

/// Checks that the tool accepts the arguments; returns the schema of its structured result.
///
/// # Errors
/// The server has no such tool, or it does not take the arguments (code `mcp-rpc`, −32602).
pub(super) async fn accepted(lease: &Lease, server: &str, tool: &str, args: &Mapping) -> Result<Option<Schema>, ToolError> {
    let tools = lease.connection().tools().await?;
    if tools.lacks(tool) {
        let near = trellis_core::diagnostic::did_you_mean(tool, tools.names()).map_or_else(String::new, |near| format!("; {near}"));
        return Err(invalid(format!("the server `{server}` has no tool `{tool}`{near}")));
    }
    let Some(known) = tools.get(tool) else { return Ok(None) };
    if let Some(schema) = &known.input {
        let breaches = schema.breaches(&Value::Map(args.clone()));
        if let Some(found) = breaches.first() {
            let at = if found.pointer.is_empty() { String::new() } else { format!("{}: ", found.pointer) };
            return Err(invalid(format!("`{server}/{tool}` does not take these arguments: {at}{}", found.message)));
        }
    }
    Ok(known.output.clone())
}

impl Flight {
    /// Sends a call.
    ///
    /// # Errors
    /// The server is gone.
    pub(super) async fn begin(lease: &Lease, tool: &str, args: &Mapping, job: &Job<'_>) -> Result<Self, ToolError> {
        let serde_json::Value::Object(arguments) = serde_json::to_value(args).unwrap_or_default() else {
            return Err(ToolError::new("the arguments are no mapping"));
        };
        let (sink, progress) = tap::progress();
        let mut request = CallToolRequest::new(CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments));
        request.extensions.insert::<ProgressSink>(sink);
        let options = PeerRequestOptions::no_options().with_meta(about(job));
        let sent = lease.connection().peer().send_request_with_option(ClientRequest::CallToolRequest(request), options).await;
        let handle = sent.map_err(|error| lease.connection().failed(error))?;
        Ok(Self { handle, progress, lines: ProgressLines::default() })
    }

    /// Waits for the answer, and reports progress meanwhile. May be dropped.
    ///
    /// # Errors
    /// The server's, or that it went away.
    pub(super) async fn answer(&mut self, lease: &Lease, job: &Job<'_>) -> Result<ServerResult, ToolError> {
        let connection = lease.connection();
        let answer = loop {
            tokio::select! {
                biased;
                answer = &mut self.handle.rx => break answer.ok(),
                () = connection.tap().end().cancelled() => break self.handle.rx.try_recv().ok(),
                Some(line) = self.progress.recv() => self.tell(&line, lease, job),
            }
        };
        connection.tap().forget(&self.handle.progress_token);
        while let Ok(line) = self.progress.try_recv() {
            self.tell(&line, lease, job);
        }
        let mask = connection.mask();
        self.lines.finish(Instant::now(), &|line| job.progress()(&mask.text(line)));
        match answer {
            Some(answer) => answer.map_err(|error| if connection.is_over() { lease.gone() } else { connection.failed(error) }),
            None => Err(lease.gone()),
        }
    }

    fn tell(&mut self, line: &str, lease: &Lease, job: &Job<'_>) {
        let mask = lease.connection().mask();
        let line = format!("{line}\n");
        self.lines.push(line.as_bytes(), Instant::now(), &|line| job.progress()(&mask.text(line)));
    }

    /// Tells the server that a call which ended as `error` is cancelled. A stopped one may have done its work all the same: a success within
    /// `grace` is its result (language 9.15).
    pub(super) async fn cancel(mut self, lease: &Lease, error: ToolError) -> Result<ServerResult, ToolError> {
        if let Ok(Ok(answer)) = self.handle.rx.try_recv() {
            return Ok(answer);
        }
        let tap = lease.connection().tap();
        tap.forget(&self.handle.progress_token);
        let id = self.handle.id.clone();
        let late = tap.late_answer(id.clone());
        let cancelled = self.handle.cancel(Some("nobody waits for it any longer".to_owned()));
        if error.kind == ToolErrorKind::Timeout || lease.connection().closes_requests() {
            tap.forget_answer(&id);
            tokio::spawn(async move { timeout(CANCEL_TIMEOUT, cancelled).await });
            return Err(error);
        }
        let answered = timeout(lease.grace(), async {
            let _ = cancelled.await;
            tokio::select! {
                answer = late => answer.ok(),
                () = tap.end().cancelled() => None,
            }
        });
        let answer = answered.await.ok().flatten();
        tap.forget_answer(&id);
        match answer {
            Some(JsonRpcMessage::Response(response)) => Ok(response.result),
            _ => Err(error),
        }
    }
}

/// Returns the facts that each attempt sends about itself (language 9.15).
fn about(job: &Job<'_>) -> RequestMetaObject {
    let mut meta = RequestMetaObject::new();
    meta.0.0.insert("trellis/call".into(), job.call.id.as_str().into());
    meta.0.0.insert("trellis/key".into(), job.call.idempotency_key.as_str().into());
    meta.0.0.insert("trellis/attempt".into(), job.call.attempt.into());
    if let Some(traceparent) = &job.context.traceparent {
        meta.0.0.insert("traceparent".into(), (&**traceparent).into());
    }
    meta
}

/// The value of an answer, no longer than results may be, without secrets of the server.
pub(super) fn value(answer: ServerResult, tool: &str, output: Option<&Schema>, lease: &Lease, job: &Job<'_>) -> Result<Value, ToolError> {
    let mask = lease.connection().mask();
    let value = result::value(tool, answer, output);
    job.bounded(value.map(|value| mask.value(value)).map_err(|error| mask.error(error))?)
}

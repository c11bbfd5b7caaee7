//! Functions of an embedder as tools.

use std::{fmt, pin::Pin, sync::Arc};

use trellis_core::{Mapping, ToolError, Value};

use super::{CallContext, Job, after, stopped, timed_out};
use crate::guard::{Guarded, Panicked, guarded};

type Answer = Result<Value, ToolError>;
type Blocking = dyn Fn(&CallContext, Mapping) -> Answer + Send + Sync;
type Asynchronous = dyn Fn(CallContext, Mapping) -> Pin<Box<dyn Future<Output = Answer> + Send>> + Send + Sync;

/// A function that carries out a tool.
#[derive(Clone)]
pub(super) enum Function {
    Blocking(Arc<Blocking>),
    Asynchronous(Arc<Asynchronous>),
}

impl Function {
    pub(super) fn blocking(run: impl Fn(&CallContext, Mapping) -> Answer + Send + Sync + 'static) -> Self {
        Self::Blocking(Arc::new(run))
    }

    pub(super) fn asynchronous<F, Fut>(run: F) -> Self
    where
        F: Fn(CallContext, Mapping) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Answer> + Send + 'static,
    {
        Self::Asynchronous(Arc::new(move |context, args| Box::pin(run(context, args))))
    }

    /// Runs it until it returns, its time is up, or it is asked to stop. A blocking function is only asked: its thread goes on until it returns.
    pub(super) async fn run(&self, job: Job<'_>, context: CallContext) -> Answer {
        let (tool, args, cancel) = (&*job.call.name, job.args, job.cancel);
        let work = async {
            match self {
                Self::Asynchronous(run) => Guarded::new(async { run(context, args).await }).await,
                Self::Blocking(run) => {
                    let run = Arc::clone(run);
                    let joined = tokio::task::spawn_blocking(move || guarded(|| run(&context, args))).await;
                    joined.unwrap_or_else(|gone| Err(Panicked(gone.to_string())))
                }
            }
        };
        tokio::select! {
            answer = work => answer.unwrap_or_else(|panicked| Err(panic_error(tool, &panicked))).and_then(|value| bounded(value, tool, job.bounds.output)),
            timeout = after(job.timeout) => {
                cancel.cancel();
                Err(timed_out(tool, timeout))
            }
            () = cancel.cancelled() => Err(stopped(tool)),
        }
    }
}

fn panic_error(tool: &str, panicked: &Panicked) -> ToolError {
    ToolError::new(format!("the function of `{tool}` panicked: {panicked}"))
}

/// A result that is no longer than the output of a process may be, as JSON.
fn bounded(value: Value, tool: &str, limit: u64) -> Answer {
    if value.size() <= limit {
        return Ok(value);
    }
    let size = value.size();
    Err(ToolError::new(format!("the result of `{tool}` is {size} bytes, more than the {limit} that `limits.tool_output` allows")))
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Function")
    }
}

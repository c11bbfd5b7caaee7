//! Functions of an embedder as tools.

use std::{fmt, pin::Pin, sync::Arc};

use trellis_core::{Mapping, ToolError, Value};

use super::{Job, stopped, timed_out};

type Answer = Result<Value, ToolError>;
type Blocking = dyn Fn(Mapping) -> Answer + Send + Sync;
type Asynchronous = dyn Fn(Mapping) -> Pin<Box<dyn Future<Output = Answer> + Send>> + Send + Sync;

/// A function that carries out a tool.
#[derive(Clone)]
pub(super) enum Function {
    Blocking(Arc<Blocking>),
    Asynchronous(Arc<Asynchronous>),
}

impl Function {
    pub(super) fn blocking(run: impl Fn(Mapping) -> Answer + Send + Sync + 'static) -> Self {
        Self::Blocking(Arc::new(run))
    }

    pub(super) fn asynchronous<F, Fut>(run: F) -> Self
    where
        F: Fn(Mapping) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Answer> + Send + 'static,
    {
        Self::Asynchronous(Arc::new(move |args| Box::pin(run(args))))
    }

    /// Runs it until it returns, its time is up, or it is asked to stop. A blocking function cannot be stopped: its thread goes on alone.
    pub(super) async fn run(&self, job: Job<'_>) -> Answer {
        let tool = &*job.call.name;
        let args = job.args;
        let work = async {
            match self {
                Self::Asynchronous(run) => run(args).await,
                Self::Blocking(run) => {
                    let run = Arc::clone(run);
                    let joined = tokio::task::spawn_blocking(move || run(args)).await;
                    joined.unwrap_or_else(|_| Err(ToolError::new(format!("the function of `{tool}` panicked"))))
                }
            }
        };
        tokio::select! {
            answer = work => answer,
            timeout = super::process::after(job.timeout) => Err(timed_out(tool, timeout)),
            () = job.cancel.asked() => Err(stopped(tool)),
        }
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Function")
    }
}

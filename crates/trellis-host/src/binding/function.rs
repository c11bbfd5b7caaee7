//! Functions of an embedder as tools.

use std::{
    fmt,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use serde::{
    Deserialize, Deserializer,
    de::{Error as _, MapAccess, Visitor},
};
use tokio::{
    runtime::{Handle, RuntimeFlavor},
    task::{JoinError, JoinSet},
    time::Instant,
};
use trellis_core::{Mapping, ToolError, Value, engine::ToolErrorKind};

use super::{
    CallContext, Job,
    config::{ConfigReader, given},
    context::Report,
    kind::{Answer, Binding, Carrier, Pending, Site},
    progress::ProgressLines,
};
use crate::guard::{Guarded, Panicked, guarded};

type Returned = Result<Value, ToolError>;
type Blocking = dyn Fn(&CallContext, Mapping) -> Returned + Send + Sync;
type Asynchronous = dyn Fn(CallContext, Mapping) -> Pin<Box<dyn Future<Output = Returned> + Send>> + Send + Sync;

/// A function that carries out a tool.
#[derive(Clone)]
pub(super) enum Function {
    Blocking(Arc<Blocking>),
    Asynchronous(Arc<Asynchronous>),
}

impl Function {
    pub(super) fn blocking(run: impl Fn(&CallContext, Mapping) -> Returned + Send + Sync + 'static) -> Self {
        Self::Blocking(Arc::new(run))
    }

    pub(super) fn asynchronous<F, Fut>(run: F) -> Self
    where
        F: Fn(CallContext, Mapping) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Returned> + Send + 'static,
    {
        Self::Asynchronous(Arc::new(move |context, args| Box::pin(run(context, args))))
    }
}

impl Binding for Function {
    /// Runs it until it returns, its time is up, or it is asked to stop. A blocking function is only asked: its thread continues until it returns. A
    /// future is a task of its own, so that time counts while it blocks; it is aborted at its next await.
    fn run<'a>(&'a self, mut job: Job<'a>) -> Pending<'a, Answer> {
        Box::pin(async move {
            let lines = Arc::new(Mutex::new(ProgressLines::default()));
            let report: Report = {
                let (lines, report) = (Arc::clone(&lines), job.context.clone());
                Arc::new(move |line| locked(&lines).push(format!("{line}\n").as_bytes(), Instant::now(), &|line| report.report()(line)))
            };
            let (args, context) = (std::mem::take(&mut job.args), job.context.clone().reporting(report));
            let work = async {
                let joined = match self {
                    Self::Asynchronous(run) => {
                        let (run, tool, reporting) = (Arc::clone(run), Arc::clone(&job.call.name), context.clone());
                        let work = Guarded::new(async move { run(context, args).await });
                        let warn = move |kept| reporting.progress(&blocking_warning(&tool, kept));
                        let mut task = JoinSet::new();
                        task.spawn(OffWorker { work, warn: Some(warn) });
                        task.join_next().await
                    }
                    Self::Blocking(run) => {
                        let run = Arc::clone(run);
                        Some(tokio::task::spawn_blocking(move || guarded(|| run(&context, args))).await)
                    }
                };
                let gone = |error: JoinError| Err(Panicked(error.to_string()));
                let answer = joined.map_or_else(|| Err(Panicked("its task is gone".to_owned())), |joined| joined.unwrap_or_else(gone));
                answer.unwrap_or_else(|panicked| Err(panic_error(job.tool(), &panicked)))
            };
            let answer = job.within(work).await;
            locked(&lines).finish(Instant::now(), &|line| job.context.report()(line));
            if answer.as_ref().is_err_and(|error| error.kind == ToolErrorKind::Timeout) {
                job.context.cancel().cancel();
            }
            answer.and_then(|value| job.bounded(value)).into()
        })
    }
}

/// The time for which a future may keep its thread without a warning.
const MAX_KEPT: Duration = Duration::from_millis(100);

/// A future that may block. On a runtime of several threads no worker waits for it; a runtime of one thread has no other.
struct OffWorker<F, W> {
    work: F,
    /// Warns once that it kept its thread for this long.
    warn: Option<W>,
}

impl<F: Future + Unpin, W: FnOnce(Duration) + Unpin> Future for OffWorker<F, W> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let began = Instant::now();
        let polled = match Handle::current().runtime_flavor() {
            RuntimeFlavor::MultiThread => tokio::task::block_in_place(|| Pin::new(&mut self.work).poll(context)),
            _ => Pin::new(&mut self.work).poll(context),
        };
        let kept = began.elapsed();
        if kept >= MAX_KEPT
            && let Some(warn) = self.warn.take()
        {
            warn(kept);
        }
        polled
    }
}

fn blocking_warning(tool: &str, kept: Duration) -> String {
    format!(
        "the future of `{tool}` kept its thread for {} ms without an await: register work that blocks with `function`",
        kept.as_millis()
    )
}

/// Reads `function:`: the name of a registered function, or `{}` for the tool's own.
pub(super) fn read(reader: &mut ConfigReader<'_>, site: &Site<'_>) -> Option<Carrier> {
    let help = |_: &str, _: &str| Some("write the name that the program registers, or `{}` for the tool's own".to_owned());
    let FunctionName(name) = reader.read::<FunctionConfig>(help).function?;
    Some(Carrier::Function(name.map_or_else(|| site.tool.into(), Into::into)))
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct FunctionConfig {
    #[serde(deserialize_with = "given")]
    function: Option<FunctionName>,
}

/// The name of a registered function; `None` for the tool's own, `{}`.
struct FunctionName(Option<String>);

impl<'de> Deserialize<'de> for FunctionName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Name;
        impl<'de> Visitor<'de> for Name {
            type Value = FunctionName;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name")
            }
            fn visit_str<E>(self, name: &str) -> Result<FunctionName, E> {
                Ok(FunctionName(Some(name.to_owned())))
            }
            fn visit_unit<E>(self) -> Result<FunctionName, E> {
                Ok(FunctionName(None))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<FunctionName, A::Error> {
                match entries.next_key::<String>()? {
                    None => Ok(FunctionName(None)),
                    Some(key) => Err(A::Error::custom(format!("`function` takes a name or `{{}}`, not a mapping with `{key}`"))),
                }
            }
        }
        deserializer.deserialize_any(Name)
    }
}

fn locked(lines: &Mutex<ProgressLines>) -> MutexGuard<'_, ProgressLines> {
    lines.lock().unwrap_or_else(PoisonError::into_inner)
}

fn panic_error(tool: &str, panicked: &Panicked) -> ToolError {
    ToolError::new(format!("the function of `{tool}` panicked: {panicked}"))
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Function")
    }
}

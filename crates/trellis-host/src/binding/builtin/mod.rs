//! Builtins: tools that need no server (language 9.24). One file each.
//!
//! A builtin is a function of its arguments, its configuration and files; it runs on a thread that may block. Builtins that run skills also start
//! processes. Its contract is in [`trellis_core::builtin`], so that `check` proves its calls, and the result of `args:` is checked against it here.

mod calculate;
mod decide;
#[cfg(feature = "sqlite")]
mod documents;
#[cfg(all(feature = "processes", feature = "sqlite"))]
mod skills;
#[cfg(feature = "sqlite")]
mod sql;
#[cfg(feature = "sqlite")]
mod values;

use std::{fmt, path::PathBuf, sync::Arc, time::Duration};

use serde::Deserialize;
use trellis_core::{
    Mapping, ToolError, Value, builtin::BuiltinTool, engine::ToolErrorKind, id::IdempotencyKey, schema::Schema, template::Shape,
};

use super::{
    Answer, Binding, DEFAULT_TIMEOUT, Job, Obstacle, Pending,
    config::{ConfigReader, given},
    kind::{Carrier, Site},
};

#[cfg(all(feature = "processes", feature = "sqlite"))]
pub(super) use self::skills::{SKILLS_FOLDER, card_mistakes};
#[cfg(feature = "sqlite")]
pub(super) use self::sql::{WRITES, begins_to_write, mistake as sql_mistake};

/// Carries one builtin out, on a thread that may block.
trait Tool: fmt::Debug + Send + Sync {
    /// Returns the result for these arguments. `stop` receives a function that interrupts the work, where that is possible.
    fn call(&self, request: Request<'_>) -> Result<Value, ToolError>;

    /// Reasons why it could not work, found without changing anything.
    fn obstacles(&self) -> Vec<Obstacle> {
        Vec::new()
    }
}

/// One call of a builtin.
#[derive(Clone, Copy)]
struct Request<'r> {
    args: &'r Mapping,
    /// The key under which a write happens once.
    key: &'r IdempotencyKey,
    /// Interrupts the running work.
    stop: &'r StopHandle,
}

/// A builtin with its configuration.
#[derive(Debug)]
struct Builtin {
    known: &'static BuiltinTool,
    parameters: Option<Schema>,
    args: Option<Shape>,
    carried_out: CarriedOut,
}

/// The execution of a builtin.
#[derive(Debug)]
enum CarriedOut {
    /// On a thread that may block.
    Blocking(Arc<dyn Tool>),
    /// By commands of a skill, with a time of their own.
    #[cfg(all(feature = "processes", feature = "sqlite"))]
    BySkill(Box<skills::SkillRunner>),
}

/// Keys beside `builtin:`; each builtin has some of them, which the compiler checks.
#[derive(Default, Deserialize)]
#[serde(default)]
struct BuiltinConfig {
    builtin: Option<String>,
    #[serde(deserialize_with = "given")]
    folder: Option<PathBuf>,
    #[serde(deserialize_with = "given")]
    files: Option<String>,
    #[serde(deserialize_with = "given")]
    database: Option<PathBuf>,
    #[serde(deserialize_with = "given")]
    init: Option<PathBuf>,
    #[serde(deserialize_with = "given")]
    sql: Option<String>,
    write: bool,
    one: bool,
    #[serde(deserialize_with = "given")]
    space: Option<String>,
    #[serde(deserialize_with = "given")]
    store: Option<PathBuf>,
    #[serde(deserialize_with = "given")]
    workspace: Option<PathBuf>,
    allow: Option<Vec<String>>,
    block: Vec<String>,
    #[serde(deserialize_with = "given")]
    least: Option<f64>,
}

/// Reads `builtin:` and the keys beside it. An unknown name has the compiler's finding.
pub(super) fn read(reader: &mut ConfigReader<'_>, site: &Site<'_>) -> Option<Carrier> {
    let config: BuiltinConfig = reader.read(|_, _| None);
    let known = BuiltinTool::find(config.builtin.as_deref()?)?;
    if known.name == "policy.decide" {
        return decide::read(reader, site);
    }
    let carried_out = carried_out(known.name, config, reader, site)?;
    let parameters = known.parameters().and_then(|schema| Schema::new(&schema).ok());
    let args = site.config.shape("args").map(|shape| shape.value.clone());
    Some(Carrier::new(Builtin { known, parameters, args, carried_out }))
}

/// Returns the execution of a builtin by its name; `None` if this build has none.
fn carried_out(name: &str, config: BuiltinConfig, reader: &mut ConfigReader<'_>, site: &Site<'_>) -> Option<CarriedOut> {
    #[cfg(all(feature = "processes", feature = "sqlite"))]
    if let Some(operation) = skills::SkillOperation::named(name) {
        return Some(CarriedOut::BySkill(Box::new(skills::SkillRunner::new(operation, &config, reader, site)?)));
    }
    tool(name, config, reader, site).map(CarriedOut::Blocking)
}

fn tool(name: &str, config: BuiltinConfig, reader: &mut ConfigReader<'_>, site: &Site<'_>) -> Option<Arc<dyn Tool>> {
    if let Some(calculation) = calculate::Calculation::named(name) {
        return Some(Arc::new(calculation));
    }
    #[cfg(all(feature = "processes", feature = "sqlite"))]
    if let Some(question) = skills::SkillQuestion::named(name) {
        return Some(Arc::new(skills::SkillTool::new(question, &config, reader, site)?));
    }
    #[cfg(feature = "sqlite")]
    return match name {
        "documents.search" => Some(Arc::new(documents::Search::new(config, reader, site)?)),
        "documents.read" => Some(Arc::new(documents::Read::new(&config, site))),
        "sql.query" => Some(Arc::new(sql::SqlQuery::new(config, reader, site)?)),
        _ => values::ValueTool::named(name, config, site).map(|values| Arc::new(values) as Arc<dyn Tool>),
    };
    #[cfg(not(feature = "sqlite"))]
    {
        let _ = (config, reader, site);
        None
    }
}

impl Binding for Builtin {
    fn run<'a>(&'a self, job: Job<'a>) -> Pending<'a, Answer> {
        Box::pin(async move { self.result(job).await.into() })
    }

    fn timeout(&self) -> Option<Duration> {
        match &self.carried_out {
            CarriedOut::Blocking(_) => Some(DEFAULT_TIMEOUT),
            #[cfg(all(feature = "processes", feature = "sqlite"))]
            CarriedOut::BySkill(_) => None,
        }
    }

    fn obstacles(&self) -> Vec<Obstacle> {
        match &self.carried_out {
            CarriedOut::Blocking(tool) => tool.obstacles(),
            #[cfg(all(feature = "processes", feature = "sqlite"))]
            CarriedOut::BySkill(skills) => skills.obstacles(),
        }
    }
}

impl Builtin {
    async fn result(&self, job: Job<'_>) -> Result<Value, ToolError> {
        let args = self.arguments(&job)?;
        let tool = match &self.carried_out {
            CarriedOut::Blocking(tool) => Arc::clone(tool),
            #[cfg(all(feature = "processes", feature = "sqlite"))]
            CarriedOut::BySkill(skills) => return job.bounded(skills.carry_out(&job, &args).await?),
        };
        let (key, stop) = (job.call.idempotency_key.clone(), StopHandle::default());
        let work = {
            let stop = stop.clone();
            tokio::task::spawn_blocking(move || tool.call(Request { args: &args, key: &key, stop: &stop }))
        };
        let stopped = StopOnDrop(stop);
        let result = job.within(async { work.await.unwrap_or_else(|gone| Err(ToolError::new(gone.to_string()))) }).await;
        drop(stopped);
        job.bounded(result?)
    }

    /// Returns the arguments for the builtin, checked against its contract.
    fn arguments(&self, job: &Job<'_>) -> Result<Mapping, ToolError> {
        let args = match &self.args {
            Some(shape) => job.shaped(shape)?,
            None => Value::Map(job.args.clone()),
        };
        let unfit = |why: String| {
            let message = format!("`{}` does not take these arguments: {why}", self.known.name);
            ToolError { kind: ToolErrorKind::Schema, ..ToolError::new(message).finally() }
        };
        if let Some(breach) = self.parameters.as_ref().and_then(|schema| schema.breaches(&args).into_iter().next()) {
            return Err(unfit(if breach.pointer.is_empty() {
                breach.message
            } else {
                format!("`{}`: {}", breach.pointer, breach.message)
            }));
        }
        match args {
            Value::Map(args) => Ok(args),
            other => Err(unfit(format!("{} is no mapping", other.kind()))),
        }
    }
}

/// A function that interrupts work on another thread; `None` until the work has set one.
#[derive(Clone, Default)]
struct StopHandle(Arc<std::sync::Mutex<Option<BreakOff>>>);

/// Breaks work off.
type BreakOff = Box<dyn Fn() + Send>;

impl StopHandle {
    /// Sets the function that interrupts the work that begins now.
    #[cfg(feature = "sqlite")]
    fn set(&self, stop: impl Fn() + Send + 'static) {
        *self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(Box::new(stop));
    }

    fn stop(&self) {
        if let Some(stop) = &*self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner) {
            stop();
        }
    }
}

/// Interrupts running work at the end of its call.
struct StopOnDrop(StopHandle);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// Returns an error with a code that no retry can resolve.
fn final_error(code: &str, message: impl Into<String>) -> ToolError {
    ToolError::coded(code, message).finally()
}

/// A file of a builtin that cannot be read or written now (code `store`).
#[cfg(feature = "sqlite")]
fn store_error(message: impl Into<String>) -> ToolError {
    ToolError::coded("store", message)
}

/// Returns an argument that is a text; the contract requires it.
#[cfg(feature = "sqlite")]
fn text<'a>(args: &'a Mapping, name: &str) -> &'a str {
    args.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// An argument that is a whole number.
#[cfg(feature = "sqlite")]
fn number(args: &Mapping, name: &str) -> Option<u64> {
    args.get(name).and_then(Value::as_i64).and_then(|number| u64::try_from(number).ok())
}

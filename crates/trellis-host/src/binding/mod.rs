//! Bindings: how this host carries out calls (language C.4).
//!
//! `bindings:` of `trellis.yaml` say it for processes; an embedder registers functions by name. Only what is bound here ever runs. A call enters, a
//! [`ToolOutcome`] comes out; what goes wrong on the way is an error result, never an error of the host.
//!
//! **Invariant:** the value of a secret that was filled into a call is in no message, no progress and no result of it (world 9.9).

mod config;
mod context;
mod function;
mod hidden;
#[cfg(feature = "processes")]
mod output;
#[cfg(feature = "processes")]
mod preflight;
#[cfg(feature = "processes")]
mod process;
#[cfg(not(feature = "processes"))]
#[path = "no_process.rs"]
mod process;
#[cfg(all(unix, feature = "processes"))]
mod process_group;
mod progress;
#[cfg(feature = "schemars")]
mod typed;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use trellis_core::{
    Context, Diagnostic, Mapping, Program, ToolError, ToolOutcome, Value,
    diagnostic::nearest,
    engine::ToolErrorKind,
    path::{KeyPath, walk},
    program::Limits,
    state::{CallKind, PendingCall},
};

pub(crate) use self::context::Report;
#[cfg(feature = "processes")]
pub use self::process::MAX_ENV_ARGS;
pub use self::{
    config::check_bindings,
    context::{CallContext, Caller, Cancel},
};
use self::{function::Function, process::Process};
use crate::secrets::{FilledCall, Mask, SHORTEST, Secrets};

/// Everything that this host can carry out.
#[derive(Clone, Default)]
pub struct Bindings {
    /// By graph root, then by tool.
    processes: BTreeMap<Arc<str>, BTreeMap<Arc<str>, Arc<Process>>>,
    /// `function: name` in a project file: by graph root and tool, the name of the function.
    aliases: BTreeMap<(Arc<str>, Arc<str>), Arc<str>>,
    functions: BTreeMap<Arc<str>, Function>,
    #[cfg(feature = "schemars")]
    typed: BTreeMap<Arc<str>, typed::Declaration>,
    secrets: Secrets,
    bounds: Bounds,
    /// Where contexts hold what nobody may see: what `redact` names, and what was typed as a secret.
    hidden: Vec<KeyPath>,
    /// Whether the functions serve other graphs besides.
    is_shared: bool,
    /// Bindings with a mistake, by graph root and tool.
    faulty: BTreeSet<(Arc<str>, Arc<str>)>,
}

/// Bytes that are taken of what one run of a tool prints.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    output: u64,
    errors: u64,
}

impl From<&Limits> for Bounds {
    fn from(limits: &Limits) -> Self {
        Self { output: limits.tool_output, errors: limits.tool_stderr }
    }
}

impl Default for Bounds {
    fn default() -> Self {
        Self::from(&Limits::default())
    }
}

/// What a binding gets to do its work.
struct Job<'c> {
    call: &'c PendingCall,
    args: Mapping,
    timeout: Option<Duration>,
    bounds: Bounds,
    /// What nobody may see of what the tool prints.
    mask: Mask,
    cancel: &'c Cancel,
    /// Takes the lines that the tool writes on standard error, while it runs.
    progress: Progress<'c>,
}

/// Takes what a running tool says about its progress, line by line, without its line break and with secrets left out.
pub type Progress<'c> = &'c (dyn Fn(&str) + Send + Sync);

impl Bindings {
    /// No bindings; every call is somebody else's.
    pub fn none() -> Self {
        Self::default()
    }

    /// The bindings of a program whose root folder is `folder`, with what is wrong with them: a binding with a finding is not bound.
    pub fn new(program: &Program, folder: &Path) -> (Self, Vec<Diagnostic>) {
        let mut bindings = Self { bounds: program.limits().into(), hidden: hidden::hidden_by(program), ..Self::default() };
        let mut found = Vec::new();
        for graph in program.graphs() {
            let folder = folder.join(&*graph.root);
            for (name, syntax) in &graph.bindings {
                let path = config::path_of(program, graph, name, syntax);
                match config::decode(name, syntax, &path, &folder) {
                    Ok(config::Decoded::Process(process)) => {
                        let of_graph = bindings.processes.entry(Arc::clone(&graph.root)).or_default();
                        of_graph.insert(Arc::clone(name), Arc::new(process));
                    }
                    Ok(config::Decoded::Function(function)) => {
                        bindings.aliases.insert((Arc::clone(&graph.root), Arc::clone(name)), function);
                    }
                    Ok(config::Decoded::Foreign) => {}
                    Err(mut findings) => {
                        bindings.faulty.insert((Arc::clone(&graph.root), Arc::clone(name)));
                        found.append(&mut findings);
                    }
                }
            }
        }
        (bindings, found)
    }

    /// Carries calls of `name` out with a function. It runs on a thread of its own and may block; a panic in it is an error result, and so is a result
    /// that is longer than `limits.tool_output`. Where its time is up it is only asked to stop ([`CallContext::cancel`]).
    ///
    /// ```
    /// use trellis_core::{ToolError, Value};
    /// use trellis_host::Bindings;
    ///
    /// let bindings = Bindings::none().function("charge", |context, args| {
    ///     let amount = args.get("amount").ok_or_else(|| ToolError::new("`amount` is missing"))?;
    ///     // A payment that was made under this key is not made again.
    ///     Ok(Value::text(&*format!("{amount} paid under {}", context.idempotency_key)))
    /// });
    /// # drop(bindings);
    /// ```
    #[must_use]
    pub fn function<F>(mut self, name: &str, run: F) -> Self
    where
        F: Fn(&CallContext, Mapping) -> Result<Value, ToolError> + Send + Sync + 'static,
    {
        self.functions.insert(name.into(), Function::blocking(run));
        self
    }

    /// Carries calls of `name` out with an asynchronous function; it is dropped when the call times out or is stopped. Otherwise as
    /// [`Bindings::function`].
    #[must_use]
    pub fn function_async<F, Fut>(mut self, name: &str, run: F) -> Self
    where
        F: Fn(CallContext, Mapping) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Value, ToolError>> + Send + 'static,
    {
        self.functions.insert(name.into(), Function::asynchronous(run));
        self
    }

    /// These functions serve several graphs: that this one does not call them all is no mistake.
    #[must_use]
    pub fn shared(mut self) -> Self {
        self.is_shared = true;
        self
    }

    /// The same, held to the bounds of a program, and to what it hides.
    #[must_use]
    pub(crate) fn serving(self, program: &Program) -> Self {
        Self { bounds: program.limits().into(), hidden: hidden::hidden_by(program), ..self }
    }

    /// Functions that no call of a program can mean, with the nearest name that one can.
    pub(crate) fn unknown_functions(&self, program: &Program) -> Vec<(Arc<str>, Option<Arc<str>>)> {
        if self.is_shared {
            return Vec::new();
        }
        let mut known = program.tool_names();
        known.extend(self.aliases.values().map(Arc::clone));
        let unknown = self.functions.keys().filter(|name| !known.contains(*name));
        let near = |name: &str| nearest(name, known.iter().map(|known| &**known)).map(Arc::from);
        unknown.map(|name| (Arc::clone(name), near(name))).collect()
    }

    /// Resolves secrets in arguments with `secrets`; without it none is known.
    #[must_use]
    pub fn secrets(mut self, secrets: Secrets) -> Self {
        self.secrets = secrets;
        self
    }

    /// Whether `tool`, called in the graph at `root` (empty for the outermost), is carried out here.
    pub fn binds(&self, root: &str, tool: &str) -> bool {
        self.find(root, tool).is_some()
    }

    /// Whether the binding of `tool` in the graph at `root` has a mistake: it is not bound until that is mended.
    pub fn is_faulty(&self, root: &str, tool: &str) -> bool {
        self.faulty.contains(&(Arc::from(root), Arc::from(tool)))
    }

    fn find(&self, root: &str, tool: &str) -> Option<FoundBinding<'_>> {
        if let Some(function) = self.functions.get(tool) {
            return Some(FoundBinding::Function(function));
        }
        if let Some(process) = self.processes.get(root).and_then(|of_graph| of_graph.get(tool)) {
            return Some(FoundBinding::Process(process));
        }
        let alias = self.aliases.get(&(Arc::from(root), Arc::from(tool)))?;
        self.functions.get(alias).map(FoundBinding::Function)
    }

    /// Whether a call of this program is carried out here. Composite calls are not.
    pub fn carries_out(&self, program: &Program, call: &PendingCall) -> bool {
        matches!(call.kind, CallKind::Tool) && self.binds(root_of(program, call), &call.name)
    }

    /// Carries a call out. Its timeout counts from here; its delay and approval are past. In no message, progress and result of the tool stands a
    /// secret of the call, and in no message and progress what the session's context has at the paths that `redact` names and where answers to
    /// `input_type: secret` are saved; but for what is shorter than four bytes.
    pub async fn call(&self, program: &Program, call: &PendingCall, caller: &Caller) -> ToolOutcome {
        let found = match &call.kind {
            CallKind::Tool => self.find(root_of(program, call), &call.name),
            _ => None,
        };
        let Some(found) = found else {
            return ToolOutcome::Error(ToolError::new(format!("nothing here carries out `{}`", call.name)));
        };
        let FilledCall { args, mask: secret, unmasked } = match self.secrets.fill(call) {
            Ok(filled) => filled,
            Err(error) => return ToolOutcome::Error(error),
        };
        for name in unmasked {
            caller.report()(&format!("the secret `{name}` is not masked in what is shown: it has fewer than {SHORTEST} bytes"));
        }
        let context: &Context = caller.context();
        let mut texts = Vec::new();
        let hidden = self.hidden.iter().filter_map(|path| walk(context.get(path.root())?, path.rest()));
        hidden.for_each(|value| hidden::texts_of(value, &mut texts));
        let mask = secret.clone().and_texts(texts);
        let report: Report = {
            let (report, mask) = (Arc::clone(caller.report()), mask.clone());
            Arc::new(move |line| report(&mask.text(line)))
        };
        let timeout = call.timeout.map(Duration::from_millis);
        let job = Job { call, args, timeout, bounds: self.bounds, mask: mask.clone(), cancel: caller.cancel(), progress: &*report };
        let outcome = match found {
            FoundBinding::Process(process) => process.run(job).await,
            FoundBinding::Function(function) => function.run(job, CallContext::new(caller, call, Arc::clone(&report))).await,
        };
        match outcome {
            Ok(value) => ToolOutcome::Success(secret.value(value)),
            Err(error) => ToolOutcome::Error(ToolError {
                message: mask.text(&error.message).into_owned(),
                code: error.code.map(|code| secret.value(code)),
                data: error.data.map(|data| secret.value(data)),
                ..error
            }),
        }
    }
}

enum FoundBinding<'b> {
    Process(&'b Arc<Process>),
    Function(&'b Function),
}

/// The root of the graph whose node makes the call; of the outermost one where the node is gone.
fn root_of<'p>(program: &'p Program, call: &PendingCall) -> &'p str {
    let node = program.find(&call.node).or_else(|| program.find_renamed(&call.node));
    node.map_or("", |node| &*program.graph_of(program.node(node)).root)
}

/// The result of a call that took longer than it may.
pub(crate) fn timed_out(tool: &str, timeout: Duration) -> ToolError {
    ToolError { kind: ToolErrorKind::Timeout, ..ToolError::new(format!("`{tool}` took longer than {}", span(timeout))) }
}

/// The result of a call that was asked to stop.
fn stopped(tool: &str) -> ToolError {
    ToolError::new(format!("`{tool}` was stopped"))
}

/// Waits for a timeout and says how long it was; for ever where there is none.
async fn after(timeout: Option<Duration>) -> Duration {
    match timeout {
        Some(timeout) => {
            tokio::time::sleep(timeout).await;
            timeout
        }
        None => std::future::pending().await,
    }
}

/// A duration as authors write it.
pub(crate) fn span(duration: Duration) -> String {
    match u64::try_from(duration.as_millis()).unwrap_or(u64::MAX) {
        ms if ms % 60_000 == 0 && ms > 0 => format!("{}m", ms / 60_000),
        ms if ms % 1000 == 0 => format!("{}s", ms / 1000),
        ms => format!("{ms}ms"),
    }
}

impl fmt::Debug for Bindings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bindings").field("processes", &self.processes).field("functions", &self.functions.keys()).finish_non_exhaustive()
    }
}

/// The folder of a project file, made absolute, so that a command does not depend on where the host stands.
fn absolute(folder: &Path) -> PathBuf {
    std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned())
}

//! Bindings: how this host carries out calls (language C.4).
//!
//! `bindings:` of `trellis.yaml` declare it for processes; an embedder registers functions by name. Only bound tools ever run. A call enters, a
//! [`ToolResult`] comes out; a failure is an error result, never an error of the host.
//!
//! **Invariant:** the value of a secret that was filled into a call is in no message, no progress and no result of it (language 9.9).

mod beside;
mod builtin;
mod carrier;
mod compute;
mod config;
mod context;
mod frontmatter;
mod function;
mod globs;
mod hidden;
mod host;
#[cfg(feature = "model")]
mod host_models;
#[cfg(feature = "http")]
mod http;
mod job;
mod kind;
mod limits;
#[cfg(feature = "mcp")]
mod mcp;
#[cfg(feature = "model")]
mod model;
mod names;
#[cfg(feature = "processes")]
mod output;
#[cfg(any(feature = "mcp", feature = "model"))]
mod outwards;
mod policy_names;
mod preflight;
#[cfg(feature = "processes")]
mod process;
#[cfg(all(unix, feature = "processes"))]
mod process_group;
mod progress;
mod registry;
#[cfg(any(feature = "mcp", feature = "model", feature = "processes"))]
mod sealed;
mod settings;
#[cfg(test)]
mod tests;
#[cfg(feature = "schemars")]
mod typed;
mod unbound;
#[cfg(feature = "http")]
mod variable;

use std::{
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use trellis_core::{
    Context, Diagnostic, Mapping, NodeId, Program, ToolError, ToolOutcome, ToolResult, Value,
    diagnostic::FilePath,
    path::{KeyPath, walk},
    state::{CallKind, PendingCall},
};

#[cfg(feature = "model")]
pub use self::host_models::HostModels;
#[cfg(feature = "history")]
pub(crate) use self::job::breaks_returns;
#[cfg(feature = "mcp")]
pub use self::mcp::{ServerLibrary, Servers, server_library};
#[cfg(feature = "processes")]
pub use self::process::MAX_ENV_ARGS;
pub use self::{
    beside::{FileFindings, check_files, check_unsaved_files},
    context::{CallContext, Caller, Cancel, Delta},
    host::{Host, Resource},
    job::{Job, Offered, Progress},
    kind::{Answer, Binding, Notice, Obstacle, Pending},
    names::check_names,
    registry::check_bindings,
    unbound::UnknownFunctions,
};
pub(crate) use self::{context::Report, job::timed_out};
use self::{
    function::Function,
    job::{Bounds, Peers, made_from},
    kind::{Carrier, Site},
    limits::{CallLimits, Entrance, Turnstiles},
    settings::SessionSettings,
};
use crate::policy::{Budget, CallPattern, PolicyChain};
use crate::secrets::{FilledCall, SHORTEST, Secrets};

/// The default timeout of a call whose binding has no reason for another (language 9.5).
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);

/// Everything that this host can carry out.
///
/// ```
/// use trellis_core::Value;
/// use trellis_host::Bindings;
///
/// let bindings = Bindings::none().function("now", |_, _| Ok(Value::text("noon"))).function_async("later", |context, _| async move {
///     context.progress("waiting");
///     Ok(Value::Null)
/// });
/// assert!(bindings.binds("", "now") && !bindings.binds("", "never"));
/// ```
#[derive(Clone, Default)]
pub struct Bindings {
    /// The bindings of project files: by graph root, then by tool.
    bound: BTreeMap<Arc<str>, BTreeMap<Arc<str>, Bound>>,
    /// The bindings of an embedder, in every graph: by tool.
    registered: BTreeMap<Arc<str>, Arc<dyn Binding>>,
    /// The binding of every tool that has no other.
    otherwise: Option<Arc<dyn Binding>>,
    #[cfg(feature = "schemars")]
    typed: BTreeMap<Arc<str>, typed::Declaration>,
    secrets: Secrets,
    /// The settings of `policy` and `budget`.
    settings: SessionSettings,
    /// Bounds of the calls that project files write: by graph root, then by tool.
    limits: BTreeMap<Arc<str>, BTreeMap<Arc<str>, ToolLimits>>,
    bounds: Bounds,
    /// The paths of hidden values in contexts: those that `redact` names, and those of typed secrets.
    hidden: Vec<KeyPath>,
    /// True if the functions serve other graphs besides.
    is_shared: bool,
}

/// The bounds of a tool's calls, and where they wait for their turn.
type ToolLimits = (CallLimits, Option<Entrance>);

/// A binding of a project file.
#[derive(Clone)]
enum Bound {
    /// Carries calls out, or names the executor; with the file that it is written in.
    By(Carrier, FilePath),
    /// It has a mistake, and makes no call until that is fixed.
    Faulty,
}

impl Bindings {
    /// Creates no bindings; every call is left to a client.
    pub fn none() -> Self {
        Self::default()
    }

    /// Returns the bindings of a program whose root folder is `folder`, with findings about them: a binding with a finding is not bound. Shared
    /// resources come from `host`.
    pub fn new(program: &Program, folder: &Path, host: &Host) -> (Self, Vec<Diagnostic>) {
        let (settings, mut found) = SessionSettings::new(program, folder, host);
        let mut bindings = Self {
            bounds: program.limits().into(),
            hidden: hidden::hidden_by(program),
            secrets: host.secrets.clone(),
            settings,
            ..Self::default()
        };
        for graph in program.graphs() {
            let folder = folder.join(&*graph.root);
            for (name, syntax) in &graph.bindings {
                let file = registry::path_of(program, graph, name, syntax);
                let site = Site {
                    tool: name,
                    folder: &folder,
                    root: &graph.root,
                    config: &syntax.config,
                    documents: program.documents(),
                    graph: Some(graph),
                    host,
                };
                let limits = CallLimits::of(&syntax.config);
                if limits != CallLimits::default() {
                    let entrance = host.shared::<Turnstiles>().get(format!("{}\0{name}", absolute(&folder).display()), limits);
                    bindings.limits.entry(Arc::clone(&graph.root)).or_default().insert(Arc::clone(name), (limits, entrance));
                }
                let bound = match registry::decode(syntax, &file, &site) {
                    Ok(None) => continue,
                    Ok(Some(carrier)) => Bound::By(carrier, file),
                    Err(mut findings) => {
                        found.append(&mut findings);
                        Bound::Faulty
                    }
                };
                bindings.bound.entry(Arc::clone(&graph.root)).or_default().insert(Arc::clone(name), bound);
            }
        }
        (bindings, found)
    }

    /// Carries calls of `name` out with a binding of the embedder's own, in every graph.
    #[must_use]
    pub fn bind(mut self, name: &str, binding: impl Binding + 'static) -> Self {
        self.registered.insert(name.into(), Arc::new(binding));
        self
    }

    /// Carries out every call for which there is no other binding, in every graph.
    #[must_use]
    pub fn otherwise(self, binding: impl Binding + 'static) -> Self {
        Self { otherwise: Some(Arc::new(binding)), ..self }
    }

    /// Carries calls of `name` out with a function. It runs on a thread of its own and may block; a panic in it is an error result, and so is a
    /// result that is longer than `limits.tool_output`. Where its time is up it is only asked to stop ([`CallContext::cancel`]).
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
    pub fn function<F>(self, name: &str, run: F) -> Self
    where
        F: Fn(&CallContext, Mapping) -> Result<Value, ToolError> + Send + Sync + 'static,
    {
        self.bind(name, Function::blocking(run))
    }

    /// Carries calls of `name` out with an asynchronous function, as a task of the runtime, which is aborted when the call times out or is stopped.
    /// Otherwise as [`Bindings::function`].
    ///
    /// A future that works or blocks for long between two awaits keeps its thread. Its timeout counts all the same, progress warns of it, and on a
    /// runtime of several threads nothing else waits for it; on a runtime of one thread everything does. Use [`Bindings::function`] for such work, or
    /// `tokio::task::spawn_blocking` within the future.
    #[must_use]
    pub fn function_async<F, Fut>(self, name: &str, run: F) -> Self
    where
        F: Fn(CallContext, Mapping) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Value, ToolError>> + Send + 'static,
    {
        self.bind(name, Function::asynchronous(run))
    }

    /// These functions serve several graphs: that this one does not call them all is no mistake.
    #[must_use]
    pub fn shared(mut self) -> Self {
        self.is_shared = true;
        self
    }

    /// Lets calls run that match one of these, without the approval that the graph's first list of `ask` wants. What stands before that list in `policy`,
    /// such as `block`, decides first.
    #[must_use]
    pub fn allow(mut self, calls: Vec<CallPattern>) -> Self {
        if !calls.is_empty() {
            self.settings.policy.allow_before_ask(calls);
        }
        self
    }

    /// Sets the bounds of a program, and its hidden values.
    #[must_use]
    pub(crate) fn serving(self, program: &Program) -> Self {
        Self { bounds: program.limits().into(), hidden: hidden::hidden_by(program), ..self }
    }

    /// Returns whether `tool`, called in the graph at `root` (empty for the outermost), is carried out here.
    pub fn binds(&self, root: &str, tool: &str) -> bool {
        self.find(root, tool).is_some()
    }

    /// Returns whether the binding of `tool` in the graph at `root` has a mistake: it is not bound until that is fixed.
    pub fn is_faulty(&self, root: &str, tool: &str) -> bool {
        matches!(self.bound(root, tool), Some(Bound::Faulty))
    }

    fn bound(&self, root: &str, tool: &str) -> Option<&Bound> {
        self.bound.get(root)?.get(tool)
    }

    fn find(&self, root: &str, tool: &str) -> Option<&Arc<dyn Binding>> {
        let bound = || match self.bound(root, tool)? {
            Bound::By(Carrier::Binding(binding, _), _) => Some(binding),
            Bound::By(Carrier::Function(name), _) => self.registered.get(name),
            Bound::Faulty => None,
        };
        self.registered.get(tool).or_else(bound).or(self.otherwise.as_ref())
    }

    /// Returns whether a call of this program is carried out here. Composite calls are not.
    pub fn carries_out(&self, program: &Program, call: &PendingCall) -> bool {
        matches!(call.kind, CallKind::Tool) && self.binds(root_of(program, call), &call.name)
    }

    /// Returns whether a tool that a node of this program calls, or called, is carried out here.
    pub(crate) fn binds_at(&self, program: &Program, node: &NodeId, tool: &str) -> bool {
        self.binds(root_at(program, node), tool)
    }

    /// Carries a call out. Its timeout counts from here; its delay and approval are past. Secrets of the call are masked in messages, progress
    /// and result of the tool; values at the paths that `redact` names, and at those that answers to `input_type: secret` are saved to, in
    /// messages and progress. Values shorter than four bytes are not masked.
    pub async fn call(&self, program: &Program, call: &PendingCall, caller: &Caller) -> ToolResult {
        self.call_in(program, root_of(program, call), call, caller).await
    }

    /// Carries a call out with the binding of the graph at `root`, wherever the node of the call is.
    pub(crate) async fn call_in(&self, program: &Program, root: &str, call: &PendingCall, caller: &Caller) -> ToolResult {
        let Answer { result, meta } = self.answer(program, root, call, caller).await;
        ToolResult::new(call.id.clone(), result.map_or_else(ToolOutcome::Error, ToolOutcome::Success)).with_meta(meta)
    }

    /// Returns the chain that decides about the calls of sessions: `policy` of the outermost graph (language 11.3).
    pub fn policy(&self) -> &PolicyChain {
        &self.settings.policy
    }

    /// Returns the budget of the calls of a session: `budget` of the outermost graph (language 11.6).
    pub fn budget(&self) -> Budget {
        self.settings.budget
    }

    async fn answer(&self, program: &Program, root: &str, call: &PendingCall, caller: &Caller) -> Answer {
        let found = match &call.kind {
            CallKind::Tool => self.find(root, &call.name),
            _ => None,
        };
        let Some(found) = found else {
            return Err(ToolError::new(format!("nothing here carries out `{}`", call.name))).into();
        };
        let limits = self.limits.get(root).and_then(|tools| tools.get(&call.name));
        let of_server = match self.bound(root, &call.name) {
            Some(Bound::By(Carrier::Binding(_, entrance), _)) => entrance.as_ref(),
            _ => None,
        };
        let mut admissions = Vec::new();
        for entrance in limits.and_then(|(_, entrance)| entrance.as_ref()).into_iter().chain(of_server) {
            tokio::select! {
                biased;
                admission = entrance.enter() => admissions.push(admission),
                () = caller.cancel().cancelled() => return Err(job::stopped(&call.name)).into(),
            }
        }
        let limits = limits.map(|(limits, _)| *limits).unwrap_or_default();
        let FilledCall { args, mask: secret, unmasked } = match self.secrets.fill(call) {
            Ok(filled) => filled,
            Err(error) => return Err(error).into(),
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
        let timeout = call.timeout.map(Duration::from_millis).or(found.timeout());
        let peers = Peers { bindings: self, program, root, caller: caller.nested(Arc::clone(&report)) };
        let context = CallContext::new(caller, call, report);
        let returns = made_from(program, call).and_then(|made| made.returns.last()).map(|schema| schema.source().clone());
        let offered = Offered::of(program, call);
        let job = Job { call, args, timeout, context, offered, returns, bounds: self.bounds, mask: mask.clone(), peers: Some(peers) };
        let Answer { result, meta } = found.run(job).await;
        let result = result.map(|value| secret.value(value)).map_err(|error| limits.bound(error)).map_err(|error| {
            // Hidden values of the context are masked in messages alone.
            let message = mask.text(&error.message).into_owned();
            secret.error(ToolError { message, ..error })
        });
        Answer { result, meta: meta.map(|meta| secret.value(meta)) }
    }
}

/// The root of the graph whose node makes the call; of the outermost one where the node is gone.
fn root_of<'p>(program: &'p Program, call: &PendingCall) -> &'p str {
    root_at(program, &call.node)
}

/// The root of the graph of a node; of the outermost one where the node is gone.
fn root_at<'p>(program: &'p Program, node: &NodeId) -> &'p str {
    let node = program.find(node).or_else(|| program.find_renamed(node));
    node.map_or("", |node| &*program.graph_of(program.node(node)).root)
}

impl fmt::Debug for Bindings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bindings").field("bound", &self.bound.keys()).field("registered", &self.registered.keys()).finish_non_exhaustive()
    }
}

/// Returns the folder of a project file, made absolute, so that a command does not depend on the current folder of the host.
fn absolute(folder: &Path) -> PathBuf {
    std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned())
}

//! One attempt of a call, for its executor.

use std::{fmt, sync::Arc, time::Duration};

use tokio::time::Instant;
use trellis_core::{
    Mapping, Program, ToolError, ToolOutcome, Value,
    engine::ToolErrorKind,
    id::{CallId, IdempotencyKey},
    program::{Call, Callee, Limits, Role},
    scope::Scope,
    state::{CallRole, PendingCall},
    template::{DEFAULT_FUEL, RenderLimits, Shape, TemplateError},
};

use super::{Bindings, CallContext, Caller};
use crate::secrets::Mask;

/// Calls that one call may make, one within the other.
const MAX_NESTED: u8 = 4;

/// An attempt of a call: its arguments with secrets filled in, its bounds, and its caller.
#[non_exhaustive]
pub struct Job<'c> {
    /// The call as it is stored: places of secrets are empty.
    pub call: &'c PendingCall,
    /// The arguments, with secrets in place.
    pub args: Mapping,
    /// Time that the attempt may take, counted from its start.
    pub timeout: Option<Duration>,
    /// The caller, the flag to stop the call, and the receiver of progress.
    pub context: CallContext,
    /// The tools that a model is offered, as the program has them now (language 9.19).
    pub offered: Vec<Offered>,
    /// The schema that a success has to fit; of the call, else of its tool.
    pub returns: Option<Value>,
    pub(super) bounds: Bounds,
    /// Masks every hidden value in the tool's output.
    pub(super) mask: Mask,
    pub(super) peers: Option<Peers<'c>>,
}

/// The other bindings of the graph, for a call that makes another one.
pub(super) struct Peers<'c> {
    pub(super) bindings: &'c Bindings,
    pub(super) program: &'c Program,
    /// The root of the graph.
    pub(super) root: &'c str,
    pub(super) caller: Caller,
}

/// A tool that a model is offered.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Offered {
    /// Its name, as the graph has it.
    pub name: Arc<str>,
    /// The purpose of the tool.
    pub description: Option<Arc<str>>,
    /// The schema of its arguments.
    pub parameters: Option<Value>,
}

impl Offered {
    /// The tools that a pending call offers; one that the program no longer has is left out.
    pub(super) fn of(program: &Program, call: &PendingCall) -> Vec<Self> {
        let made = made_from(program, call);
        let found = call.offered.iter().filter_map(|name| made?.offered.iter().find(|tool| tool.name == *name));
        let offered = found.map(|tool| Self {
            name: Arc::clone(&tool.name),
            description: tool.description.clone(),
            parameters: tool.parameters.as_ref().map(|schema| schema.source().clone()),
        });
        offered.collect()
    }
}

/// The call of the program that a pending one was made from, where its node still calls the same tool.
pub(super) fn made_from<'p>(program: &'p Program, call: &PendingCall) -> Option<&'p Call> {
    let index = program.find(&call.node).or_else(|| program.find_renamed(&call.node))?;
    let node = program.node(index);
    let own = match &node.role {
        Role::Act(own) => Some(&**own),
        Role::Pass | Role::Listen(_) => None,
    };
    let root = match call.role {
        CallRole::Do => own,
        CallRole::Undo(_) => own.and_then(|own| own.undo.as_deref()),
        CallRole::BeforeEach => program.graph_of(node).before_each.as_deref(),
    };
    let mut open: Vec<&Call> = root.into_iter().collect();
    while let Some(next) = open.pop() {
        match &next.callee {
            Callee::Tool(tool) if tool.name == call.name => return Some(next),
            Callee::Parallel(branches, _) => open.extend(branches.iter().map(|(_, branch)| branch)),
            Callee::Tool(_) | Callee::Graph(_) | Callee::Each(..) => {}
        }
    }
    None
}

/// Returns the error of a success that violates the current `returns` of the call.
#[cfg(feature = "history")]
pub(crate) fn breaks_returns(program: &Program, call: &PendingCall, value: &Value) -> Option<ToolError> {
    let schema = made_from(program, call)?.returns.iter().find(|schema| !schema.fits(value))?;
    let breaches: Vec<_> = schema.breaches(value).iter().map(|breach| breach.about("")).collect();
    let message = format!("the result breaks `returns`: {}", breaches.join("; "));
    Some(ToolError { kind: ToolErrorKind::Schema, ..ToolError::new(message) })
}

/// Takes the progress of a running tool, line by line, without its line break and with secrets left out.
pub type Progress<'c> = &'c (dyn Fn(&str) + Send + Sync);

/// Bytes of output that are accepted from one run of a tool.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) output: u64,
    pub(super) errors: u64,
}

impl Job<'_> {
    /// The tool that is called.
    pub fn tool(&self) -> &str {
        &self.call.name
    }

    /// Takes lines about its progress.
    pub fn progress(&self) -> Progress<'_> {
        self.context.report()
    }

    /// Bytes that a result may have as JSON: `limits.tool_output`.
    pub fn output_limit(&self) -> u64 {
        self.bounds.output
    }

    /// Does work until it is done, its time is up, or the call is to stop; then the work is dropped. Work that keeps the thread beyond its time is not
    /// done in time.
    ///
    /// # Errors
    /// The work's own; kind `timeout`; that it was stopped.
    pub async fn within<T>(&self, work: impl Future<Output = Result<T, ToolError>> + Send) -> Result<T, ToolError> {
        let began = Instant::now();
        tokio::select! {
            done = work => match self.timeout.filter(|timeout| began.elapsed() > *timeout) {
                None => done,
                Some(timeout) => Err(timed_out(self.tool(), timeout)),
            },
            timeout = after(self.timeout) => Err(timed_out(self.tool(), timeout)),
            () = self.context.cancel().cancelled() => Err(stopped(self.tool())),
        }
    }

    /// Calls another tool of the same graph, under the key of this call.
    ///
    /// # Errors
    /// Its own; that it was denied; that tools call one another without an end.
    pub(super) async fn ask(&self, tool: Arc<str>, args: Mapping) -> Result<Value, ToolError> {
        let Some(Peers { bindings, program, root, caller }) = &self.peers else {
            return Err(ToolError::new(format!("nothing here carries out `{tool}`")));
        };
        if caller.depth() > MAX_NESTED {
            return Err(ToolError::new(format!("`{tool}` is called by tools that call one another")));
        }
        let id = CallId::new(&*format!("{}@{tool}", self.call.id));
        let idempotency_key = IdempotencyKey::new(&*format!("{}@{tool}", self.call.idempotency_key));
        let call = PendingCall { id, name: tool, args, idempotency_key, secrets: Vec::new(), timeout: None, ..self.call.clone() };
        match bindings.call_in(program, root, &call, caller).await.outcome {
            ToolOutcome::Success(value) => Ok(value),
            ToolOutcome::Error(error) => Err(error),
            ToolOutcome::Denied(why) => Err(ToolError::new(why.unwrap_or_else(|| "it was denied".to_owned()))),
        }
    }

    /// Creates what the templates of the binding read: the arguments, with their secrets filled in, and the call (language 9.2).
    pub(in crate::binding) fn scope(&self) -> Scope {
        Scope::of_call(&self.args, self.call.identity())
    }

    /// A shape of the binding's over the arguments of the call (language 9.2).
    ///
    /// # Errors
    /// Code `template`: it cannot be evaluated.
    pub fn shaped(&self, shape: &Shape) -> Result<Value, ToolError> {
        let limits = RenderLimits { output: self.bounds.output, fuel: DEFAULT_FUEL };
        let value = shape.evaluate(&self.scope(), limits, &mut Vec::new());
        let failed = |error: TemplateError| {
            ToolError::coded("template", format!("the binding of `{}` cannot be filled in: {}", self.tool(), error.message)).finally()
        };
        Ok(value.map_err(failed)?.unwrap_or_default())
    }

    /// A result that is no longer than [`Job::output_limit`].
    ///
    /// # Errors
    /// Code `too-large`: it is longer; the error names both sizes.
    pub fn bounded(&self, value: Value) -> Result<Value, ToolError> {
        let (size, limit) = (value.size(), self.bounds.output);
        if size <= limit {
            return Ok(value);
        }
        let tool = self.tool();
        let message = format!("the result of `{tool}` is {size} bytes, more than the {limit} that `limits.tool_output` allows");
        Err(ToolError::coded("too-large", message).finally())
    }
}

impl fmt::Debug for Job<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Job").field("call", &self.call.id).field("timeout", &self.timeout).finish_non_exhaustive()
    }
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

/// The result of a call that took longer than it may.
pub(crate) fn timed_out(tool: &str, timeout: Duration) -> ToolError {
    ToolError { kind: ToolErrorKind::Timeout, ..ToolError::new(format!("`{tool}` took longer than {}", span(timeout))) }
}

/// The result of a call that was asked to stop.
pub(super) fn stopped(tool: &str) -> ToolError {
    ToolError::new(format!("`{tool}` was stopped"))
}

/// Waits for a timeout and returns its length; for ever if there is none.
pub(super) async fn after(timeout: Option<Duration>) -> Duration {
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

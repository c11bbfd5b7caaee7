//! The context of a call for its executor: facts about it, its progress, and its cancellation.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use tokio::sync::Notify;
use trellis_core::{
    Context, NodeId, SessionId,
    id::{CallId, IdempotencyKey},
    state::PendingCall,
};

/// Takes lines about progress, from any thread.
pub(crate) type Report = Arc<dyn Fn(&str) + Send + Sync>;

/// A piece of the text that a model writes, reported during the call. Pieces are never stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delta {
    /// The text that comes next.
    pub text: Arc<str>,
    /// True if it revokes the earlier pieces of this call: another provider answers.
    pub is_reset: bool,
}

/// Takes pieces of text, from any thread.
pub(crate) type Watch = Arc<dyn Fn(Delta) + Send + Sync>;

/// Asks a running tool to stop: SIGTERM, then SIGKILL after its grace period.
#[derive(Clone, Default)]
pub struct Cancel(Arc<(AtomicBool, Notify)>);

impl Cancel {
    /// Creates a flag that is not set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks.
    pub fn cancel(&self) {
        self.0.0.store(true, Ordering::Release);
        self.0.1.notify_waiters();
    }

    /// Returns whether it was set.
    pub fn is_cancelled(&self) -> bool {
        self.0.0.load(Ordering::Acquire)
    }

    /// Waits until it is set. It may be dropped.
    pub async fn cancelled(&self) {
        let mut asked = std::pin::pin!(self.0.1.notified());
        // From here on no notice is missed.
        asked.as_mut().enable();
        if !self.is_cancelled() {
            asked.await;
        }
    }
}

impl fmt::Debug for Cancel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Cancel").field(&self.is_cancelled()).finish()
    }
}

/// The session that has a call carried out.
#[derive(Clone)]
pub struct Caller {
    session: SessionId,
    graph: Arc<str>,
    context: Context,
    cancel: Cancel,
    report: Report,
    watch: Option<Watch>,
    traceparent: Option<Arc<str>>,
    /// The number of calls that it is called by, one within the other.
    depth: u8,
}

impl Caller {
    /// A call of this session, of the graph that the host calls so. `report` takes lines about its progress.
    pub fn new(session: SessionId, graph: Arc<str>, report: impl Fn(&str) + Send + Sync + 'static) -> Self {
        let (context, cancel, report) = (Context::default(), Cancel::new(), Arc::new(report));
        Self { session, graph, context, cancel, report, watch: None, traceparent: None, depth: 0 }
    }

    /// Sets the context of the session: its hidden values are masked in the output of the tool.
    #[must_use]
    pub fn within(self, context: Context) -> Self {
        Self { context, ..self }
    }

    /// Adds a watcher of a model's text during the call.
    #[must_use]
    pub fn watched(self, watch: impl Fn(Delta) + Send + Sync + 'static) -> Self {
        Self { watch: Some(Arc::new(watch)), ..self }
    }

    /// Sets the name of the call's span, a W3C `traceparent`.
    #[must_use]
    pub fn traced(self, traceparent: Option<String>) -> Self {
        Self { traceparent: traceparent.map(Into::into), ..self }
    }

    #[cfg(test)]
    pub(super) fn with_cancel(self, cancel: Cancel) -> Self {
        Self { cancel, ..self }
    }

    pub(super) fn context(&self) -> &Context {
        &self.context
    }

    /// Returns the context of a call that this one makes; its progress is masked like that of the outer call.
    pub(super) fn nested(&self, report: Report) -> Self {
        Self { report, depth: self.depth.saturating_add(1), ..self.clone() }
    }

    pub(super) fn depth(&self) -> u8 {
        self.depth
    }

    /// Stops the call.
    pub fn cancel(&self) -> &Cancel {
        &self.cancel
    }

    /// The session.
    pub fn session(&self) -> &SessionId {
        &self.session
    }

    /// The graph, as the host calls it.
    pub fn graph(&self) -> &Arc<str> {
        &self.graph
    }

    pub(super) fn report(&self) -> &Report {
        &self.report
    }
}

impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Caller").field("session", &self.session).field("graph", &self.graph).finish_non_exhaustive()
    }
}

/// The call that a function carries out: processes get the same in variables.
///
/// ```
/// use trellis_core::{ToolError, Value};
/// use trellis_host::Bindings;
///
/// let bindings = Bindings::none().function("count", |context, _| {
///     for percent in (0..100).step_by(10) {
///         if context.cancel().is_cancelled() {
///             return Err(ToolError::new("it took too long"));
///         }
///         context.progress(&format!("{percent} %"));
///     }
///     Ok(Value::text(&*format!("attempt {} of session {}", context.attempt, context.session)))
/// });
/// # drop(bindings);
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct CallContext {
    /// The session.
    pub session: SessionId,
    /// The graph that it walks, as the host calls it.
    pub graph: Arc<str>,
    /// The node that makes the call.
    pub node: NodeId,
    /// The attempt: each has an id of its own.
    pub call: CallId,
    /// The key of all attempts of one call, also after a crash: an effect under a key need not be repeated (language 7.8).
    pub idempotency_key: IdempotencyKey,
    /// The number of the attempt, from 1.
    pub attempt: u32,
    /// The name of the call's span, a W3C `traceparent`, if there is an observer whose spans others can continue.
    pub traceparent: Option<Arc<str>>,
    cancel: Cancel,
    report: Report,
    watch: Option<Watch>,
}

impl CallContext {
    pub(super) fn new(caller: &Caller, call: &PendingCall, report: Report) -> Self {
        Self {
            session: caller.session.clone(),
            graph: Arc::clone(&caller.graph),
            node: call.node.clone(),
            call: call.id.clone(),
            idempotency_key: call.idempotency_key.clone(),
            attempt: call.attempt,
            traceparent: caller.traceparent.clone(),
            cancel: caller.cancel.clone(),
            report,
            watch: caller.watch.clone(),
        }
    }

    /// The same call, whose progress is reported so.
    pub(super) fn reporting(self, report: Report) -> Self {
        Self { report, ..self }
    }

    /// Returns the flag that asks the call to stop: its time was up, or a signal took the session elsewhere. A function on a thread of its
    /// own is not stopped otherwise.
    pub fn cancel(&self) -> &Cancel {
        &self.cancel
    }

    pub(super) fn report(&self) -> &(dyn Fn(&str) + Send + Sync) {
        &*self.report
    }

    /// Returns whether there is a watcher of the text that a model writes.
    pub fn is_watched(&self) -> bool {
        self.watch.is_some()
    }

    /// Reports a piece of text. Secrets in it are not masked here: a secret may be cut in two.
    pub fn delta(&self, delta: Delta) {
        if let Some(watch) = &self.watch {
            watch(delta);
        }
    }

    /// Reports progress: one line.
    pub fn progress(&self, line: &str) {
        (self.report)(line);
    }
}

impl fmt::Debug for CallContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut context = f.debug_struct("CallContext");
        context.field("session", &self.session).field("graph", &self.graph).field("node", &self.node).field("call", &self.call);
        context.field("attempt", &self.attempt).finish_non_exhaustive()
    }
}

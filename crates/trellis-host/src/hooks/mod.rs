//! Hooks: they see events of sessions, after they were stored (language C.6).
//!
//! ```text
//! Sessions ──Seen──▶ a queue for each hook, bounded ──▶ its own thread ──▶ on_node_enter, on_tool_call …
//! ```
//!
//! **Invariant:** a hook that is slow, panics or never returns neither blocks nor breaks a session: events beyond its queue are dropped and
//! counted. Only [`Hooks::on_reload`] is awaited, for [`PATIENCE`] at most. In a program that is built with `panic = "abort"` a panic ends the
//! process, here as anywhere else: hooks that may panic need a program that unwinds, as `trellis` does.

mod sight;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc::{Receiver, SyncSender, TrySendError, sync_channel},
    },
    thread,
    time::Duration,
};

use tokio::sync::oneshot;
use trellis_core::{Event, NodeId, SessionId, SignalName, ToolResult, id::CallId, state::EndReason};

pub(crate) use self::sight::Sight;

/// The number of events that may wait for a hook.
const MAX_WAITING_EVENTS: usize = 4096;
/// The time for which a change of the program waits for a hook; one that takes longer has no objection.
pub const PATIENCE: Duration = Duration::from_secs(1);

/// The time and place of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moment {
    /// The session.
    pub session: SessionId,
    /// The child that the moment is about; `None` for the session itself.
    pub child: Option<SessionId>,
    /// The record of its journal.
    pub seq: u64,
    /// The time, in milliseconds since 1970.
    pub at: u64,
    /// The node of the session after it.
    pub node: NodeId,
    /// The step that entered that node: node and step name the visit, in every process that sees something of it.
    pub entered: u64,
    /// The time at which the session began, of which this may be a child, in milliseconds since 1970.
    pub began: u64,
    /// The fingerprint of the program that did it.
    pub program: Arc<str>,
}

/// The status of a session when it is taken up from its store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakenUp {
    /// The time at which the node was entered, in milliseconds since 1970.
    pub entered_at: u64,
    /// The pending call, then its open parts: the attempt, its tool, and since when.
    pub calls: Vec<(CallId, Arc<str>, u64)>,
}

/// Names the span of a call before the call runs, as a W3C `traceparent`: of this session, which began at this time in milliseconds since 1970, and of
/// this attempt.
pub type CallSpans = Arc<dyn Fn(&SessionId, u64, &CallId) -> String + Send + Sync>;

/// Observes sessions. Each hook has a thread of its own, and receives events in the order in which they were stored.
///
/// ```
/// # use trellis_core::{Dialect, Document, Engine, Predicates, Source, compile};
/// use std::{
///     sync::{Arc, Mutex},
///     time::Duration,
/// };
///
/// use trellis_core::{NodeId, Start};
/// use trellis_host::{
///     Bindings, Sessions,
///     hooks::{Hooks, Moment},
/// };
///
/// #[derive(Clone, Default)]
/// struct Visits(Arc<Mutex<Vec<NodeId>>>);
///
/// impl Hooks for Visits {
///     fn on_node_enter(&self, _: &Moment, node: &NodeId) {
///         if let Ok(mut visits) = self.0.lock() {
///             visits.push(node.clone());
///         }
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let files = [("start.md", "---\ninput_type: text\nsave_to: name\nto: hello\n---\nYour name?\n"), ("hello.md", "---\n---\nHello {{ name }}.\n")];
/// # let documents = files.map(|(path, text)| Document::parse(&Source::text(path, text), Dialect::default()).into());
/// # let engine = Engine::new(compile(&documents).program.ok_or("the graph has mistakes")?, Predicates::new())?;
/// let visits = Visits::default();
/// let sessions = Sessions::new(engine, Bindings::none())?.hooks(visits.clone());
/// sessions.start(Start::default()).await?;
/// sessions.stop(Duration::from_secs(1)).await;
/// assert!(visits.0.lock().is_ok_and(|visits| *visits == [NodeId::from("start")]));
/// # Ok(())
/// # }
/// ```
#[expect(unused_variables, reason = "a hook that does nothing")]
pub trait Hooks: Send + Sync + 'static {
    /// A session began.
    fn on_start(&self, moment: &Moment) {}

    /// A session was taken up from its store, then each of its children, callers first; the moment is that of the last record.
    fn on_resume(&self, moment: &Moment, taken_up: &TakenUp) {}

    /// A step was taken: an input was handed in, or a node passed through. The events of the step are reported after it.
    fn on_step(&self, moment: &Moment) {}

    /// A node was entered.
    fn on_node_enter(&self, moment: &Moment, node: &NodeId) {}

    /// A node was left.
    fn on_node_leave(&self, moment: &Moment, node: &NodeId) {}

    /// A call was yielded: it will be carried out, here or elsewhere.
    fn on_tool_call(&self, moment: &Moment, call: &CallId, tool: &str) {}

    /// The result of a call was accepted: `success`, `error`, `timeout`, `schema`, `denied`. `result` is that of the tool; `None` for a call whose
    /// parts decided it. It is whole: also values under `redact`, which no store gets.
    fn on_tool_return(&self, moment: &Moment, call: &CallId, outcome: &str, result: Option<&ToolResult>) {}

    /// A signal was taken.
    fn on_signal(&self, moment: &Moment, signal: &SignalName) {}

    /// Another program is about to replace that of all sessions: fingerprints of the present one and of the new one.
    ///
    /// # Errors
    /// The reason of the objection: sessions continue with the program that they have.
    fn on_reload(&self, from: &str, to: &str) -> Result<(), String> {
        Ok(())
    }

    /// A session ended.
    fn on_end(&self, moment: &Moment, reason: EndReason) {}

    /// The names of the spans of calls, if it makes spans that others can continue: bindings hand them on (language 9.15). Asked once, before
    /// anything else.
    fn call_spans(&self) -> Option<CallSpans> {
        None
    }
}

/// An event for a hook.
#[derive(Clone, Debug)]
pub(crate) enum HookEvent {
    Began,
    TakenUp(TakenUp),
    Step,
    Event(Event),
    /// A result was accepted, with what the tool returned.
    Returned(Event, Arc<ToolResult>),
}

/// A message to a hook.
enum HookMessage {
    Happened(Arc<[(Moment, HookEvent)]>),
    Reload {
        from: Arc<str>,
        to: Arc<str>,
        answer: oneshot::Sender<Result<(), String>>,
    },
    /// No event: a marker that everything before it was reported.
    Flush(oneshot::Sender<()>),
}

/// A hook and its queue. Its thread ends when this does.
pub(crate) struct Hooked {
    queue: SyncSender<HookMessage>,
    dropped: Arc<AtomicU64>,
    call_spans: Option<CallSpans>,
}

impl Hooked {
    /// Starts a thread for these hooks; the number of events that they miss is added to `dropped`.
    pub(crate) fn new(hooks: impl Hooks, dropped: Arc<AtomicU64>) -> Self {
        let (queue, messages) = sync_channel(MAX_WAITING_EVENTS);
        let (lost, call_spans) = (Arc::clone(&dropped), hooks.call_spans());
        // Without a thread the queue is closed, and everything is counted as dropped.
        let _ = thread::Builder::new().name("trellis-hooks".into()).spawn(move || listen(&hooks, &messages, &lost));
        Self { queue, dropped, call_spans }
    }

    /// The `traceparent` of a call of a session that is seen so, if this hook makes spans.
    pub(crate) fn traceparent(&self, session: &SessionId, sight: &Sight, call: &CallId) -> Option<String> {
        self.call_spans.as_ref().map(|name| name(session, sight.began, call))
    }

    /// Reports events, if there is room in the queue.
    pub(crate) fn tell(&self, happened: &Arc<[(Moment, HookEvent)]>) {
        if self.queue.try_send(HookMessage::Happened(Arc::clone(happened))).is_err() {
            self.dropped.fetch_add(happened.len() as u64, Ordering::Relaxed);
        }
    }

    /// Waits until everything before was reported, [`PATIENCE`] at most; returns false if that was too short.
    pub(crate) async fn flush(&self) -> bool {
        let flushed = async {
            let (done, heard) = oneshot::channel();
            let mut unsent = Some(HookMessage::Flush(done));
            while let Some(message) = unsent.take() {
                match self.queue.try_send(message) {
                    Err(TrySendError::Full(message)) => unsent = Some(message),
                    Err(TrySendError::Disconnected(_)) => return false,
                    Ok(()) => break,
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            heard.await.is_ok()
        };
        tokio::time::timeout(PATIENCE, flushed).await.unwrap_or(false)
    }

    /// Returns the objection to a change of the sessions' program, if there is one. Silence is consent.
    pub(crate) async fn objection(&self, from: &Arc<str>, to: &Arc<str>) -> Option<String> {
        let (answer, answered) = oneshot::channel();
        self.queue.try_send(HookMessage::Reload { from: Arc::clone(from), to: Arc::clone(to), answer }).ok()?;
        tokio::time::timeout(PATIENCE, answered).await.ok()?.ok()?.err()
    }
}

fn listen(hooks: &impl Hooks, messages: &Receiver<HookMessage>, dropped: &AtomicU64) {
    while let Ok(message) = messages.recv() {
        match message {
            HookMessage::Happened(happened) => {
                for (moment, seen) in &*happened {
                    if catch_unwind(AssertUnwindSafe(|| call(hooks, moment, seen))).is_err() {
                        dropped.fetch_add(1, Ordering::Relaxed);
                    }
                }
            }
            HookMessage::Reload { from, to, answer } => {
                let objection = catch_unwind(AssertUnwindSafe(|| hooks.on_reload(&from, &to)));
                if objection.is_err() {
                    dropped.fetch_add(1, Ordering::Relaxed);
                }
                // The caller may have continued without an answer.
                let _ = answer.send(objection.unwrap_or(Ok(())));
            }
            HookMessage::Flush(done) => drop(done.send(())),
        }
    }
}

fn call(hooks: &impl Hooks, moment: &Moment, seen: &HookEvent) {
    let (event, result) = match seen {
        HookEvent::Began => return hooks.on_start(moment),
        HookEvent::TakenUp(taken_up) => return hooks.on_resume(moment, taken_up),
        HookEvent::Step => return hooks.on_step(moment),
        HookEvent::Event(event) => (event, None),
        HookEvent::Returned(event, result) => (event, Some(&**result)),
    };
    match event {
        Event::Entered(node) => hooks.on_node_enter(moment, node),
        Event::Left(node) => hooks.on_node_leave(moment, node),
        Event::Called { id, tool } => hooks.on_tool_call(moment, id, tool),
        Event::Returned { id, outcome } => hooks.on_tool_return(moment, id, outcome, result),
        Event::Signalled(signal) => hooks.on_signal(moment, signal),
        Event::Ended(reason) => hooks.on_end(moment, *reason),
        _ => {}
    }
}

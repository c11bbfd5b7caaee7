//! Hooks: they see what happens in sessions, after it was stored (design §7).
//!
//! ```text
//! Sessions ──Seen──▶ a queue for each hook, bounded ──▶ its own thread ──▶ on_node_enter, on_tool_call …
//! ```
//!
//! **Invariant:** a hook that is slow, panics or never returns neither blocks nor breaks a session: what does not fit its queue is dropped and
//! counted. Only [`Hooks::on_reload`] is waited for, for as long as [`PATIENCE`].

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread,
    time::Duration,
};

use tokio::sync::oneshot;
use trellis_core::{Event, NodeId, SessionId, SignalName, id::CallId, state::EndReason};

use crate::journal::Record;

/// How much may wait for a hook.
const QUEUE: usize = 4096;
/// How long a change of the program waits for a hook; one that takes longer has no objection.
pub const PATIENCE: Duration = Duration::from_secs(1);

/// When and where something happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moment {
    /// The session.
    pub session: SessionId,
    /// The record of its journal.
    pub seq: u64,
    /// When, in milliseconds since 1970.
    pub at: u64,
    /// The node where the session stands after it.
    pub node: NodeId,
}

/// Sees what happens in sessions. Each hook has a thread of its own, and is told things in the order in which they were stored.
#[expect(unused_variables, reason = "a hook that does nothing")]
pub trait Hooks: Send + Sync + 'static {
    /// A node was entered.
    fn on_node_enter(&self, moment: &Moment, node: &NodeId) {}

    /// A node was left.
    fn on_node_leave(&self, moment: &Moment, node: &NodeId) {}

    /// A call was yielded: it will be carried out, here or elsewhere.
    fn on_tool_call(&self, moment: &Moment, call: &CallId, tool: &str) {}

    /// The result of a call was accepted: `success`, `error`, `timeout`, `schema`, `denied`.
    fn on_tool_return(&self, moment: &Moment, call: &CallId, outcome: &str) {}

    /// A signal was taken.
    fn on_signal(&self, moment: &Moment, signal: &SignalName) {}

    /// Another program is about to be put under all sessions: fingerprints of the one that they have and of the new one.
    ///
    /// # Errors
    /// Why it must not: sessions go on with the program that they have.
    fn on_reload(&self, from: &str, to: &str) -> Result<(), String> {
        Ok(())
    }

    /// A session ended.
    fn on_end(&self, moment: &Moment, reason: EndReason) {}
}

/// What a hook is to be told.
enum Told {
    Happened(Arc<[(Moment, Event)]>),
    Reload { from: Arc<str>, to: Arc<str>, answer: oneshot::Sender<Result<(), String>> },
}

/// A hook and its queue. Its thread ends when this does.
pub(crate) struct Hooked {
    queue: SyncSender<Told>,
    dropped: Arc<AtomicU64>,
}

impl Hooked {
    pub(crate) fn new(hooks: impl Hooks) -> Self {
        let (queue, told) = sync_channel(QUEUE);
        let dropped = Arc::new(AtomicU64::new(0));
        let lost = Arc::clone(&dropped);
        // Without a thread the queue is closed, and everything is counted as dropped.
        let _ = thread::Builder::new().name("trellis-hooks".into()).spawn(move || listen(&hooks, &told, &lost));
        Self { queue, dropped }
    }

    /// Tells what happened, if there is room.
    pub(crate) fn tell(&self, happened: &Arc<[(Moment, Event)]>) {
        if self.queue.try_send(Told::Happened(Arc::clone(happened))).is_err() {
            self.dropped.fetch_add(happened.len() as u64, Ordering::Relaxed);
        }
    }

    /// Why another program must not be put under the sessions, if there is a reason. Silence is consent.
    pub(crate) async fn objection(&self, from: &Arc<str>, to: &Arc<str>) -> Option<String> {
        let (answer, answered) = oneshot::channel();
        self.queue.try_send(Told::Reload { from: Arc::clone(from), to: Arc::clone(to), answer }).ok()?;
        tokio::time::timeout(PATIENCE, answered).await.ok()?.ok()?.err()
    }

    /// How much was not told, because the hook was too slow or panicked.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }
}

fn listen(hooks: &impl Hooks, told: &Receiver<Told>, dropped: &AtomicU64) {
    while let Ok(told) = told.recv() {
        match told {
            Told::Happened(happened) => {
                for (moment, event) in &*happened {
                    if catch_unwind(AssertUnwindSafe(|| call(hooks, moment, event))).is_err() {
                        dropped.fetch_add(1, Ordering::Relaxed);
                    }
                }
            }
            Told::Reload { from, to, answer } => {
                let objection = catch_unwind(AssertUnwindSafe(|| hooks.on_reload(&from, &to)));
                // Who asked may have gone on without an answer.
                let _ = answer.send(objection.unwrap_or(Ok(())));
            }
        }
    }
}

fn call(hooks: &impl Hooks, moment: &Moment, event: &Event) {
    match event {
        Event::Entered(node) => hooks.on_node_enter(moment, node),
        Event::Left(node) => hooks.on_node_leave(moment, node),
        Event::Called { id, tool } => hooks.on_tool_call(moment, id, tool),
        Event::Returned { id, outcome } => hooks.on_tool_return(moment, id, outcome),
        Event::Signalled(signal) => hooks.on_signal(moment, signal),
        Event::Ended(reason) => hooks.on_end(moment, *reason),
        Event::Invalid(_)
        | Event::Predicate { .. }
        | Event::Late { .. }
        | Event::DeadLetter(_)
        | Event::RollingBack(_)
        | Event::Undone { .. } => {}
    }
}

/// What the hooks are told of these records.
pub(crate) fn happened<'r>(session: &'r SessionId, records: impl Iterator<Item = &'r Record>) -> impl Iterator<Item = (Moment, Event)> {
    records.flat_map(move |record| {
        let moment = Moment { session: session.clone(), seq: record.seq, at: record.at, node: record.to.clone() };
        record.events.iter().map(move |event| (moment.clone(), event.clone()))
    })
}

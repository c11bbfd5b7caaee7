//! Sessions in numbers: counters and histograms, as text that Prometheus reads. A host serves the text, or writes it to a file.
//!
//! ```text
//! Hooks (stored steps) ─┐
//! SessionEvent (calls) ────┼──▶ Metrics ──render──▶ text
//! SessionStore ─────────┘
//! ```
//!
//! **Invariant:** labels are names of nodes and tools of the program, and words from closed lists: never a session, a value or a message. So the
//! number of series depends on the names of the graph, not on the number of sessions.

mod series;
mod store;

use std::{
    collections::BTreeMap,
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{Receiver, Sender, channel},
    },
    time::{Duration, Instant},
};

use trellis_core::{NodeId, SessionId, ToolResult, id::CallId, state::EndReason};

use self::series::Series;
use crate::{
    hooks::{Hooks, Moment, TakenUp},
    sessions::{SessionEvent, Sessions},
    store::SessionStore,
};

/// The `Content-Type` of the output of [`Metrics::render`].
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Calls that are remembered until their result comes.
const MAX_OPEN_CALLS: usize = 10_000;

/// Counts events. Clones count together.
#[derive(Clone, Default)]
pub struct Metrics {
    counted: Arc<CountedSession>,
    /// Each ends when everything about some sessions was counted.
    pending: Arc<Mutex<Vec<Receiver<()>>>>,
}

/// The hooks that count the steps of some sessions.
struct Counting {
    counted: Arc<CountedSession>,
    _done: Sender<()>,
}

#[derive(Default)]
struct CountedSession {
    series: Series,
    /// The tools of pending calls: a result names only its call.
    pending: Mutex<BTreeMap<CallId, (SessionId, Arc<str>)>>,
    /// Since when a call is carried out here.
    running: Mutex<BTreeMap<CallId, Instant>>,
}

impl Metrics {
    /// Creates metrics without counts.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the sessions, counted.
    #[must_use]
    pub fn over(&self, sessions: Sessions) -> Sessions {
        self.counted.series.watch(sessions.dropped_by_all());
        let counted = Arc::clone(&self.counted);
        let (done, pending) = channel();
        locked(&self.pending).push(pending);
        sessions.observe(move |_, event| counted.happened(event));
        sessions.hooks(Counting { counted: Arc::clone(&self.counted), _done: done })
    }

    /// Returns the store, with its appends timed and its errors counted.
    pub fn store(&self, store: Arc<dyn SessionStore>) -> Arc<dyn SessionStore> {
        Arc::new(store::Timed { store, counted: Arc::clone(&self.counted) })
    }

    /// The numbers as they are now, in the text format of Prometheus, version 0.0.4.
    pub fn render(&self) -> String {
        self.counted.series.render()
    }

    /// Waits until everything was counted that sessions did which are gone, at most this long.
    pub fn finish(&self, patience: Duration) {
        let began = Instant::now();
        for pending in locked(&self.pending).drain(..) {
            // No message is ever sent: the channel closes, or it takes too long.
            let _ = pending.recv_timeout(patience.saturating_sub(began.elapsed()));
        }
    }
}

impl CountedSession {
    fn happened(&self, event: &SessionEvent) {
        match event.split().1 {
            SessionEvent::Calling(call) => remember(&self.running, &call.id, Instant::now()),
            SessionEvent::Returned(call, _) => {
                if let Some(since) = locked(&self.running).remove(&call.id) {
                    self.series.took(&call.name, since.elapsed());
                }
            }
            _ => {}
        }
    }
}

impl Hooks for Counting {
    fn on_start(&self, moment: &Moment) {
        if moment.child.is_none() {
            self.counted.series.started();
        }
    }

    fn on_resume(&self, moment: &Moment, taken_up: &TakenUp) {
        if moment.child.is_none() {
            self.counted.series.resumed();
        }
        for (call, tool, _) in &taken_up.calls {
            remember(&self.counted.pending, call, (moment.session.clone(), Arc::clone(tool)));
        }
    }

    fn on_step(&self, _: &Moment) {
        self.counted.series.stepped();
    }

    fn on_node_enter(&self, _: &Moment, node: &NodeId) {
        self.counted.series.visited(node.as_str());
    }

    fn on_tool_call(&self, moment: &Moment, call: &CallId, tool: &str) {
        self.counted.series.called(tool);
        remember(&self.counted.pending, call, (moment.session.clone(), tool.into()));
    }

    fn on_tool_return(&self, _: &Moment, call: &CallId, outcome: &str, _: Option<&ToolResult>) {
        if let Some((_, tool)) = locked(&self.counted.pending).remove(call) {
            self.counted.series.returned(&tool, outcome);
        }
    }

    fn on_end(&self, moment: &Moment, reason: EndReason) {
        if moment.child.is_none() {
            locked(&self.counted.pending).retain(|_, (session, _)| *session != moment.session);
            self.counted.series.ended(reason.as_str());
        }
    }
}

/// Remembers something of a call, unless that are too many already.
fn remember<T>(map: &Mutex<BTreeMap<CallId, T>>, call: &CallId, value: T) {
    let mut map = locked(map);
    if map.len() < MAX_OPEN_CALLS || map.contains_key(call) {
        map.insert(call.clone(), value);
    }
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Metrics")
    }
}

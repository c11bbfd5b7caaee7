//! The series, and their text.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use prometheus_client::{
    encoding::text::encode_registry,
    metrics::{counter::Counter, family::Family, histogram::Histogram},
    registry::Registry,
};

/// Bounds for times of stores: from a write to memory to a disk that is stuck.
const STORE: [f64; 16] = [5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0];
/// Bounds for times of tools: from a function to a person's minute.
const TOOL: [f64; 16] = [1e-4, 1e-3, 5e-3, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0];

type One = [(&'static str, String); 1];
type Two = [(&'static str, String); 2];

/// Everything that is counted.
pub(super) struct Series {
    /// Counters, whose families are named otherwise in the text than the library names them.
    counters: Registry,
    histograms: Registry,
    started: Counter,
    resumed: Counter,
    ended: Family<One, Counter>,
    steps: Counter,
    visits: Family<One, Counter>,
    calls: Family<One, Counter>,
    results: Family<Two, Counter>,
    store_errors: Family<Two, Counter>,
    dropped: Counter<u64, Shared>,
    tools: Family<One, Histogram, fn() -> Histogram>,
    appends: Histogram,
}

impl Default for Series {
    fn default() -> Self {
        let tools: fn() -> Histogram = || Histogram::new(TOOL);
        let mut series = Self {
            counters: Registry::with_prefix("trellis"),
            histograms: Registry::with_prefix("trellis"),
            started: Counter::default(),
            resumed: Counter::default(),
            ended: Family::default(),
            steps: Counter::default(),
            visits: Family::default(),
            calls: Family::default(),
            results: Family::default(),
            store_errors: Family::default(),
            dropped: Counter::default(),
            tools: Family::new_with_constructor(tools),
            appends: Histogram::new(STORE),
        };
        let counters = &mut series.counters;
        counters.register("sessions_started", "Sessions that began", series.started.clone());
        counters.register("sessions_resumed", "Sessions that were taken up from their store", series.resumed.clone());
        counters.register("sessions_ended", "Sessions that ended, by how", series.ended.clone());
        counters.register("steps", "Steps that were taken, nodes that were passed through included", series.steps.clone());
        counters.register("node_visits", "Nodes that were entered", series.visits.clone());
        counters.register("tool_calls", "Calls that were made, each attempt", series.calls.clone());
        counters.register("tool_results", "Results that were accepted, by what became of the call", series.results.clone());
        counters.register("store_errors", "What a store could not do, by what was asked and why", series.store_errors.clone());
        counters.register("hook_events_dropped", "What hooks were not told, because they were too slow or failed", series.dropped.clone());
        let histograms = &mut series.histograms;
        histograms.register("tool_seconds", "What calls took that were carried out here", series.tools.clone());
        histograms.register("store_append_seconds", "What appends to the store took that succeeded", series.appends.clone());
        series
    }
}

impl Series {
    /// Adds the counter of events that hooks miss from now on.
    pub(super) fn watch(&self, dropped: Arc<AtomicU64>) {
        self.dropped.inner().0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(dropped);
    }

    pub(super) fn started(&self) {
        self.started.inc();
    }

    pub(super) fn resumed(&self) {
        self.resumed.inc();
    }

    pub(super) fn ended(&self, reason: &str) {
        self.ended.get_or_create(&[("reason", reason.to_owned())]).inc();
    }

    pub(super) fn stepped(&self) {
        self.steps.inc();
    }

    pub(super) fn visited(&self, node: &str) {
        self.visits.get_or_create(&[("node", node.to_owned())]).inc();
    }

    pub(super) fn called(&self, tool: &str) {
        self.calls.get_or_create(&[("tool", tool.to_owned())]).inc();
    }

    pub(super) fn returned(&self, tool: &str, outcome: &str) {
        self.results.get_or_create(&[("tool", tool.to_owned()), ("outcome", outcome.to_owned())]).inc();
    }

    pub(super) fn took(&self, tool: &str, time: Duration) {
        self.tools.get_or_create(&[("tool", tool.to_owned())]).observe(time.as_secs_f64());
    }

    pub(super) fn appended(&self, time: Duration) {
        self.appends.observe(time.as_secs_f64());
    }

    pub(super) fn store_failed(&self, operation: &'static str, error: &'static str) {
        self.store_errors.get_or_create(&[("operation", operation.to_owned()), ("error", error.to_owned())]).inc();
    }

    pub(super) fn render(&self) -> String {
        let (mut counters, mut text) = (String::new(), String::new());
        let written = encode_registry(&mut counters, &self.counters).and_then(|()| encode_registry(&mut text, &self.histograms));
        debug_assert!(written.is_ok(), "a text takes everything");
        counters.lines().map(|line| total(line) + "\n").collect::<String>() + &text
    }
}

/// A line of a counter: the library writes the newer text format, in which a family lacks the `_total` that its samples have.
fn total(line: &str) -> String {
    let about = ["# HELP ", "# TYPE "].into_iter().find_map(|start| Some((start, line.strip_prefix(start)?.split_once(' ')?)));
    match about {
        Some((start, (name, rest))) => format!("{start}{name}_total {rest}"),
        None => line.to_owned(),
    }
}

/// Numbers that others count, added up.
#[derive(Debug, Default)]
struct Shared(std::sync::Mutex<Vec<Arc<AtomicU64>>>);

impl prometheus_client::metrics::counter::Atomic<u64> for Shared {
    fn inc(&self) -> u64 {
        self.get()
    }

    fn inc_by(&self, _: u64) -> u64 {
        self.get()
    }

    fn get(&self) -> u64 {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).iter().map(|count| count.load(Ordering::Relaxed)).sum()
    }
}

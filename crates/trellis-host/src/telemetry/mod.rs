//! Spans of sessions: for collectors that speak OTLP, and for subscribers of `tracing`.
//!
//! ```text
//! Hooks ──▶ Spans ──▶ a session ⊃ its visits of nodes ⊃ their calls ⊃ visits of a child ⊃ … ──▶ Sink: Otlp, Tracing, or one of your own
//! ```
//!
//! A span has the times of the journal, not those of the moment when it was made. All spans of a session are of one trace, whichever process made
//! them: their names are derived from the journal, so a call that a crash interrupted still has its node's visit as its parent.
//!
//! **Invariant:** names of sessions, nodes, tools and programs, outcomes, numbers and times are all that a sink gets; never a value of the context, an
//! argument, an input or a result.

mod client;
mod identity;
mod otlp;
mod settings;
mod tracing;
mod walk;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use trellis_core::{NodeId, SignalName, ToolResult, id::CallId, state::EndReason};

use self::walk::OpenSpans;
pub use self::{
    otlp::{Export, Otlp, Unsent},
    settings::BadSetting,
    tracing::Tracing,
};
use crate::hooks::{CallSpans, Hooks, Moment, TakenUp};

/// The subject of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SpanSubject {
    /// A session, as long as one process advances it.
    Session,
    /// A visit of a node, from its entry until it is left, also over restarts.
    Visit,
    /// A call, from the step that made it to the one that accepted its result: delays and approvals are part of it.
    Call,
}

/// A span that begins.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct SpanStart<'a> {
    /// The subject.
    pub kind: SpanSubject,
    /// The node, or the tool; of a session its name.
    pub name: &'a str,
    /// The attempt, of a call.
    pub call: Option<&'a CallId>,
    /// The moment of the first event.
    pub moment: &'a Moment,
    /// The time at which it began, in milliseconds since 1970.
    pub at: u64,
    /// The trace of all spans of a session.
    pub trace: u128,
    /// Its name in the trace, the same in every process.
    pub id: u64,
    /// The span that it is part of.
    pub parent: Option<u64>,
}

/// The end of a span.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Closing<'a> {
    /// The time, in milliseconds since 1970.
    pub at: u64,
    /// The record that ended it, or the last one that was seen.
    pub seq: u64,
    /// The outcome of a call, as [`Hooks::on_tool_return`] has it, or `abandoned`; the end of a session, if it ended.
    pub outcome: Option<&'a str>,
    /// The node of the session then.
    pub node: &'a NodeId,
}

/// Receives spans. A span that is dropped without [`Sink::close`] is left to another process.
pub trait Sink: Send + 'static {
    /// A span that is open.
    type Span: Send;

    /// Begins one, below `parent` if that began here too.
    fn open(&mut self, opening: &SpanStart<'_>, parent: Option<&Self::Span>) -> Self::Span;

    /// A signal was taken while it was open.
    fn note(&mut self, span: &mut Self::Span, signal: &str, at: u64);

    /// Ends one.
    fn close(&mut self, span: Self::Span, closing: &Closing<'_>);

    /// Returns a function that tells whether a trace is recorded, if its spans are those of W3C, which others can continue.
    fn sampling(&self) -> Option<Sampling> {
        None
    }
}

/// Decides whether a trace is recorded.
pub type Sampling = Arc<dyn Fn(u128) -> bool + Send + Sync>;

/// The hooks that make spans.
#[derive(Debug)]
pub struct Spans<S: Sink>(Mutex<OpenSpans<S>>);

impl<S: Sink> Spans<S> {
    /// Spans for this sink.
    pub fn new(sink: S) -> Self {
        Self(Mutex::new(OpenSpans::new(sink)))
    }

    fn walk(&self) -> MutexGuard<'_, OpenSpans<S>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: Sink> Hooks for Spans<S> {
    fn call_spans(&self) -> Option<CallSpans> {
        let is_recorded = self.walk().sink().sampling()?;
        Some(Arc::new(move |session, began, call| {
            let trace = identity::trace_of(session, began);
            format!("00-{trace:032x}-{:016x}-{:02x}", identity::call(trace, call), u8::from(is_recorded(trace)))
        }))
    }

    fn on_start(&self, moment: &Moment) {
        self.walk().began(moment);
    }

    fn on_resume(&self, moment: &Moment, taken_up: &TakenUp) {
        self.walk().taken_up(moment, taken_up);
    }

    fn on_step(&self, moment: &Moment) {
        self.walk().stepped(moment);
    }

    fn on_node_enter(&self, moment: &Moment, node: &NodeId) {
        self.walk().entered(moment, node);
    }

    fn on_node_leave(&self, moment: &Moment, node: &NodeId) {
        self.walk().left(moment, node);
    }

    fn on_tool_call(&self, moment: &Moment, call: &CallId, tool: &str) {
        self.walk().called(moment, call, tool);
    }

    fn on_tool_return(&self, moment: &Moment, call: &CallId, outcome: &str, _: Option<&ToolResult>) {
        self.walk().returned(moment, call, outcome);
    }

    fn on_signal(&self, moment: &Moment, signal: &SignalName) {
        self.walk().signalled(moment, signal);
    }

    fn on_end(&self, moment: &Moment, reason: EndReason) {
        self.walk().ended(moment, reason);
    }
}

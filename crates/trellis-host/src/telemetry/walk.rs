//! From events of hooks to spans: the open ones, their parents, and their ends.
//!
//! **Invariant:** a visit and a call are closed once, by the process that saw them end; spans that are open when a process leaves are left to the
//! next one. Memory is bounded for all sessions.

use std::{collections::BTreeMap, fmt};

use trellis_core::{NodeId, SessionId, SignalName, id::CallId, state::EndReason};

use super::{Closing, Sink, SpanStart, SpanSubject, identity};
use crate::hooks::{Moment, TakenUp};

/// The number of sessions in memory; the one without events for the longest time is closed for another.
const MAX_OPEN_SESSIONS: usize = 10_000;
/// Calls of a session that are remembered.
const MAX_CALLS_PER_SESSION: usize = 1_000;

/// The spans that are open.
pub(super) struct OpenSpans<S: Sink> {
    sink: S,
    sessions: BTreeMap<SessionId, OpenSession<S::Span>>,
    /// Sessions by when they were seen last.
    order: BTreeMap<u64, SessionId>,
    tick: u64,
}

/// A session.
struct OpenSession<T> {
    tick: u64,
    trace: u128,
    /// The span, `None` before the first event: a process that only looks at a session makes none.
    span: Option<(u64, T)>,
    /// Its status when it was taken up, until the first event.
    taken_up: Option<(Moment, TakenUp)>,
    visit: Option<OpenVisit<T>>,
    calls: Vec<(CallId, T)>,
    last: Moment,
}

struct OpenVisit<T> {
    node: NodeId,
    id: u64,
    span: T,
}

impl<S: Sink> OpenSpans<S> {
    pub(super) fn new(sink: S) -> Self {
        Self { sink, sessions: BTreeMap::new(), order: BTreeMap::new(), tick: 0 }
    }

    pub(super) fn sink(&self) -> &S {
        &self.sink
    }

    pub(super) fn began(&mut self, moment: &Moment) {
        self.seen(moment);
    }

    pub(super) fn stepped(&mut self, moment: &Moment) {
        self.seen(moment);
    }

    pub(super) fn taken_up(&mut self, moment: &Moment, taken_up: &TakenUp) {
        let open = self.remembered(moment);
        // Another process may have advanced it since it was here.
        open.visit = None;
        open.calls.clear();
        open.taken_up = Some((moment.clone(), taken_up.clone()));
    }

    pub(super) fn entered(&mut self, moment: &Moment, node: &NodeId) {
        let (sink, open) = self.seen(moment);
        open.close_visit(sink, moment);
        open.open_visit(sink, moment, node, moment.at);
    }

    pub(super) fn left(&mut self, moment: &Moment, node: &NodeId) {
        let (sink, open) = self.seen(moment);
        open.visit = open.visit.take().filter(|visit| visit.node == *node);
        open.close_visit(sink, moment);
    }

    pub(super) fn called(&mut self, moment: &Moment, call: &CallId, tool: &str) {
        let (sink, open) = self.seen(moment);
        open.open_call(sink, moment, call, tool, moment.at);
    }

    pub(super) fn returned(&mut self, moment: &Moment, call: &CallId, outcome: &str) {
        let (sink, open) = self.seen(moment);
        if let Some(at) = open.calls.iter().position(|(id, _)| id == call) {
            let (_, span) = open.calls.swap_remove(at);
            sink.close(span, &Closing::at(moment, Some(outcome)));
        }
    }

    pub(super) fn signalled(&mut self, moment: &Moment, signal: &SignalName) {
        let (sink, open) = self.seen(moment);
        let span = open.visit.as_mut().map(|visit| &mut visit.span).or(open.span.as_mut().map(|(_, span)| span));
        if let Some(span) = span {
            sink.note(span, signal.as_str(), moment.at);
        }
    }

    pub(super) fn ended(&mut self, moment: &Moment, reason: EndReason) {
        let (sink, open) = self.seen(moment);
        open.close_visit(sink, moment);
        if let Some((_, span)) = open.span.take() {
            sink.close(span, &Closing::at(moment, Some(reason.as_str())));
        }
        let tick = open.tick;
        self.order.remove(&tick);
        self.sessions.remove(&moment.session);
    }

    /// A session at which something happened, with its span.
    fn seen(&mut self, moment: &Moment) -> (&mut S, &mut OpenSession<S::Span>) {
        self.remembered(moment);
        let Self { sink, sessions, .. } = self;
        let open = sessions.get_mut(&moment.session).unwrap_or_else(|| unreachable!("it is remembered"));
        open.last = moment.clone();
        if open.span.is_none() {
            open.open_session(sink, moment);
        }
        if let Some((since, taken_up)) = open.taken_up.take() {
            let node = since.node.clone();
            open.open_visit(sink, &since, &node, taken_up.entered_at);
            if let Some((call, tool, at)) = taken_up.call {
                open.open_call(sink, &since, &call, &tool, at);
            }
        }
        (sink, open)
    }

    fn remembered(&mut self, moment: &Moment) -> &mut OpenSession<S::Span> {
        self.tick += 1;
        let tick = self.tick;
        if !self.sessions.contains_key(&moment.session)
            && self.sessions.len() >= MAX_OPEN_SESSIONS
            && let Some((_, session)) = self.order.pop_first()
            && let Some(open) = self.sessions.remove(&session)
        {
            open.put_down(&mut self.sink);
        }
        let trace = identity::trace(moment);
        let open = self.sessions.entry(moment.session.clone()).or_insert_with(|| OpenSession {
            tick,
            trace,
            span: None,
            taken_up: None,
            visit: None,
            calls: Vec::new(),
            last: moment.clone(),
        });
        self.order.remove(&open.tick);
        self.order.insert(tick, moment.session.clone());
        open.tick = tick;
        if open.trace != trace {
            // Another session of that name: the one before was removed.
            let before = std::mem::replace(&mut open.trace, trace);
            debug_assert_ne!(before, trace);
            open.visit = None;
            open.calls.clear();
            open.taken_up = None;
            if let Some((_, span)) = open.span.take() {
                self.sink.close(span, &Closing::at(&open.last, None));
            }
        }
        open
    }
}

impl<T> OpenSession<T> {
    fn open_session<S: Sink<Span = T>>(&mut self, sink: &mut S, moment: &Moment) {
        let id = identity::session(self.trace, moment.seq);
        // Later processes show below the one that began it.
        let parent = (moment.seq > 0).then(|| identity::session(self.trace, 0));
        let opening = SpanStart {
            kind: SpanSubject::Session,
            name: moment.session.as_str(),
            call: None,
            moment,
            at: moment.at,
            trace: self.trace,
            id,
            parent,
        };
        self.span = Some((id, sink.open(&opening, None)));
    }

    fn open_visit<S: Sink<Span = T>>(&mut self, sink: &mut S, moment: &Moment, node: &NodeId, at: u64) {
        let id = identity::visit(self.trace, node, moment.entered);
        let parent = self.span.as_ref();
        let opening = SpanStart {
            kind: SpanSubject::Visit,
            name: node.as_str(),
            call: None,
            moment,
            at,
            trace: self.trace,
            id,
            parent: parent.map(|(id, _)| *id),
        };
        let span = sink.open(&opening, parent.map(|(_, span)| span));
        self.visit = Some(OpenVisit { node: node.clone(), id, span });
    }

    fn open_call<S: Sink<Span = T>>(&mut self, sink: &mut S, moment: &Moment, call: &CallId, tool: &str, at: u64) {
        if self.calls.len() >= MAX_CALLS_PER_SESSION {
            return;
        }
        let parent = self.visit.as_ref().map(|visit| (visit.id, &visit.span)).or(self.span.as_ref().map(|(id, span)| (*id, span)));
        let opening = SpanStart {
            kind: SpanSubject::Call,
            name: tool,
            call: Some(call),
            moment,
            at,
            trace: self.trace,
            id: identity::call(self.trace, call),
            parent: parent.map(|(id, _)| id),
        };
        let span = sink.open(&opening, parent.map(|(_, span)| span));
        self.calls.push((call.clone(), span));
    }

    /// Ends the visit, and its calls without a result.
    fn close_visit<S: Sink<Span = T>>(&mut self, sink: &mut S, moment: &Moment) {
        for (_, span) in self.calls.drain(..) {
            sink.close(span, &Closing::at(moment, Some("abandoned")));
        }
        if let Some(visit) = self.visit.take() {
            sink.close(visit.span, &Closing::at(moment, None));
        }
    }

    /// Leaves the session to another process.
    fn put_down<S: Sink<Span = T>>(self, sink: &mut S) {
        if let Some((_, span)) = self.span {
            sink.close(span, &Closing::at(&self.last, None));
        }
    }
}

impl<'a> Closing<'a> {
    fn at(moment: &'a Moment, outcome: Option<&'a str>) -> Self {
        Self { at: moment.at, seq: moment.seq, outcome, node: &moment.node }
    }
}

impl<S: Sink> Drop for OpenSpans<S> {
    fn drop(&mut self) {
        for (_, open) in std::mem::take(&mut self.sessions) {
            open.put_down(&mut self.sink);
        }
    }
}

impl<S: Sink> fmt::Debug for OpenSpans<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Walk").field("sessions", &self.sessions.len()).finish_non_exhaustive()
    }
}

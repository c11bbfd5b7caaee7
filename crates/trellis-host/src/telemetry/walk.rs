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
/// Calls of a session and its children that are remembered, and as many visits.
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
    /// The status of itself and its children when they were taken up, until the first event.
    taken_up: Vec<(Moment, TakenUp)>,
    /// The visit of each session of the tree: `None` is the session itself.
    visits: BTreeMap<Option<SessionId>, OpenVisit<T>>,
    calls: Vec<OpenCall<T>>,
    last: Moment,
}

struct OpenVisit<T> {
    node: NodeId,
    id: u64,
    span: T,
}

struct OpenCall<T> {
    /// The session of the tree that makes it.
    by: Option<SessionId>,
    id: CallId,
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
        if moment.child.is_none() {
            // Another process may have advanced it since it was here.
            open.forget();
        }
        open.taken_up.push((moment.clone(), taken_up.clone()));
    }

    pub(super) fn entered(&mut self, moment: &Moment, node: &NodeId) {
        let (sink, open) = self.seen(moment);
        open.close_visit(sink, moment, moment.child.as_ref());
        open.open_visit(sink, moment, node, moment.at);
    }

    pub(super) fn left(&mut self, moment: &Moment, node: &NodeId) {
        let (sink, open) = self.seen(moment);
        // A visit of another node was seen by another process.
        if open.visits.get(&moment.child).is_some_and(|visit| visit.node != *node) {
            open.visits.remove(&moment.child);
        }
        open.close_visit(sink, moment, moment.child.as_ref());
    }

    pub(super) fn called(&mut self, moment: &Moment, call: &CallId, tool: &str) {
        let (sink, open) = self.seen(moment);
        open.open_call(sink, moment, call, tool, moment.at);
    }

    pub(super) fn returned(&mut self, moment: &Moment, call: &CallId, outcome: &str) {
        let (sink, open) = self.seen(moment);
        if let Some(at) = open.calls.iter().position(|open| open.id == *call) {
            open.close_call(sink, moment, at, outcome);
        }
    }

    pub(super) fn signalled(&mut self, moment: &Moment, signal: &SignalName) {
        let (sink, open) = self.seen(moment);
        let visit = open.visits.get_mut(&moment.child).map(|visit| &mut visit.span);
        let span = visit.or(open.span.as_mut().map(|(_, span)| span));
        if let Some(span) = span {
            sink.note(span, signal.as_str(), moment.at);
        }
    }

    pub(super) fn ended(&mut self, moment: &Moment, reason: EndReason) {
        let (sink, open) = self.seen(moment);
        open.close_visit(sink, moment, moment.child.as_ref());
        // The end of a child is the outcome of its call.
        if moment.child.is_some() {
            return;
        }
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
        for (since, taken_up) in std::mem::take(&mut open.taken_up) {
            let node = since.node.clone();
            open.open_visit(sink, &since, &node, taken_up.entered_at);
            for (call, tool, at) in taken_up.calls {
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
            taken_up: Vec::new(),
            visits: BTreeMap::new(),
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
            open.forget();
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
        if self.visits.len() >= MAX_CALLS_PER_SESSION {
            return;
        }
        let id = identity::visit(self.trace, moment.child.as_ref(), node, moment.entered);
        let (parent, above) = self.around(moment.child.as_ref());
        let opening = SpanStart { kind: SpanSubject::Visit, name: node.as_str(), call: None, moment, at, trace: self.trace, id, parent };
        let span = sink.open(&opening, above);
        self.visits.insert(moment.child.clone(), OpenVisit { node: node.clone(), id, span });
    }

    fn open_call<S: Sink<Span = T>>(&mut self, sink: &mut S, moment: &Moment, call: &CallId, tool: &str, at: u64) {
        if self.calls.len() >= MAX_CALLS_PER_SESSION {
            return;
        }
        let visit = self.visits.get(&moment.child).map(|visit| (Some(visit.id), Some(&visit.span)));
        let (parent, above) = visit.unwrap_or_else(|| self.around(moment.child.as_ref()));
        let id = identity::call(self.trace, call);
        let opening = SpanStart { kind: SpanSubject::Call, name: tool, call: Some(call), moment, at, trace: self.trace, id, parent };
        let span = sink.open(&opening, above);
        self.calls.push(OpenCall { by: moment.child.clone(), id: call.clone(), span });
    }

    /// The span around the visits of a session of the tree: of a child that of its call, whose name it has.
    fn around(&self, child: Option<&SessionId>) -> (Option<u64>, Option<&T>) {
        match child {
            None => self.span.as_ref().map_or((None, None), |(id, span)| (Some(*id), Some(span))),
            Some(child) => {
                let call = CallId::from(child.as_str());
                let open = self.calls.iter().find(|open| open.id == call);
                (Some(identity::call(self.trace, &call)), open.map(|open| &open.span))
            }
        }
    }

    /// Ends a visit of a session of the tree, and its calls without a result.
    fn close_visit<S: Sink<Span = T>>(&mut self, sink: &mut S, moment: &Moment, child: Option<&SessionId>) {
        while let Some(at) = self.calls.iter().position(|call| call.by.as_ref() == child) {
            self.close_call(sink, moment, at, "abandoned");
        }
        if let Some(visit) = self.visits.remove(&child.cloned()) {
            sink.close(visit.span, &Closing::at(moment, None));
        }
    }

    /// Ends a call, and what its child was at.
    fn close_call<S: Sink<Span = T>>(&mut self, sink: &mut S, moment: &Moment, at: usize, outcome: &str) {
        let call = self.calls.remove(at);
        self.close_visit(sink, moment, Some(&SessionId::from(call.id.as_str())));
        sink.close(call.span, &Closing::at(moment, Some(outcome)));
    }

    /// Leaves visits and calls to another process, or to nobody.
    fn forget(&mut self) {
        self.visits.clear();
        self.calls.clear();
        self.taken_up.clear();
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

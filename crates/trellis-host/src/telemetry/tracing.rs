//! Spans for subscribers of `tracing`: live, so with the present times.

use tracing::{Span, field::Empty, info_span};

use super::{Closing, Sink, SpanStart, SpanSubject};

/// Makes `tracing` spans of target `trellis`, level info. They are open as long as their subject lasts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tracing;

impl Sink for Tracing {
    type Span = Span;

    fn open(&mut self, opening: &SpanStart<'_>, parent: Option<&Span>) -> Span {
        let parent = parent.and_then(Span::id);
        let (session, seq, program) = (opening.moment.session.as_str(), opening.moment.seq, &*opening.moment.program);
        match opening.kind {
            SpanSubject::Session => info_span!(target: "trellis", parent: parent, "session", session, seq, program, outcome = Empty),
            SpanSubject::Visit => info_span!(target: "trellis", parent: parent, "visit", node = opening.name, session, seq),
            SpanSubject::Call => {
                let call = opening.call.map(|call| call.as_str());
                info_span!(target: "trellis", parent: parent, "call", tool = opening.name, call, session, seq, outcome = Empty)
            }
        }
    }

    fn note(&mut self, span: &mut Span, signal: &str, _: u64) {
        tracing::info!(target: "trellis", parent: &*span, signal, "signal");
    }

    fn close(&mut self, span: Span, closing: &Closing<'_>) {
        if let Some(outcome) = closing.outcome {
            span.record("outcome", outcome);
        }
    }
}

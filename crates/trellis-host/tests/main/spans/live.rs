//! Spans as a subscriber of `tracing` sees them, while they are open.

use trellis_core::state::EndReason;
use trellis_host::telemetry::Tracing;

use super::*;

/// Writes down what a subscriber of `tracing` gets.
#[derive(Clone, Default)]
struct Subscriber(Arc<Mutex<(Vec<String>, usize)>>);

struct Fields(String);

impl tracing::field::Visit for Fields {
    fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn std::fmt::Debug) {
        if matches!(field.name(), "node" | "tool" | "session" | "outcome" | "signal") {
            self.0 += &format!(" {}={value:?}", field.name());
        }
    }
}

impl tracing::Subscriber for Subscriber {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.target() == "trellis"
    }

    fn new_span(&self, span: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        let mut fields = Fields(String::new());
        span.record(&mut fields);
        let (lines, open) = &mut *self.0.lock().unwrap();
        let parent = span.parent().map_or(0, tracing::span::Id::into_u64);
        lines.push(format!("{} in {parent}:{}", span.metadata().name(), fields.0));
        *open += 1;
        tracing::span::Id::from_u64(lines.len() as u64)
    }

    fn record(&self, span: &tracing::span::Id, values: &tracing::span::Record<'_>) {
        let mut fields = Fields(String::new());
        values.record(&mut fields);
        self.0.lock().unwrap().0.push(format!("{}:{}", span.into_u64(), fields.0));
    }

    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

    fn event(&self, _: &tracing::Event<'_>) {}

    fn enter(&self, _: &tracing::span::Id) {}

    fn exit(&self, _: &tracing::span::Id) {}

    fn try_close(&self, _: tracing::span::Id) -> bool {
        self.0.lock().unwrap().1 -= 1;
        true
    }
}

#[test]
fn a_subscriber_of_tracing_gets_live_spans() {
    let subscriber = Subscriber::default();
    let spans = Spans::new(Tracing);
    let moment =
        |seq| Moment { session: "s".into(), child: None, seq, at: 1000, node: "pay".into(), entered: 0, began: 1000, program: "p".into() };
    tracing::subscriber::with_default(subscriber.clone(), || {
        spans.on_start(&moment(0));
        spans.on_node_enter(&moment(0), &"pay".into());
        spans.on_tool_call(&moment(0), &"k-1".into(), "till");
        spans.on_tool_return(&moment(1), &"k-1".into(), "success", None);
        spans.on_node_leave(&moment(1), &"pay".into());
        assert_eq!(subscriber.0.lock().unwrap().1, 1, "the session is open");
        spans.on_end(&moment(1), EndReason::Finished);
    });
    let (lines, open) = &*subscriber.0.lock().unwrap();
    let expected = [
        "session in 0: session=\"s\"",
        "visit in 1: node=\"pay\" session=\"s\"",
        "call in 2: tool=\"till\" session=\"s\"",
        "3: outcome=\"success\"",
        "1: outcome=\"finished\"",
    ];
    assert_eq!((lines.as_slice(), *open), (expected.map(str::to_owned).as_slice(), 0));
}

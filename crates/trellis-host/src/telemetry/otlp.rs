//! Spans for a collector, over OTLP: HTTP and Protobuf, in batches, on a thread of their own.
//!
//! A span is handed to the SDK's batch processor when it ended, made whole from the journal's times and the names of [`super::identity`]: the SDK's own
//! tracer would give it names of chance.
//!
//! **Invariant:** nothing waits for a collector but [`Export::finish`], and that for the given time only.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    time::{Duration, Instant, SystemTime},
};

use opentelemetry::{
    InstrumentationScope, KeyValue,
    trace::{Event, SpanContext, SpanId, SpanKind, Status, TraceFlags, TraceId, TraceState},
};
use opentelemetry_otlp::{SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::{
    Resource,
    error::OTelSdkResult,
    trace::{BatchSpanProcessor, Sampler, SamplingDecision, ShouldSample as _, SpanData, SpanProcessor as _},
};

use super::{
    Closing, Sampling, Sink, SpanStart, SpanSubject, Spans,
    client::{Client, LastTrouble},
    settings::{BadSetting, Settings},
};

/// Signals that a span remembers.
const NOTES: usize = 128;

/// Sends spans to a collector.
#[derive(Debug)]
pub struct Otlp {
    graph: Arc<str>,
    scope: InstrumentationScope,
    sampler: Sampler,
    batches: BatchSpanProcessor,
    tally: Arc<Tally>,
    /// Its end shows [`Export::finish`] that everything was sent, or given up.
    _done: Sender<()>,
}

/// The counts of spans.
#[derive(Debug, Default)]
struct Tally {
    made: AtomicU64,
    sent: AtomicU64,
    trouble: LastTrouble,
}

/// Waits for the last spans to be sent.
#[derive(Debug)]
#[non_exhaustive]
pub struct Export {
    tally: Arc<Tally>,
    done: Receiver<()>,
    ignored: Vec<BadSetting>,
}

/// Spans that no collector took.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unsent {
    /// The number of spans.
    pub spans: u64,
    /// The reason, as far as it is known.
    pub why: Option<String>,
}

impl fmt::Display for Unsent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (verb, noun) = if self.spans == 1 { ("was", "span") } else { ("were", "spans") };
        write!(
            f,
            "{} {noun} {verb} not sent to `OTEL_EXPORTER_OTLP_ENDPOINT`: {}",
            self.spans,
            self.why.as_deref().unwrap_or("the collector takes too long")
        )
    }
}

impl Otlp {
    /// Returns the spans of sessions of `graph`, for the collector that the environment names (`OTEL_EXPORTER_OTLP_ENDPOINT`); `None` if it names
    /// none. Give the spans to [`crate::Sessions::hooks`]; when these sessions are gone, [`Export::finish`].
    ///
    /// # Errors
    /// A setting of the environment is impossible; sessions can run without observers.
    pub fn from_env(graph: &str) -> Result<Option<(Spans<Self>, Export)>, BadSetting> {
        let Some(settings) = Settings::from_env()? else { return Ok(None) };
        let Settings { timeout, resource, sampler, batches, ignored } = settings;
        let tally = Arc::new(Tally::default());
        let client = Client::new(timeout, tally.trouble.clone());
        let exporter = SpanExporter::builder().with_http().with_timeout(timeout).with_http_client(client).build();
        // Its message may contain the address, and that a password.
        let exporter = exporter
            .map_err(|_| BadSetting { variable: "OTEL_EXPORTER_OTLP_…", why: "is set in a way that is not possible here".into() })?;
        let counted = CountingExporter { exporter, tally: Arc::clone(&tally) };
        let mut batches = BatchSpanProcessor::builder(counted).with_batch_config(batches).build();
        batches.set_resource(&resource);
        let (waits, done) = channel();
        let sink = Self {
            graph: graph.into(),
            scope: InstrumentationScope::builder("trellis").with_version(env!("CARGO_PKG_VERSION")).build(),
            sampler,
            batches,
            tally: Arc::clone(&tally),
            _done: waits,
        };
        Ok(Some((Spans::new(sink), Export { tally, done, ignored })))
    }
}

/// Returns whether a sampler takes a trace: by its id alone.
fn is_sampled(sampler: &Sampler, trace: u128) -> bool {
    let sampled = sampler.should_sample(None, TraceId::from(trace), "", &SpanKind::Internal, &[], &[]);
    sampled.decision == SamplingDecision::RecordAndSample
}

impl Sink for Otlp {
    type Span = Box<SpanData>;

    fn sampling(&self) -> Option<Sampling> {
        let sampler = self.sampler.clone();
        Some(Arc::new(move |trace| is_sampled(&sampler, trace)))
    }

    fn open(&mut self, opening: &SpanStart<'_>, _: Option<&Self::Span>) -> Self::Span {
        let moment = opening.moment;
        let flags = if is_sampled(&self.sampler, opening.trace) { TraceFlags::SAMPLED } else { TraceFlags::default() };
        let mut attributes = vec![
            KeyValue::new("trellis.session", moment.session.as_str().to_owned()),
            KeyValue::new("trellis.seq", whole(moment.seq)),
            KeyValue::new("trellis.program", Arc::clone(&moment.program)),
        ];
        attributes.extend(moment.child.as_ref().map(|child| KeyValue::new("trellis.child", child.as_str().to_owned())));
        let name = match opening.kind {
            SpanSubject::Session => {
                attributes.push(KeyValue::new("trellis.graph", Arc::clone(&self.graph)));
                "session".to_owned()
            }
            SpanSubject::Visit => {
                attributes.push(KeyValue::new("trellis.node", opening.name.to_owned()));
                format!("visit {}", opening.name)
            }
            SpanSubject::Call => {
                attributes.push(KeyValue::new("trellis.node", moment.node.as_str().to_owned()));
                attributes.push(KeyValue::new("trellis.tool", opening.name.to_owned()));
                attributes.extend(opening.call.map(|call| KeyValue::new("trellis.call", call.as_str().to_owned())));
                format!("call {}", opening.name)
            }
        };
        let context = SpanContext::new(TraceId::from(opening.trace), SpanId::from(opening.id), flags, false, TraceState::NONE);
        Box::new(SpanData {
            span_context: context,
            parent_span_id: opening.parent.map_or(SpanId::INVALID, SpanId::from),
            parent_span_is_remote: false,
            span_kind: SpanKind::Internal,
            name: name.into(),
            start_time: time(opening.at),
            end_time: time(opening.at),
            attributes,
            dropped_attributes_count: 0,
            events: Default::default(),
            links: Default::default(),
            status: Status::Unset,
            instrumentation_scope: self.scope.clone(),
        })
    }

    fn note(&mut self, span: &mut Self::Span, signal: &str, at: u64) {
        if span.events.events.len() < NOTES {
            span.events.events.push(Event::new("signal", time(at), vec![KeyValue::new("trellis.signal", signal.to_owned())], 0));
        } else {
            span.events.dropped_count += 1;
        }
    }

    fn close(&mut self, mut span: Self::Span, closing: &Closing<'_>) {
        if !span.span_context.is_sampled() {
            return;
        }
        // A clock that went back makes no span of negative length.
        span.end_time = time(closing.at).max(span.start_time);
        span.attributes.push(KeyValue::new("trellis.end_seq", whole(closing.seq)));
        if !span.attributes.iter().any(|attribute| attribute.key.as_str() == "trellis.node") {
            span.attributes.push(KeyValue::new("trellis.node", closing.node.as_str().to_owned()));
        }
        if let Some(outcome) = closing.outcome {
            span.attributes.push(KeyValue::new("trellis.outcome", outcome.to_owned()));
            if matches!(outcome, "error" | "timeout" | "schema" | "failed") {
                span.status = Status::error(outcome.to_owned());
            }
        }
        self.tally.made.fetch_add(1, Ordering::Relaxed);
        self.batches.on_end(*span);
    }
}

impl Drop for Otlp {
    fn drop(&mut self) {
        // It waits no longer than its exporter's attempts, and its callers have bounds of their own.
        let _ = self.batches.shutdown_with_timeout(Duration::from_secs(60));
    }
}

impl Export {
    /// Variables of the environment that could not be followed and count as not set.
    pub fn ignored(&self) -> &[BadSetting] {
        &self.ignored
    }

    /// Waits until everything was sent, at most this long; returns the rest, if there is any. The sessions must be gone, or the wait is in vain.
    pub fn finish(self, patience: Duration) -> Option<Unsent> {
        let began = Instant::now();
        let is_late = loop {
            match self.done.recv_timeout(patience.saturating_sub(began.elapsed())) {
                Ok(()) => {}
                Err(RecvTimeoutError::Disconnected) => break false,
                Err(RecvTimeoutError::Timeout) => break true,
            }
        };
        let made = self.tally.made.load(Ordering::Relaxed);
        let spans = made.saturating_sub(self.tally.sent.load(Ordering::Relaxed));
        let is_unsent = spans > 0 || is_late;
        is_unsent.then(|| Unsent { spans, why: self.tally.trouble.get() })
    }
}

/// The exporter, counted.
#[derive(Debug)]
struct CountingExporter {
    exporter: SpanExporter,
    tally: Arc<Tally>,
}

impl opentelemetry_sdk::trace::SpanExporter for CountingExporter {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let spans = batch.len() as u64;
        let exported = self.exporter.export(batch).await;
        if exported.is_ok() {
            self.tally.sent.fetch_add(spans, Ordering::Relaxed);
        }
        exported
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.exporter.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}

fn time(millis: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_millis(millis)).unwrap_or(SystemTime::UNIX_EPOCH)
}

fn whole(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

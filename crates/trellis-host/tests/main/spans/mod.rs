//! Spans and metrics of sessions, without a collector: what is part of what, and when it ends.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use trellis_core::{Input, Start, Value};
use trellis_host::{
    hooks::{Hooks, Moment},
    metrics::Metrics,
    store::{Append, Head, MemoryStore, Pending, Query, Removal, Row, SessionStore, StoreError, Stored},
    telemetry::{Closing, Sampling, Sink, SpanStart, SpanSubject, Spans},
};

use crate::stage::{Stage, run};

mod children;
mod live;

const GRAPH: &[(&str, &str)] = &[
    ("trellis.yaml", "bindings: {pay: {function: pay}}\n"),
    (
        "start.md",
        "---\noptions: [pay, wait]\ntransitions: [{condition: input == \"pay\", to: pay}, {to: rest}]\non_interrupt: rest\n---\nWhat now?\n",
    ),
    ("pay.md", "---\ndo: {name: pay, approve: {ask: Really?}}\nto: end\non_interrupt: rest\n---\n"),
    ("rest.md", "---\nwait: true\non_signal: {bell: end}\nto: end\n---\n"),
    ("end.md", "Done.\n"),
];

fn stage() -> Stage {
    Stage::new(GRAPH).function(|bindings| bindings.function("pay", |_, _| Ok::<_, trellis_core::ToolError>(Value::Null)))
}

/// A span that ended, as one line and with its name and that of its parent.
#[derive(Clone, Debug)]
struct Ended {
    line: String,
    id: u64,
    parent: Option<u64>,
    trace: u128,
    from: u64,
    to: u64,
}

/// Keeps what ended.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<Ended>>>);

impl Sink for Kept {
    type Span = Ended;

    fn open(&mut self, opening: &SpanStart<'_>, parent: Option<&Ended>) -> Ended {
        let SpanStart { kind, name, call, at, trace, id, parent: above, .. } = *opening;
        assert_eq!(call.is_some(), kind == SpanSubject::Call);
        assert!(parent.is_none_or(|parent| Some(parent.id) == above));
        Ended { line: format!("{kind:?} {name}"), id, parent: above, trace, from: at, to: at }
    }

    fn note(&mut self, span: &mut Ended, signal: &str, _: u64) {
        span.line += &format!(" !{signal}");
    }

    fn close(&mut self, mut span: Ended, closing: &Closing<'_>) {
        span.to = closing.at;
        span.line += &closing.outcome.map(|outcome| format!(": {outcome}")).unwrap_or_default();
        self.0.lock().unwrap().push(span);
    }
}

/// The same for spans of W3C, of which none is recorded.
#[derive(Clone, Default)]
struct Continued(Kept);

impl Sink for Continued {
    type Span = Ended;

    fn open(&mut self, opening: &SpanStart<'_>, parent: Option<&Ended>) -> Ended {
        self.0.open(opening, parent)
    }

    fn note(&mut self, span: &mut Ended, signal: &str, at: u64) {
        self.0.note(span, signal, at);
    }

    fn close(&mut self, span: Ended, closing: &Closing<'_>) {
        self.0.close(span, closing);
    }

    fn sampling(&self) -> Option<Sampling> {
        Some(Arc::new(|_| false))
    }
}

impl Kept {
    /// Returns the ended spans, once there are so many.
    fn all(&self, count: usize) -> Vec<Ended> {
        loop {
            let all = self.0.lock().unwrap().clone();
            if all.len() >= count {
                return all;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn lines(&self, count: usize) -> Vec<String> {
        self.all(count).into_iter().map(|ended| ended.line).collect()
    }
}

#[test]
fn a_call_that_was_left_is_abandoned_and_a_signal_is_noted() {
    let kept = Kept::default();
    let sessions = stage().sessions().hooks(Spans::new(kept.clone()));
    run(async {
        sessions.start(Start::default()).await.unwrap();
        let id = "local".into();
        sessions.send(&id, Input::Text("pay".into())).await.unwrap();
        sessions.send(&id, Input::Signal("interrupt".into())).await.unwrap();
        sessions.send(&id, Input::Signal("bell".into())).await.unwrap();
    });
    drop(sessions);
    let lines = kept.lines(6);
    let expected =
        ["Visit start", "Call pay: abandoned", "Visit pay !interrupt", "Visit rest !bell", "Visit end", "Session local: finished"];
    assert_eq!(lines, expected);
}

/// A graph whose tool `pay` notes the names of spans that it is given.
fn told_of_spans(graph: &[(&str, &str)]) -> (Stage, Arc<Mutex<Vec<String>>>) {
    let told = Arc::<Mutex<Vec<String>>>::default();
    let heard = Arc::clone(&told);
    let stage = Stage::new(graph).function(move |bindings| {
        let heard = Arc::clone(&heard);
        bindings.function("pay", move |context, _| {
            heard.lock().unwrap().extend(context.traceparent.as_deref().map(str::to_owned));
            Ok::<_, trellis_core::ToolError>(Value::Null)
        })
    });
    (stage, told)
}

// language 9.15
#[test]
fn a_call_knows_the_name_of_its_span_before_it_runs() {
    let graph = [
        ("trellis.yaml", "bindings: {pay: {function: pay}}\n"),
        ("start.md", "---\ndo: {parallel: {a: {name: pay}, b: {name: pay}}}\nto: once\non_error: end\n---\n"),
        ("once.md", "---\ndo: pay\nto: end\non_error: end\n---\n"),
        ("end.md", "Done.\n"),
    ];
    let (stage, told) = told_of_spans(&graph);
    let sessions = stage.sessions().hooks(Spans::new(Kept::default()));
    run(sessions.start(Start::default())).unwrap();
    assert!(told.lock().unwrap().is_empty(), "these spans have no names that others know");
    let kept = Continued::default();
    let sessions = stage.sessions().hooks(Spans::new(Kept::default())).hooks(Spans::new(kept.clone()));
    run(sessions.start(Start::default())).unwrap();
    drop(sessions);
    let names = |ended: &Ended| ended.line.starts_with("Call pay").then(|| format!("00-{:032x}-{:016x}-00", ended.trace, ended.id));
    let mut ended: Vec<String> = kept.0.all(8).iter().filter_map(names).collect();
    let mut told = told.lock().unwrap().clone();
    ended.sort();
    told.sort();
    assert_eq!((told.len(), told), (3, ended));
}

#[test]
fn what_a_process_began_another_one_ends_under_the_same_name() {
    let store = Arc::new(MemoryStore::new());
    let stage = stage();
    let id = "local".into();
    let sights = [(); 3].map(|()| Kept::default());
    let seen = |kept: &Kept| {
        Arc::new(stage.sessions().store(Arc::clone(&store) as Arc<dyn SessionStore>, "graph").hooks(Spans::new(kept.clone())))
    };

    let first = seen(&sights[0]);
    run(async {
        first.start(Start::default()).await.unwrap();
        first.send(&id, Input::Text("pay".into())).await.unwrap();
    });
    // It waits for an approval. The second process only looks.
    drop(first);
    assert_eq!(sights[0].lines(2), ["Visit start", "Session local"]);
    let second = seen(&sights[1]);
    run(async { second.resume(&id).await.unwrap() });
    drop(second);

    let third = seen(&sights[2]);
    run(async {
        third.resume(&id).await.unwrap();
        third.send(&id, trellis_host::Reply::Approve { call: None, yes: true }).await.unwrap();
    });
    drop(third);
    assert_eq!(sights[2].lines(4), ["Call pay: success", "Visit pay", "Visit end", "Session local: finished"]);
    assert!(sights[1].0.lock().unwrap().is_empty(), "nothing happened there");

    let (before, after) = (sights[0].all(2), sights[2].all(4));
    let (start, root) = (&before[0], &before[1]);
    let (call, pay, session) = (&after[0], &after[1], &after[3]);
    assert!(before.iter().chain(&after).all(|span| span.trace == root.trace));
    assert_eq!((root.parent, start.parent, session.parent), (None, Some(root.id), Some(root.id)));
    assert_eq!((call.parent, pay.parent), (Some(pay.id), Some(session.id)));
    // The visit and its call began where the first process left off.
    assert_eq!((pay.from, call.from), (start.to, start.to));
    assert!(call.to <= pay.to && pay.to <= session.to);
}

#[test]
fn another_session_of_the_same_name_is_another_trace() {
    let kept = Kept::default();
    for began in [1000, 2000] {
        let sessions = stage().sessions().clock(trellis_host::Clock::fixed(began)).hooks(Spans::new(kept.clone()));
        run(async { sessions.start(Start::default()).await.unwrap() });
    }
    let all = kept.all(2);
    assert_ne!((all[0].trace, all[0].id), (all[1].trace, all[1].id));
}

/// A store that cannot be reached after the first append.
struct Shaky(MemoryStore);

impl SessionStore for Shaky {
    fn append(&self, append: Append) -> Pending<'_, ()> {
        if append.expected > 0 {
            let error = StoreError::Unwritable { store: "it".into(), message: "full".into() };
            return Box::pin(std::future::ready(Err(error)));
        }
        self.0.append(append)
    }

    fn load<'a>(&'a self, sessions: &'a [trellis_core::SessionId]) -> Pending<'a, Vec<Option<Stored>>> {
        self.0.load(sessions)
    }

    fn records<'a>(&'a self, session: &'a trellis_core::SessionId, from: u64, limit: usize) -> Pending<'a, Vec<Row>> {
        self.0.records(session, from, limit)
    }

    fn list(&self, query: Query) -> Pending<'_, Vec<Head>> {
        self.0.list(query)
    }

    fn remove<'a>(&'a self, session: &'a trellis_core::SessionId, removal: Removal) -> Pending<'a, ()> {
        self.0.remove(session, removal)
    }
}

fn numbers(metrics: &Metrics) -> BTreeMap<String, String> {
    let text = metrics.render();
    let samples = text.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.rsplit_once(' '));
    samples.map(|(series, value)| (series.to_owned(), value.to_owned())).collect()
}

#[test]
fn metrics_count_stored_steps_and_errors_of_the_store() {
    let metrics = Metrics::new();
    let store = metrics.store(Arc::new(Shaky(MemoryStore::new())));
    let sessions = metrics.over(stage().sessions().store(store, "graph"));
    run(async {
        sessions.start(Start::default()).await.unwrap();
        sessions.send(&"local".into(), Input::Text("wait".into())).await.unwrap_err();
    });
    drop(sessions);
    metrics.finish(Duration::from_secs(60));
    let numbers = numbers(&metrics);
    let number = |series: &str| numbers.get(series).map(String::as_str);
    assert_eq!(number("trellis_store_append_seconds_count"), Some("1"));
    assert_eq!(number("trellis_store_errors_total{operation=\"append\",error=\"unwritable\"}"), Some("1"));
    assert_eq!(number("trellis_sessions_started_total"), Some("1"));
    // Steps that were not stored did not happen.
    assert_eq!((number("trellis_steps_total"), number("trellis_node_visits_total{node=\"rest\"}")), (Some("0"), None));
}

#[test]
fn there_are_as_many_series_as_the_graph_has_names() {
    let metrics = Metrics::new();
    let sessions = metrics.over(stage().sessions());
    run(async {
        for n in 0..100 {
            let id = format!("session-{n}").as_str().into();
            sessions.start(Start { session: Some(id), ..Start::default() }).await.unwrap();
        }
    });
    drop(sessions);
    metrics.finish(Duration::from_secs(60));
    let numbers = numbers(&metrics);
    assert_eq!(numbers["trellis_node_visits_total{node=\"start\"}"], "100");
    assert!(!numbers.keys().any(|series| series.contains("session-")), "{numbers:#?}");
}

#[test]
fn what_is_remembered_is_bounded() {
    let kept = Kept::default();
    let spans = Spans::new(kept.clone());
    let moment = |n: u32, seq| Moment {
        session: format!("s{n}").as_str().into(),
        child: None,
        seq,
        at: 1000 + seq,
        node: "a".into(),
        entered: seq,
        began: 1000,
        program: "p".into(),
    };
    for n in 0..10_000 {
        spans.on_start(&moment(n, 0));
    }
    // The first one is seen again, so the second one was idle for the longest time.
    spans.on_step(&moment(0, 1));
    assert!(kept.0.lock().unwrap().is_empty());
    spans.on_start(&moment(10_000, 0));
    assert_eq!(kept.lines(1), ["Session s1"]);
    // It goes on below what was said of it before.
    spans.on_step(&moment(1, 1));
    drop(spans);
    let all = kept.all(10_002);
    let (before, after) = (&all[0], all.iter().rfind(|span| span.line == "Session s1").unwrap());
    assert_eq!((after.parent, after.trace), (Some(before.id), before.trace));
}

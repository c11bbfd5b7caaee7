//! The data of a session in spans and metrics: names, numbers, times and outcomes, and no value of it, however it came there.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
    time::Duration,
};

use trellis_core::{Input, Mapping, Start, ToolError, ToolOutcome, ToolResult, Value};
use trellis_host::{
    Reply, Stop,
    metrics::Metrics,
    store::{FilesStore, Redacted},
    telemetry::{Closing, Sink, SpanStart, Spans},
};

use crate::stage::{Stage, run};

/// Typed where a secret is asked for; at a path of `redact`; what a tool says, in each of its outcomes; a reason; a key that a host supplies.
const SECRETS: [&str; 7] = ["typed-7f3a", "token-91bc", "answer-55de", "failure-a0c4", "unfit-3e21", "reason-c8d7", "supplied-04fb"];

const GRAPH: &[(&str, &str)] = &[
    ("trellis.yaml", "redact: [token]\nbindings: {ask: {function: ask}}\n"),
    ("start.md", "---\ninput_type: secret\nsave_to: pin\nto: token\n---\nPIN?\n"),
    ("token.md", "---\ninput_type: text\nsave_to: token\nset: {header: \"Bearer {{ token }}\"}\nto: ask\n---\nToken?\n"),
    (
        "ask.md",
        "---\ndo: {name: ask, args: {pin: \"{{ pin }}\", header: \"{{ header }}\"}}\nsave_to: said\non_error: broken\nto: fails\n---\n",
    ),
    ("fails.md", "---\ntools: [{name: fail}]\ndo: {name: fail, args: {said: \"{{ said }}\"}}\non_error: unfit\nto: broken\n---\n"),
    ("unfit.md", "---\ntools: [{name: fit, returns: {type: integer}}]\ndo: {name: fit}\non_error: denied\nto: broken\n---\n"),
    ("denied.md", "---\ntools: [{name: pay}]\ndo: {name: pay}\non_denied: held\non_error: broken\nto: broken\n---\n"),
    (
        "held.md",
        "---\ntools: [{name: send}]\ndo: {name: send, args: {pin: \"{{ pin }}\"}, approve: {ask: \"Send {{ pin }}?\"}}\non_denied: rest\non_error: broken\nto: broken\n---\n",
    ),
    ("rest.md", "---\nwait: true\non_signal: {bell: end}\nto: broken\n---\n{{ said }}\n"),
    ("broken.md", "---\nend: failed\n---\n"),
    ("end.md", "---\noutput: \"{{ pin }} {{ said }}\"\n---\nBye, {{ pin }}.\n"),
];

/// Every word that a sink gets.
#[derive(Clone, Default)]
struct Words(Arc<Mutex<Vec<String>>>);

impl Sink for Words {
    type Span = ();

    fn open(&mut self, opening: &SpanStart<'_>, _: Option<&()>) {
        self.0.lock().unwrap().push(format!("{opening:?}"));
    }

    fn note(&mut self, (): &mut (), signal: &str, _: u64) {
        self.0.lock().unwrap().push(signal.to_owned());
    }

    fn close(&mut self, (): (), closing: &Closing<'_>) {
        self.0.lock().unwrap().push(format!("{closing:?}"));
    }
}

/// Walks through everything in which a value can stand.
async fn walk(sessions: &trellis_host::Sessions) {
    let id = "local".into();
    let [typed, token, _, failure, unfit, reason, supplied] = SECRETS;
    let result = |stop: &Stop, outcome| {
        let Stop::Call { call, .. } = stop else { panic!("{stop:?}") };
        Input::Result(ToolResult::new(call.id.clone(), outcome))
    };
    let text = |text: &str| Value::text(text);
    sessions.start(Start { context: [("given", text(supplied))].into_iter().collect(), ..Start::default() }).await.unwrap();
    sessions.send(&id, Input::Value(text(typed))).await.unwrap();
    let stop = sessions.send(&id, Input::Text(token.into())).await.unwrap().stop;
    let error = ToolError { code: Some(text(failure)), data: Some(text(failure)), ..ToolError::new(failure) };
    let late = result(&stop, ToolOutcome::Success(text(failure)));
    let stop = sessions.send(&id, result(&stop, ToolOutcome::Error(error))).await.unwrap().stop;
    let stop = sessions.send(&id, result(&stop, ToolOutcome::Success(text(unfit)))).await.unwrap().stop;
    sessions.send(&id, result(&stop, ToolOutcome::Denied(Some(reason.into())))).await.unwrap();
    sessions.send(&id, Reply::Approve { call: None, yes: false }).await.unwrap();
    // A result that comes too late, and keys that nobody asked for, are refused or kept; neither is told.
    drop(sessions.send(&id, late).await);
    drop(sessions.send(&id, Reply::Context(Mapping::from_iter([("given", text(supplied))]))).await);
    sessions.send(&id, Input::Signal("bell".into())).await.unwrap();
}

#[test]
fn no_span_and_no_series_has_a_value_of_a_session() {
    let folder = tempfile::tempdir().unwrap();
    let stage = Stage::new(GRAPH).function(|bindings| bindings.function("ask", |_, _| Ok::<_, ToolError>(Value::text(SECRETS[2]))));
    for is_stored in [false, true] {
        let (words, metrics) = (Words::default(), Metrics::new());
        let mut sessions = stage.sessions();
        if is_stored {
            let store = Redacted::of(&stage.program, FilesStore::open(folder.path().join("kept")).unwrap());
            sessions = sessions.store(metrics.store(Arc::new(store)), "graph");
        }
        let sessions = metrics.over(sessions.hooks(Spans::new(words.clone())));
        run(walk(&sessions));
        drop(sessions);
        metrics.finish(Duration::from_secs(60));
        let series = metrics.render();
        let told = loop {
            let told = words.0.lock().unwrap().clone();
            if told.iter().any(|line| line.contains("outcome: Some(\"finished\")")) {
                break told.join("\n");
            }
            std::thread::sleep(Duration::from_millis(1));
        };
        assert!(told.contains("\"fail\"") && told.contains("\"denied\"") && told.contains("bell"), "{told}");
        for secret in SECRETS {
            assert!(!told.contains(secret), "`{secret}` is in a span:\n{told}");
            assert!(!series.contains(secret), "`{secret}` is in a series:\n{series}");
        }
        // Each label is a name of the graph or a word of the reference.
        let labels: BTreeSet<&str> =
            series.lines().filter(|line| !line.starts_with('#')).flat_map(|line| line.split('"').skip(1).step_by(2)).collect();
        let names = ["ask", "broken", "denied", "end", "fail", "fails", "fit", "held", "pay", "rest", "send", "start", "token", "unfit"];
        let words = ["append", "load", "conflict", "denied", "error", "finished", "schema", "success", "+Inf"];
        let is_known = |label: &&str| names.contains(label) || words.contains(label) || label.parse::<f64>().is_ok();
        assert!(labels.iter().all(is_known), "{labels:?}");
    }
}

//! Accepted sessions can be loaded again: the deepest and the largest values that a session may hold.

use std::sync::Arc;

use trellis_core::{
    Dialect, Document, Engine, Input, Mapping, Predicates, Source, Start, ToolError, ToolOutcome, ToolResult, Value, compile,
    engine::Answers,
};
use trellis_host::{
    Clock, Session,
    history::{History, Operator, replay, transcript},
    session::Halt,
    store::{Append, Head, SessionStatus, SessionStore, Snapshot},
};

use crate::{make::load, place::Place};

/// Levels that may come in, and that may be kept.
const DEPTH: usize = 64;
const KEPT: usize = 96;
/// Bytes of a value and of a context: a sixteenth of the default, since every store takes several such records.
const SIZE: usize = 1 << 20;

fn deep(levels: usize) -> Value {
    (0..levels).fold(Value::Int(1), |inside, level| match level % 2 {
        0 => Value::list([inside]),
        _ => Value::map([("k", inside)]),
    })
}

/// A path of so many names.
fn path(root: &str, names: usize) -> String {
    std::iter::once(root.to_owned()).chain((1..names).map(|at| format!("p{at}"))).collect::<Vec<_>>().join(".")
}

fn engine(graph: &str) -> Engine {
    let documents = [Arc::new(Document::parse(&Source::text("graph.yaml", graph), Dialect::default()))];
    let compiled = compile(&documents);
    let program = compiled.program.unwrap_or_else(|| panic!("{:#?}", compiled.diagnostics));
    Engine::new(program, Predicates::new()).unwrap()
}

fn json(value: &impl serde::Serialize) -> Arc<str> {
    serde_json::to_string(value).unwrap().into()
}

/// Keeps what happened since the last time.
async fn keep(store: &dyn SessionStore, session: &mut Session, with_snapshot: bool) {
    let records = session.take_records();
    let here = session.here();
    let next = session.journal().next_seq();
    let head = Head {
        session: here.state.session_id.clone(),
        graph: "graph".into(),
        program: here.state.program.clone(),
        next,
        began: here.began,
        at: here.at,
        node: here.state.current_node_id.clone(),
        standing: SessionStatus::of(&here.state),
        due: None,
    };
    let append = Append {
        session: here.state.session_id.clone(),
        expected: next - records.len() as u64,
        records: records.iter().map(json).collect(),
        head,
        snapshot: with_snapshot.then(|| json(here)),
    };
    store.append(append).await.unwrap();
}

/// Checks that the records in a store lead to the same state, and can be shown, forked, exported and walked again.
async fn comes_back(place: &Place, engine: &Engine, session: &Session) {
    let store = place.open().await;
    let id = session.state().session_id.clone();
    let loaded = Snapshot::of(&load(&*store, id.as_str()).await.unwrap()).unwrap();
    assert!(loaded == *session.here(), "at `{}`", session.state().current_node_id);
    let history = History::open(&*store, &id).await.unwrap();
    assert!(history.flaws.is_empty(), "{:?}", history.flaws);
    assert!(json(&history.records).len() > 100);
    replay(engine, &history).unwrap();
    transcript(engine, &history, None).unwrap();
    if session.state().ended.is_none() {
        let fork = format!("fork-{}", session.state().step).as_str().into();
        Operator::new(&*store, engine, "graph", Clock::fixed(7)).fork(&id, None, &fork).await.unwrap();
        let fork = Snapshot::of(&load(&*store, fork.as_str()).await.unwrap()).unwrap();
        assert!(fork.state.context == session.state().context);
    }
}

fn begin(engine: &Engine, context: Mapping) -> Session {
    let start = Start { session: Some("one".into()), context, ..Start::default() };
    Session::start(engine.clone(), start, Answers::new(), Clock::fixed(7)).unwrap()
}

fn advance(session: &mut Session) -> Halt {
    loop {
        match session.advance().unwrap() {
            Halt::Said { .. } => {}
            halt => return halt,
        }
    }
}

fn answer(session: &mut Session, outcome: ToolOutcome) {
    // Of a call with parts, the first.
    let call = match advance(session) {
        Halt::Call(call) => call,
        Halt::Parts { open, .. } if !open.is_empty() => Arc::clone(&open[0]),
        _ => panic!("no call is pending: {:?}", session.state().ended),
    };
    session.send(Input::Result(ToolResult::new(call.id.clone(), outcome))).unwrap();
}

pub(crate) async fn the_deepest_values_come_back(place: &Place) {
    let graph = format!(
        r#"
limits: {{ input: 100000 }}
bindings: {{ charge: {{}}, refund: {{}}, look: {{ effect: none }} }}
nodes:
  start: {{ input_type: json, save_to: {kept}, set: {{ {sent}: "{{{{ input }}}}" }}, to: pay }}
  pay:
    append: {{ log: "{{{{ given }}}}" }}
    do: {{ name: charge, args: {{ x: "{{{{ sent }}}}" }} }}
    undo: {{ name: refund, args: {{ x: "{{{{ sent }}}}" }} }}
    save_to: {found}
    to: both
  both:
    do: {{ parallel: {{ a: {{ name: look, args: {{ x: "{{{{ sent }}}}" }} }}, b: {{ name: look, args: {{ x: "{{{{ sent }}}}" }} }} }} }}
    on_error: failed
    to: end
  failed: {{ wait: true, to: end }}
  end: {{ output: "{{{{ kept }}}}" }}
"#,
        kept = path("kept", KEPT - DEPTH + 1),
        sent = path("sent", KEPT - DEPTH),
        found = path("found", KEPT - DEPTH + 1),
    );
    let engine = engine(&graph);
    let given = Mapping::from_iter([("given", deep(DEPTH)), ("log", Value::list([]))]);
    let mut session = begin(&engine, given);
    let store = place.open().await;
    keep(&*store, &mut session, false).await;
    comes_back(place, &engine, &session).await;
    advance(&mut session);
    session.send(Input::Text(deep(DEPTH).to_json())).unwrap();
    assert_eq!(session.state().context.get("kept").unwrap().depth() as usize, KEPT);
    session.supply(Mapping::from_iter([("more", deep(DEPTH))])).unwrap();
    keep(&*store, &mut session, false).await;
    comes_back(place, &engine, &session).await;
    answer(&mut session, ToolOutcome::Success(deep(DEPTH)));
    assert!(!session.state().effects.is_empty());
    keep(&*store, &mut session, true).await;
    comes_back(place, &engine, &session).await;
    let error = ToolError { code: Some(deep(DEPTH)), data: Some(deep(DEPTH)), ..ToolError::new("no") };
    answer(&mut session, ToolOutcome::Error(error));
    keep(&*store, &mut session, false).await;
    comes_back(place, &engine, &session).await;
    advance(&mut session);
    session.send(Input::Value(deep(DEPTH))).unwrap();
    keep(&*store, &mut session, true).await;
    comes_back(place, &engine, &session).await;
    let output = session.state().ended.as_ref().unwrap().output.as_ref().unwrap();
    assert_eq!(output.depth() as usize, KEPT, "{:?}", session.state().ended);
}

pub(crate) async fn the_largest_values_come_back(place: &Place) {
    let graph = r"
limits: { value: 1048576, context: 1048576 }
bindings: { look: { effect: none } }
nodes:
  start: { do: { name: look, args: {} }, to: next }
  next: { wait: true, to: end }
  end: {}
";
    let engine = engine(graph);
    let text = |bytes: usize| Value::text("x".repeat(bytes));
    // Half of it is written twice as long in JSON.
    let value = Value::text("\"".repeat(SIZE / 2) + &"x".repeat(SIZE / 2 - 2));
    assert_eq!(value.size() as usize, SIZE);
    let mut session = begin(&engine, Mapping::from_iter([("k", text(SIZE - r#"{"k":""}"#.len()))]));
    assert_eq!(session.state().context.size() as usize, SIZE);
    let store = place.open().await;
    keep(&*store, &mut session, false).await;
    answer(&mut session, ToolOutcome::Success(value));
    keep(&*store, &mut session, true).await;
    assert_eq!(session.state().current_node_id.as_str(), "next");
    comes_back(place, &engine, &session).await;
}

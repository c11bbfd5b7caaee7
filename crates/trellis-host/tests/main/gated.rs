//! `before_each` is made before every node, however a session comes there (language 11.8, 7.1).

use std::sync::{Arc, Mutex};

use trellis_core::{Input, NodeId, SessionId, Start, Value};
use trellis_host::{Clock, Stop, Turn, history::Operator, store::MemoryStore};

use crate::stage::{Stage, run};

const PROJECT: (&str, &str) =
    ("trellis.yaml", "bindings: {gate: {function: gate}}\nbefore_each: {name: gate, args: {at: \"{{ sys.node }}\"}}\n");
const START: (&str, &str) = ("start.md", "---\ninput_type: text\nto: work\n---\nGo?\n");
const WORK: (&str, &str) = ("work.md", "---\ndo: {graph: inner}\nto: end\n---\n");
const INNER: (&str, &str) = ("inner.md", "---\ninput_type: text\nto: end\n---\nWell?\n");
const END: (&str, &str) = ("end.md", "Bye.\n");

type Gates = Arc<Mutex<Vec<String>>>;

/// A graph whose gate notes the nodes that it is asked about.
fn stage(files: &[(&str, &str)]) -> (Stage, Gates) {
    let gates = Gates::default();
    let noted = Arc::clone(&gates);
    let stage = Stage::new(files).function(move |bindings| {
        let noted = Arc::clone(&noted);
        let gate = move |_: &trellis_host::CallContext, args: trellis_core::Mapping| {
            let at = args.get("at").and_then(Value::as_str).unwrap_or_default();
            noted.lock().unwrap().push(at.to_owned());
            Ok(Value::Null)
        };
        bindings.function("gate", gate).shared()
    });
    (stage, gates)
}

/// The nodes that the gate was asked about since this was asked last.
fn passed(gates: &Gates) -> Vec<String> {
    std::mem::take(&mut *gates.lock().unwrap())
}

fn asks_at(turn: &Turn, node: &str) {
    assert!(matches!(turn.stop, Stop::Ask { .. }) && turn.node.as_str() == node, "{turn:?}");
}

// 11.8: neither `--at`, children, `goto`, `back`, forks nor an edit pass it by
#[test]
fn no_way_into_a_node_passes_the_gate_by() {
    let (stage, gates) = stage(&[PROJECT, START, WORK, INNER, END]);
    let store = Arc::new(MemoryStore::new());
    let id = SessionId::from("local");
    run(async {
        let sessions = stage.stored(&store);
        let turn = sessions.start(Start { session: Some(id.clone()), ..Start::default() }).await.unwrap();
        asks_at(&turn, "start");
        assert_eq!(passed(&gates), ["start"]);

        let turn = sessions.send(&id, turn.answer(Input::Text("go".into()))).await.unwrap();
        asks_at(&turn, "inner");
        assert_eq!(passed(&gates), ["work", "inner"], "also in a child");

        let engine = stage.engine();
        let operator = Operator::new(&*store, &engine, "graph", Clock::fixed(2000));
        operator.goto(&id, &NodeId::from("start")).await.unwrap();
        asks_at(&sessions.resume(&id).await.unwrap(), "start");
        assert_eq!(passed(&gates), ["start"], "goto");

        // Record 0 has the gate pending.
        operator.back(&id, 0).await.unwrap();
        asks_at(&sessions.resume(&id).await.unwrap(), "start");
        assert_eq!(passed(&gates), ["start"], "back");

        let fork = SessionId::from("fork");
        operator.fork(&id, Some(0), &fork).await.unwrap();
        asks_at(&sessions.resume(&fork).await.unwrap(), "start");
        assert_eq!(passed(&gates), ["start"], "fork");

        let at = Start { session: Some("at".into()), at: Some("inner".into()), ..Start::default() };
        asks_at(&sessions.start(at).await.unwrap(), "inner");
        assert_eq!(passed(&gates), ["inner"], "--at");

        let moved = ("inner.md", "---\ninput_type: text\nto: end\n---\nAnd now?\n");
        let (edited, gates) = self::stage(&[PROJECT, ("start.md", "---\nto: inner\n---\n"), moved, END]);
        sessions.swap(edited.engine(), edited.bindings()).await.unwrap();
        let turn = sessions.resume(&id).await.unwrap();
        asks_at(&turn, "inner");
        assert_eq!(passed(&gates), ["start", "inner"], "an edit");
    });
}

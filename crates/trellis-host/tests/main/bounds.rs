//! Values from outside that are too deep or too large: refused wherever they come in, and the session stays as it was.

use std::sync::Arc;

use trellis_core::{Mapping, SessionId, Start, Value, path::KeyPath};
use trellis_host::{
    Clock, Reply, Stop,
    history::Operator,
    store::{MemoryStore, SessionStore},
};

use crate::stage::{Stage, run};

const LIMITS: &str = "limits: {depth: 3, value: 60, context: 100}\n";

fn id() -> SessionId {
    SessionId::from("local")
}

/// A list in lists, so many levels deep.
fn nested(depth: usize) -> Value {
    (1..depth).fold(Value::list([]), |value, _| Value::list([value]))
}

fn long(bytes: usize) -> Value {
    Value::text("x".repeat(bytes).as_str())
}

async fn records(store: &MemoryStore) -> usize {
    store.records(&id(), 0, 100).await.unwrap().len()
}

#[test]
fn an_operator_sets_nothing_that_is_too_deep_or_too_large() {
    let ask = ("start.md", "---\ndefault_context: {a: {b: 1}}\ninput_type: int\nto: end\n---\nHow many?\n");
    let stage = Stage::new(&[("trellis.yaml", LIMITS), ask, ("end.md", "Bye.\n")]);
    let store = Arc::new(MemoryStore::new());
    run(async {
        stage.stored(&store).start(Start::default()).await.unwrap();
        let engine = stage.engine();
        let operator = Operator::new(&*store, &engine, "graph", Clock::fixed(2000));
        let set = async |given: &[(&str, Value)]| {
            let given: Vec<_> = given.iter().map(|(path, value)| (KeyPath::parse(path).unwrap(), value.clone())).collect();
            operator.set(&id(), &given).await.map_err(|refused| refused.to_string())
        };
        for (given, bound) in [
            (vec![("x", nested(4))], "`x` is nested 4 levels deep, the limit is 3 (`limits.depth`)"),
            (vec![("a.c", nested(4))], "`a.c` is nested 4 levels deep, the limit is 3 (`limits.depth`)"),
            (vec![("x", long(60))], "`x` has 62 bytes as JSON, the limit is 60 (`limits.value`)"),
            (vec![("a.c", long(58))], "(`limits.value`)"),
            (vec![("x", long(40)), ("y", long(40))], "(`limits.context`)"),
        ] {
            let refused = set(&given).await.unwrap_err();
            assert!(refused.contains(bound), "{bound}: {refused}");
            assert_eq!(records(&store).await, 1, "{bound}");
        }
        set(&[("x", nested(3)), ("y", long(40))]).await.unwrap();
        assert_eq!(records(&store).await, 2);
        set(&[("z", long(40))]).await.unwrap_err();
        assert_eq!(records(&store).await, 2, "what is there counts");
    });
}

#[test]
fn a_host_that_is_asked_for_keys_gives_none_that_are_too_deep_or_too_large() {
    let end = ("end.md", "---\noutput: \"{{ who }}\"\n---\n");
    let before = Stage::new(&[("start.md", "---\ninput_type: int\nset: {who: nobody}\nto: end\n---\nHow many?\n"), end]);
    let start = ("start.md", "---\nrequired_context: [who, also]\ninput_type: int\nto: end\n---\nHow many?\n");
    let needs = Stage::new(&[("trellis.yaml", LIMITS), start, end]);
    let store = Arc::new(MemoryStore::new());
    run(async {
        before.stored(&store).start(Start::default()).await.unwrap();
        let sessions = needs.stored(&store);
        let asked = sessions.resume(&id()).await.unwrap();
        assert!(matches!(&asked.stop, Stop::Keys { missing, .. } if missing == &["who", "also"]), "{asked:?}");
        let known = records(&store).await;
        let give = async |given: Mapping| sessions.send(&id(), asked.answer(Reply::Context(given))).await;
        for (given, bound) in [
            (Mapping::from_iter([("who", nested(4))]), "`who` is nested 4 levels deep, the limit is 3 (`limits.depth`)"),
            (Mapping::from_iter([("who", long(60))]), "`who` has 62 bytes as JSON, the limit is 60 (`limits.value`)"),
            (Mapping::from_iter([("who", long(45)), ("also", long(45))]), "(`limits.context`)"),
        ] {
            let refused = give(given).await.unwrap_err().to_string();
            assert!(refused.contains(bound), "{bound}: {refused}");
            assert_eq!(records(&store).await, known, "{bound}");
            assert!(matches!(sessions.view(&id()).await.unwrap().stop, Stop::Keys { .. }), "{bound}");
        }
        let turn = give(Mapping::from_iter([("who", nested(3)), ("also", Value::Null)])).await.unwrap();
        assert!(matches!(turn.stop, Stop::Ask { .. }), "{turn:?}");
    });
}

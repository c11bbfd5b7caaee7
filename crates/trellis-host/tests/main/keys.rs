//! Keys of calls: no two starts share one, and a session that was begun has its keys for good (language 7.8).

use std::sync::{Arc, Mutex};

use trellis_core::{Input, SessionId, Start, ToolError, Value};
use trellis_host::{
    Sessions,
    history::{Operator, replay},
    store::{MemoryStore, Removal, SessionStore},
};

use crate::{
    history::{clock, history},
    stage::{Stage, run},
};

/// Charges once itself and once in a child, and asks before the second.
const SHOP: &[(&str, &str)] = &[
    ("trellis.yaml", "name: shop\nbindings: { charge: { function: charge } }\n"),
    ("start.md", "---\ndo: { name: charge, retry: { max: 2, base: 1ms } }\nto: sure\n---\n"),
    ("sure.md", "---\ninput_type: confirm\nto: again\n---\nAgain?\n"),
    ("again.md", "---\ndo: { graph: child/start }\nto: end\n---\n"),
    ("child/start.md", "---\ndo: { parallel: { a: { name: charge }, b: { name: charge } } }\nto: end\n---\n"),
    ("child/end.md", "---\n---\n"),
    ("end.md", "---\n---\nDone.\n"),
];

type Keys = Arc<Mutex<Vec<String>>>;

/// The shop, and the keys under which it charged, by attempt.
fn shop() -> (Stage, Keys) {
    let keys = Keys::default();
    let charged = Arc::clone(&keys);
    let stage = Stage::new(SHOP).function(move |bindings| {
        let charged = Arc::clone(&charged);
        bindings.function("charge", move |context, _| {
            charged.lock().unwrap().push(context.idempotency_key.to_string());
            if context.attempt == 1 && context.node.as_str() == "start" { Err(ToolError::new("busy")) } else { Ok(Value::Null) }
        })
    });
    (stage, keys)
}

fn id(name: &str) -> SessionId {
    SessionId::from(name)
}

async fn begin(sessions: &Sessions, name: &str) {
    sessions.start(Start { session: Some(id(name)), ..Start::default() }).await.unwrap();
}

async fn confirm(sessions: &Sessions, name: &str) {
    sessions.send(&id(name), Input::Text("yes".into())).await.unwrap();
}

/// Takes the keys so far, each once.
fn take(keys: &Keys) -> Vec<String> {
    let mut taken = std::mem::take(&mut *keys.lock().unwrap());
    taken.sort();
    taken.dedup();
    taken
}

fn share_one(one: &[String], other: &[String]) -> bool {
    one.iter().any(|key| other.contains(key))
}

#[test]
fn two_tenants_with_sessions_of_one_name_share_no_key() {
    let (stage, keys) = shop();
    run(async {
        let mut tenants = Vec::new();
        for _ in 0..2 {
            let sessions = stage.stored(&Arc::new(MemoryStore::new()));
            begin(&sessions, "order-1").await;
            confirm(&sessions, "order-1").await;
            tenants.push(take(&keys));
        }
        assert_eq!((tenants[0].len(), tenants[1].len()), (3, 3), "two attempts share a key, two branches do not");
        assert!(!share_one(&tenants[0], &tenants[1]), "{tenants:?}");
    });
}

#[test]
fn a_session_that_is_removed_and_begun_again_shares_no_key_with_the_first() {
    let ((stage, keys), store) = (shop(), Arc::new(MemoryStore::new()));
    run(async {
        let sessions = stage.stored(&store);
        begin(&sessions, "order-1").await;
        let first = take(&keys);
        sessions.pause(&id("order-1")).unwrap();
        let expected = store.load(&[id("order-1")]).await.unwrap().remove(0).unwrap().head.next;
        store.remove(&id("order-1"), Removal::Session { expected }).await.unwrap();
        // Whoever removed it told nobody who has it in memory, paused.
        begin(&sessions, "order-1").await;
        assert!(!sessions.is_paused(&id("order-1")));
        let second = take(&keys);
        assert_eq!((first.len(), second.len()), (1, 1));
        assert!(!share_one(&first, &second));
    });
}

#[test]
fn a_fork_has_keys_of_its_own_and_both_replay_byte_for_byte() {
    let ((stage, keys), store) = (shop(), Arc::new(MemoryStore::new()));
    run(async {
        begin(&stage.stored(&store), "order-1").await;
        take(&keys);
        Operator::new(&*store, &stage.engine(), "graph", clock()).fork(&id("order-1"), None, &id("order-2")).await.unwrap();
        // Another process goes on with both: keys come from the stored number.
        let sessions = stage.stored(&store);
        confirm(&sessions, "order-1").await;
        let first = take(&keys);
        confirm(&sessions, "order-2").await;
        assert!(!share_one(&first, &take(&keys)));
        for name in ["order-1", "order-2"] {
            let history = history(&store, name).await;
            let replayed = replay(&stage.engine(), &history).unwrap();
            assert_eq!((replayed.records, replayed.unchecked.len()), (history.records.len() as u64, 0), "{name}");
        }
    });
}

// Over HTTP such a key would bring one customer the answer that another one got.
#[test]
fn tools_of_predicates_have_keys_of_their_own_in_each_start() {
    let files = [
        ("trellis.yaml", "predicates: { is_open: { binding: ask } }\nbindings: { ask: { function: ask } }\n"),
        ("start.md", "---\nassert: [is_open]\ntransitions: [{ condition: is_open, to: end }, { to: closed }]\n---\n"),
        ("closed.md", "---\n---\nClosed.\n"),
        ("end.md", "---\n---\nDone.\n"),
    ];
    let keys = Keys::default();
    let asked = Arc::clone(&keys);
    let stage = Stage::new(&files).function(move |bindings| {
        let asked = Arc::clone(&asked);
        bindings.function("ask", move |context, _| {
            asked.lock().unwrap().push(context.idempotency_key.to_string());
            Ok(Value::Bool(true))
        })
    });
    run(async {
        let mut tenants = Vec::new();
        for _ in 0..2 {
            begin(&stage.stored(&Arc::new(MemoryStore::new())), "order-1").await;
            tenants.push(take(&keys));
        }
        assert_eq!((tenants[0].len(), tenants[1].len()), (2, 2), "at the start, and in the step behind it");
        assert!(!share_one(&tenants[0], &tenants[1]), "{tenants:?}");
        assert!(tenants.iter().flatten().all(|key| !key.contains("is_open")), "{tenants:?}");
    });
}

// A host cannot make two sessions share keys by starting one with what it read of the other.
#[test]
fn a_number_that_somebody_hands_in_is_not_taken() {
    let (stage, keys) = shop();
    run(async {
        let start = Start { session: Some(id("order-1")), seed: Some("mine".into()), ..Start::default() };
        stage.sessions().start(start.clone()).await.unwrap();
        let first = take(&keys);
        stage.sessions().start(start).await.unwrap();
        assert!(!share_one(&first, &take(&keys)));
    });
}

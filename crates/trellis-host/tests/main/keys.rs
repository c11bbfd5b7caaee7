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
        begin(&stage.stored(&store), "order-1").await;
        let first = take(&keys);
        let expected = store.load(&[id("order-1")]).await.unwrap().remove(0).unwrap().head.next;
        store.remove(&id("order-1"), Removal::Session { expected }).await.unwrap();
        begin(&stage.stored(&store), "order-1").await;
        assert!(!share_one(&first, &take(&keys)));
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

//! Two who work on one session, and signals: what is told to have been taken is stored.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use trellis_core::{Input, SessionId, Start, Value, path::KeyPath};
use trellis_host::{
    Clock, SendError, Stop, Turn,
    history::{History, Operator},
    store::{MemoryStore, SessionStore},
};

use crate::{
    stage::{Stage, run, run_timeless},
    troubled::{Trouble, Troubled},
};

const ASK: (&str, &str) = ("start.md", "---\ninput_type: int\nsave_to: n\nto: end\n---\nHow many, {{ name | default(\"you\") }}?\n");
const END: (&str, &str) = ("end.md", "---\noutput: \"{{ n }} {{ room | default('?') }}\"\n---\nThank you.\n");

fn id() -> SessionId {
    SessionId::from("local")
}

fn int(n: i64) -> Input {
    Input::Value(Value::Int(n))
}

fn output(turn: &Turn) -> String {
    match &turn.stop {
        Stop::Ended(ended) => ended.output.as_ref().unwrap().to_json(),
        stop => panic!("{stop:?}"),
    }
}

async fn next(store: &dyn SessionStore) -> u64 {
    store.load(&[id()]).await.unwrap().remove(0).unwrap().head.next
}

async fn set(stage: &Stage, store: &MemoryStore, key: &str, value: &str) {
    let engine = stage.engine();
    let assignments = [(KeyPath::parse(key).unwrap(), Value::text(value))];
    Operator::new(store, &engine, "graph", Clock::fixed(2000)).set(&id(), &assignments).await.unwrap();
}

#[test]
fn an_answer_counts_where_the_question_is_still_the_same() {
    let (stage, store) = (Stage::new(&[ASK, END]), Arc::new(MemoryStore::new()));
    run(async {
        let sessions = stage.stored(&store);
        sessions.start(Start::default()).await.unwrap();
        set(&stage, &store, "room", "blue").await;
        assert_eq!(output(&sessions.send(&id(), int(3)).await.unwrap()), "\"3 blue\"");
        let history = History::open(&*store, &id()).await.unwrap();
        assert_eq!((history.records.len(), history.flaws.len()), (4, 0));
    });
}

#[test]
fn an_answer_to_a_question_that_became_another_one_is_stale() {
    let (stage, store) = (Stage::new(&[ASK, END]), Arc::new(MemoryStore::new()));
    run(async {
        let sessions = stage.stored(&store);
        sessions.start(Start::default()).await.unwrap();
        set(&stage, &store, "name", "Ana").await;
        let SendError::Stale(turn) = sessions.send(&id(), int(3)).await.unwrap_err() else { panic!() };
        assert_eq!(turn.said[0].text.trim(), "How many, Ana?");
        assert_eq!(output(&sessions.send(&id(), int(3)).await.unwrap()), "\"3 ?\"");
        assert_eq!(next(&*store).await, 4);
    });
}

#[test]
fn who_comes_back_sees_what_others_did() {
    let (stage, store) = (Stage::new(&[ASK, END]), Arc::new(MemoryStore::new()));
    run(async {
        let (one, other) = (stage.stored(&store), stage.stored(&store));
        one.start(Start::default()).await.unwrap();
        other.send(&id(), int(3)).await.unwrap();
        assert_eq!(output(&one.resume(&id()).await.unwrap()), "\"3 ?\"");
    });
}

#[test]
fn who_leaves_while_an_answer_is_stored_leaves_the_session_as_the_store_has_it() {
    for writes in [false, true] {
        let (stage, store) = (Stage::new(&[ASK, END]), Arc::new(Troubled::default()));
        run_timeless(async {
            let sessions = stage.stored(&store);
            sessions.start(Start::default()).await.unwrap();
            store.troubles.lock().unwrap().push(Trouble::Silent { writes });
            let left = tokio::time::timeout(Duration::from_secs(1), sessions.send(&id(), int(3))).await;
            assert!(left.is_err());
            let turn = sessions.resume(&id()).await.unwrap();
            assert_eq!(matches!(turn.stop, Stop::Ended(_)), writes, "{turn:?}");
            if !writes {
                assert!(matches!(sessions.send(&id(), int(4)).await.unwrap().stop, Stop::Ended(_)));
            }
        });
    }
}

#[test]
fn an_answer_asks_the_store_nothing_and_writes_once() {
    let (stage, store) = (Stage::new(&[ASK, END]), Arc::new(Troubled::default()));
    run(async {
        let sessions = stage.stored(&store);
        sessions.start(Start::default()).await.unwrap();
        store.taken();
        sessions.send(&id(), int(3)).await.unwrap();
        assert_eq!(store.taken(), ["append"]);
        sessions.resume(&id()).await.unwrap();
        assert_eq!(store.taken(), ["load"], "it has ended, and left the memory");
    });
}

const INTERRUPTED: (&str, &str) = ("start.md", "---\ninput_type: int\nsave_to: n\non_interrupt: left\nto: end\n---\nHow many?\n");
const LEFT: (&str, &str) = ("left.md", "---\ninput_type: int\nsave_to: n\nto: end\n---\nLeft.\n");

#[test]
fn a_signal_is_stored_when_it_is_told_to_be_taken() {
    let (stage, store) = (Stage::new(&[INTERRUPTED, LEFT, END]), Arc::new(Troubled::default()));
    run(async {
        let sessions = stage.stored(&store);
        sessions.start(Start::default()).await.unwrap();
        // Nobody goes on with the session; and it may be in the store only.
        let elsewhere = stage.stored(&store);
        elsewhere.signal(&id(), &"interrupt".into()).await.unwrap();
        assert_eq!(next(&store.store).await, 2);
        assert_eq!(sessions.resume(&id()).await.unwrap().said[0].text.trim(), "Left.");
        assert_eq!(output(&sessions.send(&id(), int(3)).await.unwrap()), "\"3 ?\"");
    });
}

#[test]
fn a_signal_that_cannot_be_stored_did_not_happen() {
    let (stage, store) = (Stage::new(&[INTERRUPTED, LEFT, END]), Arc::new(Troubled::default()));
    run(async {
        let sessions = stage.stored(&store);
        sessions.start(Start::default()).await.unwrap();
        store.is_full.store(true, Ordering::Relaxed);
        let refused = sessions.signal(&id(), &"interrupt".into()).await.unwrap_err();
        assert_eq!(refused.to_string(), "the store cannot be written: no space left");
        let refused = sessions.send(&id(), Input::Signal("interrupt".into())).await.unwrap_err();
        assert_eq!(refused.to_string(), "the store cannot be written: no space left");
        store.is_full.store(false, Ordering::Relaxed);
        assert_eq!(sessions.resume(&id()).await.unwrap().said[0].text.trim(), "How many?");
        assert_eq!(next(&store.store).await, 1);
    });
}

#[test]
fn a_signal_while_a_tool_runs_is_stored_by_the_one_who_goes_on() {
    let start = "---\ntools: [{name: slow}]\ndo: slow\non_interrupt: left\nto: end\n---\n";
    let stage = Stage::new(&[("start.md", start), LEFT, ("end.md", "Done.\n")]).function(|bindings| {
        bindings.function_async("slow", |_, _| async {
            tokio::time::sleep(Duration::from_secs(60)).await;
            Ok(Value::Null)
        })
    });
    for is_full in [false, true] {
        let store = Arc::new(Troubled::default());
        run_timeless(async {
            let sessions = stage.stored(&store);
            let signal = async {
                tokio::time::sleep(Duration::from_secs(1)).await;
                store.is_full.store(is_full, Ordering::Relaxed);
                let told = sessions.signal(&id(), &"interrupt".into()).await;
                assert_eq!(told.is_ok(), !is_full, "{told:?}");
                assert_eq!(next(&store.store).await, if is_full { 1 } else { 2 });
            };
            let (turn, ()) = tokio::join!(sessions.start(Start::default()), signal);
            assert_eq!(turn.is_ok(), !is_full, "{turn:?}");
        });
    }
}

//! Sessions in a store: they go on after a crash, an edit, a second writer and trouble with the store.

use std::{
    pin::pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use trellis_core::{Input, Mapping, SessionId, Start, ToolError, Value};
use trellis_host::{
    Reply, SendError, SessionEvent, Sessions, Stop, Turn,
    sessions::{Drive, Driven},
    store::{Head, MemoryStore, Query, SessionStatus, SessionStore, StoreError, Which},
};

use crate::{
    stage::{Stage, run, run_timeless},
    troubled::{Trouble, Troubled},
};

const ASK: (&str, &str) = ("start.md", "---\ninput_type: int\nsave_to: n\nto: end\n---\nHow many?\n");
const END: (&str, &str) = ("end.md", "---\noutput: \"{{ n }}\"\n---\nThank you.\n");

fn id() -> SessionId {
    SessionId::from("local")
}

fn named(name: &str) -> Start {
    Start { session: Some(name.into()), ..Start::default() }
}

fn int(n: i64) -> Input {
    Input::Value(Value::Int(n))
}

fn ended(turn: &Turn) -> bool {
    matches!(turn.stop, Stop::Ended(_))
}

/// The turn that was told.
pub(crate) fn turn_of(driven: Driven<'_>) -> Turn {
    match driven {
        Driven::Turn(_, turn) => turn.unwrap(),
        Driven::Away(error) => panic!("{error}"),
    }
}

async fn heads(store: &dyn SessionStore) -> Vec<Head> {
    store.list(Query { graph: None, which: Which::Newest, after: None, limit: 10_000 }).await.unwrap()
}

#[test]
fn a_session_goes_on_in_another_process() {
    let (stage, store) = (Stage::new(&[ASK, END]), Arc::new(MemoryStore::new()));
    run(async {
        stage.stored(&store).start(Start::default()).await.unwrap();
        let [head] = &heads(&*store).await[..] else { panic!() };
        assert_eq!((head.node.as_str(), head.standing, head.due, head.next), ("start", SessionStatus::WaitingForInput, None, 1));
        let sessions = stage.stored(&store);
        assert!(matches!(sessions.start(Start::default()).await, Err(SendError::Exists(_))));
        let turn = sessions.resume(&id()).await.unwrap();
        assert_eq!(turn.said.len(), 1, "who comes back is told again where they are");
        let turn = stage.stored(&store).send(&id(), int(3)).await.unwrap();
        assert!(ended(&turn), "{turn:?}");
        let [head] = &heads(&*store).await[..] else { panic!() };
        assert_eq!((head.standing, head.due), (SessionStatus::Finished, None));
        assert!(ended(&stage.stored(&store).resume(&id()).await.unwrap()));
        assert!(matches!(sessions.resume(&"other".into()).await, Err(SendError::Unknown(_))));
        assert!(matches!(sessions.start(named("../../x")).await, Err(SendError::BadName(_))));
    });
}

#[test]
fn a_start_that_was_dropped_before_the_session_began_may_be_repeated() {
    let files = [
        ("trellis.yaml", "predicates: { is_open: { binding: ask } }\nbindings: { ask: { function: ask } }\n"),
        ("start.md", "---\nassert: [is_open]\nto: end\n---\n"),
        ("end.md", "---\n---\nDone.\n"),
    ];
    let is_first = Arc::new(AtomicBool::new(true));
    let first = Arc::clone(&is_first);
    let stage = Stage::new(&files).function(move |bindings| {
        let first = Arc::clone(&first);
        bindings.function_async("ask", move |_, _| {
            let never_ends = first.swap(false, Ordering::Relaxed);
            async move {
                if never_ends {
                    std::future::pending::<()>().await;
                }
                Ok(Value::Bool(true))
            }
        })
    });
    run(async {
        let sessions = stage.stored(&Arc::new(MemoryStore::new()));
        {
            let mut start = pin!(sessions.start(Start::default()));
            while is_first.load(Ordering::Relaxed) {
                tokio::select! {
                    biased;
                    turn = &mut start => panic!("{turn:?}"),
                    () = tokio::task::yield_now() => {}
                }
            }
        }
        assert!(ended(&sessions.start(Start::default()).await.unwrap()));
    });
}

#[test]
fn of_two_writers_one_wins_and_the_other_goes_on_from_there() {
    let (stage, store) = (Stage::new(&[ASK, END]), Arc::new(MemoryStore::new()));
    run(async {
        let (one, other) = (stage.stored(&store), stage.stored(&store));
        one.start(Start::default()).await.unwrap();
        other.resume(&id()).await.unwrap();
        assert!(ended(&one.send(&id(), int(1)).await.unwrap()));
        let SendError::Stale(turn) = other.send(&id(), int(2)).await.unwrap_err() else { panic!() };
        assert!(ended(&turn), "{turn:?}");
        let turn = other.resume(&id()).await.unwrap();
        let Stop::Ended(end) = turn.stop else { panic!("{turn:?}") };
        assert_eq!(end.output, Some(Value::Int(1)));
    });
}

/// A graph that calls `charge`, which fails at first, with a retry after a minute.
fn charging(approve: bool) -> Stage {
    let approve = if approve { ", approve: true" } else { "" };
    let node = format!(
        "---\ntools: [{{name: charge}}]\ndo: {{name: charge, args: {{n: 1}}, retry: {{max: 3, base: 60s, factor: 1, cap: 60s}}{approve}}}\nto: end\non_error: end\n---\nCharging.\n"
    );
    let stage = Stage::new(&[("start.md", &node), ("end.md", "Done.\n"), ("trellis.yaml", "bindings: {charge: {function: charge}}\n")]);
    let calls = Arc::new(AtomicUsize::new(0));
    stage.function(move |bindings| {
        let calls = Arc::clone(&calls);
        bindings.function("charge", move |_, _: Mapping| {
            let is_first = calls.fetch_add(1, Ordering::Relaxed) == 0;
            if is_first { Err(ToolError::new("busy")) } else { Ok(Value::Null) }
        })
    })
}

/// The keys under which calls are carried out, from here on.
fn keys(sessions: &Sessions, all: &Arc<Mutex<Vec<String>>>) {
    let all = Arc::clone(all);
    sessions.observe(move |_, happening| {
        if let SessionEvent::Calling(call) = happening {
            all.lock().unwrap().push(call.idempotency_key.to_string());
        }
    });
}

#[test]
fn the_delay_before_another_attempt_goes_on_over_a_restart_and_the_key_is_the_same() {
    let (stage, store, calls) = (charging(false), Arc::new(MemoryStore::new()), Arc::default());
    run_timeless(async {
        let sessions = stage.stored(&store);
        keys(&sessions, &calls);
        tokio::select! {
            turn = sessions.start(Start::default()) => panic!("{turn:?}"),
            () = tokio::time::sleep(std::time::Duration::from_secs(20)) => {}
        }
        let [head] = &heads(&*store).await[..] else { panic!() };
        assert_eq!((head.standing, head.due), (SessionStatus::WaitingForTool, Some(61_000)));
        let began = tokio::time::Instant::now();
        let sessions = stage.stored(&store);
        keys(&sessions, &calls);
        assert!(ended(&sessions.resume(&id()).await.unwrap()));
        assert_eq!(began.elapsed().as_secs(), 40, "what was slept is not slept again");
        let calls = calls.lock().unwrap();
        assert!(calls.len() == 2 && calls[0] == calls[1], "{calls:?}");
    });
}

#[test]
fn an_approval_outlives_the_process() {
    let (stage, store, calls) = (charging(true), Arc::new(MemoryStore::new()), Arc::default());
    run_timeless(async {
        let sessions = stage.stored(&store);
        keys(&sessions, &calls);
        let turn = sessions.start(Start::default()).await.unwrap();
        assert!(matches!(turn.stop, Stop::Approve { .. }));
        // Approved, and the process ends before the second attempt.
        let (id, approval) = (id(), Reply::Approve { call: None, yes: true });
        let approved = sessions.send(&id, approval);
        assert!(tokio::time::timeout(std::time::Duration::from_secs(20), approved).await.is_err());
        let sessions = stage.stored(&store);
        keys(&sessions, &calls);
        assert!(ended(&sessions.resume(&id).await.unwrap()));
        assert_eq!(calls.lock().unwrap().len(), 2);
    });
}

#[test]
fn what_is_not_stored_did_not_happen_and_nothing_is_told() {
    let (stage, store) = (Stage::new(&[ASK, END]), Troubled::with(&[]));
    run_timeless(async {
        let sessions = stage.stored(&store);
        sessions.start(Start::default()).await.unwrap();
        let told: Arc<Mutex<Vec<SessionEvent>>> = Arc::default();
        let telling = Arc::clone(&told);
        sessions.observe(move |_, happening| telling.lock().unwrap().push(happening.clone()));
        store.troubles.lock().unwrap().push(Trouble::Full);
        let refused = sessions.send(&id(), int(3)).await.unwrap_err();
        assert_eq!(refused.to_string(), "the store cannot be written: no space left");
        assert!(told.lock().unwrap().is_empty());
        assert!(matches!(sessions.resume(&id()).await.unwrap().stop, Stop::Ask { .. }));
        assert!(ended(&sessions.send(&id(), int(4)).await.unwrap()));
    });
}

#[test]
fn a_store_that_goes_away_and_comes_back_is_asked_again_after_a_while() {
    let stage = Stage::new(&[ASK, END]);
    run_timeless(async {
        let store = Troubled::with(&[]);
        let sessions = stage.stored(&store);
        sessions.start(Start::default()).await.unwrap();
        *store.troubles.lock().unwrap() = vec![Trouble::Lost, Trouble::Lost];
        assert!(ended(&sessions.send(&id(), int(3)).await.unwrap()));
        assert_eq!(store.count("append"), 4);
        // It stays away: a few attempts, then an error; later the session goes on.
        sessions.start(named("two")).await.unwrap();
        *store.troubles.lock().unwrap() = vec![Trouble::Lost; 4];
        let refused = sessions.send(&"two".into(), int(3)).await.unwrap_err();
        assert!(matches!(refused, SendError::Store(StoreError::Unavailable { .. })), "{refused}");
        assert_eq!(store.count("append"), 9);
        assert!(ended(&sessions.send(&"two".into(), int(4)).await.unwrap()));
    });
}

#[test]
fn a_step_whose_acknowledgement_was_lost_is_not_taken_twice() {
    let stage = Stage::new(&[ASK, END]);
    run_timeless(async {
        let store = Troubled::with(&[]);
        let sessions = stage.stored(&store);
        sessions.start(Start::default()).await.unwrap();
        store.troubles.lock().unwrap().push(Trouble::Unanswered);
        assert!(ended(&sessions.send(&id(), int(3)).await.unwrap()));
        assert_eq!(heads(&*store).await[0].next, 3);
    });
}

#[test]
fn a_stored_session_is_fitted_to_the_graph_as_it_is_now() {
    let store = Arc::new(MemoryStore::new());
    run(async {
        let ask = |text: &'static str| ("ask.md", text);
        let before = [("start.md", "---\nto: ask\n---\n"), ask("---\ninput_type: int\nsave_to: n\nto: end\n---\nHow many?\n"), END];
        Stage::new(&before).stored(&store).start(Start::default()).await.unwrap();
        let lacking = Stage::new(&[
            ("start.md", "---\nset: {name: Ana}\nto: ask\n---\n"),
            ask("---\ninput_type: int\nsave_to: n\nto: end\n---\n{{ name }}, how many?\n"),
            END,
        ]);
        let sessions = lacking.stored(&store);
        let turn = sessions.resume(&id()).await.unwrap();
        assert!(matches!(&turn.stop, Stop::Keys { missing, .. } if *missing == ["name"]), "{turn:?}");
        let keys = Mapping::from_iter([("name", Value::text("Bob"))]);
        let turn = lacking.stored(&store).send(&id(), Reply::Context(keys)).await.unwrap();
        assert_eq!(turn.said[0].text.trim(), "Bob, how many?");
        let elsewhere = Arc::new(lacking.sessions().store(Arc::clone(&store) as Arc<dyn SessionStore>, "other"));
        let refused = elsewhere.resume(&id()).await.unwrap_err();
        assert_eq!(refused.to_string(), "session `local` walks the graph `graph`, not `other`");
    });
}

#[test]
fn thousands_of_sleepers_wake_without_being_asked_one_by_one() {
    const SESSIONS: usize = 3000;
    let stage = Stage::new(&[("start.md", "---\nwait: 30s\nto: end\n---\n"), ("end.md", "Good morning.\n")]);
    let store = Troubled::with(&[]);
    run_timeless(async {
        for n in 0..SESSIONS {
            let sessions = stage.stored(&store);
            let start = sessions.start(named(&format!("s{n}")));
            assert!(tokio::time::timeout(std::time::Duration::from_millis(1), start).await.is_err(), "it sleeps");
        }
        let sessions = stage.stored(&store);
        let mut woken = 0;
        let waking = sessions.drive(Drive::UntilIdle, |driven| woken += usize::from(ended(&turn_of(driven))));
        waking.await.unwrap();
        assert_eq!(woken, SESSIONS);
        assert!(heads(&*store).await.iter().all(|head| head.standing == SessionStatus::Finished));
        let lists = store.count("list");
        assert!(lists < 200, "{lists} questions for {SESSIONS} sessions");
    });
}

#[test]
fn waking_leaves_alone_what_needs_somebody_else() {
    let stage = Stage::new(&[
        ("start.md", "---\ninput_type: int\nsave_to: n\ntimeout: 1h\non_timeout: end\nto: end\n---\nHow many?\n"),
        ("end.md", "Good bye.\n"),
    ]);
    let store = Troubled::with(&[]);
    run_timeless(async {
        let sessions: Arc<Sessions> = stage.stored(&store);
        sessions.start(Start::default()).await.unwrap();
        let began = tokio::time::Instant::now();
        let mut turns = Vec::new();
        sessions.drive(Drive::UntilIdle, |driven| turns.push(turn_of(driven))).await.unwrap();
        assert_eq!((began.elapsed().as_secs(), turns.len()), (3600, 1));
        assert!(ended(&turns[0]));
        assert!(store.count("list") < 1000);
    });
}

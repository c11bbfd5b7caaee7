//! Calls that an interceptor holds: visible everywhere, as those are that their graph holds.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use trellis_core::{SessionId, Start, Value};
use trellis_host::{
    Clock, Policy, Reply, Sessions, Stop, Turn, Verdict,
    history::Operator,
    interceptor::Intercepted,
    policy::DecisionSource,
    store::{MemoryStore, SessionStore},
};

use crate::{
    stage::{Stage, run},
    troubled::Troubled,
};

const CHARGE: &[(&str, &str)] = &[
    ("trellis.yaml", "bindings: { charge: { function: charge } }\n"),
    ("start.md", "---\ndo: { name: charge, args: { total: 7 } }\nsave_to: id\non_denied: no\nto: paid\n---\n"),
    ("paid.md", "---\noutput: \"{{ id }}\"\n---\nPaid.\n"),
    ("no.md", "---\noutput: \"{{ sys.error.message | default('nothing') }}\"\n---\nNot paid.\n"),
];
const MINUTE: u64 = 60_000;

fn id() -> SessionId {
    SessionId::from("local")
}

fn charging() -> (Stage, Arc<AtomicUsize>) {
    let made = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&made);
    let stage = Stage::new(CHARGE).function(move |bindings| {
        let count = Arc::clone(&count);
        bindings.function("charge", move |_, _| {
            count.fetch_add(1, Ordering::Relaxed);
            Ok(Value::Int(7))
        })
    });
    (stage, made)
}

/// Sessions whose calls somebody must approve within a quarter of an hour.
fn holding(sessions: Sessions) -> Sessions {
    sessions.interceptor(|_: Intercepted<'_>| Verdict::Hold {
        ask: Some("More than allowed?".to_owned()),
        expires: Some(Duration::from_secs(15 * 60)),
    })
}

fn open(stage: &Stage, store: &Arc<impl SessionStore + 'static>, now: u64) -> Sessions {
    stage.sessions().clock(Clock::fixed(now)).store(Arc::clone(store) as Arc<dyn SessionStore>, "graph")
}

fn question(turn: &Turn) -> (Option<&str>, Option<u64>) {
    match &turn.stop {
        Stop::Approve { call, due } => (call.approve.as_ref().and_then(|approve| approve.ask.as_deref()), *due),
        stop => panic!("{stop:?}"),
    }
}

fn output(turn: &Turn) -> Value {
    match &turn.stop {
        Stop::Ended(ended) => ended.output.clone().unwrap(),
        stop => panic!("{stop:?}"),
    }
}

#[test]
fn a_held_call_is_seen_by_every_process_and_runs_once_when_it_is_approved() {
    let ((stage, made), store) = (charging(), Arc::new(MemoryStore::new()));
    run(async {
        let asked = (Some("More than allowed?"), Some(1000 + 15 * MINUTE));
        let turn = holding(open(&stage, &store, 1000)).start(Start::default()).await.unwrap();
        assert_eq!(question(&turn), asked);
        // A process that has no such interceptor shows the same, and does not run it.
        let other = open(&stage, &store, 1000 + MINUTE);
        assert_eq!(question(&other.view(&id()).await.unwrap()), asked);
        assert_eq!(question(&other.resume(&id()).await.unwrap()), asked);
        let engine = stage.engine();
        let operator = Operator::new(&*store, &engine, "graph", Clock::fixed(1000 + MINUTE));
        let mut all = Vec::new();
        operator.all_held(None, |held| all.push(held)).await.unwrap();
        assert_eq!((all.len(), all[0].due, all[0].why.as_ref().unwrap().source), (1, asked.1, DecisionSource::Interceptor));
        operator.approve(&id(), None).await.unwrap();
        assert_eq!(made.load(Ordering::Relaxed), 0);
        assert_eq!(output(&holding(open(&stage, &store, 1000 + MINUTE)).resume(&id()).await.unwrap()), Value::Int(7));
        assert_eq!(made.load(Ordering::Relaxed), 1);
    });
}

#[test]
fn a_held_call_is_denied_when_nobody_decides_in_time() {
    let ((stage, made), store) = (charging(), Arc::new(MemoryStore::new()));
    run(async {
        holding(open(&stage, &store, 1000)).start(Start::default()).await.unwrap();
        // The time of the verdict counts, however late the session is taken up.
        let early = holding(open(&stage, &store, 1000 + 14 * MINUTE)).resume(&id()).await.unwrap();
        assert_eq!(question(&early).1, Some(1000 + 15 * MINUTE));
        let late = open(&stage, &store, 1000 + 15 * MINUTE).resume(&id()).await.unwrap();
        assert_eq!(output(&late), Value::text("the approval expired"));
        assert_eq!(made.load(Ordering::Relaxed), 0);
    });
}

#[test]
fn a_held_call_that_could_not_be_stored_is_told_again() {
    let ((stage, made), store) = (charging(), Arc::new(Troubled::default()));
    run(async {
        let (full, told) = (Arc::clone(&store), Arc::new(AtomicUsize::new(0)));
        let telling = Arc::clone(&told);
        let sessions = open(&stage, &store, 1000).interceptor(move |_: Intercepted<'_>| {
            full.is_full.store(telling.fetch_add(1, Ordering::Relaxed) == 0, Ordering::Relaxed);
            Verdict::hold()
        });
        sessions.start(Start::default()).await.unwrap_err();
        store.is_full.store(false, Ordering::Relaxed);
        assert_eq!(question(&sessions.resume(&id()).await.unwrap()), (None, None));
        assert_eq!(told.load(Ordering::Relaxed), 2);
        let turn = sessions.send(&id(), Reply::Approve { call: None, yes: true }).await.unwrap();
        assert_eq!((output(&turn), made.load(Ordering::Relaxed)), (Value::Int(7), 1));
    });
}

// Nobody could approve it: such a call is no wait of its session.
#[test]
fn a_held_tool_of_a_predicate_or_a_policy_does_not_run() {
    let end = ("end.md", "---\n---\nDone.\n");
    let asks = [
        ("trellis.yaml", "predicates: { is_open: { binding: ask } }\nbindings: { ask: { function: ask } }\n"),
        ("start.md", "---\ntransitions: [{ condition: is_open, to: end }, { to: closed }]\n---\n"),
        ("closed.md", "---\n---\nClosed.\n"),
        end,
    ];
    let decides = [
        ("trellis.yaml", "policy: [{ tool: ask }]\nbindings: { ask: { function: ask }, charge: { function: charge } }\n"),
        ("start.md", "---\ndo: charge\nto: end\n---\n"),
        end,
    ];
    let begin = |files: &[(&str, &str)], policy: Policy| {
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        let stage = Stage::new(files).policy(policy).function(move |bindings| {
            let count = Arc::clone(&count);
            let bindings = bindings.shared().function("charge", |_, _| Ok(Value::Null));
            bindings.function("ask", move |_, _| {
                count.fetch_add(1, Ordering::Relaxed);
                Ok(Value::Bool(true))
            })
        });
        let hold = |about: Intercepted<'_>| if &*about.call.name == "ask" { Verdict::hold() } else { Verdict::Allow };
        let turn = run(stage.sessions().interceptor(hold).start(Start::default())).unwrap();
        (turn.stop, asked.load(Ordering::Relaxed))
    };
    let (stop, asked) = begin(&asks, Policy::new());
    assert!(matches!(stop, Stop::Predicate { .. }) && asked == 0, "{stop:?}");
    let (stop, asked) = begin(&decides, Policy::new());
    assert!(stop.held().is_some_and(|call| &*call.name == "charge") && asked == 0, "{stop:?}");
    // Whoever approves all approves that too.
    for files in [&asks[..], &decides[..]] {
        let (stop, asked) = begin(files, Policy::new().approve_all(true));
        assert!(matches!(stop, Stop::Ended(_)) && asked == 1, "{stop:?}");
    }
}

//! Sessions in memory: the ones that stay, views without a step, waits that end when they are due, and the end of a host.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use trellis_core::{Input, SessionId, Start, Value};
use trellis_host::{
    Policy, SendError, Sessions, Stop, Turn,
    hooks::{Hooks, Moment},
    sessions::{Drive, DriveError, Driven},
    store::{MemoryStore, SessionStatus, SessionStore},
};

use crate::{
    stage::{Stage, run, run_timeless},
    troubled::Troubled,
};

const ASK: &[(&str, &str)] = &[("start.md", "---\ninput_type: int\nsave_to: n\nto: end\n---\nHow many?\n"), ("end.md", "Thank you.\n")];

fn named(name: &str) -> Start {
    Start { session: Some(name.into()), ..Start::default() }
}

fn count(sessions: &Sessions) -> usize {
    let shown = format!("{sessions:?}");
    shown.split_once("sessions: ").unwrap().1.split([',', ' ']).next().unwrap().parse().unwrap()
}

/// A graph whose tool works for a minute, and counts how often it began.
fn busy() -> (Stage, Arc<AtomicUsize>) {
    let began = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&began);
    let stage = Stage::new(&[
        ("start.md", "---\noptions: [{text: work, to: work}, {text: wait, to: wait}]\n---\nWhat now?\n"),
        ("work.md", "---\ntools: [{name: work, effect: none}]\ndo: work\nto: end\n---\nWorking.\n"),
        ("wait.md", "---\ninput_type: text\ntimeout: 5s\non_timeout: end\n---\nWaiting.\n"),
        ("end.md", "Done.\n"),
    ]);
    let stage = stage.function(move |bindings| {
        let counted = Arc::clone(&counted);
        bindings.function_async("work", move |_, _| {
            counted.fetch_add(1, Ordering::Relaxed);
            async {
                tokio::time::sleep(Duration::from_secs(60)).await;
                Ok(Value::Null)
            }
        })
    });
    (stage, began)
}

#[test]
fn ended_and_idle_sessions_leave_the_memory_and_unknown_names_leave_nothing() {
    let (stage, store) = (Stage::new(ASK), Arc::new(MemoryStore::new()));
    run(async {
        let sessions = stage.sessions().store(Arc::clone(&store) as Arc<dyn SessionStore>, "graph").in_memory(8);
        for n in 0..100 {
            sessions.start(named(&format!("s{n}"))).await.unwrap();
            assert!(count(&sessions) <= 10);
        }
        sessions.send(&"s99".into(), Input::Value(Value::Int(1))).await.unwrap();
        assert!(sessions.look(&"s99".into(), |_| ()).is_none(), "it has ended");
        let turn = sessions.send(&"s0".into(), Input::Value(Value::Int(1))).await.unwrap();
        assert!(matches!(turn.stop, Stop::Ended(_)), "who was forgotten is loaded");
        let kept = count(&sessions);
        for n in 0..50_000 {
            let nobody = SessionId::new(format!("nobody{n}"));
            assert!(sessions.look(&nobody, |_| ()).is_none() && sessions.pause(&nobody).is_err());
            assert!(matches!(sessions.view(&nobody).await, Err(SendError::Unknown(_))));
            assert!(matches!(sessions.send(&nobody, Input::Text("x".into())).await, Err(SendError::Unknown(_))));
        }
        assert_eq!(count(&sessions), kept);
    });
}

/// A turn as it is seen by one for whom nothing happens.
fn unhappened(mut turn: Turn) -> Turn {
    turn.happened.clear();
    turn
}

#[test]
fn a_view_says_where_a_session_is_and_changes_nothing() {
    let ((stage, began), store) = (busy(), Arc::new(Troubled::default()));
    run_timeless(async {
        let (sessions, id) = (stage.stored(&store), SessionId::from("local"));
        let started = unhappened(sessions.start(Start::default()).await.unwrap());
        assert_eq!(sessions.view(&id).await.unwrap(), started);
        assert_eq!(stage.stored(&store).view(&id).await.unwrap(), started, "another process sees the same");

        // Time that is up is not passed, and a tool that was interrupted is not called.
        let waiting = unhappened(sessions.send(&id, Input::Text("wait".into())).await.unwrap());
        tokio::time::sleep(Duration::from_secs(100)).await;
        assert_eq!(sessions.view(&id).await.unwrap(), waiting);
        sessions.start(named("worker")).await.unwrap();
        let left = tokio::time::timeout(Duration::from_secs(1), sessions.send(&"worker".into(), Input::Text("work".into()))).await;
        assert!(left.is_err() && began.load(Ordering::Relaxed) == 1);
        store.taken();
        let turn = stage.stored(&store).view(&"worker".into()).await.unwrap();
        assert!(
            matches!(&turn.stop, Stop::Running { node, call: Some(call), .. } if node.as_str() == "work" && &*call.name == "work"),
            "{turn:?}"
        );
        assert_eq!((turn.said[0].text.trim(), store.taken(), began.load(Ordering::Relaxed)), ("Working.", vec!["load"], 1));
    });
}

#[test]
fn who_does_not_wait_is_told_what_runs_and_the_driver_goes_on() {
    let ((stage, began), store) = (busy(), Arc::new(MemoryStore::new()));
    run_timeless(async {
        let sessions = stage.sessions().policy(Policy::new().detached(true));
        let sessions = Arc::new(sessions.store(Arc::clone(&store) as Arc<dyn SessionStore>, "graph"));
        sessions.start(named("a")).await.unwrap();
        let turns = Mutex::new(Vec::new());
        let driving = sessions.drive(Drive::Forever, |driven| {
            if let Driven::Turn(id, turn) = driven {
                turns.lock().unwrap().push((id.clone(), matches!(turn.unwrap().stop, Stop::Ended(_))));
            }
        });
        let work = async {
            let turn = sessions.send(&"a".into(), Input::Text("work".into())).await.unwrap();
            assert!(matches!(turn.stop, Stop::Running { .. }), "{turn:?}");
            assert_eq!(turn.said[0].text.trim(), "Working.");
            tokio::time::sleep(Duration::from_secs(120)).await;
        };
        tokio::select! {
            _ = driving => panic!("it goes on for ever"),
            () = work => {}
        }
        assert_eq!((&turns.lock().unwrap()[..], began.load(Ordering::Relaxed)), (&[("a".into(), true)][..], 1));
    });
}

#[test]
fn time_is_up_when_it_is_up_whatever_else_runs() {
    let ((stage, _), store) = (busy(), Arc::new(MemoryStore::new()));
    run_timeless(async {
        let sessions = stage.stored(&store);
        for n in 0..100 {
            sessions.start(named(&format!("busy{n}"))).await.unwrap();
        }
        sessions.start(named("waits")).await.unwrap();
        sessions.send(&"waits".into(), Input::Text("wait".into())).await.unwrap();
        let work = async {
            let names: Vec<_> = (0..100).map(|n| SessionId::new(format!("busy{n}"))).collect();
            let sends = names.into_iter().map(|id| {
                let sessions = Arc::clone(&sessions);
                tokio::spawn(async move { sessions.send(&id, Input::Text("work".into())).await })
            });
            let sends: Vec<_> = sends.collect();
            tokio::time::sleep(Duration::from_secs(10)).await;
            // Each of the busy ones is due in the store, and its sender goes on with it.
            let head = store.load(&["waits".into()]).await.unwrap().remove(0).unwrap().head;
            sends.iter().for_each(|send| assert!(!send.is_finished()));
            head.standing
        };
        tokio::select! {
            _ = sessions.drive(Drive::Forever, |_| {}) => panic!(),
            standing = work => assert_eq!(standing, SessionStatus::Finished),
        }
    });
}

#[test]
fn calls_of_woken_sessions_do_not_hold_up_time_that_is_up() {
    let ((stage, began), store) = (busy(), Arc::new(MemoryStore::new()));
    let waits = SessionId::from("waits");
    run_timeless(async {
        // A process that left a hundred calls behind.
        let left = stage.stored(&store);
        for n in 0..100 {
            let id = SessionId::new(format!("busy{n}"));
            left.start(named(id.as_str())).await.unwrap();
            let sent = tokio::time::timeout(Duration::from_millis(1), left.send(&id, Input::Text("work".into()))).await;
            assert!(sent.is_err());
        }
        left.start(named("waits")).await.unwrap();
        left.send(&"waits".into(), Input::Text("wait".into())).await.unwrap();
        drop(left);
        let calls = began.swap(0, Ordering::Relaxed);
        assert_eq!(calls, 100);
        let sessions = stage.stored(&store);
        let look = async {
            tokio::time::sleep(Duration::from_secs(10)).await;
            assert_eq!(began.load(Ordering::Relaxed), 64, "no more at the same time");
            store.load(std::slice::from_ref(&waits)).await.unwrap().remove(0).unwrap().head.standing
        };
        tokio::select! {
            _ = sessions.drive(Drive::Forever, |_| {}) => panic!(),
            standing = look => assert_eq!(standing, SessionStatus::Finished),
        }
        sessions.drive(Drive::UntilIdle, |_| {}).await.unwrap();
    });
}

#[test]
fn without_a_store_there_is_nothing_to_wake() {
    let sessions = Arc::new(Stage::new(ASK).sessions());
    assert_eq!(run(sessions.drive(Drive::UntilIdle, |_| {})).unwrap_err(), DriveError::NoStore);
}

/// A hook that takes its time.
struct Slow(Arc<AtomicUsize>);

impl Hooks for Slow {
    fn on_start(&self, _: &Moment) {
        std::thread::sleep(Duration::from_millis(100));
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_host_that_stops_waits_until_its_hooks_were_told() {
    let told = Arc::new(AtomicUsize::new(0));
    let sessions = Stage::new(ASK).sessions().hooks(Slow(Arc::clone(&told)));
    run(async {
        sessions.start(Start::default()).await.unwrap();
        assert_eq!(sessions.stop(Duration::ZERO).await.dropped, 0);
        assert_eq!(told.load(Ordering::Relaxed), 1);
    });
}

#[test]
fn a_host_that_stops_lets_turns_end_and_breaks_off_the_rest() {
    for (grace, is_broken_off) in [(120, false), (1, true)] {
        let ((stage, _), store) = (busy(), Arc::new(MemoryStore::new()));
        run(async {
            let sessions = stage.sessions().store(Arc::clone(&store) as Arc<dyn SessionStore>, "graph");
            sessions.start(named("a")).await.unwrap();
            tokio::time::pause();
            let id = SessionId::from("a");
            let (sent, stopped) = tokio::join!(sessions.send(&id, Input::Text("work".into())), async {
                tokio::time::sleep(Duration::from_millis(10)).await;
                sessions.stop(Duration::from_secs(grace)).await
            });
            assert_eq!((stopped.broken_off, stopped.unstored), (usize::from(is_broken_off), 0));
            assert_eq!(sent.is_err(), is_broken_off, "{sent:?}");
            assert_eq!(sessions.send(&"a".into(), Input::Text("x".into())).await.unwrap_err(), SendError::Stopping);
            assert_eq!(sessions.start(named("b")).await.unwrap_err(), SendError::Stopping);
            assert!(sessions.view(&"a".into()).await.is_ok(), "looking is no harm");
        });
        let id = SessionId::from("a");
        let head = run(store.load(std::slice::from_ref(&id))).unwrap().remove(0).unwrap().head;
        assert_eq!(head.standing.has_ended(), !is_broken_off, "{head:?}");
    }
}

//! Waking what is due: by several processes, after a clock that went back, from a store that goes away.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use trellis_core::{Input, Start, ToolError, ToolOutcome, ToolResult, Value};
use trellis_host::{
    Clock, Policy, SendError, Sessions, Stop, Unbound,
    sessions::{Drive, DriveError, Driven},
    store::{MemoryStore, SessionStore, StoreError},
};

use crate::{
    stage::{Stage, run_timeless},
    stored::turn_of,
    troubled::Troubled,
};

/// Sleeps two seconds, then works for three, and counts how often it did.
fn workers() -> (Stage, Arc<AtomicUsize>) {
    let made = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&made);
    let stage = Stage::new(&[
        ("trellis.yaml", "bindings:\n  work: { function: work, effect: none }\n"),
        ("start.md", "---\nwait: 2s\nto: work\n---\n"),
        ("work.md", "---\ndo: work\nto: end\n---\n"),
        ("end.md", "Done.\n"),
    ]);
    let stage = stage.function(move |bindings| {
        let counted = Arc::clone(&counted);
        bindings.function_async("work", move |_, _| {
            counted.fetch_add(1, Ordering::Relaxed);
            async {
                tokio::time::sleep(Duration::from_secs(3)).await;
                Ok(Value::Null)
            }
        })
    });
    (stage, made)
}

/// Begins sessions that sleep, and leaves them there.
async fn begin(sessions: impl Fn() -> Arc<Sessions>, count: usize) {
    for n in 0..count {
        let sessions = sessions();
        let start = Start { session: Some(format!("s{n}").as_str().into()), ..Start::default() };
        assert!(tokio::time::timeout(Duration::from_millis(1), sessions.start(start)).await.is_err(), "it sleeps");
    }
}

/// Wakes what is due until nothing is, and counts the ends that were told.
async fn drive(sessions: Arc<Sessions>) -> usize {
    let mut ends = 0;
    sessions.drive(Drive::UntilIdle, |driven| ends += usize::from(matches!(turn_of(driven).stop, Stop::Ended(_)))).await.unwrap();
    ends
}

/// A client is asked for the next attempt of its call when the pause is over, though nobody resumes the session.
#[test]
fn the_next_attempt_of_a_clients_call_is_asked_for_in_time() {
    let pays = Stage::new(&[
        ("start.md", "---\ntools: [{ name: pay }]\ndo: { name: pay, retry: { max: 2, base: 1h } }\nto: end\n---\n"),
        ("end.md", "Done.\n"),
    ]);
    let stage = pays.policy(Policy::new().unbound(Unbound::Elsewhere).detached(true));
    let store = Arc::new(MemoryStore::new());
    run_timeless(async {
        let sessions = stage.stored(&store);
        let turn = sessions.start(Start { session: Some("s".into()), ..Start::default() }).await.unwrap();
        let Stop::Call { call, .. } = &turn.stop else { panic!("{turn:?}") };
        let failure = ToolResult::new(call.id.clone(), ToolOutcome::Error(ToolError::new("busy")));
        sessions.send(&"s".into(), Input::Result(failure)).await.unwrap();
        for sessions in [sessions, stage.stored(&store)] {
            let mut attempts = Vec::new();
            let told = |driven: Driven<'_>| attempts.extend(attempt(&turn_of(driven).stop));
            sessions.drive(Drive::UntilIdle, told).await.unwrap();
            assert!(attempts.iter().all(|attempt| *attempt == 2) && attempts.len() < 2, "{attempts:?}");
            let turn = sessions.view(&"s".into()).await.unwrap();
            assert_eq!(attempt(&turn.stop), Some(2), "{turn:?}");
        }
    });
}

/// The number of the attempt that a client is asked for.
fn attempt(stop: &Stop) -> Option<u32> {
    if let Stop::Call { call, .. } = stop { Some(call.attempt) } else { None }
}

#[test]
fn each_turn_is_told_once_and_two_processes_do_nothing_twice() {
    let ((stage, made), store) = (workers(), Arc::new(MemoryStore::new()));
    run_timeless(async {
        begin(|| stage.stored(&store), 5).await;
        let (one, other) = tokio::join!(drive(stage.stored(&store)), drive(stage.stored(&store)));
        assert_eq!((one + other, made.load(Ordering::Relaxed)), (5, 5));
    });
}

#[test]
fn a_clock_that_went_back_makes_nobody_wait_longer() {
    const DAYS: u64 = 10 * 24 * 60 * 60 * 1000;
    let (stage, store) = (workers().0, Arc::new(MemoryStore::new()));
    let limited = Stage::new(&[
        ("start.md", "---\ninput_type: text\nsave_to: name\ntimeout: 6s\non_timeout: end\nto: end\n---\nWho?\n"),
        ("end.md", "Bye.\n"),
    ]);
    let other = Arc::new(MemoryStore::new());
    run_timeless(async {
        let later = |stage: &Stage, store| Arc::new(stage.sessions().clock(Clock::fixed(DAYS)).store(store, "graph"));
        begin(|| later(&stage, Arc::clone(&store) as Arc<dyn SessionStore>), 1).await;
        later(&limited, Arc::clone(&other) as Arc<dyn SessionStore>).start(Start::default()).await.unwrap();
        let began = tokio::time::Instant::now();
        assert_eq!(drive(stage.stored(&store)).await, 1);
        assert_eq!(began.elapsed().as_secs(), 5);
        let began = tokio::time::Instant::now();
        assert_eq!(drive(limited.stored(&other)).await, 1);
        assert_eq!(began.elapsed().as_secs(), 6);
    });
}

#[test]
fn a_store_that_goes_away_is_told_once_and_one_that_was_never_there_is_an_error() {
    let (stage, store) = (workers().0, Arc::new(Troubled::default()));
    run_timeless(async {
        begin(|| stage.stored(&store), 1).await;
        let sessions = stage.stored(&store);
        let (mut aways, mut ends) = (0, 0);
        let told = |driven: Driven<'_>| match driven {
            Driven::Away(_) => aways += 1,
            Driven::Turn(_, turn) => ends += usize::from(matches!(turn.unwrap().stop, Stop::Ended(_))),
        };
        let driving = sessions.drive(Drive::Forever, told);
        let weather = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            store.is_away.store(true, Ordering::Relaxed);
            tokio::time::sleep(Duration::from_secs(20)).await;
            store.is_away.store(false, Ordering::Relaxed);
            tokio::time::sleep(Duration::from_secs(20)).await;
        };
        tokio::select! {
            ended = driving => panic!("{ended:?}"),
            () = weather => {}
        }
        assert_eq!((aways, ends), (1, 1));

        store.is_away.store(true, Ordering::Relaxed);
        let driven = stage.stored(&store).drive(Drive::Forever, |driven| panic!("{driven:?}")).await;
        assert!(matches!(driven, Err(DriveError::Store(StoreError::Unavailable { .. }))), "{driven:?}");
        let resumed = stage.stored(&store).resume(&"s0".into()).await;
        assert!(matches!(resumed, Err(SendError::Store(StoreError::Unavailable { .. }))), "{resumed:?}");
    });
}

/// language 9.3, `docs/serve.md#problems`: a full disk keeps nobody waiting for ever; the call is made again under its key when there is room, later
/// and later.
#[test]
fn a_session_that_a_full_store_refused_goes_on_when_there_is_room() {
    let ((stage, made), store) = (workers(), Arc::new(Troubled::default()));
    run_timeless(async {
        begin(|| stage.stored(&store), 1).await;
        let sessions = stage.stored(&store);
        let (mut refused, mut ends) = (0, 0);
        let told = |driven: Driven<'_>| match driven {
            Driven::Turn(_, Err(SendError::Store(StoreError::Unwritable { .. }))) => refused += 1,
            Driven::Turn(_, turn) => ends += usize::from(matches!(turn.unwrap().stop, Stop::Ended(_))),
            away => panic!("{away:?}"),
        };
        let driving = sessions.drive(Drive::Forever, told);
        let weather = async {
            tokio::time::sleep(Duration::from_secs(4)).await;
            store.is_full.store(true, Ordering::Relaxed);
            tokio::time::sleep(Duration::from_secs(60)).await;
            assert_eq!(made.load(Ordering::Relaxed), 4, "after 5, 10 and 20 seconds");
            store.is_full.store(false, Ordering::Relaxed);
            tokio::time::sleep(Duration::from_secs(60)).await;
        };
        tokio::select! {
            ended = driving => panic!("{ended:?}"),
            () = weather => {}
        }
        assert_eq!((refused, ends), (4, 1));
        // What ends by itself does not wait for room.
        let start = Start { session: Some("another".into()), ..Start::default() };
        assert!(tokio::time::timeout(Duration::from_millis(1), stage.stored(&store).start(start)).await.is_err(), "it sleeps");
        store.troubles.lock().unwrap().push(crate::troubled::Trouble::Full);
        let mut refused = 0;
        let told = |driven: Driven<'_>| refused += usize::from(matches!(driven, Driven::Turn(_, Err(_))));
        stage.stored(&store).drive(Drive::UntilIdle, told).await.unwrap();
        assert_eq!(refused, 1);
    });
}

/// language 9.3: a process that comes upon the running call of another one leaves it alone for a while, and makes it when nobody did.
#[test]
fn what_another_process_works_on_is_not_done_a_second_time() {
    let ((stage, made), store) = (workers(), Arc::new(MemoryStore::default()));
    let begins = |id: &str| Start { session: Some(id.into()), at: Some("work".into()), ..Start::default() };
    run_timeless(async {
        let detached = Policy::new().detached(true);
        let idle = Arc::new(stage.sessions().policy(detached).store(Arc::clone(&store) as Arc<dyn SessionStore>, "graph"));
        let busy = stage.stored(&store);
        let driving = idle.drive(Drive::Forever, |_| {});
        let others = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            busy.start(begins("a")).await.unwrap();
            tokio::time::sleep(Duration::from_secs(60)).await;
            assert_eq!(made.load(Ordering::Relaxed), 1);
            // One that dies in the middle leaves it to whoever is there.
            assert!(tokio::time::timeout(Duration::from_secs(1), busy.start(begins("b"))).await.is_err(), "it works");
            tokio::time::sleep(Duration::from_secs(20)).await;
            assert_eq!(made.load(Ordering::Relaxed), 2);
            tokio::time::sleep(Duration::from_secs(30)).await;
            assert_eq!(made.load(Ordering::Relaxed), 3);
            // Whoever resumes it does not wait for that.
            assert!(tokio::time::timeout(Duration::from_secs(1), busy.start(begins("c"))).await.is_err(), "it works");
            let resumed = idle.resume(&"c".into()).await.unwrap();
            assert!(matches!(resumed.stop, Stop::Running { .. }), "{resumed:?}");
            tokio::time::sleep(Duration::from_secs(10)).await;
            assert_eq!(made.load(Ordering::Relaxed), 5);
        };
        tokio::select! {
            ended = driving => panic!("{ended:?}"),
            () = others => {}
        }
    });
}

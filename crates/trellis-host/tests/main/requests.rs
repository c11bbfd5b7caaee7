//! Requests with names, and pauses: what a server needs of its host.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use trellis_core::{Input, SessionId, Start, Value};
use trellis_host::{
    Policy, SendError, SessionEvent, Stop,
    journal::RequestKey,
    sessions::Drive,
    store::{MemoryStore, SessionStore, read},
};

use crate::stage::{Stage, run, run_timeless};

const SUM: &[(&str, &str)] = &[
    ("start.md", "---\ninput_type: int\nsave_to: n\nto: more\n---\nHow many?\n"),
    ("more.md", "---\ninput_type: int\nsave_to: m\nto: end\n---\nHow many more?\n"),
    ("end.md", "---\noutput: \"{{ n + m }}\"\n---\n"),
];

fn request(key: &str, digest: &str) -> RequestKey {
    RequestKey::by("ana").with_key(key, Some(digest.into()))
}

/// A request that comes again is told so, also by another process; under its name another one is refused; what was refused is judged anew.
#[test]
fn a_named_request_is_taken_once() {
    run(async {
        let (stage, store, id) = (Stage::new(SUM), Arc::new(MemoryStore::new()), SessionId::from("s"));
        let sessions = stage.stored(&store);
        let start = || Start { session: Some("s".into()), ..Start::default() };
        sessions.start_by(start(), request("begin", "0")).await.unwrap();
        assert!(matches!(sessions.start_by(start(), request("begin", "0")).await, Err(SendError::Repeated(turn)) if turn.seq == 1));
        assert!(matches!(sessions.start_by(start(), request("begin", "1")).await, Err(SendError::KeyReused(_))));
        assert!(matches!(sessions.start_by(start(), request("other", "0")).await, Err(SendError::Exists(_))));
        let text = |text: &str| Input::Text(text.into());
        assert!(matches!(sessions.send_by(&id, text("two"), request("one", "a")).await, Err(SendError::Refused(_))));
        let turn = sessions.send_by(&id, text("2"), request("one", "b")).await.unwrap();
        assert_eq!((&*turn.said[0].text, turn.said[0].node.as_str(), turn.node.as_str()), ("How many more?\n", "more", "more"));
        for sessions in [sessions, stage.stored(&store)] {
            let again = sessions.send_by(&id, text("2"), request("one", "b")).await;
            assert!(matches!(again, Err(SendError::Repeated(now)) if now.seq == turn.seq && now.stop == turn.stop));
            assert!(matches!(sessions.send_by(&id, text("2"), request("one", "c")).await, Err(SendError::KeyReused(_))));
        }
        let rows = store.records(&id, 0, 10).await.unwrap();
        let by = rows.iter().map(|row| read("s", row).unwrap().request.and_then(|request| request.key)).collect::<Vec<_>>();
        assert_eq!(by, [Some("begin".into()), Some("one".into())]);
    });
}

/// Observers hear of records when these are stored, and before the lines that tell of them.
#[test]
fn observers_are_told_of_stored_records() {
    run(async {
        let (stage, store) = (Stage::new(SUM), Arc::new(MemoryStore::new()));
        let sessions = stage.stored(&store);
        let seen = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&seen);
        sessions.observe(move |_, event| {
            heard.lock().unwrap().push(match event {
                SessionEvent::Recorded(records) => format!("{:?}", records.iter().map(|record| record.seq).collect::<Vec<_>>()),
                SessionEvent::Said(text) => text.trim().to_owned(),
                other => format!("{other:?}"),
            });
        });
        let asked = sessions.start(Start::default()).await.unwrap();
        assert_eq!(asked.happened.len(), 1, "what was said: {:?}", asked.happened);
        sessions.send(&asked.session, asked.answer(Input::Text("1".into()))).await.unwrap();
        assert_eq!(*seen.lock().unwrap(), ["[0]", "How many?", "[1]", "How many more?"]);
    });
}

/// A session that is paused is left alone, however due it is, and its call stays pending under its key until it is resumed.
#[test]
fn a_pause_holds_until_the_session_is_resumed() {
    run_timeless(async {
        let files = &[
            ("start.md", "---\ntools: [{name: slow}]\ndo: slow\nsave_to: n\non_error: fail\nto: end\n---\n"),
            ("end.md", "---\noutput: \"{{ n }}\"\n---\n"),
        ];
        let calls = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&calls);
        let stage = Stage::new(files).policy(Policy::new().detached(true)).function(move |bindings| {
            let calls = Arc::clone(&counted);
            bindings.function_async("slow", move |_, _| {
                let call = calls.fetch_add(1, Ordering::Relaxed);
                async move {
                    if call == 0 {
                        std::future::pending::<()>().await;
                    }
                    Ok(Value::Int(7))
                }
            })
        });
        let sessions = stage.stored(&Arc::new(MemoryStore::new()));
        let (turns, mut heard) = tokio::sync::mpsc::unbounded_channel();
        let driven = Arc::clone(&sessions);
        let driver = tokio::spawn(async move {
            let told = |driven: trellis_host::sessions::Driven<'_>| {
                if let trellis_host::sessions::Driven::Turn(_, turn) = driven {
                    turns.send(turn).unwrap();
                }
            };
            driven.drive(Drive::Forever, told).await
        });
        let turn = sessions.start(Start::default()).await.unwrap();
        assert!(matches!(turn.stop, Stop::Running { .. }));
        while calls.load(Ordering::Relaxed) == 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        sessions.pause(&turn.session).unwrap();
        assert!(matches!(heard.recv().await, Some(Err(SendError::Stopped))));
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert!(heard.try_recv().is_err() && sessions.is_paused(&turn.session) && calls.load(Ordering::Relaxed) == 1);
        sessions.resume(&turn.session).await.unwrap();
        let ended = heard.recv().await.unwrap().unwrap();
        assert!(matches!(ended.stop, Stop::Ended(_)) && !sessions.is_paused(&turn.session), "{ended:?}");
        assert_eq!(calls.load(Ordering::Relaxed), 2);
        sessions.stop(Duration::ZERO).await;
        driver.await.unwrap().unwrap();
    });
}

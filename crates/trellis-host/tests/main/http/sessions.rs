//! Calls over HTTP as calls of a session: a stop drops the connection, and a host that died makes the call again (language 9.6).

use std::{
    io::{Read, Write},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use trellis_core::{SessionId, Start, Value};
use trellis_host::{Stop, store::MemoryStore};

use super::servers::{RawServer, response};
use crate::stage::{Stage, run};

const END: (&str, &str) = ("end.md", "---\noutput: \"{{ r | default('stopped') }}\"\n---\n");

fn stage(url: &str) -> Stage {
    let project = format!("bindings:\n  t:\n    http: {{ post: \"{url}/a\" }}\n");
    Stage::new(&[
        ("trellis.yaml", &project),
        ("start.md", "---\ndo: t\nsave_to: r\non_signal: {stop: end}\non_error: fail\nto: end\n---\n"),
        END,
    ])
}

fn id() -> SessionId {
    "local".into()
}

fn start() -> Start {
    Start { session: Some(id()), ..Start::default() }
}

#[test]
fn a_stop_drops_the_connection() {
    let (asked, dropped) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (noted, gone) = (Arc::clone(&asked), Arc::clone(&dropped));
    let server = RawServer::with(move |_, stream| {
        noted.store(true, Ordering::SeqCst);
        // Half an answer, then until the other side has gone.
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 9\r\n\r\nhalf")?;
        while stream.read(&mut [0; 64])? > 0 {}
        gone.store(true, Ordering::SeqCst);
        Ok(())
    });
    let stage = stage(&server.url);
    let until = async |flag: &AtomicBool| {
        for _ in 0..12_000 {
            if flag.load(Ordering::SeqCst) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("it never happens");
    };
    run(async {
        let sessions = Arc::new(stage.sessions());
        let running = Arc::clone(&sessions);
        let going = async move { running.start(start()).await.unwrap() };
        let signal = async {
            until(&asked).await;
            sessions.signal(&id(), &"stop".into()).await.unwrap();
        };
        let (turn, ()) = tokio::join!(going, signal);
        assert!(matches!(&turn.stop, Stop::Ended(ended) if ended.output == Some(Value::text("stopped"))), "{turn:?}");
        until(&dropped).await;
    });
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn a_call_that_was_pending_when_its_host_died_is_made_again_under_its_key() {
    let server = RawServer::with(|number, stream| {
        if number == 0 {
            // It is never answered.
            while stream.read(&mut [0; 64])? > 0 {}
            return Ok(());
        }
        stream.write_all(response("200 OK", "content-type: text/plain", "paid").as_bytes())
    });
    let stage = stage(&server.url);
    let store = Arc::new(MemoryStore::new());
    run(async {
        let sessions = stage.stored(&store);
        let dies = tokio::time::timeout(Duration::from_secs(120), async {
            tokio::select! {
                turn = sessions.start(start()) => panic!("{turn:?}"),
                () = async { while server.requests().is_empty() { tokio::time::sleep(Duration::from_millis(5)).await } } => {}
            }
        });
        dies.await.unwrap();
        drop(sessions);
        let turn = stage.stored(&store).resume(&id()).await.unwrap();
        assert!(matches!(&turn.stop, Stop::Ended(ended) if ended.output == Some(Value::text("paid"))), "{turn:?}");
    });
    let keys: Vec<String> = server
        .requests()
        .iter()
        .map(|request| request.lines().find(|line| line.to_lowercase().starts_with("idempotency-key")).unwrap().to_owned())
        .collect();
    assert!(keys.len() == 2 && keys[0] == keys[1], "{keys:?}");
}

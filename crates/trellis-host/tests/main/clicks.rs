//! Double clicks while a tool runs: the second is refused at once, however long that takes.

use std::{
    sync::{Arc, Mutex, mpsc},
    time::Duration,
};

use trellis_core::{Input, SessionId, Start, Value};
use trellis_host::{
    Policy, Reply, SendError, Sessions, Stop,
    journal::RequestKey,
    sessions::{Drive, Driven},
    store::MemoryStore,
};

use crate::stage::{Stage, run};

const SHOP: &[(&str, &str)] = &[
    ("trellis.yaml", "bindings: { charge: { function: charge } }\n"),
    ("start.md", "---\ninput_type: confirm\nto: charge\n---\nBuy it?\n"),
    ("charge.md", "---\ndo: { name: charge, approve: true }\nto: more\n---\n"),
    ("more.md", "---\ninput_type: confirm\nto: end\n---\nMore?\n"),
    ("end.md", "---\n---\nBye.\n"),
];
/// Only a hang takes longer.
const PATIENCE: Duration = Duration::from_secs(120);

fn id() -> SessionId {
    SessionId::from("local")
}

fn yes() -> Input {
    Input::Text("yes".into())
}

fn click() -> RequestKey {
    RequestKey::by("web").with_key("buy", None)
}

/// A charge that runs until it is released, and waits for its beginning.
fn charging() -> (Stage, tokio::sync::mpsc::UnboundedReceiver<()>, mpsc::Sender<()>) {
    let (began, begins) = tokio::sync::mpsc::unbounded_channel();
    let (release, released) = mpsc::channel::<()>();
    let released = Arc::new(Mutex::new(released));
    let stage = Stage::new(SHOP).function(move |bindings| {
        let (began, released) = (began.clone(), Arc::clone(&released));
        bindings.function("charge", move |_, _| {
            began.send(()).unwrap();
            released.lock().unwrap().recv().unwrap();
            Ok(Value::Null)
        })
    });
    (stage, begins, release)
}

async fn at_once<T>(answer: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, answer).await.expect("it waits for the tool")
}

/// Clicks twice on everything while the charge runs, and returns what the second clicks got.
async fn click_again(sessions: &Sessions, asked: &trellis_host::Turn, approve: &Reply) {
    let stale = at_once(sessions.send(&id(), asked.answer(yes()))).await;
    assert!(matches!(&stale, Err(SendError::Stale(now)) if now.stop.is_running()), "{stale:?}");
    let unasked = at_once(sessions.send(&id(), yes())).await;
    assert!(matches!(unasked, Err(SendError::NotAwaited { .. })), "{unasked:?}");
    let approved = at_once(sessions.send(&id(), approve.clone())).await;
    assert!(matches!(approved, Err(SendError::NotAwaited { .. })), "{approved:?}");
    let repeated = at_once(sessions.send_by(&id(), asked.answer(yes()), click())).await;
    assert!(matches!(repeated, Err(SendError::Repeated(_))), "{repeated:?}");
}

#[test]
fn a_double_click_does_not_wait_for_the_tool() {
    let (stage, mut begins, release) = charging();
    run(async {
        let sessions = stage.stored(&Arc::new(MemoryStore::new()));
        let asked = sessions.start(Start::default()).await.unwrap();
        let held = sessions.send_by(&id(), asked.answer(yes()), click()).await.unwrap();
        let approve = Reply::Approve { call: Some(held.stop.held().unwrap().id.clone()), yes: true };
        let first = tokio::spawn({
            let (sessions, approve) = (Arc::clone(&sessions), approve.clone());
            async move { sessions.send(&id(), approve).await }
        });
        begins.recv().await.unwrap();
        click_again(&sessions, &asked, &approve).await;
        release.send(()).unwrap();
        assert!(matches!(first.await.unwrap().unwrap().stop, Stop::Ask { .. }));
    });
}

#[test]
fn a_double_click_does_not_wait_for_the_tool_that_a_driver_runs() {
    let (stage, mut begins, release) = charging();
    run(async {
        let sessions = stage.policy(Policy::new().detached(true)).stored(&Arc::new(MemoryStore::new()));
        let (told, mut tells) = tokio::sync::mpsc::unbounded_channel();
        let driver = tokio::spawn({
            let sessions = Arc::clone(&sessions);
            async move {
                let tell = |driven: Driven<'_>| {
                    if let Driven::Turn(_, turn) = driven {
                        told.send(turn).unwrap();
                    }
                };
                sessions.drive(Drive::Forever, tell).await
            }
        });
        let asked = sessions.start(Start::default()).await.unwrap();
        let held = sessions.send_by(&id(), asked.answer(yes()), click()).await.unwrap();
        let approve = Reply::Approve { call: Some(held.stop.held().unwrap().id.clone()), yes: true };
        assert!(sessions.send(&id(), approve.clone()).await.unwrap().stop.is_running());
        begins.recv().await.unwrap();
        click_again(&sessions, &asked, &approve).await;
        assert!(at_once(sessions.resume(&id())).await.unwrap().stop.is_running());
        release.send(()).unwrap();
        assert!(matches!(tells.recv().await.unwrap().unwrap().stop, Stop::Ask { .. }));
        driver.abort();
    });
}

//! Sessions that began in earlier versions of the program go on as they began.

use std::sync::Arc;

use trellis_core::{Input, Start, ToolError, ToolOutcome, ToolResult, Value, engine::Answers, state::PendingCall};
use trellis_host::{
    Session, Sessions, Stop, Turn,
    history::replay,
    session::Halt,
    store::{Append, Head, MemoryStore, SessionStatus, SessionStore},
};

use crate::{
    history::{STAY, clock, copied, history, id, say, stage},
    stage::{Stage, run},
};

/// Begins session `s` as before keys knew their graph or a number of their start, up to its call, and stores it.
async fn begin_earlier(stage: &Stage, store: &MemoryStore) -> Arc<PendingCall> {
    let start = Start { session: Some(id("s")), ..Start::default() };
    let mut session = Session::start(stage.engine().of_graph(None), start, Answers::new(), clock()).unwrap();
    let called = loop {
        match session.advance().unwrap() {
            Halt::Ask(_) => session.send(say(3_i64)).unwrap(),
            Halt::Call(call) => break call,
            _ => {}
        }
    };
    let (here, records) = (session.here().clone(), session.take_records());
    let head = Head {
        session: id("s"),
        graph: "graph".into(),
        program: Arc::clone(&here.state.program),
        next: records.len() as u64,
        began: here.began,
        at: here.at,
        node: here.state.current_node_id.clone(),
        standing: SessionStatus::WaitingForTool,
        due: None,
    };
    let records = records.iter().map(|record| serde_json::to_string(record).unwrap().into()).collect();
    store.append(Append { session: id("s"), expected: 0, records, head, snapshot: None }).await.unwrap();
    called
}

fn pending(turn: &Turn) -> Arc<PendingCall> {
    match &turn.stop {
        Stop::Call { call, .. } => Arc::clone(call),
        stop => panic!("{stop:?}"),
    }
}

fn settled(call: &PendingCall, outcome: ToolOutcome) -> Input {
    Input::Result(ToolResult::new(call.id.clone(), outcome))
}

/// Begins session `s`, up to its call.
async fn booking(sessions: &Sessions) -> Arc<PendingCall> {
    sessions.start(Start { session: Some(id("s")), ..Start::default() }).await.unwrap();
    pending(&sessions.send(&id("s"), say(3_i64)).await.unwrap())
}

// 7.8
#[test]
fn a_session_from_before_keys_knew_their_graph_keeps_its_keys_and_replays() {
    let (stage, store) = (stage(&STAY), Arc::new(MemoryStore::new()));
    run(async {
        let called = begin_earlier(&stage, &store).await;
        assert_eq!(called.idempotency_key.as_str(), "f5964b73b133dc82fbce810588a2a6aa");
        for row in store.records(&id("s"), 0, 10).await.unwrap() {
            let text = row.text.unwrap();
            assert!(!text.contains("\"graph\"") && !text.contains("\"seed\""), "no record names the graph or a number");
        }
        // One that begins now has other keys.
        let now = booking(&stage.stored(&Arc::new(MemoryStore::new()))).await;
        assert_ne!(now.idempotency_key, called.idempotency_key);

        // The program of today goes on with it: the same call, under the same key, also when it is tried again.
        let sessions = stage.stored(&store);
        let again = pending(&sessions.resume(&id("s")).await.unwrap());
        assert_eq!((&again.id, &again.idempotency_key), (&called.id, &called.idempotency_key));
        let turn = sessions.send(&id("s"), settled(&again, ToolOutcome::Error(ToolError::new("busy")))).await.unwrap();
        let second = pending(&turn);
        assert_eq!((second.attempt, &second.idempotency_key), (2, &called.idempotency_key));
        let room = ToolOutcome::Success(Value::map([("id", Value::Int(7))]));
        sessions.send(&id("s"), settled(&second, room)).await.unwrap();

        // Its undo has the key that it would have had then.
        let undo = pending(&sessions.send(&id("s"), say("no")).await.unwrap());
        assert_eq!((&*undo.name, undo.idempotency_key.as_str()), ("cancel", "e78e21d2c901ac552580de4a700e7bd0"));
        let done = sessions.send(&id("s"), settled(&undo, ToolOutcome::Success(Value::Null))).await.unwrap();
        assert!(matches!(done.stop, Stop::Ended(_)), "{done:?}");
        let history = history(&store, "s").await;
        let replayed = replay(&stage.engine(), &history).unwrap();
        assert_eq!((replayed.records, replayed.left_out, replayed.unchecked.len()), (history.records.len() as u64, 0, 0));
    });
}

// 7.9
#[test]
fn a_session_from_before_an_end_named_its_cause_replays() {
    let files = [
        ("start.md", "---\ntools: [{name: pay}]\ndo: pay\non_error: sorry\non_denied: fail\nto: end\n---\n"),
        ("sorry.md", "---\nend: failed\n---\nSorry.\n"),
        ("end.md", "---\n---\n"),
    ];
    let stage = stage(&files);
    run(async {
        for (outcome, now, then) in [
            (ToolOutcome::Error(ToolError::new("no money")), ", since `pay` failed: no money", ""),
            (ToolOutcome::Denied(None), ", since `pay` was denied", ", since `pay` failed: denied"),
        ] {
            let store = Arc::new(MemoryStore::new());
            let sessions = stage.stored(&store);
            let call = pending(&sessions.start(Start { session: Some(id("s")), ..Start::default() }).await.unwrap());
            sessions.send(&id("s"), settled(&call, outcome)).await.unwrap();
            let earlier = copied(&store, |_, text| text.replace("\"after_error\":true,", "").replace(now, then).into()).await;
            let recorded = history(&earlier, "s").await;
            let replayed = replay(&stage.engine(), &recorded).unwrap();
            assert_eq!((replayed.records, replayed.left_out), (recorded.records.len() as u64, 0));
            let message = replayed.state.unwrap().ended.unwrap().message.clone().unwrap();
            assert!(message.ends_with(then) && !message.contains(now), "{message}");
            // Another end is still another one.
            let other = copied(&store, |_, text| text.replace("` ", "` once ").into()).await;
            replay(&stage.engine(), &history(&other, "s").await).unwrap_err();
        }
    });
}

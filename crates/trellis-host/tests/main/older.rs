//! Sessions that began in earlier versions of the program go on as they began.

use std::sync::Arc;

use trellis_core::{Input, Start, ToolError, ToolOutcome, ToolResult, Value, state::PendingCall};
use trellis_host::{
    Policy, Sessions, Stop, Turn, Unbound,
    history::replay,
    store::{MemoryStore, SessionStore},
};

use crate::{
    history::{STAY, clock, history, id, say, stage},
    stage::{Stage, run},
};

/// Sessions as they were before keys of calls knew their graph.
fn earlier(stage: &Stage, store: &Arc<MemoryStore>) -> Sessions {
    let sessions = Sessions::new(stage.engine().of_graph(None), stage.bindings()).unwrap();
    let sessions = sessions.policy(Policy::new().unbound(Unbound::Elsewhere)).clock(clock());
    sessions.store(Arc::clone(store) as Arc<dyn SessionStore>, "graph")
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
        let called = booking(&earlier(&stage, &store)).await;
        assert_eq!(called.idempotency_key.as_str(), "f5964b73b133dc82fbce810588a2a6aa");
        for row in store.records(&id("s"), 0, 10).await.unwrap() {
            assert!(!row.text.unwrap().contains("\"graph\""), "no record names the graph");
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

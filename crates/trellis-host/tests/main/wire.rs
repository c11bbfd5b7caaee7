//! Turns and events on the wire: of every stop, and as JSON Lines have them.

use std::sync::{Arc, Mutex};

use trellis_core::{Input, Start};
use trellis_host::{Policy, Stop, Turn, store::MemoryStore, wire};
use trellis_tests::wire::schema;

use crate::stage::{Stage, run_timeless};

/// The turn as a client reads it.
fn shown(turn: &Turn) -> wire::Turn {
    let turn = wire::Turn::from(turn);
    let written = serde_json::to_value(&turn).unwrap();
    schema().check_at("/$defs/turn", &written).unwrap_or_else(|why| panic!("{written}: {why}"));
    let read: wire::Turn = serde_json::from_value(written).unwrap();
    assert_eq!(read, turn);
    turn
}

const SLOW: &[(&str, &str)] = &[
    ("trellis.yaml", "bindings: {slow: {process: [sleep, '60']}}\n"),
    (
        "start.md",
        "---\ninput_type: choice\noptions: [work, sleep, end]\ntimeout: 1h\non_timeout: end\ntransitions: [{condition: sys.ans == \"work\", to: work}, {condition: sys.ans == \"sleep\", to: sleep}]\nto: end\n---\nWhat now?\n",
    ),
    ("work.md", "---\ndo: slow\non_error: end\nto: end\n---\n"),
    ("sleep.md", "---\nwait: 1h\nto: end\n---\n"),
    ("end.md", "---\noutput: 1\n---\nOver.\n"),
];

#[tokio::test]
async fn a_turn_says_what_is_asked_and_what_goes_on_by_itself() {
    let store = Arc::new(MemoryStore::new());
    let sessions = Stage::new(SLOW).policy(Policy::new().detached(true)).stored(&store);
    for (answer, kind) in [("work", "RUNNING"), ("sleep", "SLEEPING"), ("end", "END")] {
        let asked = sessions.start(Start { session: Some(answer.into()), ..Start::default() }).await.unwrap();
        let wire::Stop::RequestInput(question) = shown(&asked).stop else { panic!("{asked:?}") };
        assert_eq!((question.seq, question.options.len(), shown(&asked).due.is_some()), (asked.asked, 3, true));
        let reply = wire::Reply::parse(&format!(r#"{{"input":"{answer}","seq":{}}}"#, asked.asked)).unwrap();
        let turn = shown(&sessions.send(&asked.session, reply).await.unwrap());
        let written = serde_json::to_value(&turn).unwrap();
        assert_eq!(written["stop"]["type"], kind, "{written}");
        let waits = schema().check_at("/$defs/waiting", &written["stop"]).is_ok();
        assert_eq!(waits, kind != "END");
    }
}

#[test]
fn events_are_the_lines_of_json_lines() {
    let graph = [
        ("start.md", "---\ntools: [{name: pay}]\ndo: pay\non_error: ask\nto: ask\n---\nPaying.\n"),
        ("ask.md", "---\ninput_type: int\nto: end\n---\nHow many?\n"),
        ("end.md", "Over.\n"),
    ];
    let stage = Stage::new(&graph).function(|bindings| bindings.function("pay", |_, _| Ok(7.into())));
    let sessions = stage.sessions().predictable_keys();
    let seen = Arc::new(Mutex::new(Vec::new()));
    sessions.observe({
        let seen = Arc::clone(&seen);
        move |_, event| seen.lock().unwrap().extend(wire::SessionEvent::of(event))
    });
    run_timeless(async {
        let asked = sessions.start(Start::default()).await.unwrap();
        let ended = sessions.send(&asked.session, Input::Text("7".into())).await.unwrap();
        assert!(matches!(ended.stop, Stop::Ended(_)));
    });
    let (_, lines) = stage.json("{\"input\":\"7\"}\n");
    let lines: Vec<_> = lines.into_iter().filter(|line| !line.contains("REQUEST_INPUT") && !line.contains("\"END\"")).collect();
    let seen: Vec<_> = seen.lock().unwrap().iter().map(|event| serde_json::to_string(event).unwrap()).collect();
    assert_eq!(seen, lines);
}

//! Two runs on one session: the one that comes second goes on with what it finds.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream};
use trellis_core::{Input, SessionId, Start, Value};
use trellis_host::{
    JsonLines, Runner, TextConsole,
    store::{MemoryStore, SessionStore},
};

use crate::stage::{Stage, run, run_timeless};

const TWO_QUESTIONS: &[(&str, &str)] = &[
    ("start.md", "---\ninput_type: int\nsave_to: apples\nto: pears\n---\nHow many apples?\n"),
    ("pears.md", "---\ninput_type: int\nsave_to: pears\nto: end\n---\nHow many pears?\n"),
    ("end.md", "---\noutput: \"{{ apples }} {{ pears }}\"\n---\nThank you.\n"),
];

/// Reads until `wanted` was printed `times` times.
async fn read_until(output: &mut DuplexStream, wanted: &str, times: usize) -> String {
    let mut text = String::new();
    while text.matches(wanted).count() < times {
        let mut chunk = [0; 256];
        let length = output.read(&mut chunk).await.unwrap();
        assert!(length > 0, "it ended: {text}");
        text.push_str(std::str::from_utf8(&chunk[..length]).unwrap());
    }
    text
}

/// Answers the first question in a run after somebody else did; what was printed, and what the session came to.
fn answered_second(is_json: bool) -> (String, String) {
    let (stage, store) = (Stage::new(TWO_QUESTIONS), Arc::new(MemoryStore::new()));
    let id = SessionId::from("ana");
    let line = |n: u8| if is_json { format!("{{\"input\":\"{n}\"}}\n") } else { format!("{n}\n") };
    run(async {
        let (mut input, reader) = tokio::io::duplex(4096);
        let (writer, mut output) = tokio::io::duplex(4096);
        let sessions = stage.sessions().store(Arc::clone(&store) as Arc<dyn SessionStore>, "graph");
        let start = Start { session: Some(id.clone()), ..Start::default() };
        let walk = async {
            let reader = BufReader::new(reader);
            if is_json {
                Runner::new(JsonLines::new(reader, writer, 4096), sessions).run(start).await
            } else {
                Runner::new(TextConsole::new(reader, writer, 4096, 4096).echo(true), sessions).run(start).await
            }
        };
        let others = async {
            let mut seen = read_until(&mut output, "apples?", 1).await;
            stage.stored(&store).send(&id, Input::Text("3".into())).await.unwrap();
            input.write_all(line(4).as_bytes()).await.unwrap();
            seen += &read_until(&mut output, "pears?", 1).await;
            input.write_all(line(5).as_bytes()).await.unwrap();
            seen += &read_until(&mut output, "Thank you.", 1).await;
            seen
        };
        let (outcome, seen) = tokio::join!(walk, others);
        (seen, outcome.unwrap().output.unwrap().to_json())
    })
}

#[test]
fn the_second_is_told_and_asked_what_is_asked_now() {
    for is_json in [false, true] {
        let (seen, output) = answered_second(is_json);
        assert_eq!(output, "\"3 5\"", "{seen}");
        assert!(seen.contains("the session has advanced since"), "{seen}");
    }
}

#[test]
fn what_a_run_begins_another_may_end() {
    let stage = Stage::new(&[
        ("trellis.yaml", "bindings: {count: {function: count}}\n"),
        ("start.md", "---\ndo: count\nsave_to: n\nto: ask\n---\nCounting.\n"),
        ("ask.md", "---\ninput_type: text\nsave_to: name\nto: end\n---\nCounted {{ n }}. Who?\n"),
        ("end.md", "---\noutput: \"{{ name }} {{ n }}\"\n---\n"),
    ]);
    let (store, calls) = (Arc::new(MemoryStore::new()), Arc::new(AtomicU64::new(0)));
    // The first call takes longer than all that the other run does.
    let stage = stage.function(move |bindings| {
        let calls = Arc::clone(&calls);
        bindings.function_async("count", move |_, _| {
            let number = calls.fetch_add(1, Ordering::Relaxed);
            async move {
                tokio::time::sleep(Duration::from_secs(if number == 0 { 60 } else { 1 })).await;
                Ok(Value::from(number))
            }
        })
    });
    let id = SessionId::from("ana");
    let start = Start { session: Some(id.clone()), ..Start::default() };
    let mut output = Vec::new();
    let outcome = run_timeless(async {
        let sessions = stage.sessions().store(Arc::clone(&store) as Arc<dyn SessionStore>, "graph");
        let walk = Runner::new(JsonLines::new(&b"{\"input\":\"Ana\"}\n"[..], &mut output, 4096), sessions).run(start);
        let other = async {
            tokio::time::sleep(Duration::from_secs(10)).await;
            stage.stored(&store).resume(&id).await.unwrap();
        };
        tokio::join!(walk, other).0
    });
    let lines = String::from_utf8(output).unwrap();
    assert_eq!(outcome.unwrap().output.unwrap().to_json(), "\"Ana 1\"", "{lines}");
}

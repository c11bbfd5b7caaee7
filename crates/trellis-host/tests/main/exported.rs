//! Sessions written as transcripts: what comes out runs in the harness of the suite as it stands.

use std::sync::Arc;

use trellis_core::{Input, Start};
use trellis_host::{
    history::{Operator, transcript},
    store::MemoryStore,
};
use trellis_tests::harness::{Findings, Mode, run_file};

use crate::{
    history::{ANEW, STAY, clock, edited, ended, history, id, say, stage},
    stage::run,
};

/// Runs a sheet through the harness of the suite.
fn assert_green(sheet: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("exported.md");
    std::fs::write(&path, sheet).unwrap();
    // The harness has a runtime of its own.
    let run = move || {
        let mut findings = Findings::default();
        run_file(&path, Mode::Suite, &mut findings);
        findings
    };
    std::thread::spawn(run).join().unwrap().assert_none();
}

#[test]
fn an_exported_session_is_a_green_case_of_the_suite() {
    let (stage, store) = (stage(&STAY), Arc::new(MemoryStore::new()));
    run(async {
        ended(&stage, &store).await;
        let engine = stage.engine();
        let exported = transcript(&engine, &history(&store, "s").await, None).unwrap();
        assert_eq!((exported.since, exported.otherwise.len()), (0, 0));
        let expected = "$ session s\n| How many days?\n? int\n>= 3\n| Looking.\n! book {\"days\":3}\n<! busy\n! book {\"days\":3} (attempt 2, delay 1ms)\n< {\"id\":7}\n| Keep room 7 for 3 days?\n? confirm\n>= \"yes\"\n| See you.\n* end finished 7\n";
        assert_eq!(exported.text, expected);
        let documents = stage.program.documents();
        assert_green(&exported.sheet("Session s", documents, &[]));

        // A move cannot be handed in: the transcript begins with the state that it led to.
        Operator::new(&*store, &engine, "graph", clock()).back(&id("s"), 3).await.unwrap();
        stage.stored(&store).send(&id("s"), say("no")).await.unwrap();
        let moved = transcript(&engine, &history(&store, "s").await, None).unwrap();
        assert_eq!(moved.since, 6);
        assert!(moved.text.starts_with("$ state {") && moved.text.contains("~ rolling back 1\n! cancel {\"id\":7}"), "{}", moved.text);
        assert_green(&moved.sheet("Session s", documents, &[]));

        // On a graph that goes otherwise it says from when on.
        let other = edited("keep.md", ANEW);
        let otherwise = transcript(&other.engine(), &history(&store, "s").await, Some(5)).unwrap();
        assert!(otherwise.text.contains("# record 4 led to `end`\n"), "{}", otherwise.text);
        assert_green(&otherwise.sheet("Session s", other.program.documents(), &[]));
    });
}

#[test]
fn a_secret_is_in_no_transcript() {
    let files = [
        ("start.md", "---\ninput_type: secret\nto: nap\n---\nPassword?\n"),
        ("nap.md", "---\nwait: 1ms\nto: end\n---\n"),
        ("end.md", "Done.\n"),
    ];
    let (stage, store) = (stage(&files), Arc::new(MemoryStore::new()));
    run(async {
        let sessions = stage.stored(&store);
        sessions.start(Start { session: Some(id("s")), ..Start::default() }).await.unwrap();
        sessions.send(&id("s"), Input::Text("hunter2".into())).await.unwrap();
        let exported = transcript(&stage.engine(), &history(&store, "s").await, None).unwrap();
        assert!(exported.text.contains("> ***\n") && !exported.text.contains("hunter2"), "{}", exported.text);
        assert!(exported.text.contains("\n.\n"), "a sleep that is over is handed in: {}", exported.text);
        assert_green(&exported.sheet("Secret", stage.program.documents(), &[]));
    });
}

//! A typed secret is known even without the records that tell of it: in forks, in sessions without their oldest records.

use std::{collections::BTreeMap, sync::Arc};

use trellis_core::{Dialect, Document, Source, Start, Value};
use trellis_host::{
    Record,
    history::{History, Operator, Redactor},
    store::{Append, MemoryStore, Removal, SessionStore as _},
};

use crate::{
    history::{clock, history, id, say, stage},
    stage::{Stage, run},
};

const PIN: &str = "hunter2 \"ü\"";

/// Asks for a secret, keeps it, copies it, and may forget it.
const COPIES: &[(&str, &str)] = &[
    ("start.md", "---\ninput_type: secret\nsave_to: pin\nto: copy\n---\nPIN?\n"),
    ("copy.md", "---\ninput_type: int\nsave_to: n\nset: {header: \"Bearer {{ pin }}\"}\nto: drop\n---\nHow many?\n"),
    ("drop.md", "---\ninput_type: int\nsave_to: m\nset: {pin: null, header: null}\nto: more\n---\nHow many more?\n"),
    ("more.md", "---\ninput_type: text\nsave_to: word\n---\nA word?\n"),
];

async fn begun(stage: &Stage, store: &Arc<MemoryStore>, answers: &[Value]) {
    let sessions = stage.stored(store);
    sessions.start(Start { session: Some(id("s")), ..Start::default() }).await.unwrap();
    for answer in answers {
        sessions.send(&id("s"), say(answer.clone())).await.unwrap();
    }
}

fn answers(pin: &str, count: usize) -> Vec<Value> {
    [Value::from(pin), Value::Int(31), Value::Int(32), Value::from("word")].into_iter().take(count).collect()
}

/// Returns the shown parts of a session, as JSON, and the records that are shown.
async fn shown(stage: &Stage, store: &MemoryStore, name: &str) -> (String, Vec<Record>) {
    let mut history = history(store, name).await;
    Redactor::new(Some(stage.program.documents())).hide(&mut history);
    let state = history.snapshot.as_ref().map(|(_, state)| serde_json::to_string(state).unwrap()).unwrap_or_default();
    (format!("{state}\n{}", serde_json::to_string(&history.records).unwrap()), history.records)
}

/// Returns whether a text has the secret, or its form in JSON.
fn has(text: &str, pin: &str) -> bool {
    let json = Value::from(pin).to_json();
    text.contains(&json) || pin.len() > 3 && (text.contains(pin) || text.contains("hunter2"))
}

/// The text of the newest snapshot.
async fn snapshot(store: &MemoryStore, name: &str) -> String {
    store.load(&[id(name)]).await.unwrap().remove(0).unwrap().snapshot.unwrap().1.to_string()
}

/// A store with the sessions of another one, as an earlier version kept them.
async fn earlier(store: &MemoryStore, names: &[&str]) -> MemoryStore {
    let old = MemoryStore::new();
    for name in names {
        let without = |text: &str| {
            let mut json: serde_json::Value = serde_json::from_str(text).unwrap();
            json.as_object_mut().unwrap().remove("typed");
            json.get_mut("origin").and_then(|origin| origin.as_object_mut()?.remove("typed"));
            Arc::<str>::from(json.to_string())
        };
        let stored = store.load(&[id(name)]).await.unwrap().remove(0).unwrap();
        let records = store.records(&id(name), 0, usize::MAX).await.unwrap();
        let records = records.into_iter().map(|row| without(&row.text.unwrap())).collect();
        let snapshot = stored.snapshot.map(|(_, text)| without(&text));
        old.append(Append { session: id(name), expected: 0, records, head: stored.head, snapshot }).await.unwrap();
    }
    old
}

#[test]
fn a_fork_hides_what_was_typed_before_it() {
    for pin in [PIN, "12"] {
        let (stage, store) = (stage(COPIES), Arc::new(MemoryStore::new()));
        run(async {
            begun(&stage, &store, &answers(pin, 4)).await;
            let engine = stage.engine();
            let operator = Operator::new(&*store, &engine, "graph", clock());
            operator.fork(&id("s"), Some(2), &id("f")).await.unwrap();
            operator.fork(&id("f"), None, &id("g")).await.unwrap();
            for name in ["f", "g"] {
                let plain = serde_json::to_string(&history(&store, name).await.records).unwrap();
                let (shown, records) = shown(&stage, &store, name).await;
                assert!(has(&plain, pin) && !has(&shown, pin), "{shown}");
                assert!(records.len() == 1 && shown.contains("\"n\":31"), "what is no secret is shown: {shown}");
            }
            // A fork of where it was given up holds nothing of it.
            operator.fork(&id("s"), Some(3), &id("h")).await.unwrap();
            assert!(pin.len() < 4 || !has(&snapshot(&store, "h").await, pin));
        });
    }
}

#[test]
fn a_fork_that_an_earlier_version_made_shows_no_value() {
    let (stage, store) = (stage(COPIES), Arc::new(MemoryStore::new()));
    run(async {
        begun(&stage, &store, &answers(PIN, 2)).await;
        let engine = stage.engine();
        Operator::new(&*store, &engine, "graph", clock()).fork(&id("s"), None, &id("f")).await.unwrap();
        let old = Arc::new(earlier(&store, &["f"]).await);
        let (text, records) = shown(&stage, &old, "f").await;
        assert!(records.len() == 1 && !has(&text, PIN) && !text.contains("\"n\":31"), "{text}");
        // It goes on as before; where the answer was saved tells what it was.
        stage.stored(&old).send(&id("f"), say(5_i64)).await.unwrap();
        let mut veil = Redactor::new(Some(stage.program.documents()));
        veil.learn(&history(&old, "f").await);
        assert_eq!(veil.text(&format!("<{PIN}>")), "<***>");
    });
}

#[test]
fn a_session_without_its_oldest_records_hides_what_was_typed_there() {
    for pin in [PIN, "12"] {
        let (stage, store) = (stage(COPIES), Arc::new(MemoryStore::new()));
        run(async {
            begun(&stage, &store, &answers(pin, 2)).await;
            let engine = stage.engine();
            Operator::new(&*store, &engine, "graph", clock()).goto(&id("s"), &"copy".into()).await.unwrap();
            let old = earlier(&store, &["s"]).await;
            old.remove(&id("s"), Removal::Before(3)).await.unwrap();
            stage.stored(&store).send(&id("s"), say(33_i64)).await.unwrap();
            store.remove(&id("s"), Removal::Before(3)).await.unwrap();
            assert!(has(&snapshot(&store, "s").await, pin));
            let (text, records) = shown(&stage, &store, "s").await;
            assert_eq!(records.iter().map(|record| record.seq).collect::<Vec<_>>(), [3, 4]);
            assert!(!has(&text, pin) && text.contains("\"n\":33"), "{text}");
            // As an earlier version kept it, nothing tells what was typed.
            let (text, records) = shown(&stage, &old, "s").await;
            assert!(records.len() == 1 && !has(&text, pin) && !text.contains("\"n\":31"), "{text}");
        });
    }
}

#[test]
fn what_a_session_gave_up_is_stored_no_more_and_its_earlier_records_are_not_shown() {
    let (stage, store) = (stage(COPIES), Arc::new(MemoryStore::new()));
    run(async {
        begun(&stage, &store, &answers(PIN, 3)).await;
        let engine = stage.engine();
        Operator::new(&*store, &engine, "graph", clock()).goto(&id("s"), &"more".into()).await.unwrap();
        assert!(!has(&snapshot(&store, "s").await, PIN), "it is in no record that stays");
        stage.stored(&store).send(&id("s"), say("a plain word")).await.unwrap();
        // The record that copied the secret stays, the one that tells what it was is gone.
        store.remove(&id("s"), Removal::Before(2)).await.unwrap();
        let plain = serde_json::to_string(&history(&store, "s").await.records).unwrap();
        let (text, records) = shown(&stage, &store, "s").await;
        assert_eq!(records.iter().map(|record| record.seq).collect::<Vec<_>>(), [2, 3, 4, 5, 6]);
        assert!(has(&plain, PIN) && !has(&text, PIN), "{text}");
        let last = serde_json::to_string(&records[3]).unwrap();
        assert!(last.contains("a plain word"), "what came later is shown: {last}");
    });
}

#[test]
fn a_session_put_back_hides_what_it_holds_again() {
    let (stage, store) = (stage(COPIES), Arc::new(MemoryStore::new()));
    run(async {
        begun(&stage, &store, &answers(PIN, 3)).await;
        let engine = stage.engine();
        let operator = Operator::new(&*store, &engine, "graph", clock());
        operator.goto(&id("s"), &"more".into()).await.unwrap();
        operator.back(&id("s"), 2).await.unwrap();
        stage.stored(&store).send(&id("s"), say(34_i64)).await.unwrap();
        store.remove(&id("s"), Removal::Before(5)).await.unwrap();
        let plain = serde_json::to_string(&history(&store, "s").await.records).unwrap();
        let (text, _) = shown(&stage, &store, "s").await;
        assert!(has(&plain, PIN) && !has(&text, PIN), "{text}");
    });
}

/// Snapshots that sessions make by themselves have it too, also of a session that was loaded in between.
#[test]
fn a_long_session_keeps_what_was_typed_at_its_beginning() {
    let again = "---\ninput_type: int\nsave_to: n\ntransitions: [{condition: n == 9999, to: end}, {to: again}]\n---\nHow many?\n";
    let stage =
        stage(&[("start.md", "---\ninput_type: secret\nsave_to: pin\nto: again\n---\nPIN?\n"), ("again.md", again), ("end.md", "Bye.\n")]);
    let store = Arc::new(MemoryStore::new());
    run(async {
        begun(&stage, &store, &[Value::from(PIN)]).await;
        for round in 0..4 {
            let sessions = stage.stored(&store);
            for n in 0..70 {
                sessions.send(&id("s"), say(1000 * round + n)).await.unwrap();
            }
        }
        let next = history(&store, "s").await.snapshot.unwrap().0;
        assert!(next > 200, "{next}");
        store.remove(&id("s"), Removal::Before(next)).await.unwrap();
        let pruned: History = history(&store, "s").await;
        assert!(pruned.flaws[0].is_pruned && has(&snapshot(&store, "s").await, PIN));
        let (text, records) = shown(&stage, &store, "s").await;
        assert!(!has(&text, PIN) && text.contains("\"n\":3") && !records.is_empty(), "{text}");
    });
}

/// `redact` keeps its promise for what is typed as a secret.
#[test]
fn what_is_redacted_is_in_no_snapshot() {
    for pin in [PIN, "12"] {
        let files = [COPIES, &[("trellis.yaml", "redact: [pin, header]\n")]].concat();
        let (stage, store) = (stage(&files), Arc::new(MemoryStore::new()));
        run(async {
            begun(&stage, &store, &answers(pin, 3)).await;
            let hiding = trellis_host::store::Redacted::of(&stage.program, Arc::clone(&store));
            let engine = stage.engine();
            Operator::new(&hiding, &engine, "graph", clock()).goto(&id("s"), &"more".into()).await.unwrap();
            assert!(!has(&snapshot(&store, "s").await, pin));
        });
    }
}

/// A file that cannot be read may have named what is secret.
#[test]
fn of_a_file_that_cannot_be_read_nothing_is_known() {
    let (stage, store) = (stage(COPIES), Arc::new(MemoryStore::new()));
    run(async {
        begun(&stage, &store, &answers(PIN, 3)).await;
        let files: BTreeMap<_, _> = COPIES.iter().copied().chain([("trellis.yaml", "name: graph\n")]).collect();
        // Data that a tool left there is no part of the graph (language 1.2).
        let files: BTreeMap<_, _> = files.into_iter().chain([("_logs/health.json", "{}"), ("more/.x.yaml", "a: 1")]).collect();
        let cases =
            [("start.md", false, true), ("trellis.yaml", true, false), ("_logs/health.json", false, true), ("more/.x.yaml", false, true)];
        for (broken, is_blind, shows) in cases {
            let parse = |(path, text): (&&str, &&str)| {
                let text = if *path == broken { "---\nredact: [pin\n" } else { *text };
                Arc::new(Document::parse(&Source::text(*path, text), Dialect::default()))
            };
            let documents: Vec<_> = files.iter().map(parse).collect();
            let mut veil = Redactor::new(Some(&documents));
            assert_eq!((veil.is_needed(), veil.is_blind()), (true, is_blind), "{broken}");
            let mut history = history(&store, "s").await;
            veil.hide(&mut history);
            let text = serde_json::to_string(&history.records).unwrap();
            assert!(!has(&text, PIN) && text.contains("\"n\":31") == shows, "{broken}: {text}");
        }
    });
}

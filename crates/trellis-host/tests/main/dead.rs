//! Dead letters: which calls become one, how they are made again, and what a store has of them (language 11.7).

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, Ordering},
};

use trellis_core::{Input, SessionId, Start, ToolError, ToolOutcome, ToolResult, Value};
use trellis_host::{
    Clock, Stop,
    history::{History, HistoryError, Operator, UnsettledLetter, replay},
    journal::{DeathCause, Settlement},
    sessions::LetterError,
    store::{Append, Head, MemoryStore, SessionStatus, SessionStore},
};

use crate::stage::{Stage, run};

const END: (&str, &str) = ("end.md", "---\noutput: done\n---\n");
const PROJECT: (&str, &str) = ("trellis.yaml", "bindings: {flaky: {function: flaky}, note: {function: note}}\n");

fn id() -> SessionId {
    SessionId::from("local")
}

/// Tools: `flaky` fails while it is broken, `note` succeeds. Every call's key is noted.
struct Tools {
    is_broken: Arc<AtomicBool>,
    keys: Arc<Mutex<Vec<String>>>,
}

fn stage(files: &[(&str, &str)]) -> (Stage, Tools) {
    let tools = Tools { is_broken: Arc::new(AtomicBool::new(true)), keys: Arc::default() };
    let mut all = files.to_vec();
    if !files.iter().any(|(path, _)| *path == PROJECT.0) {
        all.push(PROJECT);
    }
    let (is_broken, keys) = (Arc::clone(&tools.is_broken), Arc::clone(&tools.keys));
    let stage = Stage::new(&all).function(move |bindings| {
        let (is_broken, keys) = (Arc::clone(&is_broken), Arc::clone(&keys));
        let flaky = move |context: trellis_host::CallContext, args| {
            let (is_broken, keys) = (Arc::clone(&is_broken), Arc::clone(&keys));
            async move {
                keys.lock().unwrap().push(context.idempotency_key.to_string());
                tokio::task::yield_now().await;
                if is_broken.load(Ordering::Relaxed) { Err(ToolError::new("the line is down")) } else { Ok(Value::Map(args)) }
            }
        };
        bindings.function_async("flaky", flaky).function("note", |_, args| Ok(Value::Map(args))).shared()
    });
    (stage, tools)
}

/// Starts a session and walks it to its end.
async fn walked(stage: &Stage, store: &Arc<MemoryStore>) -> trellis_host::Turn {
    stage.stored(store).start(Start { session: Some(id()), ..Start::default() }).await.unwrap()
}

async fn letters(stage: &Stage, store: &MemoryStore) -> Vec<UnsettledLetter> {
    let engine = stage.engine();
    let operator = Operator::new(store, &engine, "graph", Clock::fixed(2000));
    let mut letters = Vec::new();
    operator.dead_letters(None, |letter| letters.push(letter)).await.unwrap();
    letters
}

/// Returns the subject of a letter: its cause, its tool, the child, and its outcome.
fn about(letter: &UnsettledLetter) -> (DeathCause, &str, bool, String) {
    let letter = &letter.letter;
    let outcome = match &letter.outcome {
        ToolOutcome::Error(error) => error.message.clone(),
        ToolOutcome::Success(value) => value.to_json(),
        ToolOutcome::Denied(why) => why.clone().unwrap_or_default(),
    };
    (letter.cause, &letter.tool, letter.by.is_some(), outcome)
}

// 11.7: a retry makes the call again under its key; a failure leaves the letter as it is, a success settles it
#[test]
fn a_call_that_ended_its_session_is_made_again_under_its_key() {
    let (stage, tools) = stage(&[("start.md", "---\ndo: {name: flaky, args: {n: 1}}\nto: end\n---\n"), END]);
    let store = Arc::new(MemoryStore::new());
    run(async {
        let turn = walked(&stage, &store).await;
        assert!(matches!(&turn.stop, Stop::Ended(ended) if ended.code.as_deref() == Some("tool-error")));
        let found = letters(&stage, &store).await;
        let [letter] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!(about(letter), (DeathCause::Ended, "flaky", false, "the line is down".to_owned()));
        assert_eq!(letter.letter.call.as_ref().map(|call| Value::Map(call.args.clone()).to_json()).as_deref(), Some(r#"{"n":1}"#));

        let sessions = stage.stored(&store);
        let key = letter.letter.key.as_str();
        let again = sessions.retry_letter(&id(), key).await.unwrap();
        assert!(matches!(again, ToolOutcome::Error(error) if error.message == "the line is down"));
        assert_eq!(letters(&stage, &store).await, found, "a failure leaves it as it is");

        tools.is_broken.store(false, Ordering::Relaxed);
        let again = sessions.retry_letter(&id(), key).await.unwrap();
        assert!(matches!(again, ToolOutcome::Success(value) if value.to_json() == r#"{"n":1}"#));
        assert!(letters(&stage, &store).await.is_empty());
        assert!(tools.keys.lock().unwrap().iter().all(|noted| noted == key), "one key");
        let none = sessions.retry_letter(&id(), key).await;
        assert!(matches!(none, Err(LetterError::History(HistoryError::NoLetter { .. }))), "{none:?}");

        let history = History::open(&*store, &id()).await.unwrap();
        let kinds: Vec<_> = history.records.iter().map(kind).collect();
        assert_eq!(kinds, ["start", "result", "dead", "end", "settled"]);
        replay(&stage.engine(), &history).unwrap();
    });
}

fn kind(record: &trellis_host::Record) -> String {
    serde_json::to_value(record).unwrap()["kind"].as_str().unwrap().to_owned()
}

// 11.7: an `on_error` has dealt with a failure, also one that leads to a failed end
#[test]
fn what_an_author_deals_with_is_no_dead_letter() {
    let sorry = ("sorry.md", "---\nend: failed\n---\nSorry.\n");
    for on_error in ["end", "sorry", "fail", "rollback"] {
        let start = format!("---\ndo: {{name: flaky}}\non_error: {on_error}\nto: end\n---\n");
        let mut files = vec![("start.md", &*start), END];
        files.extend((on_error == "sorry").then_some(sorry));
        let (stage, _) = stage(&files);
        let store = Arc::new(MemoryStore::new());
        run(async {
            walked(&stage, &store).await;
            assert_eq!(letters(&stage, &store).await, [], "{on_error}");
        });
    }
}

// 11.7: of a tree the letter is the innermost call, unless a caller deals with the failure
#[test]
fn the_letter_of_a_tree_is_its_innermost_call() {
    let middle = ("middle.md", "---\ndo: {parallel: {a: {name: note}, b: {graph: inner}}}\nto: end\n---\n");
    let inner = ("inner.md", "---\ndo: {name: flaky, args: {n: 7}}\nto: end\n---\n");
    for (on_error, is_dead) in [("", true), ("on_error: end\n", false)] {
        let start = format!("---\ndo: {{graph: middle}}\n{on_error}to: end\n---\n");
        let (stage, _) = stage(&[("start.md", &start), middle, inner, END]);
        let store = Arc::new(MemoryStore::new());
        run(async {
            walked(&stage, &store).await;
            let found = letters(&stage, &store).await;
            let expected = is_dead.then(|| (DeathCause::Ended, "flaky", true, "the line is down".to_owned()));
            assert_eq!(found.first().map(about), expected);
            assert!(found.len() < 2, "{found:?}");
        });
    }
}

// 11.7: the letter is found whatever was stored when the process died
#[test]
fn the_letter_is_the_same_after_every_record() {
    let inner = ("inner.md", "---\ndo: {name: note}\nto: work\n---\n");
    let work = ("work.md", "---\ndo: {name: flaky, args: {n: 7}, retry: {max: 1}}\nto: end\n---\n");
    let (stage, _) = stage(&[("start.md", "---\ndo: {graph: inner}\nto: end\n---\n"), inner, work, END]);
    let store = Arc::new(MemoryStore::new());
    run(async {
        walked(&stage, &store).await;
        let expected = letters(&stage, &store).await;
        assert_eq!(expected.len(), 1);
        let history = History::open(&*store, &id()).await.unwrap();
        let texts: Vec<Arc<str>> = history.records.iter().map(|record| serde_json::to_string(record).unwrap().into()).collect();
        // The step by which the root ends is one append.
        let last_step = history.records.iter().rposition(|record| record.child.is_none() && kind(record) == "result").unwrap();
        for upto in 1..=last_step {
            let cut = Arc::new(MemoryStore::new());
            let last = &history.records[upto - 1];
            let head = Head { next: upto as u64, at: last.at, standing: SessionStatus::WaitingForTool, ..history.head.clone() };
            cut.append(Append { session: id(), expected: 0, records: texts[..upto].to_vec(), head, snapshot: None }).await.unwrap();
            stage.stored(&cut).resume(&id()).await.unwrap();
            assert_eq!(letters(&stage, &cut).await, expected, "after {upto} records");
        }
    });
}

// 11.7: an undo that failed for good is a letter, of a child too
#[test]
fn an_undo_that_failed_for_good_is_a_dead_letter() {
    let work = ("work.md", "---\ndo: {name: note}\nundo: {name: flaky, args: {n: 3}}\nto: rollback\n---\n");
    for start in ["---\nto: work\n---\n", "---\ndo: {graph: work}\non_error: end\nto: end\n---\n"] {
        let is_of_child = start.contains("graph");
        let mut files = vec![("start.md", start), work];
        files.extend(is_of_child.then_some(END));
        let (stage, _) = stage(&files);
        let store = Arc::new(MemoryStore::new());
        run(async {
            walked(&stage, &store).await;
            let found = letters(&stage, &store).await;
            let expected = (DeathCause::Undo, "flaky", is_of_child, "the line is down".to_owned());
            assert_eq!(found.iter().map(about).collect::<Vec<_>>(), [expected]);
        });
    }
}

// 11.7, 11.3: whoever makes it again approves it, and what is denied stays denied
#[test]
fn what_the_policy_denies_is_not_made_again() {
    let node = ("start.md", "---\ndo: {name: flaky, args: {n: 1}}\nto: end\n---\n");
    let (with, without) = (stage(&[node, END]), "bindings: {flaky: {function: flaky}, note: {function: note}}\n");
    let store = Arc::new(MemoryStore::new());
    run(async {
        walked(&with.0, &store).await;
        let found = letters(&with.0, &store).await;
        let key = found[0].letter.key.as_str();
        for (policy, is_denied) in [("block: [flaky]", true), ("ask: [flaky]", false)] {
            let project = format!("{without}policy:\n  - {policy}\n");
            let (stage, tools) = stage(&[node, END, ("trellis.yaml", &project)]);
            let again = stage.stored(&store).retry_letter(&id(), key).await;
            assert_eq!(matches!(again, Err(LetterError::Denied { .. })), is_denied, "{policy}: {again:?}");
            assert_eq!(tools.keys.lock().unwrap().is_empty(), is_denied, "{policy}");
        }
    });
}

// 11.7: one key, one call at a time
#[test]
fn a_letter_is_not_made_again_twice_at_once() {
    let (stage, tools) = stage(&[("start.md", "---\ndo: {name: flaky, args: {n: 1}}\nto: end\n---\n"), END]);
    let store = Arc::new(MemoryStore::new());
    run(async {
        walked(&stage, &store).await;
        tools.is_broken.store(false, Ordering::Relaxed);
        let (found, sessions) = (letters(&stage, &store).await, stage.stored(&store));
        let (ana, key) = (id(), found[0].letter.key.as_str());
        let (one, other) = tokio::join!(sessions.retry_letter(&ana, key), sessions.retry_letter(&ana, key));
        assert!(matches!(one, Ok(ToolOutcome::Success(_))), "{one:?}");
        assert_eq!(other.unwrap_err(), LetterError::InProgress(key.to_owned()));
        assert_eq!(tools.keys.lock().unwrap().len(), 2, "the first call and the retry");
        let none = sessions.retry_letter(&id(), key).await;
        assert!(matches!(none, Err(LetterError::History(HistoryError::NoLetter { .. }))), "who comes later finds it settled: {none:?}");
    });
}

// 11.7: a result after the end; it can be dropped, and not made again
#[test]
fn a_result_after_the_end_is_a_dead_letter() {
    let start = "---\ntools: [{name: far}]\ndo: {name: far}\non_signal: {stop: end}\nto: end\n---\n";
    let (stage, _) = stage(&[("start.md", start), END, ("trellis.yaml", "name: graph\n")]);
    let store = Arc::new(MemoryStore::new());
    run(async {
        let sessions = stage.stored(&store);
        let turn = sessions.start(Start { session: Some(id()), ..Start::default() }).await.unwrap();
        let Stop::Call { call, .. } = &turn.stop else { panic!("{turn:?}") };
        sessions.signal(&id(), &"stop".into()).await.unwrap();
        sessions.resume(&id()).await.unwrap();
        let late = ToolResult::new(call.id.clone(), ToolOutcome::Success(Value::Int(4)));
        sessions.send(&id(), Input::Result(late)).await.unwrap();
        let found = letters(&stage, &store).await;
        assert_eq!(found.iter().map(about).collect::<Vec<_>>(), [(DeathCause::Late, "far", false, "4".to_owned())]);
        let key = &found[0].letter.key;
        let again = sessions.retry_letter(&id(), key.as_str()).await;
        assert_eq!(again.unwrap_err(), LetterError::Late("far".to_owned()));

        let engine = stage.engine();
        let operator = Operator::new(&*store, &engine, "graph", Clock::fixed(2000));
        operator.settle_letter(&id(), key, Settlement::Dropped).await.unwrap();
        assert_eq!(letters(&stage, &store).await, []);
    });
}

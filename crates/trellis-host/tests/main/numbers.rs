//! An answer belongs to its question: numbers, whoever moved the session in between, in memory and after a restart.

use std::{sync::Arc, time::Duration};

use trellis_core::{Input, Mapping, SessionId, Start, ToolOutcome, ToolResult, Value, path::KeyPath};
use trellis_host::{
    Bindings, Clock, Reply, SendError, Sent, Sessions, Stop, Turn,
    history::Operator,
    store::{MemoryStore, SessionStore},
};

use crate::stage::{Stage, run, run_timeless};

const KEEP: &str = "---\ninput_type: confirm\ntimeout: 5s\non_timeout: delete\nto: kept\non_denied: delete\n---\nKeep your account?\n";
const ACCOUNT: &[(&str, &str)] = &[
    ("start.md", KEEP),
    ("delete.md", "---\ninput_type: confirm\nto: deleted\non_denied: kept\n---\nShall we delete it?\n"),
    ("deleted.md", "---\noutput: deleted\n---\nIt is gone.\n"),
    ("kept.md", "---\noutput: kept\n---\nYou keep it.\n"),
];

fn id() -> SessionId {
    SessionId::from("local")
}

fn text(text: &str) -> Input {
    Input::Text(text.into())
}

fn said(turn: &Turn) -> Vec<&str> {
    turn.said.iter().map(|said| said.text.trim()).collect()
}

fn output(turn: &Turn) -> Option<Value> {
    match &turn.stop {
        Stop::Ended(ended) => ended.output.clone(),
        stop => panic!("{stop:?}"),
    }
}

/// The turn that a stale sender is given.
fn stale(turn: Result<Turn, SendError>) -> Turn {
    match turn {
        Err(SendError::Stale(turn)) => *turn,
        other => panic!("{other:?}"),
    }
}

/// The turn that one is given who came too late.
fn late(turn: Result<Turn, SendError>) -> Turn {
    match turn {
        Err(SendError::TooLate(turn)) => *turn,
        other => panic!("{other:?}"),
    }
}

/// A way to make sessions, with its name.
type Way<'s> = (&'static str, Box<dyn Fn() -> Arc<Sessions> + 's>);

/// Sessions in memory, and sessions of a process that begins anew for each act.
fn ways(stage: &Stage) -> [Way<'_>; 2] {
    let one = Arc::new(stage.sessions());
    let store = Arc::new(MemoryStore::new());
    [("in memory", Box::new(move || Arc::clone(&one))), ("after a restart", Box::new(move || stage.stored(&store)))]
}

#[test]
fn an_answer_whose_question_timed_out_is_not_taken_by_the_next_one() {
    let stage = Stage::new(ACCOUNT);
    for (way, sessions) in ways(&stage) {
        run_timeless(async {
            let asked = sessions().start(Start::default()).await.unwrap();
            tokio::time::sleep(Duration::from_secs(6)).await;
            let turn = late(sessions().send(&id(), asked.answer(text("yes"))).await);
            assert_eq!(said(&turn), ["Shall we delete it?"], "{way}: what was said on the way is in the turn");
            assert!(turn.asked > asked.asked && matches!(turn.stop, Stop::Ask { .. }), "{way}: {turn:?}");
            let again = stale(sessions().send(&id(), asked.answer(text("yes"))).await);
            assert_eq!((said(&again), again.asked), (vec!["Shall we delete it?"], turn.asked), "{way}");
            assert_eq!(output(&sessions().send(&id(), turn.answer(text("no"))).await.unwrap()), Some(Value::text("kept")), "{way}");
        });
    }
}

#[test]
fn an_answer_without_a_number_is_not_taken_by_what_follows_a_timeout_either() {
    let stage = Stage::new(ACCOUNT);
    for (way, sessions) in ways(&stage) {
        run_timeless(async {
            sessions().start(Start::default()).await.unwrap();
            tokio::time::sleep(Duration::from_secs(6)).await;
            late(sessions().send(&id(), text("yes")).await);
            let turn = sessions().send(&id(), text("no")).await.unwrap();
            assert_eq!((said(&turn), output(&turn)), (vec!["You keep it."], Some(Value::text("kept"))), "{way}");
        });
    }
}

#[test]
fn a_double_click_counts_once() {
    let files = [("start.md", "---\ninput_type: confirm\nto: sure\n---\nBuy?\n"), ("sure.md", "---\ninput_type: confirm\n---\nReally?\n")];
    let stage = Stage::new(&files);
    for (way, sessions) in ways(&stage) {
        run(async {
            let asked = sessions().start(Start::default()).await.unwrap();
            let (sessions, id) = (sessions(), id());
            let clicks = tokio::join!(sessions.send(&id, asked.answer(text("yes"))), sessions.send(&id, asked.answer(text("yes"))));
            let (first, second) = (clicks.0.unwrap(), stale(clicks.1));
            assert_eq!((said(&first), said(&second)), (vec!["Really?"], vec!["Really?"]), "{way}");
            assert_eq!((first.seq, first.asked), (second.seq, second.asked), "{way}");
        });
    }
}

#[test]
fn either_number_of_a_turn_is_taken_and_no_other() {
    let stage = Stage::new(&[("start.md", "---\ninput_type: int\nto: end\n---\n"), ("end.md", "Bye.\n")]);
    for (number, is_taken) in [(0, false), (1, true), (2, false), (u64::MAX, false)] {
        let sessions = stage.sessions();
        run(async {
            let turn = sessions.start(Start::default()).await.unwrap();
            assert_eq!((turn.seq, turn.asked), (1, 1));
            let sent = sessions.send(&id(), Sent { expected: Some(number), ..Sent::from(text("3")) }).await;
            assert_eq!(sent.is_ok(), is_taken, "{number}: {sent:?}");
        });
    }
}

/// A call that is left after a second, then a question.
const LEFT: &[(&str, &str)] = &[
    ("start.md", "---\ntools: [{name: slow, effect: none}]\ndo: {name: slow, timeout: 1s}\non_timeout: ask\nto: ask\n---\n"),
    ("ask.md", "---\ninput_type: int\nsave_to: n\non_invalid: {text: A number., max: 3, to: end}\nto: end\n---\nHow many?\n"),
    ("end.md", "Bye.\n"),
];

#[test]
fn a_late_result_makes_no_answer_stale_and_is_one_record_however_often_it_comes() {
    let stage = Stage::new(LEFT);
    for (way, sessions) in ways(&stage) {
        run_timeless(async {
            let Stop::Call { call, .. } = sessions().start(Start::default()).await.unwrap().stop else { panic!() };
            tokio::time::sleep(Duration::from_secs(2)).await;
            let asked = sessions().resume(&id()).await.unwrap();
            assert_eq!(said(&asked), ["How many?"], "{way}");
            for _ in 0..100 {
                let result = ToolResult::new(call.id.clone(), ToolOutcome::Success(Value::Null));
                let turn = sessions().send(&id(), Input::Result(result)).await.unwrap();
                assert_eq!((turn.seq, turn.asked), (asked.seq + 1, asked.asked), "{way}");
            }
            let turn = sessions().send(&id(), asked.answer(text("3"))).await.unwrap();
            assert!(matches!(turn.stop, Stop::Ended(_)), "{way}: {turn:?}");
            let result = ToolResult::new(call.id.clone(), ToolOutcome::Success(Value::Null));
            assert!(sessions().send(&id(), Input::Result(result)).await.is_ok(), "{way}: also after the end");
        });
    }
}

#[test]
fn a_counted_invalid_input_asks_anew() {
    let stage = Stage::new(&[("start.md", LEFT[1].1), LEFT[2]]);
    for (way, sessions) in ways(&stage) {
        run(async {
            let asked = sessions().start(Start::default()).await.unwrap();
            let again = sessions().send(&id(), asked.answer(text("many"))).await.unwrap();
            assert!(again.asked > asked.asked, "{way}");
            stale(sessions().send(&id(), asked.answer(text("3"))).await);
            assert!(matches!(sessions().send(&id(), again.answer(text("3"))).await.unwrap().stop, Stop::Ended(_)), "{way}");
        });
    }
}

#[test]
fn an_operator_makes_stale_what_changes_the_question_and_nothing_else() {
    let files = [("start.md", "---\ninput_type: int\nto: end\n---\nHow many, {{ name | default('you') }}?\n"), ("end.md", "Bye.\n")];
    let (stage, store) = (Stage::new(&files), Arc::new(MemoryStore::new()));
    let engine = stage.engine();
    run(async {
        let operator = Operator::new(&*store, &engine, "graph", Clock::fixed(2000));
        let asked = stage.stored(&store).start(Start::default()).await.unwrap();
        operator.set(&id(), &[(KeyPath::parse("room").unwrap(), Value::text("blue"))]).await.unwrap();
        let seen = stage.stored(&store).view(&id()).await.unwrap();
        assert_eq!((seen.seq, seen.asked), (2, asked.asked));
        operator.set(&id(), &[(KeyPath::parse("name").unwrap(), Value::text("Ana"))]).await.unwrap();
        let turn = stale(stage.stored(&store).send(&id(), asked.answer(text("3"))).await);
        assert_eq!(said(&turn), ["How many, Ana?"]);
        operator.back(&id(), 0).await.unwrap();
        stale(stage.stored(&store).send(&id(), turn.answer(text("3"))).await);
    });
}

#[test]
fn an_edit_makes_stale_what_it_changes_and_nothing_else() {
    let ask = |words: &str| format!("---\ninput_type: int\nto: end\n---\n{words}\n");
    let stage = |words: &str, end: &str| Stage::new(&[("start.md", &*ask(words)), ("end.md", end)]);
    let (before, elsewhere, changed) = (stage("How many?", "Bye."), stage("How many?", "Goodbye."), stage("How much?", "Bye."));
    run(async {
        // In memory the program that asked takes the answer; what asks anew does so by `resume`.
        let sessions = before.sessions();
        let asked = sessions.start(Start::default()).await.unwrap();
        sessions.swap(elsewhere.engine(), Bindings::none()).await.unwrap();
        assert_eq!(sessions.resume(&id()).await.unwrap().asked, asked.asked);
        sessions.swap(changed.engine(), Bindings::none()).await.unwrap();
        assert_eq!(said(&sessions.resume(&id()).await.unwrap()), ["How much?"]);
        stale(sessions.send(&id(), asked.answer(text("3"))).await);

        for (edited, is_taken) in [(&elsewhere, true), (&changed, false)] {
            let store = Arc::new(MemoryStore::new());
            let asked = before.stored(&store).start(Start::default()).await.unwrap();
            let sent = edited.stored(&store).send(&id(), asked.answer(text("3"))).await;
            assert_eq!(sent.is_ok(), is_taken, "{sent:?}");
        }
    });
}

#[test]
fn what_an_edit_asks_for_has_a_number_of_its_own() {
    let needs = |key: &str| {
        let start = format!("---\nrequired_context: [{key}]\ninput_type: int\nto: end\n---\nHow many, {{{{ {key} }}}}?\n");
        Stage::new(&[("start.md", &*start), ("end.md", "Bye.\n")])
    };
    let before = Stage::new(&[("start.md", "---\ninput_type: int\nto: end\n---\nHow many?\n"), ("end.md", "Bye.\n")]);
    let store = Arc::new(MemoryStore::new());
    let keys = |key: &str| Reply::Context(Mapping::from_iter([(key, Value::text("Ann"))]));
    run(async {
        let asked = before.stored(&store).start(Start::default()).await.unwrap();
        let one = stale(needs("who").stored(&store).send(&id(), asked.answer(text("3"))).await);
        assert!(matches!(&one.stop, Stop::Keys { missing, .. } if missing == &["who"]), "{one:?}");
        let again = needs("who").stored(&store).resume(&id()).await.unwrap();
        assert_eq!((again.seq, again.asked), (one.seq, one.asked), "asked once, it is one record");
        let other = needs("whom");
        let two = stale(other.stored(&store).send(&id(), one.answer(keys("who"))).await);
        assert!(matches!(&two.stop, Stop::Keys { missing, .. } if missing == &["whom"]) && two.asked > one.asked, "{two:?}");
        let turn = other.stored(&store).send(&id(), two.answer(keys("whom"))).await.unwrap();
        assert!(matches!(turn.stop, Stop::Ask { .. }) && turn.asked > two.asked, "{turn:?}");
        stale(other.stored(&store).send(&id(), asked.answer(text("3"))).await);
    });
}

#[test]
fn one_of_two_processes_is_told_what_the_other_did() {
    let stage = Stage::new(ACCOUNT);
    let store = Arc::new(MemoryStore::new());
    run(async {
        let (one, other) = (stage.stored(&store), stage.stored(&store));
        let asked = one.start(Start::default()).await.unwrap();
        other.resume(&id()).await.unwrap();
        let next = one.send(&id(), asked.answer(text("no"))).await.unwrap();
        // The other one still has the first question in memory.
        assert_eq!(said(&stale(other.send(&id(), asked.answer(text("no"))).await)), ["Shall we delete it?"]);
        let third = stage.stored(&store);
        assert_eq!(output(&third.send(&id(), next.answer(text("no"))).await.unwrap()), Some(Value::text("kept")));
        assert_eq!(output(&stale(one.send(&id(), next.answer(text("yes"))).await)), Some(Value::text("kept")));
    });
}

#[test]
fn an_approval_that_is_decided_beside_a_question_makes_its_number_no_older() {
    let files = [
        ("trellis.yaml", "bindings: {pay: {function: {}, effect: none}}\n"),
        (
            "start.md",
            "---\ndo: {parallel: {a: {graph: ask}, b: {name: pay, approve: true}}, on_error: collect}\nsave_to: r\nto: end\n---\n",
        ),
        ("ask.md", "---\ninput_type: int\nsave_to: n\nto: told\n---\nHow many?\n"),
        ("told.md", "---\noutput: \"{{ n }}\"\n---\n"),
        ("end.md", "---\noutput: \"{{ r.a }}\"\n---\n"),
    ];
    for yes in [true, false] {
        let stage = Stage::new(&files).function(|bindings| bindings.function("pay", |_, _| Ok(Value::text("paid"))));
        for (way, sessions) in ways(&stage) {
            run(async {
                let asked = sessions().start(Start::default()).await.unwrap();
                let [held] = &asked.others[..] else { panic!("{way}: {asked:?}") };
                let Stop::Approve { call, .. } = &held.stop else { panic!("{way}: {asked:?}") };
                let decided = sessions().send(&id(), Reply::Approve { call: Some(call.id.clone()), yes }).await.unwrap();
                assert!(matches!(decided.stop, Stop::Ask { .. }) && decided.others.is_empty(), "{way}: {decided:?}");
                assert_eq!((decided.asked, &decided.child), (asked.asked, &asked.child), "{way}");
                assert_eq!(output(&sessions().send(&id(), asked.answer(text("3"))).await.unwrap()), Some(Value::Int(3)), "{way}");
            });
        }
    }
}

#[test]
fn a_snapshot_that_was_kept_before_questions_had_numbers_is_as_new_as_its_question() {
    let stage = Stage::new(&[("start.md", LEFT[1].1), LEFT[2]]);
    let store = Arc::new(MemoryStore::new());
    run(async {
        stage.stored(&store).start(Start::default()).await.unwrap();
        let stored = store.load(&[id()]).await.unwrap().remove(0).unwrap();
        let here = trellis_host::store::Snapshot::of(&stored).unwrap();
        let mut old = serde_json::to_value(&here).unwrap();
        old.as_object_mut().unwrap().remove("asked");
        let snapshot = Some((1, old.to_string().into()));
        let read = trellis_host::store::Snapshot::of(&trellis_host::store::Stored { snapshot, records: Vec::new(), ..stored }).unwrap();
        assert_eq!(read, here);
    });
}

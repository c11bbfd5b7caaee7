//! Beginnings of children: bounds, attempts, undos, and results that come too late (language 10.6–10.9).

use trellis_core::{ToolOutcome, ToolResult};
use trellis_host::store::SessionStore;

use super::*;

/// A call of `branches` graphs side by side, each of which asks a person, where so many `children` may live.
fn asking(branches: usize, children: usize) -> Stage {
    let calls: Vec<_> = (0..branches).map(|at| format!("b{at}: {{graph: work}}")).collect();
    let parent =
        format!("---\ndo: {{parallel: {{{}}}, on_error: collect}}\nsave_to: r\non_error: failed\nto: end\n---\n", calls.join(", "));
    let project = format!("limits: {{children: {children}}}\n");
    let work = ("work.md", "---\ninput_type: int\nsave_to: n\nto: told\n---\nWhich?\n");
    let told = ("told.md", "---\noutput: \"{{ n }}\"\n---\n");
    stage(&[("trellis.yaml", &project), ("start.md", &parent), work, told, END, FAILED]).0
}

/// Answers every question with 7; the output, and how many were asked at once.
async fn answered(stage: &Stage) -> (String, usize) {
    let sessions = stage.sessions();
    let mut turn = sessions.start(start()).await.unwrap();
    let asked = 1 + turn.others.len();
    while matches!(turn.stop, Stop::Ask { .. }) {
        turn = sessions.send(&id(), turn.answer(text("7"))).await.unwrap();
    }
    (ended(&turn).1.unwrap().to_json(), asked)
}

// 10.8
#[test]
fn as_many_children_live_as_the_limit_says_and_the_next_is_an_error_of_its_call() {
    run(async {
        assert_eq!(answered(&asking(5, 5)).await, (r#"{"b0":7,"b1":7,"b2":7,"b3":7,"b4":7}"#.to_owned(), 5));
        let (output, asked) = answered(&asking(5, 4)).await;
        assert_eq!(asked, 4);
        let error = r#"{"error":{"code":"limit","kind":"error","message":"there would be more than 4 children in one session (`limits.children`)"}}"#;
        assert_eq!(output, format!(r#"{{"b0":7,"b1":7,"b2":7,"b3":7,"b4":{error}}}"#));
    });
}

// 10.8: only those that are alive count
#[test]
fn a_child_that_ended_leaves_room_for_the_next() {
    let parent =
        ("start.md", "---\ndo: {parallel: {a: {graph: work}, b: {graph: work}, c: {graph: work}}, limit: 1}\nsave_to: r\nto: end\n---\n");
    let work = ("work.md", "---\noutput: done\n---\n");
    let (stage, _) = stage(&[("trellis.yaml", "limits: {children: 1}\n"), parent, work, END]);
    let turn = run(async { stage.sessions().start(start()).await.unwrap() });
    assert_eq!(ended(&turn).1.unwrap().to_json(), r#"{"a":"done","b":"done","c":"done"}"#);
}

/// The children of a stored session, each with the call that began it.
async fn begun(store: &impl SessionStore) -> Vec<(SessionId, String)> {
    let history = History::open(store, &id()).await.unwrap();
    let begun = history.records.iter().filter_map(|record| match &record.entry {
        Entry::Start { caller: Some(caller), .. } => Some((record.child.clone()?, caller.call.to_string())),
        _ => None,
    });
    begun.collect()
}

// language 10.7: each attempt is another child, and a key is used by one call of one child
#[test]
fn a_call_of_a_graph_that_is_tried_again_begins_another_child() {
    let parent = ("start.md", "---\ndo: {graph: work, retry: {max: 3, base: 1ms}}\nsave_to: r\non_error: failed\nto: end\n---\n");
    let work = ("work.md", "---\ndo: {name: break, retry: {max: 1}}\nsave_to: m\nto: end\n---\n");
    let end = ("end.md", "---\noutput: done\n---\n");
    let (stage, calls) = stage(&[parent, work, end, FAILED]);
    let store = Arc::new(MemoryStore::new());
    run_timeless(async {
        let turn = stage.stored(&store).start(start()).await.unwrap();
        assert!(ended(&turn).1.unwrap().to_json().contains(r#""code":"tool-error""#), "{turn:?}");
        let begun = begun(&*store).await;
        assert_eq!(begun.len(), 3, "{begun:?}");
        let names: std::collections::BTreeSet<_> = begun.iter().map(|(child, _)| child.clone()).collect();
        let begins: std::collections::BTreeSet<_> = begun.iter().map(|(_, call)| call.clone()).collect();
        assert_eq!((names.len(), begins.len()), (3, 3), "{begun:?}");
        replay(&stage.engine(), &History::open(&*store, &id()).await.unwrap()).unwrap();
    });
    let keys: std::collections::BTreeSet<_> = calls.lock().unwrap().iter().map(|(_, key, _)| key.clone()).collect();
    assert_eq!((names(&calls).len(), keys.len()), (3, 3), "{keys:?}");
}

// 10.7: what an author decided is final
#[test]
fn an_end_that_the_author_of_a_child_decided_on_is_not_tried_again() {
    let parent = ("start.md", "---\ndo: {graph: work, retry: {max: 3, base: 1ms}}\nsave_to: r\non_error: failed\nto: end\n---\n");
    let end = ("end.md", "---\noutput: done\n---\n");
    for (work, code, tools) in [
        ("---\ndo: {name: break, retry: {max: 1}}\non_error: rollback\nto: end\n---\n", "rolled_back", 1),
        ("---\ndo: {name: break, retry: {max: 1}}\non_error: fail\nto: end\n---\n", "fail", 1),
        ("---\nend: failed\nreason: no\n---\n", "end-failed", 0),
    ] {
        let (stage, calls) = stage(&[parent, ("work.md", work), end, FAILED]);
        let store = Arc::new(MemoryStore::new());
        run_timeless(async {
            let turn = stage.stored(&store).start(start()).await.unwrap();
            let output = ended(&turn).1.unwrap().to_json();
            assert!(output.contains(&format!(r#""code":"{code}""#)), "{output}");
            assert_eq!((begun(&*store).await.len(), names(&calls).len()), (1, tools), "{work}");
        });
    }
}

/// A parent that undoes what it noted by a graph, and tells what its rollback came to.
const UNDONE: [(&str, &str); 4] = [
    ("trellis.yaml", "on_rolled_back: over\nbindings: {note: {function: note}, undo: {function: undo}, break: {function: break}}\n"),
    ("start.md", "---\ndo: {name: note, args: {n: 1}}\nundo: {graph: back, args: {n: \"{{ input.n }}\"}}\nsave_to: r\nto: next\n---\n"),
    ("next.md", "---\ndo: {name: break}\non_error: rollback\nto: over\n---\n"),
    ("over.md", "---\noutput: \"{{ sys.rollback | default('nothing') }}\"\n---\n"),
];

// 10.6, 10.7
#[test]
fn a_child_may_undo_and_one_that_fails_hands_nothing_over() {
    let end = ("back_end.md", "---\noutput: done\n---\n");
    let well =
        "---\nrequired_context: [n]\ndo: {name: undo, args: {n: \"{{ n }}\"}}\nundo: {name: undo, args: {n: 99}}\nto: back_end\n---\n";
    let badly = "---\ndo: {name: break}\nto: back_end\n---\n";
    let of = |files: &[(&str, &str)]| {
        let mut all = UNDONE.to_vec();
        all.extend(files);
        let (stage, calls) = stage(&all);
        let turn = run(async { stage.sessions().start(start()).await.unwrap() });
        let tools: Vec<_> =
            calls.lock().unwrap().iter().map(|(tool, _, args)| format!("{tool} {}", Value::Map(args.clone()).to_json())).collect();
        (ended(&turn).1.unwrap().to_json(), tools)
    };
    let (output, tools) = of(&[("back.md", well), end]);
    assert_eq!(output, r#"{"failed":[],"irreversible":[]}"#);
    assert_eq!(tools, [r#"note {"n":1}"#, "break {}", r#"undo {"n":1}"#]);

    let two_steps = well.replace("to: back_end", "to: worse");
    let (output, tools) = of(&[("back.md", &two_steps), ("worse.md", badly), end]);
    assert!(output.contains(r#""failed":[{"message":"`worse`: `break` failed: broken","node":"start","tool":"graph"}]"#), "{output}");
    assert_eq!(tools, [r#"note {"n":1}"#, "break {}", r#"undo {"n":1}"#, "break {}"], "what the child did is not undone");
}

/// A parent whose child is left while its tool still runs: the tool is asked to stop, and succeeds all the same.
fn leaving() -> (Stage, Calls) {
    let project = "bindings: {slow: {process: [sh, ./slow], grace: 60s}, undo: {function: undo}}\n";
    let parent = "---\ndo: {graph: work, args: {who: Ana}}\non_signal: {stop: asks}\nto: end\n---\n";
    let work = "---\nrequired_context: [who]\ndo: {name: slow}\nsave_to: booked\nundo: {name: undo, args: {id: \"{{ booked.id }}\", who: \"{{ who }}\"}}\nto: end\n---\n";
    let asks = "---\ninput_type: text\nto: rollback\n---\nUndo it?\n";
    let end = ("end.md", "---\noutput: done\n---\n");
    let (stage, calls) = stage(&[("trellis.yaml", project), ("start.md", parent), ("work.md", work), ("asks.md", asks), end]);
    let stops = "trap 'asked=1' TERM\n: > running\nwhile [ -z \"$asked\" ]; do sleep 0.01; done\necho '{\"id\": 7}'\n";
    (stage.script("slow", stops), calls)
}

/// Begins such a session, and leaves its child with a signal while the tool runs.
async fn left(stage: &Stage, sessions: &trellis_host::Sessions) -> Turn {
    let leave = async {
        while !stage.path().join("running").exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        sessions.signal(&id(), &"stop".into()).await.unwrap();
    };
    let asked = tokio::join!(sessions.start(start()), leave).0.unwrap();
    assert_eq!(asked.node.as_str(), "asks");
    asked
}

// 10.9, 7.6
#[test]
fn a_success_of_a_left_child_within_the_grace_joins_with_the_context_of_the_child() {
    let (stage, calls) = leaving();
    let store = Arc::new(MemoryStore::new());
    run(async {
        let sessions = stage.stored(&store);
        let asked = left(&stage, &sessions).await;
        assert_eq!(sessions.look(&id(), |session| session.state().effects.len()), Some(1));
        let done = sessions.send(&id(), asked.answer(text("yes"))).await.unwrap();
        assert_eq!(ended(&done).0, "rolled_back");
        let undone: Vec<_> =
            calls.lock().unwrap().iter().map(|(tool, _, args)| (tool.clone(), Value::Map(args.clone()).to_json())).collect();
        assert_eq!(undone, [("undo".to_owned(), r#"{"id":7,"who":"Ana"}"#.to_owned())]);
        replay(&stage.engine(), &History::open(&*store, &id()).await.unwrap()).unwrap();
    });
}

/// Counts the records of late results of one call.
async fn late_results(store: &impl SessionStore, call: &str) -> usize {
    let history = History::open(store, &id()).await.unwrap();
    history.records.iter().filter(|record| matches!(&record.entry, Entry::Late { result } if result.id.as_str() == call)).count()
}

// 10.9, 7.6
#[test]
fn a_late_result_of_a_left_child_is_one_record_however_often_it_comes() {
    let (stage, _) = leaving();
    let store = Arc::new(MemoryStore::new());
    run(async {
        let sessions = stage.stored(&store);
        let asked = left(&stage, &sessions).await;
        let abandoned = sessions.look(&id(), |session| session.state().abandoned.to_vec()).unwrap();
        let call = abandoned.iter().find(|left| &*left.tool == "slow").unwrap().id.clone();
        assert_eq!(late_results(&*store, call.as_str()).await, 1);
        let before = History::open(&*store, &id()).await.unwrap().records.len();
        for round in 0..100 {
            let outcome = ToolOutcome::Success(Value::map([("id", Value::Int(round))]));
            let turn = sessions.send(&id(), Input::Result(ToolResult::new(call.clone(), outcome))).await.unwrap();
            assert_eq!((turn.node.as_str(), turn.asked), ("asks", asked.asked));
        }
        assert_eq!(History::open(&*store, &id()).await.unwrap().records.len(), before);
        assert_eq!(sessions.look(&id(), |session| session.state().effects.len()), Some(1));
    });
}

// 10.9: once the context of the child is dropped, its effect can be listed and not undone
#[test]
fn a_late_success_of_a_child_that_is_gone_is_listed_as_irreversible_once() {
    let project = ("trellis.yaml", "on_rolled_back: over\nbindings: {slow: {effect: undoable}, undo: {effect: none}}\n");
    let parent = ("start.md", "---\ndo: {graph: work, args: {who: Ana}}\non_signal: {stop: asks}\nto: end\n---\n");
    let work = (
        "work.md",
        "---\nrequired_context: [who]\ndo: {name: slow}\nsave_to: booked\nundo: {name: undo, args: {who: \"{{ who }}\"}}\nto: end\n---\n",
    );
    let asks = ("asks.md", "---\ninput_type: text\nto: rollback\n---\nUndo it?\n");
    let end = ("end.md", "---\noutput: done\n---\n");
    let (stage, _) = stage(&[project, parent, work, asks, end, UNDONE[3]]);
    let store = Arc::new(MemoryStore::new());
    run(async {
        let sessions = stage.stored(&store);
        let turn = sessions.start(start()).await.unwrap();
        let Stop::Call { call, .. } = &turn.stop else { panic!("{turn:?}") };
        sessions.signal(&id(), &"stop".into()).await.unwrap();
        drop(sessions);
        // Another process does not know where the child was.
        let sessions = stage.stored(&store);
        let asked = sessions.resume(&id()).await.unwrap();
        assert_eq!(asked.node.as_str(), "asks");
        for _ in 0..100 {
            sessions.send(&id(), Input::Result(ToolResult::new(call.id.clone(), ToolOutcome::Success(Value::Int(7))))).await.ok();
        }
        assert_eq!(late_results(&*store, call.id.as_str()).await, 1);
        let done = sessions.send(&id(), asked.answer(text("yes"))).await.unwrap();
        assert_eq!(ended(&done).1.unwrap().to_json(), r#"{"failed":[],"irreversible":[{"node":"work","tool":"slow"}]}"#);
    });
}

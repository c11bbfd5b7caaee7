//! Parts of a call carried out side by side: the window, delays, approvals, signals, and what is left of them after a crash (language 10).

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use trellis_core::{Input, Mapping, SessionId, SignalName, Start, ToolError, ToolOutcome, ToolResult, Value};
use trellis_host::{
    Clock, Policy, Reply, Stop, Turn, Unbound,
    history::{HistoryError, Operator, Undecided},
    sessions::Drive,
    store::{Append, MemoryStore, SessionStore},
};

use crate::{
    stage::{Stage, run_timeless},
    stored::turn_of,
};

fn id() -> SessionId {
    SessionId::from("local")
}

fn output(turn: &Turn) -> Value {
    match &turn.stop {
        Stop::Ended(ended) => ended.output.clone().unwrap_or_else(|| panic!("{ended:?}")),
        stop => panic!("{stop:?}"),
    }
}

/// The observations of a tool: calls by key, the most that ran at once, and the cancelled ones.
#[derive(Debug, Default)]
struct Seen {
    begun: BTreeMap<String, Vec<String>>,
    done: Vec<String>,
    running: usize,
    most: usize,
}

type Shared = Arc<Mutex<Seen>>;

/// A tool `work` that takes `ms` milliseconds, and fails where `fails` says so up to that attempt.
fn working(files: &[(&str, &str)]) -> (Stage, Shared) {
    let seen = Shared::default();
    let shared = Arc::clone(&seen);
    let stage = Stage::new(files).function(move |bindings| {
        let seen = Arc::clone(&shared);
        bindings.function_async("work", move |context, args: Mapping| {
            let seen = Arc::clone(&seen);
            async move {
                let number = |key: &str| args.get(key).and_then(Value::as_i64).unwrap_or_default();
                {
                    let mut seen = seen.lock().unwrap();
                    seen.begun.entry(context.idempotency_key.to_string()).or_default().push(context.call.to_string());
                    seen.running += 1;
                    seen.most = seen.most.max(seen.running);
                }
                tokio::time::sleep(Duration::from_millis(u64::try_from(number("ms")).unwrap())).await;
                let mut seen = seen.lock().unwrap();
                seen.running -= 1;
                if i64::from(context.attempt) <= number("fails") {
                    return Err(ToolError::new("not yet"));
                }
                seen.done.push(context.call.to_string());
                Ok(Value::Int(number("n")))
            }
        })
    });
    (stage, seen)
}

const END: (&str, &str) = ("end.md", "---\noutput: \"{{ r }}\"\n---\n");
const TOOLS: (&str, &str) = ("trellis.yaml", "bindings: {work: {function: work, effect: none}, other: {effect: none}}\n");

fn each(call: &str) -> String {
    format!("---\ninputs: {{}}\ntools: [work]\ndo: {{each: calls{call}}}\nsave_to: r\nto: end\n---\n").replace("inputs: {}\n", "")
}

fn items(calls: impl IntoIterator<Item = (i64, i64, i64)>) -> Mapping {
    let item = |(n, ms, fails): (i64, i64, i64)| {
        let args = [("n", n), ("ms", ms), ("fails", fails)].map(|(key, value)| (key, Value::Int(value)));
        Value::map([("name", Value::text("work")), ("args", Value::map(args))])
    };
    [("calls", Value::list(calls.into_iter().map(item)))]
        .into_iter()
        .map(|(key, value)| (trellis_core::value::Key::from(key), value))
        .collect()
}

const PROJECT: (&str, &str) = (
    "trellis.yaml",
    "inputs: {type: object, required: [calls], properties: {calls: {type: array}}}\nretry: {max: 3, base: 50ms}\nbindings: {work: {function: work, effect: none}}\n",
);

#[test]
fn parts_run_side_by_side_up_to_the_window() {
    let start = each(", limit: 3");
    let (stage, seen) = working(&[PROJECT, ("start.md", &start), END]);
    let calls = items((0..9).map(|n| (n, 100 - 10 * n, 0)));
    let turn = run_timeless(async { stage.sessions().start(Start { context: calls, ..Start::default() }).await.unwrap() });
    let results = output(&turn);
    let results: Vec<_> = results.as_list().unwrap().iter().map(|entry| entry.as_map().unwrap().get("result").cloned()).collect();
    assert_eq!(results, (0..9).map(|n| Some(Value::Int(n))).collect::<Vec<_>>(), "in the order of the list");
    let seen = seen.lock().unwrap();
    assert_eq!((seen.most, seen.begun.len(), seen.done.len()), (3, 9, 9));
}

#[test]
fn a_part_that_waits_for_its_delay_holds_up_no_other() {
    let start = each("");
    let (stage, seen) = working(&[PROJECT, ("start.md", &start), END]);
    let turn = run_timeless(async {
        stage.sessions().start(Start { context: items([(1, 1, 2), (2, 1, 0), (3, 500, 0)]), ..Start::default() }).await.unwrap()
    });
    assert!(matches!(turn.stop, Stop::Ended(_)));
    let seen = seen.lock().unwrap();
    let attempts: Vec<_> = seen.begun.values().map(Vec::len).collect();
    assert_eq!(attempts.iter().sum::<usize>(), 5, "one part was tried three times: {attempts:?}");
    assert!(seen.done.last().unwrap().ends_with("-1"), "the long one came last: {:?}", seen.done);
}

#[test]
fn leaving_a_call_stops_its_parts_and_others_never_run() {
    let start = "---\ntools: [work]\ndo: {each: calls, limit: 2, timeout: 150ms}\nsave_to: r\non_timeout: late\nto: end\n---\n";
    let late = ("late.md", "---\noutput: \"{{ sys.error.kind }}\"\n---\n");
    let (stage, seen) = working(&[PROJECT, ("start.md", start), END, late]);
    let turn = run_timeless(async {
        let context = items([(1, 100, 0), (2, 60_000, 0), (3, 60_000, 0), (4, 1, 0)]);
        stage.sessions().start(Start { context, ..Start::default() }).await.unwrap()
    });
    assert_eq!(output(&turn), Value::text("timeout"));
    let seen = seen.lock().unwrap();
    assert_eq!((seen.begun.len(), seen.done.len()), (3, 1), "the fourth was never open");
}

#[test]
fn a_signal_takes_a_session_away_from_its_parts() {
    let start = "---\ntools: [work]\ndo: {each: calls}\nsave_to: r\non_signal: {stop: late}\nto: end\n---\n";
    let late = ("late.md", "---\noutput: gone\n---\n");
    let (stage, seen) = working(&[PROJECT, ("start.md", start), END, late]);
    let turn = run_timeless(async {
        let sessions = Arc::new(stage.sessions());
        let context = items([(1, 60_000, 0), (2, 1, 0)]);
        let running = Arc::clone(&sessions);
        let going = async move { running.start(Start { session: Some(id()), context, ..Start::default() }).await };
        let signal = async {
            tokio::time::sleep(Duration::from_millis(500)).await;
            sessions.signal(&id(), &SignalName::from("stop")).await.unwrap();
        };
        tokio::join!(going, signal).0.unwrap()
    });
    assert_eq!(output(&turn), Value::text("gone"));
    assert_eq!(seen.lock().unwrap().done.len(), 1);
}

/// Two held parts beside one that runs.
const HELD: (&str, &str) = (
    "start.md",
    "---\ndo:\n  parallel:\n    a: {name: work, args: {n: 1}, approve: \"A?\"}\n    b: {name: work, args: {n: 2}, approve: {ask: \"B?\", expires: 1m}}\n    c: {name: work, args: {n: 3}}\n  on_error: collect\nsave_to: r\nto: end\n---\n",
);

#[test]
fn what_can_run_runs_before_anybody_is_asked_and_held_parts_are_decided_by_name() {
    let (stage, seen) = working(&[TOOLS, HELD, END]);
    let store = Arc::new(MemoryStore::new());
    run_timeless(async {
        let sessions = stage.stored(&store);
        let turn = sessions.start(Start { session: Some(id()), ..Start::default() }).await.unwrap();
        assert_eq!(seen.lock().unwrap().done.len(), 1, "`c` has run");
        let others: Vec<&Stop> = turn.others.iter().map(|other| &other.stop).collect();
        let (Stop::Approve { call: a, due: None }, [Stop::Approve { call: b, due: Some(due) }]) = (&turn.stop, &others[..]) else {
            panic!("{turn:?}")
        };
        assert_eq!(turn.due(), Some(*due));
        drop(sessions);

        // Nobody knows which is meant, until it is named.
        let engine = stage.engine();
        let operator = Operator::new(&*store, &engine, "graph", Clock::fixed(2000));
        let several = operator.approve(&id(), None).await.unwrap_err();
        assert!(matches!(&several, HistoryError::Undecided(_, Undecided::Several(ids)) if ids.len() == 2), "{several}");
        operator.approve(&id(), Some(b.id.as_str())).await.unwrap();
        assert_eq!(seen.lock().unwrap().done.len(), 1, "an approval runs nothing by itself");

        // Table B, 10: it runs once, whoever goes on.
        let sessions = stage.stored(&store);
        let turn = sessions.resume(&id()).await.unwrap();
        assert!(matches!(&turn.stop, Stop::Approve { call, .. } if call.id == a.id), "{turn:?}");
        assert!(turn.others.is_empty());
        assert_eq!(seen.lock().unwrap().done.len(), 2);
        let turn = sessions.send(&id(), Reply::Approve { call: Some(a.id.clone()), yes: false }).await.unwrap();
        let results = output(&turn);
        assert_eq!(results.to_json(), r#"{"a":{"error":{"kind":"denied","message":"denied"}},"b":2,"c":3}"#);
    });
}

#[test]
fn an_approval_of_a_part_that_expires_is_a_denial_of_that_part() {
    let (stage, _) = working(&[TOOLS, HELD, END]);
    let stage = stage.policy(Policy::default());
    run_timeless(async {
        let sessions = stage.sessions();
        let turn = sessions.start(Start { session: Some(id()), ..Start::default() }).await.unwrap();
        let Stop::Approve { call, .. } = &turn.stop else { panic!("{turn:?}") };
        tokio::time::sleep(Duration::from_secs(61)).await;
        let yes = Reply::Approve { call: Some(call.id.clone()), yes: true };
        let turn = match sessions.send(&id(), yes.clone()).await {
            Ok(turn) => turn,
            Err(_) => sessions.send(&id(), yes).await.unwrap(),
        };
        assert!(output(&turn).to_json().contains("the approval expired"), "{turn:?}");
    });
}

#[test]
fn parts_that_a_client_carries_out_are_all_told_and_taken_in_any_order() {
    let start = ("start.md", "---\ndo: {parallel: {a: other, b: {name: work, args: {n: 2}}, c: other}}\nsave_to: r\nto: end\n---\n");
    let (stage, seen) = working(&[TOOLS, start, END]);
    let stage = stage.policy(Policy::default().unbound(Unbound::Elsewhere));
    run_timeless(async {
        let sessions = stage.sessions();
        let turn = sessions.start(Start { session: Some(id()), ..Start::default() }).await.unwrap();
        assert_eq!(seen.lock().unwrap().done.len(), 1);
        let others: Vec<&Stop> = turn.others.iter().map(|other| &other.stop).collect();
        let (Stop::Call { call: a, .. }, [Stop::Call { call: c, .. }]) = (&turn.stop, &others[..]) else { panic!("{turn:?}") };
        let result = |call: &trellis_core::state::PendingCall, n| {
            Input::Result(ToolResult::new(call.id.clone(), ToolOutcome::Success(Value::Int(n))))
        };
        let turn = sessions.send(&id(), result(c, 3)).await.unwrap();
        assert!(matches!(&turn.stop, Stop::Call { call, .. } if call.id == a.id));
        let turn = sessions.send(&id(), result(a, 1)).await.unwrap();
        assert_eq!(output(&turn).to_json(), r#"{"a":1,"b":2,"c":3}"#);
    });
}

/// Copies the first `count` records of a session to a store of their own, as if the process had died behind them.
async fn died_after(store: &MemoryStore, count: usize) -> Arc<MemoryStore> {
    let stored = store.load(&[id()]).await.unwrap().remove(0).unwrap();
    let records: Vec<Arc<str>> = stored.records[..count].iter().map(|row| row.text.clone().unwrap()).collect();
    let mut head = stored.head.clone();
    (head.next, head.standing) = (count as u64, trellis_host::store::SessionStatus::WaitingForTool);
    let copy = Arc::new(MemoryStore::new());
    copy.append(Append { session: id(), expected: 0, records, head, snapshot: None }).await.unwrap();
    copy
}

/// Table B, 1 to 4 and 8: whatever prefix of its records is left of a session, it goes on, no part that is done runs again, the others run under the
/// same keys, and it comes to the same end.
#[test]
fn after_any_crash_no_part_that_is_done_runs_again() {
    let branches = (
        "start.md",
        "---\ndo:\n  parallel:\n    a: {name: work, args: {n: 1, ms: 10}, save_to: at.a}\n    b: {name: work, args: {n: 2, ms: 5, fails: 1}, save_to: at.b}\n    c: {name: work, args: {n: 3, ms: 1}}\n  limit: 2\n  on_error: collect\nsave_to: r\nto: end\n---\n",
    );
    let fails = (
        "start.md",
        "---\ndo:\n  parallel:\n    a: {name: work, args: {n: 1, ms: 1}}\n    b: {name: work, args: {n: 2, ms: 5, fails: 9}}\n    c: {name: work, args: {n: 3, ms: 900}}\n  retry: {max: 2, base: 10ms}\nsave_to: r\non_error: end\nto: end\n---\n",
    );
    let end = ("end.md", "---\noutput: \"{{ r | default(sys.error.part | default('none')) }}\"\n---\n");
    let project = ("trellis.yaml", "retry: {max: 2, base: 50ms}\nbindings: {work: {function: work, effect: none}}\n");
    for start in [branches, fails] {
        let (stage, seen) = working(&[project, start, end]);
        let store = Arc::new(MemoryStore::new());
        let (whole, records) = run_timeless(async {
            let turn = stage.stored(&store).start(Start { session: Some(id()), ..Start::default() }).await.unwrap();
            (output(&turn), store.load(&[id()]).await.unwrap().remove(0).unwrap().records)
        });
        let keys: Vec<String> = seen.lock().unwrap().begun.keys().cloned().collect();
        for count in 1..=records.len() {
            let texts: Vec<String> = records[..count].iter().map(|row| row.text.clone().unwrap().to_string()).collect();
            *seen.lock().unwrap() = Seen::default();
            let turn = run_timeless(async {
                let copy = died_after(&store, count).await;
                stage.stored(&copy).resume(&id()).await.unwrap()
            });
            assert_eq!(output(&turn), whole, "behind record {count}");
            let seen = seen.lock().unwrap();
            assert!(seen.begun.keys().all(|key| keys.contains(key)), "a call has one key: {:?}", seen.begun);
            for call in seen.begun.values().flatten() {
                let taken = texts
                    .iter()
                    .any(|text| text.contains("\"kind\":\"result\"") && text.contains(&format!("\"id\":\"{call}\",\"outcome\"")));
                assert!(!taken, "{call} ran again behind record {count}");
            }
        }
    }
}

#[test]
fn a_state_of_version_1_is_read_and_its_composite_call_is_made_anew() {
    let start =
        ("start.md", "---\ndo: {parallel: {a: {name: work, args: {n: 1}}, b: {name: work, args: {n: 2}}}}\nsave_to: r\nto: end\n---\n");
    let (stage, _) = working(&[TOOLS, start, END]);
    let store = Arc::new(MemoryStore::new());
    run_timeless(async {
        drop(stage.stored(&store).start(Start { session: Some(id()), ..Start::default() }).await.unwrap());
        let stored = store.load(&[id()]).await.unwrap().remove(0).unwrap();
        let mut record: serde_json::Value = serde_json::from_str(stored.records[0].text.as_ref().unwrap()).unwrap();
        let state = &mut record["state"];
        state["version"] = 1.into();
        state.as_object_mut().unwrap().remove("parts");
        let pairs = state["pending_tool_call"]["kind"]["parallel"]["branches"].take();
        let branches = pairs.as_array().unwrap().iter().map(|pair| (pair[0].as_str().unwrap().to_owned(), pair[1].clone())).collect();
        state["pending_tool_call"]["kind"]["parallel"]["branches"] = serde_json::Value::Object(branches);
        let old = Arc::new(MemoryStore::new());
        let mut head = stored.head.clone();
        (head.next, head.standing) = (1, trellis_host::store::SessionStatus::WaitingForTool);
        old.append(Append { session: id(), expected: 0, records: vec![record.to_string().into()], head, snapshot: None }).await.unwrap();
        let turn = stage.stored(&old).resume(&id()).await.unwrap();
        assert_eq!(output(&turn).to_json(), r#"{"a":1,"b":2}"#);
    });
}

#[test]
fn a_session_that_is_driven_carries_its_parts_out() {
    let start = each("");
    let (stage, seen) = working(&[PROJECT, ("start.md", &start), END]);
    let stage = stage.policy(Policy::default().detached(true));
    let store = Arc::new(MemoryStore::new());
    run_timeless(async {
        let sessions = stage.stored(&store);
        let context = items([(1, 5, 1), (2, 5, 0)]);
        let turn = sessions.start(Start { session: Some(id()), context, ..Start::default() }).await.unwrap();
        assert!(matches!(turn.stop, Stop::Running { .. }), "{turn:?}");
        assert!(seen.lock().unwrap().begun.is_empty());
        let mut ended = None;
        for _ in 0..4 {
            sessions.drive(Drive::UntilIdle, |driven| ended = Some(turn_of(driven))).await.unwrap();
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let turn = ended.unwrap();
        assert!(matches!(turn.stop, Stop::Ended(_)), "{turn:?}");
    });
    assert_eq!(seen.lock().unwrap().done.len(), 2);
}

//! Trees and parts that are treated roughly: each survives, or says what is wrong.

use std::sync::atomic::{AtomicUsize, Ordering};

use trellis_core::{ToolOutcome, ToolResult, state::PendingCall};
use trellis_host::{
    Policy, Unbound,
    journal::RequestKey,
    store::{Pending, Query, Removal, Row, StoreError, Stored},
};

use super::*;

/// A store whose every second append, but for the first of a session, is answered as if somebody had been quicker.
#[derive(Default)]
struct Contended {
    store: MemoryStore,
    appends: AtomicUsize,
}

impl SessionStore for Contended {
    fn append(&self, append: Append) -> Pending<'_, ()> {
        if append.expected > 0 && self.appends.fetch_add(1, Ordering::Relaxed).is_multiple_of(2) {
            let conflict = StoreError::Conflict { session: append.session, expected: append.expected, found: append.expected + 1 };
            return Box::pin(std::future::ready(Err(conflict)));
        }
        self.store.append(append)
    }

    fn load<'a>(&'a self, sessions: &'a [SessionId]) -> Pending<'a, Vec<Option<Stored>>> {
        self.store.load(sessions)
    }

    fn records<'a>(&'a self, session: &'a SessionId, from: u64, limit: usize) -> Pending<'a, Vec<Row>> {
        self.store.records(session, from, limit)
    }

    fn list(&self, query: Query) -> Pending<'_, Vec<Head>> {
        self.store.list(query)
    }

    fn remove<'a>(&'a self, session: &'a SessionId, removal: Removal) -> Pending<'a, ()> {
        self.store.remove(session, removal)
    }
}

#[test]
fn a_store_that_conflicts_on_every_second_append_loses_nothing() {
    let parent = (
        "start.md",
        "---\ndo: {parallel: {a: {graph: work, args: {n: 1}}, b: {graph: work, args: {n: 2}}, c: {name: note, args: {n: 3}}}}\nsave_to: r\nto: end\n---\n",
    );
    let work = ("work.md", "---\nrequired_context: [n]\ndo: {name: note, args: {n: \"{{ n }}\"}}\nsave_to: m\nto: told\n---\n");
    let told = ("told.md", "---\noutput: \"{{ m }}\"\n---\n");
    let (stage, calls) = stage(&[parent, work, told, END]);
    let store = Arc::new(Contended::default());
    run(async {
        let sessions = stage.stored(&store);
        let mut turn = sessions.start(start()).await;
        for _ in 0..100 {
            match &turn {
                Ok(Turn { stop: Stop::Ended(_), .. }) => break,
                Ok(_) | Err(SendError::Store(StoreError::Conflict { .. })) => turn = sessions.resume(&id()).await,
                Err(error) => panic!("{error:?}"),
            }
        }
        assert_eq!(ended(&turn.unwrap()).1.unwrap().to_json(), r#"{"a":{"n":1},"b":{"n":2},"c":{"n":3}}"#);
        let history = History::open(&*store, &id()).await.unwrap();
        replay(&stage.engine(), &history).unwrap();
    });
    assert!(store.appends.load(Ordering::Relaxed) > 1, "there were conflicts");
    // A call that ran again, since its result was lost, ran under its key.
    let mut keys = BTreeMap::new();
    for (_, key, args) in calls.lock().unwrap().iter() {
        keys.entry(Value::Map(args.clone()).to_json()).or_insert_with(std::collections::BTreeSet::new).insert(key.clone());
    }
    assert!(keys.len() == 3 && keys.values().all(|keys| keys.len() == 1), "{keys:?}");
}

/// Two branches that wait for an approval.
const HELD: &str = "---\ndo: {parallel: {a: {name: note, args: {n: 1}, approve: true}, b: {name: note, args: {n: 2}, approve: true}}}\nsave_to: r\nto: end\n---\n";

fn held(turn: &Turn) -> Vec<Arc<PendingCall>> {
    let stops = std::iter::once(&turn.stop).chain(turn.others.iter().map(|other| &other.stop));
    let held = stops.map(|stop| match stop {
        Stop::Approve { call, .. } => Arc::clone(call),
        stop => panic!("{stop:?}"),
    });
    held.collect()
}

fn yes(call: &PendingCall) -> Reply {
    Reply::Approve { call: Some(call.id.clone()), yes: true }
}

#[test]
fn two_persons_may_decide_about_two_branches_and_one_of_them_once() {
    let (stage, calls) = stage(&[("start.md", HELD), END]);
    let store = Arc::new(MemoryStore::new());
    run(async {
        let (ana, ben) = (stage.stored(&store), stage.stored(&store));
        let seen = ana.start(start()).await.unwrap();
        let [a, b] = &held(&seen)[..] else { panic!("{seen:?}") };
        ben.resume(&id()).await.unwrap();
        let after = ana.send(&id(), yes(a)).await.unwrap();
        assert_eq!((names(&calls).len(), held(&after).len()), (1, 1));
        // The second decision about the same branch is refused, and nothing runs again.
        let second = ben.send(&id(), yes(a)).await;
        assert!(second.is_err(), "{second:?}");
        assert_eq!(names(&calls).len(), 1);
        let done = ben.send(&id(), yes(b)).await.unwrap();
        assert_eq!(ended(&done).1.unwrap().to_json(), r#"{"a":{"n":1},"b":{"n":2}}"#);
        assert_eq!(names(&calls).len(), 2);
    });
}

fn result(call: &PendingCall, value: Value) -> Input {
    Input::Result(ToolResult::new(call.id.clone(), ToolOutcome::Success(value)))
}

#[test]
fn a_result_of_the_whole_beside_one_of_a_part_settles_it_once() {
    let start_at = ("start.md", "---\ntools: [{name: far}]\ndo: {parallel: {a: far, b: far}}\nsave_to: r\nto: end\n---\n");
    let files = [start_at, END, ("trellis.yaml", "bindings: {far: {effect: none}}\n")];
    let (stage, _) = stage(&files);
    let stage = stage.policy(Policy::default().unbound(Unbound::Elsewhere));
    for whole_first in [true, false] {
        let store = Arc::new(MemoryStore::new());
        run(async {
            let sessions = stage.stored(&store);
            let turn = sessions.start(start()).await.unwrap();
            let Stop::Call { call: part, .. } = &turn.stop else { panic!("{turn:?}") };
            let whole = sessions.look(&id(), |session| session.state().pending_tool_call.clone()).flatten().unwrap();
            let all = Value::map([("a", Value::Int(1)), ("b", Value::Int(2))]);
            let of_part = result(part, Value::Int(7));
            let of_whole = result(&whole, all);
            let inputs = if whole_first { [of_whole, of_part] } else { [of_part, of_whole] };
            let [first, second] = inputs;
            let session = id();
            let (one, other) = tokio::join!(sessions.send(&session, first), sessions.send(&session, second));
            // The whole decides; the part is among what it decided, or comes too late.
            let turns: Vec<_> = [one, other].into_iter().flatten().filter(|turn| matches!(turn.stop, Stop::Ended(_))).collect();
            assert!(!turns.is_empty(), "it ended");
            let output = ended(&turns[0]).1.unwrap().to_json();
            assert!([r#"{"a":1,"b":2}"#, r#"{"a":7,"b":2}"#].contains(&output.as_str()), "{output}");
            let history = History::open(&*store, &id()).await.unwrap();
            assert_eq!(history.records.iter().filter(|record| kind(&record.entry) == "end").count(), 1);
            replay(&stage.engine(), &history).unwrap();
        });
    }
}

/// A list of two calls that wait for a client, and the same node after an edit.
#[test]
fn an_edit_that_takes_a_branch_or_changes_the_list_makes_the_call_anew() {
    let project = ("trellis.yaml", "bindings: {far: {effect: none}, near: {effect: none}}\n");
    let node = |call: &str| {
        format!(
            "---\ntools: [far, near]\ndefault_context: {{calls: [{{name: far}}, {{name: far}}]}}\ndo: {call}\nsave_to: r\nto: end\n---\n"
        )
    };
    for (before, after) in [
        ("{parallel: {a: far, b: far}}", "{parallel: {a: far}}"),
        ("{parallel: {a: far, b: far}}", "{parallel: {a: far, b: near}}"),
        ("{each: calls}", "{each: calls, limit: 1}"),
    ] {
        let (before, after) = (node(before), node(after));
        let first = stage(&[("start.md", &before), END, project]).0.policy(Policy::default().unbound(Unbound::Elsewhere));
        let edited = stage(&[("start.md", &after), END, project]).0;
        run(async {
            let sessions = first.sessions();
            let turn = sessions.start(start()).await.unwrap();
            let Stop::Call { call, .. } = &turn.stop else { panic!("{turn:?}") };
            sessions.send(&id(), result(call, Value::Int(1))).await.unwrap();
            sessions.swap(edited.engine(), edited.bindings()).await.unwrap();
            let turn = sessions.resume(&id()).await.unwrap();
            // The call is another one now: somebody decides. If only the policy changed, the part that is done stays done.
            match &turn.stop {
                Stop::Changed { .. } => assert!(!after.contains("limit"), "{turn:?}"),
                Stop::Call { .. } => assert!(after.contains("limit") && turn.others.is_empty(), "{turn:?}"),
                stop => panic!("{stop:?}"),
            }
        });
    }
}

#[test]
fn who_comes_back_to_a_call_of_several_makes_all_of_it_anew() {
    let parent = ("start.md", "---\ndo: {parallel: {a: {graph: work}, b: {name: note, args: {n: 1}}}}\nsave_to: r\nto: end\n---\n");
    let work = ("work.md", "---\ninput_type: int\nsave_to: n\nto: told\n---\nWhich?\n");
    let told = ("told.md", "---\noutput: \"{{ n }}\"\n---\n");
    let (stage, calls) = stage(&[parent, work, told, END]);
    let store = Arc::new(MemoryStore::new());
    run(async {
        let first = stage.stored(&store).start(start()).await.unwrap();
        let engine = stage.engine();
        let operator = Operator::new(&*store, &engine, "graph", Clock::fixed(2000));
        operator.goto(&id(), &NodeId::from("start")).await.unwrap();
        let sessions = stage.stored(&store);
        let again = sessions.resume(&id()).await.unwrap();
        assert_ne!(again.child, first.child, "another child");
        let late = sessions.send(&id(), Sent::from(text("1")).to(first.child.unwrap())).await.unwrap_err();
        assert!(matches!(late, SendError::UnknownChild(_)), "{late:?}");
        let done = sessions.send(&id(), again.answer(text("2"))).await.unwrap();
        assert_eq!(ended(&done).1.unwrap().to_json(), r#"{"a":2,"b":{"n":1}}"#);
        let keys: std::collections::BTreeSet<_> = calls.lock().unwrap().iter().map(|(_, key, _)| key.clone()).collect();
        assert_eq!(keys.len(), 2, "the branch was made under two keys, once before and once after");
        replay(&stage.engine(), &History::open(&*store, &id()).await.unwrap()).unwrap();
    });
}

#[test]
fn a_child_that_waits_for_a_person_is_left_when_its_caller_times_out() {
    let parent = ("start.md", "---\ndo: {graph: work, timeout: 10s}\non_timeout: failed\nto: end\n---\n");
    let work = ("work.md", "---\ninput_type: int\nsave_to: n\nto: told\n---\nWhich?\n");
    let told = ("told.md", "---\noutput: \"{{ n }}\"\n---\n");
    let end = ("end.md", "---\noutput: done\n---\n");
    let (stage, _) = stage(&[parent, work, told, end, FAILED]);
    run_timeless(async {
        let sessions = stage.sessions();
        let asked = sessions.start(start()).await.unwrap();
        assert_eq!(asked.due(), Some(11_000), "the tree is due when its caller is");
        tokio::time::sleep(Duration::from_secs(11)).await;
        let turn = sessions.resume(&id()).await.unwrap();
        assert!(ended(&turn).1.unwrap().to_json().contains(r#""kind":"timeout""#), "{turn:?}");
        let late = sessions.send(&id(), asked.answer(text("1"))).await.unwrap_err();
        assert!(matches!(late, SendError::UnknownChild(_) | SendError::Refused(_) | SendError::Stale(_)), "{late:?}");
    });
}

#[test]
fn a_child_that_calls_itself_twice_side_by_side_is_bounded() {
    let project = ("trellis.yaml", "limits: {nested_children: 6, children: 20}\nbindings: {note: {function: note}}\n");
    let parent = ("start.md", "---\ndo: {graph: again}\nsave_to: r\non_error: failed\nto: end\n---\n");
    let again = ("again.md", "---\ndo: {parallel: {a: {graph: again}, b: {graph: again}}}\nsave_to: r\non_error: fail\nto: end\n---\n");
    let (stage, _) = stage(&[project, parent, again, END, FAILED]);
    let turn = run(async { stage.sessions().start(start()).await.unwrap() });
    let output = ended(&turn).1.unwrap().to_json();
    assert!(output.contains("limits.children") || output.contains("limits.nested_children"), "{output}");
}

#[test]
fn a_depth_of_64_is_the_last_one() {
    let parent = ("start.md", "---\ndo: {graph: again}\nsave_to: r\non_error: end\nto: end\n---\n");
    let again = ("again.md", "---\ndo: {graph: again}\nsave_to: r\non_error: fail\nto: end\n---\n");
    let end = ("end.md", "---\noutput: done\n---\n");
    let (stage, _) = stage(&[parent, again, end]);
    let store = Arc::new(MemoryStore::new());
    run(async {
        let turn = stage.stored(&store).start(start()).await.unwrap();
        assert_eq!(ended(&turn).1, Some(Value::text("done")));
        let history = History::open(&*store, &id()).await.unwrap();
        assert_eq!(history.records.iter().filter(|record| record.child.is_some() && kind(&record.entry) == "start").count(), 64);
        let refused = history.records.iter().find_map(|record| match &record.entry {
            Entry::Result { result } => Some(result.outcome.clone()),
            _ => None,
        });
        let Some(ToolOutcome::Error(error)) = refused else { panic!("{refused:?}") };
        assert_eq!((error.code, error.is_final), (Some(Value::text("limit")), true));
        assert_eq!(error.message, "there would be more than 64 children in children (`limits.nested_children`)");
    });
}

#[test]
fn a_retry_of_the_whole_keeps_what_its_parts_did_for_one_rollback() {
    let parent = (
        "start.md",
        "---\ndo: {parallel: {a: {name: note, args: {n: 1}, undo: {name: undo, args: {n: 1}}}, b: {name: break}}, retry: {max: 3, base: 1ms}}\nsave_to: r\non_error: rollback\nto: end\n---\n",
    );
    let (stage, calls) = stage(&[parent, END]);
    let turn = run_timeless(async { stage.sessions().start(start()).await.unwrap() });
    assert_eq!(ended(&turn).0, "rolled_back");
    let of = |tool: &str| names(&calls).into_iter().filter(|name| name == tool).count();
    assert_eq!((of("note"), of("break"), of("undo")), (1, 3, 1), "{:?}", names(&calls));
}

#[test]
fn empty_lists_in_a_cycle_run_into_the_bound_of_steps() {
    let project = ("trellis.yaml", "limits: {pass_through: 50}\nbindings: {note: {function: note}}\n");
    let node = |next: &str| {
        format!(
            "---\ntools: [note]\ndefault_context: {{calls: []}}\ndo: {{each: calls}}\nsave_to: r\ntransitions: [{{condition: r is empty, to: {next}}}, {{to: end}}]\n---\n"
        )
    };
    let (one, other) = (node("other"), node("start"));
    let (stage, calls) = stage(&[project, ("start.md", &one), ("other.md", &other), END]);
    let stuck = run(async { stage.sessions().start(start()).await.unwrap_err() });
    assert!(stuck.to_string().contains("50 steps in a row passed through without a stop"), "{stuck}");
    assert!(names(&calls).is_empty());
}

#[test]
fn a_clock_that_goes_back_makes_no_child_wait_longer() {
    let parent = ("start.md", "---\ndo: {parallel: {a: {graph: work}, b: {graph: work}}}\nsave_to: r\non_error: failed\nto: end\n---\n");
    let work = ("work.md", "---\nwait: 10s\nto: told\n---\n");
    let told = ("told.md", "---\noutput: slept\n---\n");
    let (stage, _) = stage(&[parent, work, told, END, FAILED]);
    let store = Arc::new(MemoryStore::new());
    let at = |now: u64| {
        let sessions = stage.sessions().clock(Clock::fixed(now)).policy(Policy::default().detached(true));
        sessions.store(Arc::clone(&store) as Arc<dyn SessionStore>, "graph")
    };
    run(async {
        let asleep = at(1_000_000).start(start()).await.unwrap();
        assert!(matches!(asleep.stop, Stop::Sleeping { until: 1_010_000, .. }), "{asleep:?}");
        // The clock stands at an hour before: ten seconds from there, not an hour and ten seconds.
        let still = at(100_000).resume(&id()).await.unwrap();
        assert!(matches!(still.stop, Stop::Sleeping { until: ..=1_010_000, .. }), "{still:?}");
        let done = at(1_010_000).resume(&id()).await.unwrap();
        assert_eq!(ended(&done).1.unwrap().to_json(), r#"{"a":"slept","b":"slept"}"#);
    });
}

#[test]
fn where_every_branch_of_any_is_denied_the_call_is() {
    let (stage, calls) = stage(&[
        ("start.md", &HELD.replace("}}}\nsave_to", "}}, join: any}\nsave_to").replace("to: end", "on_denied: refused\nto: end")),
        END,
        REFUSED,
    ]);
    run(async {
        let sessions = stage.sessions();
        let mut turn = sessions.start(start()).await.unwrap();
        for _ in 0..2 {
            turn = sessions.send(&id(), Reply::Approve { call: Some(held(&turn)[0].id.clone()), yes: false }).await.unwrap();
        }
        assert_eq!((ended(&turn).1, names(&calls).len()), (Some(Value::text("refused")), 0));
    });
}

// Table B, 8 and 9: the process dies after a signal left a running part, and after its tool succeeded all the same
#[test]
fn a_left_part_is_never_made_again_and_its_key_is_remembered() {
    let parent = (
        "start.md",
        "---\ndo: {parallel: {a: {name: note, args: {n: 1}}, b: {name: wait}}}\nsave_to: r\non_signal: {stop: asks}\nto: end\n---\n",
    );
    let asks = ("asks.md", "---\ninput_type: text\nto: end\n---\nAnd now?\n");
    let end = ("end.md", "---\noutput: done\n---\n");
    let (stage, calls) = stage(&[parent, asks, end]);
    let store = Arc::new(MemoryStore::new());
    run_timeless(async {
        let sessions = stage.stored(&store);
        let running = Arc::clone(&sessions);
        let going = async move { running.start(start()).await };
        let signal = async {
            tokio::time::sleep(Duration::from_secs(5)).await;
            sessions.signal(&id(), &SignalName::from("stop")).await.unwrap();
        };
        tokio::join!(going, signal).0.unwrap();
    });
    assert_eq!(names(&calls), ["note"]);
    let history = run(async { History::open(&*store, &id()).await.unwrap() });
    let signalled = history.records.iter().position(|record| kind(&record.entry) == "signal").unwrap();
    for upto in signalled + 1..=history.records.len() {
        run_timeless(async {
            let cut = Arc::new(MemoryStore::new());
            let texts = history.records[..upto].iter().map(|record| serde_json::to_string(record).unwrap().into()).collect();
            let head = Head { next: upto as u64, standing: SessionStatus::WaitingForInput, ..history.head.clone() };
            cut.append(Append { session: id(), expected: 0, records: texts, head, snapshot: None }).await.unwrap();
            let sessions = stage.stored(&cut);
            let asked = sessions.resume(&id()).await.unwrap();
            assert_eq!(asked.node.as_str(), "asks");
            let left = sessions.look(&id(), |session| session.state().abandoned.to_vec()).unwrap();
            let left = left.iter().find(|left| &*left.tool == "wait").expect("its key is remembered");
            let late = ToolResult::new(left.id.clone(), ToolOutcome::Success(Value::Null));
            let forged = sessions.send(&id(), Input::Result(late.clone())).await;
            assert!(forged.is_err() || left.is_settled, "a binding is here: {forged:?}");
            let known = sessions.settle_call(&id(), late, None, RequestKey::by("op")).await;
            assert!(known.is_ok() || left.is_settled, "a late success is recorded: {known:?}");
        });
    }
    assert_eq!(names(&calls), ["note"], "nothing ran again");
}

#[test]
fn a_signal_to_a_child_that_ended_is_refused_by_name() {
    let (stage, _) = stage(&sides());
    run(async {
        let sessions = stage.sessions();
        let turn = sessions.start(start()).await.unwrap();
        let right = turn.others[0].child.clone().unwrap();
        sessions.send(&id(), Sent::from(text("2")).to(right.clone())).await.unwrap();
        let late = sessions.send(&id(), Sent::from(Input::Signal("skip".into())).to(right.clone())).await.unwrap_err();
        assert_eq!(late.to_string(), format!("the session has no child `{right}` that is alive"));
        let done = sessions.send(&id(), turn.answer(text("1"))).await.unwrap();
        assert_eq!(ended(&done).1.unwrap().to_json(), r#"{"a":1,"b":2}"#);
    });
}

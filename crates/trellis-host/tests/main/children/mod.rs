//! Calls of graphs as child sessions: how they begin, ask, end, are left, and what a store has of them (language 10.7 to 10.12, 5.4).

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use trellis_core::{Input, Mapping, NodeId, SessionId, SignalName, Start, ToolError, Value};
use trellis_host::{
    Clock, Entry, Reply, SendError, Sent, Stop, Turn,
    history::{History, Operator, replay},
    store::{Append, Head, MemoryStore, SessionStatus, SessionStore},
};

use crate::stage::{Stage, run, run_timeless};

mod asking;
mod attempts;
mod kept;
mod rough;

type Calls = Arc<Mutex<Vec<(String, String, Mapping)>>>;

fn id() -> SessionId {
    SessionId::from("local")
}

fn start() -> Start {
    Start { session: Some(id()), ..Start::default() }
}

/// Tools that note what they are called with: `note` succeeds, `undo` too, `break` fails, `wait` takes a minute.
fn stage(files: &[(&str, &str)]) -> (Stage, Calls) {
    let calls = Calls::default();
    let project =
        ("trellis.yaml", "bindings: {note: {function: note}, undo: {function: undo}, break: {function: break}, wait: {function: wait}}\n");
    let mut all = files.to_vec();
    if !files.iter().any(|(path, _)| *path == "trellis.yaml") {
        all.push(project);
    }
    let shared = Arc::clone(&calls);
    let stage = Stage::new(&all).function(move |mut bindings| {
        for tool in ["note", "undo", "break", "wait"] {
            let calls = Arc::clone(&shared);
            bindings = bindings.function_async(tool, move |context, args: Mapping| {
                let calls = Arc::clone(&calls);
                async move {
                    if tool == "wait" {
                        tokio::time::sleep(Duration::from_secs(60)).await;
                    }
                    calls.lock().unwrap().push((tool.to_owned(), context.idempotency_key.to_string(), args.clone()));
                    if tool == "break" { Err(ToolError::new("broken")) } else { Ok(Value::Map(args)) }
                }
            });
        }
        bindings.shared()
    });
    (stage, calls)
}

fn names(calls: &Calls) -> Vec<String> {
    calls.lock().unwrap().iter().map(|(tool, ..)| tool.clone()).collect()
}

fn ended(turn: &Turn) -> (String, Option<Value>) {
    match &turn.stop {
        Stop::Ended(ended) => (ended.reason.as_str().to_owned(), ended.output.clone()),
        stop => panic!("{stop:?}"),
    }
}

fn text(text: &str) -> Input {
    Input::Text(text.into())
}

fn said(turn: &Turn) -> Vec<&str> {
    turn.said.iter().map(|said| said.text.trim()).collect()
}

/// A parent that calls `ask` with a name, and ends with what that comes to.
const PARENT: (&str, &str) =
    ("start.md", "---\ndo: {graph: ask, args: {name: Ana}}\nsave_to: r\non_error: failed\non_denied: refused\nto: end\n---\nOne moment.\n");
const END: (&str, &str) = ("end.md", "---\noutput: \"{{ r }}\"\n---\n");
const FAILED: (&str, &str) = (
    "failed.md",
    "---\noutput: {kind: \"{{ sys.error.kind }}\", code: \"{{ sys.error.code | default('none') }}\", message: \"{{ sys.error.message }}\", data: \"{{ sys.error.data | default(none) }}\"}\n---\n",
);
const REFUSED: (&str, &str) = ("refused.md", "---\noutput: refused\n---\n");
const ASK: (&str, &str) =
    ("ask.md", "---\nrequired_context: [name]\ninput_type: int\nsave_to: n\nto: answered\n---\nHow old are you, {{ name }}?\n");
const ANSWERED: (&str, &str) = ("answered.md", "---\noutput: {name: \"{{ name }}\", n: \"{{ n }}\"}\n---\nThank you.\n");

// 10.7, 10.10, 10.12
#[test]
fn a_child_asks_for_itself_and_its_output_is_the_result() {
    let (stage, _) = stage(&[PARENT, END, FAILED, REFUSED, ASK, ANSWERED]);
    let store = Arc::new(MemoryStore::new());
    run(async {
        let sessions = stage.stored(&store);
        let asked = sessions.start(start()).await.unwrap();
        assert_eq!(said(&asked), ["One moment.", "How old are you, Ana?"]);
        let child = asked.child.clone().expect("a child asks");
        assert_eq!((asked.node.as_str(), asked.said[1].child.as_ref(), asked.said[0].child.as_ref()), ("ask", Some(&child), None));
        drop(sessions);

        // Another process goes on with it, as with any session.
        let sessions = stage.stored(&store);
        let again = sessions.resume(&id()).await.unwrap();
        assert_eq!((again.child.as_ref(), said(&again)), (Some(&child), vec!["One moment.", "How old are you, Ana?"]), "where both stand");
        let refused = sessions.send(&id(), again.answer(text("old"))).await.unwrap_err();
        assert!(matches!(refused, SendError::Refused(_)), "{refused:?}");
        let done = sessions.send(&id(), again.answer(text("42"))).await.unwrap();
        assert_eq!(ended(&done).1.unwrap().to_json(), r#"{"n":42,"name":"Ana"}"#);
        assert_eq!(said(&done), ["Thank you."]);

        let history = History::open(&*store, &id()).await.unwrap();
        let kinds: Vec<_> = history.records.iter().map(|record| (record.child.is_some(), kind(&record.entry))).collect();
        assert_eq!(
            kinds,
            [(false, "start"), (true, "start"), (true, "input"), (true, "end"), (false, "result"), (false, "end")],
            "one journal for all"
        );
        let replayed = replay(&stage.engine(), &history).unwrap();
        assert_eq!(replayed.unchecked, Vec::<u64>::new());
    });
}

fn kind(entry: &Entry) -> &'static str {
    match entry {
        Entry::Start { .. } => "start",
        Entry::Input { .. } => "input",
        Entry::Result { .. } => "result",
        Entry::Leave { .. } => "leave",
        Entry::End { .. } => "end",
        Entry::Signal { .. } => "signal",
        _ => "other",
    }
}

// 10.7: what a child comes to that does not finish
#[test]
fn an_end_other_than_success_is_the_calls_error_or_denial() {
    let of = |files: &[(&str, &str)]| {
        let mut all = vec![PARENT, END, FAILED, REFUSED];
        all.extend(files);
        let (stage, calls) = stage(&all);
        let turn = run(async { stage.sessions().start(start()).await.unwrap() });
        (ended(&turn).1.unwrap().to_json(), names(&calls))
    };
    let ask = |keys: &str| format!("---\nrequired_context: [name]\n{keys}\n---\n");
    let broken = ask("do: {name: break, retry: {max: 1}}\nto: answered");
    let other = ("answered.md", "---\noutput: {}\n---\n");
    assert_eq!(
        of(&[("ask.md", &broken), other]).0,
        r#"{"code":"tool-error","data":{"ended":"failed","error":{"kind":"error","message":"broken","node":"ask","tool":"break"},"node":"ask"},"kind":"error","message":"`ask`: `break` failed: broken"}"#
    );
    let decided = ask("end: failed\nreason: \"not today\"\noutput: {n: 1}");
    assert_eq!(
        of(&[("ask.md", &decided)]).0,
        r#"{"code":"end-failed","data":{"ended":"failed","node":"ask","output":{"n":1}},"kind":"error","message":"not today"}"#
    );
    // A start that is refused is an error of kind `schema`.
    let unfit = ("ask.md", "---\ncontext_schema: {name: {type: string, pattern: \"^B\"}}\noutput: {}\n---\n");
    let named = ("start.md", "---\ninput_type: text\nsave_to: name\nto: call\n---\nName?\n");
    let call = ("call.md", "---\ndo: {graph: ask, args: {name: \"{{ name }}\"}}\nsave_to: r\non_error: failed\nto: end\n---\n");
    let (stage, _) = stage(&[named, call, unfit, END, FAILED]);
    run(async {
        let sessions = stage.sessions();
        sessions.start(start()).await.unwrap();
        let got = ended(&sessions.send(&id(), text("Ana")).await.unwrap()).1.unwrap().to_json();
        assert!(got.contains(r#""kind":"schema""#) && got.contains("does not match"), "{got}");
    });
}

// 10.6, 10.7: a child that failed hands over what it has not undone, a finished one is one effect
#[test]
fn what_a_failed_child_did_is_undone_by_the_rollback_of_its_caller() {
    let parent = ("start.md", "---\ndo: {graph: work}\non_error: rollback\nto: end\n---\n");
    let work = ("work.md", "---\ndo: {name: note, args: {n: 1}}\nundo: {name: undo, args: {n: 1}}\nto: deeper\n---\n");
    let deeper = ("deeper.md", "---\ndo: {graph: deep}\nto: second\n---\n");
    let deep = ("deep.md", "---\ndo: {name: note, args: {n: 2}}\nundo: {name: undo, args: {n: 2}}\nto: deep_end\n---\n");
    let deep_end = ("deep_end.md", "---\noutput: done\n---\n");
    let second = ("second.md", "---\ndo: {name: note, args: {n: 3}}\nundo: {name: undo, args: {n: 3}}\nto: last\n---\n");
    let last = ("last.md", "---\ndo: {name: break}\nto: end\n---\n");
    let end = ("end.md", "---\noutput: done\n---\n");
    let (stage, calls) = stage(&[parent, work, deeper, deep, deep_end, second, last, end]);
    let store = Arc::new(MemoryStore::new());
    run(async {
        let sessions = stage.stored(&store);
        let turn = sessions.start(start()).await.unwrap();
        assert_eq!(ended(&turn).0, "rolled_back");
        let undone: Vec<_> =
            calls.lock().unwrap().iter().filter(|(tool, ..)| tool == "undo").map(|(.., args)| Value::Map(args.clone()).to_json()).collect();
        assert_eq!(undone, [r#"{"n":3}"#, r#"{"n":1}"#], "newest first; the child that finished is none of them");
        let history = History::open(&*store, &id()).await.unwrap();
        assert!(history.records.iter().any(|record| matches!(&record.entry, Entry::Leave { children } if children.len() == 1)));
        replay(&stage.engine(), &history).unwrap();
    });
}

/// Two children that ask side by side.
const SIDES: [(&str, &str); 4] = [
    (
        "start.md",
        "---\ndo: {parallel: {a: {graph: left}, b: {graph: right}}}\nsave_to: r\non_error: failed\non_signal: {stop: stopped}\nto: end\n---\n",
    ),
    ("left.md", "---\ninput_type: int\nsave_to: n\nto: told\n---\nLeft?\n"),
    ("right.md", "---\ninput_type: int\nsave_to: n\non_signal: {skip: told_nothing}\nto: told\n---\nRight?\n"),
    ("told.md", "---\noutput: \"{{ n }}\"\n---\n"),
];
const NOTHING: (&str, &str) = ("told_nothing.md", "---\noutput: nothing\n---\n");
const STOPPED: (&str, &str) = ("stopped.md", "---\noutput: stopped\n---\n");

fn sides() -> Vec<(&'static str, &'static str)> {
    SIDES.into_iter().chain([END, FAILED, NOTHING, STOPPED]).collect()
}

// 10.10: the first that waits is the stop, `to` addresses another
#[test]
fn children_ask_in_the_order_of_their_branches_and_each_can_be_answered() {
    let (stage, _) = stage(&sides());
    run(async {
        let sessions = stage.sessions();
        let turn = sessions.start(start()).await.unwrap();
        assert_eq!((turn.node.as_str(), said(&turn)), ("left", vec!["Left?", "Right?"]));
        let [other] = &turn.others[..] else { panic!("{turn:?}") };
        assert_eq!(other.node.as_str(), "right");
        let right = other.child.clone().unwrap();
        let unknown = sessions.send(&id(), Sent::from(text("1")).to("nobody".into())).await.unwrap_err();
        assert_eq!(unknown, SendError::UnknownChild("nobody".into()));

        let after = sessions.send(&id(), Sent::from(text("2")).to(right)).await.unwrap();
        assert_eq!((after.node.as_str(), after.others.len()), ("left", 0));
        // The answer to the question that was shown before the other was answered is still taken.
        let done = sessions.send(&id(), turn.answer(text("1"))).await.unwrap();
        assert_eq!(ended(&done).1.unwrap().to_json(), r#"{"a":1,"b":2}"#);
    });
}

// 10.11: innermost first, then outwards
#[test]
fn a_signal_goes_to_the_innermost_that_takes_it() {
    let (stage, _) = stage(&sides());
    run(async {
        let sessions = stage.sessions();
        let turn = sessions.start(start()).await.unwrap();
        let skip = SignalName::from("skip");
        sessions.signal(&id(), &skip).await.unwrap();
        let after = sessions.resume(&id()).await.unwrap();
        assert_eq!((after.node.as_str(), after.others.len()), ("left", 0), "`right` took it");
        assert!(sessions.signal(&id(), &skip).await.is_err(), "nobody is there to take it any more");
        sessions.signal(&id(), &"stop".into()).await.unwrap();
        let done = sessions.resume(&id()).await.unwrap();
        assert_eq!(ended(&done).1, Some(Value::text("stopped")), "the caller takes what no child takes");
        // A left child takes nothing else.
        let late = sessions.send(&id(), turn.answer(text("1"))).await.unwrap_err();
        assert!(matches!(late, SendError::UnknownChild(_) | SendError::Stale(_) | SendError::Refused(_)), "{late:?}");
    });
}

// 10.9: a timeout of the call leaves the child, and what it did is the caller's
#[test]
fn a_timeout_leaves_a_child_with_what_it_did() {
    let parent = ("start.md", "---\ndo: {graph: work, timeout: 10s}\non_timeout: rollback\nto: end\n---\n");
    let work = ("work.md", "---\ndo: {name: note, args: {n: 1}}\nundo: {name: undo, args: {n: 1}}\nto: waits\n---\n");
    let waits = ("waits.md", "---\ndo: {name: wait}\nto: end\n---\n");
    let end = ("end.md", "---\noutput: done\n---\n");
    let (stage, calls) = stage(&[parent, work, waits, end]);
    let turn = run_timeless(async { stage.sessions().start(start()).await.unwrap() });
    assert_eq!((ended(&turn).0.as_str(), names(&calls)), ("rolled_back", vec!["note".to_owned(), "undo".to_owned()]));
}

// 10.9, 10.3: the first success leaves the other branch
#[test]
fn the_branch_that_decides_leaves_the_children_of_the_others() {
    let parent =
        ("start.md", "---\ndo: {parallel: {a: {graph: work}, b: {name: note, args: {n: 2}}}, join: any}\nsave_to: r\nto: end\n---\n");
    let work = ("work.md", "---\ninput_type: text\nsave_to: n\nto: told\n---\nWell?\n");
    let told = ("told.md", "---\noutput: \"{{ n }}\"\n---\n");
    let end = ("end.md", "---\noutput: \"{{ r.b | default(0) }}\"\n---\n");
    let (stage, _) = stage(&[parent, work, told, end]);
    let turn = run(async { stage.sessions().start(start()).await.unwrap() });
    assert_eq!(ended(&turn).1.unwrap().to_json(), r#"{"n":2}"#);
}

// 10.8: a child that calls itself comes to an end
#[test]
fn children_in_children_are_bounded() {
    let project = ("trellis.yaml", "limits: {nested_children: 5}\nbindings: {note: {function: note}}\n");
    let parent = ("start.md", "---\ndo: {graph: again}\nsave_to: r\non_error: failed\nto: end\n---\n");
    let again = ("again.md", "---\ndo: {graph: again}\nsave_to: r\non_error: fail\nto: end\n---\n");
    let (stage, _) = stage(&[project, parent, again, END, FAILED]);
    let turn = run(async { stage.sessions().start(start()).await.unwrap() });
    let output = ended(&turn).1.unwrap().to_json();
    assert!(output.contains("there would be more than 5 children in children (`limits.nested_children`)"), "{output}");
}

// 10.7, 10.8: an error within errors tells its reason, however deep
#[test]
fn the_reason_of_the_innermost_child_reaches_the_root() {
    let (stage, _) = stage(&[("start.md", "---\ndo: {graph: start}\nsave_to: r\nto: end\n---\n"), END]);
    run(async {
        let turn = stage.sessions().start(start()).await.unwrap();
        let Stop::Ended(ended) = &turn.stop else { panic!("{:?}", turn.stop) };
        let message = ended.message.as_deref().unwrap_or_default();
        assert!(
            message.ends_with("`graph` failed: there would be more than 64 children in children (`limits.nested_children`)"),
            "{message}"
        );
    });
}

// 5.6, 11.5: an approval inside of a child, given elsewhere
#[test]
fn a_held_call_of_a_child_is_approved_from_elsewhere() {
    let parent = ("start.md", "---\ndo: {parallel: {a: {graph: work}, b: {graph: work}}}\nsave_to: r\nto: end\n---\n");
    let work = ("work.md", "---\ndo: {name: note, args: {n: 1}, approve: \"Really?\"}\nsave_to: r\nto: end\n---\n");
    let (stage, calls) = stage(&[parent, work, END]);
    let store = Arc::new(MemoryStore::new());
    run(async {
        let sessions = stage.stored(&store);
        let turn = sessions.start(start()).await.unwrap();
        assert!(matches!(turn.stop, Stop::Approve { .. }) && turn.others.len() == 1, "{turn:?}");
        let engine = stage.engine();
        let operator = Operator::new(&*store, &engine, "graph", Clock::fixed(2000));
        let several = operator.approve(&id(), None).await.unwrap_err().to_string();
        assert!(several.contains("several calls wait: name one of"), "{several}");
        for waiting in turn.others.iter().chain([&trellis_host::sessions::Waiting { stop: turn.stop.clone(), ..turn.others[0].clone() }]) {
            let Stop::Approve { call, .. } = &waiting.stop else { panic!("{waiting:?}") };
            let (held, _) = operator.approve(&id(), Some(call.id.as_str())).await.unwrap();
            assert!(held.child.is_some());
        }
        let done = sessions.resume(&id()).await.unwrap();
        assert_eq!(ended(&done).0, "finished");
        assert_eq!(names(&calls), ["note", "note"]);
    });
}

// 10.7: a denial in a child that nothing there handles
#[test]
fn a_denial_in_a_child_is_the_calls_denial() {
    let ask = ("ask.md", "---\nrequired_context: [name]\ndo: {name: note, approve: \"Really?\"}\nto: answered\n---\n");
    let answered = ("answered.md", "---\noutput: {}\n---\n");
    let (stage, calls) = stage(&[PARENT, END, FAILED, REFUSED, ask, answered]);
    run(async {
        let sessions = stage.sessions();
        sessions.start(start()).await.unwrap();
        let done = sessions.send(&id(), Reply::Approve { call: None, yes: false }).await.unwrap();
        assert_eq!((ended(&done).1, names(&calls)), (Some(Value::text("refused")), Vec::new()));
    });
}

// 9.3 of the rules for children: a predicate that a child needs to begin is asked for first
#[test]
fn a_predicate_is_asked_before_a_child_begins() {
    let project = ("trellis.yaml", "predicates: {sunny: {needs: [day]}}\nbindings: {note: {function: note}}\n");
    let parent = ("start.md", "---\ndo: {graph: work, args: {day: Monday}}\nsave_to: r\non_error: failed\nto: end\n---\n");
    let work = ("work.md", "---\nrequired_context: [day]\nassert: [sunny]\noutput: \"{{ day }}\"\n---\n");
    let (stage, _) = stage(&[project, parent, work, END, FAILED]);
    run(async {
        let sessions = stage.sessions();
        let turn = sessions.start(start()).await.unwrap();
        let Stop::Predicate { id: asked, name, context } = &turn.stop else { panic!("{turn:?}") };
        assert_eq!((&**name, context.get("day")), ("sunny", Some(&Value::text("Monday"))));
        let done = sessions.send(&id(), Reply::Predicate { id: Arc::clone(asked), holds: true }).await.unwrap();
        assert_eq!(ended(&done).1, Some(Value::text("Monday")));
    });
}

// JSON Lines: what a child says and asks names it
#[test]
fn lines_of_a_child_name_it() {
    let (stage, _) = stage(&[PARENT, END, FAILED, REFUSED, ASK, ANSWERED]);
    let (outcome, lines) = stage.json("{\"input\": \"x\"}\n{\"input\": 42}\n");
    assert_eq!(outcome.output.unwrap().to_json(), r#"{"n":42,"name":"Ana"}"#);
    let line = |at: &str| lines.iter().find(|line| line.contains(at)).unwrap_or_else(|| panic!("{at}: {lines:#?}"));
    assert!(line("How old").contains("\"child\":"), "{}", line("How old"));
    assert!(line("REQUEST_INPUT").contains("\"child\":") && line("Thank you").contains("\"child\":"));
    assert!(!line("One moment").contains("\"child\":") && !line("\"END\"").contains("\"child\":"));
    let result = line("TOOL_RESULT");
    assert!(result.contains(r#""n":42"#) && !result.contains("\"child\":"), "{result}");
    let call = line("CALL_TOOL");
    assert!(call.contains("\"graph\"") && !call.contains("\"child\":"), "{call}");
}

// 5.4: of the graph-wide keys only `before_each` and `retry` apply to a child of the same graph
#[test]
fn defaults_of_its_graph_do_not_apply_to_a_child() {
    let project = ("trellis.yaml", "on_error: failed\nbindings: {break: {function: break}}\n");
    let parent = ("start.md", "---\non_signal_default: {stop: stopped}\ndo: {graph: work}\nsave_to: r\nto: end\n---\n");
    let work = ("work.md", "---\ndo: {name: break}\nto: worked\n---\n");
    let worked = ("worked.md", "---\noutput: worked\n---\n");
    let (stage, _) = stage(&[project, parent, work, worked, END, FAILED, STOPPED]);
    let turn = run(async { stage.sessions().start(start()).await.unwrap() });
    let output = ended(&turn).1.unwrap().to_json();
    assert!(output.contains(r#""code":"tool-error""#), "the default is the caller's own: {output}");
}

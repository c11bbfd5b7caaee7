//! Policies over the calls of sessions: who decides, what is recorded, and what nobody is asked twice (language 11.3, 11.4).

use std::{
    future::pending,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use trellis_core::{SessionId, Start, ToolError, Value};
use trellis_host::{
    Bindings, Clock, Policy, Reply, Sessions, Stop, Turn,
    assembly::Assembly,
    binding::Host,
    environment::Environment,
    history::Operator,
    store::{MemoryStore, Query, SessionStore, Which},
};

use crate::stage::{Stage, program, run, run_timeless};

const PAY: &str = "---\ndo: {name: pay, args: {amount: 12}}\nsave_to: done\non_error: failed\non_denied: denied\nto: end\n---\n";
const END: (&str, &str) = ("end.md", "---\noutput: \"{{ done }}\"\n---\n");
const FAILED: (&str, &str) = ("failed.md", "---\noutput: \"{{ sys.error.code | default('none') }}: {{ sys.error.message }}\"\n---\n");
const DENIED: (&str, &str) = ("denied.md", "---\noutput: \"denied\"\n---\n");

/// A graph that pays once, with a policy; `pay` and `gate` are functions.
fn graph(policy: &str) -> [(&'static str, String); 5] {
    let bindings = "bindings:\n  pay: {function: {}, effect: none}\n  gate: {function: {}, effect: none}\n";
    let owned = |(path, text): (&'static str, &str)| (path, text.to_owned());
    [("trellis.yaml", format!("name: shop\n{bindings}{policy}")), ("start.md", PAY.to_owned()), owned(END), owned(FAILED), owned(DENIED)]
}

fn stage(policy: &str) -> Stage {
    let graph = graph(policy);
    let files: Vec<_> = graph.iter().map(|(path, text)| (*path, text.as_str())).collect();
    Stage::new(&files)
}

/// The stage with a `gate` that answers so, and how often it and `pay` were called.
fn gated(policy: &str, answer: &'static str) -> (Stage, Arc<AtomicUsize>, Arc<AtomicUsize>) {
    let (asked, paid) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (asks, pays) = (Arc::clone(&asked), Arc::clone(&paid));
    let stage = stage(policy).function(move |bindings| {
        let (asks, pays) = (Arc::clone(&asks), Arc::clone(&pays));
        let bindings = bindings.function("gate", move |_, _| {
            asks.fetch_add(1, Ordering::Relaxed);
            match answer {
                "fails" => Err(ToolError::new("the gate is shut")),
                answer => Ok(Value::from_json(answer).unwrap()),
            }
        });
        bindings.function("pay", move |_, _| {
            pays.fetch_add(1, Ordering::Relaxed);
            Ok(Value::text("paid"))
        })
    });
    (stage, asked, paid)
}

fn id() -> SessionId {
    SessionId::from("local")
}

fn output(turn: &Turn) -> String {
    match &turn.stop {
        Stop::Ended(ended) => ended.output.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned(),
        stop => panic!("{stop:?}"),
    }
}

/// Returns the result of a session under this policy: its output, or `held`.
fn outcome(policy: &str, answer: &'static str) -> String {
    let (stage, ..) = gated(policy, answer);
    let turn = run(stage.sessions().start(Start::default())).unwrap();
    match turn.stop {
        Stop::Approve { .. } => "held".to_owned(),
        _ => output(&turn),
    }
}

async fn kinds(store: &Arc<MemoryStore>) -> Vec<String> {
    let rows = store.records(&id(), 0, 100).await.unwrap();
    let kind = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap()["kind"].as_str().unwrap().to_owned();
    rows.iter().map(|row| kind(row.text.as_ref().unwrap())).collect()
}

// language 11.3
#[test]
fn the_first_provider_that_decides_wins() {
    let none = "{}";
    assert_eq!(outcome("", none), "paid");
    assert_eq!(outcome("policy: [{allow: ['pa*']}, {block: ['*']}]\n", none), "paid");
    assert_eq!(outcome("policy: [{block: ['*']}, {allow: ['pa*']}]\n", none), "denied");
    assert_eq!(outcome("policy: [{ask: [pay]}]\n", none), "held");
    assert_eq!(outcome("policy: [{allow: [other], else: ask}]\n", none), "held");
    assert_eq!(outcome("policy: [{allow: [other], else: block}]\n", none), "denied");
    assert_eq!(outcome("policy: [{allow: [other]}, {ask: [other]}]\n", none), "paid", "nobody decides");
    let large = "policy: [{block: [{tool: pay, args: {properties: {amount: {minimum: 13}}}}]}]\n";
    assert_eq!(outcome(large, none), "paid");
    assert_eq!(outcome(&large.replace("13", "12"), none), "denied");
}

// language 11.3: a policy tool that fails, loops, answers MAYBE
#[test]
fn a_tool_decides_and_one_that_cannot_holds_the_call() {
    let asks = "policy: [{tool: gate}]\n";
    for (answer, expected) in [
        (r#"{"decision":"AUTO_RUN"}"#, "paid"),
        (r#"{"mode":"BLOCK","notes":["too late"]}"#, "denied"),
        (r#"{"decision":null,"mode":"ASK"}"#, "held"),
        ("fails", "held"),
        (r#"{"decision":"MAYBE"}"#, "held"),
        (r#"{"decision":"auto_run"}"#, "held"),
        (r#"{"decision":7}"#, "held"),
        ("{}", "paid"),
        ("null", "paid"),
    ] {
        assert_eq!(outcome(asks, answer), expected, "{answer}");
    }
    assert_eq!(outcome("policy: [{tool: gate}, {block: ['*']}]\n", "{}"), "denied", "it passed on");
    assert_eq!(outcome("policy: [{block: [gate]}, {tool: gate}]\n", r#"{"decision":"AUTO_RUN"}"#), "paid", "no policy is asked about it");
    let looping = stage(asks).function(|bindings| {
        let bindings = bindings.function_async("gate", |_, _| pending());
        bindings.function("pay", |_, _| Ok(Value::text("paid")))
    });
    let turn = run_timeless(looping.sessions().start(Start::default())).unwrap();
    assert!(matches!(turn.stop, Stop::Approve { .. }), "{:?}", turn.stop);
}

#[test]
fn a_tool_gets_the_call_and_the_session() {
    let seen = Arc::new(Mutex::new(None));
    let sees = Arc::clone(&seen);
    let stage = stage("policy: [{tool: gate}]\n").function(move |bindings| {
        let sees = Arc::clone(&sees);
        let bindings = bindings.function("gate", move |_, args| {
            *sees.lock().unwrap() = Some(Value::Map(args).to_json());
            Ok(Value::Null)
        });
        bindings.function("pay", |_, _| Ok(Value::text("paid")))
    });
    run(stage.sessions().start(Start::default())).unwrap();
    let expected = r#"{"args":{"amount":12},"node":"start","session":"local","tool":"pay"}"#;
    assert_eq!(seen.lock().unwrap().as_deref(), Some(expected));
}

/// Sessions of a program whose variables are these.
fn forced(value: &'static str) -> Sessions {
    let graph = graph("policy: [{forced: {env: FORCE}}, {block: ['*']}]\n");
    let files: Vec<_> = graph.iter().map(|(path, text)| (*path, text.as_str())).collect();
    let program = program(&files);
    let host = Host::new().environment(Environment::new(move |name| (name == "FORCE").then(|| value.to_owned()))).clock(Clock::fixed(0));
    let assembly = Assembly::new().host(host).functions(|bindings: Bindings| {
        let bindings = bindings.function("gate", |_, _| Ok(Value::Null));
        bindings.function("pay", |_, _| Ok(Value::text("paid")))
    });
    let assembled = assembly.assemble(Some(&program), program.documents(), std::path::Path::new("."));
    assembly.sessions(assembled.runnable.unwrap(), None).unwrap()
}

// language 11.3: FORCE junk
#[test]
fn a_variable_forces_a_decision_and_junk_in_it_is_an_error() {
    let outcome = |value| {
        let turn = run(forced(value).start(Start::default())).unwrap();
        if matches!(turn.stop, Stop::Approve { .. }) { "held".to_owned() } else { output(&turn) }
    };
    assert_eq!(outcome("AUTO_RUN"), "paid");
    assert_eq!(outcome("ASK"), "held");
    assert_eq!(outcome("BLOCK"), "denied");
    assert_eq!(outcome(""), "denied", "it is not set");
    assert_eq!(outcome("run"), "policy: `FORCE` holds AUTO_RUN, ASK or BLOCK, not `run`");
}

// language 11.3: `--yes` approves ASK, never BLOCK
#[test]
fn a_yes_to_everything_is_a_yes_to_what_is_held_and_to_nothing_that_is_denied() {
    let outcome = |policy: &str| {
        let (stage, ..) = gated(policy, "{}");
        output(&run(stage.policy(Policy::new().approve_all(true)).sessions().start(Start::default())).unwrap())
    };
    assert_eq!(outcome("policy: [{ask: [pay]}]\n"), "paid");
    assert_eq!(outcome("policy: [{block: [pay]}]\n"), "denied");
}

#[test]
fn what_was_decided_is_stored_before_the_call_and_nobody_is_asked_again() {
    let (stage, asked, paid) = gated("policy: [{tool: gate}]\n", r#"{"decision":"ASK","notes":["a person must look"]}"#);
    let store = Arc::new(MemoryStore::new());
    run(async {
        let turn = stage.stored(&store).start(Start::default()).await.unwrap();
        assert!(matches!(turn.stop, Stop::Approve { .. }));
        assert_eq!((kinds(&store).await, asked.load(Ordering::Relaxed)), (vec!["start".to_owned(), "policy".to_owned()], 1));
        // Another process: it holds the call, and asks nobody.
        let sessions = stage.stored(&store);
        assert!(matches!(sessions.view(&id()).await.unwrap().stop, Stop::Approve { .. }));
        let turn = sessions.resume(&id()).await.unwrap();
        assert!(matches!(turn.stop, Stop::Approve { .. }));
        let turn = sessions.send(&id(), Reply::Approve { call: None, yes: true }).await.unwrap();
        assert_eq!(output(&turn), "paid");
        assert_eq!((asked.load(Ordering::Relaxed), paid.load(Ordering::Relaxed)), (1, 1));
        assert_eq!(kinds(&store).await, ["start", "policy", "approve", "result", "end"]);
    });
}

#[test]
fn a_call_that_was_cut_off_runs_again_without_another_question() {
    let asked = Arc::new(AtomicUsize::new(0));
    let hanging = |hangs: bool, asked: Arc<AtomicUsize>| {
        stage("policy: [{tool: gate}]\n").function(move |bindings| {
            let asked = Arc::clone(&asked);
            let bindings = bindings.function("gate", move |_, _| {
                asked.fetch_add(1, Ordering::Relaxed);
                Ok(Value::from_json(r#"{"decision":"AUTO_RUN"}"#).unwrap())
            });
            bindings.function_async("pay", move |_, _| async move {
                if hangs {
                    pending::<()>().await;
                }
                Ok(Value::text("paid"))
            })
        })
    };
    let store = Arc::new(MemoryStore::new());
    run_timeless(async {
        let sessions = hanging(true, Arc::clone(&asked)).stored(&store);
        let cut = tokio::time::timeout(std::time::Duration::from_secs(5), sessions.start(Start::default())).await;
        assert!(cut.is_err());
        assert_eq!(kinds(&store).await, ["start", "policy"]);
        let turn = hanging(false, Arc::clone(&asked)).stored(&store).resume(&id()).await.unwrap();
        assert_eq!((output(&turn), asked.load(Ordering::Relaxed)), ("paid".to_owned(), 1));
    });
}

#[test]
fn a_call_that_a_list_holds_can_be_approved_from_elsewhere() {
    let (stage, _, paid) = gated("policy: [{ask: [pay]}]\n", "{}");
    let store = Arc::new(MemoryStore::new());
    run(async {
        let sessions = stage.stored(&store);
        sessions.start(Start::default()).await.unwrap();
        let engine = stage.engine();
        Operator::new(&*store, &engine, "graph", Clock::fixed(2000)).approve(&id(), None).await.unwrap();
        assert_eq!(output(&sessions.resume(&id()).await.unwrap()), "paid");
        assert_eq!(paid.load(Ordering::Relaxed), 1);
        assert_eq!(store.list(Query { graph: None, which: Which::Newest, after: None, limit: 10 }).await.unwrap().len(), 1);
    });
}

#[test]
fn every_part_of_a_call_is_decided_about() {
    let start = "---\ndo:\n  parallel:\n    one: {name: pay, args: {amount: 1}, save_to: one}\n    two: {name: pay, args: {amount: 20}, save_to: two}\n  on_error: collect\nto: end\n---\n";
    let end = ("end.md", "---\noutput: \"{{ one | default('none') }} {{ two | default('none') }}\"\n---\n");
    let policy = "policy: [{tool: gate}, {block: [{tool: pay, args: {properties: {amount: {minimum: 10}}}}]}]\n";
    let project = graph(policy)[0].1.clone();
    let asked = Arc::new(AtomicUsize::new(0));
    let asks = Arc::clone(&asked);
    let stage = Stage::new(&[("trellis.yaml", &project), ("start.md", start), end]).function(move |bindings| {
        let asks = Arc::clone(&asks);
        let bindings = bindings.function("gate", move |_, _| {
            asks.fetch_add(1, Ordering::Relaxed);
            Ok(Value::Null)
        });
        bindings.function("pay", |_, _| Ok(Value::text("paid")))
    });
    let store = Arc::new(MemoryStore::new());
    run(async {
        let turn = stage.stored(&store).start(Start::default()).await.unwrap();
        assert_eq!((output(&turn), asked.load(Ordering::Relaxed)), ("paid none".to_owned(), 2));
        assert_eq!(kinds(&store).await.iter().filter(|kind| *kind == "policy").count(), 2);
    });
}

/// Lines that a function noted.
type Notes = Arc<Mutex<Vec<String>>>;

/// A gate that passes on and notes what it is asked about, `pay` and `refund`, which are counted.
fn noting(files: &[(&str, &str)]) -> (Stage, Notes, Notes) {
    let (asked, called) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(Vec::new())));
    let (asks, calls) = (Arc::clone(&asked), Arc::clone(&called));
    let stage = Stage::new(files).function(move |mut bindings| {
        for tool in ["pay", "refund"] {
            let calls = Arc::clone(&calls);
            bindings = bindings.function(tool, move |_, _| {
                calls.lock().unwrap().push(tool.to_owned());
                Ok(Value::text("done"))
            });
        }
        let asks = Arc::clone(&asks);
        bindings.function("gate", move |_, args| {
            asks.lock().unwrap().push(args.get("tool").and_then(Value::as_str).unwrap_or_default().to_owned());
            Ok(Value::Null)
        })
    });
    (stage, asked, called)
}

const FUNCTIONS: &str = "bindings:\n  pay: {function: {}}\n  refund: {function: {}, effect: none}\n  gate: {function: {}, effect: none}\n";

// language 11.3: one decision per call key, also for undos
#[test]
fn an_undo_is_decided_about_like_any_other_call() {
    let start = ("start.md", "---\ndo: {name: pay, args: {n: 1}}\nundo: {name: refund, args: {n: 1}}\nto: rollback\n---\n");
    let over = ("over.md", "---\noutput: \"{{ sys.rollback.failed | length }} failed\"\n---\n");
    let with = |policy: &str| {
        let project = format!("name: shop\non_rolled_back: over\n{FUNCTIONS}policy: {policy}\n");
        noting(&[("trellis.yaml", &project), start, over])
    };
    run(async {
        let (stage, asked, called) = with("[{tool: gate}]");
        assert_eq!(output(&stage.sessions().start(Start::default()).await.unwrap()), "0 failed");
        assert_eq!(*asked.lock().unwrap(), ["pay", "refund"]);
        assert_eq!(*called.lock().unwrap(), ["pay", "refund"]);

        let (stage, _, called) = with("[{block: [refund]}]");
        assert_eq!(output(&stage.sessions().start(Start::default()).await.unwrap()), "1 failed");
        assert_eq!(*called.lock().unwrap(), ["pay"]);

        let (stage, asked, called) = with("[{tool: gate}, {ask: [refund]}]");
        let sessions = stage.sessions();
        let held = sessions.start(Start::default()).await.unwrap();
        assert!(matches!(&held.stop, Stop::Approve { call, .. } if &*call.name == "refund"), "{held:?}");
        assert_eq!(*called.lock().unwrap(), ["pay"]);
        let done = sessions.send(&id(), Reply::Approve { call: None, yes: true }).await.unwrap();
        assert_eq!(output(&done), "0 failed");
        assert_eq!((asked.lock().unwrap().len(), called.lock().unwrap().len()), (2, 2), "an approval does not ask again");
    });
}

// language 11.3: `graph:PATH` names children, and calls inside of them are decided about by the same list
#[test]
fn a_pattern_names_children_by_their_path() {
    let start = ("start.md", "---\ndo: {graph: inner/work}\nsave_to: done\non_denied: denied\nto: end\n---\n");
    let work = ("inner/work.md", "---\ndo: pay\nsave_to: paid\nto: told\n---\n");
    let told = ("inner/told.md", "---\noutput: \"{{ paid }}\"\n---\n");
    let with = |policy: &str| {
        let project = format!("name: shop\n{FUNCTIONS}policy: {policy}\n");
        noting(&[("trellis.yaml", &project), start, work, told, END, DENIED])
    };
    run(async {
        for (policy, expected, calls) in [
            ("[{block: [\"graph:inner/*\"]}]", "denied", 0),
            ("[{block: [\"graph:other/*\", \"inner/*\", work]}]", "done", 1),
            ("[{allow: [\"graph:inner/work\"], else: block}]", "denied", 0),
            ("[{allow: [\"graph:inner/work\", pay], else: block}]", "done", 1),
        ] {
            let (stage, _, called) = with(policy);
            let turn = stage.sessions().start(Start::default()).await.unwrap();
            assert_eq!((output(&turn).as_str(), called.lock().unwrap().len()), (expected, calls), "{policy}");
        }
        let (stage, asked, called) = with("[{tool: gate}, {ask: [\"graph:*\"]}]");
        let sessions = stage.sessions();
        let held = sessions.start(Start::default()).await.unwrap();
        assert!(matches!(held.stop, Stop::Approve { .. }) && held.child.is_none(), "{held:?}");
        assert!(called.lock().unwrap().is_empty(), "nothing of the child ran");
        let done = sessions.send(&id(), Reply::Approve { call: None, yes: true }).await.unwrap();
        assert_eq!(output(&done), "done");
        assert_eq!(*asked.lock().unwrap(), ["graph:inner/work", "pay"]);
    });
}

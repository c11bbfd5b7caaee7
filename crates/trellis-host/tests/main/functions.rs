//! The context of functions and interceptors, and the results of their panics.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use trellis_core::{Input, SessionId, Start, ToolError, ToolOutcome, Value};
use trellis_host::{
    Bindings, CallContext, Interceptor, SessionEvent, Sessions, Stop, Turn, Verdict,
    binding::{Answer, Binding, Job, Pending},
    interceptor::{Deciding, Intercepted},
    sessions::Drive,
    store::{MemoryStore, SessionStore},
};

use crate::stage::{Stage, run, run_timeless};

const WORK: &[(&str, &str)] = &[
    ("trellis.yaml", "name: shop\n"),
    (
        "start.md",
        "---\ntools: [{name: work, effect: none}]\ndo: {name: work, args: {n: 1}, timeout: 5s, retry: {max: 2, base: 1ms}}\nsave_to: done\non_error: failed\nto: end\n---\n",
    ),
    ("end.md", "---\noutput: \"{{ done }}\"\n---\n"),
    ("failed.md", "---\noutput: \"{{ sys.error.message }}\"\n---\n"),
];

fn id() -> SessionId {
    SessionId::from("local")
}

fn output(turn: &Turn) -> Value {
    match &turn.stop {
        Stop::Ended(ended) => ended.output.clone().unwrap(),
        stop => panic!("{stop:?}"),
    }
}

/// Returns the results of both kinds of functions.
fn with(function: impl Fn(&CallContext) -> Result<Value, ToolError> + Clone + Send + Sync + 'static) -> [Value; 2] {
    let here = function.clone();
    let blocking = Stage::new(WORK).function(move |bindings| {
        let function = function.clone();
        bindings.function("work", move |context, _| function(context))
    });
    let asynchronous = Stage::new(WORK).function(move |bindings| {
        let function = here.clone();
        bindings.function_async("work", move |context, _| {
            let function = function.clone();
            async move { function(&context) }
        })
    });
    [blocking, asynchronous].map(|stage| output(&run(stage.sessions().start(Start::default())).unwrap()))
}

#[test]
fn a_function_knows_its_session_graph_and_call_and_one_key_for_all_attempts() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let calls = Arc::clone(&seen);
    let outputs = with(move |context| {
        calls.lock().unwrap().push(context.clone());
        if context.attempt == 1 { Err(ToolError::new("busy")) } else { Ok(Value::text(&*format!("{} {}", context.session, context.graph))) }
    });
    assert_eq!(outputs, ["local shop", "local shop"].map(Value::text));
    for attempts in seen.lock().unwrap().chunks(2) {
        let [one, two] = attempts else { panic!() };
        assert_eq!((one.attempt, two.attempt, one.node.as_str()), (1, 2, "start"));
        assert_eq!(one.idempotency_key, two.idempotency_key);
        assert_ne!(one.call, two.call);
    }
}

#[test]
fn two_graphs_have_keys_of_their_own() {
    let key = |name: &str| {
        let files: Vec<_> = [("trellis.yaml", name)].into_iter().chain(WORK[1..].iter().copied()).collect();
        let stage = Stage::new(&files)
            .function(|bindings| bindings.function("work", |context, _| Ok(Value::text(context.idempotency_key.as_str()))));
        output(&run(stage.sessions().predictable_keys().start(Start::default())).unwrap())
    };
    assert_ne!(key("name: shop\n"), key("name: bank\n"));
    assert_eq!(key("name: shop\n"), key("name: shop\n"));
}

#[test]
fn progress_of_a_function_is_told_and_its_cancel_heard() {
    let stage = Stage::new(WORK).function(|bindings| {
        bindings.function("work", |context, _| {
            context.progress("half");
            while !context.cancel().is_cancelled() {
                std::thread::sleep(Duration::from_millis(1));
            }
            context.progress("stopped");
            Ok(Value::Null)
        })
    });
    let (sender, told) = std::sync::mpsc::channel();
    run(async {
        tokio::time::pause();
        let sessions = stage.sessions();
        // Attempts that began, and that their functions know of.
        let (begun, known) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (begins, knows) = (Arc::clone(&begun), Arc::clone(&known));
        sessions.observe(move |_, happening| match happening {
            SessionEvent::Calling(_) => _ = begins.fetch_add(1, Ordering::Relaxed),
            SessionEvent::Progress(_, line) => {
                if **line == *"half" {
                    knows.fetch_add(1, Ordering::Relaxed);
                }
                let _ = sender.send(line.to_string());
            }
            _ => {}
        });
        let time_passes = async {
            loop {
                // Real time for the thread of the function.
                std::thread::sleep(Duration::from_millis(1));
                tokio::task::yield_now().await;
                if begun.load(Ordering::Relaxed) == known.load(Ordering::Relaxed) {
                    // More than an attempt may take.
                    tokio::time::advance(Duration::from_secs(6)).await;
                }
            }
        };
        let turn = tokio::select! {
            turn = sessions.start(Start::default()) => turn.unwrap(),
            () = time_passes => unreachable!(),
        };
        assert!(output(&turn).as_str().unwrap().contains("took longer than 5s"));
    });
    let lines: Vec<_> = told.iter().take(4).collect();
    assert_eq!(lines.iter().filter(|line| *line == "half").count(), 2, "{lines:?}");
    assert_eq!(lines.iter().filter(|line| *line == "stopped").count(), 2, "{lines:?}");
}

#[test]
fn a_panic_is_an_error_of_the_call() {
    let outputs = with(|_| panic!("oh no"));
    assert_eq!(outputs, [Value::text("the function of `work` panicked: oh no"), Value::text("the function of `work` panicked: oh no")]);
}

#[test]
fn a_result_that_is_too_long_is_an_error() {
    let long = with(|_| Ok(Value::text(&*"x".repeat(2 << 20))));
    assert!(long.iter().all(|said| said.as_str().unwrap().contains("`limits.tool_output`")), "{long:?}");
}

/// An interceptor that asks somebody, who knows the tenants.
struct Tenants;

impl Interceptor for Tenants {
    fn intercept<'a>(&'a self, about: Intercepted<'a>) -> Deciding<'a> {
        Box::pin(async move {
            tokio::time::sleep(Duration::from_secs(1)).await;
            let tenant = about.context.get("tenant").and_then(Value::as_str).unwrap_or("nobody");
            let why = format!("{} at {} of {} may not {}, says {tenant}", about.session, about.node(), about.graph, about.call.name);
            Verdict::Deny(Some(why))
        })
    }
}

#[test]
fn an_interceptor_asks_somebody_and_sees_session_graph_node_and_context() {
    let sessions = Stage::new(WORK).sessions().interceptor(Tenants);
    run_timeless(async {
        let context = [("tenant", Value::text("acme"))].into_iter().collect();
        let turn = sessions.start(Start { context, ..Start::default() }).await.unwrap();
        assert_eq!(output(&turn), Value::text("local at start of shop may not work, says acme"));
    });
}

#[test]
fn panics_of_interceptors_observers_and_hooks_leave_the_session_going() {
    struct Panics;
    impl trellis_host::hooks::Hooks for Panics {
        fn on_step(&self, _: &trellis_host::hooks::Moment) {
            panic!("a hook");
        }
    }
    let sessions = Stage::new(WORK).sessions().interceptor(|_: Intercepted<'_>| -> Verdict { panic!("who knows") }).hooks(Panics);
    sessions.observe(|_, _| panic!("an observer"));
    run(async {
        let turn = sessions.start(Start::default()).await.unwrap();
        assert!(output(&turn).as_str().unwrap().ends_with("an interceptor panicked: who knows"), "{turn:?}");
        sessions.stop(Duration::ZERO).await;
        assert!(sessions.dropped() > 1);
    });
}

/// Carries a call out, and panics.
#[derive(Debug)]
struct Panics;

impl Binding for Panics {
    fn run<'a>(&'a self, _: Job<'a>) -> Pending<'a, Answer> {
        panic!("not today")
    }
}

#[test]
fn a_binding_that_panics_is_an_error_of_its_call() {
    let stage = Stage::new(WORK).function(|bindings| bindings.bind("work", Panics));
    let turn = run(stage.sessions().start(Start::default())).unwrap();
    assert_eq!(output(&turn), Value::text("what carries out `work` panicked: not today"));
}

#[test]
fn a_predicate_that_panics_leaves_its_session_where_it_was() {
    let stage = Stage::new(&[
        ("trellis.yaml", "predicates: [vip]\n"),
        ("start.md", "---\ninput_type: text\nsave_to: name\ntransitions: [{ condition: vip, to: end }, { to: other }]\n---\nYour name?\n"),
        ("end.md", "---\noutput: vip\n---\n"),
        ("other.md", "---\noutput: other\n---\n"),
    ]);
    let asked = Arc::new(AtomicUsize::new(0));
    let predicates = {
        let asked = Arc::clone(&asked);
        trellis_core::Predicates::new().with("vip", move |_| match asked.fetch_add(1, Ordering::Relaxed) {
            0 => panic!("who knows"),
            _ => true,
        })
    };
    let engine = trellis_core::Engine::new(Arc::clone(&stage.program), predicates).unwrap();
    let sessions = Sessions::new(engine, stage.bindings()).unwrap();
    run(async {
        sessions.start(Start::default()).await.unwrap();
        let refused = sessions.send(&id(), Input::Text("Ada".into())).await.unwrap_err();
        assert!(refused.to_string().contains("who knows"), "{refused}");
        let turn = sessions.send(&id(), Input::Text("Ada".into())).await.unwrap();
        assert_eq!(output(&turn), Value::text("vip"));
    });
}

// A flood is bounded, and what was left out is counted.
#[test]
fn progress_of_a_function_is_bounded() {
    let stage = Stage::new(WORK).function(|bindings| {
        bindings.function("work", |context, _| {
            (0..100_000).for_each(|_| context.progress("on"));
            context.progress("done");
            Ok(Value::Null)
        })
    });
    let (sender, told) = std::sync::mpsc::channel();
    run(async {
        let sessions = stage.sessions();
        sessions.observe(move |_, happening| {
            if let SessionEvent::Progress(_, line) = happening {
                let _ = sender.send(line.to_string());
            }
        });
        sessions.start(Start::default()).await.unwrap();
    });
    let lines: Vec<String> = told.iter().collect();
    assert!(lines.len() < 10_003 && lines.iter().any(|line| line.contains("lines")), "{} {:?}", lines.len(), lines.iter().rev().take(3));
    assert_eq!(lines.last().map(String::as_str), Some("done"));
}

#[test]
fn a_panic_while_sessions_are_woken_is_the_error_of_its_call() {
    let stage = Stage::new(&[("start.md", "---\nwait: 1s\nto: work\n---\n"), ("work.md", WORK[1].1), WORK[2], WORK[3]])
        .function(|bindings| bindings.function_async("work", |_, _| async { panic!("oh no") }));
    let store = Arc::new(MemoryStore::new());
    run_timeless(async {
        let sessions = stage.stored(&store);
        let left = tokio::time::timeout(Duration::from_millis(10), sessions.start(Start::default())).await;
        assert!(left.is_err());
        sessions.drive(Drive::UntilIdle, |_| {}).await.unwrap();
        let ended = store.load(&[id()]).await.unwrap().remove(0).unwrap();
        assert!(ended.head.standing.has_ended());
        let turn = sessions.view(&id()).await.unwrap();
        assert_eq!(output(&turn), Value::text("the function of `work` panicked: oh no"));
    });
}

#[test]
fn a_misspelt_function_is_an_error_when_the_host_is_built() {
    let stage = Stage::new(WORK);
    let built = |bindings| Sessions::new(stage.engine(), bindings).map(drop).map_err(|error| error.to_string());
    let nothing = |_: &CallContext, _| Ok(Value::Null);
    let refused = built(Bindings::none().function("wrok", nothing)).unwrap_err();
    assert!(refused.starts_with("the graph calls no tool named `wrok` (did you mean `work`?)"), "{refused}");
    assert!(built(Bindings::none().function("work", nothing)).is_ok());
    assert!(built(Bindings::none().function("other", nothing).shared()).is_ok());
}

#[test]
fn an_answer_of_an_interceptor_is_taken_as_a_result() {
    let sessions = Stage::new(WORK).sessions().interceptor(|_: Intercepted<'_>| Verdict::answer(ToolOutcome::Success(Value::Int(7))));
    run(async {
        assert_eq!(output(&sessions.start(Start::default()).await.unwrap()), Value::Int(7));
        assert!(sessions.send(&id(), Input::Text("x".into())).await.is_err());
    });
}

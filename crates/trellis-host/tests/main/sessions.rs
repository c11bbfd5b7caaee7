//! Sessions as a client sees them: turns, refusals, signals, time, interceptors, another program.

use std::sync::{Arc, Mutex, atomic::Ordering};

use trellis_core::{Input, Mapping, SessionId, Start, ToolOutcome, ToolResult, Value, engine::EndView};
use trellis_host::{Bindings, Reply, SendError, SessionEvent, Sessions, Stop, Turn, Verdict, interceptor::Intercepted, sessions::NotYours};

use crate::{
    stage::{Stage, clock, run, run_timeless},
    troubled::Troubled,
};

const ASK: (&str, &str) = ("start.md", "---\ninput_type: int\nsave_to: n\nto: end\n---\nHow many?\n");
const END: (&str, &str) = ("end.md", "---\noutput: \"{{ n }}\"\n---\nThank you.\n");

fn id() -> SessionId {
    SessionId::from("local")
}

fn said(turn: &Turn) -> Vec<&str> {
    turn.said.iter().map(|said| said.text.trim()).collect()
}

fn ended(turn: Turn) -> EndView {
    match turn.stop {
        Stop::Ended(ended) => ended,
        stop => panic!("{stop:?}"),
    }
}

fn text(text: &str) -> Input {
    Input::Text(text.into())
}

/// Returns the events from here on.
fn watched(sessions: &Sessions) -> Arc<Mutex<Vec<SessionEvent>>> {
    let all = Arc::new(Mutex::new(Vec::new()));
    let watch = Arc::clone(&all);
    sessions.observe(move |_, happening| watch.lock().unwrap().push(happening.clone()));
    all
}

#[test]
fn a_client_starts_does_what_the_turn_says_and_sends_the_answer() {
    let sessions = Stage::new(&[ASK, END]).sessions();
    run(async {
        let turn = sessions.start(Start::default()).await.unwrap();
        assert_eq!((said(&turn), turn.session.as_str()), (vec!["How many?"], "local"));
        assert!(matches!(sessions.start(Start::default()).await, Err(SendError::Exists(_))));
        assert!(matches!(sessions.send(&id(), text("many")).await, Err(SendError::Refused(_))));
        let refused = sessions.send(&id(), Reply::Keep(true)).await.unwrap_err();
        assert_eq!(refused.to_string(), "an input is awaited, not a decision about a call");
        assert_eq!(said(&sessions.resume(&id()).await.unwrap()), ["How many?"], "who comes back hears the question");
        let turn = sessions.send(&id(), text("3")).await.unwrap();
        assert_eq!(said(&turn), ["Thank you."]);
        assert_eq!(ended(turn).output, Some(Value::Int(3)));
        assert!(matches!(sessions.send(&id(), text("4")).await, Err(SendError::Refused(_))));
        assert!(matches!(sessions.send(&"other".into(), text("4")).await, Err(SendError::Unknown(_))));
        assert_eq!(sessions.close(&id()).unwrap().journal().records().len(), 3);
        assert!(matches!(sessions.resume(&id()).await, Err(SendError::Unknown(_))));
    });
}

#[test]
fn two_answers_at_once_are_taken_one_after_the_other() {
    let sessions = Stage::new(&[ASK, ("end.md", "---\ninput_type: int\nsave_to: m\n---\nAnd now?\n")]).sessions();
    run(async {
        sessions.start(Start::default()).await.unwrap();
        let (id, one, two) = (id(), text("1"), text("2"));
        let (one, two) = tokio::join!(sessions.send(&id, one), sessions.send(&id, two));
        assert!(one.is_ok() && two.is_ok());
        let context = sessions.look(&id, |session| session.state().context.to_mapping()).unwrap();
        assert_eq!(Value::from(context).to_json(), r#"{"m":2,"n":1}"#);
    });
}

#[test]
fn an_answer_that_comes_too_late_does_not_count() {
    let files = [
        ("start.md", "---\ninput_type: text\ntimeout: 5s\non_timeout: slow\nto: end\n---\n"),
        ("slow.md", "---\nwait: 30s\nto: end\n---\nToo slow.\n"),
        ("end.md", "---\n---\nOver.\n"),
    ];
    let sessions = Stage::new(&files).sessions();
    run_timeless(async {
        let turn = sessions.start(Start::default()).await.unwrap();
        assert!(matches!(turn.stop, Stop::Ask { due: Some(6000), .. }), "{turn:?}");
        tokio::time::sleep(sessions.until(6000)).await;
        let began = tokio::time::Instant::now();
        let SendError::TooLate(turn) = sessions.send(&id(), text("x")).await.unwrap_err() else { panic!() };
        assert_eq!((said(&turn), began.elapsed().as_secs()), (vec!["Too slow.", "Over."], 30));
        assert!(matches!(turn.stop, Stop::Ended(_)));
    });
}

const CHARGE: &[(&str, &str)] = &[
    (
        "start.md",
        "---\ntools: [{name: charge}]\ndo: {name: charge, args: {total: 7}, approve: {ask: \"Charge?\", expires: 15m}}\nsave_to: id\non_denied: no\non_error: no\non_interrupt: no\nto: paid\n---\n",
    ),
    ("paid.md", "---\noutput: \"{{ id }}\"\n---\nPaid.\n"),
    ("no.md", "---\n---\nNot paid.\n"),
];

fn charging() -> Stage {
    Stage::new(CHARGE).function(|bindings| bindings.function("charge", |_, args| Ok(args.get("total").cloned().unwrap())))
}

#[test]
fn a_held_call_runs_when_it_is_approved_and_its_result_is_not_taken_before() {
    let sessions = charging().sessions();
    let seen = watched(&sessions);
    run_timeless(async {
        let turn = sessions.start(Start::default()).await.unwrap();
        let Stop::Approve { call, due } = turn.stop else { panic!("{turn:?}") };
        assert_eq!(due, Some(1000 + 15 * 60 * 1000));
        let early = ToolResult::new(call.id.clone(), ToolOutcome::Success(Value::Null));
        let refused = sessions.send(&id(), Input::Result(early)).await;
        assert!(matches!(refused, Err(SendError::NotYours { why: NotYours::Held, .. })), "{refused:?}");
        let other = Reply::Approve { call: Some("other".into()), yes: true };
        assert!(matches!(sessions.send(&id(), other).await, Err(SendError::NotAwaited { .. })));
        let turn = sessions.send(&id(), Reply::Approve { call: Some(call.id.clone()), yes: true }).await.unwrap();
        assert_eq!(ended(turn).output, Some(Value::Int(7)));
    });
    let seen = seen.lock().unwrap();
    assert!(
        matches!(
            &seen[..],
            [
                SessionEvent::Calling(_),
                SessionEvent::Returned(_, ToolResult { outcome: ToolOutcome::Success(_), .. }),
                SessionEvent::Said(_)
            ]
        ),
        "{seen:?}"
    );
}

#[test]
fn an_interceptor_allows_denies_answers_holds_or_hands_on() {
    let with = |verdict: Verdict| {
        let plain = [("start.md", "---\ntools: [{name: t}]\ndo: t\nsave_to: id\non_denied: no\nto: paid\n---\n"), CHARGE[1], CHARGE[2]];
        let stage = Stage::new(&plain).function(|bindings| bindings.function("t", |_, _| Ok(Value::Int(1))));
        let sessions =
            stage.sessions().interceptor(|_: Intercepted<'_>| Verdict::Allow).interceptor(move |_: Intercepted<'_>| verdict.clone());
        run(sessions.start(Start::default())).unwrap()
    };
    assert_eq!(ended(with(Verdict::Allow)).output, Some(Value::Int(1)));
    assert_eq!(said(&with(Verdict::Deny(None))), ["Not paid."]);
    assert_eq!(ended(with(Verdict::answer(ToolOutcome::Success(Value::Int(2))))).output, Some(Value::Int(2)));
    assert!(matches!(with(Verdict::hold()).stop, Stop::Approve { due: None, .. }));
    assert!(matches!(with(Verdict::Elsewhere("x".into())).stop, Stop::Call { .. }));
}

/// A session whose tool waits until it is let go, and what happens to it.
fn waiting(on_interrupt: &str) -> (Stage, Arc<tokio::sync::Notify>) {
    let start = format!("---\ntools: [{{name: slow}}]\ndo: slow\n{on_interrupt}to: end\n---\n");
    let go = Arc::new(tokio::sync::Notify::new());
    let until = Arc::clone(&go);
    let left = ("left.md", "---\ninput_type: text\n---\nLeft.\n");
    let files = [("start.md", &*start), ("end.md", "---\n---\nDone.\n"), left];
    let stage = Stage::new(if on_interrupt.is_empty() { &files[..2] } else { &files });
    let stage = stage.function(move |bindings| {
        let until = Arc::clone(&until);
        bindings.function_async("slow", move |_, _| {
            let until = Arc::clone(&until);
            async move {
                until.notified().await;
                Ok(Value::Null)
            }
        })
    });
    (stage, go)
}

#[test]
fn a_signal_moves_a_session_whose_tool_runs_and_who_waits_gets_the_turn() {
    let sessions = waiting("on_interrupt: left\n").0.sessions();
    run(async {
        let id = id();
        let signal = async {
            tokio::task::yield_now().await;
            sessions.signal(&id, &"interrupt".into()).await.unwrap();
        };
        let (turn, ()) = tokio::join!(sessions.start(Start::default()), signal);
        assert_eq!(said(&turn.unwrap()), ["Left."]);
    });
}

#[test]
fn a_paused_session_stays_waiting_and_makes_the_same_call_when_it_goes_on() {
    let (stage, go) = waiting("");
    let sessions = stage.sessions();
    let seen = watched(&sessions);
    run(async {
        let id = id();
        let pause = async {
            tokio::task::yield_now().await;
            assert!(matches!(sessions.signal(&id, &"interrupt".into()).await, Err(SendError::Refused(_))));
            sessions.pause(&id).unwrap();
        };
        let (turn, ()) = tokio::join!(sessions.start(Start::default()), pause);
        assert_eq!(turn.unwrap_err(), SendError::Stopped);
        go.notify_one();
        assert_eq!(said(&sessions.resume(&id).await.unwrap()), ["Done."]);
    });
    let seen = seen.lock().unwrap();
    let keys: Vec<_> = seen
        .iter()
        .filter_map(|happening| match happening {
            SessionEvent::Calling(call) => Some(call.idempotency_key.clone()),
            _ => None,
        })
        .collect();
    assert_eq!((keys.len(), &keys[0]), (2, &keys[1]));
}

async fn swap(sessions: &Sessions, files: &[(&str, &str)]) {
    sessions.swap(Stage::new(files).engine(), Bindings::none()).await.unwrap();
}

#[test]
fn another_program_is_taken_up_between_an_answer_and_the_next_view() {
    let sessions = Stage::new(&[ASK, END]).sessions();
    let seen = watched(&sessions);
    run(async {
        sessions.start(Start::default()).await.unwrap();
        // The answer to a question is an answer on the program that asked it, also when there is a newer one.
        let texts = ("start.md", "---\ninput_type: text\nsave_to: n\nto: end\n---\nWhich?\n");
        swap(&sessions, &[texts, ("end.md", "---\noutput: \"{{ n }}\"\n---\nThanks.\n")]).await;
        let turn = sessions.send(&id(), text("3")).await.unwrap();
        assert_eq!(said(&turn), ["Thanks."]);
        assert_eq!(ended(turn).output, Some(Value::Int(3)));

        let other = SessionId::from("other");
        let turn = sessions.start(Start { session: Some(other.clone()), ..Start::default() }).await.unwrap();
        assert_eq!(said(&turn), ["Which?"]);
        swap(&sessions, &[texts, END]).await;
        assert_eq!(said(&sessions.resume(&other).await.unwrap()), ["Which?"]);
        let told = seen
            .lock()
            .unwrap()
            .iter()
            .filter(|happening| matches!(happening, SessionEvent::Said(text) if text.trim() == "Which?"))
            .count();
        assert_eq!(told, 1, "the same words do not happen again");
        swap(&sessions, &[ASK, END]).await;
        assert_eq!(said(&sessions.resume(&other).await.unwrap()), ["How many?"]);
        let records = sessions.close(&other).unwrap();
        let kinds: Vec<_> =
            records.journal().records().iter().map(|record| serde_json::to_value(record).unwrap()["kind"].clone()).collect();
        assert_eq!(kinds, ["start", "reload", "reload"]);
        let folded = trellis_host::journal::fold(records.journal().records()).unwrap();
        assert_eq!(&folded, records.state());
    });
    assert!(seen.lock().unwrap().contains(&SessionEvent::Adopted(None)));
}

/// language C.2: an edit while an earlier one is taken up is not overlooked.
#[test]
fn what_an_edit_meets_on_its_way_to_a_rest_is_outdated() {
    let (stage, store) = (Stage::new(&[ASK, END]), Arc::new(Troubled::default()));
    let sessions = stage.stored(&store);
    let asks = |words: &str| format!("---\ninput_type: int\nsave_to: n\nto: end\n---\n{words}\n");
    run(async {
        sessions.start(Start::default()).await.unwrap();
        swap(&sessions, &[("start.md", &*asks("How many now?")), END]).await;
        assert_eq!(sessions.outdated(), [id()]);
        let appends = store.count("append");
        store.delay.store(1000, Ordering::Relaxed);
        let edited = async {
            while store.count("append") == appends {
                tokio::task::yield_now().await;
            }
            swap(&sessions, &[("start.md", &*asks("How many at last?")), END]).await;
            sessions.outdated()
        };
        let id = id();
        let (turn, outdated) = tokio::join!(sessions.resume(&id), edited);
        turn.unwrap();
        assert_eq!(outdated, std::slice::from_ref(&id));
        assert_eq!(said(&sessions.resume(&id).await.unwrap()), ["How many at last?"]);
        assert_eq!(sessions.outdated(), []);
    });
}

#[test]
fn a_session_that_lacks_what_its_node_needs_pauses_and_takes_the_keys() {
    let needy = ("start.md", "---\nrequired_context: [who]\ninput_type: int\nsave_to: n\nto: end\n---\nHow many, {{ who }}?\n");
    let sessions = Stage::new(&[ASK, END]).sessions();
    run(async {
        sessions.start(Start::default()).await.unwrap();
        swap(&sessions, &[needy, END]).await;
        let turn = sessions.resume(&id()).await.unwrap();
        assert_eq!(turn.stop, Stop::Keys { node: "start".into(), missing: vec!["who".into()] });
        assert!(matches!(sessions.send(&id(), text("3")).await, Err(SendError::NotAwaited { .. })));
        let reserved = Mapping::from_iter([("sys", Value::Null)]);
        assert!(matches!(sessions.send(&id(), Reply::Context(reserved)).await, Err(SendError::Reserved(_))));
        // Nobody who walks a session plants another key (language C.8).
        let planted = Mapping::from_iter([("who", Value::text("Ann")), ("n", Value::Int(999))]);
        let refused = sessions.send(&id(), Reply::Context(planted)).await.unwrap_err();
        assert_eq!(refused.to_string(), "the context with `who` is awaited, not the key `n`");
        let keys = Mapping::from_iter([("who", Value::text("Ann"))]);
        let turn = sessions.send(&id(), Reply::Context(keys)).await.unwrap();
        assert_eq!(said(&turn), ["How many, Ann?"]);
        let session = sessions.close(&id()).unwrap();
        let folded = trellis_host::journal::fold(session.journal().records()).unwrap();
        assert_eq!(&folded, session.state());
    });
}

#[test]
fn a_session_moves_with_its_node_and_says_so() {
    let sessions = Stage::new(&[("start.md", "---\nto: m/ask\n---\n"), ("m/ask.md", "---\nwait: true\n---\nHere.\n")]).sessions();
    let seen = watched(&sessions);
    run(async {
        sessions.start(Start::default()).await.unwrap();
        swap(&sessions, &[("start.md", "---\nto: q\n---\n"), ("q.md", "---\nwas: [m/ask]\nwait: true\n---\nHere.\n")]).await;
        assert_eq!(said(&sessions.resume(&id()).await.unwrap()), ["Here."]);
        swap(&sessions, &[("start.md", "---\nwait: true\n---\nStart.\n")]).await;
        assert_eq!(said(&sessions.resume(&id()).await.unwrap()), ["Start."]);
    });
    let seen = seen.lock().unwrap();
    let moved: Vec<_> = seen
        .iter()
        .filter_map(|happening| match happening {
            SessionEvent::Adopted(moved) => moved.as_deref(),
            _ => None,
        })
        .collect();
    assert_eq!(moved, ["`m/ask` is `q` now", "`q` is gone; continuing at `start`"]);
}

#[test]
fn a_pending_call_that_changed_is_kept_or_made_again() {
    let call = |n: u8| format!("---\ntools: [{{name: t}}]\ndo: {{name: t, args: {{n: {n}}}}}\nsave_to: n\nto: end\n---\n");
    for (keep, expected) in [(true, 1), (false, 2)] {
        let (one, two) = (call(1), call(2));
        let sessions = Stage::new(&[("start.md", &*one), END]).sessions();
        run(async {
            let turn = sessions.start(Start::default()).await.unwrap();
            assert!(matches!(turn.stop, Stop::Call { .. }));
            swap(&sessions, &[("start.md", &*two), END]).await;
            let turn = sessions.resume(&id()).await.unwrap();
            assert!(matches!(turn.stop, Stop::Changed { .. }), "{turn:?}");
            let turn = sessions.send(&id(), Reply::Keep(keep)).await.unwrap();
            let Stop::Call { call, .. } = turn.stop else { panic!("{turn:?}") };
            assert_eq!(call.args.get("n"), Some(&Value::Int(expected)));
            let outcome = ToolOutcome::Success(Value::Int(9));
            let turn = sessions.send(&id(), Input::Result(ToolResult::new(call.id.clone(), outcome))).await.unwrap();
            assert_eq!(ended(turn).output, Some(Value::Int(9)));
        });
    }
}

#[test]
fn a_session_that_cannot_be_adopted_goes_on_with_the_version_that_it_has() {
    let sessions =
        Stage::new(&[("start.md", "---\nto: ask\n---\n"), ("ask.md", "---\nwait: true\nto: end\n---\nHere.\n"), ("end.md", "End.\n")])
            .sessions();
    let seen = watched(&sessions);
    run(async {
        sessions.start(Start::default()).await.unwrap();
        swap(&sessions, &[("start.md", "---\nassert: [\"sys.node == 'x'\"]\nwait: true\n---\n")]).await;
        assert!(matches!(sessions.resume(&id()).await.unwrap().stop, Stop::Ask { .. }));
        assert_eq!(said(&sessions.send(&id(), text("x")).await.unwrap()), ["End."]);
    });
    let seen = seen.lock().unwrap();
    assert!(seen.iter().any(|happening| matches!(happening, SessionEvent::Trouble("not-adopted", _))), "{seen:?}");
}

#[test]
fn a_start_that_is_refused_leaves_nothing_behind() {
    let sessions = Stage::new(&[("start.md", "---\nrequired_context: [who]\nwait: true\n---\n{{ who }}\n")]).sessions();
    run(async {
        assert!(matches!(sessions.start(Start::default()).await, Err(SendError::Start(_))));
        let context = Mapping::from_iter([("who", Value::text("Ann"))]);
        assert!(sessions.start(Start { context, ..Start::default() }).await.is_ok());
    });
}

#[test]
fn tools_say_what_they_are_doing() {
    let files = [
        ("trellis.yaml", "bindings: {build: {process: [sh, ./build]}}\n"),
        ("start.md", "---\ndo: build\non_error: end\nto: end\n---\n"),
        ("end.md", "---\n---\n"),
    ];
    let stage = Stage::new(&files).script("build", "echo one >&2; echo two >&2; printf three >&2");
    let sessions = stage.sessions().clock(clock());
    let seen = watched(&sessions);
    run(sessions.start(Start::default())).unwrap();
    let seen = seen.lock().unwrap();
    let lines: Vec<_> = seen
        .iter()
        .filter_map(|happening| match happening {
            SessionEvent::Progress(_, line) => Some(&**line),
            _ => None,
        })
        .collect();
    assert_eq!(lines, ["one", "two", "three"]);
}

//! Calls: keeping, trying again, leaving, results (language 5, 7.4, 7.6, 7.8).

use trellis_core::{
    Event, Input, NavigateError, ToolOutcome, ToolResult, Value,
    state::{ABANDONED, Status},
};

use crate::graph::{Walk, json};

const TRELLIS: (&str, &str) = ("trellis.yaml", "bindings: { t: { effect: none }, u: { effect: none } }\n");
const END: (&str, &str) = ("end.md", "The end.\n");

#[test]
fn a_retry_keeps_the_key_and_the_arguments_and_grows_its_delay() {
    let files = [
        TRELLIS,
        (
            "start.md",
            "---\ndo: { name: t, args: { step: \"{{ sys.step }}\" }, retry: { max: 3, base: 1s, factor: 3, cap: 2s } }\nto: end\n---\n",
        ),
        END,
    ];
    let mut walk = Walk::new(&files);
    let first = walk.call();
    walk.fail("one");
    let second = walk.call();
    assert_eq!((&second.idempotency_key, &second.args), (&first.idempotency_key, &first.args));
    assert_eq!((second.attempt, second.delay, walk.state.step, walk.state.entered), (2, 1_000, 1, 0));
    assert_ne!(second.id, first.id);
    walk.fail("two");
    assert_eq!(walk.call().delay, 2_000);
    walk.fail("three");
    assert_eq!((walk.ended().as_str(), walk.message().as_str()), ("failed tool-error", "`start`: `t` failed: three"));
}

#[test]
fn results_are_taken_once_and_only_for_calls_of_this_session() {
    let files = [TRELLIS, ("start.md", "---\ndo: t\nto: next\n---\n"), ("next.md", "---\ndo: u\nto: end\n---\n"), END];
    let mut walk = Walk::new(&files);
    let first = walk.call().id.clone();
    walk.succeed("1");
    let again = |id| Input::Result(ToolResult::new(id, ToolOutcome::Success(Value::Null)));
    let settled = walk.refused(again(first.clone()));
    assert!(matches!(settled, NavigateError::ForeignCall { settled: true, .. }), "{settled}");
    assert!(settled.to_string().contains("which is settled"), "{settled}");
    assert!(matches!(walk.refused(again("0-1".into())), NavigateError::ForeignCall { settled: false, .. }));
    assert_eq!(
        walk.refused(Input::Text("x".into())).to_string(),
        format!("`next` takes the result of call `{}`, not an input", walk.call().id)
    );
}

#[test]
fn before_each_comes_first_and_an_own_failure_skips_it() {
    let files = [
        ("trellis.yaml", "bindings: { audit: { effect: none }, t: { effect: none } }\nbefore_each: { name: audit, save_to: token }\n"),
        (
            "start.md",
            "---\nrequired_context: [token]\ndo: { name: t, args: { token: \"{{ token }}\" } }\non_error: broken\nto: end\n---\nHello.\n",
        ),
        ("broken.md", "Broken: {{ sys.error.tool }}.\n"),
        END,
    ];
    let mut walk = Walk::with(crate::graph::engine(&files), r#"{"token":0}"#);
    assert_eq!((&*walk.call().name, walk.content().as_str()), ("audit", ""));
    walk.succeed("7");
    assert_eq!((walk.call().args.get("token"), walk.content().as_str(), walk.node()), (Some(&Value::Int(7)), "Hello.", "start"));
    assert_eq!(walk.state.system_context.ans, None);

    let mut walk = Walk::with(crate::graph::engine(&files), r#"{"token":0}"#);
    walk.fail("no");
    assert_eq!((walk.node(), walk.ended().as_str(), walk.content().as_str()), ("broken", "finished", "Broken: audit."));
}

#[test]
fn a_signal_leaves_the_call_and_its_result_comes_late() {
    let files = [
        ("trellis.yaml", "bindings: { t: {}, u: {} }\n"),
        (
            "start.md",
            "---\ndo: t\nundo: { name: u, args: { id: \"{{ saved.id }}\" } }\nsave_to: saved\non_interrupt: stopped\nto: end\n---\n",
        ),
        ("stopped.md", "---\nwait: true\ntransitions: [{ condition: 'input == \"back\"', to: rollback }, { to: end }]\n---\n"),
        END,
    ];
    let mut walk = Walk::new(&files);
    let id = walk.call().id.clone();
    walk.go(Input::Signal("interrupt".into()));
    assert_eq!((walk.node(), walk.state.abandoned.len()), ("stopped", 1));
    let step = walk.state.step;
    walk.late(&id, r#"{"id":7}"#);
    assert_eq!(walk.events, [Event::Late { id: id.clone(), joined: true }]);
    assert_eq!((walk.node(), walk.state.step, walk.key("saved")), ("stopped", step, None));
    let again = || Input::Result(ToolResult::new(id.clone(), ToolOutcome::Success(json(r#"{"id":7}"#))));
    assert!(matches!(walk.refused(again()), NavigateError::ForeignCall { settled: true, .. }), "it came, and is settled");
    assert_eq!(walk.state.effects.len(), 1);
    walk.say("back");
    assert_eq!((walk.state.status, walk.call().args.get("id")), (Status::RollingBack, Some(&Value::Int(7))));
    walk.succeed("null");
    assert_eq!(walk.ended(), "rolled_back");
    assert!(matches!(walk.refused(again()), NavigateError::ForeignCall { settled: true, .. }), "also after the end");
}

#[test]
fn a_composite_call_is_yielded_whole() {
    let files = [
        TRELLIS,
        (
            "start.md",
            "---\ndo:\n  parallel: { a: { name: t, args: { n: \"{{ n }}\" } }, b: u }\n  limit: 2\ndefault_context: { n: 3 }\nsave_to: all\nto: end\n---\n",
        ),
        END,
    ];
    let mut walk = Walk::new(&files);
    let call = serde_json::to_value(&*walk.call()).unwrap();
    let branches = &call["kind"]["parallel"]["branches"];
    // In the order of the file, each with its name.
    assert_eq!((&branches[0][0], &branches[0][1]["args"]["n"]), (&"a".into(), &3.into()));
    assert_ne!(branches[0][1]["idempotency_key"], branches[1][1]["idempotency_key"]);
    walk.succeed(r#"{"a":1,"b":2}"#);
    assert_eq!(walk.key("all").as_deref(), Some(r#"{"a":1,"b":2}"#));
}

#[test]
fn of_abandoned_calls_the_newest_are_remembered() {
    let files = [
        TRELLIS,
        ("start.md", "---\ndo: t\non_interrupt: again\nto: end\n---\n"),
        ("again.md", "---\nwait: true\ntransitions: [{ condition: 'input == \"end\"', to: end }]\nto: start\n---\n"),
        END,
    ];
    let mut walk = Walk::new(&files);
    let mut calls = Vec::new();
    for _ in 0..=ABANDONED {
        calls.push(walk.call().id.clone());
        walk.go(Input::Signal("interrupt".into()));
        walk.say("again");
    }
    assert_eq!(walk.state.abandoned.len(), ABANDONED);
    let result = |id| Input::Result(ToolResult::new(id, ToolOutcome::Success(Value::Null)));
    let oldest = calls.remove(0);
    assert!(matches!(walk.refused(result(oldest)), NavigateError::ForeignCall { settled: false, .. }));
    for id in calls {
        walk.late(&id, "null");
    }
}

//! Putting a session elsewhere: into a node, back, and into a session of its own.

use trellis_core::{
    State,
    engine::{Event, NotEntered, Step},
    state::Status,
};

use crate::graph::Walk;

const GRAPH: [(&str, &str); 5] = [
    ("trellis.yaml", "bindings: { book: {}, cancel: {} }\n"),
    ("start.md", "---\ninput_type: int\nsave_to: days\nto: book\n---\nHow long?\n"),
    (
        "book.md",
        "---\nmax_visits: 2\ndo: { name: book, args: { days: \"{{ days }}\" } }\nundo: { name: cancel, args: { id: \"{{ room.id }}\" } }\nsave_to: room\nto: keep\n---\n",
    ),
    ("keep.md", "---\ninput_type: confirm\non_denied: rollback\nto: end\n---\nKeep room {{ room.id }}?\n"),
    ("end.md", "Done.\n"),
];

fn asked() -> Walk {
    Walk::new(&GRAPH)
}

/// At `book`, with its call pending.
fn booking() -> Walk {
    let mut walk = asked();
    walk.say("3");
    walk
}

/// At `keep`, with an effect.
fn booked() -> Walk {
    let mut walk = booking();
    walk.succeed(r#"{"id":7}"#);
    walk
}

fn put(walk: &mut Walk, step: Result<Step, NotEntered>) {
    let step = step.unwrap();
    (walk.state, walk.events) = (step.state, step.events);
}

#[test]
fn going_back_keeps_the_context_of_then_and_the_effects_of_now() {
    let then = asked().state;
    let mut walk = booked();
    let now = walk.state.clone();
    let step = walk.engine.back(&now, then.clone());
    put(&mut walk, step);
    assert_eq!((walk.node(), walk.key("days"), walk.state.status), ("start", None, Status::WaitingForInput));
    assert_eq!((walk.state.step, walk.state.effects.len()), (now.step + 1, 1), "the room is still booked");
    // A second booking has a key of its own, and a rollback undoes both.
    walk.say("4");
    let key = walk.call().idempotency_key.clone();
    assert_ne!(Some(key), booking().state.pending_tool_call.map(|call| call.idempotency_key.clone()));
    walk.succeed(r#"{"id":8}"#).say("no");
    assert_eq!(walk.call().args.get("id").unwrap().to_json(), "8");
    walk.succeed("null");
    assert_eq!(walk.call().args.get("id").unwrap().to_json(), "7");
}

#[test]
fn a_call_that_was_pending_then_is_another_call_now() {
    let then = booking().state;
    let mut walk = booked();
    let now = walk.state.clone();
    let step = walk.engine.back(&now, then.clone());
    put(&mut walk, step);
    let (old, new) = (then.pending_tool_call.unwrap(), walk.call());
    assert_eq!((walk.node(), &new.args), ("book", &old.args));
    assert_ne!(new.idempotency_key, old.idempotency_key);
    assert_eq!(walk.state.visits.get("book"), Some(&1), "the visit of then is the same visit");
}

#[test]
fn a_pending_call_is_abandoned_and_its_late_result_known() {
    let then = asked().state;
    let mut walk = booking();
    let call = walk.call();
    let now = walk.state.clone();
    let step = walk.engine.back(&now, then);
    put(&mut walk, step);
    walk.late(&call.id, r#"{"id":9}"#);
    assert_eq!((walk.node(), walk.state.effects.len()), ("start", 1), "{:?}", walk.events);
}

#[test]
fn a_fork_has_no_effects_and_keys_of_its_own() {
    let walk = booked();
    let fork = walk.engine.fork(walk.state.clone(), "other".into(), None).unwrap().state;
    let step = walk.state.step + 1;
    let expected =
        State { session_id: "other".into(), effects: Default::default(), settled: None, step, entered: step, ..walk.state.clone() };
    assert_eq!(fork, expected);

    let pending = booking();
    let mut fork = booking();
    let step = pending.engine.fork(pending.state.clone(), "other".into(), None);
    put(&mut fork, step);
    assert_eq!(fork.call().args, pending.call().args);
    assert_ne!(fork.call().idempotency_key, pending.call().idempotency_key);
    assert!(fork.state.abandoned.is_empty(), "the call of the original is not the fork's");
    let refused = fork.engine.navigate(&fork.state, result_of(&pending)).unwrap_err();
    assert!(refused.to_string().contains("call"), "{refused}");
}

fn result_of(walk: &Walk) -> trellis_core::Input {
    let outcome = trellis_core::ToolOutcome::Success(trellis_core::Value::Null);
    trellis_core::Input::Result(trellis_core::ToolResult::new(walk.call().id.clone(), outcome))
}

#[test]
fn a_session_is_put_into_a_node_that_it_has_the_keys_for() {
    let mut walk = asked();
    let refused = |walk: &Walk, node: &str| walk.engine.enter(walk.state.clone(), &node.into()).unwrap_err();
    assert_eq!(refused(&walk, "nowhere"), NotEntered::Unknown("nowhere".into()));
    assert_eq!(refused(&walk, "keep"), NotEntered::Lacks { node: "keep".into(), keys: vec!["room.id".into()] });
    assert_eq!(refused(&walk, "book").to_string(), "`book`: `days` is not set");
    walk.say("3");
    let old = walk.call();
    let step = walk.engine.enter(walk.state.clone(), &"book".into());
    put(&mut walk, step);
    assert_eq!(walk.events[0], Event::Entered("book".into()));
    assert_ne!(walk.call().idempotency_key, old.idempotency_key);
    let step = walk.engine.enter(walk.state.clone(), &"start".into());
    put(&mut walk, step);
    assert_eq!((walk.node(), walk.state.abandoned.len(), walk.state.pending_tool_call.is_none()), ("start", 2, true));
}

#[test]
fn an_ended_session_goes_on_and_one_that_rolls_back_cannot_be_moved() {
    let mut walk = booked();
    walk.say("no");
    assert_eq!(walk.engine.enter(walk.state.clone(), &"start".into()).unwrap_err(), NotEntered::RollingBack);
    assert_eq!(walk.engine.back(&walk.state, asked().state).unwrap_err(), NotEntered::RollingBack);
    assert_eq!(walk.engine.fork(walk.state.clone(), "f".into(), None).unwrap_err(), NotEntered::RollingBack);
    walk.succeed("null");
    assert_eq!(walk.ended(), "rolled_back");
    assert_eq!(walk.engine.fork(walk.state.clone(), "f".into(), None).unwrap_err(), NotEntered::Ended);
    let step = walk.engine.enter(walk.state.clone(), &"keep".into());
    put(&mut walk, step);
    walk.say("yes").pass();
    assert_eq!(walk.ended(), "finished", "what was rolled back is over");
}

#[test]
fn a_node_that_admits_no_more_entries_is_not_entered() {
    let mut walk = booked();
    let step = walk.engine.enter(walk.state.clone(), &"book".into());
    put(&mut walk, step);
    walk.succeed(r#"{"id":8}"#);
    let refused = walk.engine.enter(walk.state.clone(), &"book".into()).unwrap_err();
    assert_eq!(refused.to_string(), "`book` was to be entered once more, `max_visits` is 2");
}

#[test]
fn an_answer_that_is_equal_but_prints_otherwise_is_a_change() {
    let mut walk = Walk::new(&[("start.md", "---\ninput_type: json\nto: start\non_interrupt: end\n---\nSay.\n"), ("end.md", "Over.\n")]);
    for answer in ["0", "-0.0", "1", "1.0", "[1]", "[1.0]", "{\"a\":0}", "{\"a\":-0.0}"] {
        let before = walk.state.clone();
        let step = walk.engine.navigate(&before, trellis_core::Input::Text(answer.into())).unwrap();
        let mut folded = before.clone();
        folded.apply(&trellis_core::state::Changes::between(&before, &step.state, &step.wrote));
        assert_eq!(serde_json::to_string(&folded).unwrap(), serde_json::to_string(&step.state).unwrap(), "{answer}");
        walk.state = step.state;
    }
}

//! Rollback (language 7.7).

use trellis_core::{Event, Input, state::Status};

use crate::graph::Walk;

const GRAPH: [(&str, &str); 5] = [
    ("trellis.yaml", "bindings: { book: {}, cancel: {}, mail: { effect: irreversible } }\n"),
    (
        "start.md",
        "---\ndo: { name: book, args: { what: train } }\nundo: { name: cancel, args: { id: \"{{ train.id }}\" } }\nsave_to: train\non_error: rollback\nto: hotel\n---\n",
    ),
    (
        "hotel.md",
        "---\ndo: { name: book, args: { what: hotel } }\nundo: { name: cancel, args: { id: \"{{ hotel.id }}\" }, retry: { max: 2, base: 1s } }\nsave_to: hotel\non_error: rollback\nto: mail\n---\n",
    ),
    ("mail.md", "---\ndo: mail\non_error: rollback\nto: ask\n---\n"),
    ("ask.md", "---\ninput_type: confirm\non_denied: rollback\nto: start\n---\nKeep it?\n"),
];

fn booked() -> Walk {
    let mut walk = Walk::new(&GRAPH);
    walk.succeed(r#"{"id":1}"#).succeed(r#"{"id":2}"#).succeed("null");
    walk
}

#[test]
fn undos_come_newest_first_with_what_they_were_frozen_with() {
    let mut walk = booked();
    walk.say("no");
    assert_eq!(walk.events[0], Event::RollingBack(2));
    assert_eq!((walk.state.status, walk.node()), (Status::RollingBack, "ask"));
    assert_eq!(walk.call().args.get("id").unwrap().to_json(), "2");
    assert!(walk.content().is_empty());
    assert!(walk.engine.navigate(&walk.state, Input::Text("x".into())).is_err());
    assert!(walk.engine.navigate(&walk.state, Input::Signal("interrupt".into())).is_err());
    walk.succeed("null");
    assert_eq!(walk.call().args.get("id").unwrap().to_json(), "1");
    walk.succeed("null");
    assert_eq!(walk.ended(), "rolled_back");
    let rollback = walk.state.ended.as_ref().unwrap().rollback.as_ref().unwrap().to_json();
    assert_eq!(rollback, r#"{"failed":[],"irreversible":[{"node":"mail","tool":"mail"}]}"#);
}

#[test]
fn a_failed_undo_is_tried_again_then_listed_and_unwinding_goes_on() {
    let mut walk = booked();
    walk.say("no");
    let first = walk.call();
    walk.fail("busy");
    let second = walk.call();
    assert_eq!((second.attempt, second.delay, &second.idempotency_key), (2, 1_000, &first.idempotency_key));
    walk.fail("gone");
    assert!(walk.events.contains(&Event::Undone { tool: "cancel".into(), ok: false }));
    walk.fail("gone too");
    let rollback = walk.state.ended.as_ref().unwrap().rollback.as_ref().unwrap().to_json();
    assert!(
        rollback.starts_with(r#"{"failed":[{"message":"gone","node":"hotel","tool":"cancel"},{"message":"gone too","node":"start","#),
        "{rollback}"
    );
}

#[test]
fn a_loop_gathers_one_effect_per_success_and_one_irreversible_one() {
    let mut walk = booked();
    walk.say("yes").succeed(r#"{"id":3}"#).succeed(r#"{"id":4}"#).succeed("null");
    assert_eq!((walk.state.effects.undoable().len(), walk.state.effects.irreversible().count()), (4, 1));
    let keys: std::collections::BTreeSet<_> =
        walk.state.effects.iter().map(|effect| effect.undo.as_ref().map(|undo| undo.id.clone())).collect();
    assert_eq!(keys.len(), 5);
}

#[test]
fn after_unwinding_the_flow_goes_on_and_has_not_finished() {
    let trellis = format!("{}on_rolled_back: told\n", GRAPH[0].1);
    let told = "---\nwait: true\nto: sorry\n---\n";
    let files = [("trellis.yaml", &*trellis), GRAPH[1], GRAPH[2], GRAPH[3], GRAPH[4], ("told.md", told), ("sorry.md", "Sorry.\n")];
    let mut walk = Walk::new(&files);
    walk.succeed(r#"{"id":1}"#).fail("full").succeed("null");
    assert_eq!((walk.node(), walk.state.status), ("told", Status::WaitingForInput));
    walk.say("ok");
    assert_eq!((walk.content().as_str(), walk.ended().as_str()), ("Sorry.", "rolled_back"));
}

//! A stored state on another program.

use trellis_core::{
    Input, State,
    engine::{Adopted, Blocker, ChangedCall, Moved},
    state::Status,
};

use crate::graph::{Walk, engine};

const TRELLIS: (&str, &str) = ("trellis.yaml", "bindings: { t: { effect: none }, u: { effect: none } }\n");
const START: (&str, &str) = ("start.md", "---\nwait: true\nto: m/ask\n---\nStart.\n");
const ASK: &str = "---\nwait: true\nto: act\n---\nAsk.\n";
const ACT: &str = "---\ndo: { name: t, args: { n: 1 } }\n---\n";

fn at_ask() -> Walk {
    let mut walk = Walk::new(&[TRELLIS, START, ("m/ask.md", ASK), ("m/act.md", ACT)]);
    walk.say("on");
    walk
}

fn at_act() -> Walk {
    let mut walk = at_ask();
    walk.say("on");
    walk
}

fn blocked(adopted: Adopted, before: &State) -> Vec<Blocker> {
    let Adopted::Blocked { state, blockers } = adopted else { panic!("{adopted:?}") };
    assert_eq!(state, *before);
    blockers
}

#[test]
fn a_session_goes_on_at_its_node_with_the_new_words() {
    let walk = at_ask();
    let next = engine(&[TRELLIS, START, ("m/ask.md", "---\nwait: true\nto: act\n---\nAsk again.\n"), ("m/act.md", ACT)]);
    let Adopted::Kept(state) = next.adopt(walk.state.clone()) else { panic!() };
    assert_eq!(next.render(&state).unwrap().content.unwrap().trim(), "Ask again.");
    assert_eq!(State { program: walk.state.program.clone(), ..state }, walk.state);
}

#[test]
fn a_rename_is_followed_and_a_vanished_node_leads_to_the_nearest_start() {
    let walk = at_ask();
    let renamed = engine(&[TRELLIS, ("start.md", "---\nwait: true\nto: q\n---\n"), ("q.md", "---\nwas: [m/ask]\nwait: true\n---\n")]);
    let Adopted::Moved { state, from, why: Moved::Renamed } = renamed.adopt(walk.state.clone()) else { panic!() };
    assert_eq!((state.current_node_id.as_str(), from.as_str()), ("q", "m/ask"));

    let module = "---\nwait: true\n---\nModule.\n";
    let vanished = engine(&[TRELLIS, ("start.md", "---\nwait: true\nto: m\n---\n"), ("m/start.md", module)]);
    let Adopted::Moved { state, why: Moved::Vanished, .. } = vanished.adopt(walk.state.clone()) else { panic!() };
    assert_eq!((state.current_node_id.as_str(), state.status), ("m/start", Status::WaitingForInput));

    let needy = "---\nrequired_context: [key]\nwait: true\n---\n";
    let needs = engine(&[TRELLIS, ("start.md", "---\nwait: true\ndefault_context: { key: 1 }\nto: m\n---\n"), ("m/start.md", needy)]);
    assert_eq!(blocked(needs.adopt(walk.state.clone()), &walk.state), [Blocker::MissingKeys(vec!["key".into()])]);
}

#[test]
fn words_that_need_a_new_key_block_unless_the_node_brings_it() {
    let walk = at_ask();
    let with = |ask: &str| engine(&[TRELLIS, START, ("m/ask.md", ask), ("m/act.md", ACT)]).adopt(walk.state.clone());
    let needy = "---\nwait: true\nto: act\n---\nAsk {{ who }}.\n";
    let start = ("start.md", "---\nwait: true\nset: { who: Ann }\nto: m/ask\n---\nStart.\n");
    let next = engine(&[TRELLIS, start, ("m/ask.md", needy), ("m/act.md", ACT)]);
    assert_eq!(blocked(next.adopt(walk.state.clone()), &walk.state), [Blocker::MissingKeys(vec!["who".into()])]);
    let bringing = "---\ndefault_context: { who: Ann }\nwait: true\nto: act\n---\nAsk {{ who }}.\n";
    let Adopted::Moved { state, why: Moved::Again, .. } = with(bringing) else { panic!() };
    assert_eq!(state.context.get("who").and_then(|who| who.as_str()), Some("Ann"));
    assert!(matches!(with("---\nwait: true\nto: act\n---\nAsk {{ who | default('you') }}.\n"), Adopted::Kept(_)));
}

#[test]
fn what_keeps_a_session_from_going_on_is_named() {
    let walk = at_act();
    let with = |act: &str| engine(&[TRELLIS, START, ("m/ask.md", ASK), ("m/act.md", act)]).adopt(walk.state.clone());
    let changed = |now: &str| Blocker::CallChanged { pending: "t".into(), now: now.into() };
    assert!(matches!(with(ACT), Adopted::Kept(_)));
    assert_eq!(blocked(with("---\ndo: { name: t, args: { n: 2 } }\n---\n"), &walk.state), [changed("t")]);
    assert_eq!(blocked(with("---\ndo: { name: u, args: { n: 1 } }\n---\n"), &walk.state), [changed("u")]);
}

#[test]
fn a_changed_call_is_kept_or_made_again() {
    let walk = at_act();
    let next = engine(&[TRELLIS, START, ("m/ask.md", ASK), ("m/act.md", "---\ndo: { name: t, args: { n: 2 } }\n---\n")]);
    let Adopted::Kept(kept) = next.adopt_deciding(walk.state.clone(), ChangedCall::Kept) else { panic!() };
    assert_eq!(kept.pending_tool_call, walk.state.pending_tool_call);
    let Adopted::Moved { state, why: Moved::Again, .. } = next.adopt_deciding(walk.state.clone(), ChangedCall::MadeAgain) else { panic!() };
    let (old, new) = (walk.state.pending_tool_call.unwrap(), state.pending_tool_call.unwrap());
    assert_eq!((&*new.name, new.args.get("n")), ("t", Some(&trellis_core::Value::Int(2))));
    assert_ne!(new.idempotency_key, old.idempotency_key);
    assert_eq!((state.abandoned.len(), state.step), (1, walk.state.step + 1), "a late result of the old call is still known");
}

#[test]
fn a_node_that_does_something_else_now_is_entered_again() {
    let walk = at_act();
    let listening = engine(&[TRELLIS, START, ("m/ask.md", ASK), ("m/act.md", "---\nwait: true\n---\n")]);
    let Adopted::Moved { state, why: Moved::Again, .. } = listening.adopt(walk.state.clone()) else { panic!() };
    assert_eq!((state.status, state.pending_tool_call), (Status::WaitingForInput, None));

    let walk = at_ask();
    let acting = engine(&[TRELLIS, START, ("m/ask.md", "---\ndo: t\nto: act\n---\n"), ("m/act.md", ACT)]);
    let Adopted::Moved { state, .. } = acting.adopt(walk.state.clone()) else { panic!() };
    assert_eq!((state.current_node_id.as_str(), state.status), ("m/ask", Status::WaitingForTool));

    let asserting = ("m/ask.md", "---\nassert: [\"sys.ans == 'never'\"]\ndo: t\nto: act\n---\n");
    let failing = engine(&[TRELLIS, START, asserting, ("m/act.md", ACT)]);
    let blockers = blocked(failing.adopt(walk.state.clone()), &walk.state);
    assert!(matches!(&blockers[..], [Blocker::NotEntered { node, .. }] if node.as_str() == "m/ask"), "{blockers:?}");
}

#[test]
fn a_newer_state_is_refused_and_an_older_program_says_so() {
    let walk = at_ask();
    let newer = State { version: 99, ..walk.state.clone() };
    assert_eq!(blocked(walk.engine.adopt(newer.clone()), &newer), [Blocker::Version(99)]);
    let without = engine(&[("start.md", "---\nwait: true\n---\n")]);
    let refused = without.navigate(&walk.state, Input::Text("x".into())).unwrap_err();
    assert_eq!(refused.to_string(), "the graph has no node `m/ask` as the session left it");
    assert!(without.render(&walk.state).is_err());
}

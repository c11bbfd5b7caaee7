//! Recorded moments, walked again.

use trellis_core::{
    Input, NodeId,
    engine::{Answers, Moment},
};

use crate::graph::{Walk, engine, start};

const START: (&str, &str) =
    ("start.md", "---\ninput_type: int\nsave_to: n\ntransitions: [{ condition: n == 1, to: one }, { to: other }]\n---\n");
const ONE: (&str, &str) = ("one.md", "---\nwait: true\nto: start\n---\nOne.\n");
const OTHER: (&str, &str) = ("other.md", "Other.\n");

fn moment(text: &str, to: &str) -> Moment {
    Moment { input: Input::Text(text.into()), answers: Answers::new(), to: Some(NodeId::new(to)) }
}

#[test]
fn the_same_moments_give_the_same_bytes() {
    let mut walk = Walk::new(&[START, ONE, OTHER]);
    walk.say("1").say("again").say("2");
    let moments = [moment("1", "one"), moment("again", "start"), moment("2", "other")];
    let state = walk.engine.replay(start("{}"), moments).unwrap();
    assert_eq!(serde_json::to_string(&state).unwrap(), serde_json::to_string(&walk.state).unwrap());
}

#[test]
fn the_first_moment_that_goes_another_way_is_named_with_its_place() {
    let changed = ("start.md", "---\ninput_type: int\nsave_to: n\ntransitions: [{ condition: n == 2, to: one }, { to: other }]\n---\n");
    let engine = engine(&[OTHER, changed, ONE]);
    let divergence = engine.replay(start("{}"), [moment("1", "one")]).unwrap_err();
    assert_eq!((divergence.moment, divergence.message.as_str()), (Some(0), "leads to `other`, not to `one`"));
    assert_eq!(divergence.node.unwrap().as_str(), "start");
    assert_eq!(divergence.at.map(|(path, at)| (path.to_string(), at.line)), Some(("start.md".to_owned(), 1)));
    let refused = engine.replay(start("{}"), [moment("x", "one")]).unwrap_err();
    assert_eq!(refused.message, "`x` is not a whole number");
}

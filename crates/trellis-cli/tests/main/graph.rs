//! `trellis graph`.

use crate::sandbox::{SOUND, Sandbox, THREE_MISTAKES};

#[test]
fn each_format_is_the_same_on_every_run() {
    let sandbox = Sandbox::new(SOUND);
    for format in ["mermaid", "dot", "json"] {
        let first = sandbox.trellis(&["graph", "--format", format]);
        assert_eq!(first.code, Some(0), "{first:?}");
        for _ in 0..4 {
            assert_eq!(sandbox.trellis(&["graph", "--format", format]).out, first.out, "{format}");
        }
    }
}

#[test]
fn mermaid_is_what_is_drawn_unless_said_otherwise() {
    let ran = Sandbox::new(SOUND).trellis(&["graph", "."]);
    assert!(ran.out.starts_with("flowchart TD\n"), "{}", ran.out);
    assert!(ran.out.contains("((\"start\"))"), "{}", ran.out);
}

#[test]
fn a_graph_that_does_not_compile_is_not_drawn() {
    let ran = Sandbox::new(THREE_MISTAKES).trellis(&["graph"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""));
    assert!(ran.err.contains("error[unknown-target]"), "{}", ran.err);
}

#[test]
fn a_collection_names_its_graphs() {
    let sandbox = Sandbox::new(&[("graphs/a/start.md", "Hi.\n"), ("graphs/b/start.md", "Hi.\n")]);
    let ran = sandbox.trellis(&["graph"]);
    let expected = "error: there are 2 graphs here, name one of them\n  trellis graph graphs/a\n  trellis graph graphs/b\n";
    assert_eq!((ran.code, ran.err.as_str()), (Some(2), expected));
}

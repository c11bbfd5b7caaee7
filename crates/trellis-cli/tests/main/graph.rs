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

/// `docs/reference/cli.md#graph`: a picture shows the modules that are named as one box each, none of them where none is named, and all of them in a
/// large graph.
#[test]
fn modules_are_collapsed_that_are_named_or_all_of_a_large_graph() {
    let small = Sandbox::new(&[
        ("start.md", "---\nto: a/start\n---\n"),
        ("a/start.md", "---\nto: a/inner/start\n---\n"),
        ("a/inner/start.md", "---\nto: b/start\n---\n"),
        ("b/start.md", "Ends.\n"),
    ]);
    let drawn = |sandbox: &Sandbox, more: &[&str]| {
        let ran = sandbox.trellis(&[&["graph", "--format", "svg"], more].concat());
        assert_eq!(ran.code, Some(0), "{ran:?}");
        ran.out
    };
    let closed = |picture: &str, module: &str| picture.contains(&format!("<g><title>{module}</title>"));
    let whole = drawn(&small, &[]);
    assert!(!closed(&whole, "a") && !closed(&whole, "b"), "{whole}");
    assert_eq!(drawn(&small, &["--collapsed", ""]), whole);
    // A name that no module has is passed over: an editor may say what was a module before a rename.
    assert_eq!(drawn(&small, &["--collapsed", "gone"]), whole);
    let outer = drawn(&small, &["--collapsed", "a"]);
    assert!(closed(&outer, "a") && !closed(&outer, "a/inner") && outer.contains("<title>b/start: "), "{outer}");
    let both = drawn(&small, &["--collapsed", "a/inner,b"]);
    assert!(closed(&both, "a/inner") && closed(&both, "b") && both.contains("<title>a/start: "), "{both}");

    let mut files =
        vec![("start.md".to_owned(), "---\nto: a/start\n---\n".to_owned()), ("a/start.md".to_owned(), "---\nto: n0\n---\n".to_owned())];
    files.extend((0..401).map(|at| (format!("a/n{at}.md"), format!("---\nto: n{}\n---\n", at + 1))));
    files.push(("a/n401.md".to_owned(), "Ends.\n".to_owned()));
    let large = Sandbox::new(&files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect::<Vec<_>>());
    let whole = drawn(&large, &[]);
    assert!(closed(&whole, "a") && whole.contains(">403 nodes<"), "{whole}");
    assert!(drawn(&large, &["--collapsed", ""]).contains("<title>a/n401: "));

    assert_eq!(drawn(&large, &["--expanded", "a"]), drawn(&large, &["--collapsed", ""]));
    assert_eq!(drawn(&small, &["--collapsed", "a,b", "--expanded", "b"]), outer);

    for choice in ["--collapsed", "--expanded"] {
        let ran = small.trellis(&["graph", choice, "a"]);
        let expected = "error: `--collapsed` and `--expanded` are about pictures\n  add `--format svg`\n";
        assert_eq!((ran.code, ran.err.as_str()), (Some(2), expected));
    }
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

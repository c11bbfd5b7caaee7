//! `trellis session show`: calls made of calls, part by part.

use crate::{sandbox::Sandbox, session::fine};

/// Side by side: one part succeeds, one fails, one is forbidden, one is asked about, one is a child; then an item for each tool.
const ABREAST: &[(&str, &str)] = &[
    (
        "trellis.yaml",
        "name: abreast\nbindings:\n  t: { process: [echo, '1'] }\n  f: { process: [sh, -c, 'exit 3'] }\npolicy:\n  - { block: [{ tool: t, args: { required: [no] } }] }\n  - { ask: [{ tool: t, args: { required: [ask] } }] }\n",
    ),
    (
        "start.md",
        "---\ndo:\n  parallel:\n    fine: t\n    broken: f\n    barred: { name: t, args: { no: 1 } }\n    asked: { name: t, args: { ask: 1 } }\n    below: { graph: sub }\n  on_error: collect\nset: { items: [{ name: t }, { name: f, args: { n: 1 } }] }\nto: many\n---\n",
    ),
    ("many.md", "---\ntools: [t, f]\ndo: { each: items }\nto: end\n---\n"),
    ("sub.md", "---\noutput: 5\n---\n"),
    ("end.md", "Done.\n"),
];

// language 11.3: each record is about the part, not about the whole.
#[test]
fn a_timeline_names_the_parts_of_a_call() {
    let sandbox = Sandbox::new(ABREAST);
    assert_eq!(sandbox.trellis(&["run", ".", "--session", "s", "--yes"]).code, Some(0));
    let shown = fine(&sandbox, &["show", "s"]);
    let lines = [
        "    calls `parallel` {}\n      branch `fine`: `t` {}\n      branch `broken`: `f` {}\n      branch `barred`: `t` {\"no\":1}\n      branch `asked`: `t` {\"ask\":1}\n      branch `below`: `graph:sub` {}\n",
        "  `t` (branch `fine`) returned 1",
        "  `f` (branch `broken`) failed: `f` exited with 3",
        "  `t` (branch `barred`) was denied: `t` is in `block`",
        "  the policy decides ASK about `t` (branch `asked`): `t` is in `ask`",
        "  `t` (branch `asked`) returned 1",
        "  `graph:sub` (branch `below`) returned 5",
        "    calls `each` {}\n      item 0: {\"name\":\"t\"}\n      item 1: {\"args\":{\"n\":1},\"name\":\"f\"}\n",
        "  `t` (item 0) returned 1",
        "  `f` (item 1) failed: `f` exited with 3",
    ];
    for line in lines {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    assert!(!shown.contains("`parallel` returned") && !shown.contains("`each` returned"), "{shown}");
    // Without its graph no value is shown, but which part it was is.
    let elsewhere = Sandbox::new(&[]);
    let store = format!("sqlite:{}", sandbox.path().join(".trellis/sessions.db").display());
    let blind = fine(&elsewhere, &["show", "s", "--store", &store]);
    assert!(blind.contains("`t` (branch `barred`) was denied: ***"), "{blind}");
}

#[test]
fn an_approval_in_a_timeline_names_its_part() {
    let sandbox = Sandbox::new(ABREAST);
    sandbox.trellis(&["run", ".", "--session", "s"]);
    fine(&sandbox, &["approve", "s"]);
    let shown = fine(&sandbox, &["show", "s"]);
    assert!(shown.contains("  `t` (branch `asked`) was approved\n"), "{shown}");
}

// language 10: the record of an edit carries the states of the children
#[test]
fn a_timeline_knows_the_calls_of_children_after_an_edit() {
    let sandbox = Sandbox::new(&[
        ("trellis.yaml", "bindings: { t: { process: [echo, '7'] } }\n"),
        ("start.md", "---\ndo: { graph: kid }\nsave_to: r\nto: end\n---\n"),
        ("kid.md", "---\ndo: { name: t, approve: { ask: Now? } }\nsave_to: n\nto: told\n---\n"),
        ("told.md", "---\noutput: \"{{ n }}\"\n---\n"),
        ("end.md", "Done.\n"),
    ]);
    sandbox.trellis(&["run", ".", "--session", "s"]);
    sandbox.write("end.md", b"It is done.\n");
    assert_eq!(sandbox.trellis(&["run", ".", "--session", "s", "--yes"]).code, Some(0));
    let shown = fine(&sandbox, &["show", "s"]);
    assert!(shown.contains("the graph was edited") && shown.contains(" `t` returned 7"), "{shown}");
}

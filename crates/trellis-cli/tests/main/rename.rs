//! `trellis rename`: all files are written, or none.

use crate::sandbox::Sandbox;

const SHOP: [(&str, &str); 3] = [
    ("start.md", "---\ninput_type: text\nsave_to: name\nto: greet\n---\nName?\n"),
    ("greet.md", "---\nto: bye\n---\nHello {{ name }}, see [the end](bye.md)\n"),
    ("bye.md", "---\n---\nBye, {{ name }}\n"),
];

#[test]
fn a_node_moves_with_its_file_and_a_key_changes_everywhere() {
    let sandbox = Sandbox::new(&SHOP);
    let ran = sandbox.trellis(&["rename", "node", "bye", "farewell", "."]);
    assert_eq!((ran.code, &*ran.out), (Some(0), "2 files changed\n"), "{ran:?}");
    let text = |path: &str| std::fs::read_to_string(sandbox.path().join(path)).unwrap();
    assert_eq!(text("farewell.md"), "---\nwas: [bye]\n---\nBye, {{ name }}\n");
    assert_eq!(text("greet.md"), "---\nto: farewell\n---\nHello {{ name }}, see [the end](farewell.md)\n");
    assert!(!sandbox.path().join("bye.md").exists());

    let ran = sandbox.trellis(&["rename", "key", "name", "person", "."]);
    assert!(ran.out.starts_with("3 files changed\nnote: stored sessions hold `name`"), "{ran:?}");
    assert!(text("start.md").contains("save_to: person\n"));
    assert_eq!(sandbox.trellis(&["check", "."]).code, Some(0));
}

#[test]
fn a_refusal_and_a_dry_run_write_nothing() {
    let sandbox = Sandbox::new(&SHOP);
    let ran = sandbox.trellis(&["rename", "node", "bye", "farewell", ".", "--dry-run"]);
    assert!(ran.out.contains("bye.md → ") && ran.out.contains("+to: farewell"), "{ran:?}");
    let refused = sandbox.trellis(&["rename", "node", "bye", "greet", "."]);
    assert!(refused.code == Some(2) && refused.err.contains("there is a node `greet` already"), "{refused:?}");
    let refused = sandbox.trellis(&["rename", "key", "nothing", "x", "."]);
    assert!(refused.code == Some(2) && refused.err.contains("there is no key `nothing`"), "{refused:?}");
    let refused = sandbox.trellis(&["rename", "key", "name", "x", ".", "--graph", "elsewhere"]);
    assert!(refused.err.contains("no graph of its own"), "{refused:?}");
    for (path, text) in SHOP {
        assert_eq!(std::fs::read_to_string(sandbox.path().join(path)).unwrap(), text);
    }
}

#[test]
fn sheets_change_along_and_pass() {
    let sandbox = Sandbox::new(&SHOP);
    sandbox.write("trellis.yaml", b"bindings: { book: { process: [book] } }\n");
    sandbox.write("greet.md", b"---\ndo: book\non_error: bye\nto: bye\n---\nHello {{ name }}\n");
    let sheet = "# T\n\n## from `bye`\n\n```transcript\n$ at bye\n$ context {\"name\":\"bye\"}\n| Bye, bye\n* end finished\n```\n\n\
        ## a call\n\n```tools\nbook null\n```\n\n```transcript\n...\n> book\n| Hello book\n! book {} [..]\n...\n```\n";
    sandbox.write("_tests/t.md", sheet.as_bytes());
    assert_eq!(sandbox.trellis(&["test", "."]).code, Some(0));
    let ran = sandbox.trellis(&["rename", "node", "bye", "farewell", ".", "--dry-run"]);
    assert!(ran.out.contains("+$ at farewell"), "{ran:?}");
    let ran = sandbox.trellis(&["rename", "node", "bye", "farewell", "."]);
    assert_eq!((ran.code, &*ran.out), (Some(0), "3 files changed\n"), "{ran:?}");
    let ran = sandbox.trellis(&["rename", "tool", "book", "reserve", "."]);
    assert!(ran.code == Some(0) && ran.out.starts_with("3 files changed\nnote: functions of hosts"), "{ran:?}");
    let expected = sheet.replace("$ at bye", "$ at farewell").replace("book null", "reserve null").replace("! book", "! reserve");
    assert_eq!(std::fs::read_to_string(sandbox.path().join("_tests/t.md")).unwrap(), expected);
    assert_eq!(sandbox.trellis(&["test", "."]).code, Some(0));
}

#[cfg(unix)]
#[test]
fn where_one_file_cannot_be_written_all_keep_their_texts() {
    use std::os::unix::fs::PermissionsExt as _;
    let sandbox = Sandbox::new(&SHOP);
    // The last file in order; the others are written before it.
    let locked = sandbox.path().join("start.md");
    std::fs::set_permissions(&locked, std::fs::Permissions::from_mode(0o444)).unwrap();
    let ran = sandbox.trellis(&["rename", "key", "name", "person", "."]);
    assert!(ran.code == Some(2) && ran.err.contains("nothing is changed"), "{ran:?}");
    for (path, text) in SHOP {
        assert_eq!(std::fs::read_to_string(sandbox.path().join(path)).unwrap(), text, "{path}");
    }
}

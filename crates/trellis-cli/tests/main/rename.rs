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
    sandbox.write("greet.md", b"---\nset: { said: hello }\nto: farewell\n---\nHello\n");
    assert!(sandbox.trellis(&["rename", "key", "said", "words", "."]).out.starts_with("1 file changed\n"));
}

#[test]
fn a_refusal_and_a_dry_run_write_nothing() {
    let sandbox = Sandbox::new(&SHOP);
    let ran = sandbox.trellis(&["rename", "node", "bye", "farewell", ".", "--dry-run"]);
    assert!(ran.out.contains("bye.md → ") && ran.out.contains("+to: farewell"), "{ran:?}");
    let refused = sandbox.trellis(&["rename", "node", "bye", "greet", "."]);
    assert!(refused.code == Some(2) && refused.err.contains("there is a node `greet` already"), "{refused:?}");
    let refused = sandbox.trellis(&["rename", "node", "geet", "x", "."]);
    assert!(refused.code == Some(2) && refused.err.contains("there is no node `geet`, did you mean `greet`?"), "{refused:?}");
    sandbox.write("ask.md", b"---\noptions: [Tea, Coffee]\nsave_to: drink\nto: bye\n---\n");
    let refused = sandbox.trellis(&["rename", "option", "Cofee", "x", "."]);
    assert!(refused.code == Some(2) && refused.err.contains("has an option `Cofee`, did you mean `Coffee`?"), "{refused:?}");
    let refused = sandbox.trellis(&["rename", "option", "Te", "x", ".", "--node", "ask"]);
    assert!(refused.code == Some(2) && refused.err.contains("that is a text, did you mean `Tea`?"), "{refused:?}");
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
    let sheet = "# T\n\nAbout [the end](../bye.md).\n\n## from `bye`\n\n```transcript\n$ at bye\n$ context {\"name\":\"bye\"}\n| Bye, bye\n* end finished\n```\n\n\
        ## a call\n\n```tools\nbook null\n```\n\n```transcript\n...\n> book\n| Hello book\n! book {} [..]\n...\n```\n";
    sandbox.write("_tests/t.md", sheet.as_bytes());
    assert_eq!(sandbox.trellis(&["test", "."]).code, Some(0));
    let ran = sandbox.trellis(&["rename", "node", "bye", "farewell", ".", "--dry-run"]);
    assert!(ran.out.contains("+$ at farewell") && ran.out.contains("+About [the end](../farewell.md)."), "{ran:?}");
    let ran = sandbox.trellis(&["rename", "node", "bye", "farewell", "."]);
    let said = "3 files changed\nnote: 1 case may fail now: what a node says is not changed\n";
    assert_eq!((ran.code, &*ran.out), (Some(0), said), "{ran:?}");
    let ran = sandbox.trellis(&["rename", "tool", "book", "reserve", "."]);
    assert!(ran.code == Some(0) && ran.out.starts_with("3 files changed\nnote: functions of hosts"), "{ran:?}");
    let expected = sheet
        .replace("$ at bye", "$ at farewell")
        .replace("../bye.md", "../farewell.md")
        .replace("book null", "reserve null")
        .replace("! book", "! reserve");
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

const TEA: [(&str, &str); 8] = [
    ("trellis.yaml", "predicates: [vip]\n"),
    ("start.md", "---\noptions: [Tea, Coffee]\nsave_to: drink\non_signal: { stop: bye }\nto: make\n---\nWhich?\n"),
    (
        "make/start.md",
        "---\ntransitions:\n  - { condition: drink == \"Tea\", to: pour }\n  - { condition: vip, to: /bye }\n  - to: pour\n---\n",
    ),
    ("make/pour.md", "---\nto: bye\n---\nOne {{ drink }}. See [the end](../bye.md).\n"),
    ("make/kettle.txt", "no node\n"),
    ("bye.md", "---\n---\nBye. See [making](make/pour.md).\n"),
    (
        "_tests/t.md",
        "# A\n\n```transcript\n...\n> Tea\n...\n* end finished\n```\n\n# B\n\n```transcript\n$ at make/start\n$ context {\"drink\":\"Coffee\"}\n@ vip = true\n...\n* end finished\n```\n",
    ),
    ("make/_notes.md", "no node either\n"),
];

#[test]
fn a_folder_moves_with_everything_in_it_and_tests_pass_afterwards() {
    let sandbox = Sandbox::new(&TEA);
    let ran = sandbox.trellis(&["rename", "folder", "make", "brew", ".", "--dry-run"]);
    assert!(ran.code == Some(0) && ran.out.contains("make → brew"), "{ran:?}");
    assert!(sandbox.path().join("make").exists());
    let ran = sandbox.trellis(&["rename", "folder", "make", "brew", "."]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let text = |path: &str| std::fs::read_to_string(sandbox.path().join(path)).unwrap();
    assert!(
        !sandbox.path().join("make").exists()
            && sandbox.path().join("brew/kettle.txt").exists()
            && sandbox.path().join("brew/_notes.md").exists()
    );
    assert_eq!(text("brew/pour.md"), "---\nwas: [make/pour]\nto: bye\n---\nOne {{ drink }}. See [the end](../bye.md).\n");
    assert!(
        text("start.md").contains("to: brew\n")
            && text("bye.md").contains("(brew/pour.md)")
            && text("_tests/t.md").contains("$ at brew/start\n")
    );
    assert_eq!(sandbox.trellis(&["check", "."]).code, Some(0));
    assert_eq!(sandbox.trellis(&["test", "."]).code, Some(0));
    // By the node that it begins with, too; and back: no id is an old one of itself.
    let ran = sandbox.trellis(&["rename", "node", "brew/start", "make", "."]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(text("make/pour.md"), "---\nwas: [brew/pour]\nto: bye\n---\nOne {{ drink }}. See [the end](../bye.md).\n");
    let ran = sandbox.trellis(&["rename", "folder", "make", "a b", "."]);
    assert!(ran.code == Some(2) && ran.err.contains("no name of a folder"), "{ran:?}");
}

#[test]
fn options_predicates_and_signals_are_renamed_and_tests_pass_afterwards() {
    let sandbox = Sandbox::new(&TEA);
    let renames = [["option", "Tea", "Green tea"], ["predicate", "vip", "gold"], ["signal", "stop", "halt"]];
    for [what, old, new] in renames {
        let ran = sandbox.trellis(&["rename", what, old, new, "."]);
        assert_eq!(ran.code, Some(0), "{what}: {ran:?}");
        let left = std::fs::read_dir(sandbox.path())
            .unwrap()
            .filter_map(Result::ok)
            .filter_map(|entry| std::fs::read_to_string(entry.path()).ok());
        assert!(what == "option" || left.into_iter().all(|text| !text.contains(old)), "{what}");
        assert_eq!(sandbox.trellis(&["test", "."]).code, Some(0), "{what}");
    }
    let text = |path: &str| std::fs::read_to_string(sandbox.path().join(path)).unwrap();
    assert!(text("start.md").contains("options: [Green tea, Coffee]") && text("make/start.md").contains("drink == \"Green tea\""));
    assert!(text("_tests/t.md").contains("> Green tea\n"));
    let ran = sandbox.trellis(&["rename", "folder", "_tests", "sheets", "."]);
    assert!(ran.code == Some(2) && ran.err.contains("would become nodes") && sandbox.path().join("_tests/t.md").exists(), "{ran:?}");
    let ran = sandbox.trellis(&["rename", "option", "Water", "x", "."]);
    assert!(ran.code == Some(2) && ran.err.contains("no node has an option `Water`"), "{ran:?}");
}

#[test]
fn a_key_changes_in_the_files_that_sheets_begin_with_and_comes_back_as_it_was() {
    let sandbox = Sandbox::new(&SHOP);
    let context = "{\r\n\t\"n\": {\"name\": 1},  \"other\" : [ {\"name\": 2} ],\r\n\t\"name\"  :\"name\", \"x\": 1.50 }\r\n";
    let sheet = "# T\n\nSee {{ name }}.\n\n## one\n\n```transcript\n$ at bye\n$ context deep/ada.json\n| Bye, name\n* end finished\n```\n\n\
        ## two\n\n```transcript\n$ at greet\n$ context deep/ada.json\n...\n| Bye, name\n* end finished\n```\n";
    sandbox.write("_tests/t.md", sheet.as_bytes());
    sandbox.write("_tests/deep/ada.json", context.as_bytes());
    sandbox.write("_tests/deep/eve.json", b"{\"name\": 1}\n");
    let text = |path: &str| std::fs::read_to_string(sandbox.path().join(path)).unwrap();
    assert_eq!(sandbox.trellis(&["test", "."]).code, Some(0));
    let ran = sandbox.trellis(&["rename", "key", "name", "person", ".", "--dry-run"]);
    assert!(ran.out.contains("_tests/deep/ada.json") && text("_tests/deep/ada.json") == context, "{ran:?}");
    let ran = sandbox.trellis(&["rename", "key", "name", "person", "."]);
    assert!(ran.code == Some(0) && ran.out.starts_with("4 files changed\n"), "{ran:?}");
    assert_eq!(text("_tests/deep/ada.json"), context.replace("\"name\"  :", "\"person\"  :"));
    assert_eq!(text("_tests/deep/eve.json"), "{\"name\": 1}\n", "no sheet begins with it");
    assert_eq!(sandbox.trellis(&["test", "."]).code, Some(0));
    assert_eq!(sandbox.trellis(&["rename", "key", "person", "name", "."]).code, Some(0));
    assert_eq!((text("_tests/deep/ada.json"), text("_tests/t.md")), (context.to_owned(), sheet.to_owned()));
}

#[test]
fn a_file_of_a_sheet_that_cannot_be_changed_is_named_and_stays() {
    let sandbox = Sandbox::new(&[("outside.json", "{\"name\": 1}")]);
    SHOP.iter().for_each(|(path, text)| sandbox.write(&format!("g/{path}"), text.as_bytes()));
    sandbox.write("g/ask/trellis.yaml", b"name: ask\n");
    sandbox.write("g/ask/start.md", b"---\n---\nAsk {{ name | default(1) }}\n");
    let files = [
        ("_tests/broken.json", "{\"name\": "),
        ("_tests/list.json", "[{\"name\": 1}]"),
        ("_tests/both.json", "{\"name\": 1, \"person\": 2}"),
        ("_tests/none.json", "{\"other\": {\"name\": 1}}"),
        ("ask/_tests/shared.json", "{\"name\": 1}"),
        ("../outside.json", "{\"name\": 1}"),
    ];
    files.iter().for_each(|(path, text)| sandbox.write(&format!("g/{path}"), text.as_bytes()));
    sandbox.write("g/_tests/bytes.json", b"{\"name\": \"\xff\"}");
    let blocks = ["broken", "list", "both", "none", "bytes", "gone", "../ask/_tests/shared", "../../outside"];
    let blocks = blocks.map(|name| format!("## {name}\n\n```transcript\n$ at bye\n$ context {name}.json\n```\n\n"));
    sandbox.write("g/_tests/t.md", format!("# T\n\n{}", blocks.concat()).as_bytes());
    sandbox.write("g/ask/_tests/t.md", b"# T\n\n```transcript\n$ context shared.json\n...\n```\n");
    let ran = sandbox.trellis(&["rename", "key", "name", "person", "g"]);
    assert!(ran.code == Some(0) && ran.out.starts_with("3 files changed\n"), "{ran:?}");
    for note in [
        "note: `_tests/broken.json`, with which `_tests/t.md` begins, is not changed: ",
        "note: `_tests/list.json`, with which `_tests/t.md` begins, is not changed: it is no JSON mapping\n",
        "note: `_tests/both.json`, with which `_tests/t.md` begins, is not changed: it gives `person` already\n",
        "note: `_tests/bytes.json`, with which `_tests/t.md` begins, is not changed: it cannot be read\n",
        "note: `_tests/t.md` begins with `gone.json`, which cannot be read and is not changed: ",
        "note: `_tests/t.md` begins with `../../outside.json`, which cannot be read and is not changed: it lies outside the graph\n",
        "note: `ask/_tests/shared.json`, with which `_tests/t.md` begins, is not changed: `ask/_tests/t.md` begins with it, too, and is about \
         another graph\n",
    ] {
        assert!(ran.out.contains(note), "{note}{}", ran.out);
    }
    assert!(!ran.out.contains("none.json"), "what does not give the key is not named: {}", ran.out);
    for (path, text) in files {
        assert_eq!(std::fs::read_to_string(sandbox.path().join("g").join(path)).unwrap(), *text, "{path}");
    }
    assert_eq!(std::fs::read(sandbox.path().join("g/_tests/bytes.json")).unwrap(), b"{\"name\": \"\xff\"}");
    // A key of the graph inside is one of its own sheets only.
    sandbox.write("g/_tests/t.md", b"# T\n");
    let ran = sandbox.trellis(&["rename", "key", "name", "who", "g", "--graph", "ask"]);
    assert!(ran.code == Some(0) && ran.out.starts_with("2 files changed\n"), "{ran:?}");
    assert_eq!(std::fs::read_to_string(sandbox.path().join("g/ask/_tests/shared.json")).unwrap(), "{\"who\": 1}");
}

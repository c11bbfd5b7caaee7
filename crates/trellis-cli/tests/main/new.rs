//! `trellis new`: every template is a graph that checks clean, is formatted, passes its tests and runs to its end; nothing is overwritten.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use crate::sandbox::{SOUND, Sandbox};

/// Each template, whether this host can carry everything out, what a person types, and the last line that they read then.
const TEMPLATES: [(&str, bool, &str, &str); 5] = [
    ("blank", true, "Ana\n", "Goodbye!"),
    ("form", true, "Ana\n3\ndinner\ny\n", "Thank you, Ana. See you at dinner!"),
    ("tool", true, "lake\ny\n", "Have a good trip!"),
    ("api", false, "1001\ntoo bright\n", "Print this label: R-1001"),
    ("agent", true, "a lamp\norder it\ny\nbye\n", "Goodbye."),
];

/// Each type of node, with whether it can lead on.
const TYPES: [(&str, bool); 6] = [("text", true), ("question", true), ("choice", true), ("confirm", true), ("tool", true), ("end", false)];

#[test]
fn each_template_is_a_graph_in_which_nothing_is_wrong() {
    for (template, is_whole, input, last) in TEMPLATES {
        let sandbox = Sandbox::new(&[]);
        let ran = sandbox.trellis(&["new", "a/b c", "--template", template]);
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{template}");
        assert!(ran.out.starts_with("made a/b c: start.md, ") && ran.out.ends_with("walk it with `trellis run 'a/b c'`\n"), "{}", ran.out);
        // Of a model that is not set up `--host` says so.
        let checked: &[&str] = if is_whole && template != "agent" { &["check", "a/b c", "--host"] } else { &["check", "a/b c"] };
        let ran = sandbox.trellis(checked);
        assert!(ran.code == Some(0) && ran.out.ends_with(" nodes, no problems\n"), "{template}: {}", ran.out);
        let ran = sandbox.trellis(&["fmt", "--check", "a/b c"]);
        assert!(ran.code == Some(0) && ran.out.ends_with(" files, all formatted\n"), "{template}: {}", ran.out);
        let ran = sandbox.trellis(&["test", "a/b c"]);
        assert!(ran.code == Some(0) && ran.out.lines().count() > 2 && ran.out.ends_with(" passed\n"), "{template}: {ran:?}");
        let replayed: &[&str] = if is_whole { &[] } else { &["--replay-tools", "a/b c/calls.jsonl"] };
        let ran = sandbox.trellis_with(&[&["run", "a/b c"][..], replayed].concat(), input);
        assert_eq!((ran.code, ran.out.trim_end().lines().last()), (Some(0), Some(last)), "{template}: {ran:?}");
        let folder = sandbox.path().join("a/b c");
        for file in fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file()) {
            assert!(!fs::read_to_string(&file).unwrap().contains("PROJECT"), "{}", file.display());
        }
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&folder), mode(&sandbox.path().join("a")), "it is a folder like any other");
        assert_eq!(fs::read_dir(sandbox.path().join("a")).unwrap().count(), 1, "nothing unfinished is left");
    }
}

#[test]
fn every_template_is_listed_and_tried() {
    let listed = |args: &[&str]| {
        let out = Sandbox::new(&[]).trellis(args).out;
        out.lines().map(|line| line.split(' ').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(listed(&["new", "--list"]), TEMPLATES.map(|(name, ..)| name));
    assert_eq!(listed(&["new", "node", "--list"]), TYPES.map(|(name, _)| name));
}

#[test]
fn the_rollback_of_the_tool_template_can_be_seen() {
    let sandbox = Sandbox::new(&[]);
    sandbox.trellis(&["new", "trip", "--template", "tool"]);
    sandbox.write("trip/no-mail", b"");
    let ran = sandbox.trellis_with(&["run", "trip"], "lake\ny\n");
    assert_eq!(ran.code, Some(1));
    assert!(ran.out.contains("so the booking was taken back"), "{}", ran.out);
    let ran = sandbox.trellis_with(&["run", "trip"], "lake\nn\n");
    assert!(ran.out.trim_end().ends_with("Nothing was booked."), "{}", ran.out);
}

/// A loop with tools ends where its budget does, of calls or of tokens, and says so (language 11.6).
#[test]
fn the_agent_template_ends_when_its_budget_is_spent() {
    let sandbox = Sandbox::new(&[]);
    sandbox.trellis(&["new", "shop", "--template", "agent"]);
    let written = fs::read_to_string(sandbox.path().join("shop/trellis.yaml")).unwrap();
    let budget = "budget: { calls: 100, tokens: 50000 }";
    assert!(written.contains(budget), "{written}");
    // The model, the search, and the model; then the next call is refused. Scripted replies have no tokens.
    sandbox.write("shop/trellis.yaml", written.replace(budget, "budget: { calls: 3 }").as_bytes());
    let ran = sandbox.trellis_with(&["run", "shop"], "a lamp\norder it\ny\nbye\n");
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let last = "The budget of this session is spent: `budget.calls` is spent: it allows 3 in a session, and 3 were taken";
    assert!(ran.out.contains("number 7") && ran.out.contains(last), "{ran:?}");
}

#[test]
fn names_of_projects_are_text_whatever_they_look_like() {
    for name in ["true", "7", "a: b", "it's", "\u{e9}t\u{e9} \"x\"", "{x}", "-dash"] {
        let sandbox = Sandbox::new(&[]);
        let path = format!("./{name}");
        assert_eq!(sandbox.trellis(&["new", &path]).code, Some(0), "{name}");
        let ran = sandbox.trellis(&["check", &path]);
        assert_eq!((ran.code, ran.out.as_str()), (Some(0), "3 nodes, no problems\n"), "{name}");
    }
}

#[test]
fn what_is_there_is_not_touched() {
    let sandbox = Sandbox::new(&[("full/note.txt", "mine"), ("file", "mine"), ("git/.git/config", "mine"), ("git/.gitignore", "mine")]);
    for (path, error) in [
        ("full", "error: `full` is not empty: it holds `note.txt`\n  name a new folder, or add a node with `trellis new node`\n"),
        ("file", "error: `file` is a file\n  name a new folder\n"),
        ("file/x", "error: `file/x` is a file\n  name a new folder\n"),
        ("..", "error: `..` has no name that a project could have\n"),
    ] {
        let ran = sandbox.trellis(&["new", path]);
        assert_eq!(ran.code, Some(2), "{path}: {ran:?}");
        if path != "file/x" {
            assert_eq!((ran.out.as_str(), ran.err.as_str()), ("", error), "{path}");
        }
    }
    assert_eq!(fs::read(sandbox.path().join("full/note.txt")).unwrap(), b"mine");
    assert_eq!(fs::read_dir(sandbox.path().join("full")).unwrap().count(), 1);
    assert_eq!(sandbox.trellis(&["new", "git"]).code, Some(0), "hidden files are no graph");
    assert_eq!(sandbox.trellis(&["new", "git"]).code, Some(2));
}

/// A page for coding agents: alone in a folder that is there, with a template in a new one; never over another.
#[test]
fn a_page_for_agents_is_added_and_never_overwritten() {
    let sandbox = Sandbox::new(SOUND);
    let read = |path: &str| fs::read_to_string(sandbox.path().join(path)).unwrap();
    let ran = sandbox.trellis(&["new", "--agents"]);
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (Some(0), "made AGENTS.md\n", ""));
    assert_eq!(sandbox.trellis(&["check"]).out, "2 nodes, no problems\n", "it is a page");
    let page = read("AGENTS.md");
    assert!(page.contains("trellis mcp --author") && page.contains("trellis explain language"), "{page}");
    sandbox.write("AGENTS.md", b"mine");
    for path in [&[][..], &["."]] {
        let ran = sandbox.trellis(&[&["new", "--agents"], path].concat());
        assert!(ran.code == Some(2) && ran.err.starts_with("error: there is a `AGENTS.md` already, and it stays as it is\n"), "{ran:?}");
    }
    assert_eq!(read("AGENTS.md"), "mine");
    sandbox.write("graphs/x.txt", b"");
    let ran = sandbox.trellis(&["new", "graphs", "--agents"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "made graphs/AGENTS.md\n"));
    let ran = sandbox.trellis(&["new", "graphs", "--agents", "--template", "form"]);
    assert!(ran.code == Some(2) && ran.err.contains("`graphs` is not empty"), "{ran:?}");
    let ran = sandbox.trellis(&["new", "trip", "--agents", "--template", "tool"]);
    assert!(ran.code == Some(0) && ran.out.ends_with(", AGENTS.md\nwalk it with `trellis run trip`\n"), "{ran:?}");
    assert!(sandbox.trellis(&["check", "trip", "--deny", "warnings"]).out.ends_with(" nodes, no problems\n"));
    assert_eq!((read("trip/AGENTS.md"), read("graphs/AGENTS.md")), (page.clone(), page));
    let ran = sandbox.trellis(&["new", "hello", "--agents"]);
    assert!(ran.code == Some(0) && ran.out.starts_with("made hello: start.md, "), "{ran:?}");
    assert_eq!(sandbox.trellis(&["new", "start.md", "--agents"]).code, Some(2), "a file is no folder");
}

#[test]
fn each_type_of_node_joins_a_sound_graph() {
    for (kind, leads) in TYPES {
        let sandbox = Sandbox::new(SOUND);
        let mut args = vec!["new", "node", "more/thing", "--type", kind];
        if leads {
            args.extend(["--to", "bye"]);
        }
        let ran = sandbox.trellis(&args);
        let expected = "made more/thing.md\nlead to it with `to: more/thing`, from inside `more` with `to: thing`\n";
        assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (Some(0), expected, ""), "{kind}");
        sandbox.write(
            "start.md",
            b"---\ninput_type: text\nsave_to: name\ntransitions:\n  - { condition: name == \"x\", to: bye }\nto: more/thing\n---\nWho?\n",
        );
        let ran = sandbox.trellis(&["check"]);
        assert_eq!(
            (ran.code, ran.out.as_str()),
            (Some(0), "3 nodes, no problems\n"),
            "{kind}: {}",
            fs::read_to_string(sandbox.path().join("more/thing.md")).unwrap()
        );
        let ran = sandbox.trellis(&["fmt", "--check"]);
        assert_eq!(ran.code, Some(0), "{kind}: {}", ran.out);
    }
}

#[test]
fn what_is_written_is_yaml_whatever_was_typed() {
    let sandbox = Sandbox::new(SOUND);
    let made = |args: &[&str], file: &str| {
        let ran = sandbox.trellis(&[&["new", "node"], args].concat());
        assert_eq!(ran.code, Some(0), "{ran:?}");
        fs::read_to_string(sandbox.path().join(file)).unwrap()
    };
    let choice =
        "---\noptions:\n- value: one\n  text: The first\n- value: other\n  text: The other\nsave_to: thing\nto: bye\n---\nWhich one?\n";
    assert_eq!(made(&["more/thing", "--type", "choice", "--to", "bye"], "more/thing.md"), choice);
    let text = "---\n---\nWhat the node says. A node that asks nothing and calls nothing passes on at once.\n";
    assert_eq!(made(&["says"], "says.md"), text);
    let odd = made(&["odd", "--type", "confirm", "--to", "it's: a {b} #c"], "odd.md");
    assert!(odd.contains("\nto: 'it''s: a {b} #c'\n"), "{odd}");
    let end = made(&["7", "--type", "end"], "7.md");
    assert!(end.contains("\noutput:\n  ended: '7'\n"), "{end}");
}

#[test]
fn a_graph_can_be_made_node_by_node() {
    let sandbox = Sandbox::new(&[]);
    let ran = sandbox.trellis(&["new", "node", "start", "--type", "question", "--to", "end"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "made start.md\na session begins there\n"));
    assert_eq!(sandbox.trellis(&["new", "node", "./end.md", "--type", "end"]).code, Some(0));
    assert_eq!(sandbox.trellis(&["check"]).out, "2 nodes, no problems\n");
    let ran = sandbox.trellis(&["new", "node", "orders/start"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "made orders/start.md\nlead to it with `to: orders`\n"));
}

#[test]
fn nodes_that_cannot_be_are_refused_with_the_rule() {
    let sandbox = Sandbox::new(SOUND);
    sandbox.write("flow.yaml", b"id: named\ncontent: x\n");
    for (id, error) in [
        ("rollback", "`rollback` is a target of its own"),
        ("orders/fail", "`fail` is a target of its own\n  `trellis explain reserved-name` says more"),
        ("", "it is names joined by `/`"),
        ("a//b", "it is names joined by `/`"),
        ("/etc/x", "it is names joined by `/`"),
        ("../x", "begin with `.` or `_`"),
        ("_draft", "begin with `.` or `_`"),
        ("a/.b", "begin with `.` or `_`"),
        ("a\tb", "holds a character"),
        ("a\\b", "holds a character"),
        (" a", "neither begins nor ends with a blank"),
        ("bye", "error: there is a node `bye` already: `bye.md`"),
        ("bye.md", "error: there is a node `bye` already: `bye.md`"),
        ("named", "error: there is a node `named` already: `flow.yaml`"),
    ] {
        let ran = sandbox.trellis(&["new", "node", id]);
        assert!(ran.code == Some(2) && ran.err.contains(error) && ran.out.is_empty(), "{id:?}: {ran:?}");
    }
    let ran = sandbox.trellis(&["new", "node", "x", "--type", "end", "--to", "bye"]);
    assert!(ran.code == Some(2) && ran.err.contains("leads nowhere"), "{ran:?}");
    assert_eq!(fs::read_dir(sandbox.path()).unwrap().count(), 3, "nothing was made");
    std::os::unix::fs::symlink("/tmp", sandbox.path().join("out")).unwrap();
    let ran = sandbox.trellis(&["new", "node", "out/deep/x"]);
    assert!(ran.code == Some(2) && ran.err.ends_with("  `./out` leads out of the graph\n"), "{ran:?}");
    sandbox.write("dir.md/x", b"");
    let ran = sandbox.trellis(&["new", "node", "dir"]);
    assert!(ran.code == Some(2) && ran.err.starts_with("error: `dir.md` cannot be written\n"), "{ran:?}");
}

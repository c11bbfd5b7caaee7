//! `trellis check`.

use std::{
    fs,
    io::Read,
    os::unix::{fs::PermissionsExt, process::CommandExt},
    path::Path,
};

use serde_json::Value;

use crate::sandbox::{SOUND, Sandbox, THREE_MISTAKES, finish};

fn in_folder(folder: &str, files: &[(&str, &str)]) -> Vec<(String, String)> {
    files.iter().map(|(path, text)| (format!("{folder}/{path}"), (*text).to_owned())).collect()
}

fn sandbox(folders: &[(&str, &[(&str, &str)])]) -> Sandbox {
    let sandbox = Sandbox::new(&[]);
    for (folder, files) in folders {
        for (path, text) in in_folder(folder, files) {
            sandbox.write(&path, text.as_bytes());
        }
    }
    sandbox
}

#[test]
fn three_mistakes_in_three_files_are_three_findings_for_people() {
    let ran = sandbox(&[("shop", THREE_MISTAKES)]).trellis(&["check", "shop"]);
    let expected = r#"error[unknown-key]: `savto` is no key of a node
  shop/help.md:2:1
 2 | savto: topic
   | ^^^^^
help: did you mean `save_to`?

error[unknown-filter]: there is no filter `uper`
  shop/receipt.md:5:23
 5 | Here it is, {{ name | uper }}.
   |                       ^^^^
help: did you mean `upper`?

error[unknown-target]: there is no node `recipt`
  shop/start.md:3:22
 3 |   - { text: Pay, to: recipt }
   |                      ^^^^^^
help: did you mean `receipt`?

3 errors in 4 nodes
"#;
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (Some(1), expected, ""));
}

#[test]
fn and_three_in_json_the_same_bytes_each_time() {
    let sandbox = sandbox(&[("graphs/shop", THREE_MISTAKES), ("graphs/tour", SOUND)]);
    let ran = sandbox.trellis(&["check", "--format", "json"]);
    let found: Value = serde_json::from_str(&ran.out).unwrap();
    let place = |at: usize| {
        let found = &found["diagnostics"][at];
        (
            found["code"].as_str().unwrap(),
            found["path"].as_str().unwrap(),
            found["line"].as_u64().unwrap(),
            found["column"].as_u64().unwrap(),
        )
    };
    assert_eq!(ran.code, Some(1));
    assert_eq!(found["diagnostics"].as_array().unwrap().len(), 3);
    assert_eq!(place(0), ("unknown-key", "shop/help.md", 2, 1));
    assert_eq!(place(1), ("unknown-filter", "shop/receipt.md", 5, 23));
    assert_eq!(place(2), ("unknown-target", "shop/start.md", 3, 22));
    assert_eq!(found["diagnostics"][2]["span"]["end"].as_u64().unwrap() - found["diagnostics"][2]["span"]["start"].as_u64().unwrap(), 6);
    assert_eq!(found["summary"], serde_json::json!({ "nodes": 6, "unchecked": 0, "errors": 3, "warnings": 0 }));
    for _ in 0..4 {
        assert_eq!(sandbox.trellis(&["check", "--format", "json"]).out, ran.out);
    }
}

#[test]
fn a_sound_graph_has_no_problems() {
    let sandbox = Sandbox::new(SOUND);
    let ran = sandbox.trellis(&["check"]);
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (Some(0), "2 nodes, no problems\n", ""));
}

#[test]
fn paths_are_shown_as_they_were_typed() {
    let sandbox = sandbox(&[("a", THREE_MISTAKES), ("b", SOUND)]);
    let ran = sandbox.trellis(&["check", "./a/", "b"]);
    assert!(ran.out.contains("  a/start.md:3:22\n") && ran.out.ends_with("3 errors in 6 nodes\n"), "{}", ran.out);
    let ran = sandbox.trellis(&["check", "--format", "json", "a", "b"]);
    assert!(ran.out.contains("\"path\": \"a/start.md\""), "{}", ran.out);
}

#[test]
fn a_reader_that_stops_reading_ends_the_program_quietly() {
    let many = (0..400).map(|at| format!("k{at}: 1\n")).collect::<String>();
    let sandbox = Sandbox::new(&[("start.md", &format!("---\n{many}---\nHi.\n"))]);
    let mut child = sandbox.command(&["check"]).spawn().unwrap();
    let mut first = [0; 5];
    let mut out = child.stdout.take().unwrap();
    out.read_exact(&mut first).unwrap();
    drop(out);
    let ran = finish(child);
    assert_eq!(&first, b"error");
    assert_eq!(ran.err, "");
    // The rest may have fitted into the pipe.
    assert!(matches!(ran.code, Some(1 | 141)), "{ran:?}");
}

#[test]
fn a_file_that_is_no_text_is_a_finding() {
    let sandbox = Sandbox::new(SOUND);
    sandbox.write("bye.md", b"---\nto: \xff\xfe\n---\n");
    let ran = sandbox.trellis(&["check"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.out.starts_with("error[not-utf8]: ") && ran.out.contains("  bye.md:"), "{}", ran.out);
}

#[test]
fn a_folder_that_cannot_be_read_is_no_empty_graph() {
    let sandbox = Sandbox::new(SOUND);
    sandbox.write("orders/start.md", b"Hi.\n");
    let set = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    let folder = sandbox.path().join("orders");
    set(&folder, 0o000);
    let mut command = sandbox.command(&["check"]);
    if fs::read_dir(&folder).is_ok() {
        // Nothing is refused to root, so somebody else runs the program, from where they may.
        command = sandbox.command_of(&sandbox.program_of_all(), &["check"]);
        command.uid(65534);
    }
    let ran = finish(command.spawn().unwrap());
    set(&folder, 0o755);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.err.starts_with("error: `./orders` cannot be read"), "{ran:?}");
}

#[test]
fn unbound_tools_are_a_question_of_the_host() {
    let sandbox = Sandbox::new(&[
        ("start.md", "---\ndo: charge\ntools: [{ name: charge }]\nto: again\n---\n"),
        ("again.md", "---\ndo: { name: charge }\ntools: [{ name: charge }]\n---\n"),
    ]);
    assert_eq!(sandbox.trellis(&["check"]).code, Some(0));
    let ran = sandbox.trellis(&["check", "--host"]);
    assert_eq!(ran.code, Some(1));
    let expected = "\
error[unbound-tool]: `charge` is called, but nothing here carries it out
  again.md:2:13
 2 | do: { name: charge }
   |             ^^^^^^
  ·  start.md:2:5  called here too
help: bind it in `trellis.yaml`: `bindings: {charge: {process: [./charge]}}`

1 error in 2 nodes
";
    assert_eq!(ran.out, expected);
    sandbox.write("trellis.yaml", b"bindings: { charge: { process: [sh, ./charge] }, log: { description: x } }\nbefore_each: log\n");
    let ran = sandbox.trellis(&["check", "--host"]);
    assert!(ran.out.starts_with("error[unbound-tool]: `log` is called") && ran.out.contains("  trellis.yaml:2:14\n"), "{}", ran.out);
    assert!(ran.out.ends_with("1 error in 2 nodes\n"), "{}", ran.out);
}

#[cfg(unix)]
#[test]
fn the_host_is_asked_whether_bound_commands_can_start() {
    use std::os::unix::fs::PermissionsExt;

    let sandbox = Sandbox::new(&[
        ("start.md", "---\ndo: { parallel: { a: gone, b: closed, c: nowhere, d: fine, e: sh, f: half } }\n---\n"),
        (
            "trellis.yaml",
            "bindings:\n  gone: { process: [./gone] }\n  closed: { process: [bin/closed] }\n  nowhere: { process: [no-such-command-xyz, -v] }\n  \
             fine: { process: [./fine] }\n  sh: { process: [sh, -c, x] }\n  half: { process: [./half] }\n",
        ),
        ("bin/closed", "#!/bin/sh\n"),
        ("fine", "#!/bin/sh\n"),
        ("half", "#!/no/such/shell\n"),
    ]);
    for name in ["fine", "half"] {
        std::fs::set_permissions(sandbox.path().join(name), std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    assert_eq!(sandbox.trellis(&["check"]).code, Some(0));
    let ran = sandbox.trellis(&["check", "--host"]);
    assert_eq!(ran.code, Some(1));
    for expected in [
        "error[unbound-tool]: `gone` cannot be carried out: `./gone` does not exist\n  trellis.yaml:2:",
        "error[unbound-tool]: `closed` cannot be carried out: `bin/closed` may not be run\n  trellis.yaml:3:",
        "help: try `chmod +x bin/closed`\n",
        "error[unbound-tool]: `nowhere` cannot be carried out: `no-such-command-xyz` is not on the PATH\n  trellis.yaml:4:",
        "`half` cannot be carried out: the interpreter `/no/such/shell` of `./half` does not exist\n",
    ] {
        assert!(ran.out.contains(expected), "{expected}\n{}", ran.out);
    }
    assert!(ran.out.ends_with("4 errors in 1 node\n"), "{}", ran.out);
}

/// A graph whose bindings read files, each with a mistake.
const FILES: &[(&str, &str)] = &[
    ("start.md", "---\ndo: { parallel: { a: sum, b: find, c: { name: ask, args: { prompt: Hi } } } }\n---\n"),
    (
        "trellis.yaml",
        "models: { roles: { r: [{ provider: s, model: m }] }, providers: { s: { scripted: _model.yaml } } }\nbindings:\n  sum: { compute: s.jinja, returns: { type: boolean } }\n  \
         find: { builtin: sql.query, database: _d.db, init: _no.sql, sql: select 1 }\n  ask: { model: { role: r, system: _pp.md } }\n",
    ),
    ("s.jinja", "{% set result = %}\n"),
    ("_model.yaml", "- when: { contians: x }\n  reply: { content: x }\n"),
];

#[test]
fn a_mistake_in_a_file_of_a_binding_is_told_once_also_with_the_host() {
    let sandbox = Sandbox::new(FILES);
    let plain = sandbox.trellis(&["check"]);
    assert_eq!(plain.code, Some(1));
    for place in ["  s.jinja:1:", "  _model.yaml:1:11\n", "  trellis.yaml:4:", "  trellis.yaml:5:"] {
        assert_eq!(plain.out.matches(place).count(), 1, "{place}\n{}", plain.out);
    }
    assert!(plain.out.ends_with("4 errors in 1 node\n"), "{}", plain.out);
    assert_eq!(sandbox.trellis(&["check", "--host"]).out, plain.out);
}

//! `trellis check --watch`.

use std::{fs, io::BufRead};

use crate::{
    open::Open,
    sandbox::{SOUND, Sandbox, THREE_MISTAKES, finish},
};

fn check(sandbox: &Sandbox, args: &[&str]) -> Open {
    Open::start(sandbox.command(&[&["check", "--watch"], args].concat()))
}

#[test]
fn one_report_for_each_change_and_a_word_when_it_healed() {
    let sandbox = Sandbox::new(SOUND);
    let mut open = check(&sandbox, &[]);
    assert_eq!(open.line(), "2 nodes, no problems");
    open.silence();
    sandbox.write("start.md", b"---\ninput_type: text\nsave_to: name\nto: by\n---\nWho are you?\n");
    let lines = open.until(|line| line.contains("error in"));
    assert_eq!(lines[0], "error[unknown-target]: there is no node `by`");
    assert_eq!(lines[1], "  start.md:4:5");
    sandbox.write("start.md", SOUND[0].1.as_bytes());
    assert_eq!(open.line(), "healed: 2 nodes, no problems");
    sandbox.write("start.md", SOUND[0].1.as_bytes());
    sandbox.write(".start.md.swp", b"what an editor keeps");
    open.silence();
    open.interrupt();
    assert_eq!(open.code(), Some(0), "somebody ended it: that is how it ends");
}

#[test]
fn each_report_is_one_line_of_json_with_what_changed() {
    let sandbox = Sandbox::new(&[]);
    for (path, text) in SOUND {
        sandbox.write(&format!("graphs/tour/{path}"), text.as_bytes());
    }
    let mut open = check(&sandbox, &["--format", "json"]);
    let first = open.json();
    assert_eq!(first["summary"], serde_json::json!({ "nodes": 2, "unchecked": 0, "errors": 0, "warnings": 0 }));
    assert_eq!((&first["changed"], &first["problems"]), (&serde_json::json!([]), &serde_json::json!([])));
    // A graph that is new among others is noticed, and so is what happens to it later.
    for (path, text) in THREE_MISTAKES {
        sandbox.write(&format!("graphs/shop/{path}"), text.as_bytes());
    }
    let both = open.json_until(|report| report["summary"]["nodes"] == 6);
    assert_eq!(both["diagnostics"].as_array().unwrap().len(), 3);
    assert_eq!(both["diagnostics"][0]["path"], "shop/help.md");
    sandbox.write("graphs/shop/receipt.md", b"---\nid: receipt\nto: bye\n---\nHere it is.\n");
    let fewer = open.json_until(|report| report["changed"] == serde_json::json!(["shop/receipt.md"]));
    assert_eq!(fewer["diagnostics"].as_array().unwrap().len(), 2);
    fs::remove_dir_all(sandbox.path().join("graphs/shop")).unwrap();
    let one = open.json_until(|report| report["summary"]["nodes"] == 2 && report["summary"]["errors"] == 0);
    assert_eq!(one["diagnostics"], serde_json::json!([]));
    open.interrupt();
    assert_eq!(open.code(), Some(0));
}

#[test]
fn a_root_that_vanishes_is_waited_for() {
    let sandbox = Sandbox::new(&[]);
    for (path, text) in SOUND {
        sandbox.write(&format!("tour/{path}"), text.as_bytes());
    }
    for args in [["tour", "--format=json"].as_slice(), &["tour", "--format=json", "--poll"]] {
        let mut open = check(&sandbox, args);
        assert_eq!(open.json()["summary"]["nodes"], 2);
        fs::rename(sandbox.path().join("tour"), sandbox.path().join("away")).unwrap();
        let gone = open.json_until(|report| report["summary"]["nodes"] == 0);
        assert_eq!(gone["problems"], serde_json::json!(["there is no `tour`"]));
        open.silence();
        fs::rename(sandbox.path().join("away"), sandbox.path().join("tour")).unwrap();
        let back = open.json_until(|report| report["summary"]["nodes"] == 2);
        assert_eq!(back["problems"], serde_json::json!([]));
        open.interrupt();
        assert_eq!(open.code(), Some(0));
    }
}

#[test]
fn what_is_not_there_to_begin_with_is_a_mistake() {
    let ran = Sandbox::new(SOUND).trellis(&["check", "--watch", "toor"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""));
    assert!(ran.err.contains("there is no `toor`"), "{ran:?}");
}

#[test]
fn several_paths_are_watched_at_once_with_what_the_host_says() {
    let sandbox = Sandbox::new(&[
        ("a/start.md", "---\ndo: charge\ntools: [{ name: charge }]\n---\n"),
        ("b/flow.yaml", "nodes: { start: { content: Hi } }\n"),
    ]);
    let open = check(&sandbox, &["a", "b/flow.yaml", "--host", "--format", "json"]);
    assert_eq!(open.json()["diagnostics"][0]["code"], "unbound-tool");
    sandbox.write("a/trellis.yaml", b"bindings: { charge: { process: [./charge.sh] } }\n");
    assert_eq!(open.json_until(|report| report["changed"] == serde_json::json!(["a/trellis.yaml"]))["summary"]["errors"], 0);
    // A script that a binding runs changes nothing that is checked.
    sandbox.write("a/charge.sh", b"#!/bin/sh\n");
    open.silence();
    sandbox.write("b/flow.yaml", b"nodes: { start: { to: nowhere } }\n");
    assert_eq!(open.json_until(|report| report["changed"] == serde_json::json!(["b/flow.yaml"]))["summary"]["errors"], 1);
}

#[test]
fn files_that_bindings_read_are_watched() {
    let card = "---\ntitle: A\nrun: [./bin/a]\n---\nText.\n";
    let sandbox = Sandbox::new(&[
        ("start.md", "---\ndo: { parallel: { a: sum, b: find } }\n---\n"),
        (
            "trellis.yaml",
            "bindings:\n  sum: { compute: v.jinja, returns: { type: boolean } }\n  find: { builtin: sql.query, database: _d.db, init: _d.sql, sql: select id from p }\n  \
             run: { builtin: skills.check }\n",
        ),
        ("_d.sql", "create table p (id integer);\n"),
        ("_skills/tidy.md", card),
    ]);
    let open = check(&sandbox, &["--format", "json"]);
    let codes = |report: &serde_json::Value| -> Vec<String> {
        report["diagnostics"].as_array().unwrap().iter().map(|found| found["code"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(codes(&open.json()), ["missing-file"]);
    for (path, text, expected) in [
        ("v.jinja", "{% set result = true %}\n", &[][..]),
        ("v.jinja", "{% set result = \"yes\" %}\n", &["type-mismatch"]),
        ("v.jinja", "{% set result = false %}\n", &[]),
        ("_d.sql", "create table p (name text);\n", &["sql-syntax"]),
        ("_d.sql", "create table p (id integer, name text);\n", &[]),
        ("_skills/tidy.md", "---\ntitle: A\nrunn: [./bin/a]\n---\n", &["wrong-type"]),
        ("_skills/tidy.md", card, &[]),
        ("_skills/new.md", "---\nrun: [./bin/a]\n---\n", &["wrong-type"]),
    ] {
        sandbox.write(path, text.as_bytes());
        open.json_until(|report| {
            codes(report).iter().map(String::as_str).collect::<std::collections::BTreeSet<_>>() == expected.iter().copied().collect()
        });
    }
}

#[test]
fn a_checker_that_nobody_reads_ends() {
    let sandbox = Sandbox::new(SOUND);
    let mut command = sandbox.command(&["check", "--watch"]);
    let mut child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
    out.read_line(&mut line).unwrap();
    drop(out);
    let ran = finish(child);
    assert_eq!((line.as_str(), ran.code, ran.err.as_str()), ("2 nodes, no problems\n", Some(141), ""));
}

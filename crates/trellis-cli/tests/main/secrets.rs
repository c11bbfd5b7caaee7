//! A secret is nowhere: not in the output, not in a store, not on its way to a collector, not in the list of processes.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Stdio,
};

use crate::{
    collector::{Collector, Manner},
    sandbox::{Ran, Sandbox, finish},
};

/// Redacted, and typed where a secret is asked for.
const TOKEN: &str = "tok-hunter2";
/// Typed where a secret is asked for, and needed again: the store has it, sealed.
const PHRASE: &str = "correct horse";
/// A secret of the host.
const TILL: &str = "till-9f3a";

/// Both are copied into keys, arguments and messages; a script looks for them in the list of processes, and one fails with them.
const VAULT: &[(&str, &str)] = &[
    (
        "trellis.yaml",
        "name: vault\nredact: [token]\nbindings:\n  look: { process: [sh, ./look.sh] }\n  fail: { process: [sh, ./fail.sh] }\n",
    ),
    (
        "look.sh",
        "cat > /dev/null\nfor file in /proc/[0-9]*/cmdline; do tr '\\0' ' ' < $file; echo; done > processes 2> /dev/null\nprintf '%s' \"$TRELLIS_ARGS\" > got\nprintf '%s' \"$TRELLIS_ARGS\" | sed 's/,\"till\":.*/}/'\n",
    ),
    ("fail.sh", "cat > /dev/null\nprintf 'cannot use %s\\n' \"$TRELLIS_ARGS\" >&2\nexit 1\n"),
    ("start.md", "---\ninput_type: secret\nsave_to: token\nto: phrase\n---\nYour token?\n"),
    ("phrase.md", "---\ninput_type: secret\nsave_to: login.phrase\nset: {header: \"Bearer {{ token }}\"}\nto: look\n---\nYour phrase?\n"),
    (
        "look.md",
        "---\ndo: {name: look, args: {header: \"{{ header }}\", phrase: \"<{{ login.phrase }}>\", till: \"{{secret:till}}\"}}\nsave_to: seen\nto: broken\n---\n",
    ),
    ("broken.md", "---\ndo: {name: fail, args: {phrase: \"{{ login.phrase }}\"}}\non_error: hold\nto: hold\n---\n"),
    (
        "hold.md",
        "---\ndo: {name: look, args: {phrase: \"{{ login.phrase }}\"}, approve: {ask: \"Use {{ login.phrase }}?\"}}\non_denied: end\nto: end\n---\n",
    ),
    ("end.md", "---\noutput: \"{{ login.phrase }}\"\n---\nThank you.\n"),
];

fn run(sandbox: &Sandbox, args: &[&str], more: &[(&str, &str)], input: &str) -> Ran {
    let mut command = sandbox.command(&[&["run", ".", "--session", "ana"], args].concat());
    let mut child = command.env("TRELLIS_SECRET_TILL", TILL).envs(more.iter().copied()).stdin(Stdio::piped()).spawn().unwrap();
    let _ = std::io::Write::write_all(&mut child.stdin.take().unwrap(), input.as_bytes());
    finish(child)
}

fn has(bytes: &[u8], secret: &str) -> bool {
    bytes.windows(secret.len()).any(|window| window == secret.as_bytes())
}

/// Every file below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

fn assert_hidden(what: &str, bytes: &[u8], secrets: &[&str]) {
    for secret in secrets {
        assert!(!has(bytes, secret), "`{secret}` is in {what}: {}", String::from_utf8_lossy(bytes));
    }
}

#[test]
fn what_is_secret_is_in_nothing_that_is_printed_kept_or_sent() {
    let (sandbox, collector) = (Sandbox::new(VAULT), Collector::new(Manner::Takes));
    let all = [TOKEN, PHRASE, TILL];
    let ran = finish(sandbox.command(&["session", "seal", "--key-file", "keys", "--new-key"]).spawn().unwrap());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let places = [("TRELLIS_KEY_FILE", "keys"), ("TRELLIS_STORE", "files:kept"), ("OTEL_EXPORTER_OTLP_ENDPOINT", &*collector.endpoint)];
    let input = format!("{TOKEN}\n{PHRASE}\n");
    let ran = run(&sandbox, &["--metrics", "metrics"], &places, &input);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    // The tool had them, and nobody could read them in the list of processes.
    let got = fs::read(sandbox.path().join("got")).unwrap();
    assert!(all.iter().all(|secret| has(&got, secret)), "{}", String::from_utf8_lossy(&got));
    let processes = fs::read(sandbox.path().join("processes")).unwrap();
    assert!(has(&processes, "--session ana"));
    assert_hidden("the list of processes", &processes, &all);
    assert_hidden("the metrics", &fs::read(sandbox.path().join("metrics")).unwrap(), &all);
    assert!(collector.requests() > 0);
    assert_hidden("spans", &collector.bytes(), &all);
    assert!(!files(&sandbox.path().join("kept")).is_empty());
    for file in files(&sandbox.path().join("kept")) {
        assert_hidden(&file.to_string_lossy(), &fs::read(&file).unwrap(), &all);
    }
    let looks: [&[&str]; 14] = [
        &["show", "ana"],
        &["show", "ana", "--json"],
        &["show", "ana", "--at", "3"],
        &["show", "ana", "--at", "3", "--json"],
        &["show", "ana", "--last", "2"],
        &["ls", "--json"],
        &["check", "--all", "--json"],
        &["check", "--all"],
        &["replay", "ana"],
        &["export", "ana"],
        &["approve"],
        &["approve", "ana", "--dry-run", "--json"],
        &["goto", "ana", "nowhere"],
        &["deny", "ana", "--json"],
    ];
    let look = |args: &[&str]| finish(sandbox.command(&[&["session"], args].concat()).envs(places).spawn().unwrap());
    for args in looks {
        let ran = look(args);
        assert_hidden(&format!("{args:?}"), format!("{}{}", ran.out, ran.err).as_bytes(), &all);
        assert!(!format!("{ran:?}").is_empty() && ran.out.len() + ran.err.len() > 20, "{args:?}: {ran:?}");
    }
    assert_eq!(look(&["replay", "ana"]).out, "ana: 7 records, the same; 5 steps hold redacted values, which were taken to fit\n");
    let shown = look(&["show", "ana"]).out;
    assert!(shown.contains("\"phrase\":\"<***>\"") && shown.contains("login: {\"phrase\":\"***\"}"), "{shown}");
    assert!(shown.contains("`fail` failed: ") && shown.contains("finished, output \"***\""), "{shown}");
}

#[test]
fn without_its_graph_no_value_of_a_session_is_shown() {
    let sandbox = Sandbox::new(VAULT);
    let store = [("TRELLIS_STORE", "sqlite:kept.db")];
    assert_eq!(run(&sandbox, &[], &store, &format!("{TOKEN}\n{PHRASE}\n")).code, Some(1));
    let kept = format!("sqlite:{}", sandbox.path().join("kept.db").display());
    let elsewhere = Sandbox::new(&[]);
    let other = Sandbox::new(&[("start.md", "---\ninput_type: text\nto: end\n---\nWell?\n"), ("end.md", "Bye.\n")]);
    for folder in [&elsewhere, &other] {
        for args in
            [&["show", "ana"][..], &["show", "ana", "--json"], &["show", "ana", "--at", "3"], &["export", "ana"], &["replay", "ana"]]
        {
            let ran = finish(folder.command(&[&["session"], args, &["--store", &kept]].concat()).spawn().unwrap());
            assert_hidden(&format!("{args:?}"), format!("{}{}", ran.out, ran.err).as_bytes(), &[TOKEN, PHRASE]);
            if args[0] == "show" {
                assert_eq!(ran.code, Some(0), "{ran:?}");
                assert!(ran.err.contains("values are not shown: only the graph `vault` knows what is secret"), "{}", ran.err);
                assert!(ran.out.contains("phrase") && ran.out.contains("***"), "{}", ran.out);
            }
        }
    }
    let shown = finish(other.command(&["session", "show", "ana", "--store", &kept]).spawn().unwrap()).out;
    assert_eq!(shown.matches("\n#").count(), 5, "every record is told: {shown}");
    let refused = finish(other.command(&["session", "goto", "ana", "start", "--store", &kept]).spawn().unwrap());
    assert!(refused.err.contains("walks the graph `vault`"), "{}", refused.err);
}

#[test]
fn what_was_stored_before_a_key_was_named_is_not_shown_either() {
    let sandbox = Sandbox::new(&[
        ("start.md", "---\ninput_type: text\nsave_to: token\nto: more\n---\nYour token?\n"),
        ("more.md", "---\ninput_type: text\nset: {pin: 7}\nto: end\n---\nMore than {{ token }}?\n"),
        ("end.md", "Bye, {{ token }}.\n"),
    ]);
    assert_eq!(run(&sandbox, &[], &[], &format!("{TOKEN}\n")).code, Some(1));
    let before = sandbox.trellis(&["session", "show", "ana"]).out;
    assert!(before.contains(TOKEN), "{before}");
    sandbox.write("trellis.yaml", b"redact: [token]\n");
    for args in [&["show", "ana"][..], &["show", "ana", "--json"], &["show", "ana", "--at", "1"], &["export", "ana"], &["replay", "ana"]] {
        let ran = sandbox.trellis(&[&["session"], args].concat());
        assert_hidden(&format!("{args:?}"), format!("{}{}", ran.out, ran.err).as_bytes(), &[TOKEN]);
    }
    let shown = sandbox.trellis(&["session", "show", "ana"]).out;
    assert!(shown.contains("answer: ***") && shown.contains("More than ***?"), "{shown}");
    // A graph with mistakes knows its secrets too.
    sandbox.write("more.md", b"---\nto: nowhere\n---\n");
    let shown = sandbox.trellis(&["session", "show", "ana"]);
    assert!(shown.out.contains("answer: ***") && !shown.out.contains(TOKEN), "{shown:?}");
}

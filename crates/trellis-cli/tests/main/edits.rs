//! `trellis run --watch`: a graph that is edited while it runs.

use std::{fs, os::unix::fs::PermissionsExt};

use serde_json::{Value, json};

use crate::{open::Open, sandbox::Sandbox};

const START: &str = "---\ninput_type: text\nsave_to: name\nto: shop/start\n---\nWho are you?\n";
const SHOP: &str = "---\ninput_type: text\nsave_to: wish\nto: pack\n---\nWhat will it be, {{ name }}?\n";
const PACK: &str = "---\ndo: { name: pack, args: { wish: \"{{ wish }}\" } }\nsave_to: packed\nto: /bye\n---\nPacking …\n";
const BYE: &str = "---\noutput: \"{{ packed }}\"\n---\nBye, {{ name }}.\n";
const PROJECT: &str = "bindings: { pack: { process: [./bin/pack.sh] } }\n";

fn shop() -> Sandbox {
    let sandbox = Sandbox::new(&[
        ("start.md", START),
        ("shop/start.md", SHOP),
        ("shop/pack.md", PACK),
        ("bye.md", BYE),
        ("trellis.yaml", PROJECT),
        ("bin/pack.sh", "#!/bin/sh\necho '\"a box\"'\n"),
    ]);
    fs::set_permissions(sandbox.path().join("bin/pack.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    sandbox
}

fn run(sandbox: &Sandbox, args: &[&str]) -> Open {
    Open::start(sandbox.command(&[&["run", "--watch"], args].concat()))
}

fn is(line: &Value, kind: &str) -> bool {
    line["type"] == kind
}

/// The next line of this kind; the payload.
fn next(open: &Open, kind: &str) -> Value {
    open.json_until(|line| is(line, kind))["payload"].clone()
}

/// The graph is sound after a save; why the session stands where it stands.
fn sound(open: &Open) -> Value {
    open.json_until(|line| is(line, "RELOAD") && line["payload"]["status"] == "sound")["payload"]["moved"].clone()
}

#[test]
fn a_session_goes_through_ten_edits() {
    let sandbox = shop();
    let mut open = run(&sandbox, &["--json"]);
    assert_eq!(next(&open, "RENDER_CONTENT"), "Who are you?\n");
    open.json();

    // 1: what a node says is said again, and asked again.
    sandbox.write("start.md", START.replace("Who are you", "What is your name").as_bytes());
    assert_eq!(sound(&open), Value::Null);
    assert_eq!(next(&open, "RENDER_CONTENT"), "What is your name?\n");
    assert_eq!(next(&open, "REQUEST_INPUT")["input_type"], "text");

    // 2: a broken graph says what is wrong, and the version before goes on.
    sandbox.write("shop/pack.md", PACK.replace("/bye", "/by").as_bytes());
    let broken = open.json_until(|line| is(line, "RELOAD"))["payload"].clone();
    assert_eq!((&broken["status"], &broken["diagnostics"][0]["code"]), (&json!("broken"), &json!("unknown-target")));
    assert!(broken["since"].as_u64().is_some_and(|since| since > 1_600_000_000_000), "{broken}");
    open.type_in(r#"{"input":"Ada"}"#);
    assert_eq!(next(&open, "RENDER_CONTENT"), "What will it be, Ada?\n");

    // 3: it heals.
    sandbox.write("shop/pack.md", PACK.as_bytes());
    assert_eq!(sound(&open), Value::Null);

    // 4: the node where the session stands has another name.
    sandbox.write("shop/wish.md", SHOP.replace("---\ninput", "---\nwas: [shop/start]\ninput").as_bytes());
    fs::remove_file(sandbox.path().join("shop/start.md")).unwrap();
    sandbox.write("start.md", START.replace("shop/start", "shop/wish").as_bytes());
    let moved = open.json_until(|line| is(line, "RELOAD") && line["payload"]["moved"].is_string());
    assert_eq!(moved["payload"]["moved"], "`shop/start` is `shop/wish` now");

    // 5: its node is gone; the next module above goes on.
    fs::remove_dir_all(sandbox.path().join("shop")).unwrap();
    sandbox.write("start.md", START.replace("shop/start", "bye").as_bytes());
    sandbox.write("bye.md", b"Bye, {{ name }}.\n");
    let moved = open.json_until(|line| is(line, "RELOAD") && line["payload"]["moved"].is_string());
    assert_eq!(moved["payload"]["moved"], "`shop/wish` is gone; continuing at `start`");
    assert_eq!(next(&open, "RENDER_CONTENT"), "Who are you?\n");

    // 6: a new file in a new folder.
    sandbox.write("shop/start.md", SHOP.as_bytes());
    sandbox.write("shop/pack.md", PACK.as_bytes());
    sandbox.write("bye.md", BYE.as_bytes());
    sandbox.write("start.md", START.as_bytes());
    assert_eq!(sound(&open), Value::Null);
    open.type_in(r#"{"input":"Bob"}"#);
    assert_eq!(next(&open, "RENDER_CONTENT"), "What will it be, Bob?\n");

    // 7: the node needs a key now that the session lacks, and takes it.
    sandbox.write("shop/start.md", SHOP.replace("---\ninput", "---\nrequired_context: [shelf]\ninput").as_bytes());
    sandbox.write("start.md", START.replace("save_to: name", "save_to: name\nset: { shelf: 1 }").as_bytes());
    let needs = next(&open, "NEEDS");
    assert_eq!((&needs["node"], &needs["keys"]), (&json!("shop/start"), &json!(["shelf"])));
    open.type_in(r#"{"context":{"shelf":7}}"#);
    assert_eq!(sound(&open), Value::Null);

    // 8: a script that a binding runs: the next call runs what it is then.
    sandbox.write("bin/pack.sh", b"#!/bin/sh\necho '\"a bag\"'\n");
    assert_eq!(sound(&open), "`bin/pack.sh` changed");

    // 9: another binding.
    sandbox.write("trellis.yaml", PROJECT.replace("[./bin/pack.sh]", "[sh, bin/other.sh]").as_bytes());
    assert_eq!(sound(&open), Value::Null);
    sandbox.write("bin/other.sh", b"echo '\"a sack\"'\n");
    assert_eq!(sound(&open), "`bin/other.sh` changed");
    open.type_in(r#"{"input":"tea"}"#);
    assert_eq!(next(&open, "TOOL_RESULT")["result"], "a sack");
    assert_eq!(next(&open, "END")["output"], "a sack");

    // 10: the session has ended; an edit of where it did goes on there, and calls nothing again.
    sandbox.write("bye.md", BYE.replace("Bye", "Good bye").as_bytes());
    assert_eq!(sound(&open), "continuing at `bye`");
    assert_eq!(next(&open, "RENDER_CONTENT"), "Good bye, Bob.\n");
    assert_eq!(next(&open, "END")["reason"], "finished");
    sandbox.write("start.md", START.as_bytes());
    sandbox.write("shop/start.md", SHOP.as_bytes());
    sound(&open);
    open.type_in(r#"{"input":"too late"}"#);
    assert_eq!(next(&open, "ERROR")["code"], "ended");
    open.end_input();
    assert_eq!(open.code(), Some(0));
}

#[test]
fn a_pending_call_that_is_no_longer_made_is_asked_about() {
    let sandbox = shop();
    sandbox.write("trellis.yaml", b"bindings: {}\n");
    sandbox.write("shop/pack.md", PACK.replace("to: /bye", "tools: [{ name: pack }, { name: wrap }]\nto: /bye").as_bytes());
    for (answer, expected) in [("true", "pack"), ("false", "wrap")] {
        let mut open = run(&sandbox, &["--json"]);
        open.type_in(r#"{"input":"Ada"}"#);
        open.type_in(r#"{"input":"tea"}"#);
        let pending = next(&open, "CALL_TOOL");
        assert_eq!(pending["name"], "pack");
        let before = fs::read_to_string(sandbox.path().join("shop/pack.md")).unwrap();
        sandbox.write("shop/pack.md", before.replace("do: { name: pack,", "do: { name: wrap,").as_bytes());
        let changed = next(&open, "CHANGED");
        assert_eq!((&changed["id"], &changed["pending"], &changed["now"]), (&pending["id"], &json!("pack"), &json!("wrap")));
        open.type_in(&format!("{{\"keep\":{answer}}}"));
        assert_eq!(next(&open, "CALL_TOOL")["name"], expected);
        open.interrupt();
        assert_eq!(open.code(), Some(130));
        sandbox.write("shop/pack.md", before.as_bytes());
    }
}

#[test]
fn an_edit_while_a_tool_runs_is_not_lost() {
    let sandbox = shop();
    sandbox.write("bin/pack.sh", b"#!/bin/sh\nwhile [ ! -e go ]; do sleep 0.02; done; echo '\"a box\"'\n");
    let mut open = run(&sandbox, &["--json"]);
    open.type_in(r#"{"input":"Ada"}"#);
    open.type_in(r#"{"input":"tea"}"#);
    next(&open, "CALL_TOOL");
    sandbox.write("bye.md", BYE.replace("Bye", "Good bye").as_bytes());
    // A broken version is told at once, also now.
    sandbox.write("start.md", START.replace("shop/start", "shop/stat").as_bytes());
    open.json_until(|line| is(line, "RELOAD") && line["payload"]["status"] == "broken");
    sandbox.write("start.md", START.as_bytes());
    sandbox.write("go", b"");
    assert_eq!(next(&open, "TOOL_RESULT")["result"], "a box");
    // Taken up when the tool has returned, or, if it was quicker than the watch, after the end.
    open.json_until(|line| is(line, "RENDER_CONTENT") && line["payload"] == "Good bye, Ada.\n");
    assert_eq!(next(&open, "END")["output"], "a box");
    open.end_input();
    assert_eq!(open.code(), Some(0));
}

#[test]
fn a_failure_is_tried_again_with_the_next_edit() {
    let sandbox = shop();
    sandbox.write("bin/pack.sh", b"#!/bin/sh\necho no paper >&2; exit 3\n");
    let mut open = run(&sandbox, &["--json"]);
    open.type_in(r#"{"input":"Ada"}"#);
    open.type_in(r#"{"input":"tea"}"#);
    let end = next(&open, "END");
    assert_eq!((&end["reason"], &end["node"]), (&json!("failed"), &json!("shop/pack")));
    sandbox.write("bin/pack.sh", b"#!/bin/sh\necho '\"a box\"'\n");
    assert_eq!(sound(&open), "continuing at `shop/pack`; `bin/pack.sh` changed");
    assert_eq!(next(&open, "TOOL_RESULT")["result"], "a box");
    assert_eq!(next(&open, "RENDER_CONTENT"), "Bye, Ada.\n");
    assert_eq!(next(&open, "END")["reason"], "finished");
    open.end_input();
    assert_eq!(open.code(), Some(0));
}

#[test]
fn a_graph_that_is_broken_from_the_start_is_waited_for() {
    let sandbox = shop();
    sandbox.write("start.md", START.replace("shop/start", "shop/stat").as_bytes());
    let mut open = run(&sandbox, &["--json"]);
    let broken = next(&open, "RELOAD");
    assert_eq!((&broken["status"], &broken["since"]), (&json!("broken"), &Value::Null));
    assert_eq!(broken["diagnostics"][0]["code"], "unknown-target");
    sandbox.write("start.md", START.as_bytes());
    assert_eq!(next(&open, "RENDER_CONTENT"), "Who are you?\n");
    open.end_input();
    assert_eq!(open.code(), Some(1), "the input ended while it waited");
}

#[test]
fn in_text_each_save_shows_at_once_and_nothing_that_was_typed_is_lost() {
    let sandbox = shop();
    let mut open = run(&sandbox, &[]);
    open.until(|line| line == "Who are you?");
    sandbox.write("start.md", START.replace("Who are you", "What is your name").as_bytes());
    open.until(|line| line == "What is your name?");
    sandbox.write("start.md", START.replace("shop/start", "shop/stat").as_bytes());
    let lines = open.until(|line| line.starts_with("still running the version of "));
    assert!(lines.iter().any(|line| line.ends_with("error[unknown-target]: there is no node `shop/stat`")), "{lines:?}");
    let time = lines.last().unwrap().rsplit(' ').next().unwrap();
    assert!(time.len() == 8 && time.split(':').all(|part| part.parse::<u8>().is_ok()), "{time}");
    // A tool that nothing carries out is a failed swap too: nobody could type its result in here.
    sandbox.write("start.md", START.as_bytes());
    open.until(|line| line.ends_with("the graph is sound again"));
    sandbox.write("trellis.yaml", b"bindings: {}\n");
    sandbox.write("shop/pack.md", PACK.replace("to: /bye", "tools: [{ name: pack }]\nto: /bye").as_bytes());
    let lines = open.until(|line| line.starts_with("still running the version of "));
    assert!(lines.iter().any(|line| line.contains("error[unbound-tool]")), "{lines:?}");
    open.type_in("Ada");
    open.until(|line| line == "What will it be, Ada?");
    open.type_in("tea");
    open.until(|line| line == "Bye, Ada.");
    open.type_in("begin again");
    open.until(|line| line == "Who are you?");
    open.end_input();
    assert_eq!(open.code(), Some(1));
}

#[test]
fn without_input_a_graph_is_played_again_after_each_save() {
    let sandbox = Sandbox::new(&[("start.md", "---\nto: bye\n---\nOne.\n"), ("bye.md", "Bye.\n")]);
    let mut open = run(&sandbox, &["--no-input"]);
    open.until(|line| line == "Bye.");
    sandbox.write("start.md", b"---\nto: bye\n---\nTwo.\n");
    open.until(|line| line == "Two.");
    open.until(|line| line == "Bye.");
    // A predicate that nobody can be asked about is a failed swap.
    sandbox.write("trellis.yaml", b"predicates: [vip]\n");
    sandbox.write("start.md", b"---\ntransitions: [{ condition: vip, to: bye }]\nto: bye\n---\nThree.\n");
    let lines = open.until(|line| line.starts_with("still running the version of "));
    assert!(lines.iter().any(|line| line.contains("nobody can be asked whether `vip` holds")), "{lines:?}");
    open.interrupt();
    assert_eq!(open.code(), Some(0), "the last one finished");
}

//! `trellis run`, on pipes.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, Command, Stdio},
};

use serde_json::{Value, json};

use crate::sandbox::{Ran, SOUND, Sandbox, THREE_MISTAKES, finish};

const CHARGE: &[(&str, &str)] = &[
    (
        "start.md",
        "---\ndo: { name: charge, args: { amount: \"{{ amount }}\" } }\ntools: [{ name: charge }]\nrequired_context: [amount]\nsave_to: receipt\nto: done\non_error: sorry\n---\nOne moment.\n",
    ),
    ("done.md", "---\noutput: \"{{ receipt.id }}\"\n---\nPaid: {{ receipt.id }}.\n"),
    ("sorry.md", "---\nend: failed\n---\nThat did not work.\n"),
];

/// The JSON Lines that the program printed, as `(type, payload)`.
fn messages(ran: &Ran) -> Vec<(String, Value)> {
    let lines = ran.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.map(|line| (line["type"].as_str().unwrap().to_owned(), line["payload"].clone())).collect()
}

fn end(ran: &Ran) -> Value {
    let (kind, payload) = messages(ran).pop().unwrap();
    assert_eq!(kind, "END", "{ran:?}");
    payload
}

/// Waits for a line that holds `part`.
fn wait_for(child: &mut Child, part: &str) -> String {
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut seen = String::new();
    while !seen.contains(part) {
        assert_ne!(out.read_line(&mut seen).unwrap(), 0, "the program ended: {seen}");
    }
    child.stdout = Some(out.into_inner());
    seen
}

#[test]
fn the_last_line_counts_without_a_newline() {
    let ran = Sandbox::new(SOUND).trellis_with(&["run"], "Ana");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.out.contains("Who are you?") && ran.out.contains("Bye, Ana."), "{ran:?}");
    assert!(!ran.out.contains('\u{1b}'), "{ran:?}");
}

#[test]
fn the_end_of_input_ends_the_run_and_says_so() {
    let ran = Sandbox::new(SOUND).trellis(&["run", "."]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.out.ends_with("the input ended while `start` was waiting\n"), "{ran:?}");
    let ran = Sandbox::new(SOUND).trellis(&["run", "--json"]);
    assert_eq!((ran.code, end(&ran)["reason"].as_str()), (Some(1), Some("end_of_input")));
}

#[test]
fn json_lines_hand_in_the_result_of_a_tool() {
    let sandbox = Sandbox::new(CHARGE);
    let mut child = sandbox.command(&["run", "--json", "--context", "amount=5"]).stdin(Stdio::piped()).spawn().unwrap();
    let seen = wait_for(&mut child, "CALL_TOOL");
    let call: Value = serde_json::from_str(seen.lines().last().unwrap()).unwrap();
    assert_eq!(call["payload"]["args"], json!({ "amount": 5 }));
    let result = json!({ "tool_result": { "id": call["payload"]["id"], "result": { "id": "r-1" } } });
    // Without a newline: the last line counts too.
    write!(child.stdin.take().unwrap(), "{result}").unwrap();
    let ran = finish(child);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let farewell = end(&ran);
    assert_eq!((&farewell["reason"], &farewell["output"]), (&json!("finished"), &json!("r-1")));
}

#[test]
fn a_flow_that_fails_is_exit_1() {
    let sandbox = Sandbox::new(&[("start.md", "---\ninput_type: confirm\nto: fail\n---\nGo on?\n")]);
    let ran = sandbox.trellis_with(&["run", "--json"], "{\"input\":\"yes\"}\n");
    assert_eq!((ran.code, end(&ran)["reason"].as_str()), (Some(1), Some("failed")));
}

#[test]
fn a_bad_line_is_answered_and_nothing_is_lost() {
    let ran = Sandbox::new(SOUND).trellis_with(&["run", "--json"], "{\n{\"imput\":1}\n{\"input\":\"Ana\"}\n");
    let kinds = messages(&ran).into_iter().map(|(kind, _)| kind).collect::<Vec<_>>();
    assert_eq!(kinds, ["RENDER_CONTENT", "REQUEST_INPUT", "ERROR", "ERROR", "RENDER_CONTENT", "END"], "{ran:?}");
    assert_eq!((ran.code, end(&ran)["output"].as_str()), (Some(0), Some("Ana")));
}

#[test]
fn a_graph_that_does_not_compile_is_not_run() {
    let sandbox = Sandbox::new(THREE_MISTAKES);
    let ran = sandbox.trellis(&["run"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""));
    assert!(ran.err.contains("error[unknown-target]") && ran.err.contains("3 errors in 4 nodes"), "{ran:?}");
    let ran = sandbox.trellis(&["run", "--json"]);
    assert_eq!((ran.code, end(&ran)["reason"].as_str()), (Some(1), Some("invalid_graph")));
    assert!(ran.err.contains("error[unknown-target]"), "{ran:?}");
}

#[test]
fn a_start_that_is_refused_is_exit_2_and_names_the_key() {
    let sandbox = Sandbox::new(CHARGE);
    let ran = sandbox.trellis(&["run", "--json"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.err.contains("`amount`"), "{ran:?}");
    let ran = sandbox.trellis(&["run", "--json", "--at", "nowhere"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.err.contains("`nowhere`"), "{ran:?}");
}

#[test]
fn a_run_can_begin_elsewhere_with_a_context() {
    let ran = Sandbox::new(SOUND).trellis(&["run", "--at", "bye", "--context", "{\"name\": \"Rui\"}"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.out.contains("Bye, Rui."), "{ran:?}");
}

#[test]
fn a_collection_offers_its_graphs() {
    let sandbox = Sandbox::new(&[("graphs/a/start.md", "This is a.\n"), ("graphs/b/start.md", "This is b.\n")]);
    let ran = sandbox.trellis_with(&["run"], "2\n");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.out.contains("This is b.") && !ran.out.contains("This is a."), "{ran:?}");
    let ran = sandbox.trellis_with(&["run"], "c\na");
    assert!(ran.out.contains("This is a."), "{ran:?}");
    assert_eq!(sandbox.trellis(&["run"]).code, Some(1));
    for args in [&["run", "--json"][..], &["run", "--no-input"]] {
        let ran = sandbox.trellis(args);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.err.contains("trellis run graphs/a\n  trellis run graphs/b\n"), "{ran:?}");
    }
}

#[test]
fn the_rest_of_the_input_goes_to_the_graph_that_was_chosen() {
    let files = SOUND.iter().map(|(path, text)| (format!("graphs/ask/{path}"), *text)).collect::<Vec<_>>();
    let mut files = files.iter().map(|(path, text)| (path.as_str(), *text)).collect::<Vec<_>>();
    files.push(("graphs/other/start.md", "Hi.\n"));
    let ran = Sandbox::new(&files).trellis_with(&["run"], "ask\nAna\n");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.out.contains("Bye, Ana."), "{ran:?}");
}

#[test]
fn an_unbound_tool_on_a_pipe_is_an_error_before_anything_runs() {
    let ran = Sandbox::new(CHARGE).trellis(&["run", "--context", "amount=5"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""), "{ran:?}");
    assert!(ran.err.contains("error[unbound-tool]"), "{ran:?}");
}

#[test]
fn a_predicate_that_nobody_can_answer_is_refused_before_anything_runs() {
    let files: &[(&str, &str)] = &[
        ("trellis.yaml", "predicates: [is_open]\n"),
        ("start.md", "---\ntransitions: [{ condition: is_open, to: fail }]\nto: end\n---\nIs it open?\n"),
        ("end.md", "Bye.\n"),
    ];
    let ran = Sandbox::new(files).trellis(&["run", "--no-input"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{ran:?}");
    assert!(ran.err.contains("nobody can be asked whether `is_open` holds"), "{ran:?}");
}

#[test]
fn an_input_above_the_bound_is_refused_and_asked_for_again() {
    let sandbox = Sandbox::new(SOUND);
    let run = |size: &str| {
        let mut command = sandbox.command(&["run", "--json"]);
        let mut child = command.env("TRELLIS_MAX_INPUT_SIZE", size).stdin(Stdio::piped()).spawn().unwrap();
        let _ = child.stdin.take().unwrap().write_all(b"{\"input\":\"Anastasia\"}\n{\"input\":\"Ana\"}\n");
        finish(child)
    };
    let ran = run("5");
    assert_eq!(end(&ran)["output"], "Ana", "{ran:?}");
    assert_eq!(end(&run("100"))["output"], "Anastasia");
    for bad in ["", "-1", "4KiB", "0"] {
        let ran = run(bad);
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{bad:?}: {ran:?}");
        assert!(ran.err.contains("TRELLIS_MAX_INPUT_SIZE"), "{ran:?}");
    }
}

#[test]
fn ctrl_c_that_nothing_handles_interrupts_and_one_that_is_handled_leads_on() {
    let interrupt = |sandbox: &Sandbox| {
        let mut child = sandbox.command(&["run"]).stdin(Stdio::piped()).spawn().unwrap();
        let seen = wait_for(&mut child, "?");
        let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
        assert!(killed.success(), "{seen}");
        // The input stays open: its end would be a reason to stop, too.
        let _open = child.stdin.take();
        finish(child)
    };
    assert_eq!(interrupt(&Sandbox::new(SOUND)).code, Some(130));
    let handled =
        Sandbox::new(&[("start.md", "---\nwait: true\non_signal: { interrupt: bye }\nto: bye\n---\nReady?\n"), ("bye.md", "You left.\n")]);
    let ran = interrupt(&handled);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.out.contains("You left."), "{ran:?}");
}

#[test]
fn a_bad_context_is_wrong_usage() {
    let ran = Sandbox::new(SOUND).trellis(&["run", "--context", "{\"a\": "]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.err.contains("`--context` is no JSON"), "{ran:?}");
}

/// A graph whose tool leaves a trace each time it runs.
const TRACED: &[(&str, &str)] = &[
    ("trellis.yaml", "bindings: {pay: {process: [sh, ./pay], retry: {max: 2, base: 1ms}}}\n"),
    ("start.md", "---\ndo: {name: pay, args: {total: 7}}\nsave_to: id\non_error: failed\nto: paid\n---\n"),
    ("paid.md", "---\noutput: {id: \"{{ id }}\"}\n---\nPaid: {{ id }}.\n"),
    ("failed.md", "---\n---\nNot paid: {{ sys.error.message }}.\n"),
    ("pay", "echo ran >> trace; [ $(wc -l < trace) -gt 1 ] || { echo busy >&2; exit 1; }; echo id-7\n"),
];

#[test]
fn a_recording_is_the_same_run_again_without_effects() {
    let sandbox = Sandbox::new(TRACED);
    let trace = || std::fs::read_to_string(sandbox.path().join("trace")).unwrap();
    let recorded = sandbox.trellis(&["run", ".", "--record", "tools.jsonl"]);
    assert_eq!((recorded.code, recorded.out.as_str(), trace().as_str()), (Some(0), "Paid: id-7.\n", "ran\nran\n"), "{}", recorded.err);
    let lines = std::fs::read_to_string(sandbox.path().join("tools.jsonl")).unwrap();
    let success = r#"{"tool":"pay","args":{"total":7},"outcome":{"success":"id-7"}}"#;
    assert_eq!(lines.lines().last(), Some(success));
    assert!(lines.lines().next().unwrap().contains("busy"), "the attempt that failed is recorded too: {lines}");
    let replayed = sandbox.trellis(&["run", ".", "--replay-tools", "tools.jsonl"]);
    assert_eq!((replayed.out.as_str(), trace().as_str()), ("Paid: id-7.\n", "ran\nran\n"));

    sandbox.write("start.md", TRACED[1].1.replace('7', "8").as_bytes());
    let other = sandbox.trellis(&["run", ".", "--replay-tools", "tools.jsonl"]);
    assert_eq!(other.out, "Not paid: `tools.jsonl` has no result of `pay` with these arguments; record it with `--record`.\n");
    assert_eq!(trace(), "ran\nran\n", "a call that was not recorded does not run either");
}

#[test]
fn a_recording_that_cannot_be_used_is_named_before_anything_runs() {
    let sandbox = Sandbox::new(TRACED);
    sandbox.write("junk.jsonl", b"{\"tool\":\"pay\"}\n");
    for (args, expected) in [
        (["--replay-tools", "absent.jsonl"], "the recording `absent.jsonl` cannot be opened: No such file"),
        (["--replay-tools", "junk.jsonl"], "line 1 of the recording `junk.jsonl` is no result of a tool: missing field `args`"),
        (["--record", "no/folder/tools.jsonl"], "the recording `no/folder/tools.jsonl` cannot be opened: No such file"),
        (["--output", "no/folder/out.json"], "the output `no/folder/out.json` cannot be written"),
        (["--output", "."], "the output `.` cannot be written: it is a folder"),
    ] {
        let ran = sandbox.trellis(&[&["run", "."][..], &args].concat());
        assert_eq!(ran.code, Some(2), "{args:?}");
        assert!(ran.err.contains(expected), "{}", ran.err);
    }
    let ran = sandbox.trellis(&["run", ".", "--record", "junk.jsonl", "--replay-tools", "./junk.jsonl"]);
    assert!(ran.err.contains("cannot be recorded and replayed at once"), "{}", ran.err);
    assert!(!sandbox.path().join("trace").exists());
}

#[test]
fn an_output_that_would_be_a_file_of_the_graph_is_refused_with_a_place_that_works() {
    let sandbox = Sandbox::new(&[("graph/start.md", "---\noutput: 7\n---\n"), ("graph/deep/more.txt", "")]);
    for output in ["graph/out.json", "graph/deep/out.yaml", "graph/start.md"] {
        let ran = sandbox.trellis(&["run", "graph", "--output", output]);
        assert_eq!(ran.code, Some(2), "{output}");
        let name = output.rsplit('/').next().unwrap();
        let place = format!("it would be a file of the graph; write it beside the graph: `--output graph/../{name}`");
        assert!(ran.err.contains(&place), "{}", ran.err);
    }
    let alone = sandbox.trellis(&["run", "graph/start.md", "--output", "graph/start.md"]);
    assert!(alone.err.contains("it would be a file of the graph"), "{}", alone.err);
    for output in ["graph/../out.json", "graph/out.txt"] {
        assert_eq!(sandbox.trellis(&["run", "graph", "--output", output]).code, Some(0), "{output}");
        assert_eq!(std::fs::read_to_string(sandbox.path().join(output)).unwrap(), "7\n");
    }
}

#[test]
fn the_output_of_a_session_goes_to_a_file_when_it_finished() {
    let sandbox = Sandbox::new(TRACED);
    let output = || std::fs::read_to_string(sandbox.path().join("out.txt"));
    assert_eq!(sandbox.trellis(&["run", ".", "--no-input", "--output", "out.txt"]).code, Some(0));
    assert_eq!(output().unwrap(), "{\"id\":\"id-7\"}\n");
    sandbox.write("pay", b"exit 1\n");
    sandbox.write("start.md", b"---\ndo: pay\nto: paid\nsave_to: id\n---\n");
    std::fs::remove_file(sandbox.path().join("failed.md")).unwrap();
    let failed = sandbox.trellis(&["run", ".", "--output", "out.txt"]);
    assert_eq!((failed.code, output().unwrap().as_str()), (Some(1), "{\"id\":\"id-7\"}\n"), "{}", failed.err);
    let text = format!("{}{}", failed.out, failed.err);
    assert!(text.contains("start.md:2") && text.contains("help: say where to go then with `on_error`"), "{text}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_said_with_the_file() {
    let sandbox = Sandbox::new(TRACED);
    for (option, what) in
        [("--record", "the recording `/dev/full` cannot be written"), ("--output", "the output `/dev/full` cannot be written")]
    {
        let ran = sandbox.trellis(&["run", ".", option, "/dev/full"]);
        assert_eq!(ran.code, Some(2), "{}", ran.err);
        assert!(ran.err.contains(what) && ran.err.contains("No space left"), "{}", ran.err);
    }
}

#[test]
fn a_session_that_begins_anywhere_is_told_what_its_node_needs() {
    let sandbox = Sandbox::new(CHARGE);
    let ran = sandbox.trellis(&["run", ".", "--at", "done", "--json"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("`receipt.id` is missing\n  the context of the start is given by `--context KEY=VALUE`"), "{}", ran.err);
    let ran = sandbox.trellis(&["run", ".", "--at", "done", "--json", "--context", "{\"receipt\": {\"id\": \"r1\"}}"]);
    assert_eq!((ran.code, end(&ran)["output"].as_str()), (Some(0), Some("r1")));
    let ran = sandbox.trellis(&["run", ".", "--at", "dune", "--json"]);
    assert!(ran.err.contains("there is no node `dune` to begin at\n  did you mean `done`?"), "{}", ran.err);
}

#[test]
fn a_value_that_does_not_fit_the_start_is_not_called_missing() {
    let sandbox = Sandbox::new(&[("trellis.yaml", "inputs: {properties: {age: {type: integer}}}\n"), ("start.md", "Hello.\n")]);
    let ran = sandbox.trellis(&["run", ".", "--context", "age=old"]);
    let said = "`age` must be an integer, is a text\n  the context of the start is given by `--context KEY=VALUE`";
    assert!(ran.code == Some(2) && ran.err.contains(said) && !ran.err.contains("missing"), "{}", ran.err);
}

#[test]
fn tools_do_not_inherit_the_credentials_of_the_program() {
    let sandbox = Sandbox::new(&[
        ("trellis.yaml", "bindings: {look: {process: [sh, -c, 'env; cat keys >/dev/null'], env: {TRELLIS_STORE: given}}}\n"),
        ("start.md", "---\ndo: look\nto: end\n---\n"),
        ("end.md", "---\noutput: \"{{ sys.ans }}\"\n---\n"),
        ("keys", ""),
    ]);
    let credentials = ["TRELLIS_SECRET_SHOP", "TRELLIS_STORE", "TRELLIS_KEY_FILE", "OTEL_EXPORTER_OTLP_HEADERS"];
    let mut command = sandbox.command(&["run", ".", "--json", "--store", "memory"]);
    for variable in credentials {
        command.env(variable, "hunter2");
    }
    let ran = finish(command.env("TRELLIS_KEY_FILE", "").env("SHOP", "open").spawn().unwrap());
    assert!(ran.code == Some(0) && ran.out.contains("SHOP=open") && ran.out.contains("TRELLIS_STORE=given"), "{ran:?}");
    assert!(!ran.out.contains("hunter2") && !ran.out.contains("TRELLIS_KEY_FILE") && !ran.out.contains("OTLP_HEADERS"), "{ran:?}");
}

#[test]
fn a_page_that_is_named_itself_is_run() {
    let sandbox = Sandbox::new(&[("notes/page.md", "Hello.\n")]);
    let ran = sandbox.trellis(&["run", "notes/page.md"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "Hello.\n"), "{}", ran.err);
    assert_eq!(sandbox.trellis(&["check", "notes/page.md"]).out, "1 node, no problems\n");
    assert_eq!(sandbox.trellis(&["check", "--fix", "notes/page.md"]).code, Some(0));
    let ran = sandbox.trellis(&["check", "notes"]);
    assert!(ran.code == Some(1) && ran.out.contains("missing-start"), "{}", ran.out);
}

#[test]
fn the_failure_of_a_called_graph_is_told_once() {
    let files = |start: &'static str| {
        [
            ("start.md", start),
            ("sub.md", "---\ncontext_schema: { rows: [any] }\n---\nFirst: {{ rows | first }}\n"),
            ("sorry.md", "Sorry.\n"),
        ]
    };
    let ends = Sandbox::new(&files("---\ndo: { graph: sub, args: { rows: [] } }\nto: sorry\n---\n")).trellis(&["run", "."]);
    let why = "`sub`: `rows | first` is not set";
    assert_eq!((ends.code, ends.err.as_str(), ends.out.matches(why).count()), (Some(1), "", 1), "{ends:?}");
    let goes_on =
        Sandbox::new(&files("---\ndo: { graph: sub, args: { rows: [] } }\non_error: sorry\nto: sorry\n---\n")).trellis(&["run", "."]);
    assert_eq!((goes_on.out.as_str(), goes_on.err.matches(why).count()), ("Sorry.\n", 1), "{goes_on:?}");
}

//! `trellis mcp --author`: a small program mends graphs with what its tools return, and these are the bytes of the command line
//! (`docs/mcp.md#for-programs-that-write-graphs`).

use std::{path::Path, process::Command};

use serde_json::{Value, json};

use trellis_tests::peers::peer;

use crate::{
    mcp::{OVEN, Talk, here, scenes},
    sandbox::Sandbox,
};

/// Graphs with mistakes of different kinds.
const BROKEN: &[(&str, &str)] = &[
    // Wrong targets, and a tool that nobody knows by this name.
    ("targets/trellis.yaml", "bindings: {reserve: {effect: none}}\n"),
    ("targets/start.md", "---\ninput_type: text\nsave_to: name\nto: bok\n---\nWho are you?\n"),
    (
        "targets/book.md",
        "---\ndo: {name: reserv, args: {name: \"{{ name }}\"}}\nsave_to: booked\non_error: sory\nto: done\n---\nBooking.\n",
    ),
    ("targets/done.md", "---\noutput: \"{{ name }}\"\n---\nDone.\n"),
    ("targets/sorry.md", "---\nend: failed\n---\nThere is no room.\n"),
    // Keys, words and values that are misspelt, former keys, a list that is none.
    ("keys/start.md", "---\ninput_typ: texte\nsave_too: name\ntimeout: 5 minutes\non_timout: bye\nnext: hello\n---\nWho are you?\n"),
    ("keys/hello.md", "---\nrequired_context: name\noutput: \"{{ name | uper }}\"\n---\nHello.\n"),
    ("keys/bye.md", "Bye.\n"),
    // A variable that one path does not set, and one by a near name.
    ("variables/start.md", "---\noptions: [{ text: Order, to: town }, { text: Look, to: bye }]\n---\nWhat now?\n"),
    ("variables/town.md", "---\ninput_type: text\nsave_to: town\nto: thanks\n---\nWhere to?\n"),
    ("variables/thanks.md", "---\nset: { parcel: \"to {{ twon }}\" }\nto: bye\n---\n"),
    ("variables/bye.md", "---\noutput: { town: \"{{ town }}\" }\n---\nBye{% if parcel is defined %}: {{ parcel }}{% endif %}.\n"),
    // YAML that is broken in four ways, one after the other.
    (
        "yaml/start.md",
        "---\noptions: [Tea, Coffee, Juice]\nsave_to: drink\ntransitions:\n  - { condition: drink in [\"Tea\", \"Coffee\"], to: sugar }\nto: served\n---\nWhat would you like?\n",
    ),
    ("yaml/sugar.md", "---\ninput_type: confirm\n   save_to: sugar\nto: served\n---\nSugar?\n"),
    ("yaml/served.md", "---\nto:end\n---\nHere you are.\n"),
    ("yaml/end.md", "---\noutput: { drink: {{ drink }} }\n---\n"),
    // An argument that a tool needs, an answer without a transition, and no line that closes the condition.
    (
        "needs/trellis.yaml",
        "inputs: {type: object, properties: {amount: {type: integer}}}\nbindings: {charge: {effect: none, parameters: {type: object, required: [amount], properties: {amount: {type: integer}}}}}\n",
    ),
    ("needs/start.md", "---\ninput_type: int\nsave_to: amount\nto: sure\n---\nHow much?\n"),
    ("needs/sure.md", "---\noptions: [Pay, Leave]\ntransitions:\n  - { condition: input = \"Pay\", to: pay }\n---\nPay {{ amount }}?\n"),
    ("needs/pay.md", "---\ndo: charge\nsave_to: paid\non_error: fail\nto: done\n---\n"),
    ("needs/done.md", "---\noutput: { paid: \"{{ amount }}\" }\n---\nPaid.\n"),
];

const GRAPHS: [&str; 5] = ["targets", "keys", "variables", "yaml", "needs"];

/// The findings of `trellis check`, in the folder.
fn findings(sandbox: &Sandbox, graph: &str) -> String {
    sandbox.trellis(&["check", "--strict", "--format", "json", graph]).out
}

/// The official client calls the tools, and the script edits by what they say: it knows no graph and no rule of the language.
#[test]
fn a_small_program_mends_five_graphs() {
    let sandbox = Sandbox::new(BROKEN);
    for graph in GRAPHS {
        assert!(findings(&sandbox, graph).contains("\"error\""), "{graph} is broken");
    }
    let mut command = Command::new(peer("mcp-2.3.0/bin/python"));
    let told = scenes(command.arg(here("mend.py")).arg(env!("CARGO_BIN_EXE_trellis")).arg(sandbox.path()).args(GRAPHS));
    let ended: Vec<_> =
        told.iter().map(|told| (told["graph"].as_str().unwrap(), told["reason"].as_str().unwrap(), told["output"].clone())).collect();
    let expected = [
        ("targets", "finished", json!("Ada")),
        ("keys", "finished", json!("ADA")),
        ("variables", "finished", json!({ "town": "Ada" })),
        ("yaml", "finished", json!({ "drink": "Tea" })),
        ("needs", "finished", json!({ "paid": 3 })),
    ];
    assert_eq!(ended, expected, "{told:#?}");
    let codes = |graph: usize| told[graph]["codes"].as_array().unwrap().iter().map(|code| code.as_str().unwrap()).collect::<Vec<_>>();
    assert_eq!([codes(0), codes(2)], [vec!["unknown-tool", "unknown-target"], vec!["maybe-undefined", "undefined-variable"]]);
    assert!(codes(1).contains(&"unknown-key") && codes(3).contains(&"yaml-syntax") && codes(4).contains(&"bad-tool-args"), "{told:#?}");
    // Only the variable without a value and the argument took more than an edit that `check` returned.
    assert!(told.iter().all(|told| told["edits"].as_u64() >= Some(1)), "{told:#?}");
    for graph in GRAPHS {
        let found: Value = serde_json::from_str(&findings(&sandbox, graph)).unwrap();
        assert_eq!(found["diagnostics"], json!([]), "{graph}");
    }
}

/// Broken and sound graphs, and the graphs of this repository: `check` over MCP returns what `trellis check --format json` prints.
#[test]
fn check_over_mcp_has_the_bytes_of_the_command_line() {
    let sandbox = Sandbox::new(BROKEN);
    let copied = Command::new("cp").arg("-r").arg(repository().join("graphs")).arg(sandbox.path().join("sound")).status();
    assert!(copied.unwrap().success());
    let mut talk = Talk::with(&sandbox, &["mcp", "--author"], json!({}));
    for graph in GRAPHS.into_iter().chain(["sound/tour", "sound/toolflow", "."]) {
        let whole = sandbox.path().canonicalize().unwrap().join(graph);
        for strict in [false, true] {
            let called = talk.ask("tools/call", json!({ "name": "check", "arguments": { "path": graph, "strict": strict } }));
            let flags: &[&str] = if strict { &["--strict"] } else { &[] };
            let prints = |path: &str| sandbox.trellis(&[&["check", "--format", "json", path], flags].concat()).out;
            let printed = prints(whole.to_str().unwrap());
            assert_eq!(called["result"]["content"][0]["text"], printed, "{graph}, strict: {strict}");
            assert_eq!(printed, prints(graph), "{graph}: however the path is written");
        }
    }
}

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().and_then(Path::parent).unwrap()
}

/// Programs that write graphs get the bytes of the command line, and walks that call nothing (`docs/mcp.md#for-programs-that-write-graphs`).
#[test]
fn authors_get_the_bytes_of_the_command_line() {
    let sandbox = Sandbox::new(&[]);
    for (path, text) in OVEN {
        sandbox.write(&format!("oven/{path}"), text.as_bytes());
    }
    sandbox.write("bad/start.md", b"---\nto: nowher\n---\nHello.\n");
    sandbox.write("bad/nowhere.md", b"Bye.\n");
    let mut talk = Talk::with(&sandbox, &["mcp", "--author", "."], json!({}));
    let mut call = |name: &str, arguments: Value| {
        let called = talk.ask("tools/call", json!({ "name": name, "arguments": arguments }))["result"].clone();
        (called["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{name}: {called}")).to_owned(), called["isError"] == true)
    };
    let (found, _) = call("check", json!({ "path": "bad" }));
    assert_eq!(found, sandbox.trellis(&["check", "--format", "json", "./bad"]).out);
    assert!(found.contains("unknown-target") && found.contains("\"edits\""), "{found}");
    assert_eq!(call("explain", json!({ "code": "unknown-target" })).0, sandbox.trellis(&["explain", "unknown-target"]).out);
    assert_eq!(call("schema", json!({})).0, sandbox.trellis(&["schema"]).out);
    assert_eq!(
        call("graph", json!({ "path": "oven", "format": "mermaid" })).0,
        sandbox.trellis(&["graph", "--format=mermaid", "oven"]).out
    );
    let (walked, _) = call("walk", json!({ "path": "oven", "results": { "bake": [{ "error": "cold" }] } }));
    assert!(
        walked.contains("{\"type\":\"CALL_TOOL\"") && walked.lines().last().is_some_and(|line| line.contains("\"output\":0")),
        "{walked}"
    );
    let (walked, _) = call("walk", json!({ "path": "oven", "results": { "bake": [7] }, "inputs": [true] }));
    assert!(walked.lines().last().is_some_and(|line| line.contains("\"output\":7")), "{walked}");
    assert!(!sandbox.path().join("oven/tried").exists() && !sandbox.path().join("oven/.trellis").exists(), "nothing was called or kept");
    let (refused, is_error) = call("check", json!({ "path": ".." }));
    assert!(is_error && refused.contains("is not below the folder"), "{refused}");
    let (refused, is_error) = call("walk", json!({ "path": "bad" }));
    assert!(is_error && refused.contains("has mistakes"), "{refused}");
    for (name, wrong, why) in [
        ("check", json!({ "stric": true }), "`check` has no argument `stric`: did you mean `strict`?"),
        ("check", json!({ "strict": "yes" }), "`strict`"),
        ("walk", json!({ "path": "oven", "input": ["A"] }), "did you mean `inputs`?"),
        ("walk", json!({ "path": "oven", "results": { "bakes": [7] } }), "the graph calls no `bakes`; did you mean `bake`?"),
        ("explain", json!({}), "`code` is missing"),
    ] {
        let (refused, is_error) = call(name, wrong.clone());
        assert!(is_error && refused.contains(why), "{name} {wrong}: {refused}");
    }
    let (drawn, _) = call("graph", json!({ "path": "bad" }));
    assert!(!drawn.contains(&*sandbox.path().display().to_string()), "{drawn}");
}

/// A line that is no message gets an answer, whatever is wrong with it, and the client goes on (`docs/mcp.md`).
#[test]
fn what_is_no_json_is_answered() {
    let sandbox = Sandbox::new(OVEN);
    let deep = format!("{{\"jsonrpc\":\"2.0\",\"id\":72,\"method\":{}{}}}", "[".repeat(5000), "]".repeat(5000));
    for args in [&["mcp", "."][..], &["mcp", "--author", "."]] {
        let mut talk = Talk::with(&sandbox, args, json!({}));
        for junk in ["{bad", "{\"jsonrpc\":\"2.0\",\"id\":9,\"meth", "no", &deep] {
            talk.open.type_in(junk);
            let answer = talk.open.json_until(|line| line.get("method").is_none());
            assert_eq!((&answer["id"], &answer["error"]["code"]), (&Value::Null, &json!(-32700)), "{junk}: {answer}");
        }
        assert!(talk.ask("tools/list", json!({}))["result"]["tools"].is_array());
        talk.end();
    }
}
